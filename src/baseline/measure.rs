//! From rows to the finished [`Baseline`]: every figure of the JSON is put together here.
//!
//! Example: two logs with 40 and 30 requests of `ExampleBot` in one minute give `rpm_by_bot` `{"ExampleBot": 70}`.

use std::collections::{BTreeMap, BTreeSet};

use chrono::SecondsFormat;
use rayon::prelude::*;

use super::coverage::Covered;
use super::document::{
    AllBots, Baseline, Bot, Host, Latency, Log, Network, Overflow, RejectedLine, SCHEMA_VERSION,
    SampleUserAgent, Spoofed, Totals, UserAgents, Verdicts, WasteKey, WasteUrl, Window,
};
use super::fold::{DECLARED_NAMES, HOSTS, Names, OTHER_DECLARED, OTHER_HOSTS, limit};
use super::group::{Group, Waste, gather};
use super::input::{Input, InputSource};
use super::parameter::{MAX_PARAMETERS, Parameters};
use super::rate::{Rpm, ratio, second_text, sliding_peaks, summed};
use super::warning::{Facts, warnings};
use crate::format::RejectReason;
use crate::tally::GroupBy;
use crate::tally::table::{LineCounts, MinuteRow};

/// How many wasted URLs are listed, over all bots and for each.
const WASTE_LISTED: usize = 20;
/// Wasted URLs that the history keeps for a host and bot.
const WASTE_KEPT: u64 = 1_000;

