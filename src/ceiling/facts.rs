//! What one bot, or all bots together, showed: clean and served minutes, demand, errors, refusals.
//!
//! Not what follows from it. Example: 10,080 clean minutes on 7 dates, 64 requests a minute surely reached.

use std::borrow::Cow;

use super::host::Host;
use super::minute::{BotMinute, Class, DAY, classify, date_of, dates_of};
use super::onset::{Onset, OnsetState};
use super::rank::{float, surely_reached};
use super::series::Series;

/// The facts of one subject.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    /// Rows of both windows.
    pub(super) series: Cow<'a, Series>,
    /// Indices of the clean rows.
    clean: Vec<u32>,
    /// Whether there are enough of them to read demand from.
    enough_clean: bool,
    /// Minutes in which something was served, with what was admitted.
    served: Vec<(i64, u64)>,
    pub(super) onset: Onset,
    /// Next to nothing was answered.
    pub(super) dead: bool,
    /// ... and 429 is at least half of the failures.
    pub(super) denied: bool,
    /// Requests of the last week (of all minutes, if it had none).
    pub(super) recent: u64,
    /// ... answered 429, 502, 503, 504.
    pub(super) recent_retryable: u64,
    /// ... answered 429 or 5xx.
    pub(super) recent_errors: u64,
    /// ... with any 429.
    pub(super) recent_429: bool,
    pub(super) clean_dates: usize,
    pub(super) served_dates: usize,
    /// The demand that is surely reached.
    pub(super) demand: Option<u64>,
    pub(super) latency_count: u64,
    pub(super) latency_ms_sum: u64,
    /// By slot: the demand there, where the bot was seen and may share.
    pub(super) slot_demand: Vec<Option<u64>>,
}

impl<'a> Facts<'a> {
    /// Nobody.
    pub(super) fn nobody() -> Self {
        Self {
            series: Cow::Owned(Series::default()),
            clean: Vec::new(),
            enough_clean: false,
            served: Vec::new(),
            onset: Onset::none(),
            dead: false,
            denied: false,
            recent: 0,
            recent_retryable: 0,
            recent_errors: 0,
            recent_429: false,
            clean_dates: 0,
            served_dates: 0,
            demand: None,
            latency_count: 0,
            latency_ms_sum: 0,
            slot_demand: Vec::new(),
        }
    }

    /// One bot, from the rows that speak for it; `None` when it has none in the clean window.
    pub(super) fn of(series: Cow<'a, Series>, host: &Host<'_>) -> Option<Self> {
        let all = &series.rows[..];
        let at = |minute: i64| all.partition_point(|r| r.minute < minute);
        let to = at(host.window_to + 1);
        let evidence = &all[at(host.evidence_from).min(to)..to];
        let from = at(host.clean_from.max(host.evidence_from)).min(to);
        let window = &all[from..to];
        let last = window.last()?.minute;
        let mut out = Self { onset: Onset::of(evidence, host.window_to, host.policy), ..Self::nobody() };
        let first_index = u32::try_from(from).unwrap_or(u32::MAX);
        for (index, row) in (first_index..).zip(window) {
            let load = host.input.load_of(row.minute);
            let class = classify(row, &load);
            if class == Class::Clean {
                out.clean.push(index);
            }
            let served = class == Class::Clean || (class == Class::Throttled && !load.is_overloaded());
            if served && row.admitted() > 0 {
                out.served.push((row.minute, row.admitted()));
            }
        }
        let sum = |rows: &[BotMinute], f: fn(&BotMinute) -> u64| rows.iter().map(f).sum::<u64>();
        let total = sum(window, BotMinute::requests);
        let answered = sum(window, BotMinute::answered);
        let policy = host.policy;
        out.dead = total >= policy.dead_requests && 100 * answered < policy.dead_share_percent * total;
        out.denied =
            sum(window, |r| u64::from(r.n429)) >= sum(window, |r| u64::from(r.n403) + u64::from(r.n5xx));
        let week = host.window_to - policy.freeze_days * DAY;
        let recent = if last > week { &all[at(week + 1).max(from)..to] } else { window };
        out.recent = sum(recent, BotMinute::requests);
        out.recent_retryable = sum(recent, |r| u64::from(r.n429) + u64::from(r.overloaded));
        out.recent_errors = sum(recent, |r| u64::from(r.n429) + u64::from(r.n5xx));
        out.recent_429 = recent.iter().any(|r| r.n429 > 0);
        out.series = series;
        out.refute(host);
        out.measure(host);
        Some(out)
    }

