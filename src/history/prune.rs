//! Takes old dates out of the history and remembers them, so that an old log that is read again does not bring them back.
//!
//! A row of `sources` goes only with the last date that it names. An archive that was never seen before is written, however
//! old it is.
//!
//! Example of two lines of `.pruned`: `date 5d1f0a3c9be27744 2025-11-03` and `gone 8c01... 2107338 0f1e...c2`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::file::{self, write_atomically};
use crate::history::part::{PartPath, date_of_folder, date_text};
use crate::history::read::{History, parts_in};
use crate::history::schema::Table;
use crate::history::source_row::SourceRow;
use crate::history::write::{date_folders, write_row};
use crate::source::identity::Digest;

const FILE: &str = ".pruned";
const FIRST_LINE: &str = "crawl-baseline pruned 1";

/// What was pruned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Length and digest of sources that are gone altogether, with their names.
    gone: BTreeMap<(u64, Digest), String>,
    /// Dates of sources that are still there.
    dates: BTreeMap<String, BTreeSet<i32>>,
}

impl Pruned {
    /// Reads what was pruned from a history.
    ///
    /// # Errors
    /// It is there and cannot be read (exit 5): without it old dates would come back.
    pub fn read(history: &Path) -> Result<Self, Error> {
        let path = history.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(Error::runtime(path.display(), "cannot read what was pruned").cause(e)),
        };
        let mut pruned = Self::default();
        for (number, line) in text.lines().enumerate() {
            let known = if number == 0 { line == FIRST_LINE } else { pruned.take(line).is_some() };
            if !known {
                return Err(Error::runtime(
                    format_args!("{}:{}", path.display(), number + 1),
                    "cannot read what was pruned",
                )
                .cause("the line has an unexpected form")
                .hint("remove the line; the logs it stands for may then be written again"));
            }
        }
        Ok(pruned)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let fields: Vec<&str> = line.split(' ').collect();
        match fields.as_slice() {
            ["date", source, date] => {
                let date = date_of_folder(&format!("date={date}"))?;
                self.dates.entry((*source).to_owned()).or_default().insert(date);
            }
            ["gone", source, length, content] => {
                let key = (length.parse().ok()?, Digest::from_hex(content)?);
                self.gone.insert(key, (*source).to_owned());
            }
            _ => return None,
        }
        Some(())
    }

    fn write(&self, history: &Path) -> Result<(), Error> {
        let mut text = format!("{FIRST_LINE}\n");
        // A string takes every text.
        for (source, dates) in &self.dates {
            for date in dates {
                let _ = writeln!(text, "date {source} {}", date_text(*date));
            }
        }
        for ((length, content), source) in &self.gone {
            let _ = writeln!(text, "gone {source} {length} {content}");
        }
        write_atomically(&history.join(FILE), |file| Ok(file.write_all(text.as_bytes())?))
    }

    /// The name of a source with this content that was pruned altogether.
    #[must_use]
    pub fn gone(&self, length: u64, content: Digest) -> Option<&str> {
        self.gone.get(&(length, content)).map(String::as_str)
    }

    /// The dates of a source that were pruned, while others are still there.
    #[must_use]
    pub fn dates(&self, source: &str) -> BTreeSet<i32> {
        self.dates.get(source).cloned().unwrap_or_default()
    }

    fn add(&mut self, row: &SourceRow, dates: BTreeSet<i32>, is_gone: bool) {
        let entry = &row.entry;
        if is_gone {
            self.dates.remove(&entry.source);
            self.gone.insert((entry.identity.length(), entry.identity.content), entry.source.clone());
        } else {
            self.dates.entry(entry.source.clone()).or_default().extend(dates);
        }
    }
}

/// The dates of all tables but `sources`.
///
/// # Errors
/// A folder that cannot be listed (exit 5).
pub fn dates(history: &Path) -> Result<BTreeSet<i32>, Error> {
    let mut dates = BTreeSet::new();
    for table in Table::ALL.into_iter().filter(|t| *t != Table::Sources) {
        dates.extend(date_folders(history, table)?.into_keys());
    }
    Ok(dates)
}

/// Removes the parts of these dates and returns their paths, sorted. With `dry_run` they are only returned.
///
/// What was pruned is remembered first, then the rows of `sources` stop naming the parts, then the parts go: killed at any
/// instant, the next call does the rest.
///
/// # Errors
/// What cannot be listed, written or removed (exit 5).
pub fn prune(history: &History, old: &BTreeSet<i32>, dry_run: bool) -> Result<Vec<PathBuf>, Error> {
    let folder = history.folder();
    let mut removed = Vec::new();
    let mut pruned = Pruned::read(folder)?;
    let mut rows = Vec::new();
    for row in history.sources().values() {
        let date_of = |path: &str| PartPath::parse(path).map(|p| p.date);
        let (gone, left): (Vec<_>, Vec<_>) =
            row.parts.iter().cloned().partition(|p| date_of(&p.path).is_some_and(|d| old.contains(&d)));
        if gone.is_empty() {
            continue;
        }
        let dates = gone.iter().filter_map(|p| date_of(&p.path)).collect();
        pruned.add(row, dates, left.is_empty());
        rows.push(SourceRow { parts: left, ..row.clone() });
    }
    for row in rows.iter().filter(|row| row.parts.is_empty()) {
        let part = PartPath { table: Table::Sources, date: row.date(), name: row.entry.source.clone() };
        removed.push(part.below(folder));
    }
    let rows_that_go = removed.len();
    for table in Table::ALL.into_iter().filter(|t| *t != Table::Sources) {
        for (_, date_folder) in date_folders(folder, table)?.into_iter().filter(|(d, _)| old.contains(d)) {
            removed.extend(parts_in(&date_folder)?);
        }
    }
    if !dry_run && !removed.is_empty() {
        pruned.write(folder)?;
        for row in rows.iter().filter(|row| !row.parts.is_empty()) {
            write_row(folder, row)?;
        }
        for (number, path) in removed.iter().enumerate() {
            file::remove(path)?;
            // Rows first: none may name a part that is gone.
            if number + 1 >= rows_that_go
                && let Some(parent) = path.parent()
            {
                // Fails while something is left in it, and that is meant.
                let _ = std::fs::remove_dir(parent);
            }
        }
    }
    removed.sort();
    Ok(removed)
}
