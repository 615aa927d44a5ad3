//! `throttle-surge`: more 429s than the nights before had.
//!
//! A rising share says that the origin has lowered its limit, or that somebody goes faster than before. Example: 3 % of
//! the bot requests were answered 429, the median of the 28 dates before is 0.4 %.

use std::collections::BTreeMap;

use super::answer::{LEAST_FOR_PERCENT, answered, bots_by_host, percent, ranking};
use super::finding::{Figure, Finding, Level, Outcome};
use super::input::Inputs;
use crate::error::Error;
use crate::history::read::{History, Wanted};

/// Dates before the baseline that are looked at.
const DATES: i32 = 28;

/// Shares of 429 of the dates before a baseline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Refusals {
    /// Per host, one (429s, requests) of bots for each date that has any.
    pub hosts: BTreeMap<String, Vec<(u64, u64)>>,
    /// Hosts and bots of those dates, for names that a manifest may use.
    pub bots: Vec<String>,
}

impl Refusals {
    /// The median of the dates' shares and how many dates there are; none without any. The lower of two middle ones.
    fn median(&self, host: &str) -> Option<((u64, u64), usize)> {
        let mut shares = self.hosts.get(host)?.clone();
        let times = |a: u64, b: u64| u128::from(a) * u128::from(b);
        shares.sort_by(|a, b| times(a.0, b.1).cmp(&times(b.0, a.1)));
        let middle = shares.len().checked_sub(1)? / 2;
        Some((*shares.get(middle)?, shares.len()))
    }
}

/// Reads the bots' 429s of the 28 dates before a date (days since 1970-01-01). Also returns what could not be read.
///
/// # Errors
/// A part that a newer program wrote (exit 2).
pub fn refusals_before(history: &History, date: i32) -> Result<(Refusals, Vec<Error>), Error> {
    let mut refusals = Refusals::default();
    let wanted = Wanted { status: true, ..Wanted::default() };
    let window = history.read_window(date.saturating_sub(DATES), date.saturating_sub(1), wanted)?;
    let mut bots = std::collections::BTreeSet::new();
    for day in &window.days {
        let mut of_day = BTreeMap::<&str, (u64, u64)>::new();
        for row in &day.status {
            let Some(series) = day.series.get(row.series as usize).filter(|series| series.is_bot()) else {
                continue;
            };
            bots.insert(series.bot.clone());
            let sums = of_day.entry(&series.host).or_default();
            sums.0 += if row.status == Some(429) { row.requests } else { 0 };
            sums.1 += row.requests;
        }
        for (host, sums) in of_day {
            refusals.hosts.entry(host.to_owned()).or_default().push(sums);
        }
    }
    refusals.bots = bots.into_iter().collect();
    Ok((refusals, window.warnings))
}

pub(super) fn surge(inputs: &Inputs<'_>) -> Outcome {
    let Some(given) = inputs.baseline else { return Outcome::Skipped("needs --baseline".to_owned()) };
    let Some(refusals) = inputs.refusals.filter(|refusals| !refusals.hosts.is_empty()) else {
        return Outcome::NoData("the history has no date among the 28 before the baseline".to_owned());
    };
    let (mut findings, mut compared) = (Vec::new(), 0);
    for (host, bots) in bots_by_host(&given.value) {
        let requests: u64 = bots.iter().map(|(_, bot)| bot.requests).sum();
        let refused: u64 = bots.iter().map(|(_, bot)| answered(bot, "429")).sum();
        let Some(((before, of), dates)) = refusals.median(host).filter(|_| requests >= LEAST_FOR_PERCENT)
        else {
            continue;
        };
        compared += 1;
        let doubled = u128::from(refused) * u128::from(of) > 2 * u128::from(before) * u128::from(requests);
        if refused.saturating_mul(100) > requests && doubled {
            findings.push(Finding {
                level: Level::Error,
                subject: host.to_owned(),
                measure: "share_429",
                value: Figure::share(refused, requests),
                limit: Figure::number((2.0 * before as f64 / of.max(1) as f64).max(0.01)),
                worst_minute: None,
                message: format!(
                    "{} of the bot requests were answered 429, the median of {dates} dates before is {}: {}",
                    percent(refused, requests),
                    percent(before, of),
                    ranking(&bots, |bot| answered(bot, "429"))
                ),
                more: "crawl-baseline recommend: ceilings fall where 429 began".to_owned(),
            });
        }
    }
    if compared == 0 {
        return Outcome::NoData(format!(
            "{}: no host with {LEAST_FOR_PERCENT} bot requests that the history knows",
            given.place
        ));
    }
    Outcome::Ran { findings, seen: format!("{compared} hosts compared with earlier dates") }
}
