//! The server's own format string: nginx `log_format` or Apache `LogFormat`, compiled once to a plan.
//!
//! Most strings are Combined (or Common) with something behind it. Those lines are read as Combined is, with all its
//! repairs, and the string only says what the fields behind are. Any other string is read by its literals
//! (`plan.rs`).
//!
//! Example of its input: `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent
//! "$http_referer" "$http_user_agent" "$upstream_response_time"`

mod apache;
pub mod configuration;
mod nginx;
mod plan;

use super::draft::{Slot, duration_us, is_cached};
use super::record::{Format, Record, RejectReason};
use super::tail;
use super::timestamp::Stamp;

/// Longest plan: fields and the texts between them.
const MOST_PARTS: usize = 256;

/// What the stamps of a server mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// When the answer was sent: nginx.
    End,
    /// When the request came: Apache.
    Start,
}

impl Clock {
    /// The name in the history.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Start => "start",
        }
    }

    /// The clock of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::End, Self::Start].into_iter().find(|clock| clock.name() == name)
    }
}

/// A piece of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Stands in every line as it is.
    Text(Vec<u8>),
    /// A value; what it says, where that is known.
    Field(Option<(Slot, u8)>),
}

impl Part {
    /// Begins with a slash: the field before it needs no text between.
    fn is_path(&self) -> bool {
        matches!(self, Self::Field(Some((Slot::Target | Slot::Path, _))))
    }
}

/// A compiled format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    text: String,
    clock: Clock,
    parts: Vec<Part>,
    /// What the lines begin with, where the engine of that format reads them, and what stands behind.
    head: Option<(Format, Vec<Column>)>,
}

/// A field behind the user agent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Column {
    /// `rt=` in `rt=$request_time`.
    key: Vec<u8>,
    slot: Option<Slot>,
}

impl Layout {
    /// Compiles a string. `None` when it is neither nginx's nor Apache's: a name, then.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    #[must_use = "the layout is the result"]
    pub fn compile(text: &str) -> Option<Result<Self, String>> {
        let (parts, clock) = if nginx::is_style(text) {
            (nginx::parts(text), Clock::End)
        } else if text.contains('%') {
            (apache::parts(text), Clock::Start)
        } else {
            return None;
        };
        Some(parts.and_then(|parts| Self::of(text, parts, clock)))
    }

    fn of(text: &str, parts: Vec<Part>, clock: Clock) -> Result<Self, String> {
        if parts.len() > MOST_PARTS {
            return Err(format!("expected at most {MOST_PARTS} fields and texts, found {}", parts.len()));
        }
        let parts = joined_paths(parts);
        let has = |wanted: &[Slot]| {
            parts.iter().any(|p| matches!(p, Part::Field(Some((slot, _))) if wanted.contains(slot)))
        };
        if !has(&[Slot::Time]) {
            return Err("expected a field with the time, found none".to_owned());
        }
        if !has(&[Slot::Request, Slot::Target, Slot::Path]) {
            return Err("expected a field with the request or its path, found none".to_owned());
        }
        let alone =
            |pair: &[Part]| matches!(pair, [Part::Field(_), next @ Part::Field(_)] if !next.is_path());
        if parts.windows(2).any(alone) {
            return Err("two fields follow each other with nothing between".to_owned());
        }
        let head = head(&parts);
        Ok(Self { text: text.to_owned(), clock, parts, head })
    }

    /// The string.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What its stamps mean.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The format whose engine reads the lines.
    pub(super) fn engine(&self) -> Option<Format> {
        self.head.as_ref().map(|(format, _)| *format)
    }

    /// Says what the fields behind are, for a record that the engine read.
    pub(super) fn name_tail(&self, record: &mut Record<'_>) {
        record.format = Format::Custom;
        let Some((_, columns)) = &self.head else { return };
        // A line of another length was written before or after the string was changed: its fields have no names.
        if columns.is_empty() || tail::fields(record.tail).count() != columns.len() {
            return;
        }
        let mut upstream = None;
        for (field, column) in tail::fields(record.tail).zip(columns) {
            let Some(value) = field.strip_prefix(&column.key[..]) else { continue };
            let value = tail::without_quotes(value);
            let is_set = !value.is_empty() && value != b"-";
            match column.slot {
                Some(Slot::Latency(unit)) => record.timing.latency_us = duration_us(value, unit),
                Some(Slot::Upstream(unit)) => upstream = duration_us(value, unit),
                Some(Slot::Cache) => record.timing.cached = is_cached(value),
                Some(Slot::Host) if is_set && record.host.is_none() => {
                    (record.host, record.vhost_port) = {
                        let (name, port) = super::prefix::split_port(value);
                        (Some(name), port)
                    };
                }
                Some(Slot::Forwarded) if is_set && record.forwarded.is_none() => {
                    record.forwarded = Some(value);
                }
                _ => {}
            }
        }
        record.timing.latency_us = record.timing.latency_us.or(upstream);
    }

