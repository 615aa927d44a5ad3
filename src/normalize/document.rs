//! The finished list: unique URLs by priority, the parameter report and the figures, and its JSON. A contract: keys are
//! added, never renamed; `simulate` reads it.
//!
//! Example of a URL: `{"url": "https://example.com/a?utm_source=x", "url_key": "https://example.com/a", "score": 10, ...}`,
//! each on a line of its own.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use chrono::{DateTime, SecondsFormat, Utc};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::collect::{Collector, Entry, Form, REJECTS_LISTED, Rejected, Totals, text_of};
use super::parameter::{PARAMETERS_LISTED, ParameterRow};
use super::priority::{PriorityRules, SIBLING_VALUE, Worth};
use crate::baseline::Warning;
use crate::tally::distinct::stable_hash;
use crate::url::{mask_name, mask_secrets};

/// The version that is written.
pub const SCHEMA_VERSION: u64 = 1;
/// Parameters that put the same page in another order, where they are kept.
const ORDERS: [&str; 6] = ["sort", "order", "sort_by", "sortby", "order_by", "orderby"];
/// The share of unique URLs that a shop has when its parameters are in hand.
const HEALTHY: std::ops::RangeInclusive<f64> = 0.5..=0.8;
/// Above this share the blacklist catches next to nothing.
const HARDLY_ANY_MERGED: f64 = 0.95;
/// With fewer URLs the share says nothing.
const ENOUGH_URLS: u64 = 20;

/// A finished list.
#[derive(Debug)]
pub struct Normalized {
    /// The time of the run.
    pub generated_at: DateTime<Utc>,
    /// Program and version.
    pub generator: String,
    /// Names that are dropped.
    pub blacklist: Vec<String>,
    /// What was asked for.
    pub options: Value,
    /// The figures.
    pub totals: Totals,
    /// What multiplies URLs.
    pub parameters: Vec<ParameterRow>,
    /// The first rejected lines.
    pub rejected: Vec<Rejected>,
    /// What to know.
    pub warnings: Vec<Warning>,
    texts: Vec<u8>,
    rows: Vec<Ranked>,
    rules: PriorityRules,
}

/// An entry in its place.
#[derive(Debug)]
struct Ranked {
    entry: Entry,
    score: i64,
    rule: Option<usize>,
    is_sibling: bool,
}

/// One unique URL as it is written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row<'a> {
    /// The first URL with this key, as it was given.
    pub url: &'a str,
    /// For comparing, never for fetching.
    pub url_key: &'a str,
    /// Its priority; higher goes first.
    pub score: i64,
    /// URLs of the input with this key.
    pub urls_merged: u64,
    /// For so long a fetched page stays fresh.
    pub ttl_seconds: Option<u64>,
    /// How many pages it leads to.
    pub yields: Option<f64>,
    /// Fetched for what it leads to.
    pub prerequisite: bool,
    /// Set when a URL before shows the same in another order: the share of the score that is left then.
    pub sibling_value: Option<f64>,
    /// When it was fetched last, RFC 3339, UTC.
    pub fetched_at: Option<String>,
}

/// What a list is finished with.
pub struct Finishing {
    /// The time of the run.
    pub generated_at: DateTime<Utc>,
    /// Program and version.
    pub generator: String,
    /// Echoed.
    pub options: Value,
    /// What URLs are worth.
    pub rules: PriorityRules,
    /// Values that look like secrets stay as they are.
    pub keep_query_values: bool,
    /// What there is to say beside what the figures say.
    pub warnings: Vec<Warning>,
}

/// Ranks the URLs and makes the report.
#[must_use]
pub fn finish(mut collector: Collector, with: Finishing) -> Normalized {
    let parameters = std::mem::take(&mut collector.parameters);
    let (mut parameters, parameters_beyond) = parameters.finish(&collector.entries, &collector.texts);
    let worth: Vec<(Option<usize>, i64)> = collector
        .entries
        .par_iter()
        .map(|entry| {
            let rule = with.rules.matching(text_of(&collector.texts, &entry.key));
            (rule, with.rules.worth(rule).score)
        })
        .collect();
    let is_seed = matches!(collector.form, Form::Seed { .. });
    let form = collector.form.clone();
    let masked = if with.keep_query_values {
        0
    } else {
        parameters.iter_mut().for_each(|row| row.name = mask_name(&row.name).into_owned());
        mask(&mut collector)
    };
    let Collector { entries, texts, rejected, reasons, totals, .. } = collector;
    let mut rows: Vec<Ranked> = entries
        .into_iter()
        .zip(worth)
        .map(|(entry, (rule, score))| Ranked { entry, score, rule, is_sibling: false })
        .collect();
    if is_seed {
        // The script's sort is stable.
        rows.sort_by_key(|row| std::cmp::Reverse(row.score));
    } else {
        let url = |row: &Ranked| row.entry.url.clone();
        let key = |row: &Ranked| row.entry.key.clone();
        rows.par_sort_unstable_by(|a, b| {
            (b.score, &texts[url(a)], &texts[key(a)]).cmp(&(a.score, &texts[url(b)], &texts[key(b)]))
        });
    }
    tell_siblings(&mut rows, &texts, &form);
    let mut normalized = Normalized {
        generated_at: with.generated_at,
        generator: with.generator,
        blacklist: form.blacklist(),
        options: with.options,
        totals,
        parameters,
        rejected,
        warnings: with.warnings,
        texts,
        rows,
        rules: with.rules,
    };
    normalized.warn(masked, parameters_beyond, &reasons);
    normalized
}

