//! From the history to the manifest: the second of the two calls that `analyze` is made of, and all that `recommend` does.
//! So both give the same manifest.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::console;
use crate::artifact::OutputFolder;
use crate::bot::verify::Verifier;
use crate::bot::{Catalogue, Who};
use crate::ceiling::night::{Night, SourceCoverage};
use crate::ceiling::{Pinning, RangeState, SiteConfig};
use crate::config::File;
use crate::error::Error;
use crate::history::ceilings::{ALL_BOTS, CeilingRow, write_ceilings};
use crate::history::read::{History, Wanted};
use crate::ingest::Ingested;
use crate::manifest::{self, Entry, Manifest, Minute, RateLimiting};
use crate::tally::table::DayTables;

/// `crawl-baseline 0.1.0`
pub const GENERATOR: &str = concat!("crawl-baseline ", env!("CARGO_PKG_VERSION"));

/// Everything that the manifest depends on beside the rows.
pub struct Ceilings<'a> {
    /// The configuration.
    pub file: &'a File,
    /// Whose ranges there are.
    pub catalogue: &'a Catalogue,
    /// How old the ranges are.
    pub verifier: &'a Verifier,
    /// The time of the run.
    pub now: DateTime<Utc>,
    /// `--enforce`
    pub enforce: &'a [String],
    /// `--seed-defaults`
    pub seed_defaults: bool,
    /// Where the manifests of earlier nights are.
    pub output: &'a OutputFolder,
    /// The run could not read all of its input.
    pub partial: bool,
}

/// Where the rows come from.
#[derive(Clone, Copy)]
pub enum Rows<'a> {
    /// The history.
    History(&'a History),
    /// One run alone; each content once.
    Run(&'a [&'a Ingested]),
}

impl Ceilings<'_> {
    /// Makes the manifest; `None` when the window holds no record.
    ///
    /// # Errors
    /// A history or an earlier manifest that cannot be read.
    pub fn manifest(&self, rows: Rows<'_>) -> Result<Option<Manifest>, Error> {
        let coverage: Vec<SourceCoverage> = match rows {
            Rows::History(history) => history
                .sources()
                .values()
                .map(|row| SourceCoverage { dates: row.held_coverage(), live: row.entry.live })
                .collect(),
            Rows::Run(counted) => counted
                .iter()
                .map(|l| SourceCoverage { dates: l.tables.coverage.clone(), live: l.is_live() })
                .collect(),
        };
        let policy = &self.file.policy;
        let site = |host: &str| self.site_of(host);
        let ranges = |bot: &str, last_day: i32| self.ranges_of(bot, last_day);
        let mut night = Night {
            now: self.now.timestamp(),
            generator: GENERATOR.to_owned(),
            coverage: &coverage,
            partial: self.partial,
            lines: 0,
            rejects: 0,
            policy,
            site: &site,
            ranges: &ranges,
            defaults: self.defaults(),
        };
        let (Some(dates), Some(end)) = (night.dates(), night.window_end()) else { return Ok(None) };
        let clean_from = dates.1 - i32::try_from(policy.clean_window_days).unwrap_or(28);
        (night.lines, night.rejects) = lines_and_rejects(rows, clean_from);

        let days: BTreeSet<i32> = coverage.iter().flat_map(|s| &s.dates).map(|c| c.date).collect();
        let mut read_day = |date: i32| -> Result<Vec<DayTables>, Error> {
            match rows {
                Rows::History(history) => {
                    let wanted = Wanted { minutes: true, seconds: date >= clean_from, ..Wanted::default() };
                    let (day, warnings) = history.read_day(date, wanted)?;
                    for warning in &warnings {
                        console::print_error(warning);
                    }
                    Ok(vec![day])
                }
                Rows::Run(counted) => {
                    let all = counted.iter().flat_map(|l| &l.tables.days);
                    Ok(all.filter(|d| d.date == date).cloned().collect())
                }
            }
        };
        // A run alone has no memory: what it says depends on its logs and nothing else.
        let before = match rows {
            Rows::History(_) => {
                let previous = manifest::newest_before(self.output.path(), Minute(end))?;
                for warning in &previous.warnings {
                    console::print_note(format_args!("{}: {}", warning.place, warning.message));
                }
                previous.found.map(|(_, manifest)| manifest)
            }
            Rows::Run(_) => None,
        };
        let mut manifest = night.manifest(&days, &mut read_day, before.as_ref())?;
        if let Some(manifest) = &mut manifest {
            let pins = self.file.pins();
            let hosts: Vec<&str> = self.file.site.iter().flat_map(|s| &s.hosts).map(String::as_str).collect();
            let bots: Vec<&str> = self.catalogue.bots().iter().map(|b| b.name.as_str()).collect();
            Pinning { pins: &pins, hosts: &hosts, bots: &bots, site: &site, policy }.apply(manifest)?;
        }
        for finding in manifest.iter().flat_map(manifest::lint) {
            console::print_note(format_args!("manifest: {}: {}", finding.place, finding.message));
        }
        Ok(manifest)
    }

    /// What hosts without an entry may do.
    fn defaults(&self) -> RateLimiting {
        if self.seed_defaults {
            return RateLimiting::seed_defaults();
        }
        let policy = &self.file.policy;
        RateLimiting {
            base_delay_ms: 60_000_u64.div_ceil(policy.default_rpm.max(1)),
            max_concurrency: policy.default_connections,
            ..RateLimiting::default()
        }
    }

    pub(super) fn site_of(&self, host: &str) -> SiteConfig {
        match self.file.site_of(host) {
            Some(site) => site.ceilings(self.enforce),
            None => SiteConfig { enforce: self.enforce.iter().cloned().collect(), ..SiteConfig::default() },
        }
    }

    fn ranges_of(&self, bot: &str, last_day: i32) -> Option<RangeState> {
        let who = Who::Known(self.catalogue.find(bot)?);
        if self.verifier.has_fresh_ranges(&who, last_day) {
            Some(RangeState::Fresh)
        } else {
            self.verifier.can_check(&who).then_some(RangeState::Stale)
        }
    }
}

