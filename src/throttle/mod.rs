//! Machines that decide when a request may go: no clock, no sleep, no socket.
//!
//! Every call takes `now` and says what to do and how long to wait. Whoever drives them owns the clock: the simulator
//! a virtual one, a crawler a real one. `now` is the time since the Unix epoch (`SystemTime::now()` less
//! `UNIX_EPOCH`), because budgets by minute, hour and day are those of UTC; a clock that is set back never frees a
//! budget. Randomness is a draw in `[0, 1)` that the caller passes, see [`SplitMix64`]. All state can be written and
//! read back with serde.
//!
//! Which one for what:
//!
//! | question | machine |
//! | --- | --- |
//! | how fast to one host | [`TokenBucket`], [`LeakyBucket`] |
//! | what would that server's limiter do | [`LimitReq`], [`SlidingLog`], [`FixedWindow`] |
//! | how much in a minute, an hour, a day | [`Scopes`] |
//! | how long after an answer | [`AdaptiveDelay`] |
//! | how long after a failure | [`Cooldown`] with [`RetryAfter`]; [`DecorrelatedJitter`], [`FullJitter`], [`ExponentialBackoff`] |
//! | whether to ask again at all | [`RetryBudget`] |
//! | whether the host got slow | [`LatencyBreaker`] |
//! | how many at once | [`Slots`], watched by [`InFlightRatio`] |
//! | whether we are banned | [`BanWatch`] |
//! | which request is next | [`Queue`]; [`Domains`] where a few hosts answer 429 |
//! | how often a page is worth a visit | [`revisit`] |
//!
//! Example: 60 requests a minute through a bucket of one token: the second request of an instant waits 1 s.

mod backoff;
mod ban;
mod breaker;
mod bucket;
mod delay;
mod domain_backoff;
mod domains;
mod failure;
mod limit_req;
mod queue;
mod random;
mod rate;
mod retry;
mod retry_after;
mod scope;
mod slots;
mod volatility;
mod window;

#[cfg(test)]
mod domain_tests;
#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod replay_tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use backoff::{DecorrelatedJitter, ExponentialBackoff, FullJitter};
pub use ban::{Ban, BanLimits, BanWatch};
pub use breaker::{BreakerLimits, LatencyBreaker};
pub use bucket::{LeakyBucket, TokenBucket};
pub use delay::{AdaptiveDelay, is_cache_hit};
pub use domain_backoff::{BackoffLimits, DomainBackoff};
pub use domains::{Domains, Next, Stalled, Ticket};
pub use failure::Failure;
pub use limit_req::{LimitReq, LimitReqVerdict};
pub use queue::{DeadLetter, Item, Queue, Turn};
pub use random::SplitMix64;
pub use rate::Rate;
pub use retry::{RetryBudget, RetryLimits, Verdict};
pub use retry_after::{Cooldown, Refusal, RetryAfter};
pub use scope::{Denied, Exhausted, Fund, HostLimits, Limits, Party, Scope, Scopes};
pub use slots::{Backlog, Full, InFlightRatio, Slots};
pub use volatility::{Revisit, Tier, revisit};
pub use window::{FixedWindow, SlidingLog};

/// The answer of a machine that is asked whether a request may go now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub enum Admission {
    /// Send it; it has been counted.
    Go,
    /// Do not send it; it has not been counted. Ask again after so long.
    Wait(Duration),
}

impl Admission {
    /// Whether the request may go.
    #[must_use]
    pub fn is_go(self) -> bool {
        self == Self::Go
    }
}
