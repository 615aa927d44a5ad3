//! The verdict as one JSON document.
//!
//! Keys are added, never renamed. Example: `{"schema_version": 1, "verdict": "breach", "exit_code": 1, "checks": [...]}`

use serde::Serialize;

use super::finding::{Finding, Level, Outcome, Verdict};
use crate::error::Error;

/// The version of the document.
pub const VERDICT_VERSION: u32 = 1;

/// The document: `verdict` is `pass`, `breach`, `no_data` or `partial`; a check's `state` is `pass`, `finding`, `skipped` (its input
/// was not given) or `no_data` (it was, and says nothing), and `told` says what was looked at or why it was not.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    verdict: &'static str,
    exit_code: u8,
    fail_on: Level,
    errors: usize,
    warnings: usize,
    notes: usize,
    no_data: Vec<String>,
    checks: Vec<CheckDocument<'a>>,
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    check: &'static str,
    state: &'static str,
    told: &'a str,
    findings: &'a [Finding],
}

/// The text, indented, with a line feed at its end.
///
/// # Errors
/// When it does not fit into memory.
pub fn json(verdict: &Verdict) -> Result<String, Error> {
    let checks = verdict.outcomes.iter().map(|(check, outcome)| {
        let (state, told) = match outcome {
            Outcome::Ran { findings, seen } if findings.is_empty() => ("pass", seen),
            Outcome::Ran { seen, .. } => ("finding", seen),
            Outcome::Skipped(why) => ("skipped", why),
            Outcome::NoData(why) => ("no_data", why),
        };
        CheckDocument { check: check.name(), state, told, findings: outcome.findings() }
    });
    let document = Document {
        schema_version: VERDICT_VERSION,
        verdict: verdict.word(),
        exit_code: verdict.status().code(),
        fail_on: verdict.fail_on,
        errors: verdict.count(Level::Error),
        warnings: verdict.count(Level::Warning),
        notes: verdict.count(Level::Note),
        no_data: verdict.without_data(),
        checks: checks.collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)
        .map_err(|e| Error::runtime("verdict", "cannot be written as JSON").cause(e))?;
    text.push('\n');
    Ok(text)
}
