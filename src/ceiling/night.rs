//! The second of the two calls that `analyze` is made of: days of the history in, a whole manifest out.
//!
//! Where the days come from is the caller's affair: the history, or one run alone. Example: 28 days of two hosts and
//! yesterday's manifest give tonight's.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    HostRecommendation, Input, Policy, PreviousManifest, RangeState, SiteConfig, host_entry, manifest_policy,
    manifest_scopes, previous, recommend, scopes, window,
};
use crate::error::Error;
use crate::manifest::{Manifest, Minute, RateLimiting, Second};
use crate::tally::table::{Coverage, DayTables};

/// What one source covers.
#[derive(Debug, Clone, Default)]
pub struct SourceCoverage {
    /// Its dates, ascending.
    pub dates: Vec<Coverage>,
    /// It was still being written: its last minute is not over.
    pub live: bool,
}

/// Everything that the manifest of one night depends on beside the rows.
pub struct Night<'a> {
    /// The run, in epoch seconds.
    pub now: i64,
    /// Program and version.
    pub generator: String,
    /// What the sources cover.
    pub coverage: &'a [SourceCoverage],
    /// This run could not read all of its input.
    pub partial: bool,
    /// Lines of the window.
    pub lines: u64,
    /// Those of them that were rejected.
    pub rejects: u64,
    /// The constants.
    pub policy: &'a Policy,
    /// What is configured for a host.
    pub site: &'a dyn Fn(&str) -> SiteConfig,
    /// How old a bot's ranges are on that date (days since 1970-01-01); `None` without any.
    pub ranges: &'a dyn Fn(&str, i32) -> Option<RangeState>,
    /// For hosts without an entry.
    pub defaults: RateLimiting,
}

impl Night<'_> {
    /// The last minute that has a record: the end of the window. `None` without any.
    #[must_use]
    pub fn window_end(&self) -> Option<i64> {
        let latest = self.now.div_euclid(60) + self.policy.future_minutes;
        self.coverage
            .iter()
            .flat_map(|s| &s.dates)
            .filter(|c| c.first.div_euclid(60) <= latest)
            .map(|c| c.last.div_euclid(60).min(latest))
            .max()
    }

    /// The dates that the windows need, `(first, last)` in days since 1970-01-01.
    #[must_use]
    pub fn dates(&self) -> Option<(i32, i32)> {
        let last = date_of(self.window_end()?);
        let span = self.policy.clean_window_days.max(self.policy.evidence_window_days);
        Some((last - i32::try_from(span).unwrap_or(90), last))
    }

    /// Makes the manifest. `read_day` gives the rows of one date, each host, bot and minute once or as often as there
    /// are sources. `before` is the newest manifest whose window ends on an earlier date.
    ///
    /// `None` when there is no record in the window: then the newest manifest stays as it is.
    ///
    /// # Errors
    /// What `read_day` returned.
    pub fn manifest(
        &self,
        days: &BTreeSet<i32>,
        read_day: &mut dyn FnMut(i32) -> Result<Vec<DayTables>, Error>,
        before: Option<&Manifest>,
    ) -> Result<Option<Manifest>, Error> {
        let (Some((first, last)), Some(end)) = (self.dates(), self.window_end()) else { return Ok(None) };
        let clean_from = (i64::from(last) - self.policy.clean_window_days) * 1440;
        let mut inputs: BTreeMap<String, Input> = BTreeMap::new();
        for date in days.range(first..=last) {
            for tables in read_day(*date)? {
                let hosts: BTreeSet<&str> = tables.series.iter().map(|s| s.host.as_str()).collect();
                for host in hosts {
                    let input =
                        inputs.entry(host.to_owned()).or_insert_with(|| self.input(host, clean_from, before));
                    input.add_day(&tables, host);
                }
            }
        }
        // A partial run may have lost the rows of a host altogether: its entry is held, not dropped.
        if let Some(before) = before.filter(|_| self.partial) {
            for host in before.domain_overrides.keys() {
                inputs.entry(host.clone()).or_insert_with(|| self.input(host, clean_from, Some(before)));
            }
        }
        let mut results: BTreeMap<String, (HostRecommendation, SiteConfig)> = BTreeMap::new();
        for (host, mut input) in inputs {
            for bot in input.categories.keys().cloned().collect::<Vec<_>>() {
                if let Some(state) = (self.ranges)(&bot, date_of(end)) {
                    input.ranges.insert(bot, state);
                }
            }
            if let Some(result) = recommend(&input, self.policy) {
                results.insert(host, (result, input.site));
            }
        }
        if results.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.put_together(&results, before)))
    }

    fn input(&self, host: &str, clean_from: i64, before: Option<&Manifest>) -> Input {
        let mut input = Input::new(self.now.div_euclid(60));
        input.covered = covered(self.coverage);
        input.partial = self.partial;
        input.lines = self.lines;
        input.rejects = self.rejects;
        input.site = (self.site)(host);
        input.seconds_from = clean_from;
        let earlier: Option<PreviousManifest> = before.and_then(|m| previous(m, host));
        input.previous.extend(earlier);
        input
    }

    fn put_together(
        &self,
        results: &BTreeMap<String, (HostRecommendation, SiteConfig)>,
        before: Option<&Manifest>,
    ) -> Manifest {
        let hosts: Vec<&HostRecommendation> = results.values().map(|(r, _)| r).collect();
        // Egress, credential and identity belong to whoever crawls: what any site says of them counts, the least of several.
        let least =
            |of: fn(&SiteConfig) -> Option<u64>| results.values().filter_map(|(_, site)| of(site)).min();
        let crawler = SiteConfig {
            egress_per_hour: least(|s| s.egress_per_hour),
            credential_per_hour: least(|s| s.credential_per_hour),
            identity_per_day: least(|s| s.identity_per_day),
            account_age_days: least(|s| s.account_age_days),
            ..SiteConfig::default()
        };
        let windows: Vec<_> = hosts.iter().map(|h| window(&h.window)).collect();
        Manifest {
            generated_at: Some(Second(self.now)),
            generator: Some(self.generator.clone()),
            window: windows.iter().copied().reduce(|a, b| crate::manifest::Window {
                from: Minute(a.from.0.min(b.from.0)),
                to: Minute(a.to.0.max(b.to.0)),
                minutes_covered: a.minutes_covered.max(b.minutes_covered),
            }),
            policy: manifest_policy(self.policy),
            scopes: manifest_scopes(&scopes(&hosts, None, &crawler, self.policy)),
            rate_limiting: self.defaults.clone(),
            domain_overrides: results
                .iter()
                .map(|(host, (result, site))| {
                    let earlier = before.and_then(|m| m.domain_overrides.get(host));
                    (host.clone(), host_entry(result, earlier, site, self.policy))
                })
                .collect(),
            ..Manifest::default()
        }
    }
}

