//! The manifest's numbers where a person looks for them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::ceilings::{bound_by, grade};
use crate::baseline::Baseline;
use crate::manifest::{Entry, Manifest};
use crate::report::{Ceiling, HostCeilings};
use crate::tally::GroupBy;

/// What the summary shows of the manifest; without `by_bot`, rows have other names than the manifest's.
pub(super) fn shown(manifest: &Manifest, by_bot: bool) -> BTreeMap<String, HostCeilings> {
    let ceiling = |entry: &Entry| Ceiling {
        requests_per_minute: entry.max_requests_per_minute,
        bound_by: bound_by(entry).unwrap_or_default(),
        confidence: entry.confidence.map(grade).unwrap_or_default(),
    };
    manifest
        .domain_overrides
        .iter()
        .map(|(host, entry)| {
            let bots =
                entry.bots.iter().filter(|_| by_bot).map(|(bot, e)| (bot.clone(), ceiling(e))).collect();
            (host.clone(), HostCeilings { all_bots: Some(ceiling(entry)), bots })
        })
        .collect()
}

/// Whether a row of the bot table is what the manifest calls a bot.
pub(super) fn by_bot(baseline: &Baseline) -> bool {
    baseline.group_by == GroupBy::Bot.name()
}

/// Puts each bot's ceiling into the baseline.
pub(super) fn fill_in(baseline: &mut Baseline, manifest: Option<&Manifest>) {
    let Some(manifest) = manifest.filter(|_| by_bot(baseline)) else { return };
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
