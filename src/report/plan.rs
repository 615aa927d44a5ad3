//! A plan on the terminal: its minutes, what held it back, what is left. From a finished budget report; plans nothing.
//!
//! Example of a line: `  23     6        1        5       0      70        6`

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::Escaped;
use crate::simulate::{BudgetReport, MinuteReport, Reason};
use crate::throttle::{Scope, Tier};

/// Hosts with a column of their own.
const HOSTS_SHOWN: usize = 6;
/// Letters of a host's name.
const NAME_WIDTH: usize = 24;
/// Chains of orphans that are told.
const CHAINS_SHOWN: usize = 5;

/// The text, with a line feed at its end.
#[must_use]
pub fn plan(report: &BudgetReport) -> String {
    let mut out = String::new();
    if report.queued == 0 {
        out.push_str("nothing is to be fetched\n");
    } else {
        let _ = writeln!(out, "{}", table(report).trim_fmt());
        summary(&mut out, report);
    }
    orphans(&mut out, report);
    out
}

fn table(report: &BudgetReport) -> Table {
    let mut hosts: Vec<(&String, u64)> =
        report.hosts.iter().map(|(name, host)| (name, host.requests)).collect();
    hosts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let shown: BTreeSet<&String> = hosts.iter().take(HOSTS_SHOWN).map(|(name, _)| *name).collect();
    let others = hosts.len() - shown.len();
    // Budgets that are not a host's own: those have a line of their own below.
    let scopes: BTreeSet<(Scope, &String)> = report
        .minutes
        .iter()
        .flat_map(|row| row.left.iter().flat_map(|(scope, keys)| keys.keys().map(move |key| (*scope, key))))
        .filter(|(scope, _)| *scope != Scope::HostPerHour)
        .collect();
    let retries = report.retries > 0;

    let mut head = vec!["min".to_owned(), "sent".to_owned()];
    if retries {
        head.push("retries".to_owned());
    }
    head.extend(shown.iter().map(|name| Escaped(name).shortened(NAME_WIDTH)));
    if others > 0 {
        head.push(format!("{others} more"));
    }
    head.extend(scopes.iter().map(|(scope, _)| format!("{scope} left")));
    head.push("lowest value".to_owned());

    let mut table = Table::new();
    table.force_no_tty().load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    table.set_header(head.into_iter().map(right));
    for row in &report.minutes {
        let of = |name: &String| row.hosts.get(name).copied().unwrap_or(0);
        let mut cells = vec![row.minute.to_string(), row.spent.to_string()];
        if retries {
            cells.push(row.retries.to_string());
        }
        let in_shown: u64 = shown.iter().map(|name| of(name)).sum();
        cells.extend(shown.iter().map(|name| of(name).to_string()));
        if others > 0 {
            cells.push((row.spent - in_shown).to_string());
        }
        cells.extend(scopes.iter().map(|(scope, key)| left(row, *scope, key)));
        cells.push(row.lowest_value.map_or("-".to_owned(), |value| value.to_string()));
        table.add_row(cells.into_iter().map(right));
    }
    table
}

fn left(row: &MinuteReport, scope: Scope, key: &String) -> String {
    row.left.get(&scope).and_then(|keys| keys.get(key)).map_or("-".to_owned(), u64::to_string)
}