    /// Reads a line by the plan.
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        scratch: &'a mut Vec<u8>,
        stamp: &mut dyn FnMut(&[u8]) -> Option<Stamp>,
    ) -> Result<Record<'a>, RejectReason> {
        plan::read(&self.parts, line, scratch, stamp)
    }
}

/// Whether a plan begins as Combined or Common does, and what is behind.
fn head(parts: &[Part]) -> Option<(Format, Vec<Column>)> {
    let text = |part: Option<&Part>, wanted: &[u8]| matches!(part, Some(Part::Text(text)) if text == wanted);
    let field = |part: Option<&Part>, wanted: Slot| matches!(part, Some(Part::Field(Some((slot, _)))) if std::mem::discriminant(slot) == std::mem::discriminant(&wanted));
    let mut rest = parts;
    let mut vhost = false;
    if field(rest.first(), Slot::Host) {
        vhost = true;
        if text(rest.get(1), b":") && field(rest.get(2), Slot::Port) {
            rest = &rest[2..];
        }
        if !text(rest.get(1), b" ") {
            return None;
        }
        rest = &rest[2..];
    }
    if !field(rest.first(), Slot::Client) {
        return None;
    }
    rest = if text(rest.get(1), b" - ") {
        rest.get(2..)?
    } else if text(rest.get(1), b" ") && field(rest.get(2), Slot::Ident) && text(rest.get(3), b" ") {
        rest.get(4..)?
    } else {
        return None;
    };
    let common: [(Slot, &[u8]); 4] =
        [(Slot::User, b" ["), (Slot::Time, b"] \""), (Slot::Request, b"\" "), (Slot::Status, b" ")];
    for (slot, behind) in common {
        if !field(rest.first(), slot) || !text(rest.get(1), behind) {
            return None;
        }
        rest = &rest[2..];
    }
    if !field(rest.first(), Slot::Bytes) {
        return None;
    }
    rest = &rest[1..];
    let combined = text(rest.first(), b" \"")
        && field(rest.get(1), Slot::Referer)
        && text(rest.get(2), b"\" \"")
        && field(rest.get(3), Slot::UserAgent);
    if combined {
        let format = if vhost { Format::VhostCombined } else { Format::Combined };
        return Some((format, columns(b"\"", rest.get(4..)?)?));
    }
    let columns = columns(b"", rest)?;
    // Of Common only numbers may follow: anything else is for the plan.
    let numbers = |column: &Column| {
        column.key.is_empty()
            && matches!(column.slot, Some(Slot::Latency(_) | Slot::Upstream(_) | Slot::Bytes))
    };
    let format = if vhost { Format::VhostCommon } else { Format::Common };
    columns.iter().all(numbers).then_some((format, columns))
}

/// The fields behind `closing`, each one word or one text in quotes; `None` when they are divided otherwise.
fn columns(closing: &[u8], parts: &[Part]) -> Option<Vec<Column>> {
    // Marks that stand for the fields, so that the words can be split as those of a line are.
    let mut text = Vec::new();
    let mut slots = Vec::new();
    for part in parts {
        match part {
            Part::Text(literal) if literal.contains(&b'\x01') => return None,
            Part::Text(literal) => text.extend_from_slice(literal),
            Part::Field(slot) => {
                text.push(b'\x01');
                slots.push(slot.map(|(slot, _)| slot));
            }
        }
    }
    let text = text.strip_prefix(closing)?;
    if text.first().is_some_and(|b| *b != b' ') {
        return None;
    }
    let mut slots = slots.into_iter();
    tail::fields(text)
        .map(|word| {
            let word: Vec<u8> = word.iter().copied().filter(|b| *b != b'"').collect();
            match memchr::memchr_iter(b'\x01', &word).collect::<Vec<_>>()[..] {
                [] => Some(Column { key: word, slot: None }),
                [at] if at + 1 == word.len() => {
                    Some(Column { key: word[..at].to_vec(), slot: slots.next().flatten() })
                }
                _ => None,
            }
        })
        .collect()
}

/// `%U%q` and `$uri$is_args$args` are one field: nothing tells where the path ends.
fn joined_paths(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        let slot = |part: Option<&Part>| match part {
            Some(Part::Field(slot)) => Some(slot.map(|(slot, _)| slot)),
            _ => None,
        };
        let len = out.len();
        if let Some(Some(Slot::Query)) = slot(Some(&part)) {
            if slot(out.last()) == Some(None) && len > 1 && slot(out.get(len - 2)) == Some(Some(Slot::Path)) {
                out.pop();
            }
            if slot(out.last()) == Some(Some(Slot::Path)) {
                out.pop();
                out.push(Part::Field(Some((Slot::Target, 0))));
                continue;
            }
        }
        out.push(part);
    }
    out
}

/// Adds a text to the plan.
fn push_text(parts: &mut Vec<Part>, text: &[u8]) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.extend_from_slice(text),
        _ => parts.push(Part::Text(text.to_vec())),
    }
}

/// `\"`, `\t`, `\n` and `\\` in a string as it was typed.
fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b't') => out.push(b'\t'),
                Some(b'n') => out.push(b'\n'),
                Some(other) => out.push(other),
                None => out.push(b'\\'),
            },
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
