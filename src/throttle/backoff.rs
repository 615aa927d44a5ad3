//! Waits after a failure, each from a draw in `[0, 1)`.
//!
//! Three policies: decorrelated jitter, full jitter (both: Brooker, "Exponential Backoff And Jitter", 2015), and a
//! plain exponential with a little jitter. What a server asks for is in `retry_after`. Example: base 0.5 s, a first
//! draw of 0.622 901 695: decorrelated jitter waits 1.12 s.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::random::between;
use super::rate::from_seconds;

/// `min(cap, uniform(base, previous * 3))`; the first `previous` is `base`.
///
/// A success does not reset `previous`: the spread stays as wide as the pressure was, so there is no call for one.
///
/// ```
/// use crawl_baseline::throttle::DecorrelatedJitter;
/// use std::time::Duration;
///
/// let mut backoff = DecorrelatedJitter::new(Duration::from_millis(500), Duration::from_secs(60));
/// assert_eq!(backoff.next(0.5), Duration::from_secs(1)); // between 0.5 and 1.5
/// assert_eq!(backoff.next(0.5), Duration::from_millis(1750)); // between 0.5 and 3
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecorrelatedJitter {
    base: f64,
    cap: f64,
    previous: f64,
}

impl DecorrelatedJitter {
    /// A fresh one: nothing failed yet.
    #[must_use]
    pub fn new(base: Duration, cap: Duration) -> Self {
        Self { base: base.as_secs_f64(), cap: cap.as_secs_f64(), previous: base.as_secs_f64() }
    }

    /// The wait after one more failure.
    #[must_use = "the wait is drawn once"]
    pub fn next(&mut self, draw: f64) -> Duration {
        self.previous = between(self.base, self.previous * 3.0, draw).min(self.cap);
        from_seconds(self.previous)
    }
}

/// `uniform(0, min(cap, base * 2^failures))`: needs no state between attempts.
///
/// ```
/// use crawl_baseline::throttle::FullJitter;
/// use std::time::Duration;
///
/// let backoff = FullJitter { base: Duration::from_secs(2), cap: Duration::from_secs(60) };
/// assert_eq!(backoff.wait(0, 0.5), Duration::from_secs(1));
/// assert_eq!(backoff.wait(3, 0.5), Duration::from_secs(8));
/// assert_eq!(backoff.wait(90, 0.5), Duration::from_secs(30));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullJitter {
    /// The upper end after the first failure.
    pub base: Duration,
    /// The highest upper end.
    pub cap: Duration,
}

impl FullJitter {
    /// The wait after a failure; `failures` is how many there were before it.
    #[must_use]
    pub fn wait(&self, failures: u32, draw: f64) -> Duration {
        from_seconds(grown(self.base, 2.0, failures, self.cap) * draw)
    }
}

/// `base * multiplier^failures`, at most `cap`, and up to `jitter_range` more: the manifest's keys `base_delay_ms`,
/// `backoff_multiplier` and `jitter_range_ms`.
///
/// ```
/// use crawl_baseline::throttle::ExponentialBackoff;
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let backoff = ExponentialBackoff { base: ms(200), multiplier: 1.5, jitter_range: ms(100), cap: ms(5000) };
/// assert_eq!(backoff.wait(0, 0.0), ms(200));
/// assert_eq!(backoff.wait(2, 0.5), ms(500)); // 450 and half of the jitter
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExponentialBackoff {
    /// The wait after the first failure.
    pub base: Duration,
    /// How much longer each further wait is.
    pub multiplier: f64,
    /// Up to so much is added at random.
    pub jitter_range: Duration,
    /// The longest wait without its jitter.
    pub cap: Duration,
}

impl ExponentialBackoff {
    /// The wait after a failure; `failures` is how many there were before it.
    #[must_use]
    pub fn wait(&self, failures: u32, draw: f64) -> Duration {
        let grown = grown(self.base, self.multiplier, failures, self.cap);
        from_seconds(grown + self.jitter_range.as_secs_f64() * draw)
    }
}

/// `base * multiplier^failures` in seconds, at most `cap`.
pub(super) fn grown(base: Duration, multiplier: f64, failures: u32, cap: Duration) -> f64 {
    // 1.5^2000 is infinite already, and no cap is longer.
    let power = i32::try_from(failures.min(2000)).unwrap_or(2000);
    (base.as_secs_f64() * multiplier.powi(power)).min(cap.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, proptest};

    #[test]
    fn decorrelated_jitter_gives_the_worked_table_from_its_draws() {
        // Six refusals, a success, five refusals, two successes; base 0.5 s, cap 60 s.
        let draws = [
            0.622_901_695,
            0.741_786_989,
            0.795_193_566,
            0.942_450_284,
            0.739_898_575,
            0.922_324_997,
            0.029_005_228,
            0.465_622_654,
            0.943_356_717,
            0.648_974_553,
            0.900_900_492,
        ];
        let mut backoff = DecorrelatedJitter::new(Duration::from_millis(500), Duration::from_secs(60));
        let drawn: Vec<f64> = draws.iter().map(|draw| backoff.next(*draw).as_secs_f64()).collect();
        let text: Vec<String> = drawn.iter().map(|wait| format!("{wait:.2}")).collect();
        assert_eq!(
            text,
            ["1.12", "2.63", "6.37", "18.04", "40.18", "60.00", "5.71", "8.24", "23.34", "45.62", "60.00"]
        );

        let mut waits = drawn.clone();
        waits.extend([0.0; 3]);
        waits.sort_by(f64::total_cmp);
        assert_eq!(format!("{:.2}", waits.iter().sum::<f64>()), "271.26");
        assert_eq!((waits.len(), format!("{:.2}", waits[waits.len() / 2])), (14, "8.24".to_owned()));
    }

    proptest! {
        #[test]
        fn every_wait_keeps_its_bounds(draws in prop::collection::vec(0.0..1.0_f64, 1..50), base in 1_u64..5000, cap in 5000_u64..90_000) {
            let (base, cap) = (Duration::from_millis(base), Duration::from_millis(cap));
            let mut decorrelated = DecorrelatedJitter::new(base, cap);
            let full = FullJitter { base, cap };
            let plain = ExponentialBackoff { base, multiplier: 1.5, jitter_range: Duration::from_millis(100), cap };
            for (failures, draw) in (0..).zip(draws) {
                let wait = decorrelated.next(draw);
                prop_assert!(base <= wait && wait <= cap);
                prop_assert!(full.wait(failures, draw) <= cap);
                let wait = plain.wait(failures, draw);
                prop_assert!(base <= wait && wait <= cap + Duration::from_millis(100));
            }
        }
    }
}
