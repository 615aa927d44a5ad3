//! The table `runs`: when this program ran, on what, and how it ended. The only table that two runs over the same
//! input do not write alike; only whether the newest run was partial is asked of it.
//!
//! Example: `runs/date=2026-03-11/20260311T020000Z-4711.parquet`, version 0.1.0, exit 0.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::history::schema::Table;
use crate::history::{batch, part};

/// One log that was given to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunInput {
    /// As given or found; other bytes than UTF-8 as `\xNN`.
    pub path: String,
    /// The source that it is; `None` when it could not be read.
    pub source: Option<String>,
    /// What was done with it, in a word: `new`, `grown`, `same`, `prefix`, `duplicate`, `unchanged`, `unreadable`.
    pub outcome: String,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Unique in the history: [`RunRow::name`].
    pub run: String,
    /// Of this program.
    pub version: String,
    /// As typed, without the program's name.
    pub arguments: Vec<String>,
    /// In the order of reading.
    pub inputs: Vec<RunInput>,
    /// Epoch seconds.
    pub started_at: i64,
    /// Epoch seconds.
    pub finished_at: i64,
    /// The exit code.
    pub exit_code: u8,
}

impl RunRow {
    /// The name of a run: its start and its process.
    ///
    /// ```
    /// assert_eq!(crawl_baseline::history::run::RunRow::name(1_773_194_400, 4711), "20260311T020000Z-4711");
    /// ```
    #[must_use]
    pub fn name(started_at: i64, process: u32) -> String {
        let start = chrono::DateTime::from_timestamp(started_at, 0).unwrap_or_default();
        format!("{}-{process}", start.format("%Y%m%dT%H%M%SZ"))
    }
}

/// Writes the row of a run, under the UTC date of its start.
///
/// # Errors
///
/// The part that cannot be written (exit 5).
pub fn write_run(history: &Path, row: &RunRow) -> Result<PathBuf, Error> {
    let date = i32::try_from(row.started_at.div_euclid(86_400)).unwrap_or(0);
    let name = part::PartPath { table: Table::Runs, date, name: row.run.clone() };
    let batch = batch::run(&name.to_string(), row)?;
    part::write(history, &name, None, std::iter::once(Ok(batch)))?;
    Ok(name.below(history))
}
