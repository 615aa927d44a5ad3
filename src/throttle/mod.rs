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
//!
//! Example: 60 requests a minute through a bucket of one token: the second request of an instant waits 1 s.

mod backoff;
mod bucket;
mod delay;
mod limit_req;
mod random;
mod rate;
mod retry_after;
mod scope;
mod window;

#[cfg(test)]
mod replay_tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use backoff::{DecorrelatedJitter, ExponentialBackoff, FullJitter};
pub use bucket::{LeakyBucket, TokenBucket};
pub use delay::{AdaptiveDelay, is_cache_hit};
pub use limit_req::{LimitReq, LimitReqVerdict};
pub use random::SplitMix64;
pub use rate::Rate;
pub use retry_after::{Cooldown, Refusal, RetryAfter};
pub use scope::{Denied, Exhausted, Fund, HostLimits, Limits, Party, Scope, Scopes};
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
