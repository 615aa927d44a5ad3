//! Budgets at several scopes at once, each with its own counter and its own reset.
//!
//! A request needs room in every scope that is set; when it finds none, the scopes that bind are named and nothing is
//! counted. Windows are fixed: minutes, hours and days of UTC. Not pacing inside a minute: see `bucket`. Example:
//! `host_per_minute: 5`, `credential_per_hour: 190`: request 191 of the hour waits until the hour ends.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::window::{until_window_ends, window_index};
use crate::error::Error;

/// What a budget is counted over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One host in a minute.
    HostPerMinute,
    /// One host in an hour.
    HostPerHour,
    /// One credential in an hour.
    CredentialPerHour,
    /// One identity in a UTC day.
    IdentityPerDay,
    /// Everything in a minute.
    GlobalPerMinute,
    /// Everything in an hour.
    GlobalPerHour,
    /// What is held back for retries in an hour.
    RetryReserve,
    /// What is held back for prerequisites in an hour.
    PrerequisiteReserve,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 8] = [
        Self::HostPerMinute,
        Self::HostPerHour,
        Self::CredentialPerHour,
        Self::IdentityPerDay,
        Self::GlobalPerMinute,
        Self::GlobalPerHour,
        Self::RetryReserve,
        Self::PrerequisiteReserve,
    ];

    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HostPerMinute => "host_per_minute",
            Self::HostPerHour => "host_per_hour",
            Self::CredentialPerHour => "credential_per_hour",
            Self::IdentityPerDay => "identity_per_day",
            Self::GlobalPerMinute => "global_per_minute",
            Self::GlobalPerHour => "global_per_hour",
            Self::RetryReserve => "retry_reserve",
            Self::PrerequisiteReserve => "prerequisite_reserve",
        }
    }

    /// How long a window is.
    #[must_use]
    pub fn window(self) -> Duration {
        Duration::from_secs(match self {
            Self::HostPerMinute | Self::GlobalPerMinute => 60,
            Self::IdentityPerDay => 86_400,
            _ => 3600,
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The limits; `None` is no limit, 0 is nothing at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Requests per minute to each host without an entry in `hosts`.
    pub host_per_minute: Option<u64>,
    /// Requests per hour to each host without an entry in `hosts`.
    pub host_per_hour: Option<u64>,
    /// The hosts that have limits of their own; an entry replaces both numbers above.
    pub hosts: BTreeMap<String, HostLimits>,
    /// Requests per hour of each credential.
    pub credential_per_hour: Option<u64>,
    /// Requests per UTC day of each identity.
    pub identity_per_day: Option<u64>,
    /// Requests per minute over all hosts.
    pub global_per_minute: Option<u64>,
    /// Requests per hour over all hosts, the reserves included.
    pub global_per_hour: Option<u64>,
    /// Held out of `global_per_hour` for retries; without it retries are paid like everything else.
    pub retry_reserve: Option<u64>,
    /// Held out of `global_per_hour` for prerequisites; without it they are paid like everything else.
    pub prerequisite_reserve: Option<u64>,
}

/// The limits of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostLimits {
    /// Requests per minute.
    pub per_minute: Option<u64>,
    /// Requests per hour.
    pub per_hour: Option<u64>,
}

/// Who asks whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Party<'a> {
    /// The host that is asked.
    pub host: &'a str,
    /// The account that is logged in; none: its scope does not apply.
    pub credential: Option<&'a str>,
    /// The device or profile; none: its scope does not apply.
    pub identity: Option<&'a str>,
}

/// What a request is paid from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fund {
    /// The hour's budget without the reserves.
    Plan,
    /// The retry reserve.
    Retry,
    /// The reserve for prerequisites.
    Prerequisite,
}

/// A scope without room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exhausted {
    /// Which.
    pub scope: Scope,
    /// Whose: a host, a credential, an identity; empty for global ones.
    pub key: String,
    /// What could be spent in a window.
    pub limit: u64,
    /// Until its window ends; [`Duration::MAX`] for a limit of 0.
    pub wait: Duration,
}

/// Why a request must not be sent: the scopes without room, the one that binds longest first. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    exhausted: Vec<Exhausted>,
}

impl Denied {
    /// The scope that binds: the one that has to be waited for longest.
    ///
    /// # Panics
    ///
    /// Never for a value that [`Scopes`] made.
    #[must_use]
    pub fn binding(&self) -> &Exhausted {
        self.exhausted.first().expect("a denial names at least one scope")
    }

    /// All of them.
    #[must_use]
    pub fn exhausted(&self) -> &[Exhausted] {
        &self.exhausted
    }
}

