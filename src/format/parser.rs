//! Lines out of blocks: framing, and which parser reads a line.
//!
//! Settled here: `\n`, one trailing `\r`, the byte-order mark of a source, NUL runs, blank lines, directives, the
//! longest line, and what depends on the time of the run. Not here: where blocks come from, and the grammar.
//!
//! Example of its input: a block of whole lines, the last one with or without `\n`.

use super::combined;
use super::record::{Flags, Format, Line, Reject, RejectReason};
use super::structural::{self, Index, WINDOW};
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
    index: Index,
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
        Self {
            options,
            at_start: false,
            remembered: Remembered { text: [0; 26], stamp: None },
            index: Index::new(),
        }
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
        let mut index = std::mem::replace(&mut self.index, Index::new());
        let mut start = 0;
        while start < block.len() {
            let window = &block[start..block.len().min(start + WINDOW)];
            index.fill(window);
            let read = self.window(block, start, index.positions(), &mut sink);
            if read > start {
                start = read;
                continue;
            }
            // No newline in the whole window: a long line, or the last one without `\n`.
            let behind = start + window.len();
            let end = memchr::memchr(b'\n', &block[behind..]).map_or(block.len(), |at| behind + at);
            sink(self.entry(&block[start..end]));
            start = end + 1;
        }
        self.index = index;
    }

    /// The whole lines of a window that begins at `base`, by the positions of its structural bytes. Where it stopped.
    fn window<'a>(
        &mut self,
        block: &'a [u8],
        base: usize,
        positions: &[u32],
        sink: &mut impl FnMut(Entry<'a>),
    ) -> usize {
        let mut start = base;
        let mut rest = positions;
        loop {
            if let Some((seven, behind)) = rest.split_first_chunk::<7>() {
                let [q0, q1, q2, q3, q4, q5, end] = seven.map(|at| base + at as usize);
                if block[end] == b'\n'
                    && [q0, q1, q2, q3, q4, q5].iter().all(|at| block[*at] == b'"')
                    && let Some(entry) = self.fast(block, start, [q0, q1, q2, q3, q4, q5], end)
                {
                    sink(entry);
                    start = end + 1;
                    rest = behind;
                    continue;
                }
            }
            let Some(at) = rest.iter().position(|at| block[base + *at as usize] == b'\n') else {
                return start;
            };
            let end = base + rest[at] as usize;
            sink(self.entry(&block[start..end]));
            start = end + 1;
            rest = &rest[at + 1..];
        }
    }

    /// A line that the fast path is sure of.
    #[inline]
    fn fast<'a>(
        &mut self,
        block: &'a [u8],
        start: usize,
        quotes: [usize; 6],
        end: usize,
    ) -> Option<Entry<'a>> {
        if self.at_start || end - start > self.options.max_line_bytes {
            return None;
        }
        let (options, remembered) = (&self.options, &mut self.remembered);
        let mut record = structural::combined(block, start, quotes, end, options.format, |text| {
            remembered.same_minute(text).or_else(|| remembered.stamp(text, options.assume_zone_seconds))
        })?;
        record.flags.insert(options.range(record.epoch));
        Some(Entry { line: &block[start..end], outcome: Line::Record(record), leading_nul: 0 })
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
    /// The stamp of a text that differs from the remembered one at most in its seconds.
    #[inline]
    fn same_minute(&self, text: &[u8; 26]) -> Option<Stamp> {
        let last = self.stamp?;
        // A leap second or a missing zone is the careful parser's business.
        if text[..18] != self.text[..18] || text[20..] != self.text[20..] || !last.flags.is_empty() {
            return None;
        }
        let second = seconds(text)?;
        Some(Stamp { epoch: last.epoch - seconds(&self.text)? + second, flags: last.flags })
    }

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

