//! The run itself: logical minutes in which the best pages are picked under all budgets, and a virtual clock inside
//! each of them on which they start, are answered, and fail.
//!
//! A budget is spent when a request starts and not when it is picked, so that none is overrun by what is late; what
//! was picked and could not start goes back at the end of the minute. Example: 8 a minute over all hosts and 5 to one:
//! the 5 best of the first host and the 3 best of the second.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use super::host::Host;
use super::report::{BudgetReport, MinuteReport};
use super::{Answer, Page, Settings, outcome};
use crate::error::Error;
use crate::throttle::{
    Backlog, Ban, BanLimits, BanWatch, DeadLetter, Denied, Failure, Fund, InFlightRatio, Item, Party,
    Refusal, RetryAfter, RetryBudget, Scope, Scopes, Slots, SplitMix64, Verdict,
};

const MINUTE: Duration = Duration::from_secs(60);

/// Plans and plays the fetching of `pages`. The same arguments give the same report.
///
/// Pages with the same URL are one; the first counts. 100,000 pages of five hosts take 0.8 s without optimisation, of
/// 500 hosts 3.2 s (every start looks at every host).
///
/// # Errors
///
/// A usage error when the settings hold a limit that cannot be: a rate, burst or capacity of 0, reserves above the
/// hour's budget, a value that is no number.
///
/// ```
/// use crawl_baseline::simulate::{Page, Settings, simulate};
/// use crawl_baseline::throttle::Limits;
///
/// let pages: Vec<Page> =
///     (0..12).map(|i| Page::new(&format!("https://a.example/{i:02}"), "a.example", 1.0)).collect();
/// let limits = Limits { host_per_minute: Some(5), ..Limits::default() };
/// let report = simulate(&pages, &Settings { limits, ..Settings::default() })?;
/// assert_eq!(report.delivered, 12);
/// assert_eq!(report.minutes.iter().map(|m| m.spent).collect::<Vec<_>>(), [5, 5, 2]);
/// # Ok::<(), crawl_baseline::error::Error>(())
/// ```
pub fn simulate(pages: &[Page], settings: &Settings) -> Result<BudgetReport, Error> {
    let mut run = Run::new(pages, settings)?;
    for minute in 0..settings.minutes {
        let spent = run.minute(minute);
        if run.is_finished() || (spent == 0 && run.next_chance() >= run.horizon()) {
            break;
        }
    }
    run.land();
    Ok(outcome::report(run))
}

/// What is known of a page beside the page.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// Failures that were tries of it.
    pub(super) attempts: u32,
    /// It failed before.
    pub(super) failed: bool,
}

/// An answer on its way.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    at: Duration,
    order: u64,
    host: usize,
    rank: usize,
    status: u16,
    latency: Duration,
    retry_after: Option<Duration>,
}

pub(super) struct Run<'a> {
    pub(super) settings: &'a Settings,
    /// By density, best first; equal ones by URL.
    pub(super) pages: Vec<&'a Page>,
    pub(super) progress: Vec<Progress>,
    host_of: Vec<usize>,
    pub(super) hosts: Vec<Host>,
    /// Pages that are still fresh, or whose retry could not be paid, by the time when they are due.
    pub(super) waiting: BTreeSet<(Duration, usize)>,
    pub(super) scopes: Scopes,
    slots: Slots,
    budget: RetryBudget,
    watch: BanWatch,
    source: SplitMix64,
    ratio: InFlightRatio,
    flights: BinaryHeap<Reverse<Flight>>,
    order: u64,
    start: Duration,
    pub(super) now: Duration,
    row: MinuteReport,
    pub(super) minutes: Vec<MinuteReport>,
    pub(super) peaks: BTreeMap<(Scope, String), u64>,
    pub(super) dead: Vec<DeadLetter>,
    pub(super) bans: Vec<Ban>,
    pub(super) delivered: u64,
    pub(super) prerequisites: u64,
    pub(super) retries: u64,
    pub(super) ratio_max: Option<f64>,
    pub(super) backlog: Backlog,
}

