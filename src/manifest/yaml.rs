//! Writes a manifest as YAML that people read: keys in the order of the documentation, small maps on one line, a
//! legend of comments at the first host.
//!
//! Names come from logs: whatever could mean something to a YAML parser is quoted. Written by hand and not through
//! the YAML crate's serializer, which knows neither comments between keys of a map nor which maps belong on one line;
//! that crate reads it back in the tests. Example of a line: `"www.example.com":`

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::Manifest;
use super::canonical::{is_printable, with_digest};

/// Longest line of a map or list that fits on one: the budgets do.
const ONE_LINE: usize = 170;

/// Longest line of a map or list that is written on several.
const WIDTH: usize = 110;

const HEAD: &str = "\
# What each crawler may ask of each host, and why. Written by crawl-baseline; the next run writes it anew.
# Pins belong into the configuration file. Keys that begin with x- are free.
";

/// Comments above a key of the top level.
const ABOVE: [(&str, &str); 4] = [
    ("policy", "the constants that were used"),
    ("scopes", "independent counters; null: nothing limits them"),
    ("rate_limiting", "for hosts without an entry"),
    ("domain_overrides", "a host's own numbers are for all bots together; its bots have theirs"),
];

/// Comments behind a key of the first host.
const LEGEND: [(&str, &str); 9] = [
    ("base_delay_ms", "start to start: ceil(60000 / max_requests_per_minute), or the Crawl-delay"),
    ("jitter_range_ms", "only added"),
    ("max_requests_per_minute", "the ceiling"),
    ("max_burst_capacity", "for a client that shapes itself"),
    ("default_cooldown_seconds", "after a refusal"),
    ("enforce_burst", "for a server that polices"),
    ("edge_requests_per_minute", "in front of the CDN"),
    ("even_pace_requests_per_minute", "spends the hour's budget evenly"),
    ("confidence", "A best, D: too little seen to be applied"),
];

impl Manifest {
    /// The manifest as YAML, with its digest. [`super::read`] reads the same manifest back.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut out = String::from(HEAD);
        block(&mut out, &with_digest(self), 0, Level::Top);
        out
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Hosts,
    /// A host, the first of them or another.
    Host(bool),
    Bots,
    Other,
}

impl Level {
    fn below(self, key: &str, is_first: bool) -> Self {
        match self {
            Self::Top if key == "domain_overrides" => Self::Hosts,
            Self::Hosts => Self::Host(is_first),
            Self::Host(_) if key == "bots" => Self::Bots,
            Self::Top | Self::Host(_) | Self::Bots | Self::Other => Self::Other,
        }
    }

    /// Sections, hosts and bots have a line for each key however short they are.
    fn is_block(self, key: &str) -> bool {
        match self {
            Self::Top => matches!(key, "rate_limiting" | "domain_overrides" | "scopes"),
            Self::Hosts | Self::Bots => true,
            Self::Host(_) => key == "bots",
            Self::Other => false,
        }
    }
}

fn block(out: &mut String, map: &Map<String, Value>, indent: usize, level: Level) {
    for (at, (key, value)) in map.iter().enumerate() {
        if level == Level::Top
            && let Some((_, comment)) = ABOVE.iter().find(|(name, _)| name == key)
        {
            let _ = writeln!(out, "# {comment}");
        }
        let start = out.len();
        push_indent(out, indent);
        push_key(out, key, level == Level::Hosts);
        out.push(':');
        let used = out.len() - start;
        match value {
            Value::Object(inner) if inner.is_empty() => out.push_str(" {}"),
            Value::Array(items) if items.is_empty() => out.push_str(" []"),
            Value::Object(_) | Value::Array(_)
                if !level.is_block(key) && one_line(value, ONE_LINE.saturating_sub(used)).is_some() =>
            {
                out.push(' ');
                push_flow(out, value);
            }
            Value::Object(inner) if is_flat(value) && !level.is_block(key) && inner.len() > 20 => {
                wrapped(out, '{', inner.iter().map(pair), '}', indent);
            }
            Value::Array(items) if is_flat(value) => wrapped(out, '[', items.iter().map(flow), ']', indent),
            Value::Object(inner) => {
                out.push('\n');
                block(out, inner, indent + 2, level.below(key, at == 0));
                continue;
            }
            Value::Array(items) => {
                for item in items {
                    out.push('\n');
                    push_indent(out, indent + 2);
                    out.push_str("- ");
                    push_flow(out, item);
                }
            }
            scalar => {
                out.push(' ');
                push_flow(out, scalar);
                if level == Level::Host(true)
                    && let Some((_, comment)) = LEGEND.iter().find(|(name, _)| name == key)
                {
                    let _ = write!(out, "  # {comment}");
                }
            }
        }
        out.push('\n');
    }
}

