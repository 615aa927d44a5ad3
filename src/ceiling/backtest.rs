//! What a ceiling would have done to recorded traffic: who would have waited, for how long, who would have been refused.
//!
//! Arrivals and waits are seconds. The replay is open: a real client slows down when it waits, so waits are an upper
//! bound. Not the choice of a ceiling. Example: 300 requests in 20 s into 353 a minute with a burst of 15: the last
//! one waits 28.5 s.

use std::collections::VecDeque;

use serde::Serialize;

/// Waits up to a millisecond are none.
const NO_WAIT: f64 = 1e-3;

/// Where in its logged second a request is taken to have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere, by a stream of random numbers that belongs to host, bot and second: the one to believe.
    Jitter,
    /// At its start. Only to see how much the placement matters; it is not the worst case.
    Start,
    /// Evenly spread. Likewise.
    Even,
}

/// Arrivals in order from ascending (epoch second, requests).
///
/// The same second of the same host and bot gives the same times, whatever else was read.
#[must_use]
pub fn spread(seconds: &[(i64, u64)], placement: Placement, host: &str, bot: &str) -> Vec<f64> {
    spread_with(seconds, placement, host, bot, 0)
}

/// The same with other random numbers for another `seed`; 0 gives those of [`spread`].
#[must_use]
pub fn spread_with(
    seconds: &[(i64, u64)],
    placement: Placement,
    host: &str,
    bot: &str,
    seed: u64,
) -> Vec<f64> {
    let mut out = Vec::new();
    for (second, requests) in seconds {
        let (at, first) = (whole(*second), out.len());
        match placement {
            Placement::Start => out.extend((0..*requests).map(|_| at)),
            Placement::Even => {
                let k = super::rank::float(*requests);
                out.extend((0..*requests).map(|i| at + (super::rank::float(i) + 0.5) / k));
            }
            Placement::Jitter => {
                let mut random = SplitMix64(jitter_seed(host, bot, *second) ^ seed);
                out.extend((0..*requests).map(|_| at + random.uniform()));
                out[first..].sort_unstable_by(f64::total_cmp);
            }
        }
    }
    out
}

/// A limiter that polices: it refuses at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limiter {
    /// A token bucket (Envoy, Traefik, Varnish): `rpm` tokens a minute, `burst` at most.
    Bucket {
        /// Tokens per minute.
        rpm: u64,
        /// Tokens at most.
        burst: u64,
    },
    /// At most `limit` in any 60 seconds (Caddy; nearly `HAProxy`).
    SlidingLog {
        /// Requests.
        limit: usize,
    },
    /// At most `limit` in each minute of the clock (`mod_qos`, `ModSecurity`, Cloudflare).
    FixedWindow {
        /// Requests.
        limit: usize,
    },
    /// `limit_req rate=<rpm>r/m burst=<burst> nodelay` of nginx, in its whole milliseconds and thousandths of a request.
    Nginx {
        /// Requests per minute.
        rpm: u64,
        /// Requests above the rate; one more gets through.
        burst: u64,
    },
}

impl Limiter {
    /// How many of these ascending arrivals it refuses. A refused request takes nothing.
    #[must_use]
    pub fn refused(&self, arrivals: &[f64]) -> usize {
        match *self {
            Self::Bucket { rpm, burst } => police(arrivals, rpm, burst),
            Self::SlidingLog { limit } => {
                let mut seen = VecDeque::new();
                refusals(arrivals, |at| {
                    while seen.front().is_some_and(|first| *first <= at - 60.0) {
                        seen.pop_front();
                    }
                    let refused = seen.len() >= limit;
                    if !refused {
                        seen.push_back(at);
                    }
                    refused
                })
            }
            Self::FixedWindow { limit } => {
                let (mut minute, mut seen) = (f64::NEG_INFINITY, 0);
                refusals(arrivals, |at| {
                    let now = (at / 60.0).floor();
                    if now > minute {
                        (minute, seen) = (now, 0);
                    }
                    let refused = seen >= limit;
                    seen += usize::from(!refused);
                    refused
                })
            }
            Self::Nginx { rpm, burst } => nginx(arrivals, rpm, burst),
        }
    }
}

fn refusals(arrivals: &[f64], mut refuses: impl FnMut(f64) -> bool) -> usize {
    arrivals.iter().filter(|at| refuses(**at)).count()
}

/// The generic cell rate algorithm, policing: exact for a bucket of `burst` tokens.
fn police(arrivals: &[f64], rpm: u64, burst: u64) -> usize {
    let period = 60.0 / super::rank::float(rpm.max(1));
    let slack = (super::rank::float(burst.max(1)) - 1.0) * period;
    let mut due = f64::NEG_INFINITY;
    refusals(arrivals, |at| {
        let refused = at < due - slack - 1e-9;
        if !refused {
            due = due.max(at) + period;
        }
        refused
    })
}

fn nginx(arrivals: &[f64], rpm: u64, burst: u64) -> usize {
    nginx_waits(arrivals, rpm, burst).1
}

