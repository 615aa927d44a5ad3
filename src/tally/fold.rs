//! Counting one hit after another. Two tallies of different blocks merge to the same rows in any order.
//!
//! The hot path is [`Tally::add`]: no allocation for a series, minute and second that were just seen. Rows are found
//! through what each series saw last, because logs are nearly in order of time; the maps behind are for the rest.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::error::Error;
use crate::tally::aside::Aside;
use crate::tally::distinct::{Distinct, stable_hash};
use crate::tally::hit::{Asker, Hit};
use crate::tally::latency::bucket;
use crate::tally::queries::Queries;
use crate::tally::spill::Spilling;
use crate::tally::table::{STATUS_CODES, Verification, status_class};
use crate::tally::waste::{WasteKey, WasteTable};

// A random state per map: log text is hostile, and no output depends on the order of a map.
type Map<K, V> = HashMap<K, V, RandomState>;

/// Texts kept per series and date.
pub(crate) const SAMPLES: usize = 5;
/// The longest sample, in bytes.
const SAMPLE_BYTES: usize = 1024;

/// What is counted of the hits of one source.
#[derive(Debug)]
pub struct Tally {
    pub(crate) hosts: Vec<Vec<u8>>,
    host_index: Map<Vec<u8>, u32>,
    last_host: u32,
    /// The minute of the last hit.
    minute: i64,
    pub(crate) series: Vec<SeriesState>,
    series_index: Map<(u32, u32, Verification), u32>,
    /// Series that were seen lately, by a few bits of their key: bots and people take turns from line to line.
    recent_series: Box<[u32; RECENT]>,
    pub(crate) rows: Vec<Row>,
    row_index: Map<(u32, i64), u32>,
    pub(crate) days: Vec<DaySeries>,
    day_index: Map<(u32, i32), u32>,
    pub(crate) coverage: Map<i32, (i64, i64)>,
    covered: (i32, i64, i64),
    pub(crate) waste: WasteTable,
    pub(crate) queries: Queries,
    pub(crate) aside: Aside,
}

/// One host, name and verdict, and where its last hit was counted.
#[derive(Debug, Clone)]
pub(crate) struct SeriesState {
    pub(crate) host: u32,
    pub(crate) who: u32,
    pub(crate) is_bot: bool,
    pub(crate) verification: Verification,
    last_minute: i64,
    last_row: u32,
    last_day: u32,
}

/// One minute of one series.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) series: u32,
    pub(crate) minute: i64,
    pub(crate) bytes: u64,
    pub(crate) classes: [u64; 6],
    pub(crate) codes: [u64; 8],
    /// (second, requests) in the order of reading; a second may stand twice.
    pub(crate) seconds: Vec<(u8, u32)>,
    pub(crate) latency_count: u64,
    pub(crate) latency_us_sum: u64,
    pub(crate) latency_us_max: u64,
    pub(crate) cached: u64,
    pub(crate) statics: u64,
}

/// What is counted of one series per date.
#[derive(Debug)]
pub(crate) struct DaySeries {
    pub(crate) series: u32,
    pub(crate) date: i32,
    pub(crate) status: Vec<(Option<u16>, u64, u64)>,
    pub(crate) urls: Distinct,
    pub(crate) user_agents: Distinct,
    pub(crate) samples: Vec<Sample>,
    /// No text with a larger hash is among the samples, and none can become one.
    samples_end: u64,
    pub(crate) variants: [u64; 4],
    pub(crate) networks: Map<ipnet::IpNet, u64>,
    /// Requests by hour of the date and number of the latency bound.
    pub(crate) latency: Map<(u8, u16), u64>,
}

/// A User-Agent text with its exact number of requests.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) hash: u64,
    pub(crate) requests: u64,
    pub(crate) text: Vec<u8>,
}

const NONE: u32 = u32::MAX;
/// Series that are found without a hash.
const RECENT: usize = 1 << 10;

