//! Load balancers and storage: HAProxy, AWS application and classic load balancers, S3; and what Traefik adds to
//! Combined.
//!
//! Each reader says `None` when a line has not its shape, so that another one may try, and a reason when it has the
//! shape and a field is wrong.
//!
//! Example of its input: `192.0.2.10:51812 [10/Mar/2026:06:25:14.655] http-in static/srv1 10/0/30/69/123 200 512 - -
//! ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"`

use super::cri::behind_stamp;
use super::draft::{Draft, Slot, Span, Unit};
use super::quote::{self, skip_blanks, word_end};
use super::record::{Format, Record, RejectReason};
use super::tail;
use super::timestamp::Stamp;

/// Reads a stamp.
pub(super) type ReadStamp<'s> = &'s mut dyn FnMut(&[u8]) -> Option<Stamp>;

/// Which of these formats a line has the shape of.
pub(super) fn shape(line: &[u8]) -> Option<Format> {
    let (first, rest) = word(line, 0);
    let (second, rest2) = word(line, rest);
    match &line[first.0..first.1] {
        b"http" | b"https" | b"h2" | b"grpcs" | b"ws" | b"wss" | b"tcp" | b"tls" => {
            let (third, _) = word(line, rest2);
            let stamped = behind_stamp(&line[second.0..second.1]) == Some(b"");
            (stamped && line[third.0..third.1].starts_with(b"app/")).then_some(Format::Alb)
        }
        text if behind_stamp(text) == Some(b"") => {
            let (third, _) = word(line, rest2);
            has_port(&line[third.0..third.1]).then_some(Format::Elb)
        }
        text if line.get(second.0) == Some(&b'[') && line[second.0..second.1].ends_with(b"]") => {
            has_port(text).then_some(Format::Haproxy)
        }
        _ => {
            let (third, _) = word(line, rest2);
            (line.get(third.0) == Some(&b'[')).then_some(Format::S3)
        }
    }
}

/// A word, and where the search goes on.
fn word(line: &[u8], from: usize) -> ((usize, usize), usize) {
    let start = skip_blanks(line, from);
    let end = word_end(line, start);
    ((start, end), end)
}

/// An address or name with a port: `192.0.2.10:2817`, `unix:1`.
fn has_port(text: &[u8]) -> bool {
    memchr::memrchr(b':', text).is_some_and(|colon| super::client::port(&text[colon + 1..]).is_some())
}

/// An address before its port, which these formats always write: `2001:db8::1:2817` is one and a port.
fn client(line: &[u8], (start, end): (usize, usize)) -> Span {
    let before = memchr::memrchr(b':', &line[start..end]).map_or(end, |colon| start + colon);
    let is_address = before < end && super::client::address(&line[start..before]).is_some();
    Span::line(start, if is_address { before } else { end })
}

/// Start and end of every field of a line: words, texts in quotes, stamps in brackets.
fn split<const N: usize>(line: &[u8]) -> ([(usize, usize); N], usize, usize) {
    let mut fields = [(0, 0); N];
    let mut count = 0;
    let mut at = skip_blanks(line, 0);
    while count < N && at < line.len() {
        let (start, end, next) = match line[at] {
            b'"' => match quote::closing(line, at + 1) {
                Some(end) => (at + 1, end, end + 1),
                None => break,
            },
            b'[' => match memchr::memchr(b']', &line[at..]) {
                // `[2001:db8::1]:2817` is a word.
                Some(end) if line.get(at + end + 1) == Some(&b':') => {
                    let end = word_end(line, at);
                    (at, end, end)
                }
                Some(end) => (at + 1, at + end, at + end + 1),
                None => break,
            },
            _ => {
                let end = word_end(line, at);
                (at, end, end)
            }
        };
        if line.get(next).is_some_and(|b| !matches!(b, b' ' | b'\t')) {
            break;
        }
        fields[count] = (start, end);
        count += 1;
        at = skip_blanks(line, next);
    }
    (fields, count, at)
}

/// Reads an entry of an application load balancer, or of a classic one.
pub(super) fn aws<'a>(
    format: Format,
    line: &'a [u8],
    scratch: &'a mut Vec<u8>,
    stamp: ReadStamp<'_>,
) -> Result<Record<'a>, RejectReason> {
    let (fields, count, end) = split::<19>(line);
    // A classic one lacks the kind of the connection in front.
    let shift = usize::from(format == Format::Alb);
    if count < 11 + shift {
        return Err(RejectReason::NotThisFormat);
    }
    if count < 12 + shift {
        return Err(RejectReason::UnterminatedQuote);
    }
    let span = |at: usize| Span::line(fields[at + shift].0, fields[at + shift].1);
    let text = |at: usize| &line[fields[at + shift].0..fields[at + shift].1];
    let mut draft = Draft::new();
    draft.set(Slot::Time, 0, span(0));
    draft.set(Slot::Client, 0, client(line, fields[2 + shift]));
    draft.set(Slot::Status, 0, span(7));
    draft.set(Slot::Bytes, 0, span(10));
    // `- - - ` and `- http://www.example.com:80- -`: a connection without a request.
    let request = span(11);
    let none = text(11).starts_with(b"- ");
    draft.set(Slot::Request, 0, if none { Span::line(request.start, request.start + 1) } else { request });
    if count > 12 + shift {
        draft.set(Slot::UserAgent, 0, span(12));
    }
    // The balancer makes the URL of the Host header; a classic one has nothing else that names the site.
    if let Some((from, mut to)) = host_of_url(text(11)) {
        // The path that is not there is glued to the port.
        to -= usize::from(none && text(11)[from..to].ends_with(b"-"));
        draft.set(Slot::Host, 0, Span::line(request.start + from, request.start + to));
    }
    if format == Format::Alb && count > 18 {
        draft.set(Slot::Host, 1, Span::line(fields[18].0, fields[18].1));
    }
    let latency: Option<u64> = [4, 5, 6].iter().map(|at| tail::seconds(text(*at))).sum();
    if count == 19 && end < line.len() {
        draft.tail = Some(Span::line(end, line.len()));
    }
    let mut record = draft.finish(format, line, scratch, stamp)?;
    // The URL's port is the listener's, as in a virtual host field.
    record.timing.latency_us = latency;
    Ok(record)
}

