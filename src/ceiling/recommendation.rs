//! What is recommended: plain data with a name for every rule. Serialises with the names of the rules' literature.
//!
//! Not how it was found. Example: `bot`: 76 requests a minute, bound by `demand_headroom`, grade B.

use std::collections::BTreeMap;

use serde::ser::{SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};

use super::episode::Standing;
use super::knee::KneeState;
use super::onset::OnsetState;
use super::overload::OverloadVerdict;
use super::previous::PreviousEntry;
use crate::manifest::{Action, Algorithm, Breaker, Grade};

/// A rule that a ceiling is bound by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Next to nothing was answered.
    AllErrorsFloor,
    /// A share of the rate at which 429 begin.
    #[serde(rename = "429_onset")]
    Onset429,
    /// A share of the load at which the host failed, less what people need.
    HostOverload,
    /// The same of the load at which it became slow.
    LatencyKnee,
    /// The demand, with headroom.
    DemandHeadroom,
    /// All bots together: what the largest may do alone.
    LargestBot,
    /// Too little data.
    ThinDataDefault,
    /// All bots together: the sum of what each may do alone.
    SumOfBots,
    /// robots.txt.
    RobotsCrawlDelay,
    /// Configured, for each bot.
    OperatorMax,
    /// A share of the published quota.
    PublishedQuota,
    /// Configured, for all bots together.
    OperatorMaxAll,
    /// No bot was seen.
    NoTrafficDefault,
    /// No raise after 429.
    #[serde(rename = "frozen_after_429")]
    FrozenAfter429,
    /// No raise after overload.
    FrozenAfterOverload,
    /// Too small a change.
    Deadband,
    /// No fall on demand that was read in part.
    PartialInputHold,
    /// No raise while there are errors or slow answers.
    UnhealthyHold,
    /// The ceiling itself hides the demand, and nothing says that more is safe.
    CensoredByOwnCeiling,
    /// One step a day.
    MaxRaisePerDay,
}

impl Rule {
    /// Rules that say what is needed, not what is safe.
    pub(super) fn is_demand(self) -> bool {
        matches!(self, Self::DemandHeadroom | Self::LargestBot | Self::ThinDataDefault)
    }

    /// Rules that bind whatever the hysteresis kept.
    pub(super) fn is_configured(self) -> bool {
        matches!(
            self,
            Self::RobotsCrawlDelay | Self::OperatorMax | Self::OperatorMaxAll | Self::PublishedQuota
        )
    }
}

/// A value with its rule; serialises as `{rule: value}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The rule.
    pub rule: Rule,
    /// Requests per minute.
    pub value: u64,
}

impl Serialize for Candidate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(&self.rule, &self.value)?;
        map.end()
    }
}

/// Candidates as one map, in their order.
fn as_map<S: Serializer>(candidates: &[Candidate], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(candidates.iter().map(|c| (c.rule, c.value)))
}

/// Why an entry is not to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyReason {
    /// See [`Action::StopDenied`].
    StopDenied,
    /// See [`Action::StopInvestigate`].
    StopInvestigate,
    /// Too little data.
    ThinData,
    /// Slowing a search engine costs index coverage.
    SearchEngine,
    /// There was no bot.
    NoTraffic,
}

/// How the connections were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionRule {
    /// Next to nothing was answered.
    AllErrors,
    /// What is needed, between the largest bot's and the sum of all.
    AllBots,
    /// robots.txt.
    RobotsCrawlDelay,
    /// The first manifest, after trouble.
    #[serde(rename = "start_low_after_429")]
    StartLowAfter429,
    /// The first manifest, without latency.
    StartBlind,
    /// The first manifest.
    Start,
    /// Trouble since the previous manifest.
    #[serde(rename = "decrease_after_429")]
    DecreaseAfter429,
    /// All is well and more is needed.
    PlusOne,
    /// No reason to change.
    Hold,
    /// Cut by what is configured.
    Configured,
}

/// What is known of the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KnownCapacity {
    /// Whether saturation was ever seen.
    pub known: bool,
    /// It takes at least this.
    pub low: Option<u64>,
    /// It does not take more; `None` when never saturated.
    pub high: Option<u64>,
}

/// A rule that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotUsed {
    /// The rule.
    pub rule: Rule,
    /// The state of its evidence.
    pub why: &'static str,
}

