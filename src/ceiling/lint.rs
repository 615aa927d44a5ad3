//! Contradictions inside a recommendation. The tool's own output never has one; that is what the tests check.
//!
//! Not the lint of a manifest that somebody edited. Example: a delay of 500 ms beside 76 requests a minute.

use super::onset::OnsetState;
use super::policy::Policy;
use super::recommendation::{AllBots, Grade, HostRecommendation, Recommendation, Rule};
use super::site::{SiteConfig, given};

/// One contradiction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The bot; `None` for all bots together.
    pub bot: Option<String>,
    /// What is wrong.
    pub rule: &'static str,
}

/// All contradictions of a recommendation.
#[must_use]
pub fn lint(host: &HostRecommendation, site: &SiteConfig, policy: &Policy) -> Vec<Finding> {
    let mut out = Vec::new();
    let all_bots = match &host.all_bots {
        AllBots::Recommended(r) => Some(&**r),
        AllBots::Held(_) => None,
    };
    for (name, entry) in &host.bots {
        let mut add = |rule| out.push(Finding { bot: Some(name.clone()), rule });
        check(entry, host, policy, &mut add);
        let rate = entry.max_requests_per_minute;
        if entry.grade != Grade::D && all_bots.is_some_and(|a| rate > a.max_requests_per_minute) {
            add("bot_above_all_bots");
        }
        if let Some(delay) = given(site.crawl_delay_ms)
            && (rate > (60_000 / delay).max(1) || entry.base_delay_ms < delay || entry.max_concurrency > 1)
        {
            add("crawl_delay_broken");
        }
    }
    if let Some(entry) = all_bots {
        check(entry, host, policy, &mut |rule| out.push(Finding { bot: None, rule }));
    }
    out
}

fn check(e: &Recommendation, host: &HostRecommendation, policy: &Policy, add: &mut dyn FnMut(&'static str)) {
    let rate = e.max_requests_per_minute;
    if e.base_delay_ms * rate < 60_000 {
        add("delay_allows_more_than_ceiling");
    }
    if e.burst > (rate * policy.burst_seconds / 60).max(1) {
        add("burst_over_ten_seconds");
    }
    let binding = matches!(e.c429_state, OnsetState::Established | OnsetState::Provisional);
    let beyond = e.c429.is_some_and(|c| binding && e.enforce_burst > c.saturating_sub(rate).max(1));
    if e.enforce_burst > rate || beyond {
        add("enforce_burst_over_limit");
    }
    if e.bound_by == Rule::DemandHeadroom && rate >= 20 {
        let want = 100 * e.evidence.inputs.want.unwrap_or(0);
        if !(80 * rate..=90 * rate).contains(&want) {
            add("utilisation_outside_80_90");
        }
    }
    if let (Some(limit), Some(people), None, Some(schedule)) =
        (host.host.limit, &host.host.people, e.action, &e.schedule)
    {
        // The dead band may keep a value that is so much too high.
        let keep = 100 - policy.deadband_percent.min(100);
        let most = policy.capacity_share_percent.a.max(policy.capacity_share_percent.b);
        let above = schedule.iter().any(|(slot, value)| {
            let left = (most * limit).saturating_sub(100 * people.get(slot).copied().unwrap_or(0));
            keep * value > keep.max(policy.bot_share_percent * limit).max(left)
        });
        if above {
            add("above_measured_capacity");
        }
    }
    let whole = e.plan_hourly + e.retry_reserve == e.hourly_budget;
    if e.hourly_budget > 60 * rate || e.daily_budget > 24 * e.hourly_budget || !whole {
        add("budgets_inconsistent");
    }
}