impl<'a> Run<'a> {
    fn new(pages: &'a [Page], settings: &'a Settings) -> Result<Self, Error> {
        let mut seen = BTreeSet::new();
        let mut pages: Vec<&Page> = pages.iter().filter(|page| seen.insert(page.url.as_str())).collect();
        if let Some(page) = pages.iter().find(|page| !page.density().is_finite()) {
            return Err(Error::usage(&page.url, "its value is no number").hint("check score and yields"));
        }
        pages.sort_by(|a, b| b.density().total_cmp(&a.density()).then_with(|| a.url.cmp(&b.url)));
        let names: BTreeSet<&str> = pages.iter().map(|page| page.host.as_str()).collect();
        let start = Duration::from_secs(settings.start.as_secs() / 60 * 60);
        let mut slots = Slots::new(settings.gateway_concurrency, settings.concurrency);
        let mut hosts = Vec::new();
        let mut index = BTreeMap::new();
        for name in names {
            let of_host = settings.host(name);
            if let Some(cap) = of_host.concurrency {
                slots.set_cap(name, cap);
            }
            index.insert(name, hosts.len());
            let limit = settings.limits.of(Scope::HostPerMinute, name);
            hosts.push(Host::new(name, of_host, start, limit, slots.cap(name))?);
        }
        let host_of: Vec<usize> = pages.iter().map(|page| index[page.host.as_str()]).collect();
        let waiting = pages.iter().enumerate().map(|(rank, page)| (page.due_at(), rank)).collect();
        Ok(Self {
            settings,
            progress: vec![Progress::default(); pages.len()],
            pages,
            host_of,
            hosts,
            waiting,
            scopes: Scopes::new(settings.limits.clone())?,
            slots,
            budget: RetryBudget::new(settings.retry),
            watch: BanWatch::new(BanLimits::default()),
            source: SplitMix64::new(settings.seed),
            ratio: InFlightRatio::default(),
            flights: BinaryHeap::new(),
            order: 0,
            start,
            now: start,
            row: empty_row(0),
            minutes: Vec::new(),
            peaks: BTreeMap::new(),
            dead: Vec::new(),
            bans: Vec::new(),
            delivered: 0,
            prerequisites: 0,
            retries: 0,
            ratio_max: None,
            backlog: Backlog::Healthy,
        })
    }

    fn horizon(&self) -> Duration {
        let seconds = self.settings.minutes.saturating_mul(60);
        self.start.saturating_add(Duration::from_secs(seconds))
    }

    /// Plays one minute; what was sent in it.
    fn minute(&mut self, minute: u64) -> u64 {
        let begin = self.start.saturating_add(Duration::from_secs(minute.saturating_mul(60)));
        let end = begin.saturating_add(MINUTE);
        self.row = empty_row(minute);
        self.now = begin;
        let mut pick = true;
        loop {
            pick |= self.take_answers();
            pick |= self.wake();
            if pick {
                self.pick();
                pick = false;
            }
            self.start_all();
            match self.next_event() {
                Some(next) if next < end => self.now = next,
                _ => break,
            }
        }
        for host in &mut self.hosts {
            host.return_picked(|rank| self.pages[rank].prerequisite);
        }
        // The last moment of the minute: what its windows still hold.
        self.now = end.saturating_sub(Duration::from_nanos(1));
        self.row.left = outcome::left(&self.scopes, &self.peaks, self.settings, &self.hosts, self.now);
        let in_flight = self.slots.in_flight();
        let ratio = self.ratio.at(self.now, in_flight);
        self.ratio_max = self.ratio_max.into_iter().chain(ratio).reduce(f64::max);
        self.backlog = self.backlog.max(self.ratio.backlog(self.now, in_flight));
        let spent = self.row.spent;
        self.minutes.push(std::mem::replace(&mut self.row, empty_row(0)));
        spent
    }