/// The window of demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// First covered UTC minute.
    pub start: i64,
    /// Last UTC minute.
    pub end: i64,
    /// Covered minutes.
    pub covered_minutes: usize,
    /// Records that are in no window, because their stamp cannot be right; only on the host's own window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_range: Option<u64>,
}

/// The figures that went into a ceiling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inputs {
    /// Ceiling / capacity in per cent.
    pub f: u64,
    /// Demand / ceiling in per cent.
    pub u: u64,
    /// Demand that is surely reached, requests per minute.
    #[serde(rename = "L")]
    pub demand: Option<u64>,
    /// The demand that was used.
    pub want: Option<u64>,
    /// Clean minutes.
    pub clean_minutes: usize,
    /// Their dates.
    pub days: usize,
    /// The rate at which 429 begin, while it binds.
    #[serde(rename = "C429")]
    pub onset_429: Option<u64>,
    /// 429 episodes.
    pub episodes: usize,
    /// The host's capacity.
    #[serde(rename = "H")]
    pub capacity: Option<u64>,
    /// The slot with the least room.
    pub slot: Option<String>,
    /// What people need there.
    pub people: Option<u64>,
    /// This bot's demand there, and that of all bots.
    pub share: Option<(u64, u64)>,
    /// The previous ceiling.
    pub prev: Option<u64>,
    /// Whether the account is young.
    pub young: bool,
}

/// Why a ceiling is what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The ceiling.
    pub value: u64,
    /// What bound it, after the hysteresis.
    pub bound_by: Rule,
    /// What bound it before.
    pub rule: Rule,
    /// The next rule that would have.
    pub runner_up: Option<Candidate>,
    /// The figures.
    pub inputs: Inputs,
    /// At most five UTC minutes, the first whose figure equals the number that the rule used.
    pub minutes: Vec<i64>,
    /// What is known of the capacity.
    pub capacity: KnownCapacity,
    /// Rules without evidence.
    pub not_used: Vec<NotUsed>,
    /// The window of demand.
    pub window: Window,
}

/// Everything that is recommended for one bot, or for all bots of a host together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// How far it can be trusted.
    pub grade: Grade,
    /// The ceiling.
    pub max_requests_per_minute: u64,
    /// The ceiling before the hysteresis.
    pub raw: u64,
    /// What bound it.
    pub bound_by: Rule,
    /// All rules that spoke, in order.
    #[serde(serialize_with = "as_map")]
    pub candidates: Vec<Candidate>,
    /// What it might do whatever the host says, requests per minute.
    pub alone: u64,
    /// Demand that is surely reached, requests per minute.
    #[serde(rename = "L")]
    pub demand: Option<u64>,
    /// The highest of the evidence window.
    #[serde(rename = "L_best")]
    pub best_demand: Option<u64>,
    /// The UTC minute at which it was found.
    #[serde(rename = "L_best_at")]
    pub best_demand_at: Option<i64>,
    /// Clean minutes.
    pub clean_minutes: usize,
    /// Their dates.
    pub days: usize,
    /// Requests at once that a client may send.
    pub burst: u64,
    /// Requests at once that a server should let through.
    pub enforce_burst: u64,
    /// How requests are shaped.
    pub algorithm: Algorithm,
    /// Start to start, milliseconds.
    pub base_delay_ms: u64,
    /// Only added, milliseconds.
    pub jitter_range_ms: u64,
    /// End to start for each of `max_concurrency` workers, milliseconds.
    pub per_worker_ms: u64,
    /// Connections.
    pub max_concurrency: u64,
    /// How they were found.
    pub concurrency_rule: ConnectionRule,
    /// Connections that the ceiling needs, by Little's law.
    pub little_need: u64,
    /// Mean latency of clean minutes, milliseconds to 0.1.
    pub mean_latency_ms: Option<f64>,
    /// Requests per hour.
    pub hourly_budget: u64,
    /// Requests per day.
    pub daily_budget: u64,
    /// The part of the hour's that is planned.
    pub plan_hourly: u64,
    /// The part that is kept for retries.
    pub retry_reserve: u64,
    /// Retries per hour.
    pub retry_cap: u64,
    /// The hour's budget spread evenly, requests per minute.
    pub even_pace_rpm: u64,
    /// The ceiling in front of the CDN.
    pub edge_rpm: Option<u64>,
    /// Pause after a refusal.
    pub cooldown_s: u64,
    /// A domain that stalls longer is given up.
    pub max_domain_stall_s: u64,
    /// The client's latency breaker.
    pub breaker: Breaker,
    /// The ceiling by slot; `None` where the capacity is not known.
    pub schedule: Option<BTreeMap<String, u64>>,
    /// 168, 48, 24 or 1 slots.
    pub schedule_kind: usize,
    /// The rate at which 429 begin, whatever its state.
    pub c429: Option<u64>,
    /// ... and its state.
    pub c429_state: OnsetState,
    /// The smallest second that was refused as a burst.
    pub burst_429: Option<u64>,
    /// Requests per hour that are admitted.
    pub quota: Option<u64>,
    /// ... and how it stands.
    pub quota_state: Standing,
    /// What to do with a bot that gets no answers.
    pub action: Option<Action>,
    /// Whether the entry is to be applied.
    pub apply: bool,
    /// Why not.
    pub apply_reason: Option<ApplyReason>,
    /// Minutes far above the others; reported only.
    pub outliers: usize,
    /// Demand / ceiling, to 0.001.
    pub utilisation: Option<f64>,
    /// The last UTC minute of the window.
    pub window_to: i64,
    /// Why.
    pub evidence: Evidence,
}

