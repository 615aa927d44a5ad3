//! The first and the last lines of a log as hashes: enough to see that one log begins with the lines that another one
//! ends with, without either of them.
//!
//! `copytruncate` copies a log and then empties it. Tools that keep the tail of the old log, or copy while the server
//! writes, leave the same block of whole lines at the end of `access.log.1` and at the start of `access.log`.
//!
//! A block is taken for one that was logged once when at least three of its lines stand once only among the last lines
//! of the older log and once only among the first of the newer. One line alone may be there twice in truth (two equal
//! requests of one client in one second, and the log rotated between them), and so may be a short cycle that a load
//! test repeats within a second; three lines in the same order that nothing else repeats are a copy.
//!
//! Example: `access.log.1` ends with the lines `... c d e f`, `access.log` begins with `d e f g ...`: three are shared.

use twox_hash::XxHash3_64;

use crate::format::{Directive, Line, Parser, cri};

/// Bytes that are looked at, at either end.
pub const EDGE_BYTES: usize = 64 * 1024;
/// Lines that are kept of them, at either end.
pub const EDGE_LINES: usize = 128;
/// So many lines of a shared block must be alone of their kind.
const EVIDENCE: usize = 3;

/// The lines at both ends of a log. Equal contents have equal edges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edges {
    /// XXH3-64 of each of the first lines, `\n` included; at most [`EDGE_LINES`].
    pub first: Vec<u64>,
    /// The same of the last lines, in file order. Empty where the log ends within an entry that a container runtime cut.
    pub last: Vec<u64>,
    /// The earliest stamp of the first lines, in epoch seconds.
    pub first_since: Option<i64>,
    /// The earliest stamp of the last lines, in epoch seconds.
    pub last_since: Option<i64>,
}

impl Edges {
    /// Of a log that begins with `beginning` and ends with `end`: at least [`EDGE_BYTES`] each, or all of a shorter one;
    /// `whole` when `end` is all of it.
    #[must_use]
    pub fn of(beginning: &[u8], end: &[u8], whole: bool, parser: &mut Parser) -> Self {
        let beginning = &beginning[..beginning.len().min(EDGE_BYTES)];
        let first: Vec<&[u8]> = whole_lines(beginning).take(EDGE_LINES).collect();
        let (mut end, mut whole) = (end, whole);
        if end.len() > EDGE_BYTES {
            (end, whole) = (&end[end.len() - EDGE_BYTES..], false);
        }
        let open = end.ends_with(b"\n") && cri::is_open(end);
        if !whole {
            // Its beginning is not here.
            let cut = memchr::memchr(b'\n', end).map_or(end.len(), |i| i + 1);
            end = &end[cut..];
        }
        let mut last: Vec<&[u8]> = end.split_inclusive(|b| *b == b'\n').collect();
        if open {
            last.clear();
        }
        last.drain(..last.len().saturating_sub(EDGE_LINES));
        let hashes = |lines: &[&[u8]]| lines.iter().map(|line| XxHash3_64::oneshot(line)).collect();
        let mut earliest = |lines: &[&[u8]], directive: Directive<'_>| {
            let mut since: Option<i64> = None;
            parser.block_behind(&lines.concat(), directive, |entry| {
                if let Line::Record(record) = entry.outcome {
                    since = Some(since.map_or(record.epoch, |s| s.min(record.epoch)));
                }
            });
            since
        };
        let named = crate::format::w3c::last_directive(beginning).map(<[u8]>::to_vec);
        Self {
            first_since: earliest(&first, &mut || named.clone()),
            last_since: earliest(&last, &mut || named.clone()),
            first: hashes(&first),
            last: hashes(&last),
        }
    }

    /// How many of the first lines of this log are the last ones of `older`: the most for which there is evidence.
    /// `None` when they share nothing, or less than that.
    #[must_use]
    pub fn shared_with(&self, older: &Self) -> Option<usize> {
        let end = older.last.last()?;
        let most = self.first.len().min(older.last.len());
        (1..=most).rev().find(|lines| {
            let block = &self.first[..*lines];
            block.last() == Some(end)
                && older.last.ends_with(block)
                && block.iter().filter(|line| once(&self.first, line) && once(&older.last, line)).count()
                    >= EVIDENCE
        })
    }

    /// Whether this can be the newer of two logs that share lines: its first stamp is not the earlier one.
    #[must_use]
    pub fn comes_after(&self, older: &Self) -> bool {
        let (Some(before), Some(after)) = (older.first_since, self.first_since) else { return false };
        // Two logs of one second, each of which begins with the end of the other: any one rule will do.
        before < after || (before == after && (older.shared_with(self).is_none() || older.first < self.first))
    }

    /// Whether enough of the last lines are alone of their kind to find them in another log.
    #[must_use]
    pub fn end_is_telling(&self) -> bool {
        self.last.iter().filter(|line| once(&self.last, line)).count() >= EVIDENCE
    }
}

