//! Arrow columns back into the rows of `sources` and `runs`. The other tables are in [`crate::history::rows`].
//!
//! Example: the one row of `sources/date=2026-03-10/5d1f0a3c9be27744.parquet`.

use std::collections::BTreeMap;

use arrow::array::{
    Array as _, BinaryArray, BooleanArray, Date32Array, Int32Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};

use crate::format::RejectReason;
use crate::history::rows::{
    Counts, Elements, Misfit, column, full, misfit, seconds, text_counts, text_list, text_pairs,
};
use crate::history::run::{RunInput, RunRow};
use crate::history::settings::Settings;
use crate::history::source_row::{Identity, PartName, SourceEntry, SourceRow};
use crate::source::identity::{Digest, Granules, Head};
use crate::tally::edges::Edges;
use crate::tally::table::{Coverage, LineCounts};

fn reason(name: &str) -> Result<RejectReason, Misfit> {
    RejectReason::ALL
        .into_iter()
        .find(|r| r.name() == name)
        .ok_or_else(|| misfit("reason", &format!("holds `{name}`, which this version does not know")))
}

/// Rows of `sources`.
pub(super) fn sources(batch: &RecordBatch) -> Result<Vec<SourceRow>, Misfit> {
    (0..batch.num_rows()).map(|row| source(batch, row)).collect()
}

fn source(batch: &RecordBatch, row: usize) -> Result<SourceRow, Misfit> {
    let text = |name: &str| Ok::<_, Misfit>(full::<StringArray>(batch, name)?.value(row).to_owned());
    let optional_text = |name: &str| {
        let array: &StringArray = column(batch, name)?;
        Ok::<_, Misfit>((!array.is_null(row)).then(|| array.value(row).to_owned()))
    };
    let flag = |name: &str| Ok::<_, Misfit>(full::<BooleanArray>(batch, name)?.value(row));
    let count = |name: &str| Counts::of(batch, name)?.at(row);

    let granules: &BinaryArray = full(batch, "granule_hashes")?;
    let identity = Identity {
        head: Head::from_hex(&text("head_hash")?).ok_or_else(|| misfit("head_hash", "is no hash"))?,
        content: Digest::from_hex(&text("content_digest")?)
            .ok_or_else(|| misfit("content_digest", "is no digest"))?,
        granules: Granules::from_bytes(count("length_bytes")?, granules.value(row))
            .ok_or_else(|| misfit("granule_hashes", "does not fit `length_bytes`"))?,
    };
    let entry = SourceEntry {
        source: text("source")?,
        identity,
        settings: Settings::new(text_pairs(batch, "settings", row)?),
        recorded: text_pairs(batch, "recorded", row)?,
        replaces: text_list(batch, "replaces", row)?,
        clock: optional_text("clock")?,
        live: flag("live")?,
        damaged: flag("damaged")?,
        overlap_source: optional_text("overlap_source")?,
        edges: edges(batch, row)?,
        overflow: text_list(batch, "overflow", row)?,
    };

    let mut rejects = BTreeMap::new();
    for (name, n) in text_counts(batch, "rejects", row, "reason", "lines")? {
        rejects.insert(reason(&name)?, n);
    }
    let counts = LineCounts {
        lines: count("lines")?,
        blank: count("blank")?,
        directive: count("directive")?,
        filtered: count("filtered")?,
        records: count("records")?,
        rejects,
        out_of_range: count("out_of_range")?,
        joined_lines: count("joined_lines")?,
        deferred_bytes: count("deferred_bytes")?,
        overlap_bytes: count("overlap_bytes")?,
        nul_bytes_skipped: count("nul_bytes_skipped")?,
    };

    let days = Elements::of(batch, "coverage", row)?;
    let (dates, first, last): (&Date32Array, &TimestampMicrosecondArray, &TimestampMicrosecondArray) =
        (days.field("date")?, days.field("first")?, days.field("last")?);
    let coverage = (0..dates.len())
        .map(|i| Coverage {
            date: dates.value(i),
            first: seconds(first.value(i)),
            last: seconds(last.value(i)),
        })
        .collect();

    let rejected = Elements::of(batch, "first_rejected_lines", row)?;
    let first_rejected_lines = rejected
        .counts("line")?
        .into_iter()
        .zip(rejected.texts("reason")?)
        .map(|(line, name)| Ok((line, reason(&name)?)))
        .collect::<Result<_, Misfit>>()?;

    let named = Elements::of(batch, "parts", row)?;
    let mut parts = Vec::new();
    for (((path, rows), bytes), hash) in named
        .texts("path")?
        .into_iter()
        .zip(named.counts("rows")?)
        .zip(named.counts("bytes")?)
        .zip(named.texts("file_hash")?)
    {
        let hash = Head::from_hex(&hash).ok_or_else(|| misfit("file_hash", "is no hash"))?.0;
        parts.push(PartName { path, rows, bytes, hash });
    }

    let first_date: &Date32Array = column(batch, "first_record_date")?;
    Ok(SourceRow {
        entry,
        counts,
        formats: text_counts(batch, "formats", row, "format", "records")?.into_iter().collect(),
        flags: text_counts(batch, "flags", row, "flag", "records")?.into_iter().collect(),
        coverage,
        first_date: (!first_date.is_null(row)).then(|| first_date.value(row)),
        first_rejected_lines,
        parts,
    })
}