impl Recommendation {
    /// What the next run reads back from the manifest.
    #[must_use]
    pub fn as_previous(&self) -> PreviousEntry {
        PreviousEntry {
            max_requests_per_minute: self.max_requests_per_minute,
            max_concurrency: Some(self.max_concurrency),
            hourly_budget: Some(self.hourly_budget),
            daily_budget: Some(self.daily_budget),
            grade: self.grade,
            action: self.action,
            best_demand: self.best_demand.zip(self.best_demand_at),
            schedule: self.schedule.clone(),
        }
    }
}

/// What is known of a host's capacity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostCapacity {
    /// The smaller of both limits, requests per minute of everybody.
    #[serde(rename = "H")]
    pub limit: Option<u64>,
    /// Which one it is.
    #[serde(rename = "H_rule")]
    pub rule: Option<Rule>,
    /// The load at which it failed, while it stands.
    pub h5xx: Option<u64>,
    /// Whether overload has to do with load.
    pub overload: OverloadVerdict,
    /// How it stands.
    pub overload_state: Standing,
    /// Attribution score, to 0.0001.
    pub overload_score: Option<f64>,
    /// The load below the latency knee.
    pub hlat: Option<u64>,
    /// Latency at low load, milliseconds.
    pub w0: Option<f64>,
    /// What all clients surely reach, requests per minute.
    #[serde(rename = "L_tot")]
    pub demand: Option<u64>,
    /// By slot: what people surely do not pass.
    pub people: Option<BTreeMap<String, u64>>,
    /// 168, 48, 24 or 1 slots.
    pub schedule_kind: usize,
    /// Whether there is a knee, and why not.
    #[serde(skip)]
    pub knee_state: KneeState,
}

/// The entry of all bots together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AllBots {
    /// Found by this run.
    Recommended(Box<Recommendation>),
    /// A partial run saw no bot: the previous entry stands.
    Held(PreviousEntry),
}

/// Everything that is recommended for one host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostRecommendation {
    /// The window of demand.
    pub window: Window,
    /// The host's capacity.
    pub host: HostCapacity,
    /// Bots with rows in the window.
    pub bots: BTreeMap<String, Recommendation>,
    /// Bots whose previous entry stands, because a partial run saw no row of theirs (`partial_input_hold`).
    pub held: BTreeMap<String, PreviousEntry>,
    /// All bots together.
    pub all_bots: AllBots,
    /// The window's end of the manifest that the hysteresis started from.
    pub prev_window_to: Option<i64>,
}

impl HostRecommendation {
    /// What the next run reads back.
    #[must_use]
    pub fn as_previous(&self) -> super::PreviousManifest {
        let bots = self.bots.iter().map(|(name, r)| (name.clone(), r.as_previous()));
        super::PreviousManifest {
            window_to: self.window.end,
            bots: bots.chain(self.held.clone()).collect(),
            all_bots: Some(match &self.all_bots {
                AllBots::Recommended(r) => r.as_previous(),
                AllBots::Held(entry) => entry.clone(),
            }),
        }
    }
}
