//! Counts of several sources of one date as one: sums, in any order and grouping the same rows.
//!
//! Example: `access.log.1` ends at 06:25 and `access.log` begins there; minute 06:25 of Googlebot has 9 requests in one
//! and 8 in the other, and 17 in the merged table.

use std::collections::BTreeMap;

use crate::tally::distinct::stable_hash;
use crate::tally::table::{BotRow, DayTables, MinuteRow, ParamRow, Series, StatusRow, WasteRow};

/// User-Agents that a bot's row keeps.
const SAMPLES: usize = 5;
/// Networks that a bot's row keeps.
const FAILING_PREFIXES: usize = 10;

/// Sums tables of one date. The rows come out sorted, whatever order they had; `date` is that of the first.
///
/// Networks are cut to ten per part, so a network that is below the cut in one of the parts lacks its requests there;
/// everything else is exact (a User-Agent among the five of the sum is among the five wherever it occurs).
///
/// # Panics
///
/// When a row refers to no series of its table.
#[must_use]
pub fn merge_days(days: Vec<DayTables>) -> DayTables {
    let mut merged = DayTables { date: days.first().map_or(0, |d| d.date), ..DayTables::default() };
    let mut numbers: BTreeMap<(String, String, &'static str), Series> = BTreeMap::new();
    for series in days.iter().flat_map(|d| &d.series) {
        let key = (series.host.clone(), series.bot.clone(), series.verification.name());
        numbers
            .entry(key)
            .and_modify(|known| {
                // Two versions of the catalogue: one of both, the same in any order; known before unknown.
                if roll_ups(series) > roll_ups(known) {
                    known.clone_from(series);
                }
            })
            .or_insert_with(|| series.clone());
    }
    merged.series = numbers.into_values().collect();

    for day in days {
        let renumbered: Vec<u32> = day
            .series
            .iter()
            .map(|s| {
                let at = merged.series.binary_search_by(|m| m.key().cmp(&s.key()));
                u32::try_from(at.expect("every series was collected above")).expect("it had a u32 before")
            })
            .collect();
        let renumber = |series: &mut u32| *series = renumbered[*series as usize];
        merged.minutes.extend(day.minutes.into_iter().map(|mut r| {
            renumber(&mut r.series);
            r
        }));
        merged.status.extend(day.status.into_iter().map(|mut r| {
            renumber(&mut r.series);
            r
        }));
        merged.waste.extend(day.waste.into_iter().map(|mut r| {
            renumber(&mut r.series);
            r
        }));
        merged.latency.extend(day.latency.into_iter().map(|mut r| {
            renumber(&mut r.series);
            r
        }));
        merged.params.extend(day.params);
        merged.bots.extend(day.bots.into_iter().map(|mut r| {
            renumber(&mut r.series);
            r
        }));
    }

    merged.minutes.sort_by_key(|r| (r.series, r.minute));
    merged.minutes.dedup_by(|next, row| {
        let same = (next.series, next.minute) == (row.series, row.minute);
        if same {
            add_minute(row, next);
        }
        same
    });
    merged.status.sort_by_key(|r| (r.series, r.status));
    merged.status.dedup_by(|next, row| {
        let same = (next.series, next.status) == (row.series, row.status);
        if same {
            add_status(row, next);
        }
        same
    });
    merged.waste.sort_by(|a, b| (a.series, &a.url_key, a.status).cmp(&(b.series, &b.url_key, b.status)));
    merged.waste.dedup_by(|next, row| {
        let same = (next.series, &next.url_key, next.status) == (row.series, &row.url_key, row.status);
        if same {
            add_waste(row, next);
        }
        same
    });
    merged.latency.sort_by_key(|r| (r.series, r.hour, r.latency_ms_le));
    merged.latency.dedup_by(|next, row| {
        let same = (next.series, next.hour, next.latency_ms_le) == (row.series, row.hour, row.latency_ms_le);
        if same {
            add(&mut row.requests, next.requests);
        }
        same
    });
    merged.params.sort_by(|a, b| (&a.host, &a.parameter).cmp(&(&b.host, &b.parameter)));
    merged.params.dedup_by(|next, row| {
        let same = (&next.host, &next.parameter) == (&row.host, &row.parameter);
        if same {
            add_param(row, next);
        }
        same
    });
    merged.bots.sort_by_key(|r| r.series);
    merged.bots.dedup_by(|next, row| {
        let same = next.series == row.series;
        if same {
            add_bot(row, next);
        }
        same
    });
    merged
}

fn roll_ups(series: &Series) -> (&str, &str, &str) {
    (&series.family, &series.operator, &series.category)
}

/// Counts are below 2^63 in every part: the sum of two fits, and a sum of more that does not is stuck at the top.
fn add(to: &mut u64, count: u64) {
    *to = to.saturating_add(count);
}

fn add_minute(row: &mut MinuteRow, other: &mut MinuteRow) {
    add(&mut row.requests, other.requests);
    add(&mut row.bytes_sum, other.bytes_sum);
    for (a, b) in row.classes.iter_mut().zip(other.classes) {
        add(a, b);
    }
    for (a, b) in row.codes.iter_mut().zip(other.codes) {
        add(a, b);
    }
    row.seconds.append(&mut other.seconds);
    row.seconds.sort_by_key(|s| s.0);
    row.seconds.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            add(&mut kept.1, next.1);
        }
        same
    });
    add(&mut row.latency_count, other.latency_count);
    add(&mut row.latency_ms_sum, other.latency_ms_sum);
    row.latency_ms_max = row.latency_ms_max.max(other.latency_ms_max);
    add(&mut row.cached_count, other.cached_count);
    add(&mut row.path_static_requests, other.path_static_requests);
    row.partial |= other.partial;
}

fn add_status(row: &mut StatusRow, other: &StatusRow) {
    add(&mut row.requests, other.requests);
    add(&mut row.bytes_sum, other.bytes_sum);
}

fn add_waste(row: &mut WasteRow, other: &mut WasteRow) {
    add(&mut row.hits, other.hits);
    add(&mut row.bytes_sum, other.bytes_sum);
    if other.url_sample < row.url_sample {
        std::mem::swap(&mut row.url_sample, &mut other.url_sample);
    }
}

/// The thinnest sample of both: what is known of the sum.
fn add_param(row: &mut ParamRow, other: &ParamRow) {
    add(&mut row.hits, other.hits);
    row.distinct.merge(&other.distinct);
    row.sampled_one_in = row.sampled_one_in.max(other.sampled_one_in);
}

fn add_bot(row: &mut BotRow, other: &mut BotRow) {
    row.urls.merge(&other.urls);
    row.user_agents.merge(&other.user_agents);
    for (to, from) in [
        (&mut row.samples, &mut other.samples),
        (&mut row.variants, &mut other.variants),
        (&mut row.failing_prefixes, &mut other.failing_prefixes),
    ] {
        to.append(from);
        to.sort();
        to.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                add(&mut kept.1, next.1);
            }
            same
        });
    }
    if row.samples.len() > SAMPLES {
        row.samples.sort_by_key(|(text, _)| stable_hash(text.as_bytes()));
        row.samples.truncate(SAMPLES);
        row.samples.sort();
    }
    row.failing_prefixes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    row.failing_prefixes.truncate(FAILING_PREFIXES);
}
