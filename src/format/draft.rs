//! A record that is put together from named values: what JSON, W3C columns and format strings have in common.
//!
//! Values are places in the line or in a scratch buffer, where texts stand that the line does not hold as such: a JSON
//! text with its escapes undone, a request line made of method, path and protocol. In the scratch buffer, as in every
//! record, a backslash is written `\\` and a quote `\"`.
//!
//! Example of its input: method `GET`, path `/p/1`, query `x=1`, protocol `HTTP/1.1`, status `200`.

use super::combined::byte_count;
use super::quote::trim;
use super::record::{Flags, Format, Record, RejectReason, Timing};
use super::tail;
use super::timestamp::Stamp;

/// What a value says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Host,
    Port,
    Client,
    /// An X-Forwarded-For list.
    Forwarded,
    Ident,
    User,
    /// A stamp, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970.
    Time,
    /// `2026-03-10`; UTC.
    Date,
    /// `06:25:14`; UTC.
    Clock,
    /// A whole request line.
    Request,
    Method,
    /// Path and query, or an absolute URL.
    Target,
    Path,
    /// Without its question mark, or with it.
    Query,
    Protocol,
    Status,
    Bytes,
    Referer,
    UserAgent,
    /// How long the request took.
    Latency(Unit),
    /// How long the server behind took; of a list the last.
    Upstream(Unit),
    /// Where the answer came from: HIT, MISS ...
    Cache,
    /// The headers of the request are logged: one that is not there was not sent.
    Headers,
}

/// What a duration is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
}

const SLOTS: usize = 23;

impl Slot {
    fn index(self) -> usize {
        match self {
            Self::Host => 0,
            Self::Port => 1,
            Self::Client => 2,
            Self::Forwarded => 3,
            Self::Ident => 4,
            Self::User => 5,
            Self::Time => 6,
            Self::Date => 7,
            Self::Clock => 8,
            Self::Request => 9,
            Self::Method => 10,
            Self::Target => 11,
            Self::Path => 12,
            Self::Query => 13,
            Self::Protocol => 14,
            Self::Status => 15,
            Self::Bytes => 16,
            Self::Referer => 17,
            Self::UserAgent => 18,
            Self::Latency(_) => 19,
            Self::Upstream(_) => 20,
            Self::Cache => 21,
            Self::Headers => 22,
        }
    }
}

/// A place in the line or in the scratch buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) in_scratch: bool,
}

impl Span {
    /// A place in the line.
    pub(super) fn line(start: usize, end: usize) -> Self {
        Self { start, end, in_scratch: false }
    }

    /// A place in the scratch buffer.
    pub(super) fn scratch(start: usize, end: usize) -> Self {
        Self { start, end, in_scratch: true }
    }

    pub(super) fn of<'a>(self, line: &'a [u8], scratch: &'a [u8]) -> &'a [u8] {
        let from = if self.in_scratch { scratch } else { line };
        from.get(self.start..self.end).unwrap_or_default()
    }
}

/// Values found so far.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    values: [Option<(u8, Slot, Span)>; SLOTS],
    /// Remarks.
    pub(super) flags: Flags,
    /// What stands behind the last named value.
    pub(super) tail: Option<Span>,
}

impl Draft {
    pub(super) fn new() -> Self {
        Self { values: [None; SLOTS], flags: Flags::empty(), tail: None }
    }

    /// Notes a value. Of two for one slot the lower rank stays, of equal ranks the first.
    pub(super) fn set(&mut self, slot: Slot, rank: u8, span: Span) {
        let value = &mut self.values[slot.index()];
        if value.is_none_or(|(known, ..)| rank < known) {
            *value = Some((rank, slot, span));
        }
    }

    /// Changes what the latency is counted in.
    pub(super) fn count_latency_in(&mut self, unit: Unit) {
        if let Some((_, slot @ Slot::Latency(_), _)) = &mut self.values[Slot::Latency(unit).index()] {
            *slot = Slot::Latency(unit);
        }
    }

    pub(super) fn span(&self, slot: Slot) -> Option<Span> {
        self.values[slot.index()].map(|(_, _, span)| span)
    }

