//! Lines out of blocks: framing, and which parser reads a line.
//!
//! Settled here: `\n`, one trailing `\r`, the byte-order mark of a source, NUL runs, blank lines, directives, the
//! longest line, and what depends on the time of the run. Not here: where blocks come from, and the grammar.
//!
//! Example of its input: a block of whole lines, the last one with or without `\n`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::latency_field::LatencyField;
use super::layout::Layout;
use super::record::{Flags, Format, Line, Record, Reject, RejectReason, Wrapper};
use super::structural::{self, Index, WINDOW};
use super::timestamp::{self, Stamp};
use super::w3c::{self, Columns};
use super::{balancer, combined, cri, json, wrapper};

/// 1995-01-01T00:00:00Z: no web server logged before.
const FIRST_LOGS: i64 = 788_918_400;

/// What the lines are measured against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParserOptions {
    /// The time of the run in seconds since 1970; records more than a day after it are flagged. `None`: no record is.
    pub now: Option<i64>,
    /// Offset east of UTC in seconds, for stamps without a zone.
    pub assume_zone_seconds: i32,
    /// Longest line in bytes, without its newline and the NUL bytes before it.
    pub max_line_bytes: usize,
    /// The only format to accept; `None`: every line is read as what it looks like.
    pub format: Option<Format>,
    /// The server's own format string, which then is the only format.
    pub layout: Option<Arc<Layout>>,
    /// The field behind the user agent that says how long the request took.
    pub latency_field: Option<LatencyField>,
}

impl Default for ParserOptions {
    fn default() -> Self {
        Self {
            now: None,
            assume_zone_seconds: 0,
            max_line_bytes: 1 << 20,
            format: None,
            layout: None,
            latency_field: None,
        }
    }
}

/// One line of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry<'a> {
    /// The line as it stands in the block, without its `\n`: NUL bytes, byte-order mark and `\r` included.
    pub line: &'a [u8],
    /// What it is.
    pub outcome: &'a Line<'a>,
    /// NUL bytes that stood before the line and were skipped.
    pub leading_nul: usize,
    /// Its number among the lines of the block, from 0.
    pub number: u64,
    /// The lines that it is made of: more than 1 where a container runtime cut one into parts.
    pub parts: u64,
}

/// The `#Fields:` line in force where a block begins, without its newline: asked for at most once per block, when a
/// line of the block may need it.
pub type Directive<'d> = &'d mut dyn FnMut() -> Option<Vec<u8>>;

/// Turns lines into [`Line`]s. One per thread; it remembers the last stamp, which never changes an answer, and the
/// `#Fields:` line in force, which is what W3C lines are read by.
#[derive(Debug, Clone)]
pub struct Parser {
    options: ParserOptions,
    engine: Engine,
    at_start: bool,
    columns: InForce,
    remembered: Remembered,
    index: Index,
    scratch: Scratch,
    /// Parts that are read already, by where they begin.
    taken: BTreeSet<usize>,
}

/// Who reads a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// The parsers of the named formats; with one of them only that one.
    Line(Option<Format>),
    /// The plan of a format string.
    Plan,
}

/// Texts that do not stand in the block as such.
#[derive(Debug, Clone, Default)]
struct Scratch {
    /// A line without what a carrier put around it, or of several parts.
    line: Vec<u8>,
    /// Fields without their escapes.
    fields: Vec<u8>,
}

/// The columns of W3C lines at this place of the source.
#[derive(Debug, Clone)]
enum InForce {
    /// To be asked for.
    Unknown,
    Known(Option<Columns>),
}

/// The last stamp's text and value.
#[derive(Debug, Clone)]
struct Remembered {
    text: [u8; 26],
    stamp: Option<Stamp>,
    /// Where the minute of `text` begins; `None` where only the careful parser may say what another second of it is: a
    /// leap second, or no zone.
    minute: Option<i64>,
}

impl Parser {
    /// A parser that stands in the middle of a source: call [`Parser::begin_source`] before a source's first block.
    #[must_use]
    pub fn new(options: ParserOptions) -> Self {
        let engine = match &options.layout {
            None => Engine::Line(options.format),
            Some(layout) => layout.engine().map_or(Engine::Plan, |format| Engine::Line(Some(format))),
        };
        Self {
            engine,
            options,
            at_start: false,
            columns: InForce::Known(None),
            remembered: Remembered { text: [0; 26], stamp: None, minute: None },
            index: Index::new(),
            scratch: Scratch::default(),
            taken: BTreeSet::new(),
        }
    }

    /// The next line is the first of a source: a byte-order mark before it is dropped.
    pub fn begin_source(&mut self) {
        self.at_start = true;
        self.columns = InForce::Known(None);
    }

