//! The manifest's numbers where a person looks for them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::ceilings::{bound_by, grade};
use crate::baseline::Baseline;
use crate::manifest::{Entry, Manifest};
use crate::report::{Ceiling, HostCeilings};

/// What the summary shows of the manifest.
pub(super) fn shown(manifest: &Manifest) -> BTreeMap<String, HostCeilings> {
    let ceiling = |entry: &Entry| Ceiling {
        requests_per_minute: entry.max_requests_per_minute,
        bound_by: bound_by(entry).unwrap_or_default(),
        confidence: entry.confidence.map(grade).unwrap_or_default(),
    };
    manifest
        .domain_overrides
        .iter()
        .map(|(host, entry)| {
            let bots = entry.bots.iter().map(|(bot, e)| (bot.clone(), ceiling(e))).collect();
            (host.clone(), HostCeilings { all_bots: Some(ceiling(entry)), bots })
        })
        .collect()
}

/// Puts each bot's ceiling into the baseline.
pub(super) fn fill_in(baseline: &mut Baseline, manifest: Option<&Manifest>) {
    let Some(manifest) = manifest else { return };
    for (host, measured) in &mut baseline.hosts {
        for (bot, figures) in &mut measured.bots {
            let Some(entry) = manifest.entry(host, Some(bot)) else { continue };
            let mut ceiling = Map::new();
            let mut put = |key: &str, value: Value| ceiling.insert(key.to_owned(), value);
            put("max_requests_per_minute", json!(entry.max_requests_per_minute));
            put("bound_by", json!(bound_by(entry)));
            put("confidence", json!(entry.confidence));
            put("apply", json!(entry.apply));
            put("apply_reason", json!(entry.apply_reason));
            figures.ceiling = ceiling;
        }
    }
}