    /// The record, its texts in `line` and `scratch`.
    pub(super) fn finish<'a>(
        self,
        format: Format,
        line: &'a [u8],
        scratch: &'a mut Vec<u8>,
        stamp: &mut dyn FnMut(&[u8]) -> Option<Stamp>,
    ) -> Result<Record<'a>, RejectReason> {
        let request = self.request(line, scratch).ok_or(RejectReason::NotThisFormat)?;
        let time = self.time(line, scratch, stamp)?;
        let scratch: &'a [u8] = scratch;
        let of = |slot| self.span(slot).map(|span| span.of(line, scratch));
        let (status, known) = match of(Slot::Status) {
            None => (None, false),
            Some(text) => (status(text).ok_or(RejectReason::BadStatus)?, true),
        };
        if !known && self.span(Slot::Client).is_none() {
            return Err(RejectReason::NotThisFormat);
        }
        let (bytes, overflow) = match of(Slot::Bytes).map(trim) {
            None | Some(b"") => (None, false),
            Some(text) => byte_count(text).ok_or(RejectReason::BadBytes)?,
        };
        let mut flags = self.flags;
        flags.insert(time.flags);
        if overflow {
            flags.insert(Flags::BYTES_OVERFLOW);
        }
        let user_agent = of(Slot::UserAgent).or(of(Slot::Headers).map(|_| &b"-"[..]));
        if user_agent.is_none() {
            flags.insert(Flags::NO_USER_AGENT_FIELD);
        }
        let filled = |slot| of(slot).map(trim).filter(|text| !text.is_empty() && *text != b"-");
        let (host, mut port) = match filled(Slot::Host) {
            Some(host) => {
                let (name, port) = super::prefix::split_port(host);
                (Some(name), port)
            }
            None => (None, None),
        };
        if host.is_some() && port.is_none() {
            port = filled(Slot::Port).and_then(super::client::port);
        }
        Ok(Record {
            format,
            flags,
            host,
            vhost_port: port,
            client: filled(Slot::Client).unwrap_or(b"-"),
            forwarded: filled(Slot::Forwarded),
            ident: of(Slot::Ident).unwrap_or(b"-"),
            user: of(Slot::User).unwrap_or(b"-"),
            epoch: time.epoch,
            request: request.of(line, scratch),
            status,
            bytes,
            referer: of(Slot::Referer),
            user_agent,
            tail: self.tail.map_or(&b""[..], |span| trim(span.of(line, scratch))),
            prefix: None,
            timing: self.timing(line, scratch),
        })
    }

    fn time(
        &self,
        line: &[u8],
        scratch: &[u8],
        stamp: &mut dyn FnMut(&[u8]) -> Option<Stamp>,
    ) -> Result<Stamp, RejectReason> {
        let of = |slot| self.span(slot).map(|span| trim(span.of(line, scratch)));
        if let (Some(date), Some(clock)) = (of(Slot::Date), of(Slot::Clock)) {
            let mut text = [0; 40];
            let parts = [date, b"T", clock, b"Z"];
            let length: usize = parts.iter().map(|p| p.len()).sum();
            let room = text.get_mut(..length).ok_or(RejectReason::BadTime)?;
            let mut at = 0;
            for part in parts {
                room[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
            return stamp(room).ok_or(RejectReason::BadTime);
        }
        let text = of(Slot::Time).ok_or(RejectReason::NoTime)?;
        let text = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")).unwrap_or(text);
        match since_1970(text) {
            Some(epoch) => Ok(Stamp { epoch, flags: Flags::empty() }),
            None => stamp(text).ok_or(RejectReason::BadTime),
        }
    }

    /// The request line: as logged, or put together in the scratch buffer.
    fn request(&self, line: &[u8], scratch: &mut Vec<u8>) -> Option<Span> {
        if let Some(span) = self.span(Slot::Request) {
            return Some(span);
        }
        let target = self.span(Slot::Target).or(self.span(Slot::Path))?;
        let query = if self.span(Slot::Target).is_some() { None } else { self.span(Slot::Query) };
        let method = self.span(Slot::Method);
        let start = scratch.len();
        let is_absent = |span: Span| matches!(span.of(line, scratch), b"" | b"-");
        if method.is_none_or(is_absent) && is_absent(target) {
            return Some(target);
        }
        let asks = target.of(line, scratch).contains(&b'?');
        let query = query.filter(|query| !asks && !is_absent(*query));
        let marked = query.is_some_and(|query| query.of(line, scratch).starts_with(b"?"));
        let protocol = self.span(Slot::Protocol).filter(|protocol| !is_absent(*protocol));
        push(scratch, line, method);
        scratch.push(b' ');
        push(scratch, line, Some(target));
        if query.is_some() && !marked {
            scratch.push(b'?');
        }
        push(scratch, line, query);
        if protocol.is_some() {
            scratch.push(b' ');
        }
        push(scratch, line, protocol);
        Some(Span::scratch(start, scratch.len()))
    }

    fn timing(&self, line: &[u8], scratch: &[u8]) -> Timing {
        let cached = self.span(Slot::Cache).is_some_and(|span| is_cached(span.of(line, scratch)));
        let latency = |slot: Slot| match self.values[slot.index()] {
            Some((_, Slot::Latency(unit) | Slot::Upstream(unit), span)) => {
                duration_us(span.of(line, scratch), unit)
            }
            _ => None,
        };
        let latency_us =
            latency(Slot::Latency(Unit::Seconds)).or_else(|| latency(Slot::Upstream(Unit::Seconds)));
        Timing { latency_us, cached }
    }
}

fn push(scratch: &mut Vec<u8>, line: &[u8], span: Option<Span>) {
    match span {
        Some(span) if span.in_scratch => scratch.extend_from_within(span.start..span.end),
        Some(span) => scratch.extend_from_slice(span.of(line, &[])),
        None => {}
    }
}

/// Whether a state of a cache means that the origin was not asked.
pub(super) fn is_cached(state: &[u8]) -> bool {
    const CACHED: [&[u8]; 7] =
        [b"HIT", b"STALE", b"REVALIDATED", b"UPDATING", b"RefreshHit", b"OriginShieldHit", b"TCP_HIT"];
    let word = state.split(|b| matches!(b, b' ' | b',' | b':')).next().unwrap_or_default();
    CACHED.iter().any(|cached| word.eq_ignore_ascii_case(cached))
}

/// A duration in microseconds: the last number of a list. A unit behind the number goes before `unit`.
pub(super) fn duration_us(text: &[u8], unit: Unit) -> Option<u64> {
    const SUFFIXES: [(&[u8], Unit); 5] = [
        (b"ms", Unit::Millis),
        (b"us", Unit::Micros),
        (b"\xC2\xB5s", Unit::Micros),
        (b"ns", Unit::Nanos),
        (b"s", Unit::Seconds),
    ];
    let item = text
        .rsplit(|b| matches!(b, b',' | b':' | b' ' | b'\t'))
        .find(|item| item.iter().any(u8::is_ascii_digit) && item.first() != Some(&b'-'))?;
    let (number, unit) = SUFFIXES
        .iter()
        .find_map(|(suffix, unit)| item.strip_suffix(*suffix).map(|number| (number, *unit)))
        .unwrap_or((item, unit));
    // As microseconds of a number of seconds, then scaled: six decimals are kept of each.
    let millionths = match tail::seconds(number) {
        Some(exact) => exact,
        None => scientific(number)?,
    };
    Some(match unit {
        Unit::Seconds => millionths,
        Unit::Millis => millionths / 1_000,
        Unit::Micros => millionths / 1_000_000,
        Unit::Nanos => millionths / 1_000_000_000,
    })
}

/// `1.5e-05`, as some JSON writers print small numbers; in millionths.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by the line before it")]
fn scientific(text: &[u8]) -> Option<u64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let millionths = value * 1e6;
    (0.0..1e18).contains(&millionths).then_some(millionths as u64)
}

