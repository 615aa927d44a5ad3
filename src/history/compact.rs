//! Joins the parts of old dates, and takes them apart again where a source is replaced. No total changes: a joined part
//! has the rows of all of its sources, told apart by the column `source`.
//!
//! The rows of `sources` say which part holds a source at every instant: first the joined part is written, which nobody
//! names yet, then each row names it instead of the source's own part, then the own parts are removed. Killed in between,
//! the next run does the rest.
//!
//! Example: three logs of 2026-03-10 have three parts in `minutes/date=2026-03-10`; afterwards there is one,
//! `joined-1c9e5d0b7a3f2684.parquet`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow::compute::{
    SortColumn, concat_batches, filter_record_batch, lexsort_to_indices, take_record_batch,
};
use arrow::error::ArrowError;
use twox_hash::XxHash3_64;

use crate::error::Error;
use crate::file;
use crate::history::merge::merge_days;
use crate::history::part::{self, OpenPart, PartPath, ROW_GROUP_ROWS, damaged};
use crate::history::read::History;
use crate::history::schema::Table;
use crate::history::source_row::{PartName, SourceRow};
use crate::history::write::{write_row, write_table};

/// Dates within so many days before today still get new sources: their parts stay apart.
pub const DAYS_APART: i32 = 2;
const PREFIX: &str = "joined-";

/// What was joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Parts that there were.
    pub before: usize,
    /// Parts that hold their rows now.
    pub after: usize,
}

/// Joins the parts of each table and date that is more than [`DAYS_APART`] days before `today` (days since 1970-01-01).
///
/// What cannot be used is left as it is and returned, the rest is joined.
///
/// # Errors
///
/// A part that cannot be written or removed (exit 5), or that a newer program wrote (exit 2).
pub fn compact(history: &History, today: i32) -> Result<(Compacted, Vec<Error>), Error> {
    let mut done = Compacted::default();
    let mut troubles = Vec::new();
    let mut rows = history.sources().clone();
    let old = today.saturating_sub(DAYS_APART);
    for date in history.dates().range(..old) {
        let mut replaced: BTreeSet<String> = BTreeSet::new();
        let mut changed: BTreeSet<String> = BTreeSet::new();
        for table in Table::OF_SOURCE {
            let named = named(&rows, table, *date);
            let files: BTreeSet<&String> = named.values().map(|part| &part.path).collect();
            if files.len() < 2 {
                continue;
            }
            match join(history.folder(), &rows, &named, table, *date) {
                Ok(joined) => {
                    done.before += files.len();
                    done.after += 1;
                    replaced.extend(files.into_iter().cloned());
                    for (source, part) in joined {
                        if let Some(row) = rows.get_mut(&source) {
                            row.parts.retain(|p| p.path != named[&source].path);
                            row.parts.push(part);
                            row.parts.sort();
                            changed.insert(source);
                        }
                    }
                }
                Err(e) if e.exit().code() == 4 => troubles.push(e),
                Err(e) => return Err(e),
            }
        }
        settle(history.folder(), &rows, &changed, &replaced)?;
    }
    Ok((done, troubles))
}

/// The part of each source for a table and date.
fn named(rows: &BTreeMap<String, SourceRow>, table: Table, date: i32) -> BTreeMap<String, PartName> {
    let is_wanted = |part: &&PartName| {
        PartPath::parse(&part.path).is_some_and(|path| path.table == table && path.date == date)
    };
    rows.iter()
        .filter_map(|(source, row)| Some((source.clone(), row.parts.iter().find(is_wanted)?.clone())))
        .collect()
}

/// Writes the rows, then removes the parts that none of them names any more.
fn settle(
    history: &Path,
    rows: &BTreeMap<String, SourceRow>,
    changed: &BTreeSet<String>,
    replaced: &BTreeSet<String>,
) -> Result<(), Error> {
    for row in changed.iter().filter_map(|source| rows.get(source)) {
        write_row(history, row)?;
    }
    let named: BTreeSet<&str> = rows.values().flat_map(|r| &r.parts).map(|p| p.path.as_str()).collect();
    for path in replaced.iter().filter(|path| !named.contains(path.as_str())) {
        file::remove(&history.join(path))?;
    }
    Ok(())
}