fn whole_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n"))
}

fn once(lines: &[u64], line: &u64) -> bool {
    lines.iter().filter(|other| *other == line).take(2).count() == 1
}

/// The hash of one line, `\n` included, as in [`Edges::first`].
#[must_use]
pub fn line_hash(line: &[u8]) -> u64 {
    XxHash3_64::oneshot(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ParserOptions;

    fn edges(text: &str) -> Edges {
        Edges::of(text.as_bytes(), text.as_bytes(), true, &mut Parser::new(ParserOptions::default()))
    }

    fn shared(older: &str, newer: &str) -> Option<usize> {
        let lines = |text: &str| text.split(' ').map(|line| format!("{line}\n")).collect::<String>();
        edges(&lines(newer)).shared_with(&edges(&lines(older)))
    }

    #[test]
    fn the_longest_block_that_ends_the_older_log_and_begins_the_newer_is_found() {
        assert_eq!(shared("a b c d e f", "d e f g h"), Some(3));
        assert_eq!(shared("a b c d e f", "b c d e f"), Some(5));
        assert_eq!(shared("a b c d e f", "x d e f"), None, "not at the start");
        assert_eq!(shared("a b c d e f", "c d e g"), None, "not the end");
        assert_eq!(shared("a b c", "d e f"), None);
        assert_eq!(shared("", ""), None);
    }

    #[test]
    fn lines_that_stand_more_than_once_prove_nothing() {
        assert_eq!(shared("a b c", "b c d"), None, "two lines");
        assert_eq!(shared("a x x x x", "x x x x b"), None, "one request over and over");
        assert_eq!(shared("a x y z x y z", "x y z b"), None, "a cycle that was cut between two rounds");
        assert_eq!(shared("a x y z", "x y z x y z b"), None);
        assert_eq!(shared("a x b x c d", "x b x c d e"), Some(5), "three are alone of their kind");
    }

    #[test]
    fn a_last_line_without_an_end_and_a_first_one_that_is_cut_are_no_shared_lines() {
        let older = edges("a\nb\nc\nd\ne");
        assert_eq!(edges("b\nc\nd\ne\n").shared_with(&older), None);
        let mut parser = Parser::new(ParserOptions::default());
        let part = Edges::of(b"", b"cut\nb\nc\nd\n", false, &mut parser);
        assert_eq!(edges("b\nc\nd\ne\n").shared_with(&part), Some(3));
        assert_eq!(edges("cut\nb\nc\nd\ne\n").shared_with(&part), None);
    }

    #[test]
    fn the_older_of_two_logs_is_the_one_that_begins_earlier() {
        let text = |minutes: std::ops::Range<u32>| -> String {
            minutes
                .map(|m| {
                    format!("192.0.2.1 - - [10/Mar/2026:06:{m:02}:00 +0000] \"GET /{m} HTTP/1.1\" 200 1\n")
                })
                .collect()
        };
        let (older, newer) = (edges(&text(0..9)), edges(&text(6..12)));
        assert!(newer.comes_after(&older) && !older.comes_after(&newer));
        assert!(!edges("a\nb\n").comes_after(&older), "nothing is known of lines without a stamp");
        // Each begins with the end of the other: one of them comes first, whichever.
        let of = |method: &str| text(0..3).replace("GET", method);
        let (one, two) = (edges(&[of("GET"), of("PUT")].concat()), edges(&[of("PUT"), of("GET")].concat()));
        assert_eq!((one.shared_with(&two), two.shared_with(&one)), (Some(3), Some(3)));
        assert_ne!(one.comes_after(&two), two.comes_after(&one));
    }

    #[test]
    fn edges_hold_so_many_lines_and_the_earliest_stamp_of_them() {
        let text: String = (0..1000)
            .map(|i| {
                format!(
                    "192.0.2.1 - - [10/Mar/2026:06:{:02}:00 +0000] \"GET /{i} HTTP/1.1\" 200 1\n",
                    59 - i / 20
                )
            })
            .collect();
        let edges = edges(&text);
        assert_eq!((edges.first.len(), edges.last.len()), (EDGE_LINES, EDGE_LINES));
        let (first, last) = (edges.first_since.unwrap(), edges.last_since.unwrap());
        assert_eq!(first - last, (49 - 6) * 60);
    }
}
