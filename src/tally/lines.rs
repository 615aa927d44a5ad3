//! Lines by kind: the terms of the line equation, for one source.

use std::collections::BTreeMap;

use crate::format::{Entry, Flags, Format, Line, RejectReason};
use crate::tally::claims::ClaimTally;
use crate::tally::table::LineCounts;

/// Rejected lines that are remembered by number.
const FIRST_REJECTS: usize = 10;

/// Where a line is: block, and line within the block, from 0; parts of an entry are numbered too.
type Place = (u64, u64);

/// What is counted of the lines of one source, over any of its blocks.
#[derive(Debug, Default)]
pub struct LineTally {
    blank: u64,
    directive: u64,
    records: u64,
    rejects: [u64; RejectReason::ALL.len()],
    formats: [u64; Format::ALL.len()],
    flags: [u64; Flags::NAMES.len()],
    nul_bytes: u64,
    out_of_range: u64,
    block: u64,
    /// Lines in front of the block's first one that is counted.
    overlapped_before: u64,
    overlapped: u64,
    joined: u64,
    block_lines: Vec<(u64, u64)>,
    first_rejects: Vec<(Place, RejectReason)>,
    first_dated: Option<(Place, i32)>,
    /// Whether the current block had a record.
    dated: bool,
    /// Records left out by a filter; set by whoever filters, within `records`.
    pub filtered: u64,
    /// Records (filtered ones excepted) of bots.
    pub bot_records: u64,
    /// Records by the first pattern that they match.
    pub first_match: Vec<u64>,
    /// Records by every pattern that they match.
    pub every_match: Vec<u64>,
    /// Claims that could be checked.
    pub claims: ClaimTally,
}

/// Lines of one source, put together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FinishedLines {
    /// `records` holds the filtered ones too, `filtered` is 0: as the history counts.
    pub counts: LineCounts,
    /// Records left out by a filter.
    pub filtered: u64,
    /// Records by format.
    pub formats: BTreeMap<Format, u64>,
    /// Records by flag.
    pub flags: BTreeMap<&'static str, u64>,
    /// The first rejected lines: number from 1, reason.
    pub first_rejected_lines: Vec<(u64, RejectReason)>,
    /// The date of the first dated record in file order.
    pub first_date: Option<i32>,
    /// Records of bots.
    pub bot_records: u64,
    /// Records by the first pattern that they match.
    pub first_match: Vec<u64>,
    /// Records by every pattern that they match.
    pub every_match: Vec<u64>,
}

impl LineTally {
    /// An empty tally for so many patterns.
    #[must_use]
    pub fn new(patterns: usize) -> Self {
        Self { first_match: vec![0; patterns], every_match: vec![0; patterns], ..Self::default() }
    }

    /// Begins block number `block` of the source; its first `overlapped` lines are in an older source, and only numbered.
    pub fn begin_block(&mut self, block: u64, overlapped: u64) {
        self.block = block;
        self.dated = false;
        self.overlapped_before = overlapped;
        self.overlapped += overlapped;
    }

    /// Counts one line of the current block.
    #[inline(always)]
    pub fn line(&mut self, entry: &Entry<'_>) {
        self.nul_bytes += entry.leading_nul as u64;
        self.joined += entry.parts - 1;
        let Line::Record(record) = entry.outcome else {
            let entry = *entry;
            self.no_record(&entry);
            return;
        };
        self.records += 1;
        self.formats[record.format as usize] += 1;
        if !record.flags.is_empty() {
            self.flagged(record.flags);
        }
        // Within a block the numbers ascend: only the first record of a block can be the first of all.
        if !self.dated {
            self.date(self.place(entry), record.epoch);
        }
    }

    fn place(&self, entry: &Entry<'_>) -> Place {
        (self.block, self.overlapped_before + entry.number)
    }

    #[cold]
    fn date(&mut self, place: Place, epoch: i64) {
        self.dated = true;
        if self.first_dated.is_none_or(|(first, _)| place < first) {
            let date = epoch.div_euclid(86_400);
            let date = i32::try_from(date).unwrap_or(if date < 0 { i32::MIN } else { i32::MAX });
            self.first_dated = Some((place, date));
        }
    }

    #[cold]
    fn no_record(&mut self, entry: &Entry<'_>) {
        match entry.outcome {
            Line::Record(_) => {}
            Line::Blank => self.blank += 1,
            Line::Directive => self.directive += 1,
            Line::Reject(reject) => self.rejected(self.place(entry), reject.reason),
        }
    }

    /// Counts NUL bytes of a hole that stands in no block.
    pub fn skip_nul(&mut self, bytes: u64) {
        self.nul_bytes += bytes;
    }

    /// Ends the current block, of which so many lines were counted, parts too.
    pub fn end_block(&mut self, lines: u64) {
        self.block_lines.push((self.block, self.overlapped_before + lines));
    }

    #[cold]
    fn flagged(&mut self, flags: Flags) {
        for (count, (flag, _)) in self.flags.iter_mut().zip(Flags::NAMES) {
            *count += u64::from(flags.contains(flag));
        }
        if flags.contains(Flags::FUTURE) || flags.contains(Flags::ANCIENT) {
            self.out_of_range += 1;
        }
    }