/// Measures. The result does not depend on the order of sources, days or rows.
#[must_use]
pub fn measure(input: &Input<'_>) -> Baseline {
    let names = Names::of(&input.days, true);
    let groups = gather(&input.days, &names, false, GroupBy::Bot);
    let by_text = input.grouped.as_ref().map(|days| {
        let mut by_text = Names::of(days, false);
        by_text.take_hosts_of(&names);
        (days, by_text)
    });
    let grouped = by_text.as_ref().map(|(days, names)| gather(days, names, true, GroupBy::Bot));
    let rolled = match &by_text {
        _ if !input.group_by.is_roll_up() => None,
        Some((days, names)) => Some(gather(days, names, true, input.group_by)),
        None => {
            let mut all = gather(&input.days, &names, false, input.group_by);
            all.retain(|g| g.is_bot);
            Some(all)
        }
    };
    let covered = covered(input);
    let each: Vec<&Group<'_>> = grouped.as_ref().unwrap_or(&groups).iter().filter(|g| g.is_bot).collect();
    let bots: Vec<&Group<'_>> = rolled.as_ref().map_or(each.clone(), |rolled| rolled.iter().collect());
    let others = groups.iter().filter(|g| input.include_other && !g.is_bot);

    let mut hosts = hosts(&groups, &covered.1);
    if input.group_by != GroupBy::Pattern {
        let none = all_bots(&[], &covered.1);
        hosts.values_mut().for_each(|host| host.all_bots = Some(none.clone()));
        let by_host: Vec<&[&Group<'_>]> = each.chunk_by(|a, b| a.host == b.host).collect();
        let together: Vec<AllBots> = by_host.par_iter().map(|bots| all_bots(bots, &covered.1)).collect();
        for (of_host, together) in by_host.into_iter().zip(together) {
            if let Some(host) = hosts.get_mut(of_host[0].host) {
                host.all_bots = Some(together);
            }
        }
    }
    let mut listed: Vec<&Group<'_>> = bots.iter().copied().chain(others).collect();
    listed.sort_by_key(|g| (g.host, g.bot));
    let figures: Vec<Bot> = listed.par_iter().map(|group| bot(group, &covered.1)).collect();
    for (group, figures) in listed.into_iter().zip(figures) {
        if let Some(host) = hosts.get_mut(group.host) {
            host.bots.insert(group.bot.to_owned(), figures);
        }
    }

    let parameters = Parameters::of(&input.days, &names);
    for (name, host) in &mut hosts {
        host.parameters = parameters.listed(name);
    }

    let mut totals = totals(input, &groups, &names);
    if parameters.beyond > 0 {
        totals.overflow.push(Overflow {
            cap: "parameters".to_owned(),
            limit: limit(MAX_PARAMETERS),
            into: "(other)".to_owned(),
            requests: parameters.beyond,
        });
    }
    let facts = Facts {
        requests: groups.iter().flat_map(Group::minutes).map(|(_, n)| n).sum(),
        latency_count: groups.iter().flat_map(Group::rows).map(|row| row.latency_count).sum(),
        spoofed: spoofed_by_bot(&groups),
        partial_minutes: covered.0,
        traps: parameters.traps(),
    };
    let warnings = warnings(input, &totals, &facts);
    let mut inputs: Vec<Log> = input.sources.iter().map(log).collect();
    inputs.sort_by(|a, b| (&a.path, &a.source).cmp(&(&b.path, &b.source)));
    Baseline {
        schema_version: SCHEMA_VERSION,
        generated_at: input.generated_at.to_rfc3339_opts(SecondsFormat::Secs, true),
        generator: input.generator.clone(),
        rpm_by_bot: rpm_by_bot(&bots),
        first_match_requests: input.first_match_requests.clone(),
        status_distribution: match &input.matched {
            Some(matched) => matched.status.clone(),
            None => status(groups.iter().filter(|g| g.is_bot)),
        },
        analysis_window_min: input.analysis_window_min,
        top_waste_urls: top_waste(input, &groups),
        group_by: input.group_by.name().to_owned(),
        window: window(input, &covered.1),
        totals,
        inputs,
        hosts,
        warnings,
    }
}

/// The number of partial minutes, and what is covered without them.
fn covered(input: &Input<'_>) -> (usize, Covered) {
    let rows = input.days.iter().flat_map(|day| &day.minutes);
    let partial: BTreeSet<i64> = rows.filter(|row| row.partial).map(|row| row.minute).collect();
    (partial.len(), Covered::new(counted(input).map(|s| s.coverage.as_slice()), partial))
}

/// Sources whose counts stand for themselves.
fn counted<'a>(input: &'a Input<'_>) -> impl Iterator<Item = &'a InputSource> {
    input.sources.iter().filter(|s| s.duplicate_of.is_none())
}

fn window(input: &Input<'_>, covered: &Covered) -> Window {
    let dates = || counted(input).flat_map(|s| &s.coverage);
    Window {
        first: dates().map(|c| c.first).min().map(second_text),
        last: dates().map(|c| c.last).max().map(second_text),
        minutes_covered: covered.minutes(),
    }
}

fn totals(input: &Input<'_>, groups: &[Group<'_>], names: &Names<'_>) -> Totals {
    let mut counts = LineCounts::default();
    for source in counted(input) {
        counts.add(&source.counts);
    }
    Totals {
        lines: counts.lines,
        blank: counts.blank,
        directive: counts.directive,
        filtered: counts.filtered,
        records: counts.records,
        rejects: rejects(&counts.rejects),
        out_of_range: counts.out_of_range,
        joined_lines: counts.joined_lines,
        deferred_bytes: counts.deferred_bytes,
        overlap_bytes: counts.overlap_bytes,
        nul_bytes_skipped: counts.nul_bytes_skipped,
        bot_records: match &input.matched {
            Some(matched) => matched.bot_records,
            None => groups.iter().filter(|g| g.is_bot).flat_map(Group::minutes).map(|(_, n)| n).sum(),
        },
        bytes_sum: bytes(groups.iter().flat_map(Group::rows)),
        overflow: overflow(groups, names),
    }
}

