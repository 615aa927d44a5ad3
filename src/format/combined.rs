//! The careful parser of Combined and Common lines, with a virtual host or without.
//!
//! It reads every line that the grammar allows, repairs quotes that a writer did not escape, and names the reason of
//! what it cannot read. It knows one line; blanks, directives and framing are settled before.
//!
//! Example of its input: `192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 512 "-" "Mozilla/5.0"`

use super::prefix;
use super::quote::{self, is_blank, skip_blanks, trim, word_end};
use super::record::{Flags, Format, Record, RejectReason, Timing};
use super::timestamp::{self, Missing, Place, Stamp};

/// How many closing quotes are tried in full before a line is given up: hostile lines must not cost quadratic time.
const TRIES: usize = 16;

/// Largest byte count: what signed 64-bit columns hold.
const MOST_BYTES: u64 = i64::MAX.cast_unsigned();

/// Reads one line without its newline; `stamp` turns the text between the brackets into a time.
pub(super) fn parse<'a>(
    line: &'a [u8],
    format: Option<Format>,
    mut stamp: impl FnMut(&'a [u8]) -> Option<Stamp>,
) -> Result<Record<'a>, RejectReason> {
    let line = trim(line);
    let place = match timestamp::locate(line) {
        Ok(place) => place,
        Err(Missing::Quote) => return Err(RejectReason::NoRequestQuote),
        Err(Missing::Date) => return Err(RejectReason::BadTime),
        Err(Missing::Stamp) => return Err(without_stamp(line)),
    };
    if is_csv(line, place) {
        return Err(RejectReason::CsvWrapped);
    }
    // The whole line in one more pair of quotes: the first quote has no partner before the stamp.
    if line[0] == b'"' && quote::closing(line, 1).is_none_or(|second| second > place.open) {
        let inner = &line[1..];
        let shifted = Place { open: place.open - 1, close: place.close - 1, quote: place.quote - 1 };
        // A line that ends where its request opens has no second quote to take off.
        let without = inner.strip_suffix(b"\"").filter(|text| text.len() > shifted.quote).unwrap_or(inner);
        let mut record = read(without, shifted, format, &mut stamp)
            .or_else(|reason| read(inner, shifted, format, &mut stamp).map_err(|_| reason))?;
        record.flags.insert(Flags::QUOTE_REPAIR);
        return Ok(record);
    }
    read(line, place, format, &mut stamp)
}

/// A line without a stamp was meant as an entry when it has words before a quote.
fn without_stamp(line: &[u8]) -> RejectReason {
    let words = memchr::memchr(b'"', line)
        .map_or(0, |quote| line[..quote].split(|b| is_blank(*b)).filter(|word| !word.is_empty()).count());
    if words >= 3 { RejectReason::NoTime } else { RejectReason::NotThisFormat }
}

/// Inner quotes are doubled: behind a quote that opens the cell, or in the other fields too.
fn is_csv(line: &[u8], place: Place) -> bool {
    let body = &line[place.quote..];
    if !body.starts_with(b"\"\"") || body.len() < 3 || is_blank(body[2]) {
        return false;
    }
    let doubled = memchr::memmem::find_iter(body, b"\"\"").take(4).count();
    doubled == 4 || (doubled >= 2 && line[..place.open].contains(&b'"'))
}

fn read<'a>(
    line: &'a [u8],
    place: Place,
    format: Option<Format>,
    stamp: &mut impl FnMut(&'a [u8]) -> Option<Stamp>,
) -> Result<Record<'a>, RejectReason> {
    let stamp = stamp(&line[place.open + 1..place.close]).ok_or(RejectReason::BadTime)?;
    let words = trim(&line[..place.open]);
    let prefix = prefix::parse(words, format).ok_or(if words.is_empty() {
        RejectReason::ShortPrefix
    } else {
        RejectReason::NotThisFormat
    })?;
    let found = fields(line, place.quote + 1);
    if is_torn(line, place.quote + 1, found.as_ref().ok()) {
        return Err(RejectReason::TornLine);
    }
    let fields = found?;
    let read_as = match (prefix.host.is_some(), fields.referer.is_some()) {
        (false, true) => Format::Combined,
        (false, false) => Format::Common,
        (true, true) => Format::VhostCombined,
        (true, false) => Format::VhostCommon,
    };
    if format.is_some_and(|named| named != read_as) {
        return Err(RejectReason::NotThisFormat);
    }
    let mut flags = fields.flags;
    flags.insert(prefix.flags);
    flags.insert(stamp.flags);
    if fields.user_agent.is_none() {
        flags.insert(Flags::NO_USER_AGENT_FIELD);
    }
    Ok(Record {
        format: read_as,
        flags,
        host: prefix.host,
        vhost_port: prefix.vhost_port,
        client: prefix.client,
        forwarded: prefix.forwarded,
        ident: prefix.ident,
        user: prefix.user,
        epoch: stamp.epoch,
        request: fields.request,
        status: fields.status,
        bytes: fields.bytes,
        referer: fields.referer,
        user_agent: fields.user_agent,
        tail: fields.tail,
        prefix: None,
        timing: Timing::default(),
    })
}

