//! W3C extended logs: IIS, CloudFront, and others that name their columns in a `#Fields:` line.
//!
//! The columns hold until the next such line. Which line is in force where a block begins is the reader's to say
//! ([`last_directive`] finds it in what stands before). Columns are divided by tabs when the directive's line or the
//! record has one, else by blanks. IIS writes a blank in a text as `+`, CloudFront as `%20` or `%2520`; both are
//! undone in the user agent. Stamps are UTC.
//!
//! Example of its input: `#Fields: date time c-ip cs-method cs-uri-stem sc-status`, then
//! `2026-03-10 06:25:14 192.0.2.10 GET /p/1 200`

use super::draft::Slot::{
    self, Bytes, Cache, Client, Clock, Date, Forwarded, Host, Latency, Method, Path, Port, Protocol, Query,
    Referer, Status, Target, User, UserAgent,
};
use super::draft::Unit::{Micros, Millis, Seconds};
use super::draft::{Draft, Span};
use super::record::{Format, Record, RejectReason};
use super::timestamp::Stamp;

/// How a directive that names columns begins.
const FIELDS: &[u8] = b"#Fields:";

/// The columns of a log, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    slots: Vec<Option<(Slot, u8)>>,
    cloudfront: bool,
}

impl Columns {
    /// Reads a directive; `None` when it is another one.
    pub(super) fn of_directive(line: &[u8]) -> Option<Self> {
        let names = line.strip_prefix(FIELDS)?;
        let names: Vec<&[u8]> =
            names.split(|b| matches!(b, b' ' | b'\t' | b'\r')).filter(|name| !name.is_empty()).collect();
        let cloudfront = names.iter().any(|name| name.starts_with(b"x-edge-"));
        let slots = names.iter().map(|name| slot(name, cloudfront)).collect();
        Some(Self { slots, cloudfront })
    }

    /// The values of a line, one per column; `None` when their number or the date is not right.
    fn values<'a>(&self, line: &'a [u8]) -> Option<impl Iterator<Item = (usize, usize)> + use<'a>> {
        if self.slots.is_empty() {
            return None;
        }
        let date = self.slots.iter().position(|slot| matches!(slot, Some((Date, _))))?;
        let mut count = 0;
        let mut dated = false;
        for (start, end) in values(line) {
            dated |= count == date && is_date(&line[start..end]);
            count += 1;
        }
        (count == self.slots.len() && dated).then(|| values(line))
    }

    /// Whether a line has these columns.
    pub(super) fn fit(&self, line: &[u8]) -> bool {
        self.values(line).is_some()
    }

    /// Reads a line that fits.
    pub(super) fn parse<'a>(
        &self,
        line: &'a [u8],
        scratch: &'a mut Vec<u8>,
        stamp: &mut dyn FnMut(&[u8]) -> Option<Stamp>,
    ) -> Result<Record<'a>, RejectReason> {
        scratch.clear();
        let mut draft = Draft::new();
        let values = self.values(line).ok_or(RejectReason::NotThisFormat)?;
        for ((start, end), slot) in values.zip(&self.slots) {
            let Some((slot, rank)) = *slot else { continue };
            let text = &line[start..end];
            let slot = match slot {
                // IIS counts in whole milliseconds, CloudFront and others in seconds with a point.
                Latency(_) if text.contains(&b'.') => Latency(Seconds),
                Host if text == b"-" => continue,
                other => other,
            };
            let span = match slot {
                UserAgent => {
                    let from = scratch.len();
                    user_agent(text, self.cloudfront, scratch);
                    Span::scratch(from, scratch.len())
                }
                Host | Client | Date | Clock | Status | Bytes | Latency(_) => Span::line(start, end),
                _ if memchr::memchr2(b'\\', b'"', text).is_some() => {
                    let from = scratch.len();
                    text.iter().for_each(|byte| push(*byte, scratch));
                    Span::scratch(from, scratch.len())
                }
                _ => Span::line(start, end),
            };
            draft.set(slot, rank, span);
        }
        draft.finish(Format::W3c, line, scratch, stamp)
    }
}

/// A word that is a date: what a record of this format must have.
pub(super) fn may_fit(line: &[u8]) -> bool {
    values(line).take(32).any(|(start, end)| is_date(&line[start..end]))
}

/// The last line of `lines` that names columns, without its newline.
#[must_use]
pub fn last_directive(lines: &[u8]) -> Option<&[u8]> {
    let begins = |at: usize| {
        // As the parser sees a line: NUL bytes and, at the start of a log, a byte-order mark before it.
        let before = &lines[..at];
        let before = &before[..before.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1)];
        before.is_empty() || before.ends_with(b"\n") || before == b"\xEF\xBB\xBF"
    };
    let at = memchr::memmem::find_iter(lines, FIELDS).filter(|at| begins(*at)).last()?;
    let end = memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |end| at + end);
    Some(&lines[at..end])
}