/// Masks what looks like a secret in what is printed; keys were compared before. Returns how many URLs have one.
fn mask(collector: &mut Collector) -> u64 {
    let mut entries = std::mem::take(&mut collector.entries);
    let mut count = 0;
    for entry in entries.iter_mut().filter(|entry| entry.may_hold_secret) {
        let same = entry.url == entry.key;
        let masked = |at| match mask_secrets(text_of(&collector.texts, at)) {
            std::borrow::Cow::Owned(text) => Some(text),
            std::borrow::Cow::Borrowed(_) => None,
        };
        let (url, key) = (masked(&entry.url), if same { None } else { masked(&entry.key) });
        if let Some(url) = url {
            entry.url = collector.push(&url);
            count += 1;
            if same {
                entry.key = entry.url.clone();
            }
        }
        if let Some(key) = key {
            entry.key = collector.push(&key);
        }
    }
    collector.entries = entries;
    count
}

/// Marks what shows the same as a URL before in another order.
fn tell_siblings(rows: &mut [Ranked], texts: &[u8], form: &Form) {
    if ORDERS.iter().all(|name| form.drops(name)) {
        return;
    }
    let mut seen: HashSet<u64> = HashSet::new();
    for row in rows {
        let key = text_of(texts, &row.entry.key);
        let shown = match key.split_once('?') {
            None => stable_hash(key.as_bytes()),
            Some((path, query)) => {
                let kept: Vec<&str> = query.split('&').filter(|piece| !is_order(piece)).collect();
                let rest =
                    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) };
                stable_hash(rest.as_bytes())
            }
        };
        row.is_sibling = !seen.insert(shown);
    }
}

fn is_order(piece: &str) -> bool {
    let name = piece.split_once('=').map_or(piece, |(name, _)| name);
    ORDERS.iter().any(|order| order.eq_ignore_ascii_case(name))
}

impl Normalized {
    /// Unique URLs by the URLs of the input; `None` without any.
    #[must_use]
    pub fn dedup_ratio(&self) -> Option<f64> {
        // Counts of lines are far below 2^53.
        (self.totals.urls > 0).then(|| {
            let ratio = self.totals.unique as f64 / self.totals.urls as f64;
            (ratio * 10_000.0).round() / 10_000.0
        })
    }

