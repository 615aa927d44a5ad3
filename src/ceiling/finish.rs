//! From a ceiling to the whole entry: pacing, edge, cooldown, whether it is applied, and the evidence.
//!
//! Not the ceiling itself. Example: 76 requests a minute are one every 790 ms.

use super::budget::budgets;
use super::burst::bursts;
use super::connections::connections;
use super::entry::{Decision, Subject};
use super::evidence::evidence;
use super::host::Host;
use super::policy::Policy;
use super::rank::{float, floor, nearest_rank, rank_of, rounded, wilson_lower};
use super::recommendation::{ApplyReason, Recommendation};
use super::site::{CdnHits, SiteConfig, given};
use crate::manifest::{Action, Grade};

/// The category that is reported but not applied.
const SEARCH_ENGINE: &str = "search-engine";

/// Everything that follows from a ceiling.
pub(super) fn finish(d: &Decision<'_>) -> Recommendation {
    let (host, facts, rate) = (d.host, d.facts, d.rate);
    let (policy, site) = (host.policy, &host.input.site);
    let (burst, connections, budgets) = (bursts(d), connections(d), budgets(d));
    let delay = given(site.crawl_delay_ms).filter(|_| d.is_bot()).unwrap_or(0);
    let base_delay_ms = 60_000_u64.div_ceil(rate).max(delay);
    let apply_reason = apply_reason(d);
    let schedule = d.schedule.as_ref().zip(host.slots.as_ref());
    Recommendation {
        grade: d.grade,
        max_requests_per_minute: rate,
        raw: d.raw,
        bound_by: d.bound_by,
        candidates: d.candidates.clone(),
        alone: d.alone,
        demand: facts.demand,
        best_demand: d.best_demand.map(|(l, _)| l),
        best_demand_at: d.best_demand.map(|(_, at)| at),
        clean_minutes: facts.clean_minutes(),
        days: facts.clean_dates,
        burst: burst.client,
        enforce_burst: burst.server,
        algorithm: burst.algorithm,
        base_delay_ms,
        jitter_range_ms: base_delay_ms / 2,
        per_worker_ms: connections.per_worker_ms,
        max_concurrency: connections.max,
        concurrency_rule: connections.rule,
        little_need: connections.need,
        mean_latency_ms: facts.mean_latency_ms().map(|ms| rounded(ms, 1)),
        hourly_budget: budgets.hourly,
        daily_budget: budgets.daily,
        plan_hourly: budgets.plan,
        retry_reserve: budgets.reserve,
        retry_cap: budgets.retry_cap,
        even_pace_rpm: budgets.hourly.div_ceil(60),
        edge_rpm: edge(d.rate, &d.host.input.site, policy),
        cooldown_s: cooldown(d),
        max_domain_stall_s: policy.domain_stall_seconds_max,
        breaker: policy.breaker.clone(),
        schedule_kind: schedule.map_or(1, |(_, slots)| slots.kind.slots()),
        schedule: schedule.map(|(values, slots)| slots.named(values)),
        c429: facts.onset.rate,
        c429_state: facts.onset.state,
        burst_429: facts.onset.burst,
        quota: facts.onset.quota,
        quota_state: facts.onset.quota_state,
        action: d.action,
        apply: apply_reason.is_none(),
        apply_reason,
        outliers: outliers(d),
        utilisation: facts.demand.map(|l| rounded(float(l) / float(rate), 3)),
        window_to: host.window_to,
        evidence: evidence(d),
    }
}

/// What the edge may take when the CDN answers its share. At most a tenth of the requests is believed to arrive.
pub(super) fn edge(rate: u64, site: &SiteConfig, policy: &Policy) -> Option<u64> {
    let ratio = match site.cdn? {
        CdnHits::Ratio(ratio) => ratio,
        CdnHits::Measured { hits, total } => wilson_lower(hits, total, policy.confidence_z),
    };
    let ratio = ratio.min(policy.cdn_hit_ratio_max).max(0.0);
    Some(floor(float(rate) / (1.0 - ratio) + 1e-9))
}

/// How long trouble usually lasts.
fn cooldown(d: &Decision<'_>) -> u64 {
    let lengths = d.facts.onset.slowing.iter().copied().chain(d.host.overload.load_episodes());
    let (shortest, longest) = d.host.policy.cooldown_seconds;
    rank_of(lengths.map(|e| e.seconds()), 75).unwrap_or(0).clamp(shortest, longest)
}

fn apply_reason(d: &Decision<'_>) -> Option<ApplyReason> {
    match d.action {
        Some(Action::StopDenied) => return Some(ApplyReason::StopDenied),
        Some(Action::StopInvestigate) => return Some(ApplyReason::StopInvestigate),
        None => {}
    }
    if d.grade == Grade::D {
        return Some(ApplyReason::ThinData);
    }
    let searches = |host: &Host<'_>, bot: &str| {
        host.input.categories.get(bot).is_some_and(|c| c == SEARCH_ENGINE)
            && !host.input.site.enforce.contains(SEARCH_ENGINE)
    };
    let held_back = match d.subject {
        Subject::Bot(name) => searches(d.host, name),
        Subject::AllBots(members) => members.iter().any(|m| searches(d.host, &m.name)),
    };
    held_back.then_some(ApplyReason::SearchEngine)
}

/// Minutes more than six robust standard deviations above the median.
fn outliers(d: &Decision<'_>) -> usize {
    let mut loads: Vec<u64> = d.facts.load().into_iter().map(|(_, n)| n).collect();
    loads.sort_unstable();
    let median = nearest_rank(&loads, 50).unwrap_or(0);
    let deviation = rank_of(loads.iter().map(|n| n.abs_diff(median)), 50).unwrap_or(0).max(1);
    loads.iter().filter(|n| 10_000 * n.saturating_sub(median) > 6 * 14_826 * deviation).count()
}
