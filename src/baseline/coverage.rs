//! Which minutes were observed: between the first and last record of a source's date, and over midnight.
//!
//! Kept as ranges: a stray stamp must not make years of empty minutes, and nothing here costs memory per minute.
//! Example: a log with records from 06:25:10 to 06:27:02 covers three minutes.

use std::collections::BTreeSet;

use crate::tally::table::Coverage;

const DAY_SECONDS: i64 = 86_400;

/// The covered minutes of several sources, without the partial ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Covered {
    /// First and last minute, both included; ascending, neither overlapping nor touching.
    ranges: Vec<(i64, i64)>,
    partial: BTreeSet<i64>,
    minutes: u64,
}

impl Covered {
    /// The union over sources. Each source is its list of dates, in any order; `partial` are the last minutes of logs
    /// that were still being written: they are observed only in part and count as not covered.
    ///
    /// Between two dates of one source the minutes are covered when its records are at most 24 h apart. Between two
    /// sources they are not: the log in between may be missing.
    #[must_use]
    pub fn new<'a>(sources: impl IntoIterator<Item = &'a [Coverage]>, partial: BTreeSet<i64>) -> Self {
        let mut all: Vec<(i64, i64)> = Vec::new();
        for source in sources {
            let mut dates: Vec<_> = source.iter().map(|c| (c.first, c.last.max(c.first))).collect();
            dates.sort_unstable();
            let mut before: Option<i64> = None;
            for (first, last) in dates {
                let bridged = before.filter(|b| first - b <= DAY_SECONDS).map_or(first, |b| b.min(first));
                all.push((bridged.div_euclid(60), last.div_euclid(60)));
                before = Some(last);
            }
        }
        all.sort_unstable();
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for (first, last) in all {
            match ranges.last_mut() {
                Some(range) if first <= range.1.saturating_add(1) => range.1 = range.1.max(last),
                _ => ranges.push((first, last)),
            }
        }
        let mut covered = Self { ranges, partial, minutes: 0 };
        let whole: u64 = covered.ranges.iter().map(|(a, b)| b.abs_diff(*a) + 1).sum();
        let cut = covered.partial.iter().filter(|m| covered.in_a_range(**m)).count();
        covered.minutes = whole.saturating_sub(u64::try_from(cut).unwrap_or(u64::MAX));
        covered
    }

    /// How many minutes were observed from their first to their last second.
    #[must_use]
    pub fn minutes(&self) -> u64 {
        self.minutes
    }

    /// Whether this minute was observed only in part.
    #[must_use]
    pub fn is_partial(&self, minute: i64) -> bool {
        self.partial.contains(&minute)
    }

    fn in_a_range(&self, minute: i64) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= minute);
        after > 0 && minute <= self.ranges[after - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIDNIGHT: i64 = 20_000 * DAY_SECONDS;

    fn date(first: i64, last: i64) -> Coverage {
        let first = MIDNIGHT + first;
        Coverage { date: i32::try_from(first.div_euclid(DAY_SECONDS)).unwrap(), first, last: MIDNIGHT + last }
    }

    fn minutes(sources: &[&[Coverage]]) -> u64 {
        Covered::new(sources.iter().copied(), BTreeSet::new()).minutes()
    }

    #[test]
    fn minutes_from_the_first_to_the_last_record_of_a_date_are_covered_both_included() {
        assert_eq!(minutes(&[&[date(70, 130)]]), 2);
        assert_eq!(minutes(&[&[date(59, 60)]]), 2);
        assert_eq!(minutes(&[&[date(5, 5)]]), 1);
        assert_eq!(minutes(&[]), 0);
    }

    #[test]
    fn two_dates_of_one_source_join_when_at_most_a_day_lies_between() {
        // 23:00 to 01:00 of the next date: 121 minutes; the first record alone and the second alone are two.
        assert_eq!(minutes(&[&[date(-3600, -3600), date(3600, 3600)]]), 121);
        assert_eq!(minutes(&[&[date(0, 0), date(DAY_SECONDS, DAY_SECONDS)]]), 1441);
        assert_eq!(minutes(&[&[date(0, 0), date(DAY_SECONDS + 1, DAY_SECONDS + 1)]]), 2);
        assert_eq!(minutes(&[&[date(3600, 3600), date(-3600, -3600)]]), 121, "in any order");
    }

    #[test]
    fn a_stray_stamp_of_years_ago_covers_its_own_minute_only() {
        assert_eq!(minutes(&[&[date(-11 * 365 * DAY_SECONDS, -11 * 365 * DAY_SECONDS), date(0, 599)]]), 11);
    }

    #[test]
    fn sources_are_united_but_the_gap_between_them_stays_unknown() {
        let (a, b, c) = ([date(0, 300)], [date(240, 600)], [date(1200, 1260)]);
        assert_eq!(minutes(&[&a, &b, &c]), 13);
        assert_eq!(minutes(&[&c, &b, &a, &a]), 13);
    }

    #[test]
    fn a_partial_minute_is_not_covered_and_counts_once() {
        let partial = BTreeSet::from([MIDNIGHT / 60 + 5, MIDNIGHT / 60 + 500]);
        let covered = Covered::new([[date(0, 359)].as_slice()], partial);
        assert_eq!(covered.minutes(), 5);
        assert!(covered.is_partial(MIDNIGHT / 60 + 5));
    }
}