impl Tally {
    /// An empty tally; `default_host` is the site of hits without a virtual host.
    #[must_use]
    pub fn new(default_host: &[u8]) -> Self {
        let mut tally = Self {
            hosts: vec![default_host.to_vec()],
            host_index: Map::default(),
            last_host: 0,
            minute: 0,
            series: Vec::new(),
            series_index: Map::default(),
            recent_series: Box::new([NONE; RECENT]),
            rows: Vec::new(),
            row_index: Map::default(),
            days: Vec::new(),
            day_index: Map::default(),
            coverage: Map::default(),
            covered: (i32::MIN, i64::MAX, i64::MIN),
            waste: WasteTable::default(),
            queries: Queries::default(),
            aside: Aside::default(),
        };
        tally.host_index.insert(default_host.to_vec(), 0);
        tally
    }

    /// The same, making only so many series of self-declared names before [`Tally::count_aside`].
    #[must_use]
    pub(crate) fn with_room_for_names(mut self, room: usize) -> Self {
        self.aside = Aside::with_room(room);
        self
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The largest stamp counted, in epoch seconds.
    #[must_use]
    pub fn newest(&self) -> Option<i64> {
        let flushed = self.coverage.values().map(|(_, last)| *last).max();
        flushed.max((self.covered.2 != i64::MIN).then_some(self.covered.2))
    }

    /// Writes what has outgrown its share of the memory. To be asked now and then, not for every hit.
    ///
    /// # Errors
    /// The run cannot be written (exit 5).
    pub fn spill_if_full(&mut self, spilling: &Spilling<'_>) -> Result<(), Error> {
        self.aside.spill_if_full(spilling)?;
        self.waste.spill_if_full(spilling)
    }

    /// Has all wasted URLs in memory, or all of them written.
    ///
    /// # Errors
    /// The run cannot be written (exit 5).
    pub fn settle(&mut self, spilling: Option<&Spilling<'_>>) -> Result<(), Error> {
        self.waste.settle(spilling)
    }

    /// Counts one hit of one asker.
    pub fn add(&mut self, hit: &Hit<'_>, asker: &Asker) {
        self.add_here(hit, asker);
    }

    /// The same, in the place of the call: for the one tally that every line goes to.
    #[inline(always)]
    pub(crate) fn add_here(&mut self, hit: &Hit<'_>, asker: &Asker) {
        let host = match hit.host {
            None => 0,
            Some(name) => self.host(name),
        };
        let series = self.series_of(host, asker);
        if series == NONE {
            self.aside.put(hit, asker);
            return;
        }
        let (minute, second) = self.minute_of(hit.epoch);
        self.cover(minute, hit.epoch, hit.epoch);
        self.turn_to(series, minute);
        let state = &self.series[series as usize];
        let row = &mut self.rows[state.last_row as usize];
        row.bytes = row.bytes.saturating_add(hit.bytes);
        row.classes[status_class(hit.status)] += 1;
        if let Some(status) = hit.status
            && status >= 304
            && let Some(code) = STATUS_CODES.iter().position(|c| *c == status)
        {
            row.codes[code] += 1;
        }
        match row.seconds.last_mut() {
            Some((last, requests)) if *last == second && *requests < u32::MAX => *requests += 1,
            _ => row.push_second(second),
        }
        row.cached += u64::from(hit.cached);
        row.statics += u64::from(hit.is_static);
        if let Some(us) = hit.latency_us
            && !hit.cached
        {
            row.latency_count += 1;
            row.latency_us_sum = row.latency_us_sum.saturating_add(us);
            row.latency_us_max = row.latency_us_max.max(us);
        }

        let day = &mut self.days[state.last_day as usize];
        let date = day.date;
        match day.status.iter_mut().find(|s| s.0 == hit.status) {
            Some(s) => {
                s.1 += 1;
                s.2 = s.2.saturating_add(hit.bytes);
            }
            None => day.status.push((hit.status, 1, hit.bytes)),
        }
        if let Some(hash) = asker.user_agent_hash {
            day.user_agents.insert(hash);
            if hash <= day.samples_end {
                day.sample(hash, 1, hit.user_agent.unwrap_or_default());
            }
        }
        if let Some(us) = hit.latency_us
            && !hit.cached
        {
            let hour = u8::try_from(minute.rem_euclid(1440) / 60).unwrap_or(23);
            *day.latency.entry((hour, bucket(us))).or_default() += 1;
        }
        if asker.variant > 0 {
            day.variants[usize::from(asker.variant)] += 1;
        }
        if let Some(network) = hit.network {
            *day.networks.entry(network).or_default() += 1;
        }
        if let Some(target) = hit.target {
            let hash = asker.is_bot.then(|| stable_hash(target));
            if let Some(hash) = hash {
                day.urls.insert(hash);
            }
            if let Some(status @ 400..=599) = hit.status {
                self.waste.add(WasteKey { date, series, status, target }, 1, hit.bytes);
            } else if hash.is_some_and(|hash| self.queries.wants(hash))
                && memchr::memchr(b'?', target).is_some()
            {
                self.queries.add(date, host, target, 1);
            }
        }
    }

    /// The minute, and the second in it: most lines are of the minute of the one before, and a division costs more than
    /// the question.
    #[inline(always)]
    fn minute_of(&mut self, epoch: i64) -> (i64, u8) {
        let second = epoch.wrapping_sub(self.minute.saturating_mul(60));
        if let Ok(second @ 0..60) = u8::try_from(second) {
            return (self.minute, second);
        }
        self.minute = epoch.div_euclid(60);
        (self.minute, u8::try_from(epoch.rem_euclid(60)).unwrap_or(59))
    }

    #[inline]
    fn host(&mut self, name: &[u8]) -> u32 {
        if self.hosts[self.last_host as usize] == name {
            return self.last_host;
        }
        self.last_host = self.host_slow(name);
        self.last_host
    }

    /// Host names are one whatever their case and with a dot at the end.
    #[inline(never)]
    fn host_slow(&mut self, name: &[u8]) -> u32 {
        if let Some(id) = self.host_index.get(name) {
            return *id;
        }
        let mut folded = name.to_ascii_lowercase();
        if folded.len() > 1 && folded.ends_with(b".") {
            folded.pop();
        }
        if let Some(id) = self.host_index.get(&folded) {
            return *id;
        }
        let id = u32::try_from(self.hosts.len()).expect("memory ends before 2^32 hosts do");
        self.hosts.push(folded.clone());
        self.host_index.insert(folded, id);
        id
    }

    /// The number of a series, made when there is none; [`NONE`] where hits of it are put aside.
    #[inline(always)]
    fn series_of(&mut self, host: u32, asker: &Asker) -> u32 {
        let slot = (asker.who ^ host << 3) as usize % RECENT;
        let recent = self.recent_series[slot];
        if let Some(last) = self.series.get(recent as usize)
            && last.who == asker.who
            && last.host == host
            && last.verification == asker.verification
        {
            return recent;
        }
        let id = self.series_or_aside(host, asker);
        if id != NONE {
            self.recent_series[slot] = id;
        }
        id
    }

    #[inline(never)]
    fn series_or_aside(&mut self, host: u32, asker: &Asker) -> u32 {
        match self.series_index.get(&(host, asker.who, asker.verification)) {
            Some(id) => *id,
            None if self.aside.has_room_for(asker) => self.series_slow(host, asker),
            None => NONE,
        }
    }

    fn series_slow(&mut self, host: u32, asker: &Asker) -> u32 {
        let next = u32::try_from(self.series.len()).expect("memory ends before 2^32 series do");
        let id = *self.series_index.entry((host, asker.who, asker.verification)).or_insert(next);
        if id == next {
            self.series.push(SeriesState {
                host,
                who: asker.who,
                is_bot: asker.is_bot,
                verification: asker.verification,
                last_minute: i64::MIN,
                last_row: NONE,
                last_day: NONE,
            });
        }
        id
    }

    /// Makes a minute's row, and that of its day, the ones that the series counts in.
    #[inline(always)]
    fn turn_to(&mut self, series: u32, minute: i64) {
        if self.series[series as usize].last_minute != minute {
            self.turn_to_slow(series, minute);
        }
    }

    #[inline(never)]
    fn turn_to_slow(&mut self, series: u32, minute: i64) {
        let row = self.row_of(series, minute);
        let day = self.day_of(series, date_of(minute));
        let state = &mut self.series[series as usize];
        (state.last_minute, state.last_row, state.last_day) = (minute, row, day);
    }

    /// The number of a row, made when there is none.
    fn row_of(&mut self, series: u32, minute: i64) -> u32 {
        let next = u32::try_from(self.rows.len()).expect("memory ends before 2^32 rows do");
        let id = *self.row_index.entry((series, minute)).or_insert(next);
        if id == next {
            self.rows.push(Row::new(series, minute));
        }
        id
    }

    /// The number of a day of a series, made when there is none.
    fn day_of(&mut self, series: u32, date: i32) -> u32 {
        let next = u32::try_from(self.days.len()).expect("memory ends before 2^32 days do");
        let id = *self.day_index.entry((series, date)).or_insert(next);
        if id == next {
            self.days.push(DaySeries::new(series, date));
        }
        id
    }

    /// Widens the span of the date that `minute` is in.
    #[inline(always)]
    fn cover(&mut self, minute: i64, first: i64, last: i64) {
        // Within the span that is known: also within its date.
        if first < self.covered.1 || last > self.covered.2 {
            self.cover_slow(date_of(minute), first, last);
        }
    }

    #[inline(never)]
    fn cover_slow(&mut self, date: i32, first: i64, last: i64) {
        if self.covered.0 != date {
            self.flush_coverage();
            self.covered = (date, first, last);
        } else {
            self.covered.1 = self.covered.1.min(first);
            self.covered.2 = self.covered.2.max(last);
        }
    }

    /// Writes the span of the current date to the map.
    pub(crate) fn flush_coverage(&mut self) {
        let (date, first, last) = self.covered;
        if first <= last {
            let span = self.coverage.entry(date).or_insert((first, last));
            *span = (span.0.min(first), span.1.max(last));
        }
        self.covered = (i32::MIN, i64::MAX, i64::MIN);
    }

    /// Adds all that the other tally has counted.
    pub fn merge(&mut self, mut other: Self) {
        other.flush_coverage();
        let hosts: Vec<u32> = other.hosts.iter().map(|name| self.host_slow(name)).collect();
        let series: Vec<u32> = other
            .series
            .iter()
            .map(|s| {
                let asker = Asker {
                    who: s.who,
                    is_bot: s.is_bot,
                    variant: 0,
                    verification: s.verification,
                    user_agent_hash: None,
                };
                self.series_slow(hosts[s.host as usize], &asker)
            })
            .collect();
        for row in other.rows {
            let id = self.row_of(series[row.series as usize], row.minute);
            self.rows[id as usize].merge(row);
        }
        for day in other.days {
            let id = self.day_of(series[day.series as usize], day.date);
            self.days[id as usize].merge(day);
        }
        #[expect(clippy::iter_over_hash_type, reason = "minima and maxima do not depend on the order")]
        for (date, (first, last)) in other.coverage {
            self.cover_slow(date, first, last);
        }
        self.queries.merge(&other.queries, &hosts);
        for entry in other.waste.entries() {
            let key = WasteKey {
                date: entry.date,
                series: series[entry.series as usize],
                status: entry.status,
                target: other.waste.text(entry),
            };
            self.waste.add(key, entry.hits, entry.bytes);
        }
        self.waste.add_written(other.waste.written(), &series);
        self.aside.merge(other.aside);
    }
}

/// The UTC date of a minute.
fn date_of(minute: i64) -> i32 {
    i32::try_from(minute.div_euclid(1440)).unwrap_or(i32::MAX)
}

impl Row {
    fn new(series: u32, minute: i64) -> Self {
        Self {
            series,
            minute,
            bytes: 0,
            classes: [0; 6],
            codes: [0; 8],
            seconds: Vec::new(),
            latency_count: 0,
            latency_us_sum: 0,
            latency_us_max: 0,
            cached: 0,
            statics: 0,
        }
    }

