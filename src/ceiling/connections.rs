//! How many connections at once: what the ceiling needs, started low, raised by one, cut back after trouble.
//!
//! Not the rate. Example: 290 requests a minute at 400 ms need 3; from 2, the next night has 3.

use super::entry::Decision;
use super::recommendation::ConnectionRule as Rule;
use super::site::given;

/// Connections with their rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connections {
    pub(super) max: u64,
    pub(super) rule: Rule,
    /// What the ceiling needs by Little's law.
    pub(super) need: u64,
    /// Pause of each worker, milliseconds.
    pub(super) per_worker_ms: u64,
}

/// The connections of a ceiling.
pub(super) fn connections(d: &Decision<'_>) -> Connections {
    let (policy, site, facts) = (d.host.policy, &d.host.input.site, d.facts);
    let need = 1 + if facts.latency_count > 0 {
        ceil_div(wide(d.rate) * wide(facts.latency_ms_sum), 60_000 * wide(facts.latency_count))
    } else {
        (d.rate * policy.assumed_latency_ms).div_ceil(60_000)
    };
    let (mut max, mut rule) = wanted(d, need);
    let own = [Some(policy.connections_max), given(site.published.connections)];
    let caps = own.into_iter().filter(|_| d.is_bot()).chain([given(site.gateway_concurrency)]).flatten();
    if let Some(cap) = caps.min().filter(|cap| max > *cap) {
        (max, rule) = (cap.max(1), Rule::Configured);
    }
    let cycle = wide(max) * 60_000;
    let per_worker_ms = if facts.latency_count > 0 {
        let n = wide(facts.latency_count);
        ceil_div((cycle * n).saturating_sub(wide(d.rate) * wide(facts.latency_ms_sum)), wide(d.rate) * n)
    } else {
        ceil_div(cycle, wide(d.rate))
    };
    Connections { max, rule, need, per_worker_ms }
}

fn wanted(d: &Decision<'_>, need: u64) -> (u64, Rule) {
    let (policy, facts) = (d.host.policy, d.facts);
    if facts.dead {
        return (1, Rule::AllErrors);
    }
    if let Some(members) = d.subject.members() {
        let largest = members.iter().map(|m| m.connections).max().unwrap_or(1);
        let sum: u64 = members.iter().map(|m| m.connections).sum();
        return (need.min(sum).max(largest), Rule::AllBots);
    }
    if given(d.host.input.site.crawl_delay_ms).is_some() {
        return (1, Rule::RobotsCrawlDelay);
    }
    let timed = facts.latency_count > 0;
    let Some((prior, old)) = d.prior.and_then(|p| p.entry.max_concurrency.map(|old| (p, old))) else {
        let start = need.min(policy.start_connections.of(d.grade));
        return match (d.troubled, timed) {
            (true, _) => (start.min(policy.blind_connections), Rule::StartLowAfter429),
            (false, false) => (start.min(policy.blind_connections), Rule::StartBlind),
            (false, true) => (start, Rule::Start),
        };
    };
    // Only what ended after the previous window: each episode counts once.
    let ends = facts.onset.slowing.iter().copied().chain(d.host.overload.load_episodes()).map(|e| e.end);
    if ends.into_iter().any(|end| end > prior.window_to) {
        // Without latency it could never rise again.
        let floor = if timed { 1 } else { old.min(policy.default_connections) };
        let less = old.saturating_sub(1).min(policy.backoff_percent * old / 100);
        return (need.min(less.max(floor)), Rule::DecreaseAfter429);
    }
    let healthy = timed
        && !d.troubled
        && !facts.recent_429
        && facts.clean_minutes() >= policy.clean_minutes_min
        && facts.latency_ms_sum < policy.slow_ms * facts.latency_count
        && 100 * facts.recent_errors < policy.error_share_percent * facts.recent;
    if healthy && need > old { (old + 1, Rule::PlusOne) } else { (need.min(old), Rule::Hold) }
}

// Rate times a sum of milliseconds passes 64 bits on a busy month.
fn wide(n: u64) -> u128 {
    u128::from(n)
}

fn ceil_div(a: u128, b: u128) -> u64 {
    u64::try_from(a.div_ceil(b)).unwrap_or(u64::MAX)
}