fn summary(out: &mut String, report: &BudgetReport) {
    let mut line = |text: &str| {
        // A string takes every text.
        let _ = writeln!(out, "{text}");
    };
    let retries =
        if report.retries > 0 { format!(", {} of them retries", report.retries) } else { String::new() };
    let bytes = report
        .bytes_per_hour_max
        .map_or(String::new(), |bytes| format!(", at most {:.1} MB an hour", bytes as f64 / 1e6));
    line("");
    line(&format!(
        "ran {}: {} queued, {}{retries}, {} delivered, {} deferred{bytes}",
        counted(report.minutes.len() as u64, "minute"),
        counted(report.queued, "URL"),
        counted(report.requests, "request"),
        report.delivered + report.prerequisites,
        report.deferred.len()
    ));
    for (name, host) in &report.hosts {
        let limit = host.limit_per_minute.map_or(String::new(), |limit| format!(" of {limit}"));
        let measured = match (host.latency_assumed, host.latency_ms_mean) {
            (true, _) => ", latency assumed".to_owned(),
            (false, Some(mean)) => format!(", {mean:.0} ms on average"),
            (false, None) => String::new(),
        };
        let trouble =
            [("429", host.rate_limited), ("503", host.unavailable), ("breaker trips", host.breaker_trips)];
        let trouble: Vec<String> =
            trouble.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!(", {what}: {n}")).collect();
        line(&format!(
            "{}: peak {}{limit} requests a minute, {} in 60 s, {} in 10 s{measured}{}",
            Escaped(name),
            host.rpm_peak,
            host.requests_per_60s_peak,
            host.requests_per_10s_peak,
            trouble.concat()
        ));
    }
    for (name, revisit) in report.hosts.iter().filter_map(|(name, host)| Some((name, host.revisit?))) {
        let tier = match revisit.tier {
            Tier::Hour => "hour",
            Tier::Day => "day",
            Tier::Week => "week",
        };
        line(&format!(
            "{}: bots found {:.0} % unchanged; a visit every {tier} saves {:.0} % of their requests",
            Escaped(name),
            revisit.bodies_saved_share * 100.0,
            revisit.requests_saved_share * 100.0
        ));
    }
    if let (Some(success), Some(per_row)) = (report.success_share, report.requests_per_delivered_row)
        && report.delivered < report.requests
    {
        line(&format!(
            "success: {:.1} % of the requests, {per_row:.2} requests for each delivered row",
            success * 100.0
        ));
    }
    match &report.binding {
        Some(binding) => {
            line(&format!("binding: {} holds back {}", told(binding.reason), counted(binding.pages, "URL")))
        }
        None => line("binding: nothing was held back"),
    }
    let mut why = BTreeMap::<Reason, usize>::new();
    for page in &report.deferred {
        *why.entry(page.reason).or_default() += 1;
    }
    if why.len() > 1 || (report.binding.is_none() && !why.is_empty()) {
        let why: Vec<String> =
            why.into_iter().map(|(reason, n)| format!("{n} for {}", told(reason))).collect();
        line(&format!("deferred: {}", why.join(", ")));
    }
    let list = |keys: Vec<String>| if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
    let exhausted = report.exhausted.iter().map(|spent| {
        if spent.key.is_empty() {
            spent.scope.to_string()
        } else {
            format!("{} of {}", spent.scope, Escaped(&spent.key))
        }
    });
    line(&format!("exhausted: {}", list(exhausted.collect())));
    line(&format!("not limited: {}", list(report.unset.iter().map(Scope::to_string).collect())));
    if !report.dead_letters.is_empty() {
        line(&format!("dead letters: {}", report.dead_letters.len()));
    }
    for ban in &report.bans {
        let host = ban.host.as_deref().unwrap_or("all hosts");
        line(&format!(
            "looks like a ban: {} dead letters of {} ({})",
            ban.dead_letters,
            Escaped(host),
            ban.failure
        ));
    }
}

fn counted(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn told(reason: Reason) -> String {
    match reason {
        Reason::Scope(scope) => scope.to_string(),
        Reason::Fresh => "being fresh".to_owned(),
        Reason::HostCooling => "a cooling host".to_owned(),
        Reason::RetryWaits => "a waiting retry".to_owned(),
        Reason::TimeOver => "the end of the minutes".to_owned(),
    }
}

fn orphans(out: &mut String, report: &BudgetReport) {
    if !report.inputs.contains_key("links") {
        return;
    }
    let _ = writeln!(
        out,
        "orphans: {} of URLs that no link leads to",
        counted(report.orphans.len() as u64, "chain")
    );
    for chain in report.orphans.iter().take(CHAINS_SHOWN) {
        let urls: Vec<String> = chain.urls.iter().take(4).map(|url| Escaped(url).shortened(80)).collect();
        let more = if chain.urls.len() > 4 { " -> ..." } else { "" };
        let _ = writeln!(out, "  {}{more}", urls.join(" -> "));
    }
    if report.orphans.len() > CHAINS_SHOWN {
        let _ = writeln!(out, "  and {} more in the report", report.orphans.len() - CHAINS_SHOWN);
    }
}