/// Where the host (and port) of an absolute URL in a request line is.
fn host_of_url(request: &[u8]) -> Option<(usize, usize)> {
    let start = memchr::memmem::find(request, b"://")? + 3;
    let end = request[start..].iter().position(|b| matches!(b, b'/' | b'?' | b' ' | b'#'));
    let end = end.map_or(request.len(), |end| start + end);
    (memchr::memchr(b' ', &request[..start]) == memchr::memrchr(b' ', &request[..start]) && end > start)
        .then_some((start, end))
}

/// Reads an entry of S3. The site is the bucket.
pub(super) fn s3<'a>(
    line: &'a [u8],
    scratch: &'a mut Vec<u8>,
    stamp: ReadStamp<'_>,
) -> Result<Record<'a>, RejectReason> {
    let (fields, count, end) = split::<17>(line);
    let operation = &line[fields[6].0..fields[6].1];
    if count < 15 || !operation.contains(&b'.') {
        return Err(RejectReason::NotThisFormat);
    }
    let span = |at: usize| Span::line(fields[at].0, fields[at].1);
    let mut draft = Draft::new();
    draft.set(Slot::Host, 0, span(1));
    draft.set(Slot::Time, 0, span(2));
    draft.set(Slot::Client, 0, span(3));
    draft.set(Slot::User, 0, span(4));
    draft.set(Slot::Request, 0, span(8));
    draft.set(Slot::Status, 0, span(9));
    draft.set(Slot::Bytes, 0, span(11));
    draft.set(Slot::Latency(Unit::Millis), 0, span(13));
    if count > 16 {
        draft.set(Slot::Referer, 0, span(15));
        draft.set(Slot::UserAgent, 0, span(16));
    }
    if count == 17 && end < line.len() {
        draft.tail = Some(Span::line(end, line.len()));
    }
    draft.finish(Format::S3, line, scratch, stamp)
}

/// Reads an entry of HAProxy's HTTP log. Captured headers stand in braces without names: they are the tail.
pub(super) fn haproxy<'a>(
    line: &'a [u8],
    scratch: &'a mut Vec<u8>,
    stamp: ReadStamp<'_>,
) -> Result<Record<'a>, RejectReason> {
    let (fields, count, end) = split::<12>(line);
    let text = |at: usize| &line[fields[at].0..fields[at].1];
    let span = |at: usize| Span::line(fields[at].0, fields[at].1);
    let timers = |text: &[u8]| {
        let numbers = text.split(|b| *b == b'/').filter(|n| n.iter().any(u8::is_ascii_digit)).count();
        numbers >= 4 && text.iter().all(|b| b.is_ascii_digit() || matches!(b, b'/' | b'-' | b'+'))
    };
    if count < 12 || !timers(text(4)) {
        return Err(RejectReason::NotThisFormat);
    }
    // The request is the first quote behind the queues; captured headers may stand before it.
    let open = memchr::memmem::find(&line[end..], b"\"").map(|at| end + at + 1);
    let open = open.ok_or(RejectReason::NoRequestQuote)?;
    // HAProxy cuts a long request and then writes no closing quote; in a request it writes quotes as #22.
    let close = memchr::memrchr(b'"', &line[open..]).map_or(line.len(), |at| open + at);
    let mut draft = Draft::new();
    draft.set(Slot::Client, 0, client(line, fields[0]));
    draft.set(Slot::Time, 0, span(1));
    draft.set(Slot::Status, 0, span(5));
    let (start, stop) = fields[6];
    draft.set(Slot::Bytes, 0, Span::line(start + usize::from(line[start] == b'+'), stop));
    let request =
        if &line[open..close] == b"<BADREQ>" { Span::line(open, open) } else { Span::line(open, close) };
    draft.set(Slot::Request, 0, request);
    draft.tail = Some(Span::line(end, open - 1));
    let last = text(4).rsplit(|b| *b == b'/').next().unwrap_or_default();
    let last = last.strip_prefix(b"+").unwrap_or(last);
    let mut record = draft.finish(Format::Haproxy, line, scratch, stamp)?;
    record.timing.latency_us = tail::seconds(last).map(|millionths| millionths / 1_000);
    Ok(record)
}

/// Behind Combined Traefik writes request count, router, server and duration: `7 "shop@docker" "http://..." 123ms`.
pub(super) fn traefik_latency(record: &Record<'_>) -> Option<u64> {
    let number = record.tail.strip_suffix(b"ms")?;
    let digits = number.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let rest = number[..number.len() - digits].strip_suffix(b" ")?;
    let mut fields = tail::fields(rest);
    let count = fields.next()?;
    let quoted = rest.iter().filter(|b| **b == b'"').count() >= 4;
    let whole = fields.next().is_some() && fields.next().is_some() && fields.next().is_none();
    (digits > 0 && whole && quoted && count.iter().all(u8::is_ascii_digit))
        .then(|| tail::seconds(&number[number.len() - digits..]).map(|millionths| millionths / 1_000))?
}
