//! Writes the parts of one source, its `sources` row last.
//!
//! Until the row is renamed into place, nobody reads the new parts (they are not named, or their hash is another one);
//! afterwards the parts of an older age of the same source that are named no more are removed. Killed at any instant, the
//! next run over the same log leaves the same bytes.
//!
//! Example: a log of two dates becomes eight parts and one row.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use rayon::prelude::*;

use crate::error::Error;
use crate::file;
use crate::history::batch;
use crate::history::part::{self, PartPath, ROW_GROUP_ROWS};
use crate::history::schema::Table;
use crate::history::source_row::{PartName, SourceEntry, SourceRow};
use crate::source::identity::Digest;
use crate::tally::table::{DayTables, SourceTables};

/// What was written for a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its row, with the parts that it names.
    pub row: SourceRow,
    /// The part that holds the row.
    pub sources_part: PathBuf,
    /// Bytes of all parts.
    pub bytes: u64,
    /// Parts of an older age of this source, or of sources that it replaces, which were removed.
    pub removed: Vec<PathBuf>,
}

/// Makes a batch of a range of rows; the text names the part in messages.
type MakeBatch<'a> = dyn Fn(&str, Range<usize>) -> Result<RecordBatch, Error> + 'a;

/// Writes all parts of a source whole, but none of the dates `without`, which were pruned. The history is created when it
/// is not there.
///
/// # Errors
///
/// A count beyond 2^63-1, or a part that cannot be written (exit 5). The source's former row is then still in place.
pub fn write_source(
    history: &Path,
    entry: SourceEntry,
    tables: &SourceTables,
    without: &BTreeSet<i32>,
) -> Result<Written, Error> {
    let content = Some(entry.identity.content);
    let to_write: Vec<(&DayTables, Table)> = tables
        .days
        .iter()
        .filter(|d| !without.contains(&d.date))
        .flat_map(|day| Table::OF_SOURCE.into_iter().map(move |table| (day, table)))
        .collect();
    // Each part depends on its own rows alone; they are named in the order of dates and tables, whoever was done first.
    let parts: Vec<Option<PartName>> = to_write
        .par_iter()
        .map(|(day, table)| write_table(history, &entry.source, content, day, *table))
        .collect::<Result<_, Error>>()?;
    let parts = parts.into_iter().flatten().collect();
    let row = SourceRow::new(entry, tables, parts);
    let (sources_part, own_bytes) = write_row(history, &row)?;
    let removed = remove_unnamed(history, &row)?;
    let bytes = own_bytes + row.parts.iter().map(|p| p.bytes).sum::<u64>();
    Ok(Written { sources_part, bytes, removed, row })
}

/// Writes the part of one source, date and table; `None` when there is no row.
pub(super) fn write_table(
    history: &Path,
    source: &str,
    content: Option<Digest>,
    day: &DayTables,
    table: Table,
) -> Result<Option<PartName>, Error> {
    debug_assert!(day.series.is_sorted_by(|a, b| a.key() < b.key()), "series are sorted and distinct");
    let part = PartPath { table, date: day.date, name: source.to_owned() };
    let place = part.to_string();
    let write = |rows: usize, make: &MakeBatch<'_>| {
        let batches = chunks(rows).map(|range| make(&place, range));
        if rows == 0 { Ok(None) } else { part::write(history, &part, content, batches).map(Some) }
    };
    match table {
        Table::Minutes => {
            write(day.minutes.len(), &|place, r| batch::minutes(place, source, day, &day.minutes[r]))
        }
        Table::Status => {
            write(day.status.len(), &|place, r| batch::status(place, source, day, &day.status[r]))
        }
        Table::Waste => write(day.waste.len(), &|place, r| batch::waste(place, source, day, &day.waste[r])),
        Table::Latency => {
            write(day.latency.len(), &|place, r| batch::latency(place, source, day, &day.latency[r]))
        }
        Table::Params => write(day.params.len(), &|place, r| batch::params(place, source, &day.params[r])),
        Table::Bots => write(day.bots.len(), &|place, r| batch::bots(place, source, day, &day.bots[r])),
        Table::Sources | Table::Ceilings | Table::Runs => Ok(None),
    }
}

/// Writes the row of a source: where it is, and its bytes.
pub(super) fn write_row(history: &Path, row: &SourceRow) -> Result<(PathBuf, u64), Error> {
    let part = PartPath { table: Table::Sources, date: row.date(), name: row.entry.source.clone() };
    let place = part.to_string();
    let content = Some(row.entry.identity.content);
    let written = part::write(history, &part, content, std::iter::once_with(|| batch::source(&place, row)))?;
    Ok((part.below(history), written.bytes))
}

/// Ranges of one row group each.
fn chunks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(ROW_GROUP_ROWS).map(move |from| from..(from + ROW_GROUP_ROWS).min(rows))
}

/// Removes the parts that carry this source's name, or that of a source that it replaces, and that its row does not
/// name. Rows go before parts, so that no row ever names a part that is gone.
///
/// # Errors
///
/// A folder that cannot be listed, or a part that cannot be removed (exit 5).
pub fn remove_unnamed(history: &Path, row: &SourceRow) -> Result<Vec<PathBuf>, Error> {
    let own = PartPath { table: Table::Sources, date: row.date(), name: row.entry.source.clone() };
    let mut keep: BTreeSet<PathBuf> = row.parts.iter().map(|p: &PartName| history.join(&p.path)).collect();
    keep.insert(own.below(history));
    let names: Vec<String> = std::iter::once(&row.entry.source)
        .chain(&row.entry.replaces)
        .map(|name| format!("{name}.parquet"))
        .collect();
    let mut removed = Vec::new();
    for table in std::iter::once(Table::Sources).chain(Table::OF_SOURCE) {
        for folder in date_folders(history, table)?.into_values() {
            for path in names.iter().map(|name| folder.join(name)) {
                if !keep.contains(&path) && path.symlink_metadata().is_ok() && file::remove(&path)? {
                    removed.push(path);
                }
            }
        }
    }
    Ok(removed)
}

/// The folders of a table by date. A table that is not there has none.
pub(super) fn date_folders(
    history: &Path,
    table: Table,
) -> Result<std::collections::BTreeMap<i32, PathBuf>, Error> {
    let folder = history.join(table.name());
    let cannot = |e: std::io::Error| Error::runtime(folder.display(), "cannot list this folder").cause(e);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(std::collections::BTreeMap::new()),
        Err(e) => return Err(cannot(e)),
    };
    let mut folders = std::collections::BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(cannot)?;
        if let Some(date) = entry.file_name().to_str().and_then(part::date_of_folder) {
            folders.insert(date, entry.path());
        }
    }
    Ok(folders)
}
