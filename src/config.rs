//! What the flags, the environment and the configuration file mean together: flags over environment over
//! `crawl-baseline.toml` over defaults. (The environment is read by the argument parser.)
//!
//! Example of a file:
//!
//! ```toml
//! [paths]
//! logs = ["/var/log/nginx"]
//! output_dir = "/data/crawl-artifacts"
//!
//! [[site]]
//! hosts = ["www.example.com"]
//! time_zone = "Europe/Berlin"
//! crawl_delay_seconds = 2
//!
//! [[pin]]
//! host = "www.example.com"
//! bot = "GPTBot"
//! max_requests_per_minute = 60
//!
//! [policy]
//! raise_percent = 5
//! ```

mod retention;
mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use serde::Deserialize;

use crate::bot::CATEGORIES;
use crate::ceiling::{CdnHits, Pin, Policy, PublishedQuota, SiteConfig, Zone};
use crate::cli::ReadingArguments;
use crate::error::Error;
use crate::format::latency_field::LatencyField;
use crate::format::layout::{Layout, configuration};
use crate::format::{Format, ParserOptions};
pub use retention::Artifacts;
pub use running::Running;

mod client;
pub use client::{client_choice, host_from_path};

/// The name that is looked for in the current folder.
pub const FILE_NAME: &str = "crawl-baseline.toml";

/// The configuration file. Every key is optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Where things are.
    pub paths: Paths,
    /// What is known of the sites.
    pub site: Vec<Site>,
    /// How long things stay.
    pub artifacts: Artifacts,
    /// How a run uses the machine.
    pub running: Running,
    /// Values that are kept, whatever is found.
    pub pin: Vec<Pin>,
    /// The constants of the recommendation.
    pub policy: Policy,
    /// Where all this was read; empty without a file.
    #[serde(skip)]
    pub path: PathBuf,
}

/// `[paths]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Paths {
    /// Files, folders and patterns, read when the command names none.
    pub logs: Vec<PathBuf>,
    /// As `--output-dir`.
    pub output_dir: Option<PathBuf>,
    /// As `--history`.
    pub history: Option<PathBuf>,
    /// As `--ua-regex-file`.
    pub ua_regex_file: Option<PathBuf>,
    /// As `--catalogue`.
    pub catalogue: Option<PathBuf>,
    /// As `--ip-ranges`.
    pub ip_ranges: Option<PathBuf>,
    /// As `--rdns`.
    pub rdns: Option<PathBuf>,
    /// As `--lock-file`.
    pub lock_file: Option<PathBuf>,
}

/// One `[[site]]`: hosts that are limited alike.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Site {
    /// The host names; the first one is the site of this site's `logs` where a line does not say.
    pub hosts: Vec<String>,
    /// Logs of this site.
    pub logs: Vec<PathBuf>,
    /// IANA name, for hours of the week and days.
    pub time_zone: Option<String>,
    /// Share of requests that the CDN answers, 0 to 1.
    pub cdn_hit_ratio: Option<f64>,
    /// Requests that the CDN answered ...
    pub cdn_hits: Option<u64>,
    /// ... of so many.
    pub cdn_total: Option<u64>,
    /// `Crawl-delay` of robots.txt.
    pub crawl_delay_seconds: Option<f64>,
    /// Most requests per minute for each bot.
    pub operator_max_rpm: Option<u64>,
    /// Most requests per minute for all bots together.
    pub operator_max_rpm_all_bots: Option<u64>,
    /// Quotas that the operator published.
    pub published: Published,
    /// Connections that the gateway allows.
    pub gateway_concurrency: Option<u64>,
    /// Age of the account that crawls, in days.
    pub account_age_days: Option<u64>,
    /// Categories whose ceilings are applied.
    pub enforce: Vec<String>,
    /// Requests per hour that the way out allows, over all hosts.
    pub egress_per_hour: Option<u64>,
    /// Requests per hour and credential.
    pub credential_per_hour: Option<u64>,
    /// Requests per day and identity.
    pub identity_per_day: Option<u64>,
}

