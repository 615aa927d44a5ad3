//! Why the numbers of one entry are what they are, in words. Computes nothing.
//!
//! Example of a line: `Ceiling   76 requests per minute = ceil(64 / 0.85)`

use std::fmt::Write as _;

use super::advice::Ceiling;
use super::escaped::Escaped;
use crate::manifest::{Entry, Minute, RateEvidence};

/// The text, with a line feed at the end. The minutes are not in it.
#[must_use]
pub fn explained(host: &str, bot: Option<&str>, entry: &Entry) -> String {
    let mut out = String::new();
    let row = Ceiling::of(entry);
    // A string takes every text.
    let _ = writeln!(
        out,
        "{}, {}: {} requests per minute, confidence {}; {}",
        Escaped(host),
        bot.map_or_else(|| "all bots together".to_owned(), |b| Escaped(b).to_string()),
        entry.max_requests_per_minute,
        row.confidence,
        row.advice
    );
    let pinned: Vec<String> = entry.pinned.iter().map(|(key, value)| format!("{key} {value}")).collect();
    if !pinned.is_empty() {
        let _ = writeln!(out, "\nPinned by the configuration: {}. What was found:", pinned.join(", "));
    }
    match &entry.evidence {
        None => out.push_str(
            "\nNothing was measured: the numbers are those of the configuration and the defaults.\n",
        ),
        Some(evidence) => {
            let rate = &evidence.max_requests_per_minute;
            if rate.value != entry.max_requests_per_minute && pinned.is_empty() {
                let _ =
                    writeln!(out, "\nA pin of the host, or of one of its bots, changed it. What was found:");
            }
            ceiling(&mut out, rate);
            let _ = writeln!(out, "\nOther numbers");
            others(&mut out, entry);
        }
    }
    out
}

fn ceiling(out: &mut String, rate: &RateEvidence) {
    let _ = writeln!(out, "\nCeiling     {} requests per minute = {}", rate.value, Escaped(&rate.formula));
    let _ = writeln!(out, "  bound by  {}: {}", Escaped(&rate.bound_by), meaning(&rate.bound_by));
    if rate.rule != rate.bound_by {
        let _ = writeln!(out, "  before    {}: {}", Escaped(&rate.rule), meaning(&rate.rule));
    }
    match &rate.runner_up {
        Some(next) => {
            let _ = writeln!(out, "  next      {} would allow {}", Escaped(&next.rule), next.value);
        }
        None => out.push_str("  next      no other rule had anything to say\n"),
    }
    let _ = writeln!(out, "  candidates, the lowest binds");
    for candidate in &rate.candidates {
        let _ = writeln!(out, "    {:<22} {:>9}", Escaped(&candidate.rule).to_string(), candidate.value);
    }
    if !rate.not_used.is_empty() {
        let _ = writeln!(out, "  not used");
    }
    for rule in &rate.not_used {
        let _ = writeln!(out, "    {:<22} {}", Escaped(&rule.rule).to_string(), why_not(&rule.why));
    }
    inputs(out, rate);
    let bound = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let capacity = &rate.capacity;
    let _ = match (capacity.known, capacity.high) {
        (true, high) => {
            writeln!(out, "  capacity  saturated at {}, served {}", bound(high), bound(capacity.low))
        }
        (false, _) => writeln!(out, "  capacity  never saturated: unknown, at least {}", bound(capacity.low)),
    };
    let _ = writeln!(
        out,
        "  window    {} to {}, {} minutes covered",
        minute(rate.window.from),
        minute(rate.window.to),
        rate.window.minutes_covered
    );
}

fn inputs(out: &mut String, rate: &RateEvidence) {
    let i = &rate.inputs;
    let mut lines = vec![
        ("clean minutes", format!("{} on {} dates", i.clean_minutes, i.days)),
        ("u", format!("{} %, observed / ceiling", i.u)),
        ("f", format!("{} %, ceiling / measured capacity", i.f)),
    ];
    let mut given = |name, value: Option<u64>, what: &str| {
        lines.extend(value.map(|v| (name, format!("{v}{what}"))));
    };
    given("L", i.demand, " RPM, surely reached in the busiest 5 % of the clean minutes");
    given("wanted", i.want.filter(|w| Some(*w) != i.demand), " RPM, the best L of 90 days");
    given("C429", i.c429, " RPM, where 429 begin");
    given("episodes of 429", Some(i.episodes).filter(|n| *n > 0), "");
    given("H", i.host_capacity, " RPM, the host's capacity for everybody");
    given("people", i.people, " RPM of everybody but the bots in that slot");
    given("before", i.prev, " RPM, the ceiling of the night before");
    given("Crawl-delay", i.crawl_delay_ms, " ms");
    lines.extend(i.slot.as_ref().map(|s| ("slot", format!("{}, the one with the least room", Escaped(s)))));
    lines.extend(i.share.map(|[own, all]| ("share", format!("{own} of {all} RPM that the bots want there"))));
    if i.young {
        lines.push(("account", "young: more care".to_owned()));
    }
    let _ = writeln!(out, "  inputs");
    for (name, value) in lines {
        let _ = writeln!(out, "    {name:<22} {value}");
    }
}

