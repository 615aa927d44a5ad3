//! The pause that grows with the origin's response time.
//!
//! `base_delay + multiplier x last response time + jitter`, at most `max_delay`, never less than `base_delay`. Example:
//! base 200 ms, multiplier 0.5, a response in 1.2 s: 800 ms before the next request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rate::from_seconds;

/// Settings and the last response time of one host. The default is 200 ms, half the response time, jitter of 100 ms,
/// at most 5 s.
///
/// ```
/// use crawl_baseline::throttle::AdaptiveDelay;
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let mut delay = AdaptiveDelay::default();
/// assert_eq!(delay.next(0.0), ms(200), "nothing is known yet");
/// delay.observe(ms(1200), false);
/// assert_eq!(delay.next(0.0), ms(800));
/// delay.observe(ms(4), true);
/// assert_eq!(delay.next(0.0), ms(300), "a cached answer counts as the base delay, not as a fast origin");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveDelay {
    /// The least pause.
    pub base_delay: Duration,
    /// Share of the last response time that is added.
    pub response_time_multiplier: f64,
    /// Up to so much is added at random.
    pub jitter_range: Duration,
    /// The longest pause, unless `base_delay` is longer.
    pub max_delay: Duration,
    /// What the last answer counts as; none before the first.
    last: Option<Duration>,
}

impl Default for AdaptiveDelay {
    fn default() -> Self {
        Self::new(Duration::from_millis(200), 0.5, Duration::from_millis(100), Duration::from_secs(5))
    }
}

impl AdaptiveDelay {
    /// Nothing observed yet.
    #[must_use]
    pub fn new(
        base_delay: Duration,
        response_time_multiplier: f64,
        jitter_range: Duration,
        max_delay: Duration,
    ) -> Self {
        Self { base_delay, response_time_multiplier, jitter_range, max_delay, last: None }
    }

    /// Takes in the response time of an answer; `cached` when a cache gave it (see [`is_cache_hit`]).
    pub fn observe(&mut self, response_time: Duration, cached: bool) {
        self.last = Some(if cached { self.base_delay } else { response_time });
    }

    /// The pause before the next request; `draw` in `[0, 1)` places the jitter.
    #[must_use]
    pub fn next(&self, draw: f64) -> Duration {
        let response = self.last.unwrap_or_default().as_secs_f64();
        let grown = self.base_delay.as_secs_f64()
            + self.response_time_multiplier * response
            + self.jitter_range.as_secs_f64() * draw;
        from_seconds(grown).min(self.max_delay).max(self.base_delay)
    }
}

/// Whether the value of an `X-Cache` header says that a cache answered: the word `hit` in any case. A `RefreshHit`
/// asked the origin and is none.
///
/// ```
/// use crawl_baseline::throttle::is_cache_hit;
/// assert!(is_cache_hit("HIT"));
/// assert!(is_cache_hit("Hit from cloudfront"));
/// assert!(is_cache_hit("TCP_MEM_HIT"));
/// assert!(is_cache_hit("MISS, HIT"));
/// assert!(!is_cache_hit("MISS"));
/// assert!(!is_cache_hit("RefreshHit from cloudfront"));
/// ```
#[must_use]
pub fn is_cache_hit(x_cache: &str) -> bool {
    x_cache.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.eq_ignore_ascii_case("hit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_between_the_base_and_the_longest_pause() {
        let ms = Duration::from_millis;
        let mut delay = AdaptiveDelay::default();
        delay.observe(ms(60_000), false);
        assert_eq!(delay.next(0.9), ms(5000));
        // A crawl-delay above the longest pause is still kept.
        let slow = AdaptiveDelay { base_delay: ms(10_000), ..AdaptiveDelay::default() };
        assert_eq!(slow.next(0.9), ms(10_000));
        assert_eq!(AdaptiveDelay::default().next(0.5), ms(250));
        let broken = AdaptiveDelay { response_time_multiplier: f64::NAN, ..delay };
        assert_eq!(broken.next(0.0), ms(200));
    }
}
