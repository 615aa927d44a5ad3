//! The queue of a crawl: by identity, fair between hosts, durable.
//!
//! One identity's requests are a partition of their own, so that a worker holds one identity and a ban of it does not
//! spread. In a partition, hosts take turns. An item that is taken stays in the books until it is reported, and a
//! state that is written holds it as queued: a worker that dies loses nothing. Not whether a request may go: that is
//! asked of the other machines, through `may_go`. Example: items of two hosts with weights 2 and 1 leave as a a b a a b.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Failure, Ticket, Verdict};

/// One request to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What makes it one: usually the URL. A queue holds a key once.
    pub key: String,
    /// The host that is asked.
    pub host: String,
    /// Who asks; empty without identities.
    pub identity: String,
    /// Failed tries; a 429 is none.
    pub attempts: u32,
    /// When it is no longer wanted.
    pub deadline: Option<Duration>,
}

impl Item {
    /// An item that was not tried yet.
    #[must_use]
    pub fn new(key: &str, host: &str, identity: &str) -> Self {
        let (key, host, identity) = (key.to_owned(), host.to_owned(), identity.to_owned());
        Self { key, host, identity, attempts: 0, deadline: None }
    }
}

/// An item that left the queue without its page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The item.
    pub item: Item,
    /// Its last failure.
    pub failure: Failure,
    /// When.
    pub time: Duration,
}

/// How hosts take turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// Weighted deficit round robin: so many requests a round, 1 for hosts that are not named.
    Weighted(BTreeMap<String, u64>),
    /// The host that has waited longest.
    LongestWait,
}

/// One host of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Lane {
    ready: VecDeque<Item>,
    /// By the time from which they may be asked again.
    later: BTreeMap<(Duration, u64), Item>,
    /// Requests left of this round.
    credit: u64,
    waiting_since: Duration,
    turn: u64,
}

/// The queue.
///
/// ```
/// use crawl_baseline::throttle::{Failure, Item, Queue, Turn, Verdict};
/// use std::time::Duration;
///
/// let now = Duration::from_secs(100);
/// let mut queue = Queue::new(Turn::LongestWait);
/// assert!(queue.push(now, Item::new("https://a.example/1", "a.example", "profile-1")));
/// assert!(!queue.push(now, Item::new("https://a.example/1", "a.example", "profile-1")), "held already");
///
/// let (ticket, item) = queue.take(now, "profile-1", |_| true).unwrap();
/// assert_eq!(item.host, "a.example");
/// queue.failed(now, ticket, Failure::Unavailable, Verdict::Retry, Duration::from_secs(5));
/// assert!(queue.take(now, "profile-1", |_| true).is_none(), "it waits out its backoff");
/// let (ticket, item) = queue.take(now + Duration::from_secs(5), "profile-1", |_| true).unwrap();
/// assert_eq!(item.attempts, 1);
/// queue.done(ticket);
/// assert!(queue.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "State", into = "State")]
pub struct Queue {
    turn: Turn,
    partitions: BTreeMap<String, BTreeMap<String, Lane>>,
    /// The host whose turn it is, by identity.
    cursors: BTreeMap<String, String>,
    taken: BTreeMap<Ticket, Item>,
    keys: BTreeSet<String>,
    dead: Vec<DeadLetter>,
    count: u64,
}

/// A queue as it is written: what is taken stands as queued, first in its lane.
#[derive(Clone, Serialize, Deserialize)]
struct State {
    turn: Turn,
    /// (from when, item), in order.
    items: Vec<(Duration, Item)>,
    dead: Vec<DeadLetter>,
    count: u64,
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub fn new(turn: Turn) -> Self {
        Self {
            turn,
            partitions: BTreeMap::new(),
            cursors: BTreeMap::new(),
            taken: BTreeMap::new(),
            keys: BTreeSet::new(),
            dead: Vec::new(),
            count: 0,
        }
    }

    /// Queues an item behind those of its identity and host; false when its key is queued, taken or dead already.
    pub fn push(&mut self, now: Duration, item: Item) -> bool {
        if !self.keys.insert(item.key.clone()) {
            return false;
        }
        let lane = self.lane(&item);
        if lane.ready.is_empty() && lane.later.is_empty() {
            lane.waiting_since = now.max(lane.waiting_since);
        }
        lane.ready.push_back(item);
        true
    }

    /// Takes the next item of an identity from a host that `may_go` lets through (asked at most once for each host).
    /// Items past their deadline become dead letters on the way.
    pub fn take(
        &mut self,
        now: Duration,
        identity: &str,
        mut may_go: impl FnMut(&str) -> bool,
    ) -> Option<(Ticket, Item)> {
        let lanes = self.partitions.get_mut(identity)?;
        for lane in lanes.values_mut() {
            lane.wake(now);
            for item in lane.expire(now) {
                self.dead.push(DeadLetter { item, failure: Failure::Deadline, time: now });
            }
        }
        lanes.retain(|_, lane| !lane.ready.is_empty() || !lane.later.is_empty());
        let open: Vec<String> = lanes
            .iter()
            .filter(|(host, lane)| !lane.ready.is_empty() && may_go(host.as_str()))
            .map(|(host, _)| host.clone())
            .collect();
        let host = match &self.turn {
            Turn::LongestWait => {
                let wait = |host: &&String| lanes.get(*host).map(|lane| (lane.waiting_since, lane.turn));
                open.iter().min_by_key(wait)?.clone()
            }
            Turn::Weighted(weights) => {
                let host = next_in_round(lanes, &open, weights, self.cursors.get(identity))?;
                self.cursors.insert(identity.to_owned(), host.clone());
                host
            }
        };
        let lane = lanes.get_mut(&host)?;
        let item = lane.ready.pop_front()?;
        self.count += 1;
        lane.waiting_since = now;
        lane.turn = self.count;
        let ticket = Ticket(self.count);
        self.taken.insert(ticket, item.clone());
        Some((ticket, item))
    }

