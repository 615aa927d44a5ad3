//! Finished counts of one source: plain rows, sorted, exact. What the history stores and the baseline sums.
//!
//! Rows of one UTC date stand together ([`DayTables`]), because a part of the history belongs to one source on one
//! date. Counts are `u64` in memory; whoever writes them as signed integers checks the range. Texts are valid UTF-8
//! (other bytes as `\xNN`, see [`crate::format::escape::printable`]).

use std::collections::BTreeMap;

use crate::format::{Format, RejectReason};
use crate::tally::distinct::Distinct;

/// Whether a claim to be a bot was checked. Part of the row key, so that a spoofer never speaks for the bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verification {
    /// The client is in the operator's ranges, or its reverse name is forward-confirmed.
    Verified,
    /// It is not.
    Failed,
    /// There is no method, no file or no answer, or the client is a name; also all that is no bot.
    NotCheckable,
}

impl Verification {
    /// All verdicts, in the order of their names (which is the order of rows).
    pub const ALL: [Self; 3] = [Self::Failed, Self::NotCheckable, Self::Verified];

    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Failed => "failed",
            Self::NotCheckable => "not_checkable",
        }
    }

    /// The verdict of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.name() == name)
    }
}

/// Who: the key that all rows share, with the bot's roll-ups.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Series {
    /// The site, `(default)` where the log does not say.
    pub host: String,
    /// A bot's name, or a group in parentheses.
    pub bot: String,
    /// The verdict.
    pub verification: Verification,
    /// Roll-up: the bot's family; the bot itself where it has none.
    pub family: String,
    /// Roll-up: who runs it; empty where unknown.
    pub operator: String,
    /// Roll-up: one of the sixteen categories, `declared` for self-declared bots, empty for groups that are no bots.
    pub category: String,
}

impl Series {
    /// The order of rows: host, bot, verdict, each bytewise by its text.
    #[must_use]
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.host, &self.bot, self.verification.name())
    }

    /// Whether this is a bot and not one of [`GROUPS`]. `(other-declared)` is a group of bots.
    #[must_use]
    pub fn is_bot(&self) -> bool {
        !GROUPS.contains(&self.bot.as_str())
    }
}

/// The groups that are no bots.
pub const GROUPS: [&str; 4] = ["(people)", "(other-client)", "(no-user-agent)", "(user-agent-not-logged)"];

/// Status classes, the indices of [`MinuteRow::classes`].
pub const STATUS_CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"];

/// Single statuses that minutes keep apart, the indices of [`MinuteRow::codes`].
pub const STATUS_CODES: [u16; 8] = [304, 403, 404, 429, 499, 502, 503, 504];

/// The index of a status in [`STATUS_CLASSES`].
///
/// ```
/// use crawl_baseline::tally::table::{STATUS_CLASSES, status_class};
/// assert_eq!(STATUS_CLASSES[status_class(Some(499))], "4xx");
/// assert_eq!(STATUS_CLASSES[status_class(Some(0))], "other");
/// assert_eq!(STATUS_CLASSES[status_class(None)], "other");
/// ```
#[must_use]
pub fn status_class(status: Option<u16>) -> usize {
    match status {
        Some(s @ 100..=599) => usize::from(s / 100) - 1,
        _ => 5,
    }
}

/// One UTC minute of one series.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MinuteRow {
    /// Index into [`DayTables::series`].
    pub series: u32,
    /// `floor(epoch seconds / 60)`.
    pub minute: i64,
    /// All requests.
    pub requests: u64,
    /// Bytes sent; absent counts are 0.
    pub bytes_sum: u64,
    /// By [`STATUS_CLASSES`]; they add up to `requests`.
    pub classes: [u64; 6],
    /// By [`STATUS_CODES`].
    pub codes: [u64; 8],
    /// (second 0 to 59, requests), ascending, only seconds with requests.
    pub seconds: Vec<(u8, u64)>,
    /// Requests whose latency was logged and that were not answered from a cache.
    pub latency_count: u64,
    /// Their sum in milliseconds.
    pub latency_ms_sum: u64,
    /// Their largest; `None` without any.
    pub latency_ms_max: Option<u64>,
    /// Requests answered from a cache.
    pub cached_count: u64,
    /// Requests for static files, by extension.
    pub path_static_requests: u64,
    /// The last minute of a log that was still being written.
    pub partial: bool,
}

impl MinuteRow {
    /// Requests answered with this status, if it is one of [`STATUS_CODES`].
    #[must_use]
    pub fn code(&self, status: u16) -> u64 {
        STATUS_CODES.iter().position(|c| *c == status).map_or(0, |i| self.codes[i])
    }
}

/// One status of one series on one date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRow {
    /// Index into [`DayTables::series`].
    pub series: u32,
    /// `None` for `-`.
    pub status: Option<u16>,
    /// Requests.
    pub requests: u64,
    /// Bytes sent.
    pub bytes_sum: u64,
}

/// One URL that was answered 4xx or 5xx.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WasteRow {
    /// Index into [`DayTables::series`].
    pub series: u32,
    /// The canonical form, secrets masked; `(other)` past the cap.
    pub url_key: String,
    /// 400 to 599.
    pub status: u16,
    /// Requests.
    pub hits: u64,
    /// Bytes sent.
    pub bytes_sum: u64,
    /// The bytewise smallest URL as logged with this key, secrets masked.
    pub url_sample: String,
}

