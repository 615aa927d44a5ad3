//! How the origin answered and what it cost: `throttled`, `retry-share`, `waste-share`, `latency`, `rejects` and
//! `verified-share`.
//!
//! Example: 12 of 40 bot requests of www.example.com were answered 404: 30 % waste.

use std::collections::BTreeMap;

use super::finding::{Figure, Finding, Level, Outcome};
use super::input::Inputs;
use super::pace::is_bot;
use crate::baseline::{Baseline, Bot};

/// Shares of fewer are chance.
const LEAST_REQUESTS: u64 = 20;
/// For shares of 1 %: one of a hundred is that much.
pub(super) const LEAST_FOR_PERCENT: u64 = 100;

/// The bots of each host.
pub(super) fn bots_by_host(baseline: &Baseline) -> impl Iterator<Item = (&str, Vec<(&str, &Bot)>)> {
    baseline.hosts.iter().map(|(host, of_host)| {
        let bots = of_host.bots.iter().filter(|(name, _)| is_bot(name));
        (host.as_str(), bots.map(|(name, bot)| (name.as_str(), bot)).collect())
    })
}

/// Requests that were answered with a status of these classes, or this one.
pub(super) fn answered(bot: &Bot, status: &str) -> u64 {
    bot.status.iter().filter(|(code, _)| code.starts_with(status)).map(|(_, n)| n).sum()
}

