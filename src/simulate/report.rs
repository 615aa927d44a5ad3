//! What a simulation found: `budget_report.json`.
//!
//! Keys are added, never renamed. Example: `"hosts": {"www.example.com": {"rpm_peak": 76, "rate_limited": 0}}`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Chain;
use crate::error::Error;
use crate::json;
use crate::throttle::{Backlog, Ban, DeadLetter, Revisit, Scope};

/// The version of [`BudgetReport`].
pub const REPORT_VERSION: u32 = 1;

/// What messages call it.
pub const REPORT_KIND: json::Kind = json::Kind {
    name: "budget report of this program",
    hint: "`crawl-baseline simulate` writes one",
    schema_version: REPORT_VERSION as u64,
};

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetReport {
    /// [`REPORT_VERSION`].
    pub schema_version: u32,
    /// The seed: with the inputs it makes the same report again.
    pub seed: u64,
    /// `sha256:` digests of the inputs, by name; filled in by whoever read them.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// URLs that were to be fetched.
    pub queued: u64,
    /// Requests that were sent, retries included.
    pub requests: u64,
    /// Pages that came, prerequisites not counted.
    pub delivered: u64,
    /// Prerequisites that came.
    pub prerequisites: u64,
    /// Requests per delivered page; none without any.
    pub requests_per_delivered_row: Option<f64>,
    /// Answers without a failure, of all requests; none without any.
    pub success_share: Option<f64>,
    /// Requests that were retries.
    pub retries: u64,
    /// Of all requests; none without any.
    pub retry_share: Option<f64>,
    /// Answers 429.
    pub rate_limited: u64,
    /// Answers 503.
    pub unavailable: u64,
    /// How often a latency breaker stopped a host.
    pub breaker_trips: u64,
    /// The highest ratio of open requests to those completed per second, at the end of a minute.
    pub in_flight_ratio_max: Option<f64>,
    /// The worst that it meant.
    pub backlog: Backlog,
    /// The most bytes in an hour; none when no size was given.
    pub bytes_per_hour_max: Option<u64>,
    /// What held the rest back; none when nothing was.
    pub binding: Option<Binding>,
    /// Budgets of an hour or a day that were spent to the last request at the end.
    pub exhausted: Vec<ScopeKey>,
    /// Budgets without a limit: nothing watched them.
    pub unset: Vec<Scope>,
    /// Spending by scope and key.
    pub scopes: Vec<Spending>,
    /// By host.
    pub hosts: BTreeMap<String, HostReport>,
    /// Minute by minute.
    pub minutes: Vec<MinuteReport>,
    /// What was not fetched and why, best first.
    pub deferred: Vec<Deferred>,
    /// What was given up.
    pub dead_letters: Vec<DeadLetter>,
    /// Dead letters that look like a ban.
    pub bans: Vec<Ban>,
    /// URLs that no link leads to; filled in where links were given.
    #[serde(default)]
    pub orphans: Vec<Chain>,
}

impl BudgetReport {
    /// The JSON text, indented, with a line feed at its end.
    ///
    /// # Errors
    /// When the text does not fit into memory.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::runtime("budget report", "cannot be written as JSON").cause(e))?;
        text.push('\n');
        Ok(text)
    }

    /// Reads a report back; `place` is the path that errors name. Keys that this version does not know are ignored.
    ///
    /// # Errors
    /// A usage error when the text is no report of this version, with the line and the key.
    pub fn from_json(text: &str, place: &str) -> Result<Self, Error> {
        json::read(text, place, REPORT_KIND)
    }
}

/// One minute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MinuteReport {
    /// From 0.
    pub minute: u64,
    /// Requests that were sent in it.
    pub spent: u64,
    /// Of them retries.
    pub retries: u64,
    /// By host; only hosts with requests.
    pub hosts: BTreeMap<String, u64>,
    /// What is left of budgets of an hour or a day at its end, by scope and key.
    pub left: BTreeMap<Scope, BTreeMap<String, u64>>,
    /// The least density that was sent; none without requests.
    pub lowest_value: Option<f64>,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostReport {
    /// Requests that were sent.
    pub requests: u64,
    /// Pages that came, prerequisites included.
    pub successes: u64,
    /// The busiest calendar minute.
    pub rpm_peak: u64,
    /// Nearest rank over minutes with requests; none without any.
    pub rpm_p95: Option<u64>,
    /// The busiest 10 s, sliding.
    pub requests_per_10s_peak: u64,
    /// The busiest 60 s, sliding.
    pub requests_per_60s_peak: u64,
    /// Answers 429.
    pub rate_limited: u64,
    /// Answers 503.
    pub unavailable: u64,
    /// How often its breaker tripped.
    pub breaker_trips: u64,
    /// Nearest rank, in milliseconds.
    pub latency_ms_p50: Option<u64>,
    /// Nearest rank, in milliseconds.
    pub latency_ms_p95: Option<u64>,
    /// Milliseconds, to six decimals; none without an answer.
    #[serde(default)]
    pub latency_ms_mean: Option<f64>,
    /// Whether its latency was assumed, not measured.
    pub latency_assumed: bool,
    /// Requests per minute that the plan kept to; none when nothing limited them.
    #[serde(default)]
    pub limit_per_minute: Option<u64>,
    /// Requests at once that the plan kept to; none without pacing.
    #[serde(default)]
    pub burst: Option<u64>,
    /// Open requests at once that the plan kept to.
    #[serde(default)]
    pub concurrency: Option<u64>,
    /// How often its pages are worth a visit, by the 304s of the history; none where it has none. Filled in by whoever
    /// read it.
    #[serde(default)]
    pub revisit: Option<Revisit>,
}

/// A scope and whose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScopeKey {
    /// The scope.
    pub scope: Scope,
    /// A host, a credential, an identity; empty for global scopes.
    pub key: String,
}

/// What one key spent of one scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// The scope.
    pub scope: Scope,
    /// Whose.
    pub key: String,
    /// Its limit; none: not set.
    pub limit: Option<u64>,
    /// The most in one window.
    pub spent_peak: u64,
}

/// Why a page was not fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The scope has no room.
    Scope(Scope),
    /// It is inside its time to live.
    Fresh,
    /// The host is in a cooldown, or its breaker is open.
    HostCooling,
    /// It failed and its retry waits, or cannot be paid.
    RetryWaits,
    /// The minutes were over.
    TimeOver,
}

/// A page that was not fetched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deferred {
    /// The URL.
    pub url: String,
    /// Its host.
    pub host: String,
    /// Its density.
    pub value: f64,
    /// Why.
    pub reason: Reason,
}

/// What held most pages back. A page that several scopes have no room for counts for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The reason.
    pub reason: Reason,
    /// Pages that it held back.
    pub pages: u64,
}