/// Empty where an older version wrote the row.
fn edges(batch: &RecordBatch, row: usize) -> Result<Edges, Misfit> {
    if batch.column_by_name("first_line_hashes").is_none() {
        return Ok(Edges::default());
    }
    let hashes = |name: &str| -> Result<Vec<u64>, Misfit> {
        let array: &BinaryArray = column(batch, name)?;
        if array.is_null(row) {
            return Ok(Vec::new());
        }
        let (hashes, rest) = array.value(row).as_chunks::<8>();
        if !rest.is_empty() {
            return Err(misfit(name, "is no list of hashes"));
        }
        Ok(hashes.iter().map(|hash| u64::from_le_bytes(*hash)).collect())
    };
    let since = |name: &str| -> Result<Option<i64>, Misfit> {
        let array: &TimestampMicrosecondArray = column(batch, name)?;
        Ok((!array.is_null(row)).then(|| seconds(array.value(row))))
    };
    Ok(Edges {
        first: hashes("first_line_hashes")?,
        last: hashes("last_line_hashes")?,
        first_since: since("first_lines_since")?,
        last_since: since("last_lines_since")?,
    })
}

/// Rows of `runs`.
pub(super) fn runs(batch: &RecordBatch) -> Result<Vec<RunRow>, Misfit> {
    let text = |name: &str| full::<StringArray>(batch, name);
    let instant = |name: &str| full::<TimestampMicrosecondArray>(batch, name);
    let (run, version) = (text("run")?, text("version")?);
    let (started, finished) = (instant("started_at")?, instant("finished_at")?);
    let exits: &Int32Array = full(batch, "exit_code")?;
    (0..batch.num_rows())
        .map(|row| {
            let elements = Elements::of(batch, "inputs", row)?;
            let sources: &StringArray = elements.field("source")?;
            let inputs = elements
                .texts("path")?
                .into_iter()
                .zip(sources.iter())
                .zip(elements.texts("outcome")?)
                .map(|((path, source), outcome)| RunInput {
                    path,
                    source: source.map(str::to_owned),
                    outcome,
                })
                .collect();
            Ok(RunRow {
                run: run.value(row).to_owned(),
                version: version.value(row).to_owned(),
                arguments: text_list(batch, "arguments", row)?,
                inputs,
                started_at: seconds(started.value(row)),
                finished_at: seconds(finished.value(row)),
                exit_code: u8::try_from(exits.value(row))
                    .map_err(|_| misfit("exit_code", "is no exit code"))?,
            })
        })
        .collect()
}
