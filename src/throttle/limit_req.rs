//! nginx's `limit_req`, in its own integers, to replay what a server that runs it would do.
//!
//! Rates are thousandths of a request per second and the clock has milliseconds, both truncated, as in
//! `ngx_http_limit_req_module`. Not for pacing a crawler: see `bucket`. Example: `rate=53r/m burst=8 nodelay` stores
//! 883, which is 52.98 requests a minute, and lets nine through at once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReqVerdict {
    /// At once.
    Pass,
    /// After so long; it is counted.
    Delay(Duration),
    /// `limit_req_status`; it is not counted.
    Refuse,
}

/// One key of a `limit_req` zone.
///
/// ```
/// use crawl_baseline::throttle::{LimitReq, LimitReqVerdict};
/// use std::time::Duration;
///
/// let mut key = LimitReq::per_minute(60, 2)?.nodelay();
/// let passed = (0..20).filter(|i| key.take(Duration::from_millis(*i)) != LimitReqVerdict::Refuse).count();
/// assert_eq!(passed, 3, "burst=2 lets three through");
/// # Ok::<(), crawl_baseline::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReq {
    /// Thousandths of a request per second.
    rate: i64,
    /// `burst`, in thousandths.
    burst: i64,
    /// `delay`, in thousandths; none is `nodelay`.
    delay: Option<i64>,
    /// Thousandths above the rate.
    excess: i64,
    /// Milliseconds of the last request that was counted; none before the first.
    last: Option<i64>,
}

/// Numbers above this overflow nginx's own 32 bits.
const MOST: u64 = 1_000_000;

impl LimitReq {
    /// `rate=<requests>r/m burst=<burst>`; requests above the rate are delayed, as with neither `delay` nor `nodelay`.
    ///
    /// # Errors
    ///
    /// A usage error unless there are 1 to a million requests and the burst is at most a million.
    pub fn per_minute(requests: u64, burst: u64) -> Result<Self, Error> {
        Self::new(requests, 60, burst)
    }

    /// `rate=<requests>r/s burst=<burst>`.
    ///
    /// # Errors
    ///
    /// A usage error unless there are 1 to a million requests and the burst is at most a million.
    pub fn per_second(requests: u64, burst: u64) -> Result<Self, Error> {
        Self::new(requests, 1, burst)
    }

    fn new(requests: u64, seconds: i64, burst: u64) -> Result<Self, Error> {
        let thousandths = |n: u64| i64::try_from(n * 1000).unwrap_or(i64::MAX);
        if requests == 0 || requests > MOST || burst > MOST {
            return Err(Error::usage(
                "limit_req",
                format_args!(
                    "expected 1 to {MOST} requests and a burst up to {MOST}, found {requests} and {burst}"
                ),
            ));
        }
        let rate = thousandths(requests) / seconds;
        Ok(Self { rate, burst: thousandths(burst), delay: Some(0), excess: 0, last: None })
    }

    /// `nodelay`: what is let through is let through at once.
    #[must_use]
    pub fn nodelay(mut self) -> Self {
        self.delay = None;
        self
    }

    /// `delay=<requests>`: only what is above so many is delayed.
    #[must_use]
    pub fn delay(mut self, requests: u32) -> Self {
        self.delay = Some(i64::from(requests) * 1000);
        self
    }

    /// The rate as nginx stores it: thousandths of a request per second.
    #[must_use]
    pub fn stored_rate(&self) -> u64 {
        self.rate.unsigned_abs()
    }

    /// Decides about a request at `now`.
    pub fn take(&mut self, now: Duration) -> LimitReqVerdict {
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let Some(last) = self.last else {
            self.last = Some(now);
            return LimitReqVerdict::Pass;
        };
        // A clock that was set back by more than a minute counts as one millisecond, by less as none.
        let elapsed = match now.saturating_sub(last) {
            ms if ms < -60_000 => 1,
            ms => ms.max(0),
        };
        let refilled = self.rate.saturating_mul(elapsed) / 1000;
        let excess = self.excess.saturating_sub(refilled).saturating_add(1000).max(0);
        if excess > self.burst {
            return LimitReqVerdict::Refuse;
        }
        self.excess = excess;
        if elapsed > 0 {
            self.last = Some(now);
        }
        match self.delay {
            Some(delay) if excess > delay => {
                let ms = (excess - delay) * 1000 / self.rate.max(1);
                LimitReqVerdict::Delay(Duration::from_millis(ms.unsigned_abs()))
            }
            _ => LimitReqVerdict::Pass,
        }
    }
}
