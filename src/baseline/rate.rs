//! Requests per minute and sliding windows of one series: peaks, nearest-rank percentiles, means.
//!
//! Works on sparse minutes and seconds; minutes without requests enter as a number, never as a list. Example: 10
//! active minutes of 10 requests in 60 covered ones: peak 10, p50_active 10, p50_all 0, mean_all 1.667.

use serde::{Deserialize, Serialize};

use super::coverage::Covered;
use crate::tally::table::MinuteRow;

/// How many peak minutes are listed.
const PEAK_MINUTES_LISTED: usize = 50;

/// Requests in UTC minutes of the logged stamp.
///
/// `active`: over minutes with at least one request; `all`: over all covered minutes. A partial minute can be the peak
/// and is active, but is left out of percentiles and the mean; these are `null` where no minute is left.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Rpm {
    /// The busiest minute.
    pub peak: u64,
    /// The first 50 minutes with that many requests, `2015-05-18T10:05Z`.
    pub peak_minutes: Vec<String>,
    /// How many there are.
    pub peak_minutes_count: u64,
    /// Nearest rank over active minutes.
    pub p50_active: Option<u64>,
    /// Nearest rank over active minutes.
    pub p95_active: Option<u64>,
    /// Nearest rank over active minutes.
    pub p99_active: Option<u64>,
    /// Nearest rank over covered minutes.
    pub p50_all: Option<u64>,
    /// Nearest rank over covered minutes.
    pub p95_all: Option<u64>,
    /// Nearest rank over covered minutes.
    pub p99_all: Option<u64>,
    /// Over covered minutes, to six decimals.
    pub mean_all: Option<f64>,
    /// Minutes with at least one request.
    pub active_minutes: u64,
}

impl Rpm {
    /// The figures of (minute, requests) in any order; the same minute may stand there several times and is summed.
    pub(super) fn of(minutes: Vec<(i64, u64)>, covered: &Covered) -> Self {
        let minutes = summed(minutes);
        let peak = minutes.iter().map(|(_, n)| *n).max().unwrap_or(0);
        let peaks = || minutes.iter().filter(|(_, n)| *n == peak).map(|(m, _)| *m);
        let mut whole: Vec<u64> =
            minutes.iter().filter(|(m, _)| !covered.is_partial(*m)).map(|(_, n)| *n).collect();
        whole.sort_unstable();
        // Every active minute is covered by definition; should a source say less, it is not divided by less.
        let zeros = covered.minutes().saturating_sub(count(whole.len()));
        let all = zeros + count(whole.len());
        let sum: u64 = whole.iter().sum();
        Self {
            peak,
            peak_minutes: peaks().take(PEAK_MINUTES_LISTED).map(minute_text).collect(),
            peak_minutes_count: count(peaks().count()),
            p50_active: nearest_rank(0, &whole, 50),
            p95_active: nearest_rank(0, &whole, 95),
            p99_active: nearest_rank(0, &whole, 99),
            p50_all: nearest_rank(zeros, &whole, 50),
            p95_all: nearest_rank(zeros, &whole, 95),
            p99_all: nearest_rank(zeros, &whole, 99),
            mean_all: ratio(sum, all),
            active_minutes: count(minutes.len()),
        }
    }
}

/// The value at rank `ceil(percent / 100 * n)` of `zeros` zeros followed by `sorted`; `None` of nothing.
///
/// ```
/// use crawl_baseline::baseline::nearest_rank;
/// assert_eq!(nearest_rank(0, &[1, 2, 3, 4], 50), Some(2));
/// assert_eq!(nearest_rank(9, &[7], 90), Some(0));
/// assert_eq!(nearest_rank(9, &[7], 91), Some(7));
/// ```
#[must_use]
pub fn nearest_rank(zeros: u64, sorted: &[u64], percent: u8) -> Option<u64> {
    let n = u128::from(zeros) + u128::from(count(sorted.len()));
    let rank = (n * u128::from(percent)).div_ceil(100).max(1);
    match rank.checked_sub(u128::from(zeros) + 1) {
        None => Some(0),
        Some(index) => sorted.get(usize::try_from(index).ok()?).copied(),
    }
}

