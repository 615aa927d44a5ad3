//! The manifest's own keys, in the order in which they are written.
//!
//! Not the file: see `read` and `write`. Every number is per minute, hour, day or
//! millisecond as its name says. Example: `max_requests_per_minute: 76`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Evidence, Minute, Second};

/// The version that this program writes: `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// A whole throttle manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// `major.minor`; see [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated_at: Option<Second>,
    /// Program and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// `sha256:` and 64 hex digits over the canonical JSON without this key, as it was read. Writing makes it anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The minutes that the numbers rest on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// The constants that were used, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub policy: BTreeMap<String, Value>,
    /// Limits that hold over all hosts.
    pub scopes: Scopes,
    /// For hosts without an entry.
    pub rate_limiting: RateLimiting,
    /// By host; a host's own numbers are for all bots together.
    pub domain_overrides: BTreeMap<String, Entry>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            generated_at: None,
            generator: None,
            digest: None,
            window: None,
            policy: BTreeMap::new(),
            scopes: Scopes::default(),
            rate_limiting: RateLimiting::default(),
            domain_overrides: BTreeMap::new(),
        }
    }
}

impl Manifest {
    /// The entry of a bot on a host, or with `None` the host's own (all bots together).
    #[must_use]
    pub fn entry(&self, host: &str, bot: Option<&str>) -> Option<&Entry> {
        let entry = self.domain_overrides.get(host)?;
        match bot {
            None => Some(entry),
            Some(bot) => entry.bots.get(bot),
        }
    }
}

/// First and last minute, both included, and how many of them were covered by a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The first minute.
    pub from: Minute,
    /// The last minute that has a record.
    pub to: Minute,
    /// Covered minutes between them.
    pub minutes_covered: u64,
}

/// Independent counters, each with its own reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Scopes {
    /// Requests per minute over all hosts.
    pub global_per_minute: Scope,
    /// Requests per hour over all hosts.
    pub global_per_hour: Scope,
    /// Requests per hour of one credential.
    pub credential_per_hour: Scope,
    /// Requests per UTC day of one identity.
    pub identity_per_day: Scope,
}

/// One counter's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Scope {
    /// Requests; none when nothing limits them.
    pub limit: Option<u64>,
    /// Whether the limit is known: from the log, or configured.
    pub measured: bool,
}

/// The pacing of hosts without an entry. The default is the policy's: 30 requests per minute, two connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateLimiting {
    /// How requests are paced.
    pub algorithm: Algorithm,
    /// Open connections per host.
    pub max_concurrency: u64,
    /// Least pause between the starts of two requests.
    pub base_delay_ms: u64,
    /// Retries of one request.
    pub max_retries: u64,
    /// Growth of the pause on 429 and 503.
    pub backoff_multiplier: f64,
    /// Random milliseconds that are added to a pause.
    pub jitter_range_ms: u64,
    /// Whether Crawl-delay is obeyed.
    pub respect_robots_txt: bool,
    /// The status codes that are retried.
    pub retry_on_status: Vec<u16>,
    /// The pause that grows with the response time.
    pub adaptive_delay: AdaptiveDelay,
}

impl Default for RateLimiting {
    fn default() -> Self {
        Self { max_concurrency: 2, base_delay_ms: 2000, ..Self::seed_defaults() }
    }
}

impl RateLimiting {
    /// The defaults of the crawler configuration that this file is compatible with: five connections and 200 ms,
    /// which permits 300 requests per minute.
    #[must_use]
    pub fn seed_defaults() -> Self {
        Self {
            algorithm: Algorithm::TokenBucket,
            max_concurrency: 5,
            base_delay_ms: 200,
            max_retries: 3,
            backoff_multiplier: 1.5,
            jitter_range_ms: 100,
            respect_robots_txt: true,
            retry_on_status: vec![429, 502, 503, 504],
            adaptive_delay: AdaptiveDelay::default(),
        }
    }
}

/// base delay + multiplier x last response time, at most `max_delay_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AdaptiveDelay {
    /// Whether it is used.
    pub enabled: bool,
    /// Share of the last response time that is added.
    pub response_time_multiplier: f64,
    /// The longest pause that comes of it.
    pub max_delay_ms: u64,
}

impl Default for AdaptiveDelay {
    fn default() -> Self {
        Self { enabled: true, response_time_multiplier: 0.5, max_delay_ms: 5000 }
    }
}

/// How requests are paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Bursts up to the bucket.
    TokenBucket,
    /// Evenly.
    LeakyBucket,
}