impl Site {
    /// The site as the ceilings know it. `enforce` adds to its categories.
    #[must_use]
    pub fn ceilings(&self, enforce: &[String]) -> SiteConfig {
        let zone = self.time_zone.as_deref().and_then(|z| z.parse().ok()).map(Zone::Named);
        SiteConfig {
            time_zone: zone.unwrap_or_default(),
            cdn: match (self.cdn_hit_ratio, self.cdn_hits, self.cdn_total) {
                (_, Some(hits), Some(total)) => Some(CdnHits::Measured { hits, total }),
                (ratio, ..) => ratio.map(CdnHits::Ratio),
            },
            crawl_delay_ms: self.crawl_delay_seconds.map(milliseconds),
            operator_max: self.operator_max_rpm,
            operator_max_all: self.operator_max_rpm_all_bots,
            published: PublishedQuota {
                per_minute: self.published.per_minute,
                per_hour: self.published.per_hour,
                per_day: self.published.per_day,
                at_once: self.published.at_once,
                connections: self.published.connections,
            },
            gateway_concurrency: self.gateway_concurrency,
            account_age_days: self.account_age_days,
            enforce: self.enforce.iter().chain(enforce).cloned().collect(),
            egress_per_hour: self.egress_per_hour,
            credential_per_hour: self.credential_per_hour,
            identity_per_day: self.identity_per_day,
        }
    }
}

/// Seconds, checked to be between 0 and a day, in milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range was checked when reading"
)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).ceil() as u64
}

/// `published` of a site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Published {
    /// Requests per minute.
    pub per_minute: Option<u64>,
    /// Requests per hour.
    pub per_hour: Option<u64>,
    /// Requests per day.
    pub per_day: Option<u64>,
    /// Requests at once.
    pub at_once: Option<u64>,
    /// Connections.
    pub connections: Option<u64>,
}

impl File {
    /// Reads the file that was named, or the one in the current folder if there is one.
    ///
    /// # Errors
    /// A named file that cannot be read, or any text that is no such configuration (usage), with the line.
    pub fn read(named: Option<&Path>) -> Result<Self, Error> {
        let path = named.unwrap_or(Path::new(FILE_NAME));
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if named.is_none() && e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(e) => {
                return Err(Error::usage(path.display(), "cannot read this configuration").cause(e));
            }
        };
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let mut file: Self = toml::from_str(text).map_err(|e| {
            let line =
                e.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let cause = e.message().to_owned();
            let error = Error::usage(format_args!("{}:{line}", path.display()), "is no valid configuration")
                .cause(&cause);
            match nearest_field(&cause) {
                Some(field) => error.hint(format_args!("did you mean `{field}`?")),
                None => error.hint("the keys are listed in README, section Configuration"),
            }
        })?;
        for (i, site) in file.site.iter().enumerate() {
            let place = || format!("{}: [[site]] number {}", path.display(), i + 1);
            if site.hosts.is_empty() {
                return Err(Error::usage(place(), "has no `hosts`").hint("add hosts = [\"www.example.com\"]"));
            }
            if site.cdn_hits.is_some() != site.cdn_total.is_some() || site.cdn_hits > site.cdn_total {
                return Err(Error::usage(place(), "cdn_hits and cdn_total are no share")
                    .cause("expected both, and hits at most the total"));
            }
            if site.cdn_hit_ratio.is_some_and(|r| !(0.0..=1.0).contains(&r)) {
                return Err(Error::usage(place(), "cdn_hit_ratio is no share").cause("expected 0 to 1"));
            }
            if site.crawl_delay_seconds.is_some_and(|d| !(0.0..=86_400.0).contains(&d)) {
                return Err(
                    Error::usage(place(), "crawl_delay_seconds is out of range").cause("expected 0 to 86400")
                );
            }
            let numbers = [
                ("operator_max_rpm", site.operator_max_rpm),
                ("operator_max_rpm_all_bots", site.operator_max_rpm_all_bots),
                ("published.per_minute", site.published.per_minute),
                ("published.per_hour", site.published.per_hour),
                ("published.per_day", site.published.per_day),
                ("published.at_once", site.published.at_once),
                ("published.connections", site.published.connections),
                ("gateway_concurrency", site.gateway_concurrency),
                ("egress_per_hour", site.egress_per_hour),
                ("credential_per_hour", site.credential_per_hour),
                ("identity_per_day", site.identity_per_day),
            ];
            if let Some((key, _)) = numbers.iter().find(|(_, n)| *n == Some(0)) {
                return Err(Error::usage(place(), format_args!("{key} is 0"))
                    .cause("expected at least 1")
                    .hint("a bot is shut out in robots.txt or in the server, not by a ceiling"));
            }
            check_categories(&format!("{}: enforce", place()), &site.enforce)?;
            if let Some(zone) = &site.time_zone
                && zone.parse::<chrono_tz::Tz>().is_err()
            {
                return Err(Error::usage(place(), format_args!("time_zone {zone:?} is unknown"))
                    .hint("use an IANA name, as Europe/Berlin"));
            }
        }
        file.policy.check(&format!("{}: ", path.display()))?;
        path.clone_into(&mut file.path);
        for (i, (place, pin)) in file.pins().iter().enumerate() {
            pin.check(place)?;
            if let Some(twice) = file.pin[..i].iter().position(|p| p.is_of_the_same_entry(pin)) {
                return Err(Error::usage(place, format_args!("fixes what number {} fixes", twice + 1))
                    .hint("put all values of one host and bot into one [[pin]]"));
            }
        }
        Ok(file)
    }

    /// The pins, each with its place.
    #[must_use]
    pub fn pins(&self) -> Vec<(String, &Pin)> {
        let place = |i: usize| format!("{}: [[pin]] number {}", self.path.display(), i + 1);
        self.pin.iter().enumerate().map(|(i, pin)| (place(i), pin)).collect()
    }

    /// What is configured for a host.
    #[must_use]
    pub fn site_of(&self, host: &str) -> Option<&Site> {
        self.site.iter().find(|s| s.hosts.iter().any(|h| h.eq_ignore_ascii_case(host)))
    }
}