/// `credential_per_hour of crawler-1: all 190 are spent, 41m 20s left`, without a key for global scopes.
impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exhausted { scope, key, limit, wait } = self.binding();
        write!(f, "{scope}")?;
        if !key.is_empty() {
            write!(f, " of {key}")?;
        }
        match *wait {
            Duration::MAX => write!(f, ": nothing may be spent"),
            wait => write!(f, ": all {limit} are spent, {} s left", wait.as_secs_f64().ceil()),
        }
    }
}

/// Spending in the current window of one scope, by key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Counter {
    index: u128,
    spent: BTreeMap<String, u64>,
}

/// The counters.
///
/// ```
/// use crawl_baseline::throttle::{Fund, Limits, Party, Scope, Scopes};
/// use std::time::Duration;
///
/// let limits = Limits { host_per_minute: Some(2), credential_per_hour: Some(3), ..Limits::default() };
/// let mut scopes = Scopes::new(limits)?;
/// let party = Party { host: "www.example.com", credential: Some("reader"), identity: None };
/// let s = Duration::from_secs;
///
/// assert!(scopes.take(s(0), party, Fund::Plan).is_ok());
/// assert!(scopes.take(s(0), party, Fund::Plan).is_ok());
/// let denied = scopes.take(s(0), party, Fund::Plan).unwrap_err();
/// assert_eq!(denied.binding().scope, Scope::HostPerMinute);
///
/// assert!(scopes.take(s(60), party, Fund::Plan).is_ok(), "a new minute, the third of the hour");
/// let denied = scopes.take(s(60), party, Fund::Plan).unwrap_err();
/// assert_eq!((denied.binding().scope, denied.binding().wait), (Scope::CredentialPerHour, s(3540)));
/// assert!(scopes.unset().contains(&Scope::GlobalPerHour));
/// # Ok::<(), crawl_baseline::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scopes {
    limits: Limits,
    counters: BTreeMap<Scope, Counter>,
    /// When the last request was counted: a clock that was set back stands still here, for all scopes alike.
    latest: Duration,
}

