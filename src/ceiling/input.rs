//! What the recommendation of one host is made from: rows of minutes, what is known of the bots, earlier manifests.
//!
//! Rows come from the tables of the history, any number of sources in any order. Not the whole history: the reader
//! of it gives the days that the windows need. Example: 28 days of `www.example.com`, `bot` at 60 requests a minute.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::minute::{BotMinute, DAY, HostMinute, date_of};
use super::previous::PreviousManifest;
use super::series::Series;
use super::site::SiteConfig;
use crate::tally::table::{DayTables, MinuteRow, Verification};

/// How old the address ranges of a bot are. A bot without a range file has no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeState {
    /// Only verified rows speak for the bot.
    Fresh,
    /// Rows that could not be checked speak for it, too.
    Stale,
}

/// Everything that the ceilings of one host depend on.
///
/// Minutes are UTC, `floor(epoch seconds / 60)`.
#[derive(Debug, Clone)]
pub struct Input {
    /// The minute of the run.
    pub now: i64,
    /// Covered minutes: (first, last), both included; ranges may overlap. Covered minutes without lines are zero load.
    pub covered: Vec<(i64, i64)>,
    /// Range state by bot.
    pub ranges: BTreeMap<String, RangeState>,
    /// Category by bot; filled by [`Input::add_day`].
    pub categories: BTreeMap<String, String>,
    /// Earlier manifests of this host, in any order.
    pub previous: Vec<PreviousManifest>,
    /// This run could not read all of its input.
    pub partial: bool,
    /// Lines read in the window.
    pub lines: u64,
    /// ... and how many of them were rejected.
    pub rejects: u64,
    /// What is configured.
    pub site: SiteConfig,
    /// Rows of earlier minutes keep no single seconds, only what follows from them. Seconds are needed in the clean
    /// window alone; its first minute here saves two thirds of the memory.
    pub seconds_from: i64,
    bots: BTreeMap<String, BTreeMap<&'static str, Series>>,
    host: BTreeMap<i64, Vec<HostMinute>>,
    unfinished: BTreeSet<i64>,
}

impl Input {
    /// An input without rows, of a run at that minute.
    #[must_use]
    pub fn new(now: i64) -> Self {
        Self {
            now,
            covered: Vec::new(),
            ranges: BTreeMap::new(),
            categories: BTreeMap::new(),
            previous: Vec::new(),
            partial: false,
            lines: 0,
            rejects: 0,
            site: SiteConfig::default(),
            seconds_from: i64::MIN,
            bots: BTreeMap::new(),
            host: BTreeMap::new(),
            unfinished: BTreeSet::new(),
        }
    }

    /// Adds the minutes of one host from the tables of one source and date.
    ///
    /// Bots get their own rows; everybody counts for the load of the host. Fastest and smallest when the dates come
    /// in ascending order; the result is the same in any order. The last minute of a log that was still being written
    /// is left out: it is not over yet.
    pub fn add_day(&mut self, tables: &DayTables, host: &str) {
        let wanted: Vec<bool> = tables.series.iter().map(|s| s.host == host).collect();
        let mut rows = &tables.minutes[..];
        while let Some(first) = rows.first() {
            let same = rows.partition_point(|r| r.series <= first.series);
            let (mine, rest) = rows.split_at(same.max(1));
            rows = rest;
            let index = usize::try_from(first.series).unwrap_or(usize::MAX);
            let Some(series) = tables.series.get(index).filter(|_| wanted[index]) else { continue };
            for row in mine {
                self.add_load(row);
            }
            if series.is_bot() {
                if !series.category.is_empty() && !self.categories.contains_key(&series.bot) {
                    self.categories.insert(series.bot.clone(), series.category.clone());
                }
                self.add_bot_rows(&series.bot, series.verification, mine);
            }
        }
    }

