//! The minutes of one bot in a compact form: ascending rows beside one list of seconds.
//!
//! Ninety days of a busy bot are 130,000 rows of 56 bytes; the seconds of a minute cost four bytes each and are kept
//! for the clean window only. Example: minute 29459520 with 3 requests, two of them in second 7.

use super::minute::BotMinute;

const COUNT_BITS: u32 = 26;

/// One second of a minute and its requests, in four bytes; the count saturates at 67 million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Second(u32);

impl Second {
    fn new(at: u8, requests: u64) -> Self {
        let count = u32::try_from(requests).unwrap_or(u32::MAX).min((1 << COUNT_BITS) - 1);
        Self(u32::from(at.min(59)) << COUNT_BITS | count)
    }

    /// 0 to 59.
    pub(super) fn at(self) -> u8 {
        u8::try_from(self.0 >> COUNT_BITS).unwrap_or(59)
    }

    pub(super) fn requests(self) -> u64 {
        u64::from(self.0 & ((1 << COUNT_BITS) - 1))
    }
}

/// Rows in the order of their minutes, once [`Series::sort`] was called.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    pub(super) rows: Vec<BotMinute>,
    seconds: Vec<Second>,
    unsorted: bool,
}

impl Series {
    /// Adds a minute. The seconds are (second, requests), ascending; with `keep` or a 429 they stay, else only what
    /// follows from them.
    pub(super) fn push(&mut self, mut row: BotMinute, seconds: &[(u8, u64)], keep: bool) {
        if let [(first, _), ..] = seconds {
            row.first_second = *first;
            row.last_second = seconds.last().map_or(*first, |(last, _)| *last);
        }
        let largest = seconds.iter().map(|(_, n)| *n).max().unwrap_or(0);
        row.second_max = row.second_max.max(u32::try_from(largest).unwrap_or(u32::MAX));
        // Four billion seconds are more than any memory holds; should it happen, only the burst suffers.
        let keep = (keep || row.n429 > 0) && u32::try_from(self.seconds.len() + seconds.len()).is_ok();
        row.seconds_from = u32::try_from(self.seconds.len()).unwrap_or(u32::MAX);
        row.seconds = 0;
        if keep {
            self.seconds.extend(seconds.iter().map(|(at, n)| Second::new(*at, *n)));
            row.seconds = u8::try_from(seconds.len()).unwrap_or(60);
        }
        self.append(row);
    }

    fn append(&mut self, row: BotMinute) {
        self.unsorted |= self.rows.last().is_some_and(|last| last.minute >= row.minute);
        self.rows.push(row);
    }

    /// The seconds of one of its rows.
    pub(super) fn seconds_of(&self, row: &BotMinute) -> &[Second] {
        let from = usize::try_from(row.seconds_from).unwrap_or(usize::MAX);
        self.seconds.get(from..from + usize::from(row.seconds)).unwrap_or(&[])
    }

    /// Puts the rows in order and adds up those of one minute.
    pub(super) fn sort(&mut self) {
        if self.unsorted {
            *self = Self::sum(&[&*self]);
        }
    }

    pub(super) fn is_sorted(&self) -> bool {
        !self.unsorted
    }

    /// All rows of several series, in order, one for each minute.
    pub(super) fn sum(parts: &[&Self]) -> Self {
        let mut all: Vec<(usize, &BotMinute)> =
            parts.iter().enumerate().flat_map(|(i, s)| s.rows.iter().map(move |r| (i, r))).collect();
        all.sort_by_key(|(_, row)| row.minute);
        let mut out = Self::default();
        let mut rest = &all[..];
        while let Some((_, first)) = rest.first() {
            let same = rest.iter().take_while(|(_, r)| r.minute == first.minute).count();
            let (minute, after) = rest.split_at(same);
            out.push_sum(parts, minute);
            rest = after;
        }
        out
    }