/// The most requests in any 1, 10 and 60 consecutive seconds, across the borders of minutes and sources.
pub(super) fn sliding_peaks(rows: &[&MinuteRow]) -> [u64; 3] {
    let seconds = by_second(rows);
    let mut peaks = [0; 3];
    // One pass for the three widths: the list is longer than the cache, and each look at it waits for memory.
    let (mut inside, mut from) = ([0; 3], [0; 3]);
    for (second, n) in &seconds {
        peaks[0] = peaks[0].max(*n);
        for (at, width) in [(1, 10), (2, 60)] {
            inside[at] += n;
            while seconds[from[at]].0 <= second - width {
                inside[at] -= seconds[from[at]].1;
                from[at] += 1;
            }
            peaks[at] = peaks[at].max(inside[at]);
        }
    }
    peaks
}

/// The seconds that have requests, ascending, each once. By minutes, because all bots of a host together have as many
/// seconds as requests, and to sort those took 4 % of the samples in a profile of 1 GB of log.
fn by_second(rows: &[&MinuteRow]) -> Vec<(i64, u64)> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.minute);
    let mut seconds = Vec::new();
    for of_minute in rows.chunk_by(|a, b| a.minute == b.minute) {
        let mut counts = [0_u64; 60];
        for (second, n) in of_minute.iter().flat_map(|row| &row.seconds) {
            counts[usize::from(*second).min(59)] += n;
        }
        let start = of_minute[0].minute.saturating_mul(60);
        seconds.extend((start..).zip(counts).filter(|(_, n)| *n > 0));
    }
    seconds
}

/// Ascending by key, one entry for each.
pub(super) fn summed(mut entries: Vec<(i64, u64)>) -> Vec<(i64, u64)> {
    // Stable, because it merges the sorted runs that rows of many days and bots come in: 12 % less time for the whole
    // baseline of 4 million minute rows than `sort_unstable`.
    entries.sort();
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    entries
}

/// `part / whole` to six decimals; `None` of nothing.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e6).round() / 1e6)
}

/// `2015-05-18T10:05Z`; the number itself where no calendar reaches.
pub(super) fn minute_text(minute: i64) -> String {
    calendar(minute.saturating_mul(60), "%Y-%m-%dT%H:%MZ")
}

/// `2015-05-18T10:05:00Z`; the number itself where no calendar reaches.
pub(super) fn second_text(epoch: i64) -> String {
    calendar(epoch, "%Y-%m-%dT%H:%M:%SZ")
}

fn calendar(epoch: i64, form: &str) -> String {
    chrono::DateTime::from_timestamp(epoch, 0)
        .map_or_else(|| epoch.to_string(), |t| t.format(form).to_string())
}

