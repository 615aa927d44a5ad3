//! The manifest's numbers where a person looks for them.

use serde_json::{Map, Value, json};

use super::super::ceilings::bound_by;
use crate::baseline::Baseline;
use crate::manifest::Manifest;
use crate::tally::GroupBy;

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