fn date_of(minute: i64) -> i32 {
    i32::try_from(minute.div_euclid(1440)).unwrap_or(i32::MAX)
}

/// Covered minutes, `(first, last)`: within a date from the first to the last record, and over midnight when the next
/// record of the same source is at most 24 h away. A log that is still being written ends a minute early.
fn covered(sources: &[SourceCoverage]) -> Vec<(i64, i64)> {
    let mut ranges = Vec::new();
    for source in sources {
        let mut open: Option<(i64, i64)> = None;
        for (i, day) in source.dates.iter().enumerate() {
            let (first, mut last) = (day.first.div_euclid(60), day.last.div_euclid(60));
            if source.live && i + 1 == source.dates.len() {
                last -= 1;
            }
            let bridged = i > 0 && day.first - source.dates[i - 1].last <= 86_400;
            match &mut open {
                Some(range) if bridged => range.1 = range.1.max(last),
                _ => ranges.extend(open.replace((first, last))),
            }
        }
        ranges.extend(open);
    }
    ranges.retain(|(first, last)| first <= last);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_more_than_a_day_is_not_covered_and_a_live_log_ends_a_minute_early() {
        let day = |date: i32, first: i64, last: i64| Coverage {
            date,
            first: i64::from(date) * 86_400 + first,
            last: i64::from(date) * 86_400 + last,
        };
        let dates = vec![day(20_000, 3600, 86_000), day(20_001, 600, 7200), day(20_003, 0, 600)];
        let start = 20_000 * 1440;
        let settled = covered(&[SourceCoverage { dates: dates.clone(), live: false }]);
        assert_eq!(settled, [(start + 60, start + 1440 + 120), (start + 3 * 1440, start + 3 * 1440 + 10)]);
        let live = covered(&[SourceCoverage { dates, live: true }]);
        assert_eq!(live[1].1, settled[1].1 - 1);
    }
}
