//! Whether a ceiling may be accepted, from recorded seconds; and the smallest one that may.
//!
//! Not the replay itself (see [`super::backtest`]), and not the reading of the history. Example: 60 requests a minute at
//! random through 76 with `enforce_burst` 23: nobody is refused, 65 % wait, so only a measured capacity makes it acceptable.

use serde::Serialize;

use super::backtest::{Limiter, Placement, Replay, nginx_waits, spread_with, waits};
use super::rank::float;

/// What stands between client and origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Machine {
    /// The manifest's own: the client shapes with its burst, the server polices with a bucket of `enforce_burst`.
    Manifest,
    /// The same, whatever the entry's algorithm.
    TokenBucket,
    /// One token on both sides.
    LeakyBucket,
    /// nginx: `limit_req` with a burst of `enforce_burst - 1`; it shapes, and refuses what is beyond.
    Nginx,
    /// The client shapes as in the manifest, the server counts the last 60 seconds.
    SlidingLog,
    /// ... the server counts minutes of the clock.
    FixedWindow,
}

/// The numbers of an entry that are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// The ceiling.
    pub max_requests_per_minute: u64,
    /// Requests at once of the client.
    pub max_burst_capacity: u64,
    /// Requests at once that the server lets through.
    pub enforce_burst: u64,
}

impl Limits {
    /// Those of another ceiling: bursts hold at most, and a server's at least, `burst_seconds` of it.
    #[must_use]
    pub fn at(&self, rpm: u64, burst_seconds: u64) -> Self {
        let worth = rpm.saturating_mul(burst_seconds);
        Self {
            max_requests_per_minute: rpm,
            max_burst_capacity: self.max_burst_capacity.min((worth / 60).max(1)),
            enforce_burst: worth.div_ceil(60).max(self.enforce_burst.min(rpm)).max(1),
        }
    }
}

/// The recorded seconds of one bot, or of all bots of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Ascending: epoch second, requests of every status, and whether its minute had a 429.
    pub seconds: Vec<(i64, u32, bool)>,
}

impl Recorded {
    /// Sorts by second and adds up what falls into the same.
    pub fn sort(&mut self) {
        self.seconds.sort_unstable();
        self.seconds.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
                kept.2 |= next.2;
            }
            same
        });
    }

    fn arrivals(&self, placement: Placement, of: &Whose<'_>, only_clean: bool) -> Vec<f64> {
        let seconds: Vec<(i64, u64)> = self
            .seconds
            .iter()
            .filter(|(.., throttled)| !(only_clean && *throttled))
            .map(|(at, n, _)| (*at, u64::from(*n)))
            .collect();
        spread_with(&seconds, placement, of.host, of.bot, of.seed)
    }
}

/// Whose seconds: the random numbers inside a second belong to host, bot and second, so that they do not depend on what
/// else is replayed.
#[derive(Debug, Clone, Copy)]
pub struct Whose<'a> {
    /// The host.
    pub host: &'a str,
    /// The bot.
    pub bot: &'a str,
    /// Other numbers for another seed.
    pub seed: u64,
}

/// What another placement inside the second would have given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The share that waits.
    pub delayed_share: f64,
    /// How many are refused.
    pub refused: usize,
}

/// Why a ceiling is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// 20 % or more wait, and no measured capacity asks for it.
    TooManyWait,
    /// 0.5 % or more of the clean traffic is refused.
    TooManyRefused,
    /// Held to the ceiling, the traffic would have finished after the end of the operator's crawl window.
    TooLate,
}

/// What became of the recorded traffic.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// All of it: refused requests were arrivals, too.
    pub all: Replay,
    /// Without the minutes that had a 429.
    pub clean: Replay,
    /// All at the start of their second: a check, not a bound.
    pub at_start: Sensitivity,
    /// Evenly spread over their second.
    pub evenly: Sensitivity,
    /// The first second with a request, epoch.
    pub first_second: i64,
    /// The last one.
    pub last_second: i64,
    /// What speaks against it; nothing when it is accepted.
    pub faults: Vec<Fault>,
}

