//! `parse`: what every line was taken for, as one JSON object a line.
//!
//! Every key is there for every line, always in the same order; `-`, empty and absent are null. It only describes:
//! who asked comes from the caller.
//!
//! Example of its output: `{"file":"access.log","line":1,"kind":"record","format":"combined", ...}`

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::super::reading::Reading;
use crate::format::client::{self, mask_addresses};
use crate::format::escape::{printable, unescape};
use crate::format::{Entry, Line, Record, request, tail};

/// Who asked, as far as the caller knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Who {
    /// Catalogue or declared name, or a group in parentheses.
    pub(super) bot: Option<String>,
    /// One of the categories.
    pub(super) category: Option<String>,
    /// `verified`, `failed` or `not_checkable`.
    pub(super) verification: Option<String>,
}

/// The object of one line. `line` counts from 1.
#[must_use]
pub(super) fn object(
    file: &str,
    line: u64,
    entry: &Entry<'_>,
    who: &Who,
    reading: &Reading,
) -> Map<String, Value> {
    let mut out = Out(Map::with_capacity(29));
    let (kind, record, reason) = match entry.outcome {
        Line::Blank => ("blank", None, None),
        Line::Directive => ("directive", None, None),
        Line::Record(record) => ("record", Some(record), None),
        Line::Reject(reject) => ("reject", None, Some(reject.reason.name())),
    };
    out.put("file", file);
    out.put("line", line);
    out.put("kind", kind);
    match record {
        Some(record) => fields(&mut out, record, who, reading),
        None => ABSENT.iter().for_each(|key| out.put(key, Value::Null)),
    }
    out.put("reason", reason);
    out.0
}

/// The keys that only a record has, in order.
const ABSENT: [&str; 25] = [
    "format",
    "prefix",
    "host",
    "vhost_port",
    "client",
    "client_chain",
    "ident",
    "user",
    "time",
    "method",
    "target",
    "request_form",
    "protocol",
    "status",
    "status_class",
    "bytes",
    "referer",
    "user_agent",
    "bot",
    "category",
    "verification",
    "request_class",
    "latency_ms",
    "extra",
    "flags",
];

fn fields(out: &mut Out, record: &Record<'_>, who: &Who, reading: &Reading) {
    let peer = client::chosen(record, reading.client);
    let (shown, chain) = if reading.mask_clients {
        (client::printed_masked(peer), client::chain_masked(record))
    } else {
        (client::printed(peer), client::chain(record))
    };
    let host = reading.host_from_path.as_ref().and_then(|path| path.of(record)).or(record.host);
    let unmasked = |field| match reading.mask_clients {
        true => mask_addresses(field),
        false => Cow::Borrowed(field),
    };
    let request = request::split(record.request);
    out.put("format", record.format.name());
    out.put("prefix", record.prefix.map(|wrapper| wrapper.name()));
    out.put("host", host.and_then(text));
    out.put("vhost_port", record.vhost_port);
    out.put("client", shown);
    out.put("client_chain", chain);
    out.put("ident", text(&unmasked(record.ident)));
    out.put("user", text(&unmasked(record.user)));
    out.put("time", time(record.epoch));
    out.put("method", request.method.and_then(text));
    out.put("target", request.target.and_then(text));
    out.put("request_form", request.form.map(|form| form.name()));
    out.put("protocol", request.protocol.and_then(text));
    out.put("status", record.status);
    out.put("status_class", status_class(record.status));
    out.put("bytes", record.bytes);
    out.put("referer", record.referer.and_then(text));
    out.put("user_agent", record.user_agent.and_then(text));
    out.put("bot", who.bot.as_deref());
    out.put("category", who.category.as_deref());
    out.put("verification", who.verification.as_deref());
    out.put("request_class", request.class.name());
    out.put("latency_ms", record.latency_us().map(milliseconds));
    let extra: Vec<Value> = tail::fields(record.tail)
        .map(|field| printable(&unescape(&unmasked(field))).into_owned().into())
        .collect();
    out.put("extra", (!extra.is_empty()).then_some(extra));
    out.put("flags", record.flags.names().collect::<Vec<_>>());
}

struct Out(Map<String, Value>);

impl Out {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }
}

/// The field as text; `None` for `-` and nothing.
fn text(field: &[u8]) -> Option<String> {
    let plain = unescape(field);
    match plain.as_ref() {
        b"" | b"-" => None,
        bytes => Some(match printable(bytes) {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => text,
        }),
    }
}

/// RFC 3339 in UTC, whole seconds.
fn time(epoch: i64) -> Option<String> {
    let at = chrono::DateTime::from_timestamp(epoch, 0)?;
    Some(at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A whole number where it is one.
fn milliseconds(microseconds: u64) -> Value {
    if microseconds.is_multiple_of(1_000) {
        return Value::from(microseconds / 1_000);
    }
    // Three decimals of a number below 2^53 microseconds (285 years) are exact enough to print.
    Value::from(microseconds as f64 / 1_000.0)
}

fn status_class(status: Option<u16>) -> &'static str {
    match status {
        Some(100..=199) => "1xx",
        Some(200..=299) => "2xx",
        Some(300..=399) => "3xx",
        Some(400..=499) => "4xx",
        Some(500..=599) => "5xx",
        _ => "other",
    }
}