fn lines_and_rejects(rows: Rows<'_>, from: i32) -> (u64, u64) {
    let mut sum = (0, 0);
    let mut add = |lines: u64, rejects: u64| sum = (sum.0 + lines, sum.1 + rejects);
    match rows {
        Rows::History(history) => {
            for row in history.sources().values().filter(|r| r.coverage.iter().any(|c| c.date >= from)) {
                add(row.counts.lines, row.counts.rejected());
            }
        }
        Rows::Run(counted) => {
            counted.iter().for_each(|l| add(l.tables.counts.lines, l.tables.counts.rejected()));
        }
    }
    sum
}

/// Keeps what was recommended, for questions about ceilings over time.
///
/// # Errors
/// The part that cannot be written (exit 5).
pub fn keep(history: &History, manifest: &Manifest) -> Result<(), Error> {
    let Some(window) = manifest.window else { return Ok(()) };
    let row = |host: &str, bot: &str, entry: &Entry| {
        let evidence = entry.evidence.as_ref();
        CeilingRow {
            host: host.to_owned(),
            bot: bot.to_owned(),
            max_requests_per_minute: Some(entry.max_requests_per_minute),
            max_burst_capacity: Some(entry.max_burst_capacity),
            max_concurrent_connections: Some(entry.max_concurrent_connections),
            base_delay_ms: Some(entry.base_delay_ms),
            requests_per_hour: entry.budgets.as_ref().map(|b| b.requests_per_hour),
            requests_per_day: entry.budgets.as_ref().map(|b| b.requests_per_day),
            bound_by: bound_by(entry).unwrap_or_default(),
            confidence: entry.confidence.map(grade).unwrap_or_default(),
            apply: entry.apply,
            evidence_json: serde_json::to_string(&evidence).unwrap_or_else(|_| "null".to_owned()),
        }
    };
    let mut rows = Vec::new();
    for (host, entry) in &manifest.domain_overrides {
        rows.push(row(host, ALL_BOTS, entry));
        rows.extend(entry.bots.iter().map(|(bot, entry)| row(host, bot, entry)));
    }
    write_ceilings(history.folder(), (window.from.0, window.to.0), &rows)?;
    Ok(())
}

/// The grade as the manifest writes it.
fn grade(grade: manifest::Grade) -> String {
    serde_json::json!(grade).as_str().map(str::to_owned).unwrap_or_default()
}

/// The rule that bound the rate.
pub(super) fn bound_by(entry: &Entry) -> Option<String> {
    Some(entry.evidence.as_ref()?.max_requests_per_minute.bound_by.clone())
}