    fn add_load(&mut self, row: &MinuteRow) {
        if row.partial {
            self.unfinished.insert(row.minute);
        }
        let day = self.host.entry(date_of(row.minute)).or_insert_with(|| vec![HostMinute::default(); 1440]);
        let at = usize::try_from(row.minute.rem_euclid(DAY)).unwrap_or(0);
        let minute = &mut day[at];
        minute.n += row.requests;
        minute.overloaded += row.code(502) + row.code(503) + row.code(504);
        minute.latency_count += row.latency_count;
        minute.latency_ms_sum += row.latency_ms_sum;
    }

    fn add_bot_rows(&mut self, bot: &str, verification: Verification, rows: &[MinuteRow]) {
        let keep_from = self.seconds_from;
        let by_verdict = match self.bots.get_mut(bot) {
            Some(known) => known,
            None => self.bots.entry(bot.to_owned()).or_default(),
        };
        let series = by_verdict.entry(verification.name()).or_default();
        series.rows.reserve(rows.len());
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        for row in rows {
            let counts = BotMinute {
                minute: row.minute,
                n: narrow(row.requests),
                n429: narrow(row.code(429)),
                n403: narrow(row.code(403)),
                overloaded: narrow(row.code(502) + row.code(503) + row.code(504)),
                n5xx: narrow(row.classes[4]),
                latency_count: narrow(row.latency_count),
                latency_ms_sum: row.latency_ms_sum,
                ..BotMinute::default()
            };
            series.push(counts, &row.seconds, row.minute >= keep_from);
        }
    }

    /// Sorts what came out of order, so that no recommendation has to do it again. Changes no result.
    pub fn sort(&mut self) {
        for series in self.bots.values_mut().flat_map(BTreeMap::values_mut) {
            series.sort();
        }
    }

    /// All bots with rows, in the order of their names.
    pub(super) fn bot_names(&self) -> impl Iterator<Item = &str> {
        self.bots.keys().map(String::as_str)
    }

    /// The rows that speak for a bot: verified ones, and those that could not be checked unless its ranges are fresh. Where
    /// no claim of it was checked at all, fresh ranges say nothing: its logs hold a proxy's addresses or names.
    pub(super) fn own_rows(&self, bot: &str) -> Cow<'_, Series> {
        let was_checked =
            |v: &Verification| self.bots.get(bot).is_some_and(|rows| rows.contains_key(v.name()));
        let fresh = self.ranges.get(bot) == Some(&RangeState::Fresh)
            && [Verification::Verified, Verification::Failed].iter().any(was_checked);
        let kept = if fresh {
            &[Verification::Verified][..]
        } else {
            &[Verification::Verified, Verification::NotCheckable]
        };
        let parts: Vec<&Series> = kept
            .iter()
            .filter_map(|v| self.bots.get(bot).and_then(|by_verdict| by_verdict.get(v.name())))
            .collect();
        let mut rows = match parts[..] {
            [one] if one.is_sorted() => Cow::Borrowed(one),
            _ => Cow::Owned(Series::sum(&parts)),
        };
        if rows.rows.iter().any(|r| self.unfinished.contains(&r.minute)) {
            rows.to_mut().rows.retain(|r| !self.unfinished.contains(&r.minute));
        }
        rows
    }

    /// The load of one minute; nothing where no line was.
    pub(super) fn load_of(&self, minute: i64) -> HostMinute {
        let at = usize::try_from(minute.rem_euclid(DAY)).unwrap_or(0);
        match self.host.get(&date_of(minute)) {
            Some(day) if !self.unfinished.contains(&minute) => day[at],
            _ => HostMinute::default(),
        }
    }

    /// All minutes with requests, ascending.
    pub(super) fn loads(&self) -> impl Iterator<Item = (i64, &HostMinute)> {
        self.host
            .iter()
            .flat_map(|(date, day)| (date * DAY..).zip(day))
            .filter(|(minute, load)| load.n > 0 && !self.unfinished.contains(minute))
    }
}
