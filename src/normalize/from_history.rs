//! The URLs that a history holds: samples of what bots were answered 4xx or 5xx for, up to the thousand with most hits
//! for each bot, host and date. What was answered well is in no table.
//!
//! Example: `/old?utm_source=x` of `www.example.com` is read as `https://www.example.com/old?utm_source=x`.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::collect::Collector;
use super::line::{Line, refusal};
use crate::error::Error;
use crate::format::escape::unescape;
use crate::history::read::{History, Wanted};
use crate::ingest::DEFAULT_HOST;
use crate::tally::distinct::stable_hash;

/// What the URLs are about.
#[derive(Debug, Default)]
pub struct Covered {
    /// The first and last date with such URLs, in days since 1970-01-01.
    pub dates: Option<(i32, i32)>,
    /// Requests for URLs beyond the thousand: in no list.
    pub requests_beyond: u64,
    /// Parts that could not be used.
    pub warnings: Vec<Error>,
}

/// Reads all dates into the collector, each URL of a host once.
///
/// # Errors
/// A newer program wrote a part (usage), or a signal.
pub fn from_history(
    history: &History,
    collector: &mut Collector,
    stop: &AtomicUsize,
) -> Result<Covered, Error> {
    let mut covered = Covered::default();
    let mut seen: HashSet<u64> = HashSet::new();
    for date in history.dates() {
        if let Ok(signal @ 1..) = i32::try_from(stop.load(Ordering::Relaxed)) {
            return Err(Error::interrupted(signal));
        }
        let (day, mut warnings) = history.read_day(date, Wanted { waste: true, ..Wanted::default() })?;
        covered.warnings.append(&mut warnings);
        for row in &day.waste {
            let series = &day.series[row.series as usize];
            if !series.is_bot() {
                continue;
            }
            if row.url_key == "(other)" {
                covered.requests_beyond += row.hits;
                continue;
            }
            covered.dates = Some(covered.dates.map_or((date, date), |(first, _)| (first, date)));
            let url = url_of(&series.host, &row.url_sample);
            if seen.insert(stable_hash(url.as_bytes())) {
                collector.add(&match refusal(&url) {
                    Some(reason) => Line::Rejected(reason),
                    None => Line::Url(url.into(), None),
                });
            }
        }
    }
    Ok(covered)
}

/// The URL with its host, where the log named one. A log does not tell the scheme: https.
fn url_of(host: &str, sample: &str) -> String {
    let target = String::from_utf8_lossy(&unescape(sample.as_bytes())).into_owned();
    if target.starts_with('/') && host != DEFAULT_HOST && !host.starts_with('(') {
        return format!("https://{host}{target}");
    }
    target
}

#[cfg(test)]
mod tests {
    use super::url_of;

    #[test]
    fn a_path_gets_its_host_and_an_absolute_target_keeps_its_own() {
        assert_eq!(url_of("www.example.com", r"/a?x=\x22"), "https://www.example.com/a?x=\"");
        assert_eq!(url_of("(default)", "/a"), "/a");
        assert_eq!(url_of("www.example.com", "http://other.example/a"), "http://other.example/a");
    }
}