    /// Moves pages that have become due to their hosts, and notices hosts that opened again.
    fn wake(&mut self) -> bool {
        let mut changed = false;
        while let Some((due, rank)) = self.waiting.first().copied().filter(|(due, _)| *due <= self.now) {
            self.waiting.remove(&(due, rank));
            self.hosts[self.host_of[rank]].queue(rank, self.pages[rank].prerequisite);
            changed = true;
        }
        for host in &mut self.hosts {
            if host.was_closed && host.closed_until(self.now).is_none() {
                host.was_closed = false;
                changed = true;
            }
        }
        changed
    }

    /// Picks the best pages that all budgets have room for, beside those that are picked already.
    fn pick(&mut self) {
        let mut scopes = self.scopes.clone();
        for host in &self.hosts {
            for (_, fund) in &host.picked {
                // What was picked under room that a retry has taken since will not start.
                let _room = scopes.take(self.now, party(self.settings, &host.name), *fund);
            }
        }
        // The best of each lane; a lane that a budget stops is out for this minute.
        let mut heads = BinaryHeap::new();
        for (i, host) in self.hosts.iter().enumerate() {
            if host.closed_until(self.now).is_none() {
                heads.extend(host.pages.first().map(|rank| Reverse((*rank, i))));
                heads.extend(host.prerequisites.first().map(|rank| Reverse((*rank, i))));
            }
        }
        while let Some(Reverse((rank, i))) = heads.pop() {
            let prerequisite = self.pages[rank].prerequisite;
            let host = &mut self.hosts[i];
            let Some(fund) = fund_for(&mut scopes, self.now, self.settings, &host.name, prerequisite) else {
                continue;
            };
            let lane = if prerequisite { &mut host.prerequisites } else { &mut host.pages };
            lane.remove(&rank);
            heads.extend(lane.first().map(|rank| Reverse((*rank, i))));
            host.picked.push_back((rank, fund));
        }
    }

    /// Starts everything that can start now: retries first, then by density.
    fn start_all(&mut self) {
        loop {
            let mut best: Option<(bool, usize, usize)> = None;
            for (i, host) in self.hosts.iter().enumerate() {
                let retry = host.due_retry(self.now);
                let Some(rank) = retry.or_else(|| host.picked.front().map(|(rank, _)| *rank)) else {
                    continue;
                };
                let key = (retry.is_none(), rank, i);
                if best.is_none_or(|best| key < best)
                    && host.ready_at(self.now) <= self.now
                    && self.slots.check(&host.name).is_ok()
                {
                    best = Some(key);
                }
            }
            match best {
                Some((false, rank, i)) => self.start_retry(rank, i),
                Some((true, _, i)) => {
                    if let Some((rank, fund)) = self.hosts[i].picked.pop_front()
                        && self.send(rank, i, fund).is_err()
                    {
                        self.hosts[i].queue(rank, self.pages[rank].prerequisite);
                    }
                }
                None => return,
            }
        }
    }

    fn start_retry(&mut self, rank: usize, i: usize) {
        if let Some((from, _)) = self.hosts[i].retries.iter().find(|(_, other)| *other == rank).copied() {
            self.hosts[i].retries.remove(&(from, rank));
        }
        match self.send(rank, i, Fund::Retry) {
            Ok(()) => {
                self.retries += 1;
                self.row.retries += 1;
            }
            Err(denied) => {
                let until = self.now.saturating_add(denied.binding().wait);
                self.again_at(rank, i, until);
            }
        }
    }