/// The seconds of `DD/Mon/YYYY:HH:MM:SS +hhmm`.
#[inline]
fn seconds(text: &[u8; 26]) -> Option<i64> {
    let (tens, ones) = (text[18].wrapping_sub(b'0'), text[19].wrapping_sub(b'0'));
    (tens < 6 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

    const NOW: i64 = 1_773_187_200;

    fn options(format: Option<Format>) -> ParserOptions {
        ParserOptions { now: Some(NOW), max_line_bytes: 900, format, ..ParserOptions::default() }
    }

    /// Every line by the careful parser alone.
    fn careful(bytes: &[u8], options: ParserOptions) -> Vec<Entry<'_>> {
        let mut parser = Parser::new(options);
        parser.begin_source();
        let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        lines.into_iter().map(|line| parser.entry(line)).collect()
    }

    /// The same in blocks of whole lines, at least `size` bytes each.
    fn blocks(bytes: &[u8], size: usize, options: ParserOptions) -> Vec<Entry<'_>> {
        let mut parser = Parser::new(options);
        parser.begin_source();
        let mut entries = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let from = size.min(rest.len() - 1);
            let end = memchr::memchr(b'\n', &rest[from..]).map_or(rest.len(), |at| from + at + 1);
            parser.block(&rest[..end], |entry| entries.push(entry));
            parser.continue_source();
            rest = &rest[end..];
        }
        entries
    }

    /// Lines near the border between the fast path and the careful one.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let of = |choices: &'static [&'static str]| prop::sample::select(choices.to_vec());
        let parts = (
            of(&[
                "192.0.2.1 - - ",
                "192.0.2.1 - -  ",
                "2001:db8::5 - - ",
                "www.example.com 192.0.2.1 - jd ",
                "a:80 192.0.2.1 - - ",
                " - - ",
                "203.0.113.7, 192.0.2.1 - - ",
                "192.0.2.1,x - - ",
                "#x - - ",
                "\u{feff}y - - ",
                "a [b - - ",
                "192.0.2.1 - ",
                "",
                "\0\x00192.0.2.1 - - ",
                "192.0.2.1 shop.example.com - ",
            ]),
            of(&[
                "10/Mar/2026:06:25:14 +0000",
                "10/Mar/2026:06:25:15 +0000",
                "10/Mar/2026:06:25:60 +0000",
                "10/Mar/2026:06:25:61 +0000",
                "10/Mar/2026:06:25:14 +0100",
                "2026-03-10 06:25:14 +01:00",
                "2026-03-10T06:25:14.123456",
                "10/Mar/1990:06:25:14 +0000",
                "10/Mar/2099:06:25:14 +0000",
                "31/Feb/2026:06:25:14 +0000",
                "1/Mar/2026:06:25:14.5+0000",
                "10/Mar/2026:06:25:14",
                "-",
            ]),
            of(&[
                "GET / HTTP/1.1",
                "-",
                "",
                "GET /[10/Mar/2026:06:25:14 +0000] ",
                "GET /\\\" HTTP/1.1",
                "GET /\"x HTTP/1.1",
                "GET /\\x22 x",
            ]),
            of(&[
                " 200 512 ",
                " 200 - ",
                " - - ",
                " 0 0 ",
                "  200 512 ",
                " 200 12k ",
                " 2OO 5 ",
                " 200 99999999999999999999 ",
                " 200 9223372036854775807 ",
                " 200 512",
                " 999 000000000000000001 ",
            ]),
            of(&[
                "\"-\" ",
                "\"\" ",
                "\"http://www.example.com/ \" ",
                "\"-\"",
                "\"x\\\\\" ",
                "",
                "\"x [10/Mar/2026:06:25:14 +0000] \" ",
            ]),
            of(&[
                "\"Mozilla/5.0 (x)\"",
                "\"\"",
                "\"-\"",
                "\"a \\\"b\\\" c\"",
                "\"a \"b\" c\"",
                "\"C:\\\"",
                "\"open",
                "",
                "\"x192.0.2.2 - - [10/Mar/2026:06:25:14 +0000] \"",
                "\"x\" ",
                "\"x\"y",
            ]),
            of(&[
                "",
                " 12345",
                " \"198.51.100.7\"",
                " rt=0.1 cs=HIT",
                "\r",
                " x\r",
                "  ",
                "\t-",
                "\r\r",
                "\"",
                " [10/Mar/2026:06:25:14 +0000] \"x\"",
            ]),
        );
        let mixed = parts.prop_map(|(prefix, stamp, request, numbers, referer, agent, tail)| {
            format!("{prefix}[{stamp}] \"{request}\"{numbers}{referer}{agent}{tail}").into_bytes()
        });
        let plain = (0_u32..60, any::<u16>()).prop_map(|(second, bytes)| {
            format!("192.0.2.9 - - [10/Mar/2026:06:25:{second:02} +0000] \"GET /{bytes} HTTP/1.1\" 200 {bytes} \"-\" \"Bot/{bytes}\"").into_bytes()
        });
        let odd = of(&["", "  ", "\r", "\0\0\0", "# note", "{\"a\": 1}", "\u{feff}", "\"", "\\\"", "x"])
            .prop_map(|text| text.as_bytes().to_vec());
        let wild = prop::collection::vec(prop::sample::select(b"\"\\[] :/-0159aJ\0\r,".to_vec()), 0..120);
        let mutated =
            (mixed.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut line, at, byte)| {
                let at = at.index(line.len());
                line[at] = if byte == b'\n' { b' ' } else { byte };
                line
            });
        let long = Just(vec![b'x'; 1_000]);
        prop_oneof![6 => mixed, 4 => plain, 3 => mutated, 1 => odd, 2 => wild, 1 => long]
    }

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1_500))]

        #[test]
        fn blocks_of_any_size_give_exactly_what_the_careful_parser_gives(
            lines in prop::collection::vec(line(), 0..24),
            size in 0_usize..2_000,
            terminated in any::<bool>(),
            format in prop::sample::select(vec![None, Some(Format::Combined), Some(Format::VhostCombined), Some(Format::Common)]),
        ) {
            let mut bytes = lines.join(&b'\n');
            if terminated {
                bytes.push(b'\n');
            }
            assert_eq!(blocks(&bytes, size, options(format)), careful(&bytes, options(format)));
        }

        #[test]
        fn any_bytes_are_lines_each_of_one_kind_and_no_byte_is_lost(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'"'), Just(b'['), Just(0)], 0..600),
            size in 0_usize..200,
        ) {
            let entries = blocks(&bytes, size, options(None));
            assert_eq!(entries, careful(&bytes, options(None)));
            let ends = bytes.iter().filter(|b| **b == b'\n').count();
            let open = usize::from(bytes.last().is_some_and(|b| *b != b'\n'));
            assert_eq!(entries.len(), ends + open);
            assert_eq!(entries.iter().map(|e| e.line.len()).sum::<usize>() + ends, bytes.len());
        }
    }

    #[test]
    fn lines_across_the_end_of_a_window_are_read_whole() {
        let line = br#"192.0.2.9 - - [10/Mar/2026:06:25:14 +0000] "GET /a HTTP/1.1" 200 5 "-" "Bot/1.0""#;
        let mut bytes = Vec::new();
        for extra in 0..2_000 {
            bytes.extend_from_slice(line);
            bytes.extend(std::iter::repeat_n(b' ', extra % 7));
            bytes.push(b'\n');
        }
        assert!(bytes.len() > 4 * WINDOW);
        bytes.extend(std::iter::repeat_n(b'"', 3 * WINDOW));
        bytes.extend_from_slice(b"\n# end\n");
        bytes.extend_from_slice(line);
        let entries = blocks(&bytes, usize::MAX, options(None));
        assert_eq!(entries, careful(&bytes, options(None)));
        assert_eq!(entries.iter().filter(|e| matches!(e.outcome, Line::Record(_))).count(), 2_001);
        assert_eq!(entries[2_000].outcome, Line::Reject(Reject { reason: RejectReason::TooLong }));
    }

    #[test]
    fn the_byte_order_mark_is_dropped_at_the_start_of_a_source_only() {
        let line = "\u{feff}# x\n\u{feff}# x\n".as_bytes();
        let outcomes: Vec<_> = blocks(line, usize::MAX, options(None)).iter().map(|e| e.outcome).collect();
        assert_eq!(outcomes[0], Line::Directive);
        assert!(matches!(outcomes[1], Line::Reject(_)));
    }

    #[test]
    fn runs_of_nul_are_counted_and_a_line_of_nothing_else_is_blank() {
        let bytes = b"\0\0\0\n\0\0# x\n\0";
        let seen: Vec<_> =
            blocks(bytes, usize::MAX, options(None)).iter().map(|e| (e.outcome, e.leading_nul)).collect();
        assert_eq!(seen, [(Line::Blank, 3), (Line::Directive, 2), (Line::Blank, 1)]);
    }
}
