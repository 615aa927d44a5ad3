//! One parquet file of the history: where it is, how it is written, how it is read. Not what its rows mean.
//!
//! The bytes depend on the rows alone: no time, no machine, no version of this program in them.
//!
//! Example: `minutes/date=2026-03-10/5d1f0a3c9be27744.parquet`

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use bytes::Bytes;
use chrono::NaiveDate;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use twox_hash::XxHash3_64;

use crate::error::Error;
use crate::file;
use crate::history::schema::{
    CONTENT_KEY, PARAMS_SAMPLE, PARAMS_SAMPLE_KEY, SCHEMA_VERSION, SCHEMA_VERSION_KEY, Table,
};
use crate::history::source_row::PartName;
use crate::source::identity::Digest;

/// Rows of a row group. A day of 60 bots has 86,400 rows: a query for one bot reads one or two of six groups.
pub const ROW_GROUP_ROWS: usize = 16_384;
/// Rows of a page: what the page index lets a query skip inside a group.
const PAGE_ROWS: usize = 4_096;
/// In the form that parquet-mr parses; one that it cannot parse makes it distrust the statistics.
const CREATED_BY: &str = "crawl-baseline version 1.0.0";
const EXTENSION: &str = ".parquet";

/// Where a part is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartPath {
    /// The folder.
    pub table: Table,
    /// Days since 1970-01-01.
    pub date: i32,
    /// The name without `.parquet`: of a source, a run, or a window.
    pub name: String,
}

impl PartPath {
    /// The path below a history.
    #[must_use]
    pub fn below(&self, history: &Path) -> PathBuf {
        history.join(self.to_string())
    }

    /// Reads what `Display` wrote; `None` for anything else.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let mut fields = path.split('/');
        let (table, date, name) = (fields.next()?, fields.next()?, fields.next()?);
        let part = Self {
            table: Table::ALL.into_iter().find(|t| t.name() == table)?,
            date: date_of_folder(date)?,
            name: name.strip_suffix(EXTENSION)?.to_owned(),
        };
        (fields.next().is_none() && !part.name.is_empty() && !part.name.starts_with('.')).then_some(part)
    }
}

impl fmt::Display for PartPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/date={}/{}{EXTENSION}", self.table.name(), date_text(self.date), self.name)
    }
}

/// Days from 0000-12-31 (chrono's day 0) to 1970-01-01.
pub const EPOCH_DAY: i32 = 719_163;

/// `2026-03-10`.
#[must_use]
pub fn date_text(date: i32) -> String {
    date.checked_add(EPOCH_DAY)
        .and_then(NaiveDate::from_num_days_from_ce_opt)
        .map_or_else(|| format!("day {date}"), |d| d.format("%Y-%m-%d").to_string())
}

/// The date of a folder `date=2026-03-10`, in days since 1970-01-01; `None` for any other name.
#[must_use]
pub fn date_of_folder(name: &str) -> Option<i32> {
    let date = NaiveDate::parse_from_str(name.strip_prefix("date=")?, "%Y-%m-%d").ok()?;
    let days = chrono::Datelike::num_days_from_ce(&date) - EPOCH_DAY;
    (format!("date={}", date_text(days)) == name).then_some(days)
}

/// Writes a part whole or not at all. `content` is the digest of the source whose rows these are.
///
/// # Errors
///
/// What made the rows, or what kept the part from being written (exit 5).
pub(super) fn write(
    history: &Path,
    part: &PartPath,
    content: Option<Digest>,
    batches: impl Iterator<Item = Result<RecordBatch, Error>>,
) -> Result<PartName, Error> {
    write_as(history, part, part.table.schema(), content, batches)
}

/// The same for rows whose texts are plain columns and no dictionaries: both are one in a file.
pub(super) fn write_as(
    history: &Path,
    part: &PartPath,
    schema: arrow::datatypes::SchemaRef,
    content: Option<Digest>,
    batches: impl Iterator<Item = Result<RecordBatch, Error>>,
) -> Result<PartName, Error> {
    let path = part.below(history);
    let failed = |e: parquet::errors::ParquetError| Error::runtime(path.display(), "cannot write").cause(e);
    let options = ArrowWriterOptions::new()
        .with_properties(properties(part.table, content))
        // The parquet types say all; a copy of the arrow schema would cost 2 KiB a part.
        .with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), schema, options).map_err(failed)?;
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        writer.write(&batch).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(failed)?;
    if let Some(folder) = path.parent() {
        file::create_folder(folder)?;
    }
    file::write_atomically(&path, |file| Ok(file.write_all(&bytes)?))?;
    Ok(PartName {
        path: part.to_string(),
        rows,
        bytes: bytes.len() as u64,
        hash: XxHash3_64::oneshot(&bytes),
    })
}

