//! The latency breaker: a host that got slow is left alone for a while.
//!
//! Slowness is a signal to stop, not to open more connections. Not errors: see `retry`. Example: four responses in a
//! row above twice the median of the last hundred stop the host.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Admission;

/// When to stop and for how long. The default is 4 responses in a row above 2 times the median of the last 100,
/// judged from 10 responses on, and a pause of a minute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BreakerLimits {
    /// Slow responses in a row.
    pub consecutive: usize,
    /// A response is slow above so many times the median.
    pub factor: f64,
    /// Responses that the median is taken over.
    pub window: usize,
    /// Responses before which nothing is judged: the median of two is no measure.
    pub least: usize,
    /// How long the host is left alone.
    pub cooldown: Duration,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        Self { consecutive: 4, factor: 2.0, window: 100, least: 10, cooldown: Duration::from_secs(60) }
    }
}

/// The breaker of one host.
///
/// A streak of slow responses is compared with the median of what came before it, and joins the window when it is
/// over: a host that stays slow becomes the new measure instead of tripping for ever.
///
/// ```
/// use crawl_baseline::throttle::{Admission, BreakerLimits, LatencyBreaker};
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let mut breaker = LatencyBreaker::new(BreakerLimits::default());
/// for i in 0..10 {
///     assert!(!breaker.observe(ms(i * 100), ms(84)));
/// }
/// let tripped: Vec<bool> = (0..4).map(|_| breaker.observe(ms(9_000), ms(1_900))).collect();
/// assert_eq!(tripped, [false, false, false, true]);
/// assert_eq!(breaker.check(ms(10_000)), Admission::Wait(ms(59_000)));
/// assert_eq!(breaker.check(ms(69_000)), Admission::Go);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyBreaker {
    limits: BreakerLimits,
    /// The last latencies, oldest first.
    recent: VecDeque<Duration>,
    streak: Vec<Duration>,
    open_until: Duration,
    trips: u64,
}

impl LatencyBreaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(limits: BreakerLimits) -> Self {
        Self { limits, recent: VecDeque::new(), streak: Vec::new(), open_until: Duration::ZERO, trips: 0 }
    }

    /// Takes in a response that no cache gave; true when it stops the host. Lower the host's concurrency by one then.
    pub fn observe(&mut self, now: Duration, latency: Duration) -> bool {
        if now < self.open_until {
            // Was in flight when it tripped: it tells nothing about the host after the pause.
            self.remember(latency);
            return false;
        }
        let median = self.median().filter(|_| self.recent.len() >= self.limits.least);
        let slow = median.is_some_and(|m| latency.as_secs_f64() > m.as_secs_f64() * self.limits.factor);
        if !slow {
            self.end_streak();
            self.remember(latency);
            return false;
        }
        self.streak.push(latency);
        if self.streak.len() < self.limits.consecutive {
            return false;
        }
        self.end_streak();
        self.trips += 1;
        self.open_until = now.saturating_add(self.limits.cooldown);
        true
    }

    /// Whether the host may be asked. The end of the pause is the only thing that opens it again: no trial request.
    pub fn check(&self, now: Duration) -> Admission {
        match self.open_until.saturating_sub(now) {
            Duration::ZERO => Admission::Go,
            left => Admission::Wait(left),
        }
    }

    /// How many times it has tripped.
    #[must_use]
    pub fn trips(&self) -> u64 {
        self.trips
    }

    /// The median (the lower of two) that responses are compared with; none before the first.
    #[must_use]
    pub fn median(&self) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied()
    }

    fn end_streak(&mut self) {
        for latency in std::mem::take(&mut self.streak) {
            self.remember(latency);
        }
    }

    fn remember(&mut self, latency: Duration) {
        self.recent.push_back(latency);
        while self.recent.len() > self.limits.window {
            self.recent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// The responses (in order) at which a breaker trips, one response a minute.
    fn trips(latencies: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut breaker = LatencyBreaker::new(BreakerLimits::default());
        (0..)
            .zip(latencies)
            .filter(|(i, latency)| breaker.observe(Duration::from_secs(i * 60), ms(*latency)))
            .map(|(i, _)| i)
            .collect()
    }

    #[test]
    fn one_fast_response_in_between_starts_the_count_again() {
        let normal = [100; 20];
        assert_eq!(trips(normal.into_iter().chain([201, 201, 201, 201])), [23]);
        assert_eq!(trips(normal.into_iter().chain([201, 201, 201, 200, 201, 201, 201])), Vec::<u64>::new());
        assert_eq!(
            trips(normal.into_iter().chain([200, 200, 200, 200])),
            Vec::<u64>::new(),
            "twice the median is not above it"
        );
        assert_eq!(trips([5, 200, 200, 200, 200, 200]), Vec::<u64>::new(), "too few to know");
    }

    #[test]
    fn a_host_that_stays_slow_becomes_the_measure() {
        let tripped = trips([100; 100].into_iter().chain([900; 200]));
        // The median turns once half of the last 100 are slow: 52 slow responses in streaks of four.
        assert_eq!(tripped.first(), Some(&103));
        assert!(tripped.iter().all(|i| *i < 160), "{tripped:?}");
    }

    #[test]
    fn answers_that_were_in_flight_do_not_lengthen_the_pause() {
        let mut breaker = LatencyBreaker::new(BreakerLimits::default());
        (0..20).for_each(|_| assert!(!breaker.observe(ms(0), ms(100))));
        let tripped = (0..12).filter(|_| breaker.observe(ms(1000), ms(900))).count();
        assert_eq!((tripped, breaker.trips()), (1, 1));
        assert_eq!(breaker.check(ms(1000)), Admission::Wait(ms(60_000)));
        let after = (0..4).map(|_| breaker.observe(ms(61_000), ms(1900))).collect::<Vec<_>>();
        assert_eq!(after, [false, false, false, true], "the count begins anew after the pause");
    }
}
