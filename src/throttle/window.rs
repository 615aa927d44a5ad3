//! Counters over windows: a sliding log and a fixed window, as other limiters have them.
//!
//! Both let the whole quota through at once; the buckets do not. Example: 60 in the last 30 s of a minute and 60 in
//! the first 30 s of the next: a fixed window of 60 refuses none of them, a sliding log 60.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Admission;

/// At most `limit` requests in any span of `window`, exact: the time of every request in it is kept.
///
/// ```
/// use crawl_baseline::throttle::{Admission, SlidingLog};
/// use std::time::Duration;
///
/// let s = Duration::from_secs;
/// let mut log = SlidingLog::new(1, s(60));
/// assert_eq!(log.take(s(50)), Admission::Go);
/// assert_eq!(log.take(s(70)), Admission::Wait(s(40)));
/// assert_eq!(log.take(s(110)), Admission::Go);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlidingLog {
    limit: u64,
    window: Duration,
    /// Times of the requests in the window, ascending.
    times: VecDeque<Duration>,
}

impl SlidingLog {
    /// A limit of 0 lets nothing through.
    #[must_use]
    pub fn new(limit: u64, window: Duration) -> Self {
        Self { limit, window, times: VecDeque::new() }
    }

    /// Counts the request, or says how long until it fits and counts nothing. `Wait(Duration::MAX)` is never.
    ///
    /// A clock that was set back stands still until it has caught up.
    pub fn take(&mut self, now: Duration) -> Admission {
        let now = self.times.back().map_or(now, |last| now.max(*last));
        while self.times.front().is_some_and(|first| now.saturating_sub(*first) >= self.window) {
            self.times.pop_front();
        }
        if u64::try_from(self.times.len()).unwrap_or(u64::MAX) < self.limit {
            self.times.push_back(now);
            return Admission::Go;
        }
        Admission::Wait(
            self.times.front().map_or(Duration::MAX, |first| (*first + self.window).saturating_sub(now)),
        )
    }
}

/// At most `limit` requests in each window; windows begin at multiples of their length since the epoch, so that
/// minutes, hours and days are those of UTC.
///
/// ```
/// use crawl_baseline::throttle::{Admission, FixedWindow};
/// use std::time::Duration;
///
/// let s = Duration::from_secs;
/// let mut minute = FixedWindow::new(1, s(60));
/// assert_eq!(minute.take(s(119)), Admission::Go);
/// assert_eq!(minute.take(s(119)), Admission::Wait(s(1)));
/// assert_eq!(minute.take(s(120)), Admission::Go, "the next minute has its own quota");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedWindow {
    limit: u64,
    window: Duration,
    index: u128,
    spent: u64,
}

impl FixedWindow {
    /// A limit of 0 lets nothing through; a window of zero length is taken as one nanosecond.
    #[must_use]
    pub fn new(limit: u64, window: Duration) -> Self {
        Self { limit, window: window.max(Duration::from_nanos(1)), index: 0, spent: 0 }
    }

    /// Counts the request, or says how long until the next window and counts nothing. `Wait(Duration::MAX)` is never.
    ///
    /// A clock that was set back does not give the quota of an earlier window again.
    pub fn take(&mut self, now: Duration) -> Admission {
        let index = window_index(now, self.window);
        if index > self.index {
            self.index = index;
            self.spent = 0;
        }
        if self.spent < self.limit {
            self.spent += 1;
            return Admission::Go;
        }
        Admission::Wait(if self.limit == 0 {
            Duration::MAX
        } else {
            until_window_ends(now, self.window, self.index)
        })
    }
}

/// The number of the window that a time is in.
pub(super) fn window_index(now: Duration, window: Duration) -> u128 {
    now.as_nanos() / window.as_nanos().max(1)
}

/// The time left in the window of that number.
pub(super) fn until_window_ends(now: Duration, window: Duration, index: u128) -> Duration {
    super::rate::from_nanos(
        (index + 1).saturating_mul(window.as_nanos().max(1)).saturating_sub(now.as_nanos()),
    )
}
