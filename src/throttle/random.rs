//! A small portable random source: the same draws on every machine, in every language, from a seed.
//!
//! The machines of this module take no source, they take a draw in `[0, 1)`; this is where simulations and tests get
//! theirs. Not for secrets. Example: the seed 1234567 gives 6457827717110365317 first.

use serde::{Deserialize, Serialize};

/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
///
/// ```
/// use crawl_baseline::throttle::SplitMix64;
/// let mut source = SplitMix64::new(7);
/// let draw = source.uniform();
/// assert!((0.0..1.0).contains(&draw));
/// assert_eq!(SplitMix64::new(7).uniform().to_bits(), draw.to_bits());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream that spreads the requests of one bot on one host inside one logged second: the seed is the FNV-1a
    /// 64 of host, NUL, bot, NUL and the epoch second in decimal, so it depends on no file, order or thread.
    #[must_use]
    pub fn of_second(host: &str, bot: &str, epoch_second: i64) -> Self {
        let second = epoch_second.to_string();
        let parts = [host.as_bytes(), b"\0", bot.as_bytes(), b"\0", second.as_bytes()];
        let hash = parts.iter().flat_map(|part| part.iter()).fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Self::new(hash)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The next number in `[0, 1)`: the upper 53 bits.
    pub fn uniform(&mut self) -> f64 {
        // Both are below 2^53 and exact.
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A point between two bounds, at `draw` of the way.
pub(super) fn between(low: f64, high: f64, draw: f64) -> f64 {
    low + (high - low) * draw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_stream() {
        // The test vector that goes around with the algorithm.
        let mut source = SplitMix64::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| source.next_u64()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn seeds_a_second_by_host_bot_and_second() {
        let source = SplitMix64::of_second("www.example.com", "Googlebot", 1_767_571_200);
        assert_eq!(source.state, 0x88cc_3e8b_d65e_c985);
    }
}
