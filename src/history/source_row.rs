//! One row of the table `sources`: what a log was, what was found in it, and which parts hold it.
//!
//! Paths, file names and compression are not in it: the same content gives the same row whatever the file is called.
//!
//! Example: source `5d1f0a3c9be27744`, 2,107,338 bytes, 9,999 records of 10,000 lines, on 2026-03-09 and 2026-03-10.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::RejectReason;
use crate::history::part::PartPath;
use crate::history::schema::Table;
use crate::history::settings::Settings;
use crate::source::identity::{Digest, Digests, Granules, Head};
use crate::tally::edges::Edges;
use crate::tally::table::{Coverage, LineCounts, SourceTables};

/// The content of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The hash of its first 4,096 bytes.
    pub head: Head,
    /// The digest of all of its bytes that were read; bytes of a deferred last line are not among them.
    pub content: Digest,
    /// The hashes of its granules, and with them its length.
    pub granules: Granules,
}

impl Identity {
    /// Bytes of the decompressed content.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.granules.length()
    }
}

impl From<&Digests> for Identity {
    fn from(digests: &Digests) -> Self {
        Self { head: digests.head(), content: digests.content(), granules: digests.granules() }
    }
}

/// What the history keeps of a source beside its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceEntry {
    /// The name of the source and of its parts, see [`crate::history::known`].
    pub source: String,
    /// Its content.
    pub identity: Identity,
    /// Settings that change what the parts hold.
    pub settings: Settings,
    /// Name and value of what was used beside them (version of the catalogue, digests of range files).
    pub recorded: Vec<(String, String)>,
    /// Sources that this one has outgrown: readers ignore them. Ascending.
    pub replaces: Vec<String>,
    /// What the stamps mean: `end` or `start` of the request; `None` where the format does not say.
    pub clock: Option<String>,
    /// The log was still being written: its last minute is partial.
    pub live: bool,
    /// The stream was cut or corrupt: what came before is here.
    pub damaged: bool,
    /// The older source that holds the `overlap_bytes`.
    pub overlap_source: Option<String>,
    /// The lines at both ends of the content; empty where an older version wrote the row.
    pub edges: Edges,
    /// Names of the caps that were exceeded, ascending.
    pub overflow: Vec<String>,
}

/// A part that a source has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartName {
    /// Path below the history, with `/`: `minutes/date=2026-03-10/5d1f0a3c9be27744.parquet`.
    pub path: String,
    /// Rows of this source in it.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    /// XXH3-64 of the file: a damaged part, or one of another age of the source, is found by it.
    pub hash: u64,
}

/// A whole row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    /// What it was.
    pub entry: SourceEntry,
    /// Lines by kind.
    pub counts: LineCounts,
    /// Records by the name of the format.
    pub formats: BTreeMap<String, u64>,
    /// Records by the name of the flag.
    pub flags: BTreeMap<String, u64>,
    /// Dates with records, ascending.
    pub coverage: Vec<Coverage>,
    /// The date of the first dated record in file order.
    pub first_date: Option<i32>,
    /// The first rejected lines.
    pub first_rejected_lines: Vec<(u64, RejectReason)>,
    /// Its parts, ascending.
    pub parts: Vec<PartName>,
}

impl SourceRow {
    /// The row of a source that was just counted.
    #[must_use]
    pub fn new(entry: SourceEntry, tables: &SourceTables, mut parts: Vec<PartName>) -> Self {
        parts.sort();
        Self {
            entry,
            counts: tables.counts.clone(),
            formats: tables.formats.iter().map(|(format, n)| (format.name().to_owned(), *n)).collect(),
            flags: tables.flags.iter().map(|(flag, n)| ((*flag).to_owned(), *n)).collect(),
            coverage: tables.coverage.clone(),
            first_date: tables.first_date,
            first_rejected_lines: tables.first_rejected_lines.clone(),
            parts,
        }
    }

    /// The coverage of the dates that are still in the history: without those that were pruned. Dates with records have
    /// minutes.
    #[must_use]
    pub fn held_coverage(&self) -> Vec<Coverage> {
        let held: BTreeSet<i32> = self
            .parts
            .iter()
            .filter_map(|named| PartPath::parse(&named.path))
            .filter(|part| part.table == Table::Minutes)
            .map(|part| part.date)
            .collect();
        self.coverage.iter().filter(|c| held.contains(&c.date)).copied().collect()
    }

    /// The date of the folder that holds the row: that of the first dated record, 1970-01-01 when there is none.
    #[must_use]
    pub fn date(&self) -> i32 {
        self.first_date.unwrap_or(0)
    }
}
