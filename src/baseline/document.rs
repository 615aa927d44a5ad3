//! The baseline's JSON as types: written by `analyze`, read again by `gate`. No arithmetic.
//!
//! A contract: keys are added, never renamed; all are always written (`null` where nothing was measured).
//! Begins with `{ "schema_version": 1, "generated_at": "2026-03-11T02:00:07Z", ...`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rate::Rpm;
use super::warning::Warning;
use crate::error::Error;
use crate::json;

/// The version that this program writes and the newest it reads.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// What messages call it.
pub const KIND: json::Kind = json::Kind {
    name: "baseline of this program",
    hint: "`crawl-baseline analyze` writes one",
    schema_version: SCHEMA_VERSION,
};

/// What was measured in a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// 1.
    pub schema_version: u64,
    /// RFC 3339, UTC.
    pub generated_at: String,
    /// `crawl-baseline 0.1.0`.
    pub generator: String,
    /// Bots only: the busiest minute of each over all hosts together, spoofed requests included.
    pub rpm_by_bot: BTreeMap<String, u64>,
    /// With `--group-by pattern`: requests by the first pattern that matched. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_match_requests: Option<BTreeMap<String, u64>>,
    /// Bots only: requests by status; `-` where none was logged.
    pub status_distribution: BTreeMap<String, u64>,
    /// Echo of `--time-window-min`.
    pub analysis_window_min: u64,
    /// Bots only: the 20 URLs as logged with most 4xx and 5xx answers.
    pub top_waste_urls: Vec<WasteUrl>,
    /// What an entry of `bots` stands for: `bot`, `user-agent`, `pattern`, `family`, `operator` or `category`.
    #[serde(default)]
    pub group_by: String,
    /// The observed time.
    pub window: Window,
    /// Over all inputs.
    pub totals: Totals,
    /// By path.
    pub inputs: Vec<Log>,
    /// By name.
    pub hosts: BTreeMap<String, Host>,
    /// What to know before trusting the figures.
    pub warnings: Vec<Warning>,
}

/// A URL that bots were answered 4xx or 5xx for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WasteUrl {
    /// As logged.
    pub url: String,
    /// Answers of 4xx and 5xx.
    pub error_hits: u64,
}

/// The observed time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The first stamp, RFC 3339; `null` without records.
    pub first: Option<String>,
    /// The last stamp.
    pub last: Option<String>,
    /// Minutes that were observed whole.
    pub minutes_covered: u64,
}

/// The line equation and what lies beside it:
/// `lines = blank + directive + filtered + records + sum(rejects)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the terms are those of `LineCounts`")]
pub struct Totals {
    pub lines: u64,
    pub blank: u64,
    pub directive: u64,
    pub filtered: u64,
    pub records: u64,
    pub rejects: BTreeMap<String, u64>,
    pub out_of_range: u64,
    pub joined_lines: u64,
    pub deferred_bytes: u64,
    pub overlap_bytes: u64,
    pub nul_bytes_skipped: u64,
    /// Requests of bots.
    pub bot_records: u64,
    /// Bytes sent to everybody.
    pub bytes_sum: u64,
    /// Caps that were reached.
    pub overflow: Vec<Overflow>,
}

/// A cap that was reached: names past it stand together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    /// `hosts`, `declared_names`, `waste_urls` or `parameters`.
    pub cap: String,
    /// How many names stand for themselves.
    pub limit: u64,
    /// The name of the rest.
    pub into: String,
    /// The requests of the rest.
    pub requests: u64,
}

/// One log that was given to the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// As given or found.
    pub path: String,
    /// The identity of its content; `null` where nothing could be read.
    pub source: Option<String>,
    /// By magic bytes.
    pub compression: String,
    /// Records by format.
    pub formats: BTreeMap<String, u64>,
    /// `end` or `start`.
    pub clock: String,
    /// Decompressed bytes.
    pub bytes_read: u64,
    /// All lines.
    pub lines: u64,
    /// Nothing but blanks.
    pub blank: u64,
    /// Begin with `#`.
    pub directive: u64,
    /// Left out by a filter.
    #[serde(default)]
    pub filtered: u64,
    /// Accesses.
    pub records: u64,
    /// By reason.
    pub rejects: BTreeMap<String, u64>,
    /// The first ten.
    pub first_rejected_lines: Vec<RejectedLine>,
    /// What was damaged.
    pub damage: Option<String>,
    /// The path with the same content that was read instead.
    pub duplicate_of: Option<String>,
    /// Whether bytes were read in this run.
    pub read: bool,
    /// Why it was left out altogether.
    #[serde(default)]
    pub skipped: Option<String>,
}

/// A line that is no record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedLine {
    /// From 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// One site, people included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Everybody's.
    pub requests: u64,
    /// Everybody's.
    pub rpm: Rpm,
    /// Everybody's, by status.
    pub status: BTreeMap<String, u64>,
    /// By name.
    pub bots: BTreeMap<String, Bot>,
    /// Query parameters in what bots fetched, the 20 with most values.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// All bots together: the peak of their sum, not the sum of their peaks. `null` by pattern, where a request may
    /// stand in several rows.
    #[serde(default)]
    pub all_bots: Option<AllBots>,
}