impl Machine {
    /// Replays ascending arrivals.
    #[must_use]
    pub fn replay(self, arrivals: &[f64], limits: &Limits) -> Replay {
        let rpm = limits.max_requests_per_minute;
        let most = usize::try_from(rpm).unwrap_or(usize::MAX);
        let shaped = |refused| {
            Replay::of_waits(waits(arrivals, rpm, limits.max_burst_capacity), arrivals.len(), refused)
        };
        match self {
            Self::Manifest | Self::TokenBucket => {
                Replay::of(arrivals, rpm, limits.max_burst_capacity, limits.enforce_burst)
            }
            Self::LeakyBucket => Replay::of(arrivals, rpm, 1, 1),
            Self::Nginx => {
                let (waits, refused) = nginx_waits(arrivals, rpm, limits.enforce_burst.max(1) - 1);
                Replay::of_waits(waits, arrivals.len(), refused)
            }
            Self::SlidingLog => shaped(Limiter::SlidingLog { limit: most }.refused(arrivals)),
            Self::FixedWindow => shaped(Limiter::FixedWindow { limit: most }.refused(arrivals)),
        }
    }
}

/// Replays recorded seconds through an entry; `None` without any. `capacity_is_measured`: a limit that was seen set the
/// ceiling, so that waiting is what it is for. `window_end`: when the crawl must have finished, epoch seconds.
#[must_use]
pub fn judge(
    recorded: &Recorded,
    whose: &Whose<'_>,
    machine: Machine,
    limits: &Limits,
    capacity_is_measured: bool,
    window_end: Option<i64>,
) -> Option<Judgement> {
    let (first, last) = (recorded.seconds.first()?.0, recorded.seconds.last()?.0);
    let replay =
        |placement, only_clean| machine.replay(&recorded.arrivals(placement, whose, only_clean), limits);
    let (all, clean) = (replay(Placement::Jitter, false), replay(Placement::Jitter, true));
    let sensitivity = |placement| {
        let replay = replay(placement, false);
        Sensitivity { delayed_share: replay.delayed_share, refused: replay.refused }
    };
    let mut faults = faults(&all, &clean, capacity_is_measured);
    if let Some(end) = window_end
        && f64_of(last - end) + all.drain_seconds >= 0.0
    {
        faults.push(Fault::TooLate);
    }
    Some(Judgement {
        faults,
        all,
        clean,
        at_start: sensitivity(Placement::Start),
        evenly: sensitivity(Placement::Even),
        first_second: first,
        last_second: last,
    })
}

/// Differences of stamps are far below 2^53.
fn f64_of(seconds: i64) -> f64 {
    seconds as f64
}

fn faults(all: &Replay, clean: &Replay, capacity_is_measured: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    if all.delayed_share >= 0.20 && !capacity_is_measured {
        faults.push(Fault::TooManyWait);
    }
    // Where no minute is clean, there is nobody who must not be refused.
    if clean.refused > 0 && clean.refused.saturating_mul(200) >= clean.requests {
        faults.push(Fault::TooManyRefused);
    }
    faults
}

/// The smallest ceiling at which fewer than 20 % wait and fewer than 0.5 % of the clean traffic is refused, whatever is
/// known of the capacity; `None` without recorded seconds, or when not even a million passes.
#[must_use]
pub fn smallest(
    recorded: &Recorded,
    whose: &Whose<'_>,
    machine: Machine,
    limits: &Limits,
    burst_seconds: u64,
) -> Option<u64> {
    const MOST: u64 = 1_000_000;
    if recorded.seconds.is_empty() {
        return None;
    }
    let all = recorded.arrivals(Placement::Jitter, whose, false);
    let clean = recorded.arrivals(Placement::Jitter, whose, true);
    let passes = |rpm: u64| {
        let limits = limits.at(rpm, burst_seconds);
        faults(&machine.replay(&all, &limits), &machine.replay(&clean, &limits), false).is_empty()
    };
    let mut high = limits.max_requests_per_minute.max(1);
    while !passes(high) {
        if high >= MOST {
            return None;
        }
        high = (high * 2).min(MOST);
    }
    // The share that waits falls as the ceiling rises, but for a request here and there.
    let (mut low, mut found) = (0, high);
    while low + 1 < found {
        let middle = low + (found - low) / 2;
        if passes(middle) { found = middle } else { low = middle }
    }
    Some(found)
}

/// A share in per cent.
#[must_use]
pub fn percent(part: usize, whole: usize) -> f64 {
    let count = |n: usize| float(u64::try_from(n).unwrap_or(u64::MAX));
    if whole == 0 { 0.0 } else { 100.0 * count(part) / count(whole) }
}
