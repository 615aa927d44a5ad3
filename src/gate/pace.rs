//! How fast, against how fast it may be: `rpm-ceiling` and `rpm-headroom`.
//!
//! Three windows: the UTC minute, sliding 60 seconds, sliding 10 seconds. What a bucket of `burst` tokens lets through at
//! `ceiling` a minute is at most `ceiling + burst - 1` in any 60 s and `ceil(ceiling / 6) + burst - 1` in any 10 s, so a
//! crawler that keeps to it is never a breach. Example: 60 requests in one second and none in the other 59 keep to 60 a
//! minute, not to 10 in 10 s.

use super::finding::{Figure, Finding, Level, Outcome};
use super::input::Inputs;
use crate::manifest::{Algorithm, Entry};
use crate::tally::table::GROUPS;

/// Where nothing else was given.
pub(super) const DEFAULT_MAX_RPM: u64 = 120;
/// Below it one request is more than 5 %.
const LEAST_CEILING: u64 = 20;

/// One host of a plan, or one bot of a host that was measured, or all its bots together.
struct Subject<'a> {
    host: &'a str,
    /// `None`: a plan, or all bots.
    bot: Option<&'a str>,
    /// UTC minute, sliding 60 s, sliding 10 s.
    peaks: [u64; 3],
    worst_minute: Option<String>,
    /// Of a plan: the pace that it kept to.
    paced: Option<(Option<u64>, Option<u64>)>,
}

impl Subject<'_> {
    fn told(&self) -> String {
        match self.bot {
            Some(bot) => format!("{bot} on {}", self.host),
            None if self.paced.is_none() => format!("all bots on {}", self.host),
            None => self.host.to_owned(),
        }
    }

    fn more(&self) -> String {
        if self.paced.is_some() {
            return "crawl-baseline simulate: its table has the requests of each minute".to_owned();
        }
        match self.worst_minute.as_deref().and_then(|minute| minute.strip_suffix('Z')) {
            Some(minute) => format!("crawl-baseline analyze LOG... --no-history --since {minute}:00Z"),
            None => "crawl-baseline analyze LOG...".to_owned(),
        }
    }
}

/// A ceiling.
struct Limit {
    rpm: u64,
    burst: u64,
    from: String,
    applied: bool,
}

impl Limit {
    /// UTC minute, sliding 60 s, sliding 10 s.
    fn windows(&self) -> [u64; 3] {
        let more = self.burst.max(1) - 1;
        [self.rpm, self.rpm.saturating_add(more), self.rpm.div_ceil(6).saturating_add(more)]
    }
}

const MEASURES: [(&str, &str); 3] = [
    ("requests_per_minute", "in a UTC minute"),
    ("requests_per_60s", "in sliding 60 s"),
    ("requests_per_10s", "in sliding 10 s"),
];

fn subjects<'a>(inputs: &Inputs<'a>) -> Vec<Subject<'a>> {
    let mut subjects = Vec::new();
    if let Some(report) = inputs.report.map(|given| &given.value) {
        for (host, of_host) in report.hosts.iter().filter(|(_, h)| h.requests > 0) {
            let at = |count: u64| report.minutes.iter().find(|m| m.hosts.get(host) == Some(&count));
            subjects.push(Subject {
                host,
                bot: None,
                peaks: [of_host.rpm_peak, of_host.requests_per_60s_peak, of_host.requests_per_10s_peak],
                worst_minute: at(of_host.rpm_peak).map(|m| format!("minute {}", m.minute)),
                paced: Some((of_host.limit_per_minute, of_host.burst)),
            });
        }
    }
    if let Some(baseline) = inputs.baseline.map(|given| &given.value) {
        for (host, of_host) in &baseline.hosts {
            let bots = of_host.bots.iter().filter(|(name, bot)| is_bot(name) && bot.rpm.peak > 0);
            let before = subjects.len();
            subjects.extend(bots.map(|(name, bot)| Subject {
                host,
                bot: Some(name),
                peaks: [bot.rpm.peak, bot.requests_per_60s_peak, bot.requests_per_10s_peak],
                worst_minute: bot.rpm.peak_minutes.first().cloned(),
                paced: None,
            }));
            // Only a manifest says what all of them together may; one bot alone is told already.
            let has_own = inputs.manifest.is_some_and(|given| given.value.entry(host, None).is_some());
            if let Some(all) = of_host.all_bots.as_ref().filter(|_| has_own && subjects.len() > before + 1) {
                subjects.push(Subject {
                    host,
                    bot: None,
                    peaks: [all.rpm.peak, all.requests_per_60s_peak, all.requests_per_10s_peak],
                    worst_minute: all.rpm.peak_minutes.first().cloned(),
                    paced: None,
                });
            }
        }
    }
    subjects
}

