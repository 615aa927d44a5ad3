//! How fast one host was asked: minutes, sliding windows.
//!
//! Example: 60 requests at 12:00:59 and 60 at 12:01:00: a peak of 60 a minute, 120 in sliding 60 s.

use std::time::Duration;

/// The most times in any half-open span of that length; `times` ascend.
pub(super) fn sliding_peak(times: &[Duration], span: Duration) -> u64 {
    let (mut first, mut peak) = (0, 0);
    for (i, time) in times.iter().enumerate() {
        while time.saturating_sub(times[first]) >= span {
            first += 1;
        }
        peak = peak.max(i + 1 - first);
    }
    u64::try_from(peak).unwrap_or(u64::MAX)
}

/// Requests of each calendar minute that has any, ascending by number.
pub(super) fn by_minute(times: &[Duration]) -> Vec<u64> {
    let mut counts: Vec<u64> = times
        .chunk_by(|a, b| a.as_secs() / 60 == b.as_secs() / 60)
        .map(|minute| u64::try_from(minute.len()).unwrap_or(u64::MAX))
        .collect();
    counts.sort_unstable();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_across_a_minute_border_shows_in_the_sliding_window_only() {
        let times: Vec<Duration> = [59; 60].into_iter().chain([60; 60]).map(Duration::from_secs).collect();
        assert_eq!(by_minute(&times), [60, 60]);
        assert_eq!(sliding_peak(&times, Duration::from_secs(60)), 120);
        assert_eq!(sliding_peak(&times, Duration::from_secs(1)), 60);
        assert_eq!(sliding_peak(&[], Duration::from_secs(10)), 0);
    }
}
