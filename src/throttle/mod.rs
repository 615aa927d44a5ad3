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
//!
//! A crawler puts them together like this. Here `now` is a variable and the origin a list of answers; with a real clock
//! and a real socket, `now +=` is a sleep and nothing else changes.
//!
//! ```
//! use std::time::Duration;
//!
//! use crawl_baseline::throttle::{
//!     BreakerLimits, Cooldown, Failure, Fund, Item, LatencyBreaker, Limits, Party, Queue, Rate, Refusal, RetryAfter,
//!     RetryBudget, RetryLimits, Scopes, Slots, SplitMix64, TokenBucket, Turn, Verdict,
//! };
//!
//! let mut now = Duration::from_secs(1_791_460_800);
//! let mut queue = Queue::new(Turn::LongestWait);
//! for n in 1..=4 {
//!     queue.push(now, Item::new(&format!("https://a.example/p/{n}"), "a.example", "reader"));
//! }
//! let limits = Limits { host_per_minute: Some(30), global_per_hour: Some(260), retry_reserve: Some(24), ..Limits::default() };
//! let mut scopes = Scopes::new(limits)?;
//! let mut pace = TokenBucket::new(Rate::per_minute(30)?, 2, now)?;
//! let mut slots = Slots::new(20, 3);
//! let mut breaker = LatencyBreaker::new(BreakerLimits::default());
//! let mut budget = RetryBudget::new(RetryLimits { percent_of_successes: Some(100), ..RetryLimits::default() });
//! let (cooldown, mut draws) = (Cooldown::default(), SplitMix64::new(1));
//! let mut origin = [(200, None), (429, Some("7")), (200, None), (503, None), (200, None), (200, None)].into_iter();
//! let mut sent = 0;
//!
//! while !queue.is_empty() {
//!     // A host that its breaker has stopped is passed over, and nothing holds a slot while it waits.
//!     let open = |host: &str| breaker.check(now).is_go() && slots.check(host).is_ok();
//!     let Some((ticket, item)) = queue.take(now, "reader", open) else {
//!         now = queue.next_ready("reader").expect("something waits out a backoff").max(now + Duration::from_secs(1));
//!         continue;
//!     };
//!     now += pace.reserve(now);
//!     let party = Party { host: &item.host, credential: None, identity: Some("reader") };
//!     let fund = if item.attempts > 0 { Fund::Retry } else { Fund::Plan };
//!     if let Err(denied) = scopes.take(now, party, fund) {
//!         // A hard stop: back into the queue until the scope that binds has room again.
//!         queue.failed(now, ticket, Failure::RateLimited, Verdict::Requeue, denied.binding().wait);
//!         continue;
//!     }
//!     slots.acquire(&item.host).expect("it was free a moment ago");
//!     let (status, retry_after) = origin.next().expect("an answer");
//!     sent += 1;
//!     let latency = Duration::from_millis(120);
//!     now += latency;
//!     slots.release(&item.host);
//!     if breaker.observe(now, latency) {
//!         slots.lower(&item.host);
//!     }
//!     let Some(failure) = Failure::of_status(status) else {
//!         budget.succeeded(now);
//!         queue.done(ticket);
//!         continue;
//!     };
//!     let hint = retry_after.and_then(|value| RetryAfter::parse(value, now));
//!     let refusal = if status == 429 { Refusal::Limited(hint) } else { Refusal::Failed };
//!     let wait = cooldown.wait(now, item.attempts, refusal, draws.uniform()).unwrap_or(cooldown.max);
//!     let verdict = budget.failed(now, failure, item.attempts + u32::from(failure.spends_attempt()), false);
//!     if let Some(dead) = queue.failed(now, ticket, failure, verdict, wait) {
//!         println!("given up: {} ({})", dead.item.key, dead.failure);
//!     }
//!     // What a crash must not lose; read back, everything in flight is queued again.
//!     let _saved = serde_json::to_string(&(&queue, &scopes, &pace, &budget, &breaker))?;
//! }
//! assert_eq!((sent, queue.dead_letters().len()), (6, 0));
//! assert!(now >= Duration::from_secs(1_791_460_800 + 7), "no request before the Retry-After was over");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
#[cfg(test)]
mod state_tests;

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
