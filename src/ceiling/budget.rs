//! Requests per hour and day, and how much of them is kept for retries.
//!
//! Not the rate. Example: 4,236 an hour are 3,922 planned and 314 in reserve.

use std::collections::BTreeMap;

use super::entry::{Decision, Member};
use super::rank::rank_of;
use super::site::given;
use crate::manifest::Grade;

/// The budgets of a ceiling.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budgets {
    pub(super) hourly: u64,
    pub(super) daily: u64,
    pub(super) plan: u64,
    pub(super) reserve: u64,
    pub(super) retry_cap: u64,
}

/// What a dead bot gets: a canary, not a crawl.
const CANARY: (u64, u64) = (10, 100);

/// The budgets of a ceiling.
pub(super) fn budgets(d: &Decision<'_>) -> Budgets {
    let (hourly, daily) = hour_and_day(d);
    let (facts, policy) = (d.facts, d.host.policy);
    if facts.dead {
        return Budgets { hourly, daily, plan: hourly, reserve: 0, retry_cap: 0 };
    }
    // The share of requests that failed and may be tried again, as a fraction.
    let (mut failed, mut of) = (facts.recent_retryable, facts.recent.max(1));
    let thin = matches!(d.grade, Grade::C | Grade::D);
    let lowest = if thin { policy.retry_percent_thin } else { 0 };
    for floor in [lowest, policy.retry_percent_min] {
        if 100 * failed < floor * of {
            (failed, of) = (floor, 100);
        }
    }
    if 100 * failed > policy.retry_percent_max * of {
        (failed, of) = (policy.retry_percent_max, 100);
    }
    let plan = hourly * of / (of + failed);
    let succeeded = facts.recent.saturating_sub(facts.recent_retryable);
    Budgets {
        hourly,
        daily,
        plan,
        reserve: hourly - plan,
        retry_cap: policy.retry_of_success_percent * plan * succeeded / (100 * facts.recent.max(1)),
    }
}

fn hour_and_day(d: &Decision<'_>) -> (u64, u64) {
    let (policy, facts, rate) = (d.host.policy, d.facts, d.rate);
    let published = &d.host.input.site.published;
    let (mut hourly, mut daily) = if facts.dead {
        CANARY
    } else if d.grade == Grade::D {
        (30 * rate, 180 * rate)
    } else {
        from_totals(d)
    };
    if d.host.input.partial
        && !facts.dead
        && let Some(prior) = d.prior
        && let Some(before) = given(prior.entry.hourly_budget)
    {
        hourly = hourly.max(before.min(60 * rate));
        daily = daily.max(prior.entry.daily_budget.unwrap_or(0).min(24 * hourly));
    }
    if let Some(quota) = facts.onset.quota {
        hourly = hourly.min(d.capacity_share * quota / 100);
    }
    if let Some(members) = d.subject.members() {
        if !facts.dead {
            hourly = between(hourly, members, |m| m.hourly);
            daily = between(daily, members, |m| m.daily);
        }
    } else {
        let share = |quota: u64| policy.published_share_percent * quota / 100;
        hourly = given(published.per_hour).map_or(hourly, |q| hourly.min(share(q)));
        daily = given(published.per_day).map_or(daily, |q| daily.min(share(q)));
    }
    hourly = hourly.min(daily).max(1);
    (hourly, daily.min(24 * hourly).max(1))
}

/// The busiest hours and days, with headroom. A local day of 23 or 25 hours counts as one of 24.
fn from_totals(d: &Decision<'_>) -> (u64, u64) {
    let (mut hours, mut dates) = (BTreeMap::<i64, u64>::new(), BTreeMap::<i64, u64>::new());
    let load = d.facts.load();
    for hour in load.chunk_by(|a, b| a.0.div_euclid(60) == b.0.div_euclid(60)) {
        *hours.entry(hour[0].0.div_euclid(60)).or_default() += total(hour);
    }
    let date = |minute| d.host.calendar.date_of(minute);
    // Not ascending where clocks go back over midnight.
    for day in load.chunk_by(|a, b| date(a.0) == date(b.0)) {
        *dates.entry(date(day[0].0)).or_default() += total(day);
    }
    let scaled = dates.iter().map(|(date, n)| {
        let minutes = d.host.calendar.day_minutes(*date);
        (n * 1440 + minutes / 2) / minutes
    });
    let headroom = |n: Option<u64>| (100 * n.unwrap_or(0)).div_ceil(d.utilisation);
    let hourly = headroom(rank_of(hours.values().copied(), 95)).min(60 * d.rate);
    // Of fewer than seven dates the highest: the weekend may be missing.
    let percent = if dates.len() >= 7 { 95 } else { 100 };
    (hourly, headroom(rank_of(scaled, percent)).min(24 * hourly))
}

fn total(minutes: &[(i64, u64)]) -> u64 {
    minutes.iter().map(|(_, n)| n).sum()
}

/// At least what the largest bot has, at most what all have.
fn between(value: u64, members: &[Member], of: fn(&Member) -> u64) -> u64 {
    let largest = members.iter().filter(|m| m.counts()).map(of).max().unwrap_or(0);
    let sum: u64 = members.iter().map(of).sum();
    value.min(sum).max(largest)
}