fn join(
    history: &Path,
    rows: &BTreeMap<String, SourceRow>,
    named: &BTreeMap<String, PartName>,
    table: Table,
    date: i32,
) -> Result<BTreeMap<String, PartName>, Error> {
    let mut contents = String::new();
    let mut batches = Vec::new();
    for (source, part) in named {
        contents.push_str(&format!("{source} {}\n", rows[source].entry.identity.content));
        let path = history.join(&part.path);
        let of_source = rows_of(&path, part, source)?;
        let found: u64 = of_source.iter().map(|b| b.num_rows() as u64).sum();
        if found != part.rows {
            let cause = format!("it has {found} rows of source {source}, expected {}", part.rows);
            return Err(damaged(&path, &cause));
        }
        batches.extend(of_source);
    }
    let name = format!("{PREFIX}{:016x}", XxHash3_64::oneshot(contents.as_bytes()));
    let path = PartPath { table, date, name };
    let failed = |e: ArrowError| {
        Error::partial(path.below(history).display(), "cannot join parts")
            .cause(e)
            .hint("they stay as they are; an older version of this program may have written some of them")
    };
    let Some(schema) = batches.first().map(RecordBatch::schema) else { return Ok(BTreeMap::new()) };
    let all = concat_batches(&schema, &batches).map_err(failed)?;
    drop(batches);
    let sorted = sorted(&all, table).map_err(failed)?;
    let chunks = (0..sorted.num_rows())
        .step_by(ROW_GROUP_ROWS)
        .map(|from| Ok(sorted.slice(from, ROW_GROUP_ROWS.min(sorted.num_rows() - from))));
    let written = part::write_as(history, &path, schema, None, chunks)?;
    Ok(named
        .iter()
        .map(|(source, part)| (source.clone(), PartName { rows: part.rows, ..written.clone() }))
        .collect())
}

/// The rows of one source in a part that has the very bytes that were written.
fn rows_of(path: &Path, named: &PartName, source: &str) -> Result<Vec<RecordBatch>, Error> {
    let part = OpenPart::read(path.to_owned())?;
    if !part.is(named) {
        return Err(damaged(path, &"its bytes are not those that its source names"));
    }
    part.batches(&[])?
        .iter()
        .map(|batch| {
            let column =
                batch.column_by_name("source").and_then(|c| c.as_any().downcast_ref::<StringArray>());
            let column = column.ok_or_else(|| damaged(path, &"it has no column `source`"))?;
            let mask: BooleanArray = column.iter().map(|s| Some(s == Some(source))).collect();
            filter_record_batch(batch, &mask).map_err(|e| damaged(path, &e))
        })
        .collect()
}

/// As every part is sorted, and by source where that leaves a choice.
fn sorted(batch: &RecordBatch, table: Table) -> Result<RecordBatch, ArrowError> {
    let rest: &[&str] = match table {
        Table::Minutes => &["minute_start"],
        Table::Status => &["status"],
        Table::Waste => &["url_key", "status"],
        Table::Latency => &["hour_start", "latency_ms_le"],
        Table::Params => &["parameter"],
        _ => &[],
    };
    let columns: Vec<SortColumn> = ["host", "bot", "verification"]
        .iter()
        .chain(rest)
        .chain(&["source"])
        .filter_map(|name| batch.column_by_name(name))
        .map(|values: &ArrayRef| SortColumn { values: values.clone(), options: None })
        .collect();
    take_record_batch(batch, &lexsort_to_indices(&columns, None)?)
}

/// Gives every source that shares a joined part with one of `sources` parts of its own again, so that those can be
/// replaced. Returns the joined parts that are gone.
///
/// # Errors
///
/// A part that cannot be written or removed (exit 5), or that a newer program wrote (exit 2). A joined part that is damaged
/// stays, for [`crate::history::check`] to name.
pub fn take_apart(history: &History, sources: &BTreeSet<String>) -> Result<Vec<PathBuf>, Error> {
    let joined: BTreeSet<String> = sources
        .iter()
        .filter_map(|source| history.sources().get(source))
        .flat_map(|row| &row.parts)
        .filter(|part| is_joined(part))
        .map(|part| part.path.clone())
        .collect();
    if joined.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = history.sources().clone();
    let mut changed = BTreeSet::new();
    for (source, row) in history.sources() {
        for part in row.parts.iter().filter(|part| joined.contains(&part.path)) {
            let Some(own) = own_part(history, row, part)? else { continue };
            if let Some(row) = rows.get_mut(source) {
                row.parts.retain(|p| p.path != part.path);
                row.parts.push(own);
                row.parts.sort();
                changed.insert(source.clone());
            }
        }
    }
    settle(history.folder(), &rows, &changed, &joined)?;
    Ok(joined.iter().map(|path| history.folder().join(path)).collect())
}

/// Whether several sources may share a part.
#[must_use]
pub fn is_joined(part: &PartName) -> bool {
    PartPath::parse(&part.path).is_some_and(|path| path.name.starts_with(PREFIX))
}

/// Writes the rows of one source in a joined part as they were before.
fn own_part(history: &History, row: &SourceRow, part: &PartName) -> Result<Option<PartName>, Error> {
    let Some(path) = PartPath::parse(&part.path) else { return Ok(None) };
    let Some(day) = history.read_own(row, path.date, path.table)? else { return Ok(None) };
    let day = crate::tally::table::DayTables { date: path.date, ..merge_days(vec![day]) };
    let content = Some(row.entry.identity.content);
    write_table(history.folder(), &row.entry.source, content, &day, path.table)
}