fn push_indent(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn push_key(out: &mut String, key: &str, always_quoted: bool) {
    if always_quoted || !is_plain(key) { push_quoted(out, key) } else { out.push_str(key) }
}

/// The value on one line, if it has at most `room` bytes and is not nested more than twice.
fn one_line(value: &Value, room: usize) -> Option<String> {
    let shallow = match value {
        Value::Object(map) => map.values().all(is_flat),
        Value::Array(items) => items.iter().all(is_flat),
        _ => true,
    };
    shallow.then(|| flow(value)).filter(|text| text.len() < room)
}

/// Holds no other container.
fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.values().any(|v| v.is_object() || v.is_array()),
        Value::Array(items) => !items.iter().any(|v| v.is_object() || v.is_array()),
        _ => true,
    }
}

/// `{a, b, ...}` over several lines, the brackets beside the first and the last.
fn wrapped(out: &mut String, open: char, parts: impl Iterator<Item = String>, close: char, indent: usize) {
    out.push(' ');
    out.push(open);
    let mut width = WIDTH;
    for (i, part) in parts.enumerate() {
        if i > 0 {
            out.push(',');
        }
        if width + part.len() + 2 > WIDTH {
            out.push('\n');
            push_indent(out, indent + 2);
            width = indent + 2;
        } else {
            out.push(' ');
        }
        out.push_str(&part);
        width += part.len() + 2;
    }
    out.push(close);
}

fn pair((key, value): (&String, &Value)) -> String {
    let mut out = String::new();
    push_key(&mut out, key, false);
    out.push_str(": ");
    push_flow(&mut out, value);
    out
}

fn flow(value: &Value) -> String {
    let mut out = String::new();
    push_flow(&mut out, value);
    out
}

fn push_flow(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64() {
            // Never an exponent: YAML 1.1 readers take 1e21 for a text.
            Some(float) if number.is_f64() => {
                let text = float.to_string();
                out.push_str(&text);
                if !text.contains('.') {
                    out.push_str(".0");
                }
            }
            _ => {
                let _ = write!(out, "{number}");
            }
        },
        Value::String(text) => push_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                push_flow(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, entry) in map.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                out.push_str(&pair(entry));
            }
            out.push('}');
        }
    }
}

/// A text: plain where no YAML reader can take it for anything else, else in double quotes.
fn push_text(out: &mut String, text: &str) {
    if is_plain(text)
        || super::Minute::parse(text).is_some_and(|_| text.bytes().all(|b| b.is_ascii_graphic()))
    {
        out.push_str(text);
    } else {
        push_quoted(out, text);
    }
}

/// Letters first, then words of letters, digits and `._-/` with single blanks between them; `:` only before a letter
/// or digit. Words that YAML 1.1 or 1.2 reads as null or boolean are not plain.
fn is_plain(text: &str) -> bool {
    const RESERVED: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.iter().enumerate().all(|(at, byte)| match byte {
            b'.' | b'_' | b'-' | b'/' => true,
            b' ' | b':' => bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric),
            other => other.is_ascii_alphanumeric(),
        })
        && !RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
