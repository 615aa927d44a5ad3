//! How many requests may be open at once, per host and in all, and whether that cap is right.
//!
//! Caps come from configuration and the proxy gateway's allowance, never from the length of a queue, and nothing here
//! raises them: a slow host must not get more workers. Example: 3 for each host, 20 in all; a breaker's trip makes
//! the host's 2.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why no slot is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Full {
    /// The host's own cap.
    Host,
    /// The cap over all hosts: another host would not find a slot either.
    Global,
}

/// The slots of all hosts.
///
/// ```
/// use crawl_baseline::throttle::{Full, Slots};
///
/// let mut slots = Slots::new(3, 2);
/// assert_eq!(slots.acquire("a"), Ok(()));
/// assert_eq!(slots.acquire("a"), Ok(()));
/// assert_eq!(slots.acquire("a"), Err(Full::Host), "a slow host takes no worker from others");
/// assert_eq!(slots.acquire("b"), Ok(()));
/// assert_eq!(slots.acquire("c"), Err(Full::Global));
/// slots.release("a");
/// slots.lower("a");
/// assert_eq!(slots.acquire("a"), Err(Full::Host), "the cap of a is 1 now");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots {
    global: u64,
    per_host: u64,
    caps: BTreeMap<String, u64>,
    open: BTreeMap<String, u64>,
}

impl Slots {
    /// `global` slots in all, `per_host` for each host without a cap of its own; at least one of each.
    #[must_use]
    pub fn new(global: u64, per_host: u64) -> Self {
        Self {
            global: global.max(1),
            per_host: per_host.max(1),
            caps: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Sets the cap of one host, at least 1.
    pub fn set_cap(&mut self, host: &str, cap: u64) {
        self.caps.insert(host.to_owned(), cap.max(1));
    }

    /// The cap of a host.
    #[must_use]
    pub fn cap(&self, host: &str) -> u64 {
        self.caps.get(host).copied().unwrap_or(self.per_host)
    }

    /// Whether [`acquire`](Self::acquire) would find a slot.
    ///
    /// # Errors
    ///
    /// [`Full`] names the cap that is reached.
    pub fn check(&self, host: &str) -> Result<(), Full> {
        if self.in_flight() >= self.global {
            Err(Full::Global)
        } else if self.open.get(host).copied().unwrap_or(0) >= self.cap(host) {
            Err(Full::Host)
        } else {
            Ok(())
        }
    }

    /// Opens a request.
    ///
    /// # Errors
    ///
    /// [`Full`] names the cap that is reached; nothing was opened.
    pub fn acquire(&mut self, host: &str) -> Result<(), Full> {
        self.check(host)?;
        *self.open.entry(host.to_owned()).or_default() += 1;
        Ok(())
    }

    /// Closes a request that [`acquire`](Self::acquire) opened; one that was not open changes nothing.
    pub fn release(&mut self, host: &str) {
        if let Some(open) = self.open.get_mut(host) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                self.open.remove(host);
            }
        }
    }

    /// Lowers the cap of a host by one, not below one: what a breaker's trip asks for.
    pub fn lower(&mut self, host: &str) {
        let cap = self.cap(host).saturating_sub(1).max(1);
        self.caps.insert(host.to_owned(), cap);
    }

    /// Open requests in all.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.open.values().sum()
    }
}

/// What the ratio of open to completed requests says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backlog {
    /// Below 2.
    Healthy,
    /// From 2 to 8.
    Growing,
    /// Above 8: the latency is the depth of a queue, not the server's.
    Unbounded,
}

/// Open requests against those completed per second, over the last minute.
///
/// By Little's law the ratio is the seconds that a request spends in flight. Completions are counted per second of
/// the clock, so the state stays small.
///
/// ```
/// use crawl_baseline::throttle::{Backlog, InFlightRatio};
/// use std::time::Duration;
///
/// let mut ratio = InFlightRatio::default();
/// // 8 workers at 1.9 s: 252 completed in a minute.
/// for i in 0..252 {
///     ratio.completed(Duration::from_millis(i * 238));
/// }
/// let now = Duration::from_secs(59);
/// assert!((ratio.at(now, 8).unwrap() - 1.9).abs() < 0.01);
/// assert_eq!(ratio.backlog(now, 8), Backlog::Healthy);
/// assert_eq!(ratio.backlog(now, 40), Backlog::Unbounded, "more workers, the same throughput");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InFlightRatio {
    /// (second, completed in it), ascending.
    seconds: VecDeque<(u64, u64)>,
}

impl InFlightRatio {
    /// Counts a completed request.
    pub fn completed(&mut self, now: Duration) {
        let second = self.seconds.back().map_or(now.as_secs(), |(last, _)| now.as_secs().max(*last));
        match self.seconds.back_mut() {
            Some((last, n)) if *last == second => *n += 1,
            _ => self.seconds.push_back((second, 1)),
        }
        while self.seconds.front().is_some_and(|(first, _)| first + 60 <= second) {
            self.seconds.pop_front();
        }
    }

    /// The ratio; none when nothing was completed in the last minute.
    #[must_use]
    pub fn at(&self, now: Duration, in_flight: u64) -> Option<f64> {
        let recent = self.seconds.iter().filter(|(second, _)| second + 60 > now.as_secs());
        let completed: u64 = recent.map(|(_, n)| n).sum();
        (completed > 0).then(|| in_flight as f64 * 60.0 / completed as f64)
    }

    /// What it means. Open requests of which none was completed in a minute are unbounded.
    #[must_use]
    pub fn backlog(&self, now: Duration, in_flight: u64) -> Backlog {
        match self.at(now, in_flight) {
            None if in_flight == 0 => Backlog::Healthy,
            Some(ratio) if ratio < 2.0 => Backlog::Healthy,
            Some(ratio) if ratio <= 8.0 => Backlog::Growing,
            _ => Backlog::Unbounded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn no_cap_is_ever_exceeded(steps in prop::collection::vec((0_usize..3, any::<bool>(), 0_u8..20), 1..200)) {
            let mut slots = Slots::new(4, 2);
            slots.set_cap("b", 3);
            let mut open = [0_u64; 3];
            for (i, acquires, lowers) in steps {
                let host = ["a", "b", "c"][i];
                if lowers == 0 { slots.lower(host); }
                if acquires {
                    if slots.acquire(host).is_ok() {
                        open[i] += 1;
                        prop_assert!(open[i] <= slots.cap(host));
                    }
                } else {
                    slots.release(host);
                    open[i] = open[i].saturating_sub(1);
                }
                prop_assert_eq!(slots.in_flight(), open.iter().sum::<u64>());
                prop_assert!(slots.in_flight() <= 4);
            }
        }
    }
}