/// A query parameter in what bots fetched: all requests answered 4xx or 5xx, and of the other URLs one in
/// `sampled_one_in`. Nothing is scaled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// In the spelling of keys.
    pub name: String,
    /// Requests with it.
    pub hits: u64,
    /// Estimated different values in them (HyperLogLog, 2.3 % standard error).
    pub distinct_values: u64,
    /// 1 when everything was looked at; a power of two.
    pub sampled_one_in: u64,
}

/// All bots of one host together, with the meanings of [`Bot`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AllBots {
    /// All requests.
    pub requests: u64,
    /// By UTC minute, without failed claims.
    pub rpm: Rpm,
    /// The busiest second.
    pub requests_per_second_peak: u64,
    /// The busiest ten seconds, sliding.
    pub requests_per_10s_peak: u64,
    /// The busiest sixty seconds, sliding.
    pub requests_per_60s_peak: u64,
    /// Bytes sent.
    pub bytes_sum: u64,
    /// Requests by verdict.
    pub verification: Verdicts,
}

/// One bot on one host. `requests`, `bytes_sum`, `status`, `latency_ms`, `waste` and the shares hold all requests; `rpm`
/// and the sliding peaks leave out those whose claim failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bot {
    /// Roll-up.
    pub family: String,
    /// Roll-up; empty where unknown.
    pub operator: String,
    /// Roll-up; empty for groups that are no bots.
    pub category: String,
    /// All requests.
    pub requests: u64,
    /// By UTC minute.
    pub rpm: Rpm,
    /// The busiest second.
    pub requests_per_second_peak: u64,
    /// The busiest ten seconds, sliding.
    pub requests_per_10s_peak: u64,
    /// The busiest sixty seconds, sliding.
    pub requests_per_60s_peak: u64,
    /// Bytes sent.
    pub bytes_sum: u64,
    /// By status.
    pub status: BTreeMap<String, u64>,
    /// `null` where no latency was logged.
    pub latency_ms: Option<Latency>,
    /// Estimated distinct URLs (HyperLogLog, 2.3 % standard error).
    pub urls_distinct: u64,
    /// 304s by requests.
    pub not_modified_share: f64,
    /// 4xx and 5xx by requests.
    pub waste_share: f64,
    /// Requests by verdict.
    pub verification: Verdicts,
    /// Who it says it is.
    pub user_agents: UserAgents,
    /// The 20 canonical URLs with most 4xx and 5xx answers.
    pub waste: Vec<WasteKey>,
    /// What the manifest says; empty without one.
    pub ceiling: serde_json::Map<String, serde_json::Value>,
    /// Requests whose claim failed; `null` without any.
    #[serde(default)]
    pub spoofed: Option<Spoofed>,
    /// Requests by variant (`smartphone`, `desktop`).
    #[serde(default)]
    pub variants: BTreeMap<String, u64>,
}

/// Milliseconds of answers that did not come from a cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Requests with a latency.
    pub count: u64,
    /// To six decimals.
    pub mean: f64,
    /// The largest.
    pub max: u64,
}

/// Requests by verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of `Verification`")]
pub struct Verdicts {
    pub verified: u64,
    pub failed: u64,
    pub not_checkable: u64,
}

/// User-Agents of one bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserAgents {
    /// Estimated (HyperLogLog).
    pub distinct: u64,
    /// Up to five, those with the smallest hash, by text.
    pub samples: Vec<SampleUserAgent>,
}

/// One User-Agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleUserAgent {
    /// Printable.
    pub user_agent: String,
    /// Exact.
    pub requests: u64,
}

/// A canonical URL that a bot was answered 4xx or 5xx for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WasteKey {
    /// The canonical form.
    pub url_key: String,
    /// One that was logged.
    pub url_sample: String,
    /// Hits by status.
    pub status: BTreeMap<String, u64>,
    /// All of them.
    pub hits: u64,
}

/// Requests whose claim to be this bot failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spoofed {
    /// How many.
    pub requests: u64,
    /// Of all requests under this name, 0 to 1.
    #[serde(default)]
    pub share: f64,
    /// By UTC minute.
    pub rpm: Rpm,
    /// The busiest second.
    pub requests_per_second_peak: u64,
    /// The busiest ten seconds, sliding.
    pub requests_per_10s_peak: u64,
    /// The busiest sixty seconds, sliding.
    pub requests_per_60s_peak: u64,
    /// Networks, most requests first, at most ten; counted within each source's own ten.
    pub failing_prefixes: Vec<Network>,
}

/// A network that claims came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// `192.0.2.0/24`, `2001:db8::/48`.
    pub prefix: String,
    /// Requests.
    pub requests: u64,
}

impl Baseline {
    /// The JSON text, indented, with a line feed at its end.
    ///
    /// # Errors
    ///
    /// When the text does not fit into memory.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::runtime("baseline", "cannot be written as JSON").cause(e))?;
        text.push('\n');
        Ok(text)
    }

    /// Reads a baseline back; `place` is the path that errors name. Keys that this version does not know are ignored.
    ///
    /// # Errors
    ///
    /// A usage error when the text is no JSON, lacks a key, or has a newer schema.
    pub fn from_json(text: &str, place: &str) -> Result<Self, Error> {
        json::read(text, place, KIND)
    }
}
