//! Whether a claim to be a bot is true: by the ranges that operators publish, and by reverse names looked up before.
//!
//! Everything is offline. Three verdicts: in the ranges or forward-confirmed, neither, or nothing to check by; the third
//! is never called fake. Which file speaks for which bot, the catalogue says. Caching, counting and the list of
//! addresses to look up are the caller's.
//!
//! Example: a client at 198.51.100.5 says `Googlebot`; `googlebot.json` holds 198.51.100.0/27: verified.

mod guard;
mod ranges;
mod reverse_dns;
mod why;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use super::catalogue::{BotId, BotInfo, Catalogue, Method};
use super::who::Who;
use crate::error::Error;
use crate::tally::table::Verification;

pub use guard::{ClaimCounts, holds_proxy_addresses, is_private, network_of};
pub use ranges::{RangeFile, Ranges};
use reverse_dns::ReverseNames;

/// Ranges older than this many days before the last day of a log are stale.
pub const STALE_AFTER_DAYS: i32 = 7;

/// Checks claims. Look-ups are binary searches; clients of bots without a file or suffix cost nothing.
#[derive(Debug, Clone, Default)]
pub struct Verifier {
    files: Vec<RangeFile>,
    unused: Vec<String>,
    names: ReverseNames,
    /// By [`BotId`]: whether the addresses of its claims are to be looked up; empty where nobody asked.
    to_look_up: Vec<bool>,
    /// By [`BotId`]; empty where nothing was loaded.
    checks: Vec<Option<Check>>,
}

/// What speaks for one bot. Indices are those of files.
#[derive(Debug, Clone, Default)]
struct Check {
    /// Whoever is in one of these is verified.
    files: Vec<usize>,
    /// Sets of files that are complete: whoever is in none is denied.
    complete: Vec<Vec<usize>>,
    suffixes: Vec<Suffix>,
}

#[derive(Debug, Clone)]
struct Suffix {
    name: String,
    /// The operator's names often have no forward record.
    unconfirmed_denies: bool,
}