    /// Spends a request, if all scopes have room.
    fn send(&mut self, rank: usize, i: usize, fund: Fund) -> Result<(), Denied> {
        let host = &mut self.hosts[i];
        let party = party(self.settings, &host.name);
        self.scopes.take(self.now, party, fund)?;
        outcome::note_peaks(&mut self.peaks, &self.scopes, self.now, party, fund);
        let opened = self.slots.acquire(&host.name);
        debug_assert!(opened.is_ok(), "a start is asked for only when a slot is free");
        host.started(self.now);
        self.watch.requested(self.now, &host.name);
        self.row.spent += 1;
        *self.row.hosts.entry(host.name.clone()).or_default() += 1;
        let density = self.pages[rank].density();
        self.row.lowest_value = Some(self.row.lowest_value.map_or(density, |lowest| lowest.min(density)));

        let Answer { status, latency, retry_after } = host.origin.ask(self.now, self.source.uniform());
        self.order += 1;
        let at = self.now.saturating_add(latency);
        let flight = Flight { at, order: self.order, host: i, rank, status, latency, retry_after };
        self.flights.push(Reverse(flight));
        Ok(())
    }

    /// Takes in the answers that have come; true when a host closed and gave its share of the minute back.
    fn take_answers(&mut self) -> bool {
        let mut closed = false;
        while self.flights.peek().is_some_and(|Reverse(flight)| flight.at <= self.now) {
            let Some(Reverse(flight)) = self.flights.pop() else { break };
            closed |= self.answered(&flight);
        }
        closed
    }

    fn answered(&mut self, flight: &Flight) -> bool {
        let Flight { at, host: i, rank, status, latency, retry_after, .. } = *flight;
        let host = &mut self.hosts[i];
        let was_closed = host.closed_until(at).is_some();
        self.slots.release(&host.name);
        self.ratio.completed(at);
        host.answered(latency);
        match Failure::of_status(status) {
            None => {
                host.backoff.answered();
                host.report.successes += 1;
                self.budget.succeeded(at);
                if self.pages[rank].prerequisite {
                    self.prerequisites += 1;
                } else {
                    self.delivered += 1;
                }
            }
            Some(failure) => {
                if failure == Failure::RateLimited {
                    host.report.rate_limited += 1;
                    host.backoff.limited(at, retry_after);
                } else {
                    host.report.unavailable += 1;
                    host.backoff.answered();
                }
                self.failed(rank, i, failure, retry_after, at, was_closed);
            }
        }
        let host = &mut self.hosts[i];
        // A refusal is fast and says nothing about how busy the origin is.
        if status != 429 && host.breaker.observe(at, latency) {
            self.slots.lower(&host.name);
        }
        if was_closed || host.closed_until(at).is_none() {
            return false;
        }
        host.was_closed = true;
        host.return_picked(|rank| self.pages[rank].prerequisite);
        true
    }

    fn failed(
        &mut self,
        rank: usize,
        i: usize,
        failure: Failure,
        retry_after: Option<Duration>,
        at: Duration,
        host_affected: bool,
    ) {
        let progress = &mut self.progress[rank];
        progress.failed = true;
        progress.attempts += u32::from(failure.spends_attempt() && !host_affected);
        let attempts = progress.attempts;
        let verdict = self.budget.failed(at, failure, attempts, host_affected);
        match verdict {
            Verdict::DeadLetter => self.bury(rank, i, failure),
            Verdict::Requeue => self.hosts[i].queue(rank, self.pages[rank].prerequisite),
            // No retry any more: when the window of the retry budget is over, it is a page like any other.
            Verdict::Defer(left) => {
                self.waiting.insert((at.saturating_add(left), rank));
            }
            Verdict::Retry => {
                let refusal = match failure {
                    Failure::RateLimited => Refusal::Limited(retry_after.map(RetryAfter::Delay)),
                    _ => Refusal::Failed,
                };
                let cooldown = self.hosts[i].cooldown;
                // How often it may be tried is the budget's to say; here only the wait.
                let before = attempts.saturating_sub(1).min(cooldown.tries.saturating_sub(2));
                let wait = cooldown.wait(at, before, refusal, self.source.uniform());
                self.again_at(rank, i, at.saturating_add(wait.unwrap_or(cooldown.max)));
            }
        }
    }