    /// The item's page came. False when the ticket is not taken, or belongs to an earlier process.
    pub fn done(&mut self, ticket: Ticket) -> bool {
        let item = self.taken.remove(&ticket);
        item.is_some_and(|item| self.keys.remove(&item.key))
    }

    /// The item failed; `verdict` is what the [`RetryBudget`](super::RetryBudget) said, `wait` the backoff. Returns the
    /// dead letter when it is one: show it to the [`BanWatch`](super::BanWatch).
    pub fn failed(
        &mut self,
        now: Duration,
        ticket: Ticket,
        failure: Failure,
        verdict: Verdict,
        wait: Duration,
    ) -> Option<&DeadLetter> {
        let mut item = self.taken.remove(&ticket)?;
        item.attempts += u32::from(failure.spends_attempt() && verdict != Verdict::Requeue);
        let wait = match verdict {
            Verdict::DeadLetter => {
                self.dead.push(DeadLetter { item, failure, time: now });
                return self.dead.last();
            }
            Verdict::Retry | Verdict::Requeue => wait,
            Verdict::Defer(left) => wait.max(left),
        };
        self.count += 1;
        let from = (now.saturating_add(wait), self.count);
        self.lane(&item).later.insert(from, item);
        None
    }

    /// When the first item of an identity that waits out a backoff may be asked again; none when none does.
    #[must_use]
    pub fn next_ready(&self, identity: &str) -> Option<Duration> {
        let lanes = self.partitions.get(identity)?;
        lanes.values().filter_map(|lane| lane.later.keys().next()).map(|(from, _)| *from).min()
    }

    /// Identities with queued items.
    pub fn identities(&self) -> impl Iterator<Item = &str> {
        let queued = |lanes: &BTreeMap<String, Lane>| lanes.values().any(|l| l.len() > 0);
        self.partitions.iter().filter(move |(_, lanes)| queued(lanes)).map(|(identity, _)| identity.as_str())
    }

    /// Items that left without their page, in the order in which they did.
    #[must_use]
    pub fn dead_letters(&self) -> &[DeadLetter] {
        &self.dead
    }

    /// Items that are queued or taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.taken.len() + self.partitions.values().flat_map(BTreeMap::values).map(Lane::len).sum::<usize>()
    }

    /// Whether nothing is queued or taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lane(&mut self, item: &Item) -> &mut Lane {
        self.partitions.entry(item.identity.clone()).or_default().entry(item.host.clone()).or_default()
    }
}

impl Lane {
    fn len(&self) -> usize {
        self.ready.len() + self.later.len()
    }

    /// Items whose backoff is over go first: they have waited longest.
    fn wake(&mut self, now: Duration) {
        let rest = self.later.split_off(&(now, u64::MAX));
        for (_, item) in std::mem::replace(&mut self.later, rest).into_iter().rev() {
            self.ready.push_front(item);
        }
    }

    fn expire(&mut self, now: Duration) -> Vec<Item> {
        let over = |item: &Item| item.deadline.is_some_and(|deadline| deadline <= now);
        if !self.ready.iter().any(over) {
            return Vec::new();
        }
        let (dead, ready) = std::mem::take(&mut self.ready).into_iter().partition(over);
        self.ready = ready;
        dead.into()
    }
}

/// Deficit round robin with items of equal size: the host at the cursor goes on while it has credit, then the next
/// one gets its weight. A host that cannot go loses its turn and saves nothing up.
fn next_in_round(
    lanes: &mut BTreeMap<String, Lane>,
    open: &[String],
    weights: &BTreeMap<String, u64>,
    cursor: Option<&String>,
) -> Option<String> {
    if let Some(host) = cursor.filter(|host| open.contains(host))
        && let Some(lane) = lanes.get_mut(host)
        && lane.credit > 0
    {
        lane.credit -= 1;
        return Some(host.clone());
    }
    let after = open.iter().find(|host| cursor.is_none_or(|cursor| *host > cursor));
    let host = after.or(open.first())?.clone();
    let weight = weights.get(&host).copied().unwrap_or(1).max(1);
    lanes.get_mut(&host)?.credit = weight - 1;
    Some(host)
}

impl From<Queue> for State {
    fn from(queue: Queue) -> Self {
        let taken = queue.taken.into_values().map(|item| (Duration::ZERO, item));
        let lanes = queue.partitions.into_values().flat_map(BTreeMap::into_values);
        let queued = lanes.flat_map(|lane| {
            let later = lane.later.into_iter().map(|((from, _), item)| (from, item));
            lane.ready.into_iter().map(|item| (Duration::ZERO, item)).chain(later)
        });
        Self { turn: queue.turn, items: taken.chain(queued).collect(), dead: queue.dead, count: queue.count }
    }
}

impl From<State> for Queue {
    fn from(state: State) -> Self {
        let mut queue = Self { dead: state.dead, count: state.count, ..Self::new(state.turn) };
        queue.keys = queue.dead.iter().map(|letter| letter.item.key.clone()).collect();
        for (from, item) in state.items {
            // A file that was edited or joined may hold a key twice.
            if !queue.keys.insert(item.key.clone()) {
                continue;
            }
            if from.is_zero() {
                queue.lane(&item).ready.push_back(item);
            } else {
                queue.count += 1;
                let from = (from, queue.count);
                queue.lane(&item).later.insert(from, item);
            }
        }
        queue
    }
}
