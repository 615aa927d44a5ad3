//! What an earlier manifest said: the only memory of the hysteresis.
//!
//! Not the manifest itself: only the facts that are read back. Example: window end 29469599, `bot` at 76 rpm, grade B.

use std::collections::BTreeMap;

use serde::Serialize;

use super::minute::{DAY, date_of};
use super::policy::Policy;
use crate::manifest::{Action, Grade};

/// One earlier manifest, of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousManifest {
    /// The last UTC minute of its window.
    pub window_to: i64,
    /// Its bots.
    pub bots: BTreeMap<String, PreviousEntry>,
    /// All bots together.
    pub all_bots: Option<PreviousEntry>,
}

/// One entry of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreviousEntry {
    /// The ceiling, requests per minute.
    pub max_requests_per_minute: u64,
    /// Connections.
    pub max_concurrency: Option<u64>,
    /// Requests per hour.
    pub hourly_budget: Option<u64>,
    /// Requests per day.
    pub daily_budget: Option<u64>,
    /// The grade.
    pub grade: Grade,
    /// The action, if the bot was to be stopped.
    pub action: Option<Action>,
    /// The highest demand of the evidence window, and the UTC minute that it was found at.
    #[serde(skip)]
    pub best_demand: Option<(u64, i64)>,
    /// The ceiling by slot.
    pub schedule: Option<BTreeMap<String, u64>>,
}

impl Default for PreviousEntry {
    fn default() -> Self {
        Self {
            max_requests_per_minute: 1,
            max_concurrency: None,
            hourly_budget: None,
            daily_budget: None,
            grade: Grade::B,
            action: None,
            best_demand: None,
            schedule: None,
        }
    }
}

/// An entry that may be built upon, with the end of its window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prior<'a> {
    pub(super) entry: &'a PreviousEntry,
    pub(super) window_to: i64,
}

impl<'a> Prior<'a> {
    /// `None` for what was never applied: it is no base to rise from.
    pub(super) fn of(entry: &'a PreviousEntry, window_to: i64) -> Option<Self> {
        (entry.action.is_none() && entry.grade != Grade::D).then_some(Self { entry, window_to })
    }

    /// The best demand, unless it is too old.
    pub(super) fn best_demand(&self, window_to: i64, policy: &Policy) -> Option<(u64, i64)> {
        self.entry.best_demand.filter(|(_, at)| window_to - at <= policy.evidence_window_days * DAY)
    }
}

/// The newest manifest of an earlier UTC date, so that a second run of one date starts from the same.
pub(super) fn newest_before(manifests: &[PreviousManifest], window_to: i64) -> Option<&PreviousManifest> {
    let mut best: Option<&PreviousManifest> = None;
    for manifest in manifests.iter().filter(|p| date_of(p.window_to) < date_of(window_to)) {
        if best.is_none_or(|b| manifest.window_to > b.window_to) {
            best = Some(manifest);
        }
    }
    best
}