impl Verifier {
    /// Reads the files of `--ip-ranges` (a folder, or one file) and `--rdns`. Without any, every verdict is
    /// [`Verification::NotCheckable`].
    ///
    /// In the folder, hidden files and folders are skipped, and names other than `*.json`, `*.csv`, `*.txt` and those
    /// without extension; files that no bot is named for are listed by [`Verifier::unused_files`].
    ///
    /// # Errors
    ///
    /// [`crate::error::ErrorKind::Usage`] with file and line or prefix where a file cannot be read, is of no known
    /// shape, holds no address, a whole cloud (`syncToken`) or a prefix shorter than /8 (IPv4) or /19 (IPv6).
    pub fn load(catalogue: &Catalogue, ip_ranges: Option<&Path>, rdns: Option<&Path>) -> Result<Self, Error> {
        let mut verifier = Self::default();
        if let Some(path) = ip_ranges {
            let wanted: BTreeSet<String> = catalogue.bots().iter().flat_map(wanted_keys).collect();
            for path in ranges::files_in(path)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if wanted.contains(&key(&name)) {
                    verifier.files.push(RangeFile::read(&path)?);
                } else {
                    ranges::refuse_clouds(&path)?;
                    verifier.unused.push(name);
                }
            }
        }
        if let Some(path) = rdns {
            verifier.names = ReverseNames::read(path)?;
        }
        verifier.checks = catalogue.bots().iter().map(|bot| verifier.check_of(bot)).collect();
        for (bot, check) in catalogue.bots().iter().zip(&verifier.checks) {
            for &file in check.iter().flat_map(|c| &c.files) {
                let operator = if bot.operator.is_empty() { &bot.name } else { &bot.operator };
                verifier.files[file].add_operator(operator);
            }
        }
        Ok(verifier)
    }

    fn check_of(&self, bot: &BotInfo) -> Option<Check> {
        let loaded = |wanted: &str| -> Vec<usize> {
            (0..self.files.len()).filter(|i| key(self.files[*i].name()) == wanted).collect()
        };
        let mut check = Check::default();
        let mut add = |names: &[String]| {
            let found: Vec<Vec<usize>> = names.iter().map(|n| loaded(&key(n))).collect();
            let all = found.iter().all(|f| !f.is_empty());
            let files = found.concat();
            check
                .files
                .extend(files.iter().filter(|f| !check.files.contains(f)).copied().collect::<Vec<_>>());
            if all {
                check.complete.push(files);
            }
        };
        add(&[own_key(bot)]);
        for method in &bot.methods {
            if let Method::Files(names) = method {
                add(names);
            }
        }
        if !self.names.is_empty() {
            check.suffixes = bot
                .methods
                .iter()
                .filter_map(|m| match m {
                    Method::Files(_) => None,
                    Method::ReverseDns(name) => Some(Suffix { name: name.clone(), unconfirmed_denies: true }),
                    Method::ReverseDnsOnly(name) => {
                        Some(Suffix { name: name.clone(), unconfirmed_denies: false })
                    }
                })
                .collect();
        }
        (!check.files.is_empty() || !check.suffixes.is_empty()).then_some(check)
    }

    /// Lets [`Verifier::is_to_look_up`] name the bots that a reverse name can prove.
    pub fn collect_unverified(&mut self, catalogue: &Catalogue) {
        let by_name = |m: &Method| matches!(m, Method::ReverseDns(_) | Method::ReverseDnsOnly(_));
        self.to_look_up = catalogue.bots().iter().map(|bot| bot.methods.iter().any(by_name)).collect();
    }

    /// Whether somebody wants to know the addresses behind this claim.
    #[must_use]
    pub fn is_to_look_up(&self, who: &Who) -> bool {
        matches!(who, Who::Known(id) if self.to_look_up.get(id.index()).is_some_and(|wanted| *wanted))
    }

    fn check(&self, who: &Who) -> Option<&Check> {
        match who {
            Who::Known(BotId(id)) => self.checks.get(*id as usize)?.as_ref(),
            _ => None,
        }
    }

    /// Whether [`Verifier::verdict`] can be anything but [`Verification::NotCheckable`] for this claim.
    #[must_use]
    pub fn can_check(&self, who: &Who) -> bool {
        self.check(who).is_some()
    }

    /// The verdict on a claim; `client` is `None` where it is a name. IPv4-mapped IPv6 counts as IPv4.
    #[must_use]
    pub fn verdict(&self, who: &Who, client: Option<IpAddr>) -> Verification {
        let (Some(check), Some(client)) = (self.check(who), client) else {
            return Verification::NotCheckable;
        };
        let client = client.to_canonical();
        if check.files.iter().any(|f| self.files[*f].ranges().contains(client)) {
            return Verification::Verified;
        }
        let named = self.names.verdict(client, &check.suffixes);
        if named != Verification::NotCheckable {
            return named;
        }
        let denied = check.complete.iter().any(|files| files.iter().any(|f| self.files[*f].is_about(client)));
        if denied { Verification::Failed } else { Verification::NotCheckable }
    }

    /// The range files that were read, by name.
    #[must_use]
    pub fn files(&self) -> &[RangeFile] {
        &self.files
    }

    /// Files of the folder that no bot of the catalogue is named for; they were not used.
    #[must_use]
    pub fn unused_files(&self) -> &[String] {
        &self.unused
    }

    /// The files that are stale for a log whose last day (days since 1970-01-01) is given.
    pub fn stale_files(&self, last_day: i32) -> impl Iterator<Item = &RangeFile> {
        self.files.iter().filter(move |f| is_stale(f, last_day))
    }

    /// Whether a complete set of ranges that is not stale was given for this claim. Files that carry no `creationTime`
    /// are taken for fresh.
    #[must_use]
    pub fn has_fresh_ranges(&self, who: &Who, last_day: i32) -> bool {
        self.check(who).is_some_and(|c| {
            c.complete.iter().any(|files| files.iter().all(|f| !is_stale(&self.files[*f], last_day)))
        })
    }
}

fn is_stale(file: &RangeFile, last_day: i32) -> bool {
    file.created_day().is_some_and(|day| i64::from(last_day) - day > i64::from(STALE_AFTER_DAYS))
}

/// The name of a file without its extension, in lower case.
fn key(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let stem = [".json", ".csv", ".txt"].iter().find_map(|e| lower.strip_suffix(e));
    stem.map(str::to_owned).unwrap_or(lower)
}

/// The name under which a file speaks for a bot without being named in the catalogue.
fn own_key(bot: &BotInfo) -> String {
    bot.name.to_ascii_lowercase().replace(' ', "-")
}

fn wanted_keys(bot: &BotInfo) -> Vec<String> {
    let files = bot.methods.iter().filter_map(|m| match m {
        Method::Files(names) => Some(names.iter().map(|n| key(n))),
        _ => None,
    });
    files.flatten().chain([own_key(bot)]).collect()
}

#[cfg(test)]
mod tests;