/// Checks names of bot categories.
///
/// # Errors
/// An unknown one (usage), with the nearest known one.
pub fn check_categories(place: &str, names: &[String]) -> Result<(), Error> {
    let Some(wrong) = names.iter().find(|n| !CATEGORIES.contains(&n.as_str())) else { return Ok(()) };
    let error = Error::usage(place, format_args!("{wrong:?} is no category"));
    Err(match nearest(wrong, CATEGORIES.into_iter()) {
        Some(near) => error.hint(format_args!("did you mean {near}?")),
        None => error.hint(format_args!("one of {}", CATEGORIES.join(", "))),
    })
}

/// From "unknown field `x`, expected one of `a`, `b`": the nearest of those that are expected.
fn nearest_field(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let wrong = quoted.next().filter(|_| message.starts_with("unknown field"))?;
    nearest(wrong, quoted)
}

/// The candidate that needs the fewest changes, if that is at most a third of the word.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    candidates
        .map(|c| (distance(word.as_bytes(), c.as_bytes()), c))
        .min()
        .filter(|(d, c)| *d * 3 <= word.len().max(c.len()))
        .map(|(_, c)| c.to_owned())
}

/// Levenshtein's distance, case ignored.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Time of the run: `--now`, else the clock.
///
/// # Errors
/// No RFC 3339 (usage).
pub fn now(given: Option<&str>) -> Result<DateTime<Utc>, Error> {
    match given {
        None => {
            let since =
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Ok(DateTime::from_timestamp(i64::try_from(since.as_secs()).unwrap_or(0), 0).unwrap_or_default())
        }
        Some(text) => time("--now", text),
    }
}

/// A time (RFC 3339) or a date (its midnight, UTC).
///
/// # Errors
/// Anything else (usage), naming the flag.
pub fn time(flag: &str, text: &str) -> Result<DateTime<Utc>, Error> {
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Ok(date.and_time(chrono::NaiveTime::MIN).and_utc());
    }
    DateTime::parse_from_rfc3339(text).map(|t| t.with_timezone(&Utc)).map_err(|e| {
        Error::usage(flag, format_args!("cannot read {text:?} as a time"))
            .cause(e)
            .hint("write 2026-03-10 or 2026-03-10T06:25:14Z")
    })
}

/// A span as 90m, 24h, 7d, 45s, in seconds.
///
/// # Errors
/// Anything else (usage), naming the flag.
pub fn span(flag: &str, text: &str) -> Result<i64, Error> {
    let wrong = || {
        Error::usage(flag, format_args!("cannot read {text:?} as a span"))
            .hint("write a number and s, m, h, d or w: 24h")
    };
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).filter(|s| *s > 0).ok_or_else(wrong)
}