/// Everything behind the stamp.
#[derive(Debug, Clone, Copy)]
struct Fields<'a> {
    request: &'a [u8],
    status: Option<u16>,
    bytes: Option<u64>,
    referer: Option<&'a [u8]>,
    user_agent: Option<&'a [u8]>,
    tail: &'a [u8],
    flags: Flags,
}

/// Reads the request that opens before `open`, and all behind it. When the first quote does not end the request, the
/// first one does behind which the rest parses.
fn fields(line: &[u8], open: usize) -> Result<Fields<'_>, RejectReason> {
    let strict = quote::closing(line, open);
    let mut head_read = false;
    let reason = match strict {
        None => RejectReason::UnterminatedQuote,
        Some(end) => match numbers(line, end + 1) {
            Err(reason) => reason,
            Ok(numbers) => match behind_bytes(line, numbers.end) {
                Err(reason) => {
                    head_read = true;
                    reason
                }
                Ok(rest) => return Ok(assemble(&line[open..end], numbers, rest)),
            },
        },
    };
    // A lone backslash hides a closing quote only if no blank follows the one that was found.
    let hidden = strict.is_none_or(|end| !line.get(end + 1).is_none_or(|b| is_blank(*b)));
    let mut tries = 0;
    for (end, escaped) in quote::all(line, open) {
        if (escaped && !hidden) || Some(end) == strict {
            continue;
        }
        let Ok(numbers) = numbers(line, end + 1) else {
            continue;
        };
        tries += 1;
        if tries > TRIES {
            break;
        }
        // Behind a status and bytes that read well only a whole rest may move the end of the request.
        if let Ok(rest) = behind_bytes(line, numbers.end)
            && (!head_read || rest.user_agent.is_some())
        {
            let mut fields = assemble(&line[open..end], numbers, rest);
            fields.flags.insert(Flags::QUOTE_REPAIR);
            return Ok(fields);
        }
    }
    Err(reason)
}

fn assemble<'a>(request: &'a [u8], numbers: Numbers, rest: Rest<'a>) -> Fields<'a> {
    let mut flags = Flags::empty();
    if numbers.overflow {
        flags.insert(Flags::BYTES_OVERFLOW);
    }
    if rest.repaired {
        flags.insert(Flags::QUOTE_REPAIR);
    }
    Fields {
        request,
        status: numbers.status,
        bytes: numbers.bytes,
        referer: rest.referer,
        user_agent: rest.user_agent,
        tail: rest.tail,
        flags,
    }
}

struct Numbers {
    status: Option<u16>,
    bytes: Option<u64>,
    overflow: bool,
    /// Where the bytes end.
    end: usize,
}

/// Status and bytes behind the quote that closes the request.
fn numbers(line: &[u8], from: usize) -> Result<Numbers, RejectReason> {
    let start = skip_blanks(line, from);
    if start == line.len() {
        return Err(RejectReason::BadStatus);
    }
    if start == from {
        return Err(RejectReason::UnterminatedQuote);
    }
    let end = word_end(line, start);
    let status = match line[start..end] {
        [b'-'] => None,
        [b'0'] => Some(0),
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
        }
        _ => return Err(RejectReason::BadStatus),
    };
    let start = skip_blanks(line, end);
    let end = word_end(line, start);
    let (bytes, overflow) = byte_count(&line[start..end]).ok_or(RejectReason::BadBytes)?;
    Ok(Numbers { status, bytes, overflow, end })
}

/// The count, and whether it was too large to keep.
pub(super) fn byte_count(word: &[u8]) -> Option<(Option<u64>, bool)> {
    if word == b"-" {
        return Some((None, false));
    }
    if word.is_empty() || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut sum = Some(0_u64);
    for byte in word {
        sum = sum.and_then(|n| n.checked_mul(10)?.checked_add(u64::from(byte - b'0')));
    }
    let kept = sum.filter(|n| *n <= MOST_BYTES);
    Some((kept, kept.is_none()))
}

struct Rest<'a> {
    referer: Option<&'a [u8]>,
    user_agent: Option<&'a [u8]>,
    tail: &'a [u8],
    repaired: bool,
}

