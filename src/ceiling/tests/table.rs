//! Minute tables from formulas of the minute, in the form in which the history gives them.
//!
//! Example: `Table::new(days(7)).bot("bot", |m| Some(row(pattern(m, 56, 9))))`.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::ceiling::{Input, PreviousEntry, PreviousManifest};
use crate::tally::table::{DayTables, MinuteRow, STATUS_CODES, Series, Verification};

pub(super) const DAY: i64 = 1440;
/// Monday 2026-01-05, 00:00 UTC.
pub(super) const MONDAY: i64 = (20_454 + 4) * DAY;
pub(super) const HOST: &str = "www.example.com";

/// A saw-tooth from `low` to `low + width - 1`.
pub(super) fn pattern(minute: i64, low: u64, width: i64) -> u64 {
    low + u64::try_from((minute * 7).rem_euclid(width)).unwrap()
}

/// Whole days from that Monday.
pub(super) fn days(n: i64) -> Range<i64> {
    MONDAY..MONDAY + n * DAY
}

/// One minute of one bot.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) n: u64,
    pub(super) n429: u64,
    pub(super) n403: u64,
    pub(super) overloaded: u64,
    pub(super) n5xx: u64,
    pub(super) seconds: Vec<(u8, u64)>,
    pub(super) latency_ms: Option<u64>,
}

/// `n` requests in groups of `size`, the groups evenly over `width` seconds; the last group takes the rest.
pub(super) fn grouped(n: u64, size: u64, width: u64) -> Row {
    let groups = n.div_ceil(size);
    let seconds =
        (0..groups).map(|i| (u8::try_from(i * width / groups).unwrap(), size.min(n - i * size))).collect();
    Row { n, seconds, ..Row::default() }
}

/// `n` requests, as even as whole seconds allow.
pub(super) fn row(n: u64) -> Row {
    grouped(n, n.div_ceil(60).max(1), 60)
}

impl Row {
    pub(super) fn refused(self, n429: u64) -> Self {
        Self { n429, ..self }
    }
    pub(super) fn forbidden(self, n403: u64) -> Self {
        Self { n403, ..self }
    }
    pub(super) fn broken(self, n5xx: u64) -> Self {
        Self { n5xx, ..self }
    }
    pub(super) fn unavailable(self, n: u64) -> Self {
        Self { overloaded: n, n5xx: n, ..self }
    }
    pub(super) fn taking(self, ms: u64) -> Self {
        Self { latency_ms: Some(ms), ..self }
    }
}

type OfMinute<T> = Box<dyn Fn(i64) -> T>;

/// A host's traffic as formulas.
pub(super) struct Table {
    cover: Vec<i64>,
    covered: Vec<(i64, i64)>,
    bots: Vec<(String, Verification, OfMinute<Option<Row>>)>,
    people: OfMinute<u64>,
    people_unavailable: OfMinute<u64>,
    /// Latency of people by minute and load.
    latency: Option<Box<dyn Fn(i64, u64) -> u64>>,
}

impl Table {
    pub(super) fn new(cover: Range<i64>) -> Self {
        Self {
            covered: vec![(cover.start, cover.end - 1)],
            cover: cover.collect(),
            bots: Vec::new(),
            people: Box::new(|_| 0),
            people_unavailable: Box::new(|_| 0),
            latency: None,
        }
    }

    /// Takes out minutes of which there is no log.
    pub(super) fn without(mut self, gap: Range<i64>) -> Self {
        let (first, last) = self.covered[0];
        self.covered = vec![(first, gap.start - 1), (gap.end, last)];
        self.cover.retain(|m| !gap.contains(m));
        self
    }

    pub(super) fn bot(self, name: &str, f: impl Fn(i64) -> Option<Row> + 'static) -> Self {
        self.verified(name, Verification::NotCheckable, f)
    }

    pub(super) fn verified(
        mut self,
        name: &str,
        verification: Verification,
        f: impl Fn(i64) -> Option<Row> + 'static,
    ) -> Self {
        self.bots.push((name.to_owned(), verification, Box::new(f)));
        self
    }