fn overflow(groups: &[Group<'_>], names: &Names<'_>) -> Vec<Overflow> {
    let requests = |of: &dyn Fn(&Group<'_>) -> bool| -> u64 {
        groups.iter().filter(|g| of(g)).flat_map(Group::minutes).map(|(_, n)| n).sum()
    };
    let entry = |cap: &str, limit, into: &str, requests| Overflow {
        cap: cap.to_owned(),
        limit,
        into: into.to_owned(),
        requests,
    };
    let mut out = Vec::new();
    let in_other_hosts = requests(&|g| g.host == OTHER_HOSTS);
    if in_other_hosts > 0 {
        out.push(entry("hosts", limit(HOSTS), OTHER_HOSTS, in_other_hosts));
    }
    if names.declared_overflow {
        let rest = requests(&|g| g.bot == OTHER_DECLARED);
        out.push(entry("declared_names", limit(DECLARED_NAMES), OTHER_DECLARED, rest));
    }
    let wasted: u64 = groups.iter().map(|g| g.waste_past_cap).sum();
    if wasted > 0 {
        out.push(entry("waste_urls", WASTE_KEPT, "(other)", wasted));
    }
    out
}

fn log(source: &InputSource) -> Log {
    let counts = &source.counts;
    Log {
        path: source.path.clone(),
        source: source.source.clone(),
        compression: source.compression.clone(),
        formats: source.formats.iter().map(|(format, n)| (format.name().to_owned(), *n)).collect(),
        clock: source.clock.clone(),
        bytes_read: source.bytes_read,
        lines: counts.lines,
        blank: counts.blank,
        directive: counts.directive,
        filtered: counts.filtered,
        records: counts.records,
        rejects: rejects(&counts.rejects),
        first_rejected_lines: source
            .first_rejected_lines
            .iter()
            .map(|(line, reason)| RejectedLine { line: *line, reason: reason.name().to_owned() })
            .collect(),
        damage: source.damage.clone(),
        duplicate_of: source.duplicate_of.clone(),
        read: source.read,
        skipped: source.skipped.clone(),
    }
}

fn rejects(counts: &BTreeMap<RejectReason, u64>) -> BTreeMap<String, u64> {
    counts.iter().map(|(reason, n)| (reason.name().to_owned(), *n)).collect()
}

/// Hosts without their bots: everybody's requests.
fn hosts(groups: &[Group<'_>], covered: &Covered) -> BTreeMap<String, Host> {
    groups
        .chunk_by(|a, b| a.host == b.host)
        .map(|of_host| {
            let minutes: Vec<_> = of_host.iter().flat_map(Group::minutes).collect();
            let host = Host {
                requests: minutes.iter().map(|(_, n)| n).sum(),
                rpm: Rpm::of(minutes, covered),
                status: status(of_host.iter()),
                bots: BTreeMap::new(),
                parameters: Vec::new(),
                all_bots: None,
            };
            (of_host[0].host.to_owned(), host)
        })
        .collect()
}

fn bot(group: &Group<'_>, covered: &Covered) -> Bot {
    let requests: u64 = group.minutes().map(|(_, n)| n).sum();
    let failed: u64 = group.failed.iter().map(|row| row.requests).sum();
    let [second, ten, sixty] = sliding_peaks(&group.genuine);
    Bot {
        family: group.roll_up.family.to_owned(),
        operator: group.roll_up.operator.to_owned(),
        category: group.roll_up.category.to_owned(),
        requests,
        rpm: rpm(&group.genuine, covered),
        requests_per_second_peak: second,
        requests_per_10s_peak: ten,
        requests_per_60s_peak: sixty,
        bytes_sum: bytes(group.rows()),
        status: status(std::iter::once(group)),
        latency_ms: latency(group.rows()),
        urls_distinct: group.urls.estimate(),
        not_modified_share: share(group.rows().map(|row| row.code(304)).sum(), requests),
        waste_share: share(group.rows().map(|row| row.classes[3] + row.classes[4]).sum(), requests),
        verification: Verdicts { verified: group.verified, failed, not_checkable: group.not_checkable },
        user_agents: UserAgents {
            distinct: group.user_agents.estimate(),
            samples: group
                .samples()
                .into_iter()
                .map(|(text, n)| SampleUserAgent { user_agent: text.to_owned(), requests: n })
                .collect(),
        },
        waste: waste(group),
        ceiling: serde_json::Map::new(),
        spoofed: (failed > 0).then(|| spoofed(group, failed, requests, covered)),
        variants: group.variants.iter().map(|(text, n)| ((*text).to_owned(), *n)).collect(),
    }
}

fn all_bots(groups: &[&Group<'_>], covered: &Covered) -> AllBots {
    let genuine: Vec<&MinuteRow> = groups.iter().flat_map(|g| &g.genuine).copied().collect();
    let [second, ten, sixty] = sliding_peaks(&genuine);
    AllBots {
        requests: groups.iter().flat_map(|g| g.minutes()).map(|(_, n)| n).sum(),
        rpm: rpm(&genuine, covered),
        requests_per_second_peak: second,
        requests_per_10s_peak: ten,
        requests_per_60s_peak: sixty,
        bytes_sum: bytes(groups.iter().flat_map(|g| g.rows())),
        verification: Verdicts {
            verified: groups.iter().map(|g| g.verified).sum(),
            failed: groups.iter().flat_map(|g| &g.failed).map(|row| row.requests).sum(),
            not_checkable: groups.iter().map(|g| g.not_checkable).sum(),
        },
    }
}

fn rpm(rows: &[&MinuteRow], covered: &Covered) -> Rpm {
    Rpm::of(rows.iter().map(|row| (row.minute, row.requests)).collect(), covered)
}

fn spoofed(group: &Group<'_>, requests: u64, of: u64, covered: &Covered) -> Spoofed {
    let [second, ten, sixty] = sliding_peaks(&group.failed);
    Spoofed {
        requests,
        share: share(requests, of),
        rpm: rpm(&group.failed, covered),
        requests_per_second_peak: second,
        requests_per_10s_peak: ten,
        requests_per_60s_peak: sixty,
        failing_prefixes: group
            .prefixes()
            .into_iter()
            .map(|(prefix, n)| Network { prefix: prefix.to_owned(), requests: n })
            .collect(),
    }
}

fn spoofed_by_bot(groups: &[Group<'_>]) -> Vec<(String, u64)> {
    let mut by_bot: BTreeMap<&str, u64> = BTreeMap::new();
    for group in groups.iter().filter(|g| !g.failed.is_empty()) {
        *by_bot.entry(group.bot).or_default() += group.failed.iter().map(|row| row.requests).sum::<u64>();
    }
    by_bot.into_iter().map(|(bot, n)| (bot.to_owned(), n)).collect()
}

/// The busiest minute of each bot over all hosts together.
fn rpm_by_bot(bots: &[&Group<'_>]) -> BTreeMap<String, u64> {
    let mut by_bot: BTreeMap<&str, Vec<(i64, u64)>> = BTreeMap::new();
    for group in bots {
        by_bot.entry(group.bot).or_default().extend(group.minutes());
    }
    by_bot
        .into_iter()
        .map(|(bot, minutes)| (bot.to_owned(), summed(minutes).iter().map(|(_, n)| *n).max().unwrap_or(0)))
        .collect()
}

fn status<'g, 'a: 'g>(groups: impl Iterator<Item = &'g Group<'a>>) -> BTreeMap<String, u64> {
    let mut out: BTreeMap<String, u64> = BTreeMap::new();
    for (status, n) in groups.flat_map(|g| &g.status) {
        *out.entry(status.map_or_else(|| "-".to_owned(), |s| s.to_string())).or_default() += n;
    }
    out
}

/// Saturating: the byte counts of a log are text that anybody may have written, each up to 2^63-1.
fn bytes<'r>(rows: impl Iterator<Item = &'r MinuteRow>) -> u64 {
    rows.fold(0, |sum, row| sum.saturating_add(row.bytes_sum))
}

fn latency<'r>(rows: impl Iterator<Item = &'r MinuteRow>) -> Option<Latency> {
    let (mut count, mut sum, mut max) = (0_u64, 0_u64, 0);
    for row in rows {
        count += row.latency_count;
        sum = sum.saturating_add(row.latency_ms_sum);
        max = max.max(row.latency_ms_max.unwrap_or(0));
    }
    Some(Latency { count, mean: ratio(sum, count)?, max })
}

fn share(part: u64, whole: u64) -> f64 {
    ratio(part, whole).unwrap_or(0.0)
}

fn waste(group: &Group<'_>) -> Vec<WasteKey> {
    most_hits(group.waste.iter())
        .into_iter()
        .map(|(key, waste)| WasteKey {
            url_key: key.to_owned(),
            url_sample: waste.sample.to_owned(),
            status: waste.status.iter().map(|(status, n)| (status.to_string(), *n)).collect(),
            hits: waste.hits,
        })
        .collect()
}

/// The most hits first, ties by key.
fn most_hits<'k, 'w, 'a>(
    all: impl Iterator<Item = (&'k &'a str, &'w Waste<'a>)>,
) -> Vec<(&'a str, &'w Waste<'a>)>
where
    'a: 'k + 'w,
{
    let mut out: Vec<_> = all.map(|(key, waste)| (*key, waste)).collect();
    out.sort_by(|a, b| b.1.hits.cmp(&a.1.hits).then(a.0.cmp(b.0)));
    out.truncate(WASTE_LISTED);
    out
}

fn top_waste(input: &Input<'_>, groups: &[Group<'_>]) -> Vec<WasteUrl> {
    let mut all: Vec<(String, u64)> = match &input.top_waste {
        Some(as_logged) => as_logged.clone(),
        None => {
            let mut by_key: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
            for (key, waste) in groups.iter().filter(|g| g.is_bot).flat_map(|g| &g.waste) {
                let url = by_key.entry(key).or_insert((waste.sample, 0));
                *url = (url.0.min(waste.sample), url.1 + waste.hits);
            }
            by_key.into_values().map(|(sample, hits)| (sample.to_owned(), hits)).collect()
        }
    };
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.truncate(WASTE_LISTED);
    all.into_iter().map(|(url, error_hits)| WasteUrl { url, error_hits }).collect()
}