/// Referer, user agent and tail; nothing; or bare numbers.
fn behind_bytes(line: &[u8], from: usize) -> Result<Rest<'_>, RejectReason> {
    let start = skip_blanks(line, from);
    let rest = &line[start..];
    if rest.first() != Some(&b'"') {
        let bare = rest.split(|b| is_blank(*b)).all(|word| word.is_empty() || is_number(word));
        return if bare {
            Ok(Rest { referer: None, user_agent: None, tail: trim(rest), repaired: false })
        } else {
            Err(RejectReason::UnquotedTail)
        };
    }
    let open = start + 1;
    let strict = quote::closing(line, open);
    let mut reason = RejectReason::UnterminatedQuote;
    let mut apart = false;
    if let Some(end) = strict {
        let next = skip_blanks(line, end + 1);
        if next == line.len() {
            return Ok(Rest {
                referer: Some(&line[open..end]),
                user_agent: None,
                tail: b"",
                repaired: false,
            });
        }
        apart = next > end + 1;
        if apart && line[next] == b'"' {
            let (user_agent, tail, repaired) = agent(line, next + 1)?;
            return Ok(Rest {
                referer: Some(&line[open..end]),
                user_agent: Some(user_agent),
                tail,
                repaired,
            });
        }
        if apart {
            reason = RejectReason::UnquotedTail;
        }
    }
    for (end, escaped) in quote::all(line, open) {
        if (escaped && apart) || Some(end) == strict {
            continue;
        }
        let next = skip_blanks(line, end + 1);
        if next == line.len() && !apart {
            return Ok(Rest { referer: Some(&line[open..end]), user_agent: None, tail: b"", repaired: true });
        }
        if next > end + 1
            && line.get(next) == Some(&b'"')
            && let Ok((user_agent, tail, _)) = agent(line, next + 1)
        {
            return Ok(Rest {
                referer: Some(&line[open..end]),
                user_agent: Some(user_agent),
                tail,
                repaired: true,
            });
        }
    }
    Err(reason)
}

/// Digits, perhaps with a fraction.
fn is_number(word: &[u8]) -> bool {
    let whole = word.iter().take_while(|b| b.is_ascii_digit()).count();
    whole > 0
        && match &word[whole..] {
            [] => true,
            [b'.', fraction @ ..] => !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit),
            _ => false,
        }
}

/// User agent, tail, and whether a quote was repaired. Text glued to the closing quote is the tail, unless a lone
/// backslash hid an earlier quote behind which tidy fields follow.
fn agent(line: &[u8], open: usize) -> Result<(&[u8], &[u8], bool), RejectReason> {
    let strict = quote::closing(line, open);
    let limit = match strict {
        Some(end) if line.get(end + 1).is_none_or(|b| is_blank(*b)) => {
            return Ok((&line[open..end], trim(&line[end + 1..]), false));
        }
        Some(end) => end,
        None => line.len(),
    };
    let hidden = quote::all(line, open)
        .take_while(|(at, _)| *at < limit)
        .filter(|(at, escaped)| *escaped && line.get(at + 1).is_some_and(|b| is_blank(*b)))
        .take(TRIES)
        .find(|(at, _)| is_tidy_tail(&line[at + 1..]));
    if let Some((end, _)) = hidden {
        return Ok((&line[open..end], trim(&line[end + 1..]), true));
    }
    if let Some(end) = strict {
        return Ok((&line[open..end], trim(&line[end + 1..]), false));
    }
    match line.iter().rposition(|b| !is_blank(*b)) {
        Some(last) if last >= open && line[last] == b'"' => Ok((&line[open..last], b"", true)),
        _ => Err(RejectReason::UnterminatedQuote),
    }
}

/// At least one field, and nothing but numbers, dashes, pairs and whole quoted fields.
fn is_tidy_tail(tail: &[u8]) -> bool {
    let mut at = skip_blanks(tail, 0);
    let mut some = false;
    while at < tail.len() {
        some = true;
        let word = word_end(tail, at);
        let pair = memchr::memchr(b'=', &tail[at..word]).map(|eq| at + eq + 1);
        let value = pair.unwrap_or(at);
        let end = if tail.get(value) == Some(&b'"') {
            match quote::closing(tail, value + 1) {
                Some(end) => end + 1,
                None => return false,
            }
        } else {
            let text = &tail[at..word];
            let plain = pair.is_some() || text == b"-" || is_number(text);
            if !plain || text.contains(&b'"') {
                return false;
            }
            word
        };
        if tail.get(end).is_some_and(|b| !is_blank(*b)) {
            return false;
        }
        at = skip_blanks(tail, end);
    }
    some
}

/// Whether the stamp and the opening quote of another entry stand behind `from`, where the request begins.
fn is_torn(line: &[u8], from: usize, fields: Option<&Fields<'_>>) -> bool {
    let request_end =
        fields.filter(|f| !f.flags.contains(Flags::QUOTE_REPAIR)).map(|f| from + f.request.len());
    let mut at = from;
    while let Some(place) = timestamp::next_entry(line, at) {
        // A request may end in a stamp and a blank; the other fields lose blanks at their end before they are logged.
        if Some(place.quote) != request_end {
            let glued = line.get(place.quote + 1).is_some_and(|b| !is_blank(*b));
            if glued || opens_in_tail(line, place, fields) || follows_a_prefix(&line[from..place.open]) {
                return true;
            }
        }
        at = place.close;
    }
    false
}

/// Whether the quote behind the stamp is no field's closing quote.
fn opens_in_tail(line: &[u8], place: Place, fields: Option<&Fields<'_>>) -> bool {
    fields.is_some_and(|f| place.quote >= line.len() - f.tail.len() && !f.tail.is_empty())
}

/// Ends like `192.0.2.11 - - `.
fn follows_a_prefix(text: &[u8]) -> bool {
    let mut words = text.split(|b| is_blank(*b)).rev().filter(|word| !word.is_empty());
    words.next().is_some() && words.next() == Some(b"-") && words.next().is_some()
}
