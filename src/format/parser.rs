//! Lines out of blocks: framing, and which parser reads a line.
//!
//! Settled here: `\n`, one trailing `\r`, the byte-order mark of a source, NUL runs, blank lines, directives, the
//! longest line, and what depends on the time of the run. Not here: where blocks come from, and the grammar.
//!
//! Example of its input: a block of whole lines, the last one with or without `\n`.

use super::combined;
use super::record::{Flags, Format, Line, Reject, RejectReason};
use super::timestamp::{self, Stamp};

/// 1995-01-01T00:00:00Z: no web server logged before.
const FIRST_LOGS: i64 = 788_918_400;

/// What the lines are measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParserOptions {
    /// The time of the run in seconds since 1970; records more than a day after it are flagged. `None`: no record is.
    pub now: Option<i64>,
    /// Offset east of UTC in seconds, for stamps without a zone.
    pub assume_zone_seconds: i32,
    /// Longest line in bytes, without its newline and the NUL bytes before it.
    pub max_line_bytes: usize,
    /// The only format to accept; `None`: every line is read as what it looks like.
    pub format: Option<Format>,
}

impl Default for ParserOptions {
    fn default() -> Self {
        Self { now: None, assume_zone_seconds: 0, max_line_bytes: 1 << 20, format: None }
    }
}

/// One line of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry<'a> {
    /// The line as it stands in the block, without its `\n`: NUL bytes, byte-order mark and `\r` included.
    pub line: &'a [u8],
    /// What it is.
    pub outcome: Line<'a>,
    /// NUL bytes that stood before the line and were skipped.
    pub leading_nul: usize,
}

/// Turns lines into [`Line`]s. One per thread; it remembers the last stamp, which never changes an answer.
#[derive(Debug, Clone)]
pub struct Parser {
    options: ParserOptions,
    at_start: bool,
    remembered: Remembered,
}

/// The last stamp's text and value.
#[derive(Debug, Clone)]
struct Remembered {
    text: [u8; 26],
    stamp: Option<Stamp>,
}

impl Parser {
    /// A parser that stands in the middle of a source: call [`Parser::begin_source`] before a source's first block.
    #[must_use]
    pub fn new(options: ParserOptions) -> Self {
        Self { options, at_start: false, remembered: Remembered { text: [0; 26], stamp: None } }
    }

    /// The next line is the first of a source: a byte-order mark before it is dropped.
    pub fn begin_source(&mut self) {
        self.at_start = true;
    }

    /// The next block is not the first of its source.
    pub fn continue_source(&mut self) {
        self.at_start = false;
    }

    /// What one line is, without its `\n`.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Line<'a> {
        self.entry(line).outcome
    }

    /// Every line of a block of whole lines, in order. A last line without `\n` is a line too; nothing behind the last
    /// `\n` is none.
    pub fn block<'a>(&mut self, block: &'a [u8], mut sink: impl FnMut(Entry<'a>)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', block) {
            sink(self.entry(&block[start..end]));
            start = end + 1;
        }
        if start < block.len() {
            sink(self.entry(&block[start..]));
        }
    }

    fn entry<'a>(&mut self, line: &'a [u8]) -> Entry<'a> {
        let mut text = line;
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        let leading_nul = text.iter().take_while(|b| **b == 0).count();
        text = &text[leading_nul..];
        text = text.strip_suffix(b"\r").unwrap_or(text);
        let outcome = self.outcome(text, leading_nul > 0);
        Entry { line, outcome, leading_nul }
    }

    fn outcome<'a>(&mut self, text: &'a [u8], behind_nul: bool) -> Line<'a> {
        if text.len() > self.options.max_line_bytes {
            return Line::Reject(Reject { reason: RejectReason::TooLong });
        }
        if text.iter().all(u8::is_ascii_whitespace) {
            return Line::Blank;
        }
        if text[0] == b'#' {
            return Line::Directive;
        }
        let (options, remembered) = (self.options, &mut self.remembered);
        match combined::parse(text, options.format, |text| {
            remembered.stamp(text, options.assume_zone_seconds)
        }) {
            Err(reason) => Line::Reject(Reject { reason }),
            Ok(mut record) => {
                if behind_nul {
                    record.flags.insert(Flags::LEADING_NUL);
                }
                record.flags.insert(self.options.range(record.epoch));
                Line::Record(record)
            }
        }
    }
}

impl ParserOptions {
    /// [`Flags::FUTURE`] or [`Flags::ANCIENT`] where they belong.
    fn range(&self, epoch: i64) -> Flags {
        if epoch < FIRST_LOGS {
            Flags::ANCIENT
        } else if self.now.is_some_and(|now| epoch > now.saturating_add(86_400)) {
            Flags::FUTURE
        } else {
            Flags::empty()
        }
    }
}

impl Remembered {
    fn stamp(&mut self, text: &[u8], assume_zone_seconds: i32) -> Option<Stamp> {
        if text == self.text && self.stamp.is_some() {
            return self.stamp;
        }
        let stamp = timestamp::parse(text, assume_zone_seconds)?;
        if let Ok(text) = text.try_into() {
            self.text = text;
            self.stamp = Some(stamp);
        }
        Some(stamp)
    }
}
