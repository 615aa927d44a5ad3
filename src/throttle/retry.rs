//! The one place where retries are allowed or not.
//!
//! Retries are the only thing in a crawler that adds load to an origin in trouble, so they have a budget: a share of
//! the successes, or so many an hour, and a reserve that the plan leaves alone. Nothing above or below may retry as
//! well. Not the wait: see `backoff` and `retry_after`. Example: 900 successes pay for 90 retries, then none until the
//! window ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Failure;
use super::window::{until_window_ends, window_index};

/// What to do with a request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Ask again after the backoff: the retry is paid.
    Retry,
    /// Back to its queue and wait for the host as a whole: it costs nothing.
    Requeue,
    /// Back to its queue for so long: no retry is paid any more, and when the window is over it is asked for like any
    /// other.
    Defer(Duration),
    /// Not again: it is a dead letter.
    DeadLetter,
}

/// Limits of [`RetryBudget`]. The default is 10 % of the successes of an hour, no cap, no reserve, 3 attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryLimits {
    /// Retries in per cent of the successes of the window; none when only the other limits hold.
    pub percent_of_successes: Option<u64>,
    /// Retries in a window, whatever succeeded.
    pub cap: Option<u64>,
    /// Requests in a window that the plan leaves to retries.
    pub reserve: Option<u64>,
    /// The window: an hour, from hour to hour in UTC.
    pub window: Duration,
    /// Failures after which a request is a dead letter; a 429 is none of them.
    pub attempts: u32,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            percent_of_successes: Some(10),
            cap: None,
            reserve: None,
            window: Duration::from_secs(3600),
            attempts: 3,
        }
    }
}

/// The budget and what was spent of it in the current window.
///
/// ```
/// use crawl_baseline::throttle::{Failure, RetryBudget, RetryLimits, Verdict};
/// use std::time::Duration;
///
/// let now = Duration::from_secs(600);
/// let mut budget = RetryBudget::new(RetryLimits::default());
/// (0..10).for_each(|_| budget.succeeded(now));
/// assert_eq!(budget.failed(now, Failure::Denied, 1, false), Verdict::DeadLetter, "a 403 is a verdict");
/// assert_eq!(budget.failed(now, Failure::Unavailable, 1, false), Verdict::Retry, "one for ten successes");
/// assert_eq!(budget.failed(now, Failure::Unavailable, 1, false), Verdict::Defer(Duration::from_secs(3000)));
/// assert_eq!(budget.failed(now, Failure::Unavailable, 1, true), Verdict::Requeue, "the whole host is affected");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryBudget {
    limits: RetryLimits,
    index: u128,
    successes: u64,
    retries: u64,
    /// Spent once, so nothing more until the window ends.
    closed: bool,
}

impl RetryBudget {
    /// Nothing spent yet. A window of zero length is taken as one nanosecond.
    #[must_use]
    pub fn new(limits: RetryLimits) -> Self {
        Self { limits, index: 0, successes: 0, retries: 0, closed: false }
    }

    /// Counts a success: it pays for a part of a retry.
    pub fn succeeded(&mut self, now: Duration) {
        self.roll(now);
        self.successes += 1;
    }

    /// Decides about a failure and pays for the retry if there is one.
    ///
    /// `failures` is how many times this request failed, this one included and 429s not; `host_affected` when
    /// the host as a whole is cooling down or was stopped: then the same request from another worker is no remedy.
    #[must_use = "a retry is paid for when this says so"]
    pub fn failed(&mut self, now: Duration, failure: Failure, failures: u32, host_affected: bool) -> Verdict {
        self.roll(now);
        if !failure.is_retried() || (failure.spends_attempt() && failures >= self.limits.attempts) {
            return Verdict::DeadLetter;
        }
        if host_affected {
            return Verdict::Requeue;
        }
        if self.closed || !self.affords_one() {
            // Before the first success nothing was there to be spent: later successes can still pay.
            self.closed |= self.retries > 0;
            return Verdict::Defer(until_window_ends(now, self.limits.window, self.index));
        }
        self.retries += 1;
        Verdict::Retry
    }

    /// Retries paid in the window of `now`.
    #[must_use]
    pub fn retries(&self, now: Duration) -> u64 {
        if window_index(now, self.limits.window) > self.index { 0 } else { self.retries }
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &RetryLimits {
        &self.limits
    }

    fn affords_one(&self) -> bool {
        let next = self.retries + 1;
        let share = self.limits.percent_of_successes;
        share.is_none_or(|percent| next.saturating_mul(100) <= self.successes.saturating_mul(percent))
            && self.limits.cap.is_none_or(|cap| next <= cap)
            && self.limits.reserve.is_none_or(|reserve| next <= reserve)
    }

    fn roll(&mut self, now: Duration) {
        let index = window_index(now, self.limits.window);
        if index > self.index {
            *self = Self { index, ..Self::new(self.limits) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(7200);

    fn spend(budget: &mut RetryBudget, failure: Failure) -> usize {
        (0..1000).take_while(|_| budget.failed(NOW, failure, 1, false) == Verdict::Retry).count()
    }

    #[test]
    fn nine_hundred_successes_pay_for_ninety_retries_and_then_the_window_is_closed() {
        let mut budget = RetryBudget::new(RetryLimits::default());
        (0..900).for_each(|_| budget.succeeded(NOW));
        assert_eq!(spend(&mut budget, Failure::Unavailable), 90);
        (0..100).for_each(|_| budget.succeeded(NOW));
        assert_eq!(spend(&mut budget, Failure::Unavailable), 0, "later successes do not open it again");
        let next = NOW + Duration::from_secs(3600);
        assert_eq!(budget.retries(next), 0);
        assert_eq!(
            budget.failed(next, Failure::Network, 1, false),
            Verdict::Defer(Duration::from_secs(3600)),
            "nothing succeeded yet in the new window"
        );
        (0..10).for_each(|_| budget.succeeded(next));
        assert_eq!(budget.failed(next, Failure::Network, 1, false), Verdict::Retry);
    }

    #[test]
    fn a_cap_and_a_reserve_hold_beside_the_share() {
        let none = RetryLimits { percent_of_successes: None, ..RetryLimits::default() };
        for (limits, retries) in [
            (RetryLimits { cap: Some(7), ..none }, 7),
            (RetryLimits { reserve: Some(24), ..none }, 24),
            (RetryLimits { cap: Some(7), reserve: Some(3), ..none }, 3),
        ] {
            assert_eq!(spend(&mut RetryBudget::new(limits), Failure::RateLimited), retries);
        }
    }

    #[test]
    fn a_429_never_makes_a_dead_letter_and_the_third_503_does() {
        let limits = RetryLimits { percent_of_successes: None, ..RetryLimits::default() };
        let mut budget = RetryBudget::new(limits);
        assert_eq!(budget.failed(NOW, Failure::RateLimited, 99, false), Verdict::Retry);
        assert_eq!(budget.failed(NOW, Failure::Unavailable, 2, false), Verdict::Retry);
        assert_eq!(budget.failed(NOW, Failure::Unavailable, 3, false), Verdict::DeadLetter);
        for verdict in [Failure::Denied, Failure::ClientError, Failure::ServerError, Failure::Deadline] {
            assert_eq!(budget.failed(NOW, verdict, 1, false), Verdict::DeadLetter, "{verdict}");
        }
        assert_eq!(budget.retries(NOW), 2);
    }
}
