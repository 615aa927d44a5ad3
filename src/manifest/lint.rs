//! What is odd about a manifest that can be read: numbers that contradict each other or what was measured.
//!
//! Findings are data, not errors; the program's own output has none. Not the form of the file (that is
//! [`super::read`]'s) and not its age. Example: `base_delay_ms: 100` beside `max_requests_per_minute: 76`.

use serde_json::Value;

use super::{Entry, Grade, Manifest};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Something contradicts something.
    Warning,
}

/// One contradiction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A stable name.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The keys on the way to the entry: `domain_overrides."www.example.com".bots.Googlebot`.
    pub place: String,
    /// What contradicts what, with the figures.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

/// Checks every entry. Findings come in the order of hosts and bots. Entries that a partial run carried over from an
/// earlier window are not looked at; pinned ceilings may be used less than others.
#[must_use]
pub fn lint(manifest: &Manifest) -> Vec<Finding> {
    let limits = Limits::of(manifest);
    let mut findings = Vec::new();
    for (host, entry) in &manifest.domain_overrides {
        let place = format!("domain_overrides.\"{}\"", printable(host));
        entry_findings(
            &mut Report { place: &place, findings: &mut findings },
            manifest,
            &limits,
            entry,
            None,
        );
        for (bot, own) in &entry.bots {
            let place = format!("{place}.bots.{}", printable(bot));
            let mut report = Report { place: &place, findings: &mut findings };
            entry_findings(&mut report, manifest, &limits, own, Some(entry));
            // One that nobody is to apply takes no connection anywhere.
            if is_headless(bot) && own.apply {
                report.note(
                    "headless_memory",
                    "a headless browser needs 5 to 10 times the memory of a plain fetcher for each connection".into(),
                    format!("lower max_concurrent_connections ({}) where memory is short", own.max_concurrent_connections),
                );
            }
        }
    }
    findings
}

/// Compares the connections that a crawler uses (`MAX_CONCURRENCY`, `--concurrency`) with what the manifest allows
/// for one host: a gate that simulates with fewer than production has proved nothing.
#[must_use]
pub fn lint_concurrency(manifest: &Manifest, in_use: u64) -> Option<Finding> {
    let hosts = manifest.domain_overrides.iter();
    let lowest = hosts
        .map(|(host, entry)| {
            (entry.max_concurrent_connections, format!("domain_overrides.\"{}\"", printable(host)))
        })
        .min()
        .unwrap_or((manifest.rate_limiting.max_concurrency, "rate_limiting".to_owned()));
    let (allowed, place) = lowest;
    let highest = manifest.domain_overrides.values().map(|entry| entry.max_concurrent_connections).max();
    let (code, severity, message) = if in_use > allowed {
        (
            "concurrency_above_manifest",
            Severity::Warning,
            format!("{in_use} connections are in use, the manifest allows {allowed}"),
        )
    } else if in_use < highest.unwrap_or(allowed) {
        (
            "concurrency_below_manifest",
            Severity::Note,
            format!(
                "{in_use} connections are in use, the manifest allows up to {}",
                highest.unwrap_or(allowed)
            ),
        )
    } else {
        return None;
    };
    let hint = Some("use the same number in the simulation and in production".to_owned());
    Some(Finding { code, severity, place, message, hint })
}

/// The policy's constants that the checks need, from the manifest where it has them.
struct Limits {
    /// Seconds of tokens in a burst.
    burst_seconds: u64,
    /// Highest share of a measured capacity, per cent.
    f: u64,
    /// The bots' least share of the capacity, per cent.
    pool_share: u64,
    /// What the dead band may leave too high, per cent.
    deadband: u64,
    /// Observed / ceiling, per cent, lowest and highest that are sound: 80 to 90, or what was asked for.
    utilisation: (u64, u64),
}

impl Limits {
    fn of(manifest: &Manifest) -> Self {
        let number = |key: &str, default| manifest.policy.get(key).and_then(Value::as_u64).unwrap_or(default);
        let grades = |key: &str| match manifest.policy.get(key) {
            Some(Value::Object(grades)) => grades.values().filter_map(Value::as_u64).collect(),
            _ => Vec::new(),
        };
        let f = grades("capacity_share_percent").into_iter().max();
        let u = grades("utilisation_percent");
        let (low, high) = (u.iter().min().copied(), u.iter().max().copied());
        Self {
            burst_seconds: number("burst_seconds", 10),
            f: f.unwrap_or(70),
            pool_share: number("bot_share_percent", 5),
            deadband: number("deadband_percent", 5).min(100),
            utilisation: (low.unwrap_or(80).min(80), high.unwrap_or(90).max(90)),
        }
    }
}

