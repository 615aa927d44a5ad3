//! Apache `LogFormat`: directives with a per cent sign, everything else as it is.
//!
//! Example of its input: `%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %D`

use super::super::draft::{Slot, Unit};
use super::{Part, push_text, unescaped};

pub(super) fn parts(text: &str) -> Result<Vec<Part>, String> {
    let text = unescaped(text);
    let mut parts = Vec::new();
    let mut stamp = None;
    let mut rest = &text[..];
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            let end = memchr::memchr(b'%', rest).unwrap_or(rest.len());
            push_text(&mut parts, &rest[..end]);
            rest = &rest[end..];
            continue;
        }
        if let Some(behind) = after.strip_prefix(b"%") {
            push_text(&mut parts, b"%");
            rest = behind;
            continue;
        }
        // Conditions on the status and which of two requests is meant.
        let skip = after.iter().take_while(|b| matches!(b, b'<' | b'>' | b'!' | b',' | b'0'..=b'9')).count();
        let mut behind = &after[skip..];
        let mut name: &[u8] = b"";
        if let Some(inner) = behind.strip_prefix(b"{") {
            let end = memchr::memchr(b'}', inner).ok_or("expected } behind a name in braces")?;
            (name, behind) = (&inner[..end], &inner[end + 1..]);
        }
        let (&letter, behind) = behind.split_first().ok_or("expected a letter behind %")?;
        // `%^FB` and its like.
        let (letter, behind) = match (letter, behind) {
            (b'^', [_, _, behind @ ..]) => (b'^', behind),
            _ => (letter, behind),
        };
        rest = behind;
        if letter == b't' && name.is_empty() {
            push_text(&mut parts, b"[");
            parts.push(Part::Field(Some((Slot::Time, 0))));
            push_text(&mut parts, b"]");
            continue;
        }
        if letter == b't' {
            push_stamp(&mut parts, &mut stamp, name);
            continue;
        }
        parts.push(Part::Field(slot(letter, name)));
    }
    Ok(parts)
}

/// The stamp that pieces are added to: which part it is, and which pieces it has.
type Pieces = Option<(usize, u8)>;

/// Pieces of a stamp.
const DATE: u8 = 1;
const CLOCK: u8 = 2;
const FRACTION: u8 = 4;
const ZONE: u8 = 8;

/// A stamp in braces. `%{%F %T}t.%{msec_frac}t %{%z}t` is one field in three pieces, and so is what has only marks between.
fn push_stamp(parts: &mut Vec<Part>, stamp: &mut Pieces, name: &[u8]) {
    let name = name.strip_prefix(b"begin:").or(name.strip_prefix(b"end:")).unwrap_or(name);
    let pieces = pieces(name);
    let mark = |part: &Part| matches!(part, Part::Text(text) if text.iter().all(|b| b" .,:T".contains(b)));
    if let Some((at, known)) = stamp
        && *known & pieces == 0
        && (parts.len() == *at + 1 || parts.len() == *at + 2 && mark(&parts[*at + 1]))
    {
        parts.truncate(*at + 1);
        *known |= pieces;
        return;
    }
    // A fraction or a zone by itself is no time.
    let is_stamp = pieces & !(FRACTION | ZONE) != 0;
    if is_stamp {
        *stamp = Some((parts.len(), pieces));
    }
    parts.push(Part::Field(is_stamp.then_some((Slot::Time, 1))));
}

/// What a stamp in braces says. Seconds since 1970 have everything.
fn pieces(name: &[u8]) -> u8 {
    match name {
        b"" | b"sec" | b"msec" | b"usec" => return DATE | CLOCK | FRACTION | ZONE,
        b"msec_frac" | b"usec_frac" => return FRACTION,
        _ => {}
    }
    let of = |letter: u8| match letter {
        b'd' | b'e' | b'm' | b'b' | b'B' | b'h' | b'Y' | b'y' | b'C' | b'j' | b'D' | b'F' | b'x' => DATE,
        b'H' | b'I' | b'k' | b'l' | b'M' | b'S' | b'p' | b'P' | b'T' | b'R' | b'r' | b'X' => CLOCK,
        b'c' => DATE | CLOCK,
        b's' => DATE | CLOCK | ZONE,
        b'z' | b'Z' => ZONE,
        _ => 0,
    };
    name.windows(2).filter(|pair| pair[0] == b'%').fold(0, |known, pair| known | of(pair[1]))
}

fn slot(letter: u8, name: &[u8]) -> Option<(Slot, u8)> {
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
    Some(match letter {
        b'h' => (Slot::Client, 1),
        b'a' if is("c") => (Slot::Client, 2),
        b'a' => (Slot::Client, 0),
        b'l' => (Slot::Ident, 0),
        b'u' => (Slot::User, 0),
        b'r' => (Slot::Request, 0),
        b's' => (Slot::Status, 0),
        b'b' | b'B' => (Slot::Bytes, 0),
        b'O' => (Slot::Bytes, 1),
        b'v' => (Slot::Host, 0),
        b'V' => (Slot::Host, 1),
        b'p' => (Slot::Port, 0),
        b'm' => (Slot::Method, 0),
        b'U' => (Slot::Path, 0),
        b'q' => (Slot::Query, 0),
        b'H' => (Slot::Protocol, 0),
        b'D' => (Slot::Latency(Unit::Micros), 0),
        b'T' if is("ms") => (Slot::Latency(Unit::Millis), 1),
        b'T' if is("us") => (Slot::Latency(Unit::Micros), 0),
        b'T' => (Slot::Latency(Unit::Seconds), 2),
        b'i' if is("Referer") => (Slot::Referer, 0),
        b'i' if is("User-Agent") => (Slot::UserAgent, 0),
        b'i' if is("X-Forwarded-For") => (Slot::Forwarded, 0),
        b'i' if is("Host") => (Slot::Host, 2),
        b'o' if is("X-Cache") || is("X-Cache-Status") => (Slot::Cache, 0),
        _ => return None,
    })
}