/// Whether a row of the bot table is one; with `--include-other` people and unnamed clients stand there too.
pub(super) fn is_bot(name: &str) -> bool {
    !GROUPS.contains(&name)
}

/// Every ceiling that holds for a subject.
fn limits(inputs: &Inputs<'_>, subject: &Subject<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut entry_burst = None;
    if let Some(manifest) = inputs.manifest.map(|given| &given.value) {
        let defaults = Entry::of_defaults(&manifest.rate_limiting);
        let of_bot = subject.bot.and_then(|bot| manifest.entry(subject.host, Some(bot)));
        let (entry, key) = match (of_bot, manifest.entry(subject.host, None)) {
            (Some(entry), _) => (
                entry,
                format!("domain_overrides.\"{}\".bots.{}", subject.host, subject.bot.unwrap_or_default()),
            ),
            (None, Some(entry)) => (entry, format!("domain_overrides.\"{}\"", subject.host)),
            (None, None) => (&defaults, "rate_limiting, as it has no entry for the host".to_owned()),
        };
        let burst = match (entry.algorithm, subject.paced) {
            (Algorithm::LeakyBucket, _) => 1,
            (Algorithm::TokenBucket, Some(_)) => entry.max_burst_capacity,
            (Algorithm::TokenBucket, None) => entry.max_burst_capacity.max(entry.enforce_burst),
        };
        entry_burst = subject.paced.map(|_| burst);
        limits.push(Limit {
            rpm: entry.max_requests_per_minute,
            burst,
            from: format!("the manifest's {key}"),
            // Our own crawler keeps to what is recommended; what others do is only reported.
            applied: entry.apply || subject.paced.is_some(),
        });
    }
    if subject.bot.is_none() && subject.paced.is_none() {
        // --max-rpm is for each host of a plan and for each bot.
        return limits;
    }
    let own_burst = subject.paced.and_then(|(_, burst)| burst).or(entry_burst).unwrap_or(1);
    if let Some(rpm) = inputs.max_rpm {
        limits.push(Limit { rpm, burst: own_burst, from: "--max-rpm".to_owned(), applied: true });
    } else if limits.is_empty() {
        limits.push(Limit {
            rpm: DEFAULT_MAX_RPM,
            burst: own_burst,
            from: "the default of --max-rpm".to_owned(),
            applied: true,
        });
    }
    limits
}

/// Why there is nothing to compare, if there is not.
fn nothing(inputs: &Inputs<'_>, subjects: &[Subject<'_>]) -> Option<Outcome> {
    if inputs.report.is_none() && inputs.baseline.is_none() {
        return Some(Outcome::Skipped("needs --report or --baseline".to_owned()));
    }
    let given: Vec<&str> = [inputs.report.map(|g| &g.place), inputs.baseline.map(|g| &g.place)]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    subjects
        .is_empty()
        .then(|| Outcome::NoData(format!("{}: no request of a bot or a plan", given.join(", "))))
}

pub(super) fn ceiling(inputs: &Inputs<'_>) -> Outcome {
    let subjects = subjects(inputs);
    if let Some(outcome) = nothing(inputs, &subjects) {
        return outcome;
    }
    let mut findings = Vec::new();
    for subject in &subjects {
        let limits = limits(inputs, subject);
        for (window, (measure, told)) in MEASURES.into_iter().enumerate() {
            let value = subject.peaks[window];
            let broken = limits.iter().filter(|limit| value > limit.windows()[window]);
            // One finding for a window: the ceiling that is enforced, and of these the lowest.
            let Some(limit) = broken.min_by_key(|limit| (!limit.applied, limit.windows()[window])) else {
                continue;
            };
            let (level, end) = if limit.applied {
                (Level::Error, "")
            } else {
                (Level::Note, "; it is recommended, not applied")
            };
            let most = limit.windows()[window];
            let within = match window {
                0 => String::new(),
                _ => format!(" ({} a minute, burst {})", limit.rpm, limit.burst.max(1)),
            };
            findings.push(Finding {
                level,
                subject: subject.told(),
                measure,
                value: Figure::Count(value),
                limit: Figure::Count(most),
                worst_minute: (window == 0).then(|| subject.worst_minute.clone()).flatten(),
                message: format!("{value} requests {told}, {} allows {most}{within}{end}", limit.from),
                more: subject.more(),
            });
        }
    }
    Outcome::Ran { findings, seen: seen(inputs, &subjects) }
}