pub(super) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tally::table::Coverage;

    fn covered(minutes: i64, partial: &[i64]) -> Covered {
        let dates = [Coverage { date: 0, first: 0, last: minutes * 60 - 1 }];
        Covered::new([dates.as_slice()], partial.iter().copied().collect::<BTreeSet<_>>())
    }

    fn row(minute: i64, seconds: &[(u8, u64)]) -> MinuteRow {
        let requests = seconds.iter().map(|s| s.1).sum();
        MinuteRow { minute, requests, seconds: seconds.to_vec(), ..MinuteRow::default() }
    }

    #[test]
    fn a_bot_that_is_silent_for_fifty_of_sixty_minutes_has_both_kinds_of_percentile() {
        let rpm = Rpm::of((0..10).map(|i| (i * 6, 10)).collect(), &covered(60, &[]));
        assert_eq!((rpm.peak, rpm.peak_minutes_count, rpm.active_minutes), (10, 10, 10));
        assert_eq!((rpm.p50_active, rpm.p95_active, rpm.p99_active), (Some(10), Some(10), Some(10)));
        assert_eq!((rpm.p50_all, rpm.p95_all, rpm.p99_all), (Some(0), Some(10), Some(10)));
        assert_eq!(rpm.mean_all, Some(1.666_667));
        assert_eq!(rpm.peak_minutes[..2], ["1970-01-01T00:00Z", "1970-01-01T00:06Z"]);
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        // 1..=20 over 20 active minutes of 40: ranks 10, 19, 20 and 20, 38, 40 behind 20 zeros.
        let rpm = Rpm::of((0..20_i64).map(|i| (i, 1 + i.unsigned_abs())).collect(), &covered(40, &[]));
        assert_eq!((rpm.p50_active, rpm.p95_active, rpm.p99_active), (Some(10), Some(19), Some(20)));
        assert_eq!((rpm.p50_all, rpm.p95_all, rpm.p99_all), (Some(0), Some(18), Some(20)));
        assert_eq!(rpm.mean_all, Some(5.25));
    }

    #[test]
    fn the_same_minute_of_two_sources_is_one_minute() {
        let rpm = Rpm::of(vec![(3, 40), (1, 50), (3, 30)], &covered(4, &[]));
        assert_eq!((rpm.peak, rpm.active_minutes), (70, 2));
        assert_eq!(rpm.peak_minutes, ["1970-01-01T00:03Z"]);
    }

    #[test]
    fn a_partial_minute_may_be_the_peak_but_enters_no_percentile() {
        let rpm = Rpm::of(vec![(0, 2), (1, 4), (2, 9)], &covered(3, &[2]));
        assert_eq!((rpm.peak, rpm.active_minutes), (9, 3));
        assert_eq!((rpm.p50_active, rpm.p99_active, rpm.p99_all), (Some(2), Some(4), Some(4)));
        assert_eq!(rpm.mean_all, Some(3.0));
        let only = Rpm::of(vec![(0, 9)], &covered(1, &[0]));
        assert_eq!((only.peak, only.p50_active, only.mean_all), (9, None, None));
    }

    #[test]
    fn fifty_peak_minutes_are_listed_and_all_are_counted() {
        let rpm = Rpm::of((0..120).map(|m| (m, 1)).collect(), &covered(120, &[]));
        assert_eq!((rpm.peak_minutes.len(), rpm.peak_minutes_count), (50, 120));
        assert_eq!(rpm.peak_minutes[49], "1970-01-01T00:49Z");
    }

    #[test]
    fn a_burst_of_one_second_is_the_peak_of_all_windows() {
        let burst = row(7, &[(30, 60)]);
        assert_eq!(sliding_peaks(&[&burst]), [60, 60, 60]);
    }

    #[test]
    fn sliding_windows_see_what_the_minute_border_cuts() {
        // 40 requests in 45..59 and 40 in 00..14 of the next minute, two or three a second.
        let spread = |from: u8| (0..15).map(|i| (from + i, if i < 10 { 3 } else { 2 })).collect::<Vec<_>>();
        let (a, b) = (row(360, &spread(45)), row(361, &spread(0)));
        assert_eq!(sliding_peaks(&[&b, &a])[2], 80);
        // Ten seconds: 30 at most (45..54 or 00..09).
        assert_eq!(sliding_peaks(&[&a, &b])[1], 30);
    }

    #[test]
    fn a_window_of_ten_seconds_holds_ten_seconds() {
        let r = row(0, &[(0, 5), (9, 1), (10, 1), (59, 2)]);
        let next = row(1, &[(0, 4)]);
        assert_eq!(sliding_peaks(&[&r]), [5, 6, 9]);
        // Second 60 no longer shares a window of sixty with second 0.
        assert_eq!(sliding_peaks(&[&r, &next]), [5, 6, 9]);
        assert_eq!(sliding_peaks(&[]), [0, 0, 0]);
    }

    #[test]
    fn the_same_second_of_two_sources_is_summed() {
        let (a, b) = (row(0, &[(1, 5)]), row(0, &[(1, 5), (2, 1)]));
        assert_eq!(sliding_peaks(&[&a, &b]), [10, 11, 11]);
    }
}