    fn push_sum(&mut self, parts: &[&Self], rows: &[(usize, &BotMinute)]) {
        let mut sum = *rows[0].1;
        if let [(part, row)] = rows {
            let seconds = parts[*part].seconds_of(row);
            self.copy(sum, seconds);
            return;
        }
        let mut counts = [0_u64; 60];
        for (i, (part, row)) in rows.iter().enumerate() {
            for second in parts[*part].seconds_of(row) {
                counts[usize::from(second.at())] += second.requests();
            }
            if i > 0 {
                sum = add(&sum, row);
            }
        }
        let mut seconds: [Second; 60] = [Second(0); 60];
        let mut kept = 0;
        for (at, n) in (0_u8..).zip(counts).filter(|(_, n)| *n > 0) {
            seconds[kept] = Second::new(at, n);
            kept += 1;
        }
        let largest = seconds[..kept].iter().map(|s| s.requests()).max().unwrap_or(0);
        sum.second_max = sum.second_max.max(u32::try_from(largest).unwrap_or(u32::MAX));
        self.copy(sum, &seconds[..kept]);
    }

    /// Adds a row that knows its span and its busiest second already.
    fn copy(&mut self, mut row: BotMinute, seconds: &[Second]) {
        row.seconds_from = u32::try_from(self.seconds.len()).unwrap_or(u32::MAX);
        row.seconds = u8::try_from(seconds.len()).unwrap_or(60);
        self.seconds.extend_from_slice(seconds);
        self.append(row);
    }
}

/// Two rows of one minute. The busiest second is a lower bound until their seconds were merged.
fn add(a: &BotMinute, b: &BotMinute) -> BotMinute {
    let (first, last) = match (a.second_max, b.second_max) {
        (_, 0) => (a.first_second, a.last_second),
        (0, _) => (b.first_second, b.last_second),
        _ => (a.first_second.min(b.first_second), a.last_second.max(b.last_second)),
    };
    BotMinute {
        minute: a.minute,
        n: a.n.saturating_add(b.n),
        n429: a.n429.saturating_add(b.n429),
        n403: a.n403.saturating_add(b.n403),
        overloaded: a.overloaded.saturating_add(b.overloaded),
        n5xx: a.n5xx.saturating_add(b.n5xx),
        latency_count: a.latency_count.saturating_add(b.latency_count),
        latency_ms_sum: a.latency_ms_sum.saturating_add(b.latency_ms_sum),
        seconds_from: 0,
        seconds: 0,
        first_second: first,
        last_second: last,
        second_max: a.second_max.max(b.second_max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(at: i64, n: u32) -> BotMinute {
        BotMinute { minute: at, n, ..BotMinute::default() }
    }

    #[test]
    fn rows_of_one_minute_add_up_with_their_seconds() {
        let (mut a, mut b) = (Series::default(), Series::default());
        a.push(minute(7, 3), &[(5, 1), (9, 2)], true);
        a.push(minute(6, 1), &[(0, 1)], true);
        b.push(minute(7, 5), &[(9, 4), (50, 1)], true);
        assert!(!a.is_sorted());
        let sum = Series::sum(&[&a, &b]);
        assert!(sum.is_sorted());
        assert_eq!(sum.rows.iter().map(|r| (r.minute, r.n)).collect::<Vec<_>>(), [(6, 1), (7, 8)]);
        assert_eq!((sum.rows[1].span(), sum.rows[1].second_max), (45, 6));
        let seconds: Vec<_> = sum.seconds_of(&sum.rows[1]).iter().map(|s| (s.at(), s.requests())).collect();
        assert_eq!(seconds, [(5, 1), (9, 6), (50, 1)]);
    }

    #[test]
    fn seconds_that_are_not_kept_leave_their_span_and_their_busiest_one() {
        let mut a = Series::default();
        a.push(minute(7, 3), &[(5, 1), (9, 2)], false);
        assert!(a.seconds_of(&a.rows[0]).is_empty());
        assert_eq!((a.rows[0].span(), a.rows[0].second_max), (4, 2));
    }

    #[test]
    fn a_row_stays_small() {
        assert!(size_of::<BotMinute>() <= 56, "{}", size_of::<BotMinute>());
    }
}
