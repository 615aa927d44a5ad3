//! Requests of several domains: those that are listed wait out their cooldowns, and nothing else waits for them.
//!
//! A request is routed when it is inserted. While a domain cools it holds no slot: [`Domains::next`] hands out what
//! can go, or says how long nothing can. Between domains the longest wait comes first. Example: `api.example.com`
//! answers 429 for 16 minutes; when all others are done, the crawl ends with an error that names it, and its requests
//! are still there.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BackoffLimits, DomainBackoff};

/// Names a request that was handed out, until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub(super) u64);

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<T> {
    /// Send this, then report with the ticket.
    Request(Ticket, T),
    /// Nothing can be sent: release the slot and ask again after so long, or (`None`) after the next answer.
    Wait(Option<Duration>),
    /// Only stalled domains have requests left. The requests are kept.
    Stalled(Stalled),
    /// Nothing is left.
    Finished,
}

/// The error that ends a crawl: domains that answer nothing but 429, with how long they have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stalled {
    /// Domain and time, by name.
    pub domains: Vec<(String, Duration)>,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing but 429 from ")?;
        for (i, (domain, time)) in self.domains.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{domain} for {} s", time.as_secs())?;
        }
        f.write_str("; their requests are kept: lower the concurrency, or try again later")
    }
}

impl std::error::Error for Stalled {}

/// One listed domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Lane<T> {
    backoff: DomainBackoff,
    queue: VecDeque<T>,
    /// When it got its first request or sent its last one.
    idle_since: Duration,
    /// The order of the last dispatch, for equal waits.
    turn: u64,
}

/// A request in flight and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Flight<T> {
    host: String,
    request: T,
}

/// The queues of all domains; what is not listed has one without any waiting.
///
/// Written with serde, requests in flight go with it; [`recover`](Self::recover) puts them back after reading.
///
/// ```
/// use crawl_baseline::throttle::{BackoffLimits, Domains, Next};
/// use std::time::Duration;
///
/// let s = Duration::from_secs;
/// let mut domains = Domains::new(BackoffLimits::default(), ["api.example.com"]);
/// domains.insert(s(0), "api.example.com", "/data");
/// domains.insert(s(0), "fast.example.net", "/page");
///
/// let Next::Request(first, "/data") = domains.next(s(0)) else { panic!() };
/// domains.limited(s(0), first, None);
/// let Next::Request(second, "/page") = domains.next(s(0)) else { panic!() };
/// domains.done(second);
/// assert_eq!(domains.next(s(0)), Next::Wait(Some(s(2))), "no slot is held while it cools");
/// let Next::Request(again, "/data") = domains.next(s(2)) else { panic!() };
/// domains.done(again);
/// assert_eq!(domains.next(s(2)), Next::Finished);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domains<T> {
    limits: BackoffLimits,
    /// Never ends: neither by a stall nor when nothing is left.
    pub keep_alive: bool,
    lanes: BTreeMap<String, Lane<T>>,
    /// (host, request) of hosts that are not listed.
    rest: VecDeque<Flight<T>>,
    flights: BTreeMap<Ticket, Flight<T>>,
    tickets: u64,
}