fn others(out: &mut String, entry: &Entry) {
    let mut line = |name: &str, value: u64, why: String| {
        let _ = writeln!(out, "  {name:<28} {value:>9}  {why}");
    };
    let rpm = entry.max_requests_per_minute;
    line(
        "base_delay_ms",
        entry.base_delay_ms,
        format!("start to start: ceil(60000 / {rpm}), or the Crawl-delay"),
    );
    line("jitter_range_ms", entry.jitter_range_ms, "half of the delay, only added".to_owned());
    let shape = match entry.algorithm {
        crate::manifest::Algorithm::LeakyBucket => "leaky bucket: no burst",
        crate::manifest::Algorithm::TokenBucket => "P95 of the busiest seconds, at most 10 seconds' worth",
    };
    line("max_burst_capacity", entry.max_burst_capacity, shape.to_owned());
    line(
        "enforce_burst",
        entry.enforce_burst,
        "for a server: 10 seconds' worth or what clean traffic needs".to_owned(),
    );
    let connections = entry.evidence.as_ref().and_then(|e| e.max_concurrent_connections.as_ref());
    let why = connections.map_or_else(String::new, |c| {
        let latency =
            c.latency_ms_mean.map_or("latency unknown".to_owned(), |ms| format!("mean latency {ms} ms"));
        format!("{}: {} are needed, {latency}", Escaped(&c.rule), c.need)
    });
    line("max_concurrent_connections", entry.max_concurrent_connections, why);
    if let Some(b) = entry.budgets {
        line(
            "requests per hour",
            b.requests_per_hour,
            "P95 of the hours with headroom, at most 60 ceilings".to_owned(),
        );
        line(
            "requests per day",
            b.requests_per_day,
            "P95 of the days with headroom, at most 24 hours".to_owned(),
        );
        line("plan per hour", b.plan_per_hour, "without the retry reserve".to_owned());
        line(
            "retry reserve per hour",
            b.retry_reserve_per_hour,
            "by the errors of the last 7 days".to_owned(),
        );
    }
    if let Some(edge) = entry.edge_requests_per_minute {
        line("edge_requests_per_minute", edge, "ceiling / (1 - CDN hit ratio)".to_owned());
    }
    if let Some(schedule) = &entry.schedule {
        let slots = &schedule.requests_per_minute;
        let (low, high) = (slots.values().min().copied(), slots.values().max().copied());
        line(
            "schedule, slots",
            u64::try_from(slots.len()).unwrap_or(u64::MAX),
            format!("{} to {} RPM, {}", low.unwrap_or(0), high.unwrap_or(0), Escaped(&schedule.time_zone)),
        );
    }
}

fn minute(at: Minute) -> String {
    at.text().unwrap_or_default()
}

/// What a rule says, in a line.
fn meaning(rule: &str) -> &'static str {
    match rule {
        "all_errors_floor" => "next to nothing was answered: stop, do not tune",
        "429_onset" => "a share of the rate at which 429 begin",
        "host_overload" => "a share of the load at which the host failed, less what people need",
        "latency_knee" => "a share of the load above which the host became slow, less what people need",
        "demand_headroom" => "what the bot needs, with headroom: no limit was ever hit below it",
        "largest_bot" => "all bots together may do what the largest may do alone",
        "sum_of_bots" => "all bots together need no more than their sum",
        "thin_data_default" => "too few minutes to judge: the default",
        "no_traffic_default" => "no bot was seen: the default",
        "robots_crawl_delay" => "the configured Crawl-delay",
        "operator_max" => "the configured maximum for each bot",
        "operator_max_all" => "the configured maximum for all bots together",
        "published_quota" => "a share of the published quota",
        "frozen_after_429" => "no raise within 7 days of a 429 episode",
        "frozen_after_overload" => "no raise within 7 days of an overload",
        "deadband" => "too small a change to be worth one",
        "partial_input_hold" => "the input was read in part: no fall on what may be missing",
        "unhealthy_hold" => "no raise while there are errors or slow answers",
        "censored_by_own_ceiling" => {
            "the ceiling itself hides the demand, and nothing says that more is safe"
        }
        "max_raise_per_day" => "one step a day",
        _ => "a rule of a newer version",
    }
}

/// Why a rule had nothing to say.
fn why_not(state: &str) -> String {
    let words = match state {
        "none" => "never seen",
        "stray" => "single ones, no episode",
        "burst" => "only bursts of a few seconds were refused: they limit the burst, not the rate",
        "quota" => "an hourly quota was used up: it limits the hour, not the minute",
        "denied" => "refused outright, never served before: no rate to be had",
        "refuted" => "later traffic ran through it unharmed",
        "expired" => "too old and not repeated: it is probed again",
        "incident" => "it did not come with load: an incident",
        "inconclusive" => "it may or may not have come with load",
        "no_clean_minutes" => "no minute to compare it with",
        "no_latency" => "the log has no latency",
        "too_thin" => "too few minutes with latency",
        "no_knee" => "latency does not rise with load",
        _ => return Escaped(state).to_string(),
    };
    format!("{state}: {words}")
}
