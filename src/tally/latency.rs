//! Fixed bounds for latencies, so that counts of any logs add up: every millisecond to 16, then eight steps to each
//! doubling. A quantile read from them is at most an eighth too large, and never too small.
//!
//! Example: 0.123 s is counted under 128 ms: the bounds around it are 112, 120, 128, 144.

/// Bounds that are each millisecond: 0 to 16.
const LINEAR: u64 = 16;
/// Steps of each doubling.
const STEPS: u64 = 8;

/// The number of the smallest bound that is no smaller than a latency in microseconds.
#[must_use]
pub(crate) fn bucket(latency_us: u64) -> u16 {
    let ms = latency_us.div_ceil(1000);
    let number = if ms <= LINEAR {
        ms
    } else {
        let doubling = u64::from((ms - 1).ilog2());
        let start = 1 << doubling;
        let step = start / STEPS;
        LINEAR + 1 + (doubling - u64::from(LINEAR.ilog2())) * STEPS + (ms - start - 1) / step
    };
    // 2^64 us are below 2^55 ms: there are fewer than 500 bounds.
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// The bound of that number, in milliseconds.
#[must_use]
pub(crate) fn bound_ms(bucket: u16) -> u64 {
    let number = u64::from(bucket);
    if number <= LINEAR {
        return number;
    }
    let above = number - LINEAR - 1;
    let start = 1_u64 << (above / STEPS + u64::from(LINEAR.ilog2())).min(60);
    start + (above % STEPS + 1) * (start / STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_below_the_latency_and_at_most_an_eighth_above() {
        for us in (0..3_000_000).step_by(37).chain([999, 1000, 1001, 16_000, 16_001, 60_000_000, u64::MAX]) {
            let ms = us.div_ceil(1000);
            let bound = bound_ms(bucket(us));
            assert!(bound >= ms && bound - ms <= ms / 8 + 1, "{us} us under {bound} ms");
            assert_eq!(bucket(bound.saturating_mul(1000).min(u64::MAX - 1000)), bucket(us), "{us}");
        }
        let bounds: Vec<u64> = (0..34).map(bound_ms).collect();
        assert!(bounds.is_sorted() && bounds[15..][..6] == [15, 16, 18, 20, 22, 24], "{bounds:?}");
        assert_eq!(bound_ms(bucket(123_000)), 128);
    }
}