    #[cold]
    fn rejected(&mut self, place: Place, reason: RejectReason) {
        self.rejects[reason as usize] += 1;
        if self.first_rejects.len() < FIRST_REJECTS || self.first_rejects.last().is_some_and(|l| place < l.0)
        {
            self.first_rejects.push((place, reason));
            self.first_rejects.sort_unstable();
            self.first_rejects.truncate(FIRST_REJECTS);
        }
    }

    /// Adds the lines of other blocks of the same source.
    pub fn merge(&mut self, other: Self) {
        self.blank += other.blank;
        self.directive += other.directive;
        self.records += other.records;
        for (a, b) in self.rejects.iter_mut().zip(other.rejects) {
            *a += b;
        }
        for (a, b) in self.formats.iter_mut().zip(other.formats) {
            *a += b;
        }
        for (a, b) in self.flags.iter_mut().zip(other.flags) {
            *a += b;
        }
        self.nul_bytes += other.nul_bytes;
        self.joined += other.joined;
        self.overlapped += other.overlapped;
        self.out_of_range += other.out_of_range;
        self.block_lines.extend(other.block_lines);
        self.first_rejects.extend(other.first_rejects);
        self.first_rejects.sort_unstable();
        self.first_rejects.truncate(FIRST_REJECTS);
        self.first_dated = match (self.first_dated, other.first_dated) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.filtered += other.filtered;
        self.bot_records += other.bot_records;
        for (mine, others) in
            [(&mut self.first_match, other.first_match), (&mut self.every_match, other.every_match)]
        {
            if mine.len() < others.len() {
                mine.resize(others.len(), 0);
            }
            for (a, b) in mine.iter_mut().zip(others) {
                *a += b;
            }
        }
        self.claims.merge(other.claims);
    }

    /// Puts the blocks in order and numbers the lines.
    #[must_use]
    pub fn finish(mut self) -> FinishedLines {
        self.block_lines.sort_unstable();
        let mut lines = 0;
        let mut before = BTreeMap::new();
        for (block, count) in &self.block_lines {
            before.insert(*block, lines);
            lines += count;
        }
        FinishedLines {
            counts: LineCounts {
                // Parts behind the first are no lines of their own, and what an older source holds is none of this one.
                lines: lines - self.joined - self.overlapped,
                joined_lines: self.joined,
                blank: self.blank,
                directive: self.directive,
                records: self.records,
                rejects: RejectReason::ALL.into_iter().zip(self.rejects).filter(|(_, n)| *n > 0).collect(),
                out_of_range: self.out_of_range,
                nul_bytes_skipped: self.nul_bytes,
                ..LineCounts::default()
            },
            filtered: self.filtered,
            formats: Format::ALL.into_iter().zip(self.formats).filter(|(_, n)| *n > 0).collect(),
            flags: Flags::NAMES
                .into_iter()
                .zip(self.flags)
                .filter(|(_, n)| *n > 0)
                .map(|((_, f), n)| (f, n))
                .collect(),
            first_rejected_lines: self
                .first_rejects
                .iter()
                .map(|((block, line), reason)| (before.get(block).copied().unwrap_or(0) + line + 1, *reason))
                .collect(),
            first_date: self.first_dated.map(|(_, date)| date),
            bot_records: self.bot_records,
            first_match: self.first_match,
            every_match: self.every_match,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Reject;

    #[test]
    fn lines_of_an_older_source_are_numbered_and_not_counted() {
        let reject = Line::Reject(Reject { reason: RejectReason::NoTime });
        let entry = |number| Entry { line: b"", outcome: &reject, leading_nul: 0, number, parts: 1 };
        let mut tally = LineTally::default();
        tally.begin_block(1, 4);
        tally.line(&entry(0));
        tally.end_block(1);
        tally.begin_block(0, 10);
        tally.end_block(0);
        let finished = tally.finish();
        assert!(finished.counts.balances());
        assert_eq!(finished.counts.lines, 1);
        assert_eq!(finished.first_rejected_lines, [(15, RejectReason::NoTime)]);
    }

    #[test]
    fn lines_are_numbered_over_blocks_that_were_counted_in_any_order() {
        let reject = Line::Reject(Reject { reason: RejectReason::NoTime });
        let entry =
            |number, outcome, leading_nul, parts| Entry { line: b"", outcome, leading_nul, number, parts };
        let mut late = LineTally::default();
        late.begin_block(1, 0);
        late.line(&entry(0, &Line::Blank, 0, 3));
        late.line(&entry(3, &reject, 3, 1));
        late.end_block(4);
        let mut early = LineTally::default();
        early.begin_block(0, 0);
        for number in 0..5 {
            early.line(&entry(number, &Line::Directive, 0, 1));
        }
        early.line(&entry(5, &reject, 0, 1));
        early.end_block(6);
        late.merge(early);
        let finished = late.finish();
        assert!(finished.counts.balances());
        assert_eq!(finished.counts.lines, 8);
        assert_eq!((finished.counts.nul_bytes_skipped, finished.counts.joined_lines), (3, 2));
        assert_eq!(finished.first_rejected_lines, [(6, RejectReason::NoTime), (10, RejectReason::NoTime)]);
    }
}