    pub(super) fn people(mut self, f: impl Fn(i64) -> u64 + 'static) -> Self {
        self.people = Box::new(f);
        self
    }

    pub(super) fn people_unavailable(mut self, f: impl Fn(i64) -> u64 + 'static) -> Self {
        self.people_unavailable = Box::new(f);
        self
    }

    pub(super) fn latency(mut self, f: impl Fn(i64, u64) -> u64 + 'static) -> Self {
        self.latency = Some(Box::new(f));
        self
    }

    /// The tables of each date, as one source would give them.
    pub(super) fn days(&self) -> Vec<DayTables> {
        let mut by_date: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for minute in &self.cover {
            by_date.entry(minute.div_euclid(DAY)).or_default().push(*minute);
        }
        by_date.iter().map(|(date, minutes)| self.day(*date, minutes)).collect()
    }

    fn day(&self, date: i64, minutes: &[i64]) -> DayTables {
        // The rows of one series stand together; people come last here, which no reader relies on.
        let mut series: Vec<Series> = self.bots.iter().map(|(bot, v, _)| series(bot, *v)).collect();
        series.push(super::table::series("(people)", Verification::NotCheckable));
        let mut rows = Vec::new();
        for (index, (_, _, f)) in (0_u32..).zip(&self.bots) {
            rows.extend(minutes.iter().filter_map(|m| f(*m).map(|r| minute_row(index, *m, &r))));
        }
        let index = u32::try_from(self.bots.len()).unwrap();
        for minute in minutes {
            let n = (self.people)(*minute);
            if n > 0 {
                let mut people = grouped(n, n, 60).unavailable((self.people_unavailable)(*minute));
                people.latency_ms = self.latency.as_ref().map(|f| {
                    let bots: u64 = self.bots.iter().filter_map(|(_, _, f)| f(*minute)).map(|r| r.n).sum();
                    f(*minute, n + bots)
                });
                rows.push(minute_row(index, *minute, &people));
            }
        }
        DayTables { date: i32::try_from(date).unwrap(), series, minutes: rows, ..DayTables::default() }
    }

    /// The input of a run at the last minute.
    pub(super) fn input(&self) -> Input {
        let mut input = Input::new(*self.cover.last().unwrap());
        input.covered.clone_from(&self.covered);
        for day in self.days() {
            input.add_day(&day, HOST);
        }
        input
    }
}

pub(super) fn series(bot: &str, verification: Verification) -> Series {
    Series {
        host: HOST.to_owned(),
        bot: bot.to_owned(),
        verification,
        family: bot.to_owned(),
        operator: String::new(),
        category: String::new(),
    }
}

pub(super) fn minute_row(series: u32, minute: i64, row: &Row) -> MinuteRow {
    let mut codes = [0; 8];
    for (code, n) in [(429, row.n429), (403, row.n403), (503, row.overloaded)] {
        codes[STATUS_CODES.iter().position(|c| *c == code).unwrap()] = n;
    }
    let mut classes = [0; 6];
    classes[3] = row.n429 + row.n403;
    classes[4] = row.n5xx;
    classes[1] = row.n.saturating_sub(classes[3] + classes[4]);
    MinuteRow {
        series,
        minute,
        requests: row.n,
        classes,
        codes,
        seconds: row.seconds.clone(),
        latency_count: row.latency_ms.map_or(0, |_| row.n),
        latency_ms_sum: row.latency_ms.map_or(0, |ms| row.n * ms),
        ..MinuteRow::default()
    }
}

/// One earlier manifest with one entry.
pub(super) fn manifest(
    window_to: i64,
    max_requests_per_minute: u64,
    max_concurrency: u64,
) -> PreviousManifest {
    let entry = PreviousEntry {
        max_requests_per_minute,
        max_concurrency: Some(max_concurrency),
        ..PreviousEntry::default()
    };
    PreviousManifest { window_to, bots: BTreeMap::from([("bot".to_owned(), entry)]), all_bots: None }
}
