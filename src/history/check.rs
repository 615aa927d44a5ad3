//! Looks whether a history is whole: every part that a source names is there with the bytes that were written, nothing
//! else is there, and no log is counted at two ages. Changes nothing.
//!
//! Example of a finding: `minutes/date=2026-03-10/5d1f0a3c9be27744.parquet`: damaged: its bytes are not those that were
//! written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::history::part::OpenPart;
use crate::history::read::{History, parts_in};
use crate::history::schema::Table;
use crate::history::source_row::{PartName, SourceRow};
use crate::history::write::date_folders;
use crate::source::identity::HEAD_BYTES;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A part that is named is gone, cannot be read, or has other bytes than were written.
    Damaged,
    /// No source names this part: readers of this program ignore it, others count it.
    Orphan,
    /// One source is the beginning of another, or begins with the end of another: requests are counted twice.
    Overlap,
}

impl Fault {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Orphan => "orphan",
            Self::Overlap => "overlap",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// What.
    pub fault: Fault,
    /// A part below the history, or a source.
    pub place: String,
    /// Why.
    pub cause: String,
    /// The remedy.
    pub hint: &'static str,
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Sources.
    pub sources: usize,
    /// Parts that they name.
    pub parts: usize,
    /// What is wrong, sorted.
    pub findings: Vec<Finding>,
}

/// Checks a whole history.
///
/// # Errors
///
/// A folder that cannot be listed (exit 5), or a part that a newer program wrote (exit 2).
pub fn check(history: &History) -> Result<Checked, Error> {
    let mut findings: Vec<Finding> = history
        .warnings()
        .iter()
        .map(|warning| Finding {
            fault: Fault::Damaged,
            place: warning.place().to_owned(),
            cause: warning.to_string(),
            hint: "remove it and analyze its log again",
        })
        .collect();
    let mut by_path: BTreeMap<&str, Vec<(&SourceRow, &PartName)>> = BTreeMap::new();
    for row in history.sources().values() {
        for part in &row.parts {
            by_path.entry(&part.path).or_default().push((row, part));
        }
    }
    for (path, named) in &by_path {
        if let Some(cause) = damage(&history.folder().join(path), named)? {
            findings.push(Finding {
                fault: Fault::Damaged,
                place: (*path).to_owned(),
                cause,
                hint: "analyze the log of its source again; it is then written anew",
            });
        }
    }
    for table in Table::OF_SOURCE {
        for folder in date_folders(history.folder(), table)?.into_values() {
            for path in parts_in(&folder)? {
                let below = path.strip_prefix(history.folder()).unwrap_or(&path).display().to_string();
                if !by_path.contains_key(below.as_str()) {
                    findings.push(Finding {
                        fault: Fault::Orphan,
                        place: below,
                        cause: "no source names it".to_owned(),
                        hint: "a run was killed, or writes it now: analyze its log again, or remove it",
                    });
                }
            }
        }
    }
    findings.extend(overlaps(history.sources()));
    findings.extend(repeated(history.sources()));
    findings.extend(unreadable_others(history.folder())?);
    findings.sort();
    Ok(Checked { sources: history.sources().len(), parts: by_path.len(), findings })
}

fn damage(path: &Path, named: &[(&SourceRow, &PartName)]) -> Result<Option<String>, Error> {
    let part = match OpenPart::read(path.to_owned()) {
        Ok(part) => part,
        Err(e) if e.kind() == ErrorKind::Usage => return Err(e),
        Err(e) => return Ok(Some(e.to_string())),
    };
    let batches = match part.batches(&[]) {
        Ok(batches) => batches,
        Err(e) => return Ok(Some(e.to_string())),
    };
    if let Some((row, _)) = named.iter().find(|(_, name)| !part.is(name)) {
        return Ok(Some(format!("its bytes are not those that source {} names", row.entry.source)));
    }
    let rows: u64 = batches.iter().map(|b| b.num_rows() as u64).sum();
    let expected: u64 = named.iter().map(|(_, name)| name.rows).sum();
    // A joined part may hold rows of a source that was replaced since.
    Ok((rows < expected).then(|| format!("it has {rows} rows, expected {expected}")))
}