struct Report<'a> {
    place: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    fn push(&mut self, code: &'static str, severity: Severity, message: String, hint: String) {
        self.findings.push(Finding {
            code,
            severity,
            place: self.place.to_owned(),
            message,
            hint: Some(hint),
        });
    }

    fn warn(&mut self, code: &'static str, message: String, hint: impl Into<String>) {
        self.push(code, Severity::Warning, message, hint.into());
    }

    fn note(&mut self, code: &'static str, message: String, hint: impl Into<String>) {
        self.push(code, Severity::Note, message, hint.into());
    }
}

/// `host` is the entry of the host when `entry` is a bot's.
fn entry_findings(
    report: &mut Report<'_>,
    manifest: &Manifest,
    limits: &Limits,
    entry: &Entry,
    host: Option<&Entry>,
) {
    if let (Some(evidence), Some(window)) = (&entry.evidence, &manifest.window)
        && evidence.window_to != window.to
    {
        return;
    }
    pacing(report, limits, entry);
    measured(report, limits, entry, host.unwrap_or(entry));
    if let Some(host) = host {
        below_host(report, entry, host);
    }
    budgets(report, entry);
    pins(report, entry);
}

fn pacing(report: &mut Report<'_>, limits: &Limits, entry: &Entry) {
    let rpm = entry.max_requests_per_minute;
    if entry.base_delay_ms.saturating_mul(rpm) < 60_000 {
        let permitted = 60_000_u64.checked_div(entry.base_delay_ms);
        report.warn(
            "delay_allows_more_than_ceiling",
            format!(
                "base_delay_ms {} permits {} requests per minute, max_requests_per_minute is {rpm}",
                entry.base_delay_ms,
                permitted.map_or("any number of".to_owned(), |n| n.to_string()),
            ),
            format!("set base_delay_ms to at least {}", 60_000_u64.div_ceil(rpm.max(1))),
        );
    }
    let ten_seconds = (rpm.saturating_mul(limits.burst_seconds) / 60).max(1);
    if entry.max_burst_capacity > ten_seconds {
        report.warn(
            "burst_over_ten_seconds",
            format!(
                "max_burst_capacity {} is more than {} seconds of {rpm} requests per minute",
                entry.max_burst_capacity, limits.burst_seconds
            ),
            format!("set max_burst_capacity to at most {ten_seconds}"),
        );
    }
    let refused = entry.evidence.as_ref().and_then(|evidence| {
        let stands = matches!(evidence.c429_state.as_str(), "established" | "provisional");
        evidence.c429.filter(|_| stands)
    });
    let most = refused.map_or(rpm, |c429| rpm.min(c429.saturating_sub(rpm).max(1)));
    if entry.enforce_burst > most {
        let against = refused.map_or(String::new(), |c429| format!(", 429 began at {c429}"));
        report.warn(
            "enforce_burst_over_limit",
            format!("enforce_burst is {}, the ceiling {rpm}{against}", entry.enforce_burst),
            format!("set enforce_burst to at most {most}"),
        );
    }
}

fn measured(report: &mut Report<'_>, limits: &Limits, entry: &Entry, host: &Entry) {
    let Some(evidence) = &entry.evidence else { return };
    let rate = &evidence.max_requests_per_minute;
    let rpm = entry.max_requests_per_minute;
    if rate.bound_by == "demand_headroom"
        && rpm >= 20
        && !is_moved_by_a_pin(entry, host)
        && let Some(want) = rate.inputs.want
        && let (low, high) = limits.utilisation
        && !(low.saturating_mul(rpm)..=high.saturating_mul(rpm)).contains(&want.saturating_mul(100))
    {
        report.warn(
            "utilisation_outside_80_90",
            format!("the observed {want} is {} % of the ceiling {rpm}", want.saturating_mul(100) / rpm),
            format!("{low} to {high} % is sound: less wastes the crawl window, more leaves no headroom"),
        );
    }
    let (Some(capacity), Some(schedule), None) = (rate.inputs.host_capacity, &entry.schedule, entry.action)
    else {
        return;
    };
    let people = host.schedule.as_ref().map(|schedule| &schedule.people_per_minute);
    let keep = 100 - limits.deadband;
    let above = schedule.requests_per_minute.iter().find(|(slot, value)| {
        let people = people.and_then(|people| people.get(*slot)).copied().unwrap_or(0);
        let room = (limits.f.saturating_mul(capacity)).saturating_sub(people.saturating_mul(100));
        keep.saturating_mul(**value) > keep.max(limits.pool_share.saturating_mul(capacity)).max(room)
    });
    if let Some((slot, value)) = above {
        report.warn(
            "above_measured_capacity",
            format!("slot {} allows {value}, {} % of the host's capacity {capacity} less what people need is lower", printable(slot), limits.f),
            "let `crawl-baseline recommend` write the manifest anew",
        );
    }
}