/// Three digits, `0`, or no status at all.
fn status(text: &[u8]) -> Option<Option<u16>> {
    match *trim(text) {
        [] | [b'-'] => Some(None),
        [b'0'] => Some(Some(0)),
        // What HAProxy writes when there was no answer.
        [b'-', b'1'] => Some(None),
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            Some(Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0')))
        }
        _ => None,
    }
}

/// Seconds of `1773123914`, `1773123914.25`, and of the same in milli-, micro- and nanoseconds.
fn since_1970(text: &[u8]) -> Option<i64> {
    let whole = text.split(|b| matches!(b, b'.' | b'e' | b'E')).next()?;
    if whole.len() < text.len() && !text[whole.len() + 1..].iter().all(u8::is_ascii_digit) {
        // 1.77312391425e+09
        let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        let seconds = value.floor();
        // Exact below 2^53, and a date long before.
        return (0.0..1e11).contains(&seconds).then(|| whole_seconds(seconds));
    }
    if !(9..=19).contains(&whole.len()) || !whole.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: i64 = std::str::from_utf8(whole).ok()?.parse().ok()?;
    Some(match whole.len() {
        9..=11 => number,
        12..=14 => number / 1_000,
        15..=17 => number / 1_000_000,
        _ => number / 1_000_000_000,
    })
}

#[allow(clippy::cast_possible_truncation, reason = "the caller looked: between 0 and 1e11")]
fn whole_seconds(seconds: f64) -> i64 {
    seconds as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_microseconds_whatever_they_are_counted_in() {
        for (text, unit, want) in [
            ("0.123", Unit::Seconds, Some(123_000)),
            ("123", Unit::Millis, Some(123_000)),
            ("0.5", Unit::Millis, Some(500)),
            ("123000", Unit::Micros, Some(123_000)),
            ("123000000", Unit::Nanos, Some(123_000)),
            ("0.120, 0.003", Unit::Seconds, Some(3_000)),
            ("0.120, -", Unit::Seconds, Some(120_000)),
            ("123ms", Unit::Seconds, Some(123_000)),
            ("1.5e-03", Unit::Seconds, Some(1_500)),
            ("-", Unit::Seconds, None),
            ("-1", Unit::Millis, None),
            ("", Unit::Seconds, None),
        ] {
            assert_eq!(duration_us(text.as_bytes(), unit), want, "{text}");
        }
    }

    #[test]
    fn numbers_since_1970_are_seconds_by_their_length() {
        for text in ["1773123914", "1773123914.25", "1773123914250", "1773123914250000", "1.773123914e+09"] {
            assert_eq!(since_1970(text.as_bytes()), Some(1_773_123_914), "{text}");
        }
        for text in ["2026", "2026-03-10T06:25:14Z", "", "-1"] {
            assert_eq!(since_1970(text.as_bytes()), None, "{text}");
        }
    }
}