    #[inline(never)]
    fn push_second(&mut self, second: u8) {
        // Out of order, a second may come again and again: join what is there before the list grows past its use.
        if self.seconds.len() >= 120 {
            self.seconds = joined_seconds(&self.seconds)
                .into_iter()
                .flat_map(|(s, n)| split_count(n).map(move |part| (s, part)))
                .collect();
        }
        self.seconds.push((second, 1));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (a, b) in self.classes.iter_mut().zip(other.classes) {
            *a += b;
        }
        for (a, b) in self.codes.iter_mut().zip(other.codes) {
            *a += b;
        }
        if self.seconds.is_empty() {
            self.seconds = other.seconds;
        } else {
            self.seconds.extend(other.seconds);
        }
        self.latency_count += other.latency_count;
        self.latency_us_sum = self.latency_us_sum.saturating_add(other.latency_us_sum);
        self.latency_us_max = self.latency_us_max.max(other.latency_us_max);
        self.cached += other.cached;
        self.statics += other.statics;
    }
}

/// Requests by second, ascending, each second once.
pub(crate) fn joined_seconds(seconds: &[(u8, u32)]) -> Vec<(u8, u64)> {
    let mut by_second = [0u64; 60];
    for (second, requests) in seconds {
        by_second[usize::from(*second).min(59)] += u64::from(*requests);
    }
    (0u8..60).zip(by_second).filter(|(_, n)| *n > 0).collect()
}

fn split_count(count: u64) -> impl Iterator<Item = u32> {
    let whole = usize::try_from(count / u64::from(u32::MAX)).unwrap_or(usize::MAX);
    let rest = u32::try_from(count % u64::from(u32::MAX)).unwrap_or(0);
    std::iter::repeat_n(u32::MAX, whole).chain((rest > 0).then_some(rest))
}

impl DaySeries {
    fn new(series: u32, date: i32) -> Self {
        Self {
            series,
            date,
            status: Vec::new(),
            urls: Distinct::default(),
            user_agents: Distinct::default(),
            samples: Vec::new(),
            samples_end: u64::MAX,
            variants: [0; 4],
            networks: Map::default(),
            latency: Map::default(),
        }
    }

