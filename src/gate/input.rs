//! What the gate looks at. Nothing is read from a log; reading the files is done by whoever calls.
//!
//! Example: a budget report from `crawl-artifacts/2026-03-11/budget_report_020007.json`.

use std::collections::BTreeSet;

use super::Refusals;
use crate::artifact::{OutputFolder, dated_folders, files, verify};
use crate::baseline::Baseline;
use crate::error::Error;
use crate::manifest::Manifest;
use crate::simulate::{BudgetReport, Normalized};
use chrono::{DateTime, NaiveDate, Utc};

/// A document and where it came from.
#[derive(Debug, Clone)]
pub struct Given<T> {
    /// Its path, for messages.
    pub place: String,
    /// What it says.
    pub value: T,
}

/// Everything that a gate may be given. The default is nothing.
#[derive(Debug, Default)]
pub struct Inputs<'a> {
    /// A plan.
    pub report: Option<&'a Given<BudgetReport>>,
    /// What was measured.
    pub baseline: Option<&'a Given<Baseline>>,
    /// What is allowed.
    pub manifest: Option<&'a Given<Manifest>>,
    /// A list of unique URLs.
    pub normalized: Option<&'a Given<Normalized>>,
    /// The output folder.
    pub artifacts: Option<&'a Artifacts>,
    /// What the history says of 429s before the baseline.
    pub refusals: Option<&'a Refusals>,
    /// A ceiling for every host and bot.
    pub max_rpm: Option<u64>,
    /// Connections that the crawler in use opens to a host.
    pub concurrency: Option<u64>,
    /// The oldest that a manifest may be, in days; none: 8.
    pub max_age_days: Option<u64>,
    /// Some of what was given could not be read; the rest is here.
    pub partial: bool,
    /// Now, epoch seconds.
    pub now: i64,
}

impl Inputs<'_> {
    /// Inputs that were given and hold no request or URL at all.
    pub(super) fn empty(&self) -> Vec<String> {
        let mut empty = Vec::new();
        if let Some(report) = self.report.filter(|report| report.value.requests == 0) {
            empty.push(format!("{}: the budget report holds no request", report.place));
        }
        if let Some(baseline) = self.baseline {
            let totals = &baseline.value.totals;
            if totals.records == 0 {
                empty.push(format!("{}: the baseline holds no record", baseline.place));
            } else if totals.bot_records == 0 {
                empty.push(format!("{}: the baseline holds no request of a bot", baseline.place));
            }
        }
        if let Some(list) = self.normalized.filter(|list| list.value.urls.is_empty()) {
            empty.push(format!("{}: the list holds no URL", list.place));
        }
        empty
    }
}

/// What is in the output folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Artifacts {
    /// The folder.
    pub place: String,
    /// Its dated folders.
    pub folders: usize,
    /// Their files.
    pub files: usize,
    /// File and what is wrong with it.
    pub damaged: Vec<(String, String)>,
    /// The date that is looked at.
    pub date: NaiveDate,
    /// The files of that date; none when there is no such folder.
    pub today: Option<BTreeSet<String>>,
    /// Kinds of files that must be among them, `budget_report`.
    pub wanted: Vec<String>,
}

impl Artifacts {
    /// Looks at an output folder and computes every digest of it.
    ///
    /// # Errors
    /// A folder that cannot be listed (exit 5).
    pub fn of(output: &OutputFolder, now: DateTime<Utc>, wanted: &[String]) -> Result<Self, Error> {
        let date = now.date_naive();
        let mut artifacts = Self {
            place: output.path().display().to_string(),
            date,
            wanted: wanted.to_vec(),
            ..Self::default()
        };
        for (day, folder) in dated_folders(output)? {
            artifacts.folders += 1;
            let names: BTreeSet<String> = files(&folder)?.into_keys().collect();
            artifacts.files += names.len();
            let wrong = verify(&folder)?.into_iter();
            artifacts.damaged.extend(wrong.map(|(name, why)| (format!("{day}/{name}"), why)));
            if day == date {
                artifacts.today = Some(names);
            }
        }
        Ok(artifacts)
    }
}
