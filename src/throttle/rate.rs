//! A rate as a whole number of requests per period, so that buckets count exactly.
//!
//! Not a limiter: see `bucket`. Example: 53 requests per 60 s, one every 1.132 s.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The most requests that a [`Rate`] can hold.
const MOST: u64 = 1_000_000_000;

/// The longest period: with it and [`MOST`], a time in units of one nanosecond's share fits 128 bits for any clock.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// So many requests in each period; both positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Rate {
    requests: u64,
    per: Duration,
}

/// A rate as it is stored.
#[derive(Serialize, Deserialize)]
struct Parts {
    requests: u64,
    per: Duration,
}

impl Rate {
    /// `requests` in each `per`.
    ///
    /// # Errors
    ///
    /// A usage error unless there are 1 to 10^9 requests and the period is above zero and at most 366 days.
    pub fn new(requests: u64, per: Duration) -> Result<Self, Error> {
        if requests == 0 || requests > MOST {
            return Err(Error::usage(
                "rate",
                format_args!("expected 1 to {MOST} requests per period, found {requests}"),
            ));
        }
        if per.is_zero() || per > LONGEST {
            return Err(Error::usage(
                "rate",
                format_args!("expected a period above zero and up to {LONGEST:?}, found {per:?}"),
            ));
        }
        Ok(Self { requests, per })
    }

    /// `requests` in each minute.
    ///
    /// # Errors
    ///
    /// A usage error unless there are 1 to 10^9 requests.
    ///
    /// ```
    /// use crawl_baseline::throttle::Rate;
    /// use std::time::Duration;
    /// assert_eq!(Rate::per_minute(60)?.interval(), Duration::from_secs(1));
    /// assert!(Rate::per_minute(0).is_err());
    /// # Ok::<(), crawl_baseline::error::Error>(())
    /// ```
    pub fn per_minute(requests: u64) -> Result<Self, Error> {
        Self::new(requests, Duration::from_secs(60))
    }

    /// Requests in each period.
    #[must_use]
    pub fn requests(self) -> u64 {
        self.requests
    }

    /// The period.
    #[must_use]
    pub fn per(self) -> Duration {
        self.per
    }

    /// The time between two requests at this rate, rounded up to a nanosecond.
    #[must_use]
    pub fn interval(self) -> Duration {
        from_nanos(self.per.as_nanos().div_ceil(u128::from(self.requests)))
    }
}

impl TryFrom<Parts> for Rate {
    type Error = Error;

    fn try_from(parts: Parts) -> Result<Self, Error> {
        Self::new(parts.requests, parts.per)
    }
}

impl From<Rate> for Parts {
    fn from(rate: Rate) -> Self {
        Self { requests: rate.requests, per: rate.per }
    }
}

/// `53 per 60s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per {:?}", self.requests, self.per)
    }
}

/// Nanoseconds as a duration; the longest one where they do not fit.
pub(super) fn from_nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    match (u64::try_from(nanos / SECOND), u32::try_from(nanos % SECOND)) {
        (Ok(seconds), Ok(rest)) => Duration::new(seconds, rest),
        _ => Duration::MAX,
    }
}

/// Seconds as a duration: zero for negative ones and what is no number, the longest one where they do not fit.
pub(super) fn from_seconds(seconds: f64) -> Duration {
    if seconds > 0.0 { Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) } else { Duration::ZERO }
}