    /// Keeps the texts with the smallest hashes. Their counts are exact: a text that is among the smallest of all was
    /// among the smallest at every moment since it was first seen.
    fn sample(&mut self, hash: u64, requests: u64, text: &[u8]) {
        if let Some(known) = self.samples.iter_mut().find(|s| s.hash == hash) {
            known.requests += requests;
            return;
        }
        if self.samples.len() == SAMPLES {
            let largest = self.samples.iter().enumerate().max_by_key(|(_, s)| s.hash).map_or(0, |(i, _)| i);
            if self.samples[largest].hash < hash {
                return;
            }
            self.samples.swap_remove(largest);
        }
        // Undone, because the hash is of the text without escapes: two spellings must not depend on who came first.
        let mut text = crate::format::escape::unescape(text).into_owned();
        text.truncate(SAMPLE_BYTES);
        self.samples.push(Sample { hash, requests, text });
        self.end_samples();
    }

    fn end_samples(&mut self) {
        if self.samples.len() == SAMPLES {
            self.samples_end = self.samples.iter().map(|s| s.hash).max().unwrap_or(u64::MAX);
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (status, requests, bytes) in other.status {
            match self.status.iter_mut().find(|s| s.0 == status) {
                Some(s) => {
                    s.1 += requests;
                    s.2 = s.2.saturating_add(bytes);
                }
                None => self.status.push((status, requests, bytes)),
            }
        }
        self.urls.merge(&other.urls);
        self.user_agents.merge(&other.user_agents);
        for sample in other.samples {
            match self.samples.iter_mut().find(|s| s.hash == sample.hash) {
                Some(known) => known.requests += sample.requests,
                None => self.samples.push(sample),
            }
        }
        self.samples.sort_unstable_by_key(|s| s.hash);
        self.samples.truncate(SAMPLES);
        self.end_samples();
        for (a, b) in self.variants.iter_mut().zip(other.variants) {
            *a += b;
        }
        #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for (network, requests) in other.networks {
            *self.networks.entry(network).or_default() += requests;
        }
        #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for (bound, requests) in other.latency {
            *self.latency.entry(bound).or_default() += requests;
        }
    }
}
