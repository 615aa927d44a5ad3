//! One JSON object a line: nginx, Caddy, Traefik, and whoever names fields in the usual way; Docker's object around a
//! line of another format.
//!
//! Read in one pass without a tree: only values whose key says what they hold are looked at ([`super::names`]). More
//! is read than JSON allows where servers write it: `\x22` of nginx, an empty value, a bare `-`. What is behind the
//! object is an error, because then two entries ran into each other.
//!
//! Example of its input: `{"time_iso8601":"2026-03-10T06:25:14+00:00","request":"GET / HTTP/1.1","status":200}`

use super::draft::{Draft, Slot, Span, Unit};
use super::names;
use super::record::{Format, Record, RejectReason};
use super::timestamp::Stamp;

/// Objects in objects.
const DEEPEST: usize = 32;

/// Whether a line was meant as a JSON object.
#[inline]
pub(super) fn leads(line: &[u8]) -> bool {
    line.first() == Some(&b'{')
        && matches!(line[1..].iter().find(|b| !b.is_ascii_whitespace()), Some(b'"' | b'}'))
}

/// Reads one line.
pub(super) fn parse<'a>(
    line: &'a [u8],
    scratch: &'a mut Vec<u8>,
    stamp: &mut dyn FnMut(&[u8]) -> Option<Stamp>,
) -> Result<Record<'a>, RejectReason> {
    scratch.clear();
    let mut draft = Draft::new();
    let mut is_envoy = false;
    walk(line, &mut |path, value| {
        is_envoy |= path == b"response_flags";
        let Some((slot, rank)) = names::of_path(path) else { return };
        let text = &line[value.start..value.end];
        if value.kind == Kind::Text && memchr::memchr(b'\\', text).is_some() {
            let start = scratch.len();
            undo(text, Escapes::Keep, scratch);
            draft.set(slot, rank, Span::scratch(start, scratch.len()));
        } else if value.kind != Kind::Container || slot == Slot::Headers {
            draft.set(slot, rank, Span::line(value.start, value.end));
        }
    })
    .ok_or(RejectReason::BadJson)?;
    if is_envoy {
        // Its `duration` has no unit and is not that of the others.
        draft.count_latency_in(Unit::Millis);
    }
    draft.finish(Format::Json, line, scratch, stamp)
}

/// The line inside Docker's object, in `text`; whether there is one.
pub(super) fn docker(line: &[u8], text: &mut Vec<u8>) -> bool {
    // A look before the walk: access logs in JSON seldom have such a key.
    if memchr::memmem::find(line, b"\"log\"").is_none() {
        return false;
    }
    let (mut log, mut stream) = (None, false);
    let whole = walk(line, &mut |path, value| match path {
        b"log" if value.kind == Kind::Text => log = Some(value),
        b"stream" => stream = matches!(&line[value.start..value.end], b"stdout" | b"stderr"),
        _ => {}
    });
    let (Some(()), Some(log), true) = (whole, log, stream) else {
        return false;
    };
    text.clear();
    undo(&line[log.start..log.end], Escapes::Undo, text);
    if text.ends_with(b"\n") {
        text.pop();
    }
    if text.ends_with(b"\r") {
        text.pop();
    }
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Between quotes; the place is without them.
    Text,
    /// A number, a word, or nothing.
    Bare,
    /// An object or a list begins here.
    Container,
}

#[derive(Debug, Clone, Copy)]
struct Value {
    kind: Kind,
    start: usize,
    end: usize,
}

/// Calls `sink` for every value with its keys joined by dots; a list's items have the list's keys. `None` when the
/// line is no single object.
fn walk(line: &[u8], sink: &mut dyn FnMut(&[u8], Value)) -> Option<()> {
    let mut walker = Walker { line, at: 0, path: Vec::with_capacity(64) };
    walker.blanks();
    walker.byte(b'{')?;
    walker.object(sink, 1)?;
    walker.blanks();
    (walker.at == line.len()).then_some(())
}

struct Walker<'a> {
    line: &'a [u8],
    at: usize,
    path: Vec<u8>,
}

