//! What a baseline is made from: sources with their line counts, and their finished rows. No figures yet.
//!
//! Example: one log of one day is one [`InputSource`] and one [`DayTables`].

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::warning::Warning;
use crate::format::{Format, RejectReason};
use crate::tally::GroupBy;
use crate::tally::table::{Coverage, DayTables, LineCounts};

/// One log that was given to the run, whether it could be read or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InputSource {
    /// As given or found, printable.
    pub path: String,
    /// The identity of its content; `None` where nothing could be read.
    pub source: Option<String>,
    /// `none`, `gzip`, ... by magic bytes.
    pub compression: String,
    /// Records by format.
    pub formats: BTreeMap<Format, u64>,
    /// `end` or `start`: what the logged stamp means.
    pub clock: String,
    /// Decompressed bytes that were read.
    pub bytes_read: u64,
    /// Lines by kind. Ignored for duplicates, which would count twice.
    pub counts: LineCounts,
    /// The first rejected lines: number from 1, reason.
    pub first_rejected_lines: Vec<(u64, RejectReason)>,
    /// What was damaged; everything before it was read.
    pub damage: Option<String>,
    /// The path that holds the same content and was read instead.
    pub duplicate_of: Option<String>,
    /// Whether bytes were read in this run; `false` also for a log whose rows come from the history.
    pub read: bool,
    /// Why it was left out altogether.
    pub skipped: Option<String>,
    /// First and last record of each date.
    pub coverage: Vec<Coverage>,
}

/// The requests that count as those of bots, where rows by name cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matched {
    /// Records.
    pub bot_records: u64,
    /// Requests by status; `-` is a key.
    pub status: BTreeMap<String, u64>,
}

/// Everything that one baseline is made from.
///
/// The order of `sources` and `days` changes nothing. What a filter left out must be in neither `days` nor `coverage`;
/// the line counts say how much it was.
#[derive(Debug, Clone, Default)]
pub struct Input<'a> {
    /// The time of the run.
    pub generated_at: DateTime<Utc>,
    /// Program and version, `crawl-baseline 0.1.0`.
    pub generator: String,
    /// Echo of `--time-window-min`.
    pub analysis_window_min: u64,
    /// What an entry of the bot table stands for.
    pub group_by: GroupBy,
    /// The logs of the run.
    pub sources: Vec<InputSource>,
    /// Rows by bot name, each source and date once. Hosts, totals and the status distribution always come from here.
    pub days: Vec<&'a DayTables>,
    /// Rows by User-Agent or pattern, where asked for: [`Series::bot`](crate::tally::table::Series::bot) is that text,
    /// all of them are bots, and they need not add up to `days`. The bot table then comes from here.
    pub grouped: Option<Vec<&'a DayTables>>,
    /// With patterns: what any of them matched, each request once; `grouped` may hold it several times.
    pub matched: Option<Matched>,
    /// Whether the bot table also shows people and unnamed clients.
    pub include_other: bool,
    /// With [`GroupBy::Pattern`]: requests by the first pattern that matched.
    pub first_match_requests: Option<BTreeMap<String, u64>>,
    /// Wasted URLs of bots as logged, with their hits; `None` where only the rows are at hand (the URLs are then the
    /// samples of the canonical ones).
    pub top_waste: Option<Vec<(String, u64)>>,
    /// The commonest User-Agents with their requests, for the case that no bot was found.
    pub commonest_user_agents: Vec<(String, u64)>,
    /// What the run has to say; the baseline adds its own.
    pub warnings: Vec<Warning>,
}
