//! Why a ceiling is what it is, in the manifest's keys.
//!
//! Only the form: the values are found in [`crate::ceiling`]. Rules, states and reasons are texts, so that a newer
//! program may name one that this one does not know. Example of a rule: `demand_headroom`.

use serde::{Deserialize, Serialize};

use super::{Minute, Window};

/// Everything that supports one entry's numbers. The hysteresis of the next night reads `L_best` and `window_to` back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Of the ceiling itself.
    pub max_requests_per_minute: RateEvidence,
    /// Of the connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_connections: Option<ConnectionEvidence>,
    /// Requests per minute: 95 % lower confidence bound of the P95 of the clean minutes; none without any.
    #[serde(rename = "L", default)]
    pub demand: Option<u64>,
    /// The best [`Evidence::demand`] of the last 90 days.
    #[serde(rename = "L_best", default)]
    pub demand_best: Option<u64>,
    /// The window's end at which it was seen.
    #[serde(rename = "L_best_at", default)]
    pub demand_best_at: Option<Minute>,
    /// Requests per minute that were admitted while others were refused with 429.
    #[serde(default)]
    pub c429: Option<u64>,
    /// How far `c429` is trusted: `established`, `provisional`, `refuted`, `stray`, `none` ...
    pub c429_state: String,
    /// Requests in one second that were refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_429: Option<u64>,
    /// Requests per hour after which nothing was admitted.
    #[serde(default)]
    pub quota: Option<u64>,
    /// How far `quota` is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_state: Option<String>,
    /// Minutes far above the median; reported, not used.
    #[serde(default)]
    pub outliers: u64,
    /// `L` divided by the ceiling, to 0.001.
    #[serde(default)]
    pub utilisation: Option<f64>,
    /// The last minute of the window that these numbers rest on.
    pub window_to: Minute,
}

/// How the ceiling came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateEvidence {
    /// Requests per minute, as in the entry.
    pub value: u64,
    /// The rule that decided, after hysteresis.
    pub bound_by: String,
    /// The rule that decided before hysteresis.
    pub rule: String,
    /// How the value follows from the inputs, in words and figures: `ceil(64 / 0.85)`.
    pub formula: String,
    /// The figures that entered.
    pub inputs: Inputs,
    /// The lowest candidate of the other rules.
    #[serde(default)]
    pub runner_up: Option<Candidate>,
    /// All candidates, in the order in which the first of equals binds.
    #[serde(default)]
    pub candidates: Vec<Candidate>,
    /// At most five minutes whose figure is the one that the rule used.
    #[serde(default)]
    pub minutes: Vec<Minute>,
    /// The minutes that were looked at.
    pub window: Window,
    /// The rules that had nothing to say.
    #[serde(default)]
    pub not_used: Vec<NotUsed>,
    /// What is known of the capacity.
    pub capacity: Capacity,
}

/// The figures that a ceiling was computed from. Absent ones did not enter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Inputs {
    /// Ceiling / measured capacity, per cent.
    pub f: u64,
    /// Observed / ceiling, per cent.
    pub u: u64,
    /// See [`Evidence::demand`].
    #[serde(rename = "L", skip_serializing_if = "Option::is_none")]
    pub demand: Option<u64>,
    /// The demand that was used: `L`, or the best of 90 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub want: Option<u64>,
    /// Clean minutes.
    pub clean_minutes: u64,
    /// UTC dates that have clean minutes.
    pub days: u64,
    /// See [`Evidence::c429`]; only when it entered.
    #[serde(rename = "C429", skip_serializing_if = "Option::is_none")]
    pub c429: Option<u64>,
    /// Episodes of 429.
    pub episodes: u64,
    /// The host's capacity, requests per minute of all clients.
    #[serde(rename = "H", skip_serializing_if = "Option::is_none")]
    pub host_capacity: Option<u64>,
    /// The slot of the week that bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// Requests per minute of everybody but the bots in that slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub people: Option<u64>,
    /// The bot's share of that slot's room: numerator, denominator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<[u64; 2]>,
    /// The previous ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev: Option<u64>,
    /// The account is younger than 30 days.
    pub young: bool,
    /// The configured Crawl-delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crawl_delay_ms: Option<u64>,
}

/// What a rule would allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its name.
    pub rule: String,
    /// Requests per minute.
    pub value: u64,
}

/// A rule that did not take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotUsed {
    /// Its name.
    pub rule: String,
    /// Why not: a state such as `none`, `stray`, `no_latency`.
    pub why: String,
}

/// Requests per minute between which the capacity lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Whether saturation was ever seen.
    pub known: bool,
    /// The highest load that was surely served.
    #[serde(default)]
    pub low: Option<u64>,
    /// Where saturation began; none when it was never seen.
    #[serde(default)]
    pub high: Option<u64>,
}

/// How the number of connections came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionEvidence {
    /// The rule that decided: `start_blind`, `plus_one`, `hold` ...
    pub rule: String,
    /// Connections that the ceiling needs at the measured latency (Little), plus one.
    pub need: u64,
    /// Mean latency of the clean minutes; none when the log has none.
    #[serde(default)]
    pub latency_ms_mean: Option<f64>,
}