impl Walker<'_> {
    fn blanks(&mut self) {
        while self.line.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        (self.line.get(self.at) == Some(&byte)).then(|| self.at += 1)
    }

    /// Behind the opening brace.
    fn object(&mut self, sink: &mut dyn FnMut(&[u8], Value), depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        self.blanks();
        if self.byte(b'}').is_some() {
            return Some(());
        }
        loop {
            self.blanks();
            self.byte(b'"')?;
            let (start, end) = self.text()?;
            let length = self.path.len();
            if length > 0 {
                self.path.push(b'.');
            }
            self.path.extend_from_slice(&self.line[start..end]);
            self.blanks();
            self.byte(b':')?;
            self.value(sink, depth)?;
            self.path.truncate(length);
            self.blanks();
            if self.byte(b',').is_none() {
                return self.byte(b'}');
            }
        }
    }

    fn value(&mut self, sink: &mut dyn FnMut(&[u8], Value), depth: usize) -> Option<()> {
        self.blanks();
        match *self.line.get(self.at)? {
            b'"' => {
                self.at += 1;
                let (start, end) = self.text()?;
                sink(&self.path, Value { kind: Kind::Text, start, end });
            }
            b'{' => {
                sink(&self.path, Value { kind: Kind::Container, start: self.at, end: self.at + 1 });
                self.at += 1;
                self.object(sink, depth + 1)?;
            }
            b'[' => {
                sink(&self.path, Value { kind: Kind::Container, start: self.at, end: self.at + 1 });
                self.at += 1;
                self.list(sink, depth + 1)?;
            }
            _ => {
                let start = self.at;
                let bare = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
                while self.line.get(self.at).is_some_and(bare) {
                    self.at += 1;
                }
                let text = &self.line[start..self.at];
                let known = matches!(text, b"" | b"-" | b"true" | b"false" | b"null")
                    || text.iter().any(u8::is_ascii_digit);
                if !known {
                    return None;
                }
                if text != b"null" {
                    sink(&self.path, Value { kind: Kind::Bare, start, end: self.at });
                }
            }
        }
        Some(())
    }

    fn list(&mut self, sink: &mut dyn FnMut(&[u8], Value), depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        self.blanks();
        if self.byte(b']').is_some() {
            return Some(());
        }
        loop {
            self.value(sink, depth)?;
            self.blanks();
            if self.byte(b',').is_none() {
                return self.byte(b']');
            }
        }
    }

    /// Behind the opening quote; the place of the text, and `at` behind the closing quote.
    fn text(&mut self) -> Option<(usize, usize)> {
        let end = super::quote::closing(self.line, self.at)?;
        let start = std::mem::replace(&mut self.at, end + 1);
        Some((start, end))
    }
}

/// What becomes of a backslash and a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// They stand in the result as themselves.
    Undo,
    /// They stand in the result as `\\` and `\"`: the field of a record.
    Keep,
}

/// Undoes the escapes of JSON. Those that are none (`\x22`, `\v`) stay: who undoes a record's escapes knows them.
pub(super) fn undo(text: &[u8], escapes: Escapes, out: &mut Vec<u8>) {
    let mut rest = text;
    let push = |out: &mut Vec<u8>, byte: u8| {
        if escapes == Escapes::Keep && matches!(byte, b'\\' | b'"') {
            out.push(b'\\');
        }
        out.push(byte);
    };
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else {
            out.push(byte);
            break;
        };
        rest = after;
        match escape {
            b'"' | b'\\' | b'/' => push(out, escape),
            b'b' => out.push(0x08),
            b'f' => out.push(0x0C),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => match unicode(rest) {
                Some((c, used)) => {
                    rest = &rest[used..];
                    let mut buffer = [0; 4];
                    for byte in c.encode_utf8(&mut buffer).bytes() {
                        push(out, byte);
                    }
                }
                None => out.extend_from_slice(b"\\u"),
            },
            other => out.extend_from_slice(&[b'\\', other]),
        }
    }
}

/// The character of `00e9` or of a pair `d83d\ude00`, and how many bytes it took.
fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let unit = |text: &[u8]| {
        let digits = text.get(..4)?;
        let known = digits.iter().all(u8::is_ascii_hexdigit);
        known.then(|| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())?
    };
    let first = unit(text)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first).unwrap_or('\u{FFFD}'), 4));
    }
    let second = text.get(4..).and_then(|rest| rest.strip_prefix(b"\\u")).and_then(unit);
    match second.filter(|low| (0xDC00..0xE000).contains(low)) {
        Some(low) => char::from_u32(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00)).map(|c| (c, 10)),
        None => Some(('\u{FFFD}', 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(text: &str, escapes: Escapes) -> Vec<u8> {
        let mut out = Vec::new();
        undo(text.as_bytes(), escapes, &mut out);
        out
    }

    #[test]
    fn escapes_are_undone_and_those_of_other_writers_are_left() {
        assert_eq!(
            undone(r#"a\"b\\c\/d\u00e9\ud83d\ude00\t"#, Escapes::Undo),
            "a\"b\\c/d\u{e9}\u{1f600}\t".as_bytes()
        );
        assert_eq!(undone(r#"a\"b\\x22"#, Escapes::Keep), br#"a\"b\\x22"#);
        assert_eq!(undone(r"\x22A\u00\", Escapes::Keep), br"\x22A\u00\");
        assert_eq!(undone(r"\ud83d", Escapes::Undo), "\u{FFFD}".as_bytes());
    }

    #[test]
    fn what_is_no_single_object_is_refused() {
        for line in [
            r#"{"a":1"#,
            r#"{"a":1}{"b":2}"#,
            r#"{"a":1} x"#,
            r#"{"a":x}"#,
            r#"{"a" 1}"#,
            r#"{"a":[1,2}"#,
            r#"{"a":"b}"#,
            r#"{a:1}"#,
        ] {
            assert_eq!(walk(line.as_bytes(), &mut |_, _| {}), None, "{line}");
        }
        let deep = "{\"a\":".repeat(100_000);
        assert_eq!(walk(deep.as_bytes(), &mut |_, _| {}), None);
    }

    #[test]
    fn keys_are_joined_and_lists_have_the_keys_of_the_list() {
        let mut seen = Vec::new();
        let line = br#"{ "a" : {"b":["x", 2] , "c":-}, "d":,"e":null,"f":true}"#;
        walk(line, &mut |path, v| {
            seen.push(format!("{}={}", path.escape_ascii(), line[v.start..v.end].escape_ascii()));
        })
        .unwrap();
        assert_eq!(seen, ["a={", "a.b=[", "a.b=x", "a.b=2", "a.c=-", "d=", "f=true"]);
    }
}