    fn again_at(&mut self, rank: usize, i: usize, from: Duration) {
        self.hosts[i].retries.insert((from, rank));
    }

    fn bury(&mut self, rank: usize, i: usize, failure: Failure) {
        let mut item = Item::new(
            &self.pages[rank].url,
            &self.hosts[i].name,
            self.settings.identity.as_deref().unwrap_or(""),
        );
        item.attempts = self.progress[rank].attempts;
        self.bans.extend(self.watch.dead_letter(self.now, &item.host, failure));
        self.dead.push(DeadLetter { item, failure, time: self.now });
    }

    /// When something can happen after `now`, unless only a new minute brings it.
    fn next_event(&self) -> Option<Duration> {
        let answer = self.flights.peek().map(|Reverse(flight)| flight.at);
        let due = self.waiting.first().map(|(due, _)| *due);
        let hosts = self.hosts.iter().flat_map(|host| {
            let reopens = host.closed_until(self.now).filter(|_| host.was_closed);
            let retry = host.retries.first().map(|(from, _)| *from);
            // With a free slot the pace decides; without one, the answer that frees it is an event of its own.
            let waits = !host.picked.is_empty() || host.due_retry(self.now).is_some();
            let paced = (waits && self.slots.check(&host.name).is_ok()).then(|| host.ready_at(self.now));
            [reopens, retry, paced].into_iter().flatten()
        });
        hosts.chain(answer).chain(due).filter(|time| *time > self.now).min()
    }

    /// Whether nothing is left to be done.
    fn is_finished(&self) -> bool {
        self.flights.is_empty()
            && self.waiting.is_empty()
            && self
                .hosts
                .iter()
                .all(|host| host.pages.is_empty() && host.prerequisites.is_empty() && host.retries.is_empty())
    }

    /// The earliest time at which anything can go on after a minute without requests.
    fn next_chance(&self) -> Duration {
        let queued = self.hosts.iter().filter(|h| !h.pages.is_empty() || !h.prerequisites.is_empty());
        let lanes = queued.map(|host| {
            let party = party(self.settings, &host.name);
            let budget = match self.scopes.check(self.now, party, Fund::Plan) {
                Ok(()) => self.now,
                Err(denied) => self.now.saturating_add(denied.binding().wait),
            };
            budget.max(host.ready_at(self.now))
        });
        let next = lanes.chain(self.next_event()).min();
        next.unwrap_or(Duration::MAX)
    }

    /// Lets what is in flight at the end arrive.
    fn land(&mut self) {
        while let Some(Reverse(flight)) = self.flights.pop() {
            self.answered(&flight);
        }
    }
}

/// Who asks a host under these settings.
pub(super) fn party<'a>(settings: &'a Settings, host: &'a str) -> Party<'a> {
    Party { host, credential: settings.credential.as_deref(), identity: settings.identity.as_deref() }
}

/// What pays for one more request: a prerequisite is paid from its reserve while that lasts, then like a page.
fn fund_for(
    scopes: &mut Scopes,
    now: Duration,
    settings: &Settings,
    host: &str,
    prerequisite: bool,
) -> Option<Fund> {
    let funds: &[Fund] = if prerequisite && scopes.limits().prerequisite_reserve.is_some() {
        &[Fund::Prerequisite, Fund::Plan]
    } else {
        &[Fund::Plan]
    };
    funds.iter().copied().find(|fund| scopes.take(now, party(settings, host), *fund).is_ok())
}

fn empty_row(minute: u64) -> MinuteReport {
    MinuteReport {
        minute,
        spent: 0,
        retries: 0,
        hosts: BTreeMap::new(),
        left: BTreeMap::new(),
        lowest_value: None,
    }
}
