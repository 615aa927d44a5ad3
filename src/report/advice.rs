//! One entry of the manifest as a row for a person: the ceiling, why, how far to trust it, and what to do with it.
//!
//! Not the table around it. Example: 30 RPM by `thin_data_default`, grade D: `watch: thin data`.

use std::collections::BTreeMap;

use crate::manifest::{Action, Entry, Manifest};

/// What the manifest says of one host or bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ceiling {
    /// The recommended ceiling.
    pub requests_per_minute: u64,
    /// The rule that bound it, `demand_headroom`; `pinned` where the configuration fixes it.
    pub bound_by: String,
    /// The grade, `B`; `-` where nothing was measured.
    pub confidence: String,
    /// What to do with it, in a few words.
    pub advice: &'static str,
}

/// What the manifest says of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCeilings {
    /// For all bots together.
    pub all_bots: Option<Ceiling>,
    /// By name.
    pub bots: BTreeMap<String, Ceiling>,
}

/// Stands for search engines: explained below the tables by [`SEARCH_ENGINES`].
pub(super) const ADVISE: &str = "advise: search engine";

/// What [`ADVISE`] means.
pub(super) const SEARCH_ENGINES: &str = "advise: recommend the ceiling to the operator (webmaster tools), do not enforce \
     it: refusing a search engine for days costs index coverage; --enforce search-engine applies it nevertheless";

impl Ceiling {
    /// The row of an entry.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        let is_pinned = entry.pinned.contains_key("max_requests_per_minute");
        let bound_by = match &entry.evidence {
            _ if is_pinned => "pinned".to_owned(),
            Some(evidence) => evidence.max_requests_per_minute.bound_by.clone(),
            None => "-".to_owned(),
        };
        let grade = entry.confidence.map(|grade| serde_json::json!(grade));
        Self {
            requests_per_minute: entry.max_requests_per_minute,
            bound_by,
            confidence: grade.as_ref().and_then(|g| g.as_str()).unwrap_or("-").to_owned(),
            advice: advice(entry),
        }
    }
}

impl HostCeilings {
    /// By host.
    #[must_use]
    pub fn of(manifest: &Manifest) -> BTreeMap<String, Self> {
        let of_host = |(host, entry): (&String, &Entry)| {
            let bots = entry.bots.iter().map(|(bot, e)| (bot.clone(), Ceiling::of(e))).collect();
            (host.clone(), Self { all_bots: Some(Ceiling::of(entry)), bots })
        };
        manifest.domain_overrides.iter().map(of_host).collect()
    }

    /// Whether a row of it needs [`SEARCH_ENGINES`].
    pub(super) fn advises(&self) -> bool {
        self.bots.values().chain(&self.all_bots).any(|c| c.advice == ADVISE)
    }
}

fn advice(entry: &Entry) -> &'static str {
    match (entry.action, entry.apply_reason.as_deref()) {
        (Some(Action::StopDenied), _) => "stop: denied",
        (Some(Action::StopInvestigate), _) => "stop: investigate",
        (None, _) if entry.apply => "apply",
        (None, Some("thin_data")) => "watch: thin data",
        (None, Some("search_engine")) => ADVISE,
        (None, Some("no_traffic")) => "wait: no bot seen",
        (None, _) => "do not apply",
    }
}