    /// The next block follows the one that was read last.
    pub fn continue_source(&mut self) {
        self.at_start = false;
    }

    /// The next block is of the middle of a source, and what stands before it was not read by this parser.
    pub fn enter_source(&mut self) {
        self.at_start = false;
        self.columns = InForce::Unknown;
    }

    /// What one line is, without its `\n`.
    pub fn line<'s>(&'s mut self, line: &'s [u8]) -> Line<'s> {
        self.entry(line, &mut || None).0
    }

    /// Every line of a block of whole lines, in order. A last line without `\n` is a line too; nothing behind the last
    /// `\n` is none. Returns the number of lines, each part of an entry counted.
    pub fn block(&mut self, block: &[u8], sink: impl FnMut(Entry<'_>)) -> u64 {
        self.block_behind(block, &mut || None, sink)
    }

    /// The same for a block behind [`Parser::enter_source`]: `directive` says what is in force where it begins.
    pub fn block_behind(
        &mut self,
        block: &[u8],
        directive: Directive<'_>,
        mut sink: impl FnMut(Entry<'_>),
    ) -> u64 {
        let mut index = std::mem::replace(&mut self.index, Index::new());
        let mut place = Place { start: 0, number: 0 };
        self.taken.clear();
        while place.start < block.len() {
            let base = place.start;
            let window = &block[base..block.len().min(base + WINDOW)];
            index.fill(window);
            self.window(block, &mut place, index.positions(), directive, &mut sink);
            if place.start > base {
                continue;
            }
            // No newline in the whole window: a long line, or the last one without `\n`.
            let behind = base + window.len();
            let end = memchr::memchr(b'\n', &block[behind..]).map_or(block.len(), |at| behind + at);
            self.slow(block, &mut place, end, directive, &mut sink);
        }
        self.index = index;
        place.number
    }

    /// The whole lines of a window that begins at `place`, by the positions of its structural bytes.
    fn window(
        &mut self,
        block: &[u8],
        place: &mut Place,
        positions: &[u32],
        directive: Directive<'_>,
        sink: &mut impl FnMut(Entry<'_>),
    ) {
        let base = place.start;
        let text = &block[base..];
        let mut rest = positions;
        let mut outcome = Line::Record(Record::EMPTY);
        let mut is_plain = false;
        loop {
            if let Some(([a, b, c, d, e, f, end], behind)) = rest.split_first_chunk::<7>()
                && text[*end as usize] == b'\n'
                && text[*a as usize] == b'"'
                && text[*b as usize] == b'"'
                && text[*c as usize] == b'"'
                && text[*d as usize] == b'"'
                && text[*e as usize] == b'"'
                && text[*f as usize] == b'"'
                && let Line::Record(record) = &mut outcome
            {
                let at = |position: &u32| base + *position as usize;
                let (start, end) = (place.start, at(end));
                let quotes = [at(a), at(b), at(c), at(d), at(e), at(f)];
                if self.fast(block, start, quotes, end, record, &mut is_plain).is_some() {
                    let line = &block[start..end];
                    sink(Entry { line, outcome: &outcome, leading_nul: 0, number: place.number, parts: 1 });
                    *place = Place { start: end + 1, number: place.number + 1 };
                    rest = behind;
                    continue;
                }
            }
            let Some(at) = rest.iter().position(|at| block[base + *at as usize] == b'\n') else {
                return;
            };
            self.slow(block, place, base + rest[at] as usize, directive, sink);
            rest = &rest[at + 1..];
        }
    }

    /// The line at `place`, which ends before `end`, by the careful parser; or nothing, if it is a part of an earlier one.
    fn slow(
        &mut self,
        block: &[u8],
        place: &mut Place,
        end: usize,
        directive: Directive<'_>,
        sink: &mut impl FnMut(Entry<'_>),
    ) {
        let Place { start, number } =
            std::mem::replace(place, Place { start: end + 1, number: place.number + 1 });
        if !self.taken.is_empty() && self.taken.remove(&start) {
            return;
        }
        let line = &block[start..end];
        let longest = self.options.max_line_bytes;
        if cri::may_join(line)
            && let Some(joined) = cri::join(block, start, longest, &mut self.scratch.line)
        {
            let (parts, carrier) = (1 + joined.others.len() as u64, joined.carrier);
            self.at_start = false;
            self.taken.extend(joined.others);
            let outcome = if joined.too_long {
                Line::Reject(Reject { reason: RejectReason::TooLong })
            } else {
                let text = std::mem::take(&mut self.scratch.line);
                let outcome = self.inner(&text, false, Some(carrier), directive);
                sink(Entry { line, outcome: &outcome, leading_nul: 0, number, parts });
                self.scratch.line = text;
                return;
            };
            sink(Entry { line, outcome: &outcome, leading_nul: 0, number, parts });
            return;
        }
        let (outcome, leading_nul) = self.entry(line, directive);
        sink(Entry { line, outcome: &outcome, leading_nul, number, parts: 1 });
    }

    /// A line that the fast path is sure of, into `record`.
    #[inline(always)]
    fn fast<'a>(
        &mut self,
        block: &'a [u8],
        start: usize,
        quotes: [usize; 6],
        end: usize,
        record: &mut Record<'a>,
        is_plain: &mut bool,
    ) -> Option<()> {
        let Engine::Line(format) = self.engine else { return None };
        if self.at_start || end - start > self.options.max_line_bytes {
            return None;
        }
        let (options, remembered) = (&self.options, &mut self.remembered);
        let stamps = (remembered, options.assume_zone_seconds);
        structural::combined(block, (start, end), quotes, format, stamps, record, is_plain)?;
        if options.layout.is_some()
            || options.latency_field.is_some()
            || (format.is_none() && record.tail.ends_with(b"ms"))
        {
            *is_plain = false;
            options.name_tail(format, record);
        }
        record.flags.insert(options.range(record.epoch));
        Some(())
    }

    /// What a line is, and the NUL bytes before it.
    fn entry<'s>(&'s mut self, line: &'s [u8], directive: Directive<'_>) -> (Line<'s>, usize) {
        let mut text = line;
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        let leading_nul = text.iter().take_while(|b| **b == 0).count();
        text = &text[leading_nul..];
        text = text.strip_suffix(b"\r").unwrap_or(text);
        (self.inner(text, leading_nul > 0, None, directive), leading_nul)
    }

    /// What a line is that stands by itself: framing, then what a carrier put around it, then the entry.
    fn inner<'s>(
        &'s mut self,
        text: &'s [u8],
        behind_nul: bool,
        carrier: Option<Wrapper>,
        directive: Directive<'_>,
    ) -> Line<'s> {
        if text.len() > self.options.max_line_bytes {
            return Line::Reject(Reject { reason: RejectReason::TooLong });
        }
        let Self { options, engine, columns, remembered, scratch, .. } = self;
        if carrier.is_none() && text.first() == Some(&b'#') {
            if let Some(named) = Columns::of_directive(text) {
                *columns = InForce::Known(Some(named));
            }
            return Line::Directive;
        }
        let (text, carrier) = match carrier {
            Some(_) => (text, carrier),
            None => match wrapper::unwrap(text, *engine == Engine::Plan) {
                Some((carrier, inner)) => (inner, Some(carrier)),
                None if json::leads(text) && json::docker(text, &mut scratch.line) => {
                    (&scratch.line[..], Some(Wrapper::Docker))
                }
                None => (text, None),
            },
        };
        if text.iter().all(u8::is_ascii_whitespace) {
            return Line::Blank;
        }
        if text[0] == b'#' {
            return Line::Directive;
        }
        let mut stamp = |text: &[u8]| remembered.stamp(text, options.assume_zone_seconds);
        let read = match (&options.layout, *engine) {
            (Some(layout), Engine::Plan) => layout.read(text, &mut scratch.fields, &mut stamp),
            (layout, Engine::Line(format)) => {
                let mut read = read(text, format, columns, &mut scratch.fields, &mut stamp, directive);
                if let (Some(layout), Ok(record)) = (layout, &mut read) {
                    layout.name_tail(record);
                }
                read
            }
            (None, Engine::Plan) => Err(RejectReason::NotThisFormat),
        };
        match read {
            Err(reason) => Line::Reject(Reject { reason }),
            Ok(mut record) => {
                if behind_nul {
                    record.flags.insert(Flags::LEADING_NUL);
                }
                record.prefix = carrier;
                if let Some(field) = options.latency_field {
                    field.name(&mut record);
                }
                record.flags.insert(options.range(record.epoch));
                Line::Record(record)
            }
        }
    }
}

