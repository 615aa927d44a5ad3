//! From the history to the manifest, and the manifest's numbers where a person looks for them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::super::console;
use super::{Analyze, GENERATOR};
use crate::baseline::Baseline;
use crate::bot::Who;
use crate::ceiling::night::{Night, SourceCoverage};
use crate::ceiling::{Policy, RangeState, SiteConfig};
use crate::error::Error;
use crate::history::read::{History, Wanted};
use crate::ingest::Ingested;
use crate::manifest::{self, Entry, Grade, Manifest, Minute, RateLimiting};
use crate::report::{Ceiling, HostCeilings};
use crate::tally::table::DayTables;

/// Makes the manifest of this run; `None` when the window holds no record.
///
/// # Errors
/// A history that cannot be read.
pub(super) fn manifest(
    analyze: &Analyze<'_>,
    logs: &[Ingested],
    from_history: bool,
    partial: bool,
) -> Result<Option<Manifest>, Error> {
    let history = if from_history { Some(History::open(&analyze.history_folder())?) } else { None };
    let counted: Vec<&Ingested> = logs.iter().filter(|l| l.duplicate_of().is_none()).collect();
    let coverage: Vec<SourceCoverage> = match &history {
        Some(history) => history
            .sources()
            .values()
            .map(|row| SourceCoverage { dates: row.coverage.clone(), live: row.entry.live })
            .collect(),
        None => counted
            .iter()
            .map(|l| SourceCoverage { dates: l.tables.coverage.clone(), live: l.stream.live })
            .collect(),
    };
    let policy = Policy::default();
    let site = |host: &str| site_of(analyze, host);
    let ranges = |bot: &str, last_day: i32| ranges_of(analyze, bot, last_day);
    let mut night = Night {
        now: analyze.now().timestamp(),
        generator: GENERATOR.to_owned(),
        coverage: &coverage,
        partial,
        lines: 0,
        rejects: 0,
        policy: &policy,
        site: &site,
        ranges: &ranges,
        defaults: RateLimiting::default(),
    };
    let (Some(dates), Some(end)) = (night.dates(), night.window_end()) else { return Ok(None) };
    let clean_from = dates.1 - i32::try_from(policy.clean_window_days).unwrap_or(28);
    (night.lines, night.rejects) = lines_and_rejects(history.as_ref(), &counted, clean_from);

    let days: BTreeSet<i32> = coverage.iter().flat_map(|s| &s.dates).map(|c| c.date).collect();
    let mut read_day = |date: i32| -> Result<Vec<DayTables>, Error> {
        match &history {
            Some(history) => {
                let wanted = Wanted { minutes: true, seconds: date >= clean_from, ..Wanted::default() };
                let (day, warnings) = history.read_day(date, wanted)?;
                for warning in &warnings {
                    console::print_error(warning);
                }
                Ok(vec![day])
            }
            None => {
                Ok(counted.iter().flat_map(|l| &l.tables.days).filter(|d| d.date == date).cloned().collect())
            }
        }
    };
    // A run alone has no memory: what it says depends on its logs and nothing else.
    let before = match &history {
        Some(_) => {
            let previous = manifest::newest_before(analyze.output.path(), Minute(end))?;
            for warning in &previous.warnings {
                console::print_note(format_args!("{}: {}", warning.place, warning.message));
            }
            previous.found.map(|(_, manifest)| manifest)
        }
        None => None,
    };
    let manifest = night.manifest(&days, &mut read_day, before.as_ref())?;
    for finding in manifest.iter().flat_map(manifest::lint) {
        console::print_note(format_args!("manifest: {}: {}", finding.place, finding.message));
    }
    Ok(manifest)
}

fn lines_and_rejects(history: Option<&History>, counted: &[&Ingested], from: i32) -> (u64, u64) {
    let mut sum = (0, 0);
    let mut add = |lines: u64, rejects: u64| sum = (sum.0 + lines, sum.1 + rejects);
    match history {
        Some(history) => {
            for row in history.sources().values().filter(|r| r.coverage.iter().any(|c| c.date >= from)) {
                add(row.counts.lines, row.counts.rejected());
            }
        }
        None => counted.iter().for_each(|l| add(l.tables.counts.lines, l.tables.counts.rejected())),
    }
    sum
}

fn site_of(analyze: &Analyze<'_>, host: &str) -> SiteConfig {
    match analyze.reading.file.site_of(host) {
        Some(site) => site.ceilings(&analyze.arguments.enforce),
        None => SiteConfig {
            enforce: analyze.arguments.enforce.iter().cloned().collect(),
            ..SiteConfig::default()
        },
    }
}

fn ranges_of(analyze: &Analyze<'_>, bot: &str, last_day: i32) -> Option<RangeState> {
    let who = Who::Known(analyze.reading.matcher.catalogue().find(bot)?);
    let verifier = &analyze.reading.verifier;
    if verifier.has_fresh_ranges(&who, last_day) {
        Some(RangeState::Fresh)
    } else {
        verifier.can_check(&who).then_some(RangeState::Stale)
    }
}

/// What the summary shows of the manifest.
pub(super) fn shown(manifest: &Manifest) -> BTreeMap<String, HostCeilings> {
    let ceiling = |entry: &Entry| Ceiling {
        requests_per_minute: entry.max_requests_per_minute,
        bound_by: bound_by(entry).unwrap_or_default(),
        confidence: entry.confidence.map(grade).unwrap_or_default(),
    };
    manifest
        .domain_overrides
        .iter()
        .map(|(host, entry)| {
            let bots = entry.bots.iter().map(|(bot, e)| (bot.clone(), ceiling(e))).collect();
            (host.clone(), HostCeilings { all_bots: Some(ceiling(entry)), bots })
        })
        .collect()
}

/// The grade as the manifest writes it.
fn grade(grade: Grade) -> String {
    json!(grade).as_str().map(str::to_owned).unwrap_or_default()
}

fn bound_by(entry: &Entry) -> Option<String> {
    Some(entry.evidence.as_ref()?.max_requests_per_minute.bound_by.clone())
}

/// Puts each bot's ceiling into the baseline.
pub(super) fn fill_in(baseline: &mut Baseline, manifest: Option<&Manifest>) {
    let Some(manifest) = manifest else { return };
    for (host, measured) in &mut baseline.hosts {
        for (bot, figures) in &mut measured.bots {
            let Some(entry) = manifest.entry(host, Some(bot)) else { continue };
            let mut ceiling = Map::new();
            let mut put = |key: &str, value: Value| ceiling.insert(key.to_owned(), value);
            put("max_requests_per_minute", json!(entry.max_requests_per_minute));
            put("bound_by", json!(bound_by(entry)));
            put("confidence", json!(entry.confidence));
            put("apply", json!(entry.apply));
            put("apply_reason", json!(entry.apply_reason));
            figures.ceiling = ceiling;
        }
    }
}