    /// What the ratio says: `healthy` from 0.5 to 0.8, `above_healthy` up to 0.95, `under_normalised` beyond,
    /// `over_normalised` below.
    #[must_use]
    pub fn dedup_verdict(&self) -> &'static str {
        match self.dedup_ratio() {
            None => "no_url",
            Some(ratio) if ratio > HARDLY_ANY_MERGED => "under_normalised",
            Some(ratio) if ratio > *HEALTHY.end() => "above_healthy",
            Some(ratio) if ratio < *HEALTHY.start() => "over_normalised",
            Some(_) => "healthy",
        }
    }

    /// The unique URLs: by score, the highest first, then by URL.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|row| {
            let Worth { ttl_seconds, yields, prerequisite, sibling_value, .. } = self.rules.worth(row.rule);
            Row {
                url: text_of(&self.texts, &row.entry.url),
                url_key: text_of(&self.texts, &row.entry.key),
                score: row.score,
                urls_merged: row.entry.merged,
                ttl_seconds,
                yields,
                prerequisite,
                sibling_value: row.is_sibling.then(|| sibling_value.unwrap_or(SIBLING_VALUE)),
                fetched_at: row
                    .entry
                    .fetched_at
                    .and_then(|epoch| DateTime::from_timestamp(epoch, 0))
                    .map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true)),
            }
        })
    }

    /// Writes the JSON: one line for each URL, parameter and reject.
    ///
    /// # Errors
    /// What the writer returned.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let generated_at = self.generated_at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let head: [(&str, Value); 8] = [
            ("schema_version", SCHEMA_VERSION.into()),
            ("generated_at", generated_at.into()),
            ("generator", self.generator.as_str().into()),
            ("blacklist", self.blacklist.clone().into()),
            ("options", self.options.clone()),
            ("totals", serde_json::to_value(self.totals)?),
            ("dedup_ratio", self.dedup_ratio().into()),
            ("dedup_verdict", self.dedup_verdict().into()),
        ];
        out.write_all(b"{")?;
        for (i, (key, value)) in head.iter().enumerate() {
            write!(out, "{}\n  \"{key}\": {value}", if i == 0 { "" } else { "," })?;
        }
        write_list(out, "urls", self.rows())?;
        write_list(out, "parameters", self.parameters.iter())?;
        write_list(out, "rejected", self.rejected.iter())?;
        write_list(out, "warnings", self.warnings.iter())?;
        out.write_all(b"\n}\n")
    }

    fn warn(&mut self, masked: u64, parameters_beyond: usize, reasons: &BTreeMap<String, u64>) {
        let totals = self.totals;
        let mut add = |code: &str, message: String, hint: &str| {
            self.warnings.push(Warning::new(code, message, hint));
        };
        if totals.rejected > 0 {
            let by_reason: Vec<String> = reasons.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
            let listed = if self.rejected.len() == REJECTS_LISTED && totals.rejected > REJECTS_LISTED as u64 {
                format!("; the first {REJECTS_LISTED} are listed")
            } else {
                String::new()
            };
            add(
                "rejected",
                format!(
                    "{} of {} lines are no URL: {}{listed}",
                    totals.rejected,
                    totals.lines,
                    by_reason.join(", ")
                ),
                "`rejected` names each with its reason; a URL begins with http://, https:// or /",
            );
        }
        if masked > 0 {
            add(
                "masked",
                format!(
                    "{masked} URLs hold values that look like secrets: those are masked and cannot be fetched as printed"
                ),
                "`--keep-query-values` keeps them",
            );
        }
        if parameters_beyond > 0 {
            add(
                "overflow",
                format!("more than {PARAMETERS_LISTED} parameters: {parameters_beyond} are not listed"),
                "a site that makes up parameter names, or a list of more than one site",
            );
        }
        self.warn_of_ratio();
    }

    fn warn_of_ratio(&mut self) {
        let Some(ratio) = self.dedup_ratio().filter(|_| self.totals.urls >= ENOUGH_URLS) else { return };
        let blacklisted = |name: &str| self.blacklist.iter().any(|listed| listed.eq_ignore_ascii_case(name));
        // Below a tenth of what merged, the parameters that were dropped are not the reason.
        let makes_little = |list: &Self| {
            let dropped = list.parameters.iter().filter(|p| blacklisted(&p.name));
            dropped.map(|p| p.urls_merged_without).sum::<u64>() * 10 < list.totals.merged
        };
        let makers: Vec<&str> = self
            .parameters
            .iter()
            .filter(|p| p.urls_merged_without > 0 && !blacklisted(&p.name))
            .take(3)
            .map(|p| p.name.as_str())
            .collect();
        let warning = match self.dedup_verdict() {
            "under_normalised" if makers.is_empty() => Warning::new(
                "dedup_ratio",
                format!(
                    "{ratio} of the URLs are unique, and no single parameter would merge more: a clean list, or one URL is spelled in several ways"
                ),
                "`--strip-trailing-slash`, `--sort-params`, `--drop-paging`, if these make no other page on your site",
            ),
            "under_normalised" => Warning::new(
                "dedup_ratio",
                format!(
                    "{ratio} of the URLs are unique: hardly any merged (0.5 to 0.8 is usual for a shop). Most URLs are made by: {}",
                    makers.join(", ")
                ),
                "`--extra-blacklist NAME` drops a parameter that makes no other page",
            ),
            "over_normalised" if makes_little(self) => Warning::new(
                "dedup_ratio",
                format!("{ratio} of the URLs are unique: the list repeats URLs, what is dropped merges few"),
                "nothing is wrong with the blacklist; a list of a log holds each URL as often as it was fetched",
            ),
            "over_normalised" => Warning::new(
                "dedup_ratio",
                format!("{ratio} of the URLs are unique: more merged than usual (0.5 to 0.8)"),
                "a parameter that makes another page may be on the blacklist: see `urls_merged_without`; `--keep-param NAME` keeps it",
            ),
            _ => return,
        };
        self.warnings.push(warning);
    }
}

fn write_list<T: Serialize>(
    out: &mut dyn Write,
    key: &str,
    items: impl Iterator<Item = T>,
) -> io::Result<()> {
    write!(out, ",\n  \"{key}\": [")?;
    let mut separator = "\n    ";
    for item in items {
        out.write_all(separator.as_bytes())?;
        serde_json::to_writer(&mut *out, &item)?;
        separator = ",\n    ";
    }
    out.write_all(if separator.starts_with(',') { b"\n  ]" } else { b"]" })
}