/// Where a line begins in its block, and its number there.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    number: u64,
}

/// Reads an entry by its own shape. The formats exclude each other: which lines stood before changes nothing, save the
/// columns that W3C lines are read by.
fn read<'s>(
    text: &'s [u8],
    format: Option<Format>,
    columns: &mut InForce,
    scratch: &'s mut Vec<u8>,
    stamp: &mut dyn FnMut(&[u8]) -> Option<Stamp>,
    directive: Directive<'_>,
) -> Result<Record<'s>, RejectReason> {
    let wants = |sort: Format| format.is_none_or(|named| named == sort);
    if json::leads(text) {
        return if wants(Format::Json) {
            json::parse(text, scratch, stamp)
        } else {
            Err(RejectReason::NotThisFormat)
        };
    }
    if wants(Format::W3c) {
        if let InForce::Unknown = columns
            && w3c::may_fit(text)
        {
            *columns = InForce::Known(directive().and_then(|line| Columns::of_directive(&line)));
        }
        if let InForce::Known(Some(columns)) = columns
            && columns.fit(text)
        {
            return columns.parse(text, scratch, stamp);
        }
    }
    let reason = match format {
        None | Some(Format::Combined | Format::Common | Format::VhostCombined | Format::VhostCommon) => {
            match combined::parse(text, format, &mut *stamp) {
                Ok(mut record) => {
                    if format.is_none() {
                        name_traefik(&mut record);
                    }
                    return Ok(record);
                }
                Err(reason) => reason,
            }
        }
        Some(Format::Traefik) => {
            let mut record = combined::parse(text, Some(Format::Combined), &mut *stamp)?;
            name_traefik(&mut record);
            return if record.format == Format::Traefik {
                Ok(record)
            } else {
                Err(RejectReason::NotThisFormat)
            };
        }
        Some(_) => RejectReason::NotThisFormat,
    };
    match balancer::shape(text).filter(|shape| wants(*shape)) {
        Some(shape @ (Format::Alb | Format::Elb)) => balancer::aws(shape, text, scratch, stamp),
        Some(Format::Haproxy) => balancer::haproxy(text, scratch, stamp),
        Some(Format::S3) => balancer::s3(text, scratch, stamp),
        _ => Err(reason),
    }
    .map_err(|other| if other == RejectReason::NotThisFormat { reason } else { other })
}