/// The bots with most of something, most first: `A 12, B 3`.
pub(super) fn ranking(bots: &[(&str, &Bot)], of: impl Fn(&Bot) -> u64) -> String {
    let mut ranked: Vec<(u64, &str)> =
        bots.iter().map(|(name, bot)| (of(bot), *name)).filter(|(n, _)| *n > 0).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let more = if ranked.len() > 3 { format!(" and {} more", ranked.len() - 3) } else { String::new() };
    let first: Vec<String> = ranked.iter().take(3).map(|(n, name)| format!("{name} {n}")).collect();
    first.join(", ") + &more
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

fn sum(bots: &[(&str, &Bot)], of: impl Fn(&Bot) -> u64) -> u64 {
    bots.iter().map(|(_, bot)| of(bot)).sum()
}

const SEE_LOG: &str =
    "crawl-baseline analyze LOG... --no-history: statuses by bot, and the URLs that were wasted";

pub(super) fn throttled(inputs: &Inputs<'_>) -> Outcome {
    let (mut findings, mut seen) = (Vec::new(), Vec::new());
    if let Some(report) = inputs.report.map(|given| &given.value).filter(|report| report.requests > 0) {
        for (host, of_host) in report.hosts.iter().filter(|(_, h)| h.rate_limited > 0) {
            findings.push(Finding {
                level: Level::Error,
                subject: host.clone(),
                measure: "answers_429",
                value: Figure::Count(of_host.rate_limited),
                limit: Figure::Count(0),
                worst_minute: None,
                message: format!(
                    "{} of {} planned requests are answered 429: the plan is faster than the origin allows",
                    of_host.rate_limited, of_host.requests
                ),
                more: "crawl-baseline simulate with a lower ceiling in --manifest".to_owned(),
            });
        }
        seen.push(format!("{} planned requests", report.requests));
    }
    if let Some(baseline) =
        inputs.baseline.map(|given| &given.value).filter(|baseline| baseline.totals.bot_records > 0)
    {
        for (host, bots) in bots_by_host(baseline) {
            let refused = |bot: &Bot| answered(bot, "429");
            let (n, requests) = (sum(&bots, refused), sum(&bots, |bot| bot.requests));
            if n > 0 {
                findings.push(Finding {
                    level: Level::Warning,
                    subject: host.to_owned(),
                    measure: "answers_429",
                    value: Figure::Count(n),
                    limit: Figure::Count(0),
                    worst_minute: None,
                    message: format!(
                        "{n} of {requests} bot requests were answered 429: {}",
                        ranking(&bots, refused)
                    ),
                    more: SEE_LOG.to_owned(),
                });
            }
        }
        seen.push(format!("{} requests of bots", baseline.totals.bot_records));
    }
    ran_or_not(inputs, findings, seen)
}

/// The outcome of a check that takes a report, a baseline or both.
fn ran_or_not(inputs: &Inputs<'_>, findings: Vec<Finding>, seen: Vec<String>) -> Outcome {
    if !seen.is_empty() {
        Outcome::Ran { findings, seen: seen.join(" and ") }
    } else if inputs.report.is_none() && inputs.baseline.is_none() {
        Outcome::Skipped("needs --report or --baseline".to_owned())
    } else {
        Outcome::NoData("no request of a bot or a plan".to_owned())
    }
}

pub(super) fn retry_share(inputs: &Inputs<'_>) -> Outcome {
    let Some(given) = inputs.report else {
        return Outcome::Skipped("needs --report: a log cannot tell retries".to_owned());
    };
    let report = &given.value;
    let (retries, requests) = (report.retries, report.requests);
    if requests == 0 {
        return Outcome::NoData(format!("{}: no request", given.place));
    }
    let percent_times = retries.saturating_mul(100);
    let (level, limit) = if percent_times >= requests.saturating_mul(30) {
        (Level::Error, 0.3)
    } else {
        (Level::Warning, 0.1)
    };
    let mut findings = Vec::new();
    if percent_times > requests.saturating_mul(10) {
        let worst =
            report.minutes.iter().max_by(|a, b| a.retries.cmp(&b.retries).then(b.minute.cmp(&a.minute)));
        findings.push(Finding {
            level,
            subject: "the plan".to_owned(),
            measure: "retry_share",
            value: Figure::share(retries, requests),
            limit: Figure::Number(limit),
            worst_minute: worst.map(|row| format!("minute {}", row.minute)),
            message: format!("{retries} of {requests} requests are retries ({})", percent(retries, requests)),
            more: "crawl-baseline simulate: its table has the retries of each minute".to_owned(),
        });
    }
    Outcome::Ran { findings, seen: format!("{retries} of {requests} planned requests are retries") }
}

pub(super) fn waste_share(inputs: &Inputs<'_>) -> Outcome {
    let Some(given) = inputs.baseline else { return Outcome::Skipped("needs --baseline".to_owned()) };
    let wasted = |bot: &Bot| answered(bot, "4") + answered(bot, "5");
    let (mut findings, mut all, mut hosts) = (Vec::new(), (0, 0), 0);
    for (host, bots) in bots_by_host(&given.value) {
        let (n, requests) = (sum(&bots, wasted), sum(&bots, |bot| bot.requests));
        if requests < LEAST_REQUESTS {
            continue;
        }
        hosts += 1;
        all = (all.0 + n, all.1 + requests);
        if n.saturating_mul(100) > requests.saturating_mul(20) {
            findings.push(Finding {
                level: Level::Warning,
                subject: host.to_owned(),
                measure: "waste_share",
                value: Figure::share(n, requests),
                limit: Figure::Number(0.2),
                worst_minute: None,
                message: format!(
                    "{n} of {requests} bot requests ({}) were answered 4xx or 5xx: {}",
                    percent(n, requests),
                    ranking(&bots, wasted)
                ),
                more: SEE_LOG.to_owned(),
            });
        }
    }
    if hosts == 0 {
        return Outcome::NoData(format!("{}: no host with {LEAST_REQUESTS} bot requests", given.place));
    }
    Outcome::Ran { findings, seen: format!("{} of {} bot requests were wasted", all.0, all.1) }
}

/// A host's latency: mean milliseconds, answers with one, requests, errors.
struct Answers {
    mean_ms: Option<f64>,
    requests: u64,
    errors: u64,
    who: String,
}

pub(super) fn latency(inputs: &Inputs<'_>) -> Outcome {
    if inputs.report.is_none() && inputs.baseline.is_none() {
        return Outcome::Skipped("needs --report or --baseline".to_owned());
    }
    let mut hosts: Vec<(String, Answers, &str)> = Vec::new();
    for (host, of_host) in inputs.report.iter().flat_map(|given| &given.value.hosts) {
        let mean_ms = of_host.latency_ms_mean.filter(|_| !of_host.latency_assumed);
        let (requests, errors) = (of_host.requests, of_host.unavailable);
        // An assumed origin has no errors either.
        if mean_ms.is_some() {
            let answers = Answers { mean_ms, requests, errors, who: String::new() };
            hosts.push((format!("{host} (planned)"), answers, "crawl-baseline simulate"));
        }
    }
    for (host, bots) in inputs.baseline.iter().flat_map(|given| bots_by_host(&given.value)) {
        let with = || bots.iter().filter_map(|(_, bot)| bot.latency_ms.as_ref());
        let count: u64 = with().map(|latency| latency.count).sum();
        let total: f64 = with().map(|latency| latency.mean * latency.count as f64).sum();
        let errors = |bot: &Bot| answered(bot, "5");
        let answers = Answers {
            mean_ms: (count > 0).then(|| total / count as f64),
            requests: sum(&bots, |bot| bot.requests),
            errors: sum(&bots, errors),
            who: ranking(&bots, errors),
        };
        hosts.push((host.to_owned(), answers, SEE_LOG));
    }
    let mut findings = Vec::new();
    for (subject, answers, more) in &hosts {
        let mut add = |measure, value, limit, message| {
            findings.push(Finding {
                level: Level::Warning,
                subject: subject.clone(),
                measure,
                value,
                limit,
                worst_minute: None,
                message,
                more: (*more).to_owned(),
            });
        };
        if let Some(mean) = answers.mean_ms.filter(|mean| *mean >= 500.0) {
            let message = format!("bots wait {mean:.0} ms on average: add no connections here");
            add("latency_ms_mean", Figure::number(mean), Figure::Number(500.0), message);
        }
        let (errors, requests) = (answers.errors, answers.requests);
        if requests >= LEAST_FOR_PERCENT && errors.saturating_mul(100) >= requests {
            let who = if answers.who.is_empty() { String::new() } else { format!(": {}", answers.who) };
            let message =
                format!("{errors} of {requests} answers ({}) are 5xx{who}", percent(errors, requests));
            add("error_share", Figure::share(errors, requests), Figure::Number(0.01), message);
        }
    }
    let slowest = hosts.iter().filter_map(|(host, answers, _)| Some((answers.mean_ms?, host)));
    let slowest = slowest.max_by(|a, b| a.0.total_cmp(&b.0));
    match slowest {
        Some((mean, host)) => {
            Outcome::Ran { findings, seen: format!("{host} is the slowest with {mean:.0} ms on average") }
        }
        // Errors are known without a latency, and too bad to be passed over for the lack of one.
        None if !findings.is_empty() => Outcome::Ran { findings, seen: "no latency was measured".to_owned() },
        None => Outcome::NoData("no latency was measured (log $request_time)".to_owned()),
    }
}

pub(super) fn rejects(inputs: &Inputs<'_>) -> Outcome {
    let Some(given) = inputs.baseline else { return Outcome::Skipped("needs --baseline".to_owned()) };
    let totals = &given.value.totals;
    let (rejected, lines) = (totals.rejects.values().sum::<u64>(), totals.lines);
    if lines < LEAST_REQUESTS {
        return Outcome::NoData(format!("{}: fewer than {LEAST_REQUESTS} lines", given.place));
    }
    let mut findings = Vec::new();
    let times = rejected.saturating_mul(100);
    if times > lines {
        let (level, limit) =
            if times > lines.saturating_mul(5) { (Level::Error, 0.05) } else { (Level::Warning, 0.01) };
        let mut reasons: Vec<(&String, &u64)> = totals.rejects.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let reasons: Vec<String> = reasons.iter().take(3).map(|(why, n)| format!("{why} {n}")).collect();
        let worst = given.value.inputs.iter().max_by_key(|log| log.rejects.values().sum::<u64>());
        findings.push(Finding {
            level,
            subject: worst.map_or(given.place.clone(), |log| log.path.clone()),
            measure: "reject_share",
            value: Figure::share(rejected, lines),
            limit: Figure::Number(limit),
            worst_minute: None,
            message: format!(
                "{rejected} of {lines} lines ({}) are no records: {}",
                percent(rejected, lines),
                reasons.join(", ")
            ),
            more: "crawl-baseline parse LOG: the lines with \"kind\":\"reject\"".to_owned(),
        });
    }
    Outcome::Ran { findings, seen: format!("{rejected} of {lines} lines were rejected") }
}

pub(super) fn verified_share(inputs: &Inputs<'_>) -> Outcome {
    let Some(given) = inputs.baseline else { return Outcome::Skipped("needs --baseline".to_owned()) };
    // A bot over all hosts: verified, checkable, and the host with most that failed.
    let mut bots = BTreeMap::<&str, (u64, u64)>::new();
    for (_, of_host) in bots_by_host(&given.value) {
        for (name, bot) in of_host {
            let sums = bots.entry(name).or_default();
            sums.0 += bot.verification.verified;
            sums.1 += bot.verification.verified + bot.verification.failed;
        }
    }
    bots.retain(|_, (_, checkable)| *checkable >= LEAST_REQUESTS);
    if bots.is_empty() {
        return Outcome::NoData(format!(
            "{}: no bot with {LEAST_REQUESTS} requests that could be checked (analyze with --ip-ranges or --rdns)",
            given.place
        ));
    }
    let broken = bots.iter().filter(|(_, (verified, n))| verified.saturating_mul(100) < n.saturating_mul(90));
    let findings = broken
        .map(|(name, (verified, checkable))| Finding {
            level: Level::Warning,
            subject: (*name).to_owned(),
            measure: "verified_share",
            value: Figure::share(*verified, *checkable),
            limit: Figure::Number(0.9),
            worst_minute: None,
            message: format!(
                "{} of {checkable} requests that could be checked ({}) are not from {name}'s operator",
                checkable - verified,
                percent(checkable - verified, *checkable)
            ),
            more: "the baseline: `spoofed` of the bot names the networks".to_owned(),
        })
        .collect();
    Outcome::Ran { findings, seen: format!("{} bots could be checked", bots.len()) }
}