/// Parts of tables that no source names must at least be readable.
fn unreadable_others(history: &Path) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for table in [Table::Ceilings, Table::Runs] {
        for folder in date_folders(history, table)?.into_values() {
            for path in parts_in(&folder)? {
                let read = OpenPart::read(path.clone()).and_then(|part| part.batches(&[]));
                match read {
                    Ok(_) => {}
                    Err(e) if e.kind() == ErrorKind::Usage => return Err(e),
                    Err(e) => findings.push(Finding {
                        fault: Fault::Damaged,
                        place: path.strip_prefix(history).unwrap_or(&path).display().to_string(),
                        cause: e.to_string(),
                        hint: "remove it: no figure is computed from it",
                    }),
                }
            }
        }
    }
    Ok(findings)
}

/// Sources that are the beginning of another one: two machines have read two ages of one log at once.
fn overlaps(sources: &BTreeMap<String, SourceRow>) -> Vec<Finding> {
    let mut by_head: BTreeMap<u64, Vec<&SourceRow>> = BTreeMap::new();
    let mut short: Vec<&SourceRow> = Vec::new();
    for row in sources.values() {
        by_head.entry(row.entry.identity.head.0).or_default().push(row);
        if row.entry.identity.length() < HEAD_BYTES as u64 {
            short.push(row);
        }
    }
    let mut pairs: BTreeSet<(&str, &str)> = BTreeSet::new();
    let compare = |a: &'_ SourceRow, b: &'_ SourceRow| -> bool {
        let (a, b) = (&a.entry.identity, &b.entry.identity);
        a.length() < b.length() && b.granules.begins_with(&a.granules).is_some()
    };
    for rows in by_head.values() {
        for shorter in rows {
            for longer in rows.iter().filter(|longer| compare(shorter, longer)) {
                pairs.insert((&shorter.entry.source, &longer.entry.source));
            }
        }
    }
    for shorter in short {
        for longer in sources.values().filter(|longer| compare(shorter, longer)) {
            pairs.insert((&shorter.entry.source, &longer.entry.source));
        }
    }
    pairs
        .into_iter()
        .map(|(shorter, longer)| Finding {
            fault: Fault::Overlap,
            place: format!("source {shorter}"),
            cause: format!("is the beginning of source {longer}: two ages of one log were read at once"),
            hint: "remove its part of the table `sources`, and the orphans that are named then",
        })
        .collect()
}

/// Sources that begin with the lines that another one ends with, and were counted whole: the two logs were never seen
/// together.
fn repeated(sources: &BTreeMap<String, SourceRow>) -> Vec<Finding> {
    let mut by_end: HashMap<u64, Vec<&SourceRow>> = HashMap::new();
    for row in sources.values() {
        if let Some(end) = row.entry.edges.last.last() {
            by_end.entry(*end).or_default().push(row);
        }
    }
    let mut findings = Vec::new();
    for newer in sources.values().filter(|row| row.counts.overlap_bytes == 0) {
        let edges = &newer.entry.edges;
        let older: BTreeMap<&str, &SourceRow> = edges
            .first
            .iter()
            .filter_map(|line| by_end.get(line))
            .flatten()
            .map(|row| (row.entry.source.as_str(), *row))
            .filter(|(name, _)| *name != newer.entry.source)
            .collect();
        for (name, older) in older {
            let whole = |row: &SourceRow| row.entry.identity.granules.clone();
            if edges.comes_after(&older.entry.edges)
                && let Some(lines) = edges.shared_with(&older.entry.edges)
                && whole(newer).begins_with(&whole(older)).is_none()
            {
                findings.push(Finding {
                    fault: Fault::Overlap,
                    place: format!("source {}", newer.entry.source),
                    cause: format!(
                        "its first {lines} lines are the last of source {name}, and are counted twice"
                    ),
                    hint: "analyze its log again: they are then left out",
                });
            }
        }
    }
    findings
}