fn slot(name: &[u8], cloudfront: bool) -> Option<(Slot, u8)> {
    let unit = if cloudfront { Seconds } else { Millis };
    let mut buffer = [0; 40];
    let key = buffer.get_mut(..name.len())?;
    key.copy_from_slice(name);
    key.make_ascii_lowercase();
    Some(match &*key {
        b"date" => (Date, 0),
        b"time" => (Clock, 0),
        b"c-ip" => (Client, 0),
        b"cs-method" => (Method, 0),
        b"cs-uri" => (Target, 0),
        b"cs-uri-stem" => (Path, 0),
        b"cs-uri-query" => (Query, 0),
        b"cs-version" | b"cs-protocol-version" => (Protocol, 0),
        b"sc-status" => (Status, 0),
        b"sc-bytes" => (Bytes, 0),
        b"cs(user-agent)" => (UserAgent, 0),
        b"cs(referer)" => (Referer, 0),
        b"x-host-header" => (Host, 0),
        b"cs-host" | b"cs(host)" => (Host, 1),
        b"s-port" => (Port, 0),
        b"cs-username" => (User, 0),
        b"x-forwarded-for" | b"cs(x-forwarded-for)" => (Forwarded, 0),
        b"time-taken" => (Latency(unit), 0),
        b"time-taken-ms" => (Latency(Millis), 1),
        b"time-taken-us" => (Latency(Micros), 2),
        b"x-edge-result-type" | b"x-cache" | b"s-cache" => (Cache, 0),
        _ => return None,
    })
}

/// Start and end of every value, quotes around one removed.
fn values(line: &[u8]) -> impl Iterator<Item = (usize, usize)> + use<'_> {
    let tabs = memchr::memchr(b'\t', line).is_some();
    let mut at = 0;
    std::iter::from_fn(move || {
        if !tabs {
            at = super::quote::skip_blanks(line, at);
        }
        if at >= line.len() {
            return None;
        }
        let divides = |b: &u8| if tabs { *b == b'\t' } else { *b == b' ' };
        if line[at] == b'"'
            && let Some(end) = memchr::memchr(b'"', &line[at + 1..]).map(|end| at + 1 + end)
            && line.get(end + 1).is_none_or(divides)
        {
            let start = std::mem::replace(&mut at, end + 2) + 1;
            return Some((start, end));
        }
        let end = line[at..].iter().position(divides).map_or(line.len(), |end| at + end);
        let start = std::mem::replace(&mut at, end + 1);
        Some((start, end))
    })
}

fn is_date(text: &[u8]) -> bool {
    matches!(text, [a, b, c, d, b'-', e, f, b'-', g, h] if [a, b, c, d, e, f, g, h].iter().all(|x| x.is_ascii_digit()))
}

fn push(byte: u8, out: &mut Vec<u8>) {
    if matches!(byte, b'\\' | b'"') {
        out.push(b'\\');
    }
    out.push(byte);
}

/// A plus is a blank, unless a parenthesis or such a blank stands before it: `(+http://...`, `;++http://...`.
fn user_agent(text: &[u8], cloudfront: bool, out: &mut Vec<u8>) {
    if !cloudfront {
        let mut before = 0;
        for byte in text {
            let is_blank = *byte == b'+' && before != b'(' && before != b' ';
            before = if is_blank { b' ' } else { *byte };
            push(before, out);
        }
        return;
    }
    let mut plain: Vec<u8> = percent_encoding::percent_decode(text).collect();
    if memchr::memmem::find(&plain, b"%20").is_some() {
        plain = percent_encoding::percent_decode(&plain).collect();
    }
    plain.iter().for_each(|byte| push(*byte, out));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_directive_is_the_last_line_that_is_one() {
        let text = b"#Fields: a\n#Version: 1\n\0\0#Fields: b c\r\nx #Fields: no\n";
        assert_eq!(last_directive(text), Some(&b"#Fields: b c\r"[..]));
        assert_eq!(last_directive(b"\xEF\xBB\xBF#Fields: a"), Some(&b"#Fields: a"[..]));
        assert_eq!(last_directive(b"x #Fields: a\n"), None);
    }

    #[test]
    fn blanks_of_a_user_agent_come_back() {
        let read = |text: &str, cloudfront| {
            let mut out = Vec::new();
            user_agent(text.as_bytes(), cloudfront, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(read("A/1+(x;++https://bot.example)", false), "A/1 (x; +https://bot.example)");
        assert_eq!(read("A/1+(+https://bot.example)", false), "A/1 (+https://bot.example)");
        assert_eq!(read("A/1%2520(x)", true), "A/1 (x)");
        assert_eq!(read("A/1%20(%22x)", true), "A/1 (\\\"x)");
    }

    #[test]
    fn a_line_must_have_the_columns_that_were_named() {
        let columns = Columns::of_directive(b"#Fields: date time c-ip cs(Cookie)").unwrap();
        assert!(columns.fit(b"2026-03-10 06:25:14 192.0.2.1 -"));
        assert!(columns.fit(b"2026-03-10 06:25:14 192.0.2.1 \"a; b\""));
        assert!(columns.fit(b"2026-03-10\t06:25:14\t192.0.2.1\ta; b"));
        assert!(!columns.fit(b"2026-03-10 06:25:14 192.0.2.1"));
        assert!(!columns.fit(b"10/03/2026 06:25:14 192.0.2.1 -"));
        assert_eq!(Columns::of_directive(b"#Software: x"), None);
    }
}
