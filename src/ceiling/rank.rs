//! Order statistics and their confidence bounds. No distribution is assumed, no value is interpolated.
//!
//! Example: the 95 % nearest rank of `[1, 2, 3, 4]` is 4, their lower median 2.

use super::policy::Policy;

/// The smallest value with at least `percent` % of the sample at or below it; `None` of nothing.
///
/// `sorted` is ascending.
pub(super) fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (percent * sorted.len()).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// [`nearest_rank`] of values in any order.
pub(super) fn rank_of(values: impl IntoIterator<Item = u64>, percent: usize) -> Option<u64> {
    let mut sorted: Vec<u64> = values.into_iter().collect();
    sorted.sort_unstable();
    nearest_rank(&sorted, percent)
}

/// The lower confidence bound of the demand quantile: what the quantile surely reaches.
///
/// The rank is binomial with mean `nq` and variance `nq(1-q)`; shrinks to the smallest value on thin data.
pub(super) fn surely_reached(mut values: Vec<u64>, policy: &Policy) -> Option<u64> {
    values.sort_unstable();
    let (n, q, z) = (count(values.len()), policy.demand_quantile, policy.confidence_z);
    let rank = whole((n * q - z * (n * q * (1.0 - q)).sqrt()).floor());
    values.get(rank.max(1) - 1).copied()
}

/// The upper confidence bound of the same quantile: what it surely does not pass.
pub(super) fn surely_not_passed(mut values: Vec<u64>, policy: &Policy) -> Option<u64> {
    values.sort_unstable();
    let (n, q, z) = (count(values.len()), policy.demand_quantile, policy.confidence_z);
    let rank = whole((n * q + z * (n * q * (1.0 - q)).sqrt()).ceil());
    values.get(rank.min(values.len()).max(1) - 1).copied()
}

/// The share of the sample below `x`, equals counted half: 0 to 1. `sorted` is ascending and not empty.
pub(super) fn mid_rank(x: u64, sorted: &[u64]) -> f64 {
    let below = sorted.partition_point(|v| *v < x);
    let equal = sorted.partition_point(|v| *v <= x) - below;
    (count(below) + 0.5 * count(equal)) / count(sorted.len())
}

/// The lower Wilson bound of the proportion `hits / total`; 0 without a total.
pub(super) fn wilson_lower(hits: u64, total: u64, z: f64) -> f64 {
    if total == 0 {
        return 0.0;
    }
    let (k, n) = (float(hits), float(total));
    let p = k / n;
    (p + z * z / (2.0 * n) - z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt()) / (1.0 + z * z / n)
}

/// Rounds half to even at so many decimals, as the shortest text of that many digits does.
pub(super) fn rounded(x: f64, decimals: usize) -> f64 {
    format!("{x:.decimals$}").parse().unwrap_or(x)
}

/// A count as a float; exact below 2^53.
pub(super) fn float(n: u64) -> f64 {
    n as f64
}

fn count(n: usize) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks are whole; below 1 becomes 0"
)]
fn whole(rank: f64) -> usize {
    rank.max(0.0) as usize
}

/// A non-negative whole float as an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "floored, and below 2^63 for any rate"
)]
pub(super) fn floor(x: f64) -> u64 {
    x.floor().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_at_most_one_rank_below_the_smallest_value_on_thin_data() {
        let policy = Policy::default();
        assert_eq!(surely_reached(vec![9], &policy), Some(9));
        assert_eq!(surely_reached(vec![], &policy), None);
        assert_eq!(surely_reached((1..=10).collect(), &policy), Some(8));
        assert_eq!(surely_not_passed((1..=10).collect(), &policy), Some(10));
        assert_eq!(surely_reached((1..=1000).collect(), &policy), Some(938));
        assert_eq!(surely_not_passed((1..=1000).collect(), &policy), Some(962));
    }

    #[test]
    fn ranks_are_values_of_the_sample() {
        assert_eq!(nearest_rank(&[1, 2, 3, 4], 50), Some(2));
        assert_eq!(nearest_rank(&[1, 2, 3, 4], 95), Some(4));
        assert_eq!(nearest_rank(&[7], 0), Some(7));
        assert_eq!(nearest_rank::<u64>(&[], 50), None);
    }

    #[test]
    fn equals_count_half() {
        assert!((mid_rank(5, &[1, 5, 5, 9]) - 0.5).abs() < 1e-12);
        assert!((mid_rank(10, &[1, 5]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn rounding_takes_the_exact_value_and_halves_to_even() {
        for (x, decimals, expected) in [(0.25, 1, 0.2), (0.75, 1, 0.8), (0.8125, 3, 0.812), (2.675, 2, 2.67)]
        {
            assert!((rounded(x, decimals) - expected).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn a_measured_hit_ratio_is_believed_by_its_lower_bound() {
        let bound = wilson_lower(800, 1000, 1.645);
        assert!(bound > 0.778 && bound < 0.779, "{bound}");
        assert!(wilson_lower(0, 0, 1.645).abs() < 1e-12);
    }
}
