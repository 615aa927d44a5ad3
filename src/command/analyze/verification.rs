//! What a run has to say of claims to be a bot: stale ranges, proxies, addresses to look up. Decides no verdict.
//!
//! Example of a line of `--unverified-ips` (tabs): `198.51.100.9  Googlebot  120`

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::baseline::Warning;
use crate::bot::verify::Verifier;
use crate::error::Error;
use crate::file::write_named;
use crate::ingest::Ingested;
use crate::tally::claims::MAX_UNVERIFIED;
use crate::tally::table::Verification;

/// Files that one warning names.
const FILES_NAMED: usize = 8;

/// Warnings on what claims were checked by. Logs that are counted elsewhere are left out.
pub(super) fn warnings(verifier: &Verifier, counted: &[&Ingested]) -> Vec<Warning> {
    let mut out: Vec<Warning> = counted.iter().filter_map(|log| proxy(log)).collect();
    out.extend(stale(verifier, counted));
    if !verifier.unused_files().is_empty() {
        out.push(Warning::new(
            "ranges_unused",
            format!("no bot of the catalogue is checked by {}", named(verifier.unused_files())),
            "`crawl-baseline bots show NAME` says what a bot's file is called; a file that is called like the bot counts too",
        ));
    }
    let left_out: u64 = counted.iter().map(|log| log.unverified.1).sum();
    if left_out > 0 {
        out.push(Warning::new(
            "unverified_ips_cut",
            format!("a log has more than {MAX_UNVERIFIED} addresses to look up; {left_out} requests are from others"),
            "look up those that are listed, and run again with --rdns",
        ));
    }
    out
}

fn proxy(log: &Ingested) -> Option<Warning> {
    let found = log.proxy.as_ref()?;
    Some(Warning::new(
        "proxy_addresses",
        format!(
            "{}: {found}: it holds the addresses of a proxy, so no claim in it was checked",
            log.log.path.display()
        ),
        "log the client's address: nginx `real_ip_header` with `set_real_ip_from`, Apache `mod_remoteip`; where X-Forwarded-For stands in front, --client last-untrusted --trusted-proxy CIDR",
    ))
}

/// One warning on all files that are older than the log, where somebody claimed to be a bot that they speak for.
fn stale(verifier: &Verifier, counted: &[&Ingested]) -> Option<Warning> {
    let last = counted.iter().flat_map(|log| log.coverage()).map(|c| c.last).max()?;
    let last_day = last.div_euclid(86_400);
    let checked: BTreeSet<&str> = counted
        .iter()
        .flat_map(|log| log.days())
        .flat_map(|day| &day.series)
        .filter(|series| series.verification != Verification::NotCheckable)
        // A bot that nobody is known to run speaks for itself, as in the verifier.
        .map(|series| if series.operator.is_empty() { &series.bot } else { &series.operator })
        .map(String::as_str)
        .collect();
    let files: Vec<String> = verifier
        .stale_files(i32::try_from(last_day).unwrap_or(i32::MAX))
        .filter(|file| file.operators().iter().any(|o| checked.contains(o.as_str())))
        .map(|file| {
            let age = last_day - file.created_day().unwrap_or(last_day);
            format!("{} ({}, {age} days older)", file.name(), file.operators().join(", "))
        })
        .collect();
    (!files.is_empty()).then(|| {
        Warning::new(
            "ranges_stale",
            format!(
                "address ranges are older than the log's last day by more than a week: {}",
                named(&files)
            ),
            "fetch them again from their operators: a bot's new addresses count as spoofed until then",
        )
    })
}

fn named(files: &[String]) -> String {
    let mut text = files.iter().take(FILES_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > FILES_NAMED {
        // A string takes every text.
        let _ = write!(text, " and {} more", files.len() - FILES_NAMED);
    }
    text
}

/// Writes the addresses whose claim a reverse name could prove, most requests first: address, bot, requests.
///
/// # Errors
/// The file that cannot be written (exit 5).
pub(super) fn write_unverified(path: &Path, counted: &[&Ingested]) -> Result<(), Error> {
    let mut sums: BTreeMap<_, u64> = BTreeMap::new();
    for (key, requests) in counted.iter().flat_map(|log| &log.unverified.0) {
        *sums.entry(key).or_default() += requests;
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    write_named(path, |out| {
        let mut text = String::new();
        for ((address, bot), requests) in rows {
            // A string takes every text.
            let _ = writeln!(text, "{address}\t{bot}\t{requests}");
        }
        std::io::Write::write_all(out, text.as_bytes())?;
        Ok(())
    })
}