/// The waits of those that `limit_req rate=<rpm>r/m burst=<burst>` of nginx lets through, without `nodelay`, and how many
/// it refuses; `nodelay` refuses the same.
#[must_use]
pub fn nginx_waits(arrivals: &[f64], rpm: u64, burst: u64) -> (Vec<f64>, usize) {
    let rate = i64::try_from(rpm.saturating_mul(1000) / 60).unwrap_or(i64::MAX);
    let most = i64::try_from(burst.saturating_mul(1000)).unwrap_or(i64::MAX);
    let (mut excess, mut last) = (0_i64, None);
    let mut waits = Vec::with_capacity(arrivals.len());
    for at in arrivals {
        let now = milliseconds(*at);
        let Some(before) = last else {
            last = Some(now);
            waits.push(0.0);
            continue;
        };
        let next = (excess - rate.saturating_mul((now - before).max(0)) / 1000 + 1000).max(0);
        if next <= most {
            (excess, last) = (next, Some(now));
            waits.push(whole(next) * 1000.0 / whole(rate.max(1)) / 1000.0);
        }
    }
    let refused = arrivals.len() - waits.len();
    (waits, refused)
}

/// The waits of ascending arrivals in front of a bucket of `burst` tokens, in order; a leaky bucket has one token.
#[must_use]
pub fn waits(arrivals: &[f64], rpm: u64, burst: u64) -> Vec<f64> {
    let period = 60.0 / super::rank::float(rpm.max(1));
    let slack = (super::rank::float(burst.max(1)) - 1.0) * period;
    let mut due = f64::NEG_INFINITY;
    arrivals
        .iter()
        .map(|at| {
            let start = at.max(due - slack);
            due = due.max(start) + period;
            start - at
        })
        .collect()
}

/// What a ceiling would have done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Replay {
    /// Arrivals.
    pub requests: usize,
    /// The share of them that waits more than a millisecond.
    pub delayed_share: f64,
    /// Median wait of all.
    pub wait_seconds_p50: f64,
    /// 95 % of all wait no longer.
    pub wait_seconds_p95: f64,
    /// The longest wait.
    pub wait_seconds_max: f64,
    /// Median wait of the delayed ones.
    pub delayed_seconds_p50: f64,
    /// 95 % of the delayed ones wait no longer.
    pub delayed_seconds_p95: f64,
    /// How much later the last one starts. Above a minute the traffic would have run at the ceiling, and finished later.
    pub drain_seconds: f64,
    /// What a server with the policing burst refuses.
    pub refused: usize,
}

impl Replay {
    /// Replays ascending arrivals through a client that shapes with `burst` and a server that polices with `enforce_burst`.
    #[must_use]
    pub fn of(arrivals: &[f64], rpm: u64, burst: u64, enforce_burst: u64) -> Self {
        let refused = Limiter::Bucket { rpm, burst: enforce_burst }.refused(arrivals);
        Self::of_waits(waits(arrivals, rpm, burst), arrivals.len(), refused)
    }

    /// The figures of waits in the order of arrival, of so many requests of which so many were refused.
    #[must_use]
    pub fn of_waits(waits: Vec<f64>, requests: usize, refused: usize) -> Self {
        let drain_seconds = waits.last().copied().unwrap_or(0.0);
        let mut all = waits;
        all.sort_unstable_by(f64::total_cmp);
        let delayed = &all[all.partition_point(|w| *w <= NO_WAIT)..];
        let rank = |sorted: &[f64], percent| super::rank::nearest_rank(sorted, percent).unwrap_or(0.0);
        let count = |n: usize| super::rank::float(u64::try_from(n).unwrap_or(u64::MAX));
        Self {
            requests,
            delayed_share: if all.is_empty() { 0.0 } else { count(delayed.len()) / count(all.len()) },
            wait_seconds_p50: rank(&all, 50),
            wait_seconds_p95: rank(&all, 95),
            wait_seconds_max: all.last().copied().unwrap_or(0.0),
            delayed_seconds_p50: rank(delayed, 50),
            delayed_seconds_p95: rank(delayed, 95),
            drain_seconds,
            refused,
        }
    }

    /// Whether the ceiling may be accepted without a person: few wait, or the capacity is measured; next to nothing is
    /// refused; and the crawl ends within its window, where one is given (both ends in epoch seconds).
    #[must_use]
    pub fn acceptable(&self, bound_by_capacity: bool, last_arrival: f64, window_end: Option<f64>) -> bool {
        let few_refused = self.refused.saturating_mul(200) < self.requests;
        let in_time = window_end.is_none_or(|end| last_arrival + self.drain_seconds < end);
        (self.delayed_share < 0.20 || bound_by_capacity) && few_refused && in_time
    }
}

/// The stream of one second: FNV-1a 64 of host, NUL, bot, NUL and the second in decimal.
fn jitter_seed(host: &str, bot: &str, second: i64) -> u64 {
    let text = [host.as_bytes(), b"\0", bot.as_bytes(), b"\0", second.to_string().as_bytes()].concat();
    text.iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Steele, Lea and Flood 2014: a small generator whose stream any language can repeat.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to 1 without 1, in steps of 2^-53.
    fn uniform(&mut self) -> f64 {
        super::rank::float(self.next() >> 11) * 2.0_f64.powi(-53)
    }
}

fn whole(second: i64) -> f64 {
    second as f64
}

#[expect(clippy::cast_possible_truncation, reason = "epoch milliseconds are far below 2^53")]
fn milliseconds(at: f64) -> i64 {
    (at * 1000.0) as i64
}

#[cfg(test)]
#[path = "tests/backtest.rs"]
mod tests;
