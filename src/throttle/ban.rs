//! Notices a ban by the dead letters.
//!
//! Example: 200 dead letters within a minute, or half of what was asked of one host in it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Failure;

/// The span that is looked at.
const MINUTE: Duration = Duration::from_secs(60);

/// When dead letters are a ban. The default is 200 in a minute, or half of a host's requests once there are 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BanLimits {
    /// Dead letters of all hosts in a minute.
    pub dead_letters: usize,
    /// Dead letters in per cent of one host's requests in a minute.
    pub percent_of_host: usize,
    /// Requests to a host below which its share says nothing.
    pub least_requests: usize,
}

impl Default for BanLimits {
    fn default() -> Self {
        Self { dead_letters: 200, percent_of_host: 50, least_requests: 10 }
    }
}

/// What is reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    /// The host; none when it is the number over all hosts.
    pub host: Option<String>,
    /// The commonest failure among the dead letters: it tells which kind of ban.
    pub failure: Failure,
    /// Dead letters in the minute.
    pub dead_letters: usize,
    /// Requests in the minute.
    pub requests: usize,
}

/// Requests and dead letters of the last minute.
///
/// ```
/// use crawl_baseline::throttle::{BanLimits, BanWatch, Failure};
/// use std::time::Duration;
///
/// let mut watch = BanWatch::new(BanLimits::default());
/// let now = Duration::from_secs(30);
/// (0..10).for_each(|_| watch.requested(now, "a"));
/// let reports: Vec<bool> = (0..6).map(|_| watch.dead_letter(now, "a", Failure::Denied).is_some()).collect();
/// assert_eq!(reports, [false, false, false, false, true, false], "said once, when it begins");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BanWatch {
    limits: BanLimits,
    requests: BTreeMap<String, VecDeque<Duration>>,
    dead: VecDeque<(Duration, String, Failure)>,
    /// When each host (`None`: all) was reported last.
    reported: Vec<(Option<String>, Duration)>,
}

impl BanWatch {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(limits: BanLimits) -> Self {
        Self { limits, requests: BTreeMap::new(), dead: VecDeque::new(), reported: Vec::new() }
    }

    /// Counts a request that is sent.
    pub fn requested(&mut self, now: Duration, host: &str) {
        match self.requests.get_mut(host) {
            Some(times) => {
                times.push_back(now);
                while times.front().is_some_and(|first| now.saturating_sub(*first) >= MINUTE) {
                    times.pop_front();
                }
            }
            None => {
                self.requests.insert(host.to_owned(), VecDeque::from([now]));
            }
        }
    }

    /// Counts a dead letter; a ban is returned when it begins, and again at most once a minute while it lasts.
    pub fn dead_letter(&mut self, now: Duration, host: &str, failure: Failure) -> Option<Ban> {
        self.dead.push_back((now, host.to_owned(), failure));
        let past = |time: &Duration| now.saturating_sub(*time) >= MINUTE;
        while self.dead.front().is_some_and(|(time, _, _)| past(time)) {
            self.dead.pop_front();
        }
        for times in self.requests.values_mut() {
            while times.front().is_some_and(past) {
                times.pop_front();
            }
        }
        self.requests.retain(|_, times| !times.is_empty());
        self.reported.retain(|(_, time)| !past(time));

        let of_host: Vec<Failure> = self.dead.iter().filter(|d| d.1 == host).map(|d| d.2).collect();
        let asked = self.requests.get(host).map_or(0, VecDeque::len);
        let host_is_banned = asked.max(of_host.len()) >= self.limits.least_requests
            && of_host.len() * 100 >= asked * self.limits.percent_of_host;
        let (host, failures, requests) = if host_is_banned {
            (Some(host.to_owned()), of_host, asked)
        } else if self.dead.len() >= self.limits.dead_letters {
            let all = self.dead.iter().map(|d| d.2).collect();
            (None, all, self.requests.values().map(VecDeque::len).sum())
        } else {
            return None;
        };
        if self.reported.iter().any(|(reported, _)| *reported == host) {
            return None;
        }
        self.reported.push((host.clone(), now));
        Some(Ban { host, failure: commonest(&failures)?, dead_letters: failures.len(), requests })
    }
}

/// The commonest; of equally common ones the first in the order of [`Failure`].
fn commonest(failures: &[Failure]) -> Option<Failure> {
    let mut counts = BTreeMap::<Failure, usize>::new();
    for failure in failures {
        *counts.entry(*failure).or_default() += 1;
    }
    counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0))).map(|(failure, _)| failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_dead_letters_in_a_minute_are_a_ban_whatever_the_host() {
        let mut watch = BanWatch::new(BanLimits::default());
        let mut bans = Vec::new();
        for i in 0..400_u64 {
            let now = Duration::from_millis(i * 100);
            let host = format!("h{}", i % 40);
            (0..3).for_each(|_| watch.requested(now, &host));
            let failure = if i % 3 == 0 { Failure::TimedOut } else { Failure::Denied };
            bans.extend(watch.dead_letter(now, &host, failure).map(|ban| (i, ban)));
        }
        let ban = Ban { host: None, failure: Failure::Denied, dead_letters: 200, requests: 600 };
        assert_eq!(bans, [(199, ban)]);
    }

    #[test]
    fn as_many_over_ten_minutes_are_none() {
        let mut watch = BanWatch::new(BanLimits::default());
        for i in 0..400_u64 {
            let now = Duration::from_secs(i * 2);
            (0..3).for_each(|_| watch.requested(now, "h"));
            assert_eq!(watch.dead_letter(now, "h", Failure::Unavailable), None);
        }
    }
}