/// Traefik's lines are Combined with fields behind it that nobody else writes.
fn name_traefik(record: &mut Record<'_>) {
    if record.format == Format::Combined
        && let Some(latency) = balancer::traefik_latency(record)
    {
        record.format = Format::Traefik;
        record.timing.latency_us = Some(latency);
    }
}

impl ParserOptions {
    /// What is behind the user agent of a line that the fast path read, where somebody says what it means.
    #[inline(never)]
    fn name_tail(&self, format: Option<Format>, record: &mut Record<'_>) {
        if let Some(layout) = &self.layout {
            layout.name_tail(record);
        } else if format.is_none() {
            name_traefik(record);
        }
        if let Some(field) = self.latency_field {
            field.name(record);
        }
    }

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

impl structural::Stamps for (&mut Remembered, i32) {
    #[inline(always)]
    fn stamp(self, text: &[u8; 26]) -> Option<Stamp> {
        let (remembered, assume_zone_seconds) = self;
        match remembered.same_minute(text) {
            None => remembered.stamp(text, assume_zone_seconds),
            known => known,
        }
    }
}

impl Remembered {
    /// The stamp of a text that differs from the remembered one at most in its seconds.
    #[inline(always)]
    fn same_minute(&self, text: &[u8; 26]) -> Option<Stamp> {
        let minute = self.minute.filter(|_| same_but_seconds(text, &self.text))?;
        Some(Stamp { epoch: minute + seconds(text)?, flags: Flags::empty() })
    }

    #[inline(never)]
    fn stamp(&mut self, text: &[u8], assume_zone_seconds: i32) -> Option<Stamp> {
        if text == self.text && self.stamp.is_some() {
            return self.stamp;
        }
        let stamp = timestamp::parse(text, assume_zone_seconds)?;
        if let Ok(text) = text.try_into() {
            self.text = text;
            self.stamp = Some(stamp);
            self.minute =
                if stamp.flags.is_empty() { seconds(&text).map(|second| stamp.epoch - second) } else { None };
        }
        Some(stamp)
    }
}

/// Whether two stamps differ in bytes 18 and 19 alone. In two words each: a comparison of slices is a call.
#[inline(always)]
fn same_but_seconds(a: &[u8; 26], b: &[u8; 26]) -> bool {
    let words = |text: &[u8; 26]| {
        let (front, rest) = text.split_first_chunk::<16>()?;
        let (_, back) = rest.split_last_chunk::<8>()?;
        Some((
            u128::from_le_bytes(*front),
            u64::from_le_bytes(*back),
            u16::from_le_bytes([text[16], text[17]]),
        ))
    };
    // The last eight bytes begin with the seconds.
    match (words(a), words(b)) {
        (Some(a), Some(b)) => a.0 == b.0 && a.1 >> 16 == b.1 >> 16 && a.2 == b.2,
        _ => false,
    }
}

/// The seconds of `DD/Mon/YYYY:HH:MM:SS +hhmm`.
#[inline]
fn seconds(text: &[u8; 26]) -> Option<i64> {
    let (tens, ones) = (text[18].wrapping_sub(b'0'), text[19].wrapping_sub(b'0'));
    (tens < 6 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
}

#[cfg(test)]
mod tests;
