//! How many requests may come at once: a small number that shapes a client, a larger one that a server lets through.
//!
//! Not the rate. Example: 76 requests a minute, evenly: burst 1 for clients, 13 for servers.

use super::entry::Decision;
use super::facts::Facts;
use super::minute::BotMinute;
use super::rank::rank_of;
use super::site::given;
use crate::manifest::{Algorithm, Grade};

/// Both bursts and the algorithm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bursts {
    pub(super) client: u64,
    pub(super) server: u64,
    pub(super) algorithm: Algorithm,
}

/// The bursts of a ceiling.
pub(super) fn bursts(d: &Decision<'_>) -> Bursts {
    let (policy, site, rate) = (d.host.policy, &d.host.input.site, d.rate);
    let refused = d.facts.onset.burst;
    // What no burst may exceed, on either side.
    let at_once = given(site.published.at_once).filter(|_| d.is_bot());
    let limits = [
        refused.map(|n| (d.capacity_share * n / 100).max(1)),
        at_once.map(|n| (policy.published_share_percent * n / 100).max(1)),
    ];
    let limited = |n: u64| limits.into_iter().flatten().fold(n, u64::min);

    let ten_seconds = (rate * policy.burst_seconds / 60).max(1);
    let seconds = d.facts.clean_rows().filter(|r| r.second_max > 0).map(|r| u64::from(r.second_max));
    let mut client = limited(rank_of(seconds, 95).unwrap_or(1).clamp(1, ten_seconds));
    if d.grade == Grade::D {
        client = client.min(policy.default_burst);
    }
    let leaky = client == 1 || refused.is_some() || (site.cdn.is_none() && client <= policy.leaky_burst);
    let server = if d.facts.dead {
        1
    } else {
        let bucket = smallest_bucket(d.facts, rate).min(rate);
        let server = limited((rate * policy.burst_seconds).div_ceil(60).max(bucket));
        // Rate and bucket together stay within what is admitted in any 60 seconds.
        d.onset.map_or(server, |limit| server.min(limit.saturating_sub(rate).max(1)))
    };
    Bursts {
        client: if leaky { 1 } else { client },
        server,
        algorithm: if leaky { Algorithm::LeakyBucket } else { Algorithm::TokenBucket },
    }
}

/// The smallest bucket that surely refuses nothing of the clean minutes within the rate, on 99 % of the dates.
///
/// The debt is counted in sixtieths of a request: each request adds 60, each second pays `rate`. Stamps are whole
/// seconds, so a request may have come up to a second earlier or later: one more second of debt.
fn smallest_bucket(facts: &Facts<'_>, rate: u64) -> u64 {
    let worst = facts.clean_by_date().into_iter().filter_map(|rows| worst_debt(facts, &rows, rate));
    rank_of(worst.map(|debt| (debt + rate).div_ceil(60)), 99).unwrap_or(1)
}

/// `None` when no minute of the date is within the rate.
fn worst_debt(facts: &Facts<'_>, rows: &[&BotMinute], rate: u64) -> Option<u64> {
    let (mut debt, mut last, mut worst) = (0_u64, 0, None);
    for row in rows.iter().filter(|r| r.requests() <= rate) {
        for second in facts.series.seconds_of(row) {
            let at = 60 * row.minute + i64::from(second.at());
            // The first second finds no debt, so what it would pay does not matter.
            let elapsed = u64::try_from(at - last).unwrap_or(0);
            debt = debt.saturating_sub(rate.saturating_mul(elapsed)) + 60 * second.requests();
            last = at;
            worst = Some(debt.max(worst.unwrap_or(0)));
        }
    }
    worst
}