/// What the line parser needs to know.
///
/// # Errors
/// An unknown format or zone (usage).
pub fn parser_options(arguments: &ReadingArguments, now: DateTime<Utc>) -> Result<ParserOptions, Error> {
    let layout = layout(arguments)?;
    let format = match arguments.log_format.as_str() {
        _ if layout.is_some() => None,
        "auto" => None,
        name => Some(Format::named().find(|f| f.name() == name).ok_or_else(|| {
            let names = std::iter::once("auto").chain(Format::named().map(Format::name));
            let error = Error::usage("--log-format", format_args!("{name:?} is no known format"));
            match nearest(name, names) {
                Some(near) => error.hint(format_args!("did you mean {near}?")),
                None => error.hint(format_args!(
                    "one of {}, or a string of nginx ($remote_addr ...) or Apache (%h ...)",
                    names_of_formats()
                )),
            }
        })?),
    };
    if arguments.max_line_bytes < 1024 {
        return Err(Error::usage(
            "--max-line-bytes",
            format_args!("{} is too small", arguments.max_line_bytes),
        )
        .cause("expected at least 1024"));
    }
    Ok(ParserOptions {
        now: Some(now.timestamp()),
        assume_zone_seconds: zone_seconds(&arguments.assume_zone)?,
        max_line_bytes: arguments.max_line_bytes,
        format,
        layout: layout.map(Arc::new),
        latency_field: arguments
            .latency_field
            .as_deref()
            .map(|text| {
                LatencyField::new(text).map_err(|cause| {
                    Error::usage(format_args!("--latency-field {text}"), "names no field").cause(cause)
                })
            })
            .transpose()?,
    })
}

/// The server's own format string: as typed, or out of its configuration file.
fn layout(arguments: &ReadingArguments) -> Result<Option<Layout>, Error> {
    let (place, text) = match &arguments.log_format_from {
        None => ("--log-format".to_owned(), arguments.log_format.clone()),
        Some(from) => (format!("--log-format-from {from}"), format_from(from)?),
    };
    match Layout::compile(&text) {
        None if arguments.log_format_from.is_some() => {
            Err(Error::usage(place, format_args!("{text:?} is no format string"))
                .cause("expected a field of nginx ($remote_addr) or Apache (%h)"))
        }
        None => Ok(None),
        Some(Ok(layout)) => Ok(Some(layout)),
        Some(Err(cause)) => Err(Error::usage(place, format_args!("cannot use {text:?}")).cause(cause)),
    }
}

/// `FILE` or `FILE:name`.
fn format_from(from: &str) -> Result<String, Error> {
    let place = || format!("--log-format-from {from}");
    let (path, name) = match from.rsplit_once(':') {
        Some((path, name)) if !Path::new(from).exists() => (path, Some(name)),
        _ => (from, None),
    };
    let bytes = std::fs::read(path).map_err(|e| Error::usage(place(), "cannot read the file").cause(e))?;
    let mut formats = configuration::formats(&String::from_utf8_lossy(&bytes));
    let names: Vec<String> = formats.iter().map(|(name, _)| name.clone()).collect();
    match name {
        Some(wanted) => {
            // The last definition of a name is the one that counts.
            let found = formats.into_iter().rev().find(|(name, _)| name == wanted);
            found.map(|(_, text)| text).ok_or_else(|| {
                let error = Error::usage(place(), format_args!("no format is named {wanted:?}"));
                match nearest(wanted, names.iter().map(String::as_str)) {
                    Some(near) => error.hint(format_args!("did you mean {near}?")),
                    None => error.hint(format_args!("the file names: {}", names.join(", "))),
                }
            })
        }
        None if formats.len() == 1 => Ok(formats.remove(0).1),
        None if formats.is_empty() => Err(Error::usage(place(), "found no log_format and no LogFormat")
            .hint("included files are not followed: name the file that defines it")),
        None => Err(Error::usage(place(), format_args!("found {} formats", formats.len()))
            .hint(format_args!("name one, as {path}:{}; there are: {}", names[0], names.join(", ")))),
    }
}

fn names_of_formats() -> String {
    let names: Vec<&str> = std::iter::once("auto").chain(Format::named().map(Format::name)).collect();
    names.join(", ")
}

fn zone_seconds(text: &str) -> Result<i32, Error> {
    let wrong = || {
        Error::usage("--assume-zone", format_args!("cannot read {text:?} as an offset"))
            .hint("write +0100 or -0330")
    };
    let (sign, digits) = match text.split_at_checked(1) {
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        _ => return Err(wrong()),
    };
    let digits = digits.replace(':', "");
    if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let (hours, minutes): (i32, i32) =
        (digits[..2].parse().map_err(|_| wrong())?, digits[2..].parse().map_err(|_| wrong())?);
    if hours > 14 || minutes > 59 {
        return Err(wrong());
    }
    Ok(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests;