impl Scopes {
    /// Nothing spent yet.
    ///
    /// # Errors
    ///
    /// A usage error when the reserves are more than the hour's global budget.
    pub fn new(limits: Limits) -> Result<Self, Error> {
        let reserves = limits.reserves();
        if let Some(hour) = limits.global_per_hour
            && reserves > hour
        {
            return Err(Error::usage(
                "global_per_hour",
                format_args!("the reserves hold back {reserves} of {hour} requests"),
            )
            .hint("lower the reserves, or raise the budget of the hour"));
        }
        Ok(Self { limits, counters: BTreeMap::new(), latest: Duration::ZERO })
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The scopes without a limit: what is not watched is to be said.
    #[must_use]
    pub fn unset(&self) -> Vec<Scope> {
        let limits = &self.limits;
        let of_hosts = |own: fn(&HostLimits) -> Option<u64>| limits.hosts.values().any(|h| own(h).is_some());
        Scope::ALL
            .into_iter()
            .filter(|scope| !match scope {
                Scope::HostPerMinute => limits.host_per_minute.is_some() || of_hosts(|h| h.per_minute),
                Scope::HostPerHour => limits.host_per_hour.is_some() || of_hosts(|h| h.per_hour),
                other => limits.of(*other, "").is_some(),
            })
            .collect()
    }

    /// Counts a request in every scope that it falls under, or in none.
    ///
    /// # Errors
    ///
    /// [`Denied`] with the scopes that have no room. It is a hard stop: the request must not be sent.
    pub fn take(&mut self, now: Duration, party: Party<'_>, fund: Fund) -> Result<(), Denied> {
        self.check(now, party, fund)?;
        self.latest = self.latest.max(now);
        let now = self.latest;
        for (scope, key) in keys(party, fund) {
            let index = window_index(now, scope.window());
            let counter = self.counters.entry(scope).or_default();
            if index > counter.index {
                // All keys of a scope share the window: what the last one held is not needed any more.
                *counter = Counter { index, spent: BTreeMap::new() };
            }
            match counter.spent.get_mut(key) {
                Some(spent) => *spent += 1,
                None => {
                    counter.spent.insert(key.to_owned(), 1);
                }
            }
        }
        Ok(())
    }

    /// What [`take`](Self::take) would say.
    ///
    /// # Errors
    ///
    /// [`Denied`] with the scopes that have no room.
    pub fn check(&self, now: Duration, party: Party<'_>, fund: Fund) -> Result<(), Denied> {
        let mut exhausted = Vec::new();
        for (scope, key) in keys(party, fund) {
            let Some(limit) = self.limits.of(scope, key) else { continue };
            let (limit, spent) = match (scope, fund) {
                // The plan's share of the hour: both sides without what belongs to the reserves.
                (Scope::GlobalPerHour, Fund::Plan) => {
                    let reserved: u64 = [Scope::RetryReserve, Scope::PrerequisiteReserve]
                        .into_iter()
                        .filter(|reserve| self.limits.of(*reserve, "").is_some())
                        .map(|reserve| self.spent(now, reserve, ""))
                        .sum();
                    (limit - self.limits.reserves(), self.spent(now, scope, key).saturating_sub(reserved))
                }
                _ => (limit, self.spent(now, scope, key)),
            };
            if spent >= limit {
                let wait = if limit == 0 { Duration::MAX } else { self.window_left(now, scope) };
                exhausted.push(Exhausted { scope, key: key.to_owned(), limit, wait });
            }
        }
        if exhausted.is_empty() {
            return Ok(());
        }
        exhausted.sort_by(|a, b| b.wait.cmp(&a.wait).then(a.scope.cmp(&b.scope)));
        Err(Denied { exhausted })
    }

    /// What one key has spent in the current window of a scope.
    #[must_use]
    pub fn spent(&self, now: Duration, scope: Scope, key: &str) -> u64 {
        let counter = self.counters.get(&scope);
        let index = window_index(now.max(self.latest), scope.window());
        let current = counter.filter(|counter| counter.index == index);
        current.and_then(|counter| counter.spent.get(key)).copied().unwrap_or(0)
    }

    /// What one key may still spend in the current window of a scope; none without a limit.
    #[must_use]
    pub fn left(&self, now: Duration, scope: Scope, key: &str) -> Option<u64> {
        self.limits.of(scope, key).map(|limit| limit.saturating_sub(self.spent(now, scope, key)))
    }

    fn window_left(&self, now: Duration, scope: Scope) -> Duration {
        let index = window_index(now.max(self.latest), scope.window());
        until_window_ends(now, scope.window(), index)
    }
}

impl Limits {
    /// The limit of a key, `""` for global scopes; none where nothing limits it.
    #[must_use]
    pub fn of(&self, scope: Scope, key: &str) -> Option<u64> {
        match scope {
            Scope::HostPerMinute => self.hosts.get(key).map_or(self.host_per_minute, |host| host.per_minute),
            Scope::HostPerHour => self.hosts.get(key).map_or(self.host_per_hour, |host| host.per_hour),
            Scope::CredentialPerHour => self.credential_per_hour,
            Scope::IdentityPerDay => self.identity_per_day,
            Scope::GlobalPerMinute => self.global_per_minute,
            Scope::GlobalPerHour => self.global_per_hour,
            Scope::RetryReserve => self.retry_reserve,
            Scope::PrerequisiteReserve => self.prerequisite_reserve,
        }
    }