    /// All bots together: minute by minute what they were served. No 429 rule: a 429 binds the bot that got it.
    pub(super) fn together(bots: &[(&str, Facts<'_>)], host: &Host<'_>) -> Self {
        let series = served_together(bots);
        let facts = || bots.iter().map(|(_, f)| f);
        let mut out = Self {
            clean: (0..u32::try_from(series.rows.len()).unwrap_or(u32::MAX)).collect(),
            served: series.rows.iter().map(|r| (r.minute, r.requests())).collect(),
            series: Cow::Owned(series),
            dead: facts().all(|f| f.dead),
            denied: facts().all(|f| f.denied),
            recent: facts().map(|f| f.recent).sum(),
            recent_retryable: facts().map(|f| f.recent_retryable).sum(),
            recent_errors: facts().map(|f| f.recent_errors).sum(),
            recent_429: facts().any(|f| f.recent_429),
            ..Self::nobody()
        };
        out.measure(host);
        out
    }

    /// A limit that stood, and that later clean traffic of two dates ran through, is refuted.
    fn refute(&mut self, host: &Host<'_>) {
        let policy = host.policy;
        let (OnsetState::Established, Some(rate), Some(last)) =
            (self.onset.state, self.onset.rate, self.onset.last_estimate())
        else {
            return;
        };
        let later: Vec<i64> =
            self.clean_rows().filter(|r| r.minute > last && r.requests() >= rate).map(|r| r.minute).collect();
        if host.window_to - last > policy.provisional_days * DAY
            && later.len() >= policy.refute_minutes
            && dates_of(later) >= policy.refute_dates
        {
            self.onset.state = OnsetState::Refuted;
        }
    }

    fn measure(&mut self, host: &Host<'_>) {
        let policy = host.policy;
        self.enough_clean = self.clean.len() >= policy.clean_minutes_min;
        self.clean_dates = dates_of(self.clean_rows().map(|r| r.minute));
        self.served_dates = dates_of(self.served.iter().map(|(m, _)| *m));
        self.demand = surely_reached(self.load().into_iter().map(|(_, n)| n).collect(), policy);
        self.latency_count = self.clean_rows().map(|r| u64::from(r.latency_count)).sum();
        self.latency_ms_sum = self.clean_rows().map(|r| r.latency_ms_sum).sum();
        let Some(slots) = &host.slots else { return };
        let mut by_slot = vec![Vec::new(); slots.people.len()];
        if self.enough_clean {
            for row in self.clean_rows() {
                by_slot[slots.kind.slot_of(host.calendar.local(row.minute))].push(row.requests());
            }
        }
        let overall = self.demand;
        self.slot_demand = by_slot
            .into_iter()
            .map(|seen| match seen.len() {
                0 => None,
                n if n < policy.clean_minutes_min => overall,
                _ => surely_reached(seen, policy),
            })
            .collect();
    }

    /// The clean rows, ascending.
    pub(super) fn clean_rows(&self) -> impl Iterator<Item = &BotMinute> {
        self.clean.iter().map(|i| &self.series.rows[usize::try_from(*i).unwrap_or(usize::MAX)])
    }

    /// The clean rows of `from..to`.
    fn clean_between(&self, from: i64, to: i64) -> impl Iterator<Item = &BotMinute> {
        let row = |i: &u32| &self.series.rows[usize::try_from(*i).unwrap_or(usize::MAX)];
        let start = |minute: i64| self.clean.partition_point(|i| row(i).minute < minute);
        self.clean[start(from)..start(to)].iter().map(row)
    }

    pub(super) fn clean_minutes(&self) -> usize {
        self.clean.len()
    }

    pub(super) fn served_minutes(&self) -> usize {
        self.served.len()
    }

    /// What demand is read from: the clean minutes; with too few of them, what was admitted in all served ones.
    pub(super) fn load(&self) -> Vec<(i64, u64)> {
        if self.enough_clean {
            self.clean_rows().map(|r| (r.minute, r.requests())).collect()
        } else {
            self.served.clone()
        }
    }

    /// Mean latency of the clean minutes in milliseconds.
    pub(super) fn mean_latency_ms(&self) -> Option<f64> {
        (self.latency_count > 0).then(|| float(self.latency_ms_sum) / float(self.latency_count))
    }

    /// The clean rows of each UTC date.
    pub(super) fn clean_by_date(&self) -> Vec<Vec<&BotMinute>> {
        let rows: Vec<&BotMinute> = self.clean_rows().collect();
        rows.chunk_by(|a, b| date_of(a.minute) == date_of(b.minute)).map(<[&BotMinute]>::to_vec).collect()
    }
}

/// One minute of all bots together.
#[derive(Debug, Clone, Copy)]
struct Sum {
    n: u64,
    latency_count: u64,
    latency_ms_sum: u64,
    second_max: u32,
    seconds: [u64; 60],
}

impl Sum {
    const NOTHING: Self = Self { n: 0, latency_count: 0, latency_ms_sum: 0, second_max: 0, seconds: [0; 60] };

    fn add_clean(&mut self, series: &Series, row: &BotMinute) {
        self.latency_count += u64::from(row.latency_count);
        self.latency_ms_sum += row.latency_ms_sum;
        self.second_max = self.second_max.max(row.second_max);
        for second in series.seconds_of(row) {
            self.seconds[usize::from(second.at()).min(59)] += second.requests();
        }
    }
}

/// What all bots were served, minute by minute; seconds and latency of the clean ones. A date at a time, so that the
/// memory does not grow with the number of bots.
fn served_together(bots: &[(&str, Facts<'_>)]) -> Series {
    let ends =
        |f: &Facts<'_>| f.served.first().zip(f.served.last()).map(|(a, b)| (date_of(a.0), date_of(b.0)));
    let dates = || bots.iter().filter_map(|(_, f)| ends(f));
    let (Some(first), Some(last)) = (dates().map(|d| d.0).min(), dates().map(|d| d.1).max()) else {
        return Series::default();
    };
    let mut out = Series::default();
    let mut sums = vec![Sum::NOTHING; 1440];
    for date in first..=last {
        let (from, to) = (date * DAY, (date + 1) * DAY);
        let at = |minute: i64| usize::try_from(minute - from).unwrap_or(0).min(1439);
        sums.fill(Sum::NOTHING);
        for (_, facts) in bots {
            let start = |minute: i64| facts.served.partition_point(|(m, _)| *m < minute);
            for (minute, n) in &facts.served[start(from)..start(to)] {
                sums[at(*minute)].n += n;
            }
            for row in facts.clean_between(from, to) {
                sums[at(row.minute)].add_clean(&facts.series, row);
            }
        }
        for (minute, sum) in (from..).zip(&sums).filter(|(_, sum)| sum.n > 0) {
            let row = BotMinute {
                minute,
                n: u32::try_from(sum.n).unwrap_or(u32::MAX),
                latency_count: u32::try_from(sum.latency_count).unwrap_or(u32::MAX),
                latency_ms_sum: sum.latency_ms_sum,
                second_max: sum.second_max,
                ..BotMinute::default()
            };
            let seconds: Vec<(u8, u64)> = (0..60).zip(sum.seconds).filter(|(_, n)| *n > 0).collect();
            out.push(row, &seconds, true);
        }
    }
    out
}
