//! One host in a simulation: what waits for it, what it allows, what it did.
//!
//! Pages are named by their rank: 0 is the one with the highest density. Example: lane {3, 7}, picked 0, 1.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::report::HostReport;
use super::traffic::{by_minute, sliding_peak};
use super::{HostSettings, Origin};
use crate::baseline::nearest_rank;
use crate::error::Error;
use crate::throttle::{Admission, Cooldown, DomainBackoff, Fund, LatencyBreaker, TokenBucket};

/// The state of a host.
pub(super) struct Host {
    pub(super) name: String,
    /// Ranks of pages that are due and not picked.
    pub(super) pages: BTreeSet<usize>,
    /// Ranks of prerequisites that are due and not picked.
    pub(super) prerequisites: BTreeSet<usize>,
    /// What was picked for this minute, best first.
    pub(super) picked: VecDeque<(usize, Fund)>,
    /// Pages whose retry is paid for, by when they may be asked again.
    pub(super) retries: BTreeSet<(Duration, usize)>,
    pub(super) pacer: Option<TokenBucket>,
    pub(super) backoff: DomainBackoff,
    pub(super) breaker: LatencyBreaker,
    pub(super) cooldown: Cooldown,
    pub(super) origin: Origin,
    /// It was closed, and its reopening has to be noticed.
    pub(super) was_closed: bool,
    /// When requests started, ascending.
    starts: Vec<Duration>,
    latencies_ms: Vec<u64>,
    pub(super) report: HostReport,
}

impl Host {
    /// `limit` is what the scopes allow it in a minute, `concurrency` the open requests.
    pub(super) fn new(
        name: &str,
        settings: &HostSettings,
        start: Duration,
        limit: Option<u64>,
        concurrency: u64,
    ) -> Result<Self, Error> {
        let mut backoff = DomainBackoff::new(settings.backoff);
        if let Some(delay) = settings.crawl_delay {
            backoff.set_crawl_delay(delay);
        }
        let pacer = settings.pace.map(|pace| TokenBucket::new(pace.rate, pace.burst, start)).transpose()?;
        let origin = Origin::new(settings.origin.clone())?;
        // What a pace allows in a minute, rounded up: 5 in 4 s are 75.
        let paced = settings.pace.map(|pace| {
            let (requests, per) = (u128::from(pace.rate.requests()), pace.rate.per().as_nanos());
            u64::try_from((requests * 60_000_000_000).div_ceil(per)).unwrap_or(u64::MAX)
        });
        let report = HostReport {
            latency_assumed: origin.model().latency.is_assumed(),
            limit_per_minute: limit.into_iter().chain(paced).min(),
            burst: settings.pace.map(|pace| pace.burst),
            concurrency: Some(concurrency),
            ..HostReport::default()
        };
        Ok(Self {
            name: name.to_owned(),
            pages: BTreeSet::new(),
            prerequisites: BTreeSet::new(),
            picked: VecDeque::new(),
            retries: BTreeSet::new(),
            pacer,
            backoff,
            breaker: LatencyBreaker::new(settings.breaker),
            cooldown: settings.cooldown,
            origin,
            was_closed: false,
            starts: Vec::new(),
            latencies_ms: Vec::new(),
            report,
        })
    }

    /// Until when a cooldown after 429 or the breaker closes it; none when it is open.
    pub(super) fn closed_until(&self, now: Duration) -> Option<Duration> {
        let breaker = match self.breaker.check(now) {
            Admission::Go => Duration::ZERO,
            Admission::Wait(left) => now.saturating_add(left),
        };
        let cooling = if self.backoff.is_cooling(now) { self.backoff.ready_at() } else { Duration::ZERO };
        Some(breaker.max(cooling)).filter(|until| *until > now)
    }

    /// When the next request may start: now, or later by cooldown, breaker, crawl-delay and pace.
    pub(super) fn ready_at(&self, now: Duration) -> Duration {
        let paced = match self.pacer.as_ref().map_or(Admission::Go, |pacer| pacer.peek(now)) {
            Admission::Go => now,
            Admission::Wait(wait) => now.saturating_add(wait),
        };
        let closed = self.closed_until(now).unwrap_or(now);
        paced.max(closed).max(self.backoff.ready_at())
    }

    /// The first retry that is due at `now`.
    pub(super) fn due_retry(&self, now: Duration) -> Option<usize> {
        self.retries.first().filter(|(from, _)| *from <= now).map(|(_, rank)| *rank)
    }

    /// Puts what was picked and not started back.
    pub(super) fn return_picked(&mut self, is_prerequisite: impl Fn(usize) -> bool) {
        for (rank, _) in std::mem::take(&mut self.picked) {
            self.queue(rank, is_prerequisite(rank));
        }
    }

    pub(super) fn queue(&mut self, rank: usize, prerequisite: bool) {
        let lane = if prerequisite { &mut self.prerequisites } else { &mut self.pages };
        lane.insert(rank);
    }

    pub(super) fn started(&mut self, now: Duration) {
        if let Some(pacer) = &mut self.pacer {
            let admission = pacer.take(now);
            debug_assert!(admission.is_go(), "a start is asked for only when the pace allows it");
        }
        self.backoff.dispatched(now);
        self.starts.push(now);
    }

    pub(super) fn answered(&mut self, latency: Duration) {
        self.latencies_ms.push(u64::try_from(latency.as_millis()).unwrap_or(u64::MAX));
    }

    /// The figures at the end.
    pub(super) fn finish(mut self) -> (String, HostReport) {
        let minutes = by_minute(&self.starts);
        self.latencies_ms.sort_unstable();
        let report = HostReport {
            requests: u64::try_from(self.starts.len()).unwrap_or(u64::MAX),
            rpm_peak: minutes.last().copied().unwrap_or(0),
            rpm_p95: nearest_rank(0, &minutes, 95),
            requests_per_10s_peak: sliding_peak(&self.starts, Duration::from_secs(10)),
            requests_per_60s_peak: sliding_peak(&self.starts, Duration::from_secs(60)),
            latency_ms_p50: nearest_rank(0, &self.latencies_ms, 50),
            latency_ms_p95: nearest_rank(0, &self.latencies_ms, 95),
            latency_ms_mean: mean(&self.latencies_ms),
            breaker_trips: self.breaker.trips(),
            ..self.report
        };
        (self.name, report)
    }
}

/// To six decimals: more would not survive being written and read back.
fn mean(values: &[u64]) -> Option<f64> {
    let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
    (!values.is_empty()).then(|| (mean * 1e6).round() / 1e6)
}