/// Requests of one series in one UTC hour whose latency is at most a bound and above the next smaller one. Only latencies
/// that were logged and not answered from a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyRow {
    /// Index into [`DayTables::series`].
    pub series: u32,
    /// `floor(epoch seconds / 3600)`.
    pub hour: i64,
    /// The bound in milliseconds, one of fixed bounds: every one to 16, then eight steps to each doubling.
    pub latency_ms_le: u64,
    /// Requests.
    pub requests: u64,
}

/// What is known of one series on one date beside its rates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotRow {
    /// Index into [`DayTables::series`].
    pub series: u32,
    /// Distinct targets as logged; empty for groups that are no bots.
    pub urls: Distinct,
    /// Distinct User-Agents.
    pub user_agents: Distinct,
    /// Up to five User-Agents (those with the smallest hash) with their exact requests, ordered by text.
    pub samples: Vec<(String, u64)>,
    /// Variants of the bot (`smartphone`, `desktop`) with their requests, by name.
    pub variants: Vec<(String, u64)>,
    /// Networks (/24, /48) whose claim failed, most requests first, at most ten.
    pub failing_prefixes: Vec<(String, u64)>,
}

/// One query parameter of one host in what bots fetched: all requests answered 4xx or 5xx, and of the others those in a
/// sample. Nothing is scaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamRow {
    /// The site.
    pub host: String,
    /// The name in the spelling of keys; `(other)` past the cap.
    pub parameter: String,
    /// Requests with it.
    pub hits: u64,
    /// Its values in them.
    pub distinct: Distinct,
    /// Of the URLs that were not answered 4xx or 5xx one in so many was looked at, chosen by its hash; a power of two.
    pub sampled_one_in: u64,
}

/// Everything counted of one source on one UTC date.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DayTables {
    /// Days since 1970-01-01.
    pub date: i32,
    /// Who, sorted by [`Series::key`], no key twice.
    pub series: Vec<Series>,
    /// Sorted by series, then minute.
    pub minutes: Vec<MinuteRow>,
    /// Sorted by series, then status (`None` first).
    pub status: Vec<StatusRow>,
    /// Sorted by series, then key, then status.
    pub waste: Vec<WasteRow>,
    /// Sorted by series, then hour, then bound.
    pub latency: Vec<LatencyRow>,
    /// Sorted by host, then parameter.
    pub params: Vec<ParamRow>,
    /// Sorted by series; one row for each.
    pub bots: Vec<BotRow>,
}

/// The terms of the line equation, and what lies outside of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineCounts {
    /// All lines.
    pub lines: u64,
    /// Nothing but blanks.
    pub blank: u64,
    /// Begin with `#`.
    pub directive: u64,
    /// Parsed, and left out by a filter; always 0 in the history.
    pub filtered: u64,
    /// Accesses.
    pub records: u64,
    /// Rejects by reason.
    pub rejects: BTreeMap<RejectReason, u64>,
    /// Records (within `records`) stamped more than a day after the run or before 1995: in no minute.
    pub out_of_range: u64,
    /// Physical lines that were joined to another one.
    pub joined_lines: u64,
    /// Bytes of an unterminated last line of a live log; no line.
    pub deferred_bytes: u64,
    /// Bytes that an older source already holds; no lines.
    pub overlap_bytes: u64,
    /// NUL bytes skipped before lines.
    pub nul_bytes_skipped: u64,
}

impl LineCounts {
    /// Rejects of every reason.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejects.values().sum()
    }

    /// `lines = blank + directive + filtered + records + sum(rejects)`.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.lines == self.blank + self.directive + self.filtered + self.records + self.rejected()
    }

    /// Adds the counts of another source.
    pub fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.blank += other.blank;
        self.directive += other.directive;
        self.filtered += other.filtered;
        self.records += other.records;
        for (reason, count) in &other.rejects {
            *self.rejects.entry(*reason).or_default() += count;
        }
        self.out_of_range += other.out_of_range;
        self.joined_lines += other.joined_lines;
        self.deferred_bytes += other.deferred_bytes;
        self.overlap_bytes += other.overlap_bytes;
        self.nul_bytes_skipped += other.nul_bytes_skipped;
    }
}

/// The first and last stamp of a source on one UTC date, in epoch seconds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Days since 1970-01-01.
    pub date: i32,
    /// The smallest stamp.
    pub first: i64,
    /// The largest stamp.
    pub last: i64,
}

/// Everything counted of one source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceTables {
    /// Lines by kind.
    pub counts: LineCounts,
    /// Records by format.
    pub formats: BTreeMap<Format, u64>,
    /// Records by flag name.
    pub flags: BTreeMap<&'static str, u64>,
    /// One row per date with records in range, ascending.
    pub coverage: Vec<Coverage>,
    /// The date (days since 1970-01-01) of the first dated record in file order, in range or not.
    pub first_date: Option<i32>,
    /// The first ten rejected lines: number from 1, reason.
    pub first_rejected_lines: Vec<(u64, RejectReason)>,
    /// One entry per date of `coverage`, ascending.
    pub days: Vec<DayTables>,
}