    fn reserves(&self) -> u64 {
        self.retry_reserve.unwrap_or(0).saturating_add(self.prerequisite_reserve.unwrap_or(0))
    }
}

/// The scopes that a request falls under, with its key in each.
fn keys<'a>(party: Party<'a>, fund: Fund) -> impl Iterator<Item = (Scope, &'a str)> {
    let reserve = match fund {
        Fund::Plan => None,
        Fund::Retry => Some((Scope::RetryReserve, "")),
        Fund::Prerequisite => Some((Scope::PrerequisiteReserve, "")),
    };
    [
        Some((Scope::HostPerMinute, party.host)),
        Some((Scope::HostPerHour, party.host)),
        party.credential.map(|credential| (Scope::CredentialPerHour, credential)),
        party.identity.map(|identity| (Scope::IdentityPerDay, identity)),
        Some((Scope::GlobalPerMinute, "")),
        Some((Scope::GlobalPerHour, "")),
        reserve,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, proptest};

    fn party(host: &str) -> Party<'_> {
        Party { host, credential: Some("c"), identity: Some("i") }
    }

    #[test]
    fn a_reserve_is_held_out_of_the_plan_and_six_workers_spend_it_in_four_minutes() {
        let limits = Limits { global_per_hour: Some(260), retry_reserve: Some(24), ..Limits::default() };
        let mut scopes = Scopes::new(limits).unwrap();
        let t = Duration::from_secs;
        let planned = (0..300).filter(|_| scopes.take(t(0), party("h"), Fund::Plan).is_ok()).count();
        assert_eq!(planned, 236);
        for minute in 0..4 {
            for worker in 0..6 {
                assert!(scopes.take(t(minute * 60), party("h"), Fund::Retry).is_ok(), "{minute} {worker}");
            }
        }
        let denied = scopes.take(t(240), party("h"), Fund::Retry).unwrap_err();
        assert_eq!(denied.binding().scope, Scope::GlobalPerHour);
        assert!(denied.exhausted().iter().any(|e| e.scope == Scope::RetryReserve));
        assert!(scopes.take(t(3600), party("h"), Fund::Retry).is_ok(), "the next hour has its own");
    }

    #[test]
    fn a_denial_counts_nothing_and_names_every_scope_without_room() {
        let limits = Limits {
            host_per_minute: Some(1),
            identity_per_day: Some(1),
            global_per_hour: Some(9),
            ..Limits::default()
        };
        let mut scopes = Scopes::new(limits).unwrap();
        let now = Duration::from_secs(86_400 + 30);
        assert!(scopes.take(now, party("a"), Fund::Plan).is_ok());
        let denied = scopes.take(now, party("a"), Fund::Plan).unwrap_err();
        let names: Vec<&str> = denied.exhausted().iter().map(|e| e.scope.name()).collect();
        assert_eq!(names, ["identity_per_day", "host_per_minute"]);
        assert_eq!(denied.to_string(), "identity_per_day of i: all 1 are spent, 86370 s left");
        assert_eq!(scopes.left(now, Scope::GlobalPerHour, ""), Some(8));
        assert_eq!(scopes.unset().len(), 5);
        assert!(
            Scopes::new(Limits { global_per_hour: Some(3), retry_reserve: Some(4), ..Limits::default() })
                .is_err()
        );
    }

    #[test]
    fn a_clock_that_is_set_back_frees_nothing() {
        let limits = Limits { host_per_minute: Some(2), retry_reserve: Some(1), ..Limits::default() };
        let mut scopes = Scopes::new(limits).unwrap();
        let t = Duration::from_secs;
        assert!(scopes.take(t(3700), party("h"), Fund::Plan).is_ok());
        assert!(scopes.take(t(3500), party("h"), Fund::Retry).is_ok(), "counted in the hour that has begun");
        let denied = scopes.take(t(3500), party("h"), Fund::Plan).unwrap_err();
        assert_eq!(denied.binding().wait, t(220), "until 3720 s");
        assert_eq!(scopes.spent(t(3500), Scope::HostPerMinute, "h"), 2);
        let denied = scopes.take(t(3800), party("h"), Fund::Retry).unwrap_err();
        assert_eq!(denied.binding().scope, Scope::RetryReserve);
    }

    proptest! {
        /// Whatever is asked for at whatever time, also backwards: no window of any scope is overrun.
        #[test]
        fn no_scope_is_ever_overrun(
            asked in prop::collection::vec((0_u64..200_000, 0_usize..3, 0_usize..2, 0_usize..3), 1..400),
            limits in prop::collection::vec(prop::option::of(0_u64..12), 8),
        ) {
            let limits = Limits {
                host_per_minute: limits[0], host_per_hour: limits[1],
                hosts: BTreeMap::from([("a".to_owned(), HostLimits { per_minute: Some(2), per_hour: limits[2] })]),
                credential_per_hour: limits[3], identity_per_day: limits[4],
                global_per_minute: limits[5], global_per_hour: limits[6].map(|n| n + 3),
                retry_reserve: limits[7].map(|n| n.min(3)), prerequisite_reserve: None,
            };
            let mut scopes = Scopes::new(limits.clone()).unwrap();
            let mut used = BTreeMap::<(Scope, String, u64), u64>::new();
            let mut latest = 0;
            for (t, host, credential, fund) in asked {
                // Mostly short steps, sometimes back, sometimes a jump.
                let t = if t < 199_000 { latest + t % 40 } else { t };
                let party = Party { host: ["a", "b", "c"][host], credential: Some(["x", "y"][credential]), identity: Some("i") };
                let fund = [Fund::Plan, Fund::Plan, Fund::Retry][fund];
                if scopes.take(Duration::from_secs(t), party, fund).is_ok() {
                    latest = latest.max(t);
                    for (scope, key) in keys(party, fund) {
                        *used.entry((scope, key.to_owned(), latest / scope.window().as_secs())).or_default() += 1;
                    }
                }
                scopes = serde_json::from_str(&serde_json::to_string(&scopes).unwrap()).unwrap();
            }
            for ((scope, key, _), spent) in used {
                prop_assert!(limits.of(scope, &key).is_none_or(|limit| spent <= limit), "{scope} {key} {spent}");
            }
        }
    }
}
