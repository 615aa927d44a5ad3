//! Lines by the literals of a format string.
//!
//! A field ends where the text behind it stands. Where that text stands more than once, the first place counts behind
//! which the rest of the line fits; of a field in quotes the first quote without a backslash is tried first. So a user
//! name with blanks and a quote that the writer did not escape are read as in Combined.
//!
//! Example of its input: `[10/Mar/2026:06:25:14 +0000] GET /p/1?x=1 200 192.0.2.10`

use super::super::draft::{Draft, Slot, Span};
use super::super::quote;
use super::super::record::{Flags, Format, Record, RejectReason};
use super::super::timestamp::{self, Stamp};
use super::Part;

/// Ends of fields that are tried before a line is given up: hostile lines must not cost more.
const TRIES: usize = 400;

/// Longest stamp, in bytes.
const LONGEST_STAMP: usize = 64;

pub(super) fn read<'a>(
    parts: &[Part],
    line: &'a [u8],
    scratch: &'a mut Vec<u8>,
    stamp: &mut dyn FnMut(&[u8]) -> Option<Stamp>,
) -> Result<Record<'a>, RejectReason> {
    scratch.clear();
    let mut search = Search { parts, line, ends: [0; super::MOST_PARTS], repaired: false, tries: TRIES };
    if !search.from(0, 0) {
        return Err(RejectReason::NotThisFormat);
    }
    let mut draft = Draft::new();
    let mut at = 0;
    for (part, end) in parts.iter().zip(search.ends) {
        if let Part::Field(Some((slot, rank))) = part {
            let (start, text) = (at, &line[at..end]);
            let torn = matches!(slot, Slot::Referer | Slot::UserAgent);
            if torn && timestamp::next_entry(&line[..end], start).is_some() {
                return Err(RejectReason::TornLine);
            }
            // Of two fields for one slot one that is there goes before one that is not.
            let rank = if matches!(text, b"" | b"-") { rank + 100 } else { *rank };
            draft.set(*slot, rank, Span::line(start, end));
        }
        at = end;
    }
    if search.repaired {
        draft.flags.insert(Flags::QUOTE_REPAIR);
    }
    draft.finish(Format::Custom, line, scratch, stamp)
}

struct Search<'a> {
    parts: &'a [Part],
    line: &'a [u8],
    /// Where each part ends.
    ends: [usize; super::MOST_PARTS],
    repaired: bool,
    tries: usize,
}

impl Search<'_> {
    /// Whether the parts from `part` on fit the line from `at` on.
    fn from(&mut self, part: usize, at: usize) -> bool {
        match self.parts.get(part) {
            None => self.line[at..].iter().all(|b| matches!(b, b' ' | b'\t')),
            Some(Part::Text(text)) => {
                let fits = self.line[at..].starts_with(text);
                self.ends[part] = at + text.len();
                fits && self.from(part + 1, at + text.len())
            }
            Some(Part::Field(slot)) => {
                let slot = slot.map(|(slot, _)| slot);
                let behind = match self.parts.get(part + 1) {
                    None => return self.ends_at(part, slot, at, self.line.len()),
                    Some(Part::Text(behind)) => behind,
                    // `$host$request_uri`: one word, and the path begins with its slash.
                    Some(Part::Field(_)) => {
                        let word = &self.line[at..];
                        let end = word.iter().position(|b| matches!(b, b'/' | b' ' | b'\t' | b'"'));
                        return end
                            .is_some_and(|end| word[end] == b'/' && self.ends_at(part, slot, at, at + end));
                    }
                };
                if slot == Some(Slot::Time)
                    && behind.first() == Some(&b' ')
                    && let Some(end) = self.stamp_end(at, behind)
                    && self.ends_at(part, slot, at, end)
                {
                    return true;
                }
                let quoted = behind.first() == Some(&b'"') && at > 0 && self.line[at - 1] == b'"';
                let strict = if quoted { quote::closing(self.line, at) } else { None };
                if let Some(end) = strict
                    && self.line[end..].starts_with(behind)
                    && self.ends_at(part, slot, at, end)
                {
                    return true;
                }
                for end in memchr::memmem::find_iter(&self.line[at..], behind).map(|end| at + end) {
                    if Some(end) == strict {
                        continue;
                    }
                    if self.ends_at(part, slot, at, end) {
                        self.repaired |= quoted;
                        return true;
                    }
                    if self.tries == 0 {
                        return false;
                    }
                }
                false
            }
        }
    }

    /// Where the longest stamp from `at` on ends: a blank may stand in it as well as behind it.
    fn stamp_end(&self, at: usize, behind: &[u8]) -> Option<usize> {
        let text = &self.line[at..self.line.len().min(at + LONGEST_STAMP + behind.len())];
        memchr::memmem::rfind_iter(text, behind)
            .map(|end| at + end)
            .find(|end| timestamp::parse(&self.line[at..*end], 0).is_some())
    }

    fn ends_at(&mut self, part: usize, slot: Option<Slot>, start: usize, end: usize) -> bool {
        self.tries = self.tries.saturating_sub(1);
        if self.tries == 0 || !may_be(slot, &self.line[start..end]) {
            return false;
        }
        self.ends[part] = end;
        self.from(part + 1, end)
    }
}

/// What a value must look like for its slot.
fn may_be(slot: Option<Slot>, text: &[u8]) -> bool {
    match slot {
        Some(Slot::Status | Slot::Bytes) => text == b"-" || text.iter().all(u8::is_ascii_digit),
        Some(Slot::Latency(_) | Slot::Upstream(_)) => text
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b',' | b':' | b' ' | b'-' | b'+')),
        Some(Slot::Time) => text.iter().any(u8::is_ascii_digit) && text.len() < LONGEST_STAMP,
        _ => true,
    }
}