/// The ceiling is pinned, or a pin of the host or of one of its bots changed it.
fn is_moved_by_a_pin(entry: &Entry, host: &Entry) -> bool {
    let is_pinned = |entry: &Entry| entry.pinned.contains_key("max_requests_per_minute");
    let found = entry.evidence.as_ref().map(|e| e.max_requests_per_minute.value);
    is_pinned(entry)
        || (found != Some(entry.max_requests_per_minute)
            && (is_pinned(host) || (std::ptr::eq(entry, host) && host.bots.values().any(is_pinned))))
}

fn below_host(report: &mut Report<'_>, entry: &Entry, host: &Entry) {
    let rpm = entry.max_requests_per_minute;
    if !matches!(entry.confidence, Some(Grade::D | Grade::None)) && rpm > host.max_requests_per_minute {
        report.warn(
            "bot_above_all_bots",
            format!(
                "the bot may send {rpm} requests per minute, all bots together {}",
                host.max_requests_per_minute
            ),
            "raise the host's own ceiling or lower the bot's",
        );
    }
    let Some(evidence) = &entry.evidence else { return };
    let rate = &evidence.max_requests_per_minute;
    let allowed = match rate.inputs.crawl_delay_ms {
        Some(delay) => Some((60_000_u64.checked_div(delay).unwrap_or(u64::MAX).max(1), Some(delay))),
        None => {
            rate.candidates.iter().find(|c| c.rule == "robots_crawl_delay").map(|c| (c.value.max(1), None))
        }
    };
    if let Some((most, delay)) = allowed
        && (rpm > most
            || delay.is_some_and(|delay| entry.base_delay_ms < delay || entry.max_concurrent_connections > 1))
    {
        report.warn(
            "crawl_delay_broken",
            format!(
                "{rpm} requests per minute, {} ms apart, over {} connections break the Crawl-delay, which allows {most}",
                entry.base_delay_ms, entry.max_concurrent_connections
            ),
            "one connection, and the Crawl-delay as base_delay_ms",
        );
    }
}

fn budgets(report: &mut Report<'_>, entry: &Entry) {
    let Some(budgets) = &entry.budgets else { return };
    let (hour, day) = (budgets.requests_per_hour, budgets.requests_per_day);
    let parts = budgets.plan_per_hour.checked_add(budgets.retry_reserve_per_hour);
    let message = if hour > entry.max_requests_per_minute.saturating_mul(60) {
        format!("{hour} requests per hour are more than 60 times {}", entry.max_requests_per_minute)
    } else if day > hour.saturating_mul(24) {
        format!("{day} requests per day are more than 24 times {hour}")
    } else if parts != Some(hour) {
        format!(
            "plan {} and reserve {} do not add up to {hour} requests per hour",
            budgets.plan_per_hour, budgets.retry_reserve_per_hour
        )
    } else {
        return;
    };
    report.warn("budgets_inconsistent", message, "let `crawl-baseline recommend` write the manifest anew");
}

fn pins(report: &mut Report<'_>, entry: &Entry) {
    if entry.pinned.is_empty() {
        return;
    }
    let written = serde_json::to_value(Entry { bots: Default::default(), evidence: None, ..entry.clone() });
    let written = written.unwrap_or_default();
    for (key, pinned) in &entry.pinned {
        let is = &written[key.as_str()];
        if is.as_f64().zip(pinned.as_f64()).is_none_or(|(a, b)| (a - b).abs() > f64::EPSILON) {
            report.warn(
                "pin_broken",
                format!("{} is {is}, the configuration fixes it to {pinned}", printable(key)),
                "change the pin in the configuration file, not here",
            );
        }
    }
}

fn is_headless(bot: &str) -> bool {
    let bot = bot.to_ascii_lowercase();
    ["headless", "puppeteer", "playwright", "phantomjs", "selenium", "cypress"]
        .iter()
        .any(|name| bot.contains(name))
}

fn printable(name: &str) -> std::borrow::Cow<'_, str> {
    crate::format::escape::printable(name.as_bytes())
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
