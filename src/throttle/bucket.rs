//! Token bucket and leaky bucket, by the generic cell rate algorithm in whole numbers.
//!
//! One number is kept, the theoretical arrival time of the next request (ITU-T I.371), in units of a nanosecond
//! divided by the requests of a period: one request is then exactly one period long, and nothing is ever rounded.
//! Example: 353 a minute, a burst of 15: request 16 of a burst waits 169.971 672 ms, the first of them not at all.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rate::from_nanos;
use super::{Admission, Rate};
use crate::error::Error;

/// The state that both buckets share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    rate: Rate,
    /// Tokens when full, at least 1.
    burst: u64,
    /// The theoretical arrival time, nanoseconds times the requests of a period; 0 is a full bucket at any time.
    due: u128,
}

impl Cell {
    fn scaled(&self, time: Duration) -> u128 {
        time.as_nanos() * u128::from(self.rate.requests())
    }

    fn unscaled(&self, span: u128) -> Duration {
        // Rounded up: who waits so long is never early.
        from_nanos(span.div_ceil(u128::from(self.rate.requests())))
    }

    /// When the next request may start, scaled; it can lie in the past.
    fn opens(&self) -> u128 {
        let credit = u128::from(self.burst.saturating_sub(1)).saturating_mul(self.rate.per().as_nanos());
        self.due.saturating_sub(credit)
    }

    fn peek(&self, now: Duration) -> Admission {
        match self.opens().saturating_sub(self.scaled(now)) {
            0 => Admission::Go,
            early => Admission::Wait(self.unscaled(early)),
        }
    }

    fn count(&mut self, start: u128) {
        self.due = self.due.max(start).saturating_add(self.rate.per().as_nanos());
    }

    fn take(&mut self, now: Duration) -> Admission {
        let admission = self.peek(now);
        if admission == Admission::Go {
            self.count(self.scaled(now));
        }
        admission
    }

    fn reserve(&mut self, now: Duration) -> Duration {
        let arrival = self.scaled(now);
        let start = arrival.max(self.opens());
        self.count(start);
        self.unscaled(start - arrival)
    }
}

/// A bucket of `burst` tokens that fills at a rate; every request takes one.
///
/// A new one holds a single token, so that a restarted crawler does not begin with a burst. [`take`](Self::take)
/// refuses and counts nothing when there is no token; [`reserve`](Self::reserve) always takes one and says how long to
/// wait for it. Use one or the other.
///
/// ```
/// use crawl_baseline::throttle::{Admission, Rate, TokenBucket};
/// use std::time::Duration;
///
/// let start = Duration::from_secs(1_000);
/// let mut bucket = TokenBucket::new(Rate::per_minute(30)?, 2, start)?;
/// assert_eq!(bucket.take(start), Admission::Go);
/// assert_eq!(bucket.take(start), Admission::Wait(Duration::from_secs(2)));
/// let later = start + Duration::from_secs(600);
/// assert_eq!(bucket.tokens(later), 2, "never more than the burst");
/// # Ok::<(), crawl_baseline::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenBucket(Cell);

impl TokenBucket {
    /// A bucket that holds one token at `now`.
    ///
    /// # Errors
    ///
    /// A usage error when `burst` is 0.
    pub fn new(rate: Rate, burst: u64, now: Duration) -> Result<Self, Error> {
        let mut bucket = Self::full(rate, burst)?;
        let missing = u128::from(burst - 1).saturating_mul(rate.per().as_nanos());
        bucket.0.due = bucket.0.scaled(now).saturating_add(missing);
        Ok(bucket)
    }

    /// A bucket that is full: a limiter in front of a server, to which every client is new.
    ///
    /// # Errors
    ///
    /// A usage error when `burst` is 0.
    pub fn full(rate: Rate, burst: u64) -> Result<Self, Error> {
        if burst == 0 {
            return Err(Error::usage("burst", "expected at least 1 token, found 0")
                .hint("a bucket of 1 token spaces requests evenly"));
        }
        Ok(Self(Cell { rate, burst, due: 0 }))
    }

    /// Takes a token if there is one; else says when there will be, and takes none.
    pub fn take(&mut self, now: Duration) -> Admission {
        self.0.take(now)
    }

    /// What [`take`](Self::take) would say.
    pub fn peek(&self, now: Duration) -> Admission {
        self.0.peek(now)
    }

    /// Takes the next token, now or in the future: the request starts after the wait that is returned. Requests start
    /// in the order in which they reserve.
    #[must_use = "the request starts after this wait"]
    pub fn reserve(&mut self, now: Duration) -> Duration {
        self.0.reserve(now)
    }

    /// Whole tokens at `now`, 0 to the burst.
    #[must_use]
    pub fn tokens(&self, now: Duration) -> u64 {
        let owed = self.0.due.saturating_sub(self.0.scaled(now)).div_ceil(self.0.rate.per().as_nanos());
        self.0.burst.saturating_sub(u64::try_from(owed).unwrap_or(u64::MAX))
    }
}

/// A bucket that lets one request through in each interval: no bursts at all. The first one passes at once.
///
/// ```
/// use crawl_baseline::throttle::{LeakyBucket, Rate};
/// use std::time::Duration;
///
/// let mut bucket = LeakyBucket::new(Rate::per_minute(60)?);
/// let now = Duration::from_secs(5);
/// assert_eq!(bucket.reserve(now), Duration::ZERO);
/// assert_eq!(bucket.reserve(now), Duration::from_secs(1));
/// assert_eq!(bucket.reserve(now), Duration::from_secs(2));
/// # Ok::<(), crawl_baseline::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakyBucket(Cell);

impl LeakyBucket {
    /// An empty bucket.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self(Cell { rate, burst: 1, due: 0 })
    }

    /// Lets the request through, or says how long until one can be, and counts nothing.
    pub fn take(&mut self, now: Duration) -> Admission {
        self.0.take(now)
    }

    /// What [`take`](Self::take) would say.
    pub fn peek(&self, now: Duration) -> Admission {
        self.0.peek(now)
    }

    /// Queues the request: it starts after the wait that is returned.
    #[must_use = "the request starts after this wait"]
    pub fn reserve(&mut self, now: Duration) -> Duration {
        self.0.reserve(now)
    }
}