fn properties(table: Table, content: Option<Digest>) -> WriterProperties {
    let mut metadata = vec![KeyValue::new(SCHEMA_VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string())];
    metadata.extend(content.map(|digest| KeyValue::new(CONTENT_KEY.to_owned(), digest.to_string())));
    if table == Table::Params {
        metadata.push(KeyValue::new(PARAMS_SAMPLE_KEY.to_owned(), PARAMS_SAMPLE.to_owned()));
    }
    let mut builder = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap_or_default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .set_key_value_metadata(Some(metadata))
        .set_statistics_enabled(EnabledStatistics::Chunk);
    if matches!(table, Table::Sources | Table::Runs) {
        // One row: nothing to prune, and dictionaries and statistics are larger than what they describe.
        return builder
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .build();
    }
    // Page statistics where a query selects; of the other columns those of the row group are enough.
    for column in
        ["minute_start", "host", "bot", "verification", "category", "url_key", "hour_start", "parameter"]
    {
        builder = builder.set_column_statistics_enabled(ColumnPath::from(column), EnabledStatistics::Page);
    }
    for column in ["urls_hll", "user_agents_hll", "distinct_hll"] {
        builder = builder
            .set_column_statistics_enabled(ColumnPath::from(column), EnabledStatistics::None)
            .set_column_dictionary_enabled(ColumnPath::from(column), false);
    }
    // Nearly every value is another one: differences are smaller than a dictionary and its indices.
    for column in ["minute_start", "bytes_sum"] {
        builder = builder
            .set_column_dictionary_enabled(ColumnPath::from(column), false)
            .set_column_encoding(ColumnPath::from(column), Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// The bytes of a part, checked to be one that this program reads.
#[derive(Debug)]
pub(super) struct OpenPart {
    path: PathBuf,
    bytes: Bytes,
    content: Option<Digest>,
}

impl OpenPart {
    /// Reads a part.
    ///
    /// # Errors
    ///
    /// It cannot be read or is no parquet (exit 4), or a newer program wrote it (exit 2).
    pub(super) fn read(path: PathBuf) -> Result<Self, Error> {
        let bytes = std::fs::read(&path)
            .map_err(|e| Error::partial(path.display(), "cannot read this part of the history").cause(e))?;
        let bytes = Bytes::from(bytes);
        let mut open = Self { path, bytes, content: None };
        let builder = open.builder()?;
        let metadata = builder.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| {
            metadata.and_then(|pairs| pairs.iter().find(|p| p.key == key)).and_then(|p| p.value.as_deref())
        };
        let version: u32 = value(SCHEMA_VERSION_KEY).and_then(|v| v.parse().ok()).ok_or_else(|| {
            damaged(
                &open.path,
                &format_args!("it has no `{SCHEMA_VERSION_KEY}`; this program did not write it"),
            )
        })?;
        if version > SCHEMA_VERSION {
            return Err(Error::usage(open.path.display(), "cannot read this part of the history")
                .cause(format_args!("expected schema {SCHEMA_VERSION} or older, found {version}"))
                .hint("a newer crawl-baseline wrote it: use that one, or another output folder"));
        }
        open.content = value(CONTENT_KEY).and_then(Digest::from_hex);
        Ok(open)
    }

    /// Whether these are the very bytes that the `sources` row names.
    pub(super) fn is(&self, named: &PartName) -> bool {
        self.bytes.len() as u64 == named.bytes && XxHash3_64::oneshot(&self.bytes) == named.hash
    }

    /// The digest of the source whose rows it holds.
    pub(super) fn content(&self) -> Option<Digest> {
        self.content
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn builder(&self) -> Result<ParquetRecordBatchReaderBuilder<Bytes>, Error> {
        ParquetRecordBatchReaderBuilder::try_new(self.bytes.clone()).map_err(|e| damaged(&self.path, &e))
    }

    /// The rows, with the named columns only (all when empty; those that an older part has not are left out).
    ///
    /// # Errors
    ///
    /// Damage (exit 4).
    pub(super) fn batches(&self, columns: &[&str]) -> Result<Vec<RecordBatch>, Error> {
        let mut builder = self.builder()?.with_batch_size(ROW_GROUP_ROWS);
        if !columns.is_empty() {
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            builder = builder.with_projection(mask);
        }
        let reader = builder.build().map_err(|e| damaged(&self.path, &e))?;
        reader.map(|batch| batch.map_err(|e| damaged(&self.path, &e))).collect()
    }
}

/// A part that cannot be used, with the remedy. The rest is.
pub(super) fn damaged(path: &Path, cause: &dyn fmt::Display) -> Error {
    Error::partial(path.display(), "cannot use this part of the history")
        .cause(cause)
        .hint("remove it and analyze its log again; the rest of the history was used")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_parts_read_back_and_nothing_else_is_one() {
        let part = PartPath { table: Table::Minutes, date: 20_522, name: "5d1f0a3c9be27744-00ff".to_owned() };
        assert_eq!(part.to_string(), "minutes/date=2026-03-10/5d1f0a3c9be27744-00ff.parquet");
        assert_eq!(PartPath::parse(&part.to_string()), Some(part));
        for bad in [
            "minutes/date=2026-3-10/a.parquet",
            "minutes/date=2026-03-10/../a.parquet",
            "minutes/date=2026-03-10/.a.parquet",
            "minutes/date=2026-03-10/.parquet",
            "other/date=2026-03-10/a.parquet",
            "minutes/date=2026-02-30/a.parquet",
            "minutes/a.parquet",
            "/etc/passwd",
        ] {
            assert_eq!(PartPath::parse(bad), None, "{bad}");
        }
        assert_eq!((date_text(0), date_of_folder("date=1970-01-01")), ("1970-01-01".to_owned(), Some(0)));
        assert_eq!(date_of_folder("date=1969-12-31"), Some(-1));
    }
}
