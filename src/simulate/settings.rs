//! Under what a plan is made: budgets, pacing, retries, and how each host behaves.
//!
//! Example: `concurrency 3, minutes 60, seed 1`, with the limits of a manifest.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::OriginModel;
use crate::error::Error;
use crate::manifest::{Algorithm, Entry, Manifest};
use crate::throttle::{BackoffLimits, BreakerLimits, Cooldown, HostLimits, Limits, Rate, RetryLimits};

/// Everything that a simulation depends on, beside the pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// When it begins, since the epoch; rounded down to a minute. Hours and days are those of UTC.
    pub start: Duration,
    /// How many minutes there are at most.
    pub minutes: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// Open requests over all hosts.
    pub gateway_concurrency: u64,
    /// Open requests to a host that does not say its own.
    pub concurrency: u64,
    /// The budgets.
    pub limits: Limits,
    /// Hosts that are known.
    pub hosts: BTreeMap<String, HostSettings>,
    /// All others.
    pub other_hosts: HostSettings,
    /// The account that is logged in; none: its scope does not apply.
    pub credential: Option<String>,
    /// The profile that asks; none: its scope does not apply.
    pub identity: Option<String>,
    /// The retry budget. Its reserve is `limits.retry_reserve`.
    pub retry: RetryLimits,
    /// Mean size of an answer, for the bytes of an hour.
    pub response_bytes_mean: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            start: Duration::ZERO,
            minutes: 60,
            seed: 1,
            gateway_concurrency: 20,
            concurrency: 3,
            limits: Limits::default(),
            hosts: BTreeMap::new(),
            other_hosts: HostSettings::default(),
            credential: None,
            identity: None,
            retry: RetryLimits::default(),
            response_bytes_mean: None,
        }
    }
}

/// One host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSettings {
    /// How requests are spaced; none: as soon as a budget allows.
    pub pace: Option<Pace>,
    /// The least time between two requests, as robots.txt has it.
    pub crawl_delay: Option<Duration>,
    /// Open requests; none: as everywhere.
    pub concurrency: Option<u64>,
    /// Waits before retries.
    pub cooldown: Cooldown,
    /// Cooldowns after 429.
    pub backoff: BackoffLimits,
    /// The latency breaker.
    pub breaker: BreakerLimits,
    /// How it answers.
    pub origin: OriginModel,
}

/// A token bucket on this side; a burst of 1 is a leaky bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Requests per period.
    pub rate: Rate,
    /// Requests at once.
    pub burst: u64,
}

impl Settings {
    /// What a manifest says about these hosts; those without an entry get its defaults. Origins are left as assumed,
    /// and a schedule by hour of the week is not applied: the ceiling that holds at any hour is.
    ///
    /// # Errors
    ///
    /// A usage error when an entry's rate or burst is 0.
    pub fn of_manifest<'a>(
        manifest: &Manifest,
        hosts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Error> {
        let defaults = Entry::of_defaults(&manifest.rate_limiting);
        let mut settings = Self {
            limits: Limits {
                credential_per_hour: manifest.scopes.credential_per_hour.limit,
                identity_per_day: manifest.scopes.identity_per_day.limit,
                global_per_minute: manifest.scopes.global_per_minute.limit,
                global_per_hour: manifest.scopes.global_per_hour.limit,
                ..Limits::default()
            },
            ..Self::default()
        };
        settings.retry.attempts = u32::try_from(manifest.rate_limiting.max_retries).unwrap_or(u32::MAX);
        for host in hosts {
            let entry = manifest.entry(host, None).unwrap_or(&defaults);
            let limits = HostLimits {
                per_minute: Some(entry.max_requests_per_minute),
                per_hour: entry.budgets.as_ref().map(|budgets| budgets.requests_per_hour),
            };
            settings.limits.hosts.insert(host.to_owned(), limits);
            settings.hosts.insert(host.to_owned(), HostSettings::of_entry(entry)?);
        }
        Ok(settings)
    }

    /// The settings of a host.
    #[must_use]
    pub fn host(&self, host: &str) -> &HostSettings {
        self.hosts.get(host).unwrap_or(&self.other_hosts)
    }
}

impl HostSettings {
    fn of_entry(entry: &Entry) -> Result<Self, Error> {
        let burst = match entry.algorithm {
            Algorithm::TokenBucket => entry.max_burst_capacity,
            Algorithm::LeakyBucket => 1,
        };
        let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Ok(Self {
            pace: Some(Pace { rate: Rate::per_minute(entry.max_requests_per_minute)?, burst }),
            crawl_delay: None,
            concurrency: Some(entry.max_concurrent_connections),
            cooldown: Cooldown {
                default_hint: Duration::try_from_secs_f64(entry.default_cooldown_seconds).unwrap_or_default(),
                ..Cooldown::default()
            },
            backoff: BackoffLimits {
                stall: Duration::from_secs(entry.max_domain_stall_seconds),
                ..BackoffLimits::default()
            },
            breaker: BreakerLimits {
                consecutive: count(entry.breaker.consecutive),
                factor: entry.breaker.factor,
                window: count(entry.breaker.window),
                ..BreakerLimits::default()
            },
            origin: OriginModel::default(),
        })
    }
}