/// How many were looked at, and which is closest to its ceiling.
fn seen(inputs: &Inputs<'_>, subjects: &[Subject<'_>]) -> String {
    let lowest = |subject: &Subject<'_>| limits(inputs, subject).iter().map(|l| l.rpm).min().unwrap_or(1);
    let closest = subjects.iter().max_by(|a, b| {
        let (x, y) = (u128::from(a.peaks[0]), u128::from(b.peaks[0]));
        (x * u128::from(lowest(b))).cmp(&(y * u128::from(lowest(a))))
    });
    let closest = closest.map_or(String::new(), |s| {
        format!("; {} is the closest with {} of {} requests a minute", s.told(), s.peaks[0], lowest(s))
    });
    let together = subjects.iter().filter(|s| s.bot.is_none() && s.paced.is_none()).count();
    let mut what = match subjects.len() - together {
        1 => "1 pair of host and bot".to_owned(),
        n => format!("{n} pairs of host and bot"),
    };
    if together > 0 {
        what.push_str(&format!(", all bots together on {together} of the hosts"));
    }
    format!("{what}{closest}")
}

pub(super) fn headroom(inputs: &Inputs<'_>) -> Outcome {
    let subjects = subjects(inputs);
    if let Some(outcome) = nothing(inputs, &subjects) {
        return outcome;
    }
    let mut findings = Vec::new();
    let mut low: Option<(u64, u64, &Subject<'_>, String)> = None;
    let (mut compared, mut below) = (0_usize, 0_usize);
    for subject in &subjects {
        let limits = limits(inputs, subject);
        let applied = limits.iter().filter(|limit| limit.applied && limit.rpm >= LEAST_CEILING);
        let Some(limit) = applied.min_by_key(|limit| limit.rpm) else { continue };
        if subject.paced.is_some_and(|(own, _)| own == Some(limit.rpm)) {
            continue;
        }
        compared += 1;
        let (value, rpm) = (subject.peaks[0], limit.rpm);
        let percent = value.saturating_mul(100);
        if value <= rpm && percent > rpm.saturating_mul(90) {
            findings.push(Finding {
                level: Level::Warning,
                subject: subject.told(),
                measure: "share_of_ceiling",
                value: Figure::share(value, rpm),
                limit: Figure::Number(0.9),
                worst_minute: subject.worst_minute.clone(),
                message: format!("{value} of {rpm} requests a minute ({}) leave no headroom", limit.from),
                more: subject.more(),
            });
        } else if percent < rpm.saturating_mul(80) {
            below += 1;
            let busier = low.as_ref().is_none_or(|(v, r, ..)| {
                u128::from(value) * u128::from(*r) > u128::from(*v) * u128::from(rpm)
            });
            if busier {
                low = Some((value, rpm, subject, limit.from.clone()));
            }
        }
    }
    if compared == 0 {
        return Outcome::NoData(format!(
            "no ceiling of at least {LEAST_CEILING} requests a minute that is applied and did not pace the plan itself"
        ));
    }
    if let Some((value, rpm, subject, from)) = low {
        let others = if below > 1 { format!(", the busiest of {below} below 80 %") } else { String::new() };
        findings.push(Finding {
            level: Level::Note,
            subject: subject.told(),
            measure: "share_of_ceiling",
            value: Figure::share(value, rpm),
            limit: Figure::Number(0.8),
            worst_minute: subject.worst_minute.clone(),
            message: format!("{value} of {rpm} requests a minute ({from}){others}"),
            more: subject.more(),
        });
    }
    let left = subjects.len() - compared;
    let left = if left > 0 { format!(", {left} left out") } else { String::new() };
    Outcome::Ran { findings, seen: format!("{compared} compared with ceilings{left}") }
}