impl<T: Clone> Domains<T> {
    /// Only the listed domains are throttled: exact host names, in any case, with or without the root's dot.
    #[must_use]
    pub fn new<'a>(limits: BackoffLimits, listed: impl IntoIterator<Item = &'a str>) -> Self {
        let mut domains = Self {
            limits,
            keep_alive: false,
            lanes: BTreeMap::new(),
            rest: VecDeque::new(),
            flights: BTreeMap::new(),
            tickets: 0,
        };
        listed.into_iter().for_each(|domain| domains.list(domain));
        domains
    }

    /// Lists one more domain; its waiting requests move to it.
    pub fn list(&mut self, domain: &str) {
        let domain = normal(domain);
        if self.lanes.contains_key(&domain) {
            return;
        }
        let (own, rest) = std::mem::take(&mut self.rest).into_iter().partition(|f| f.host == domain);
        self.rest = rest;
        let own: VecDeque<Flight<T>> = own;
        let queue = own.into_iter().map(|flight| flight.request).collect();
        let backoff = DomainBackoff::new(self.limits);
        self.lanes.insert(domain, Lane { backoff, queue, idle_since: Duration::ZERO, turn: 0 });
    }

    /// The least time between two requests to a listed domain; false when it is not listed.
    pub fn set_crawl_delay(&mut self, domain: &str, delay: Duration) -> bool {
        let lane = self.lanes.get_mut(&normal(domain));
        lane.map(|lane| lane.backoff.set_crawl_delay(delay)).is_some()
    }

    /// Queues a request behind the others of its host.
    pub fn insert(&mut self, now: Duration, host: &str, request: T) {
        let host = normal(host);
        match self.lanes.get_mut(&host) {
            Some(lane) => {
                if lane.queue.is_empty() {
                    lane.idle_since = lane.idle_since.max(now);
                }
                lane.queue.push_back(request);
            }
            None => self.rest.push_back(Flight { host, request }),
        }
    }

    /// Hands out the next request, or says what to wait for.
    pub fn next(&mut self, now: Duration) -> Next<T> {
        let waiting = |lane: &&mut Lane<T>| !lane.queue.is_empty() && lane.backoff.stalled_for(now).is_none();
        let longest = self
            .lanes
            .iter_mut()
            .filter(|(_, lane)| waiting(lane) && lane.backoff.ready_at() <= now)
            .min_by_key(|(_, lane)| (lane.backoff.ready_at().max(lane.idle_since), lane.turn));
        let ticket = Ticket(self.tickets);
        let flight = match longest {
            Some((host, lane)) => lane.queue.pop_front().map(|request| {
                lane.backoff.dispatched(now);
                lane.idle_since = now;
                lane.turn = ticket.0 + 1;
                Flight { host: host.clone(), request }
            }),
            None => self.rest.pop_front(),
        };
        if let Some(flight) = flight {
            self.tickets += 1;
            let request = flight.request.clone();
            self.flights.insert(ticket, flight);
            return Next::Request(ticket, request);
        }
        self.idle(now)
    }

    /// Nothing can be sent at `now`: why, and for how long.
    fn idle(&self, now: Duration) -> Next<T> {
        let queued = || self.lanes.iter().filter(|(_, lane)| !lane.queue.is_empty());
        let cooling = queued()
            .filter(|(_, lane)| lane.backoff.stalled_for(now).is_none())
            .map(|(_, lane)| lane.backoff.ready_at())
            .min();
        if let Some(ready) = cooling {
            return Next::Wait(Some(ready.saturating_sub(now)));
        }
        if !self.flights.is_empty() {
            return Next::Wait(None);
        }
        if self.keep_alive {
            let ends = queued().map(|(_, lane)| lane.backoff.stall_ends()).min();
            return Next::Wait(ends.map(|ends| ends.saturating_sub(now)));
        }
        let domains: Vec<(String, Duration)> = queued()
            .filter_map(|(name, lane)| lane.backoff.stalled_for(now).map(|time| (name.clone(), time)))
            .collect();
        if domains.is_empty() { Next::Finished } else { Next::Stalled(Stalled { domains }) }
    }

    /// The request got an answer that is no 429, or was given up: it is returned and forgotten. None when the ticket
    /// is not in flight.
    pub fn done(&mut self, ticket: Ticket) -> Option<T> {
        let flight = self.flights.remove(&ticket)?;
        if let Some(lane) = self.lanes.get_mut(&flight.host) {
            lane.backoff.answered();
        }
        Some(flight.request)
    }

    /// The request got a 429, with the wait of its `Retry-After`. A listed domain cools and keeps the request, as the
    /// first in its queue; the 429 is no try of it. The request of another host is returned: it is not throttled
    /// here, and its retry is the caller's.
    pub fn limited(&mut self, now: Duration, ticket: Ticket, retry_after: Option<Duration>) -> Option<T> {
        let flight = self.flights.remove(&ticket)?;
        let Some(lane) = self.lanes.get_mut(&flight.host) else { return Some(flight.request) };
        lane.backoff.limited(now, retry_after);
        lane.queue.push_front(flight.request);
        None
    }

    /// Puts everything that was in flight back, oldest first: after reading a state whose workers are gone.
    pub fn recover(&mut self) {
        for (_, flight) in std::mem::take(&mut self.flights).into_iter().rev() {
            match self.lanes.get_mut(&flight.host) {
                Some(lane) => lane.queue.push_front(flight.request),
                None => self.rest.push_front(flight),
            }
        }
    }

    /// Requests that are queued or in flight.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.rest.len() + self.flights.len() + self.lanes.values().map(|lane| lane.queue.len()).sum::<usize>()
    }
}

/// A host name as it is compared.
fn normal(host: &str) -> String {
    host.trim().trim_end_matches('.').to_ascii_lowercase()
}