/// What a host, or one bot on it, may do. Reading fills what a hand-written file leaves out, see `read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Open connections, for readers of the older key.
    pub max_concurrency: u64,
    /// Least pause between the starts of two requests: `ceil(60000 / max_requests_per_minute)`, or the Crawl-delay.
    pub base_delay_ms: u64,
    /// Random milliseconds that are added to a pause.
    pub jitter_range_ms: u64,
    /// How requests are paced.
    pub algorithm: Algorithm,
    /// The ceiling.
    pub max_requests_per_minute: u64,
    /// Requests at once, for a client that shapes itself.
    pub max_burst_capacity: u64,
    /// Open connections.
    pub max_concurrent_connections: u64,
    /// Pause after a refusal.
    pub default_cooldown_seconds: f64,
    /// Requests at once, for a server that polices.
    pub enforce_burst: u64,
    /// The ceiling in front of the CDN; none when its hit ratio is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_requests_per_minute: Option<u64>,
    /// The pace that spends the hour's budget evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub even_pace_requests_per_minute: Option<u64>,
    /// Requests per minute, hour and day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budgets: Option<Budgets>,
    /// The ceiling by slot of the week; none where capacity was never measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// When a host is left alone because it got slow.
    #[serde(default)]
    pub breaker: Breaker,
    /// Seconds of nothing but 429 after which a host is stalled.
    #[serde(default = "stall")]
    pub max_domain_stall_seconds: u64,
    /// How far the numbers are trusted; none when they were written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Grade>,
    /// Whether the numbers are to be enforced, or only reported.
    pub apply: bool,
    /// Why they are only reported: `thin_data`, `search_engine`, `no_traffic`, or the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply_reason: Option<String>,
    /// What to do first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The values that the configuration fixes, by key of this entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pinned: BTreeMap<String, Value>,
    /// Each bot of a host; empty in a bot's own entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bots: BTreeMap<String, Entry>,
    /// Why; none when the numbers were written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

const fn stall() -> u64 {
    900
}

impl Entry {
    /// What a host without an entry may do: the pacing of `rate_limiting`, the burst at most two, or ten seconds'
    /// worth of requests where that is less.
    #[must_use]
    pub fn of_defaults(defaults: &RateLimiting) -> Self {
        let rpm = (60_000 / defaults.base_delay_ms.max(1)).max(1);
        Self {
            max_concurrency: defaults.max_concurrency,
            base_delay_ms: defaults.base_delay_ms,
            jitter_range_ms: defaults.jitter_range_ms,
            algorithm: defaults.algorithm,
            max_requests_per_minute: rpm,
            max_burst_capacity: burst_of(rpm),
            max_concurrent_connections: defaults.max_concurrency,
            default_cooldown_seconds: 5.0,
            enforce_burst: rpm.div_ceil(6),
            edge_requests_per_minute: None,
            even_pace_requests_per_minute: None,
            budgets: None,
            schedule: None,
            breaker: Breaker::default(),
            max_domain_stall_seconds: stall(),
            confidence: None,
            apply: true,
            apply_reason: None,
            action: None,
            pinned: BTreeMap::new(),
            bots: BTreeMap::new(),
            evidence: None,
        }
    }
}

/// The policy's burst of two, where ten seconds hold as many.
pub(super) fn burst_of(requests_per_minute: u64) -> u64 {
    (requests_per_minute / 6).clamp(1, 2)
}

/// Requests by period. `plan_per_hour + retry_reserve_per_hour = requests_per_hour`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    /// The ceiling.
    pub requests_per_minute: u64,
    /// Per hour.
    pub requests_per_hour: u64,
    /// Per day.
    pub requests_per_day: u64,
    /// What a plan may spend in an hour.
    pub plan_per_hour: u64,
    /// What is held back for retries.
    pub retry_reserve_per_hour: u64,
    /// The most retries in an hour.
    pub retry_cap_per_hour: u64,
}

/// The ceiling by slot of the local week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// How fine the slots are.
    pub kind: ScheduleKind,
    /// IANA name of the zone in which the slots are.
    pub time_zone: String,
    /// By slot; see [`ScheduleKind`].
    pub requests_per_minute: BTreeMap<String, u64>,
    /// What people send in each slot (upper bound of their P95). Only in a host's own schedule; the lint needs it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub people_per_minute: BTreeMap<String, u64>,
}

/// How fine the slots of a schedule are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// 168 slots, `1-00` to `7-23`: ISO weekday and hour.
    HourOfWeek,
    /// 48 slots, `weekday-00` to `weekend-23`.
    HourOfDayType,
    /// 24 slots, `00` to `23`.
    HourOfDay,
    /// One slot, `all`.
    Flat,
}

impl ScheduleKind {
    /// The kind that has so many slots.
    #[must_use]
    pub fn of_slots(slots: u64) -> Option<Self> {
        match slots {
            168 => Some(Self::HourOfWeek),
            48 => Some(Self::HourOfDayType),
            24 => Some(Self::HourOfDay),
            1 => Some(Self::Flat),
            _ => None,
        }
    }

    /// How many slots it has.
    #[must_use]
    pub fn slots(self) -> u64 {
        match self {
            Self::HourOfWeek => 168,
            Self::HourOfDayType => 48,
            Self::HourOfDay => 24,
            Self::Flat => 1,
        }
    }
}

/// The latency breaker: so many responses in a row above `factor` times the reference stop the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Breaker {
    /// Responses in a row.
    pub consecutive: u64,
    /// Times the reference.
    pub factor: f64,
    /// The reference: `rolling_median`.
    pub over: String,
    /// Responses that the reference is taken over.
    pub window: u64,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { consecutive: 4, factor: 2.0, over: "rolling_median".to_owned(), window: 100 }
    }
}

/// How far an entry's numbers are trusted, `A` best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grade {
    /// Two weeks of clean minutes and a measured capacity.
    A,
    /// A week.
    B,
    /// Half an hour.
    C,
    /// Less.
    D,
    /// No bot at all.
    #[serde(rename = "none")]
    None,
}

/// What to do about a bot that gets nothing but errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is refused with 429: stop it.
    StopDenied,
    /// Something is broken: stop it and look.
    StopInvestigate,
}
