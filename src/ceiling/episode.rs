//! Episodes: minutes close together that are one event, and how long an event stands as evidence.
//!
//! Not what the minutes mean: the same for 429 and for overload. Example: minutes 10, 11, 16 and 30 are two episodes.

use serde::Serialize;

use super::minute::{DAY, date_of, dates_of};
use super::policy::Policy;

/// First and last minute of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Span {
    /// Its length in seconds, both minutes whole.
    pub(super) fn seconds(self) -> u64 {
        u64::try_from(60 * (self.end - self.start + 1)).unwrap_or(0)
    }
}

/// How much a limit that was seen still binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nothing was seen.
    None,
    /// Repeated: stands for the whole evidence window.
    Established,
    /// Seen once: stands for a week.
    Provisional,
    /// The week is over: the limit is probed.
    Expired,
}

impl Standing {
    /// Of episodes, in any order; `needed` of them establish a limit.
    pub(super) fn of(episodes: &[Span], window_to: i64, needed: usize, policy: &Policy) -> Self {
        let mut starts: Vec<i64> = episodes.iter().map(|e| e.start).collect();
        starts.sort_unstable();
        if episodes.len() >= needed && dates_of(starts) >= policy.standing_dates {
            return Self::Established;
        }
        match episodes.iter().map(|e| e.end).max() {
            Some(last) if window_to - last <= policy.provisional_days * DAY => Self::Provisional,
            Some(_) => Self::Expired,
            None => Self::None,
        }
    }
}

/// Cuts ascending rows into episodes: a new one after every gap longer than the policy's.
pub(super) fn episodes<'r, T>(rows: &'r [T], policy: &Policy, minute: impl Fn(&T) -> i64) -> Vec<&'r [T]> {
    rows.chunk_by(|a, b| minute(b) - minute(a) <= policy.episode_gap_minutes).collect()
}

/// Whether two minutes fall on one UTC date.
pub(super) fn same_date(a: i64, b: i64) -> bool {
    date_of(a) == date_of(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_minutes_apart_is_one_episode_and_six_are_two() {
        let minutes = [10, 11, 16, 22];
        let cut: Vec<Vec<i64>> =
            episodes(&minutes, &Policy::default(), |m| *m).into_iter().map(<[i64]>::to_vec).collect();
        assert_eq!(cut, [vec![10, 11, 16], vec![22]]);
    }

    #[test]
    fn one_episode_counts_for_a_week_and_three_on_two_dates_stand() {
        let policy = Policy::default();
        let at = |m| Span { start: m, end: m };
        assert_eq!(Standing::of(&[at(0)], 7 * DAY, 3, &policy), Standing::Provisional);
        assert_eq!(Standing::of(&[at(0)], 7 * DAY + 1, 3, &policy), Standing::Expired);
        assert_eq!(Standing::of(&[at(0), at(100), at(200)], 9 * DAY, 3, &policy), Standing::Expired);
        assert_eq!(Standing::of(&[at(0), at(100), at(DAY)], 80 * DAY, 3, &policy), Standing::Established);
        assert_eq!(Standing::of(&[], 0, 3, &policy), Standing::None);
    }
}
