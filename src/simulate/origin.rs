//! An origin that answers: latency by load, a rate limit, a capacity.
//!
//! It does not fetch anything. Example: 120 ms up to 300 requests a minute and 500 ms at 600: 310 ms at 450.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::throttle::{Admission, LeakyBucket, Rate, TokenBucket};

/// How an origin behaves. The default knows nothing: 200 ms at any load, no limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OriginModel {
    /// Latency by load.
    pub latency: LatencyCurve,
    /// Requests per minute that it serves; more of them queue.
    pub capacity_per_minute: Option<u64>,
    /// Its own limit: what is above is answered 429 with a Retry-After.
    pub limit: Option<OriginLimit>,
    /// Share of requests that are answered 503, 0 to 1.
    pub unavailable_share: f64,
    /// Requests per minute that others send: they count as load.
    pub background_per_minute: u64,
}

/// A token bucket in front of an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginLimit {
    /// Requests per minute.
    pub requests_per_minute: u64,
    /// Requests at once.
    pub burst: u64,
}

/// Latency by load: linear between its points, flat beyond them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyCurve {
    /// (requests per minute, median milliseconds), ascending.
    points: Vec<(f64, f64)>,
    /// Nothing was measured.
    assumed: bool,
}

/// What is taken where no latency was logged.
const ASSUMED_MS: f64 = 200.0;

impl Default for LatencyCurve {
    fn default() -> Self {
        Self { points: vec![(0.0, ASSUMED_MS)], assumed: true }
    }
}

impl LatencyCurve {
    /// A curve through the medians of load bins, `(requests per minute, milliseconds)`, in any order; of bins with the
    /// same load the slower one counts. Bins that hold no number are left out; without any, 200 ms are assumed.
    ///
    /// ```
    /// use crawl_baseline::simulate::LatencyCurve;
    /// use std::time::Duration;
    ///
    /// let curve = LatencyCurve::of_bins(&[(300.0, 120.0), (600.0, 500.0)]);
    /// assert_eq!(curve.at(450.0), Duration::from_millis(310));
    /// assert_eq!(curve.at(10.0), Duration::from_millis(120));
    /// assert_eq!(curve.at(9000.0), Duration::from_millis(500));
    /// assert!(LatencyCurve::of_bins(&[]).is_assumed());
    /// ```
    #[must_use]
    pub fn of_bins(bins: &[(f64, f64)]) -> Self {
        let usable = |(load, ms): &&(f64, f64)| load.is_finite() && ms.is_finite() && *ms >= 0.0;
        let mut points: Vec<(f64, f64)> = bins.iter().filter(usable).copied().collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        points.dedup_by(|later, kept| later.0.total_cmp(&kept.0).is_eq());
        if points.is_empty() { Self::default() } else { Self { points, assumed: false } }
    }

    /// The same latency at any load.
    #[must_use]
    pub fn flat(latency: Duration) -> Self {
        Self::of_bins(&[(0.0, latency.as_secs_f64() * 1000.0)])
    }

    /// Whether nothing was measured.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// The latency at a load in requests per minute.
    #[must_use]
    pub fn at(&self, load: f64) -> Duration {
        let above = self.points.iter().position(|(at, _)| *at >= load);
        let ms = match above {
            None => self.points.last().map_or(ASSUMED_MS, |(_, ms)| *ms),
            Some(0) => self.points[0].1,
            Some(i) => {
                let ((x0, y0), (x1, y1)) = (self.points[i - 1], self.points[i]);
                y0 + (y1 - y0) * (load - x0) / (x1 - x0)
            }
        };
        Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default()
    }
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// 200, 429 or 503.
    pub status: u16,
    /// From the request to the answer.
    pub latency: Duration,
    /// With a 429: how long to wait, whole seconds as a header has them.
    pub retry_after: Option<Duration>,
}

/// An origin at work.
///
/// ```
/// use crawl_baseline::simulate::{Origin, OriginLimit, OriginModel};
/// use std::time::Duration;
///
/// let limit = Some(OriginLimit { requests_per_minute: 60, burst: 1 });
/// let mut origin = Origin::new(OriginModel { limit, ..OriginModel::default() })?;
/// let now = Duration::from_secs(10);
/// assert_eq!(origin.ask(now, 0.5).status, 200);
/// let refused = origin.ask(now, 0.5);
/// assert_eq!((refused.status, refused.retry_after), (429, Some(Duration::from_secs(1))));
/// # Ok::<(), crawl_baseline::error::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Origin {
    model: OriginModel,
    limiter: Option<TokenBucket>,
    capacity: Option<LeakyBucket>,
    /// When the requests of the last minute came.
    recent: VecDeque<Duration>,
}

impl Origin {
    /// An idle origin.
    ///
    /// # Errors
    ///
    /// A usage error when the limit, its burst or the capacity is 0.
    pub fn new(model: OriginModel) -> Result<Self, Error> {
        let limiter = match model.limit {
            Some(limit) => {
                Some(TokenBucket::full(Rate::per_minute(limit.requests_per_minute)?, limit.burst)?)
            }
            None => None,
        };
        let capacity = model.capacity_per_minute.map(Rate::per_minute).transpose()?.map(LeakyBucket::new);
        Ok(Self { model, limiter, capacity, recent: VecDeque::new() })
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &OriginModel {
        &self.model
    }

    /// Answers a request that comes at `now`; times may not go back. `draw` in `[0, 1)` decides about the 503s.
    pub fn ask(&mut self, now: Duration, draw: f64) -> Answer {
        while self.recent.front().is_some_and(|first| now.saturating_sub(*first) >= Duration::from_secs(60)) {
            self.recent.pop_front();
        }
        if let Some(limiter) = &mut self.limiter
            && let Admission::Wait(wait) = limiter.take(now)
        {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            let latency = self.model.latency.at(0.0);
            return Answer { status: 429, latency, retry_after: Some(Duration::from_secs(seconds)) };
        }
        self.recent.push_back(now);
        let load = self.recent.len() as f64 + self.model.background_per_minute as f64;
        let queued = self.capacity.as_mut().map_or(Duration::ZERO, |capacity| capacity.reserve(now));
        let status = if draw < self.model.unavailable_share { 503 } else { 200 };
        Answer { status, latency: self.model.latency.at(load).saturating_add(queued), retry_after: None }
    }
}
