//! Reads a manifest, strictly: what is not understood is not silently ignored.
//!
//! Every message names the line, the key, and what would be right. Not the file's age or its numbers: see
//! [`super::lint`]. Example of a message:
//! `throttle_manifest.yaml:3: unknown key rate_limiting.max_retry`, hint `did you mean max_retries?`

use std::path::Path;

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::canonical::digest_of_document;
use super::fill::fill;
use super::nearest::nearest;
use super::node::{Node, Tree, quoted};
use super::shape::{Field, MANIFEST, Names, PINS, Shape};
use super::{Manifest, Minute, RateLimiting, SCHEMA_VERSION, Second};
use crate::error::Error;

/// The names that a manifest may use. `None`: any.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// Bots, whatever the host. A generated entry (one with evidence) may name any.
    pub bots: Option<&'a [&'a str]>,
    /// Hosts. A generated entry may name any.
    pub hosts: Option<&'a [&'a str]>,
}

/// Something that a reader should know about a manifest that is usable nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// A stable name: `edited_by_hand`, `unknown_key`, `alias_ignored`.
    pub code: &'static str,
    /// The path, with the line where there is one.
    pub place: String,
    /// What was found.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

/// Reads a manifest in YAML or JSON.
///
/// Keys that begin with `x-` are free. What a hand-written entry leaves out is filled: ceiling from delay and the
/// other way round, connections, jitter, algorithm and cooldown from the host's entry (for a bot) or from
/// `rate_limiting`, whose own missing keys have the defaults of [`RateLimiting`]. `rate_limiting.max_delay_ms` is
/// read as `adaptive_delay.max_delay_ms`. A manifest without `schema_version` is one of this version.
///
/// # Errors
/// All are usage errors (exit 2): a file that cannot be read, is neither YAML nor JSON, has a key that nobody knows
/// (a warning when its version is a newer minor one), a value of another form, a newer major version, or the name
/// of a bot or host that is not `known`.
pub fn read(path: &Path, known: &Known<'_>) -> Result<(Manifest, Vec<Warning>), Error> {
    let bytes = std::fs::read(path)
        .map_err(|cause| Error::usage(path.display(), "cannot read the throttle manifest").cause(cause))?;
    parse(&path.display().to_string(), &bytes, known)
}

/// As [`read`], of bytes; `place` is what messages call them.
///
/// # Errors
/// As [`read`].
pub fn parse(place: &str, bytes: &[u8], known: &Known<'_>) -> Result<(Manifest, Vec<Warning>), Error> {
    let root = Node::parse(place, bytes)?;
    if matches!(root.value, Tree::Null) {
        return Err(Error::usage(place, "holds no manifest"));
    }
    let mut check = Check { place, known, tolerant: false, path: Vec::new(), warnings: Vec::new() };
    let version = check.version(&root)?;
    let checked = check.value(&root, &MANIFEST)?;
    let Value::Object(mut map) = checked else {
        return Err(Error::usage(place, "holds no manifest"));
    };
    map.insert("schema_version".to_owned(), Value::String(version));
    check.take_alias(&root, &mut map);
    let not_typed = |cause: serde_json::Error| Error::usage(place, "is no throttle manifest").cause(cause);
    let defaults: RateLimiting = match map.get("rate_limiting") {
        Some(given) => RateLimiting::deserialize(given).map_err(not_typed)?,
        None => RateLimiting::default(),
    };
    fill(&mut map, &serde_json::to_value(&defaults).map_err(not_typed)?);
    let manifest: Manifest = serde_json::from_value(Value::Object(map)).map_err(not_typed)?;
    if let Some(digest) = &manifest.digest
        && *digest != digest_of_document(&root)
    {
        check.warnings.push(Warning {
            code: "edited_by_hand",
            place: place.to_owned(),
            message: "edited by hand: the content is not what the digest was made over".to_owned(),
            hint: Some(
                "pins belong into the configuration file; the next run writes this file anew".to_owned(),
            ),
        });
    }
    Ok((manifest, check.warnings))
}

struct Check<'a> {
    place: &'a str,
    known: &'a Known<'a>,
    /// Unknown keys are warnings.
    tolerant: bool,
    path: Vec<String>,
    warnings: Vec<Warning>,
}

impl Check<'_> {
    /// `major.minor` of this or an older version, or of a newer minor one.
    fn version(&mut self, root: &Node) -> Result<String, Error> {
        let Some(node) = root.get("schema_version") else { return Ok(SCHEMA_VERSION.to_owned()) };
        let text = match &node.value {
            Tree::Text(text) => text.clone(),
            Tree::Integer(major) => format!("{major}.0"),
            // Without quotes `1.0` is a number.
            Tree::Number(number) => format!("{number:?}"),
            _ => String::new(),
        };
        let parts = |text: &str| -> Option<(u32, u32)> {
            let (major, minor) = text.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        let Some((major, minor)) = parts(&text) else {
            return Err(self
                .error(node.line, "schema_version cannot be read")
                .cause(format_args!("expected a version such as \"{SCHEMA_VERSION}\", found {node}")));
        };
        let (own_major, own_minor) = parts(SCHEMA_VERSION).unwrap_or((1, 0));
        if major != own_major {
            let age = if major > own_major { "newer" } else { "older" };
            return Err(self
                .error(
                    node.line,
                    format_args!(
                        "schema version {text} is {age} than what this program reads ({SCHEMA_VERSION})"
                    ),
                )
                .hint(if major > own_major {
                    "upgrade crawl-baseline, or let `crawl-baseline recommend` write the manifest anew"
                } else {
                    "let `crawl-baseline recommend` write the manifest anew"
                }));
        }
        self.tolerant = minor > own_minor;
        Ok(format!("{major}.{minor}"))
    }

    fn error(&self, line: u64, what: impl std::fmt::Display) -> Error {
        Error::usage(self.at(line), what)
    }

    fn at(&self, line: u64) -> String {
        if line == 0 { self.place.to_owned() } else { format!("{}:{line}", self.place) }
    }

    /// The keys on the way to where the check is.
    fn key(&self) -> String {
        self.path.join(".")
    }

    /// The value as JSON, with the known keys only.
    fn value(&mut self, node: &Node, shape: &Shape) -> Result<Value, Error> {
        match (&node.value, shape) {
            (Tree::Null, Shape::Nullable(_)) => return Ok(Value::Null),
            (_, Shape::Nullable(inner)) => return self.value(node, inner),
            (Tree::Null, Shape::Record(_) | Shape::Map(..)) if !self.path.is_empty() => {
                return self.value(&Node { line: node.line, value: Tree::Map(Vec::new()) }, shape);
            }
            (_, Shape::Any) => return Ok(node.to_json()),
            (Tree::Map(_), Shape::Record(fields)) => return self.record(node, fields),
            (Tree::Map(_), Shape::Map(names, inner)) => return self.map(node, *names, inner),
            (Tree::List(items), Shape::List(inner)) => {
                let items: Result<_, _> = items.iter().map(|item| self.value(item, inner)).collect();
                return Ok(Value::Array(items?));
            }
            _ => {}
        }
        if fits(node, shape) {
            return Ok(node.to_json());
        }
        let key = if self.path.is_empty() { "the manifest".to_owned() } else { self.key() };
        Err(self
            .error(node.line, format_args!("{key} cannot be read"))
            .cause(format_args!("expected {shape}, found {node}")))
    }

    fn record(&mut self, node: &Node, fields: &'static [Field]) -> Result<Value, Error> {
        let Tree::Map(pairs) = &node.value else { return Ok(Value::Null) };
        let mut out = Map::new();
        for (key, value) in pairs {
            if key.name.starts_with("x-") {
                continue;
            }
            self.path.push(printable_key(&key.name));
            match fields.iter().find(|field| field.name == key.name) {
                Some(field) => {
                    let value = self.value(value, &field.shape)?;
                    out.insert(key.name.clone(), value);
                }
                None => self.unknown_key(key.line, &key.name, fields)?,
            }
            self.path.pop();
        }
        if let Some(field) = fields.iter().find(|field| field.required && !out.contains_key(field.name)) {
            return Err(self.error(node.line, format_args!("{} has no key {}", self.key(), field.name)));
        }
        Ok(Value::Object(out))
    }

    fn unknown_key(&mut self, line: u64, name: &str, fields: &[Field]) -> Result<(), Error> {
        let hint = match nearest(name, fields.iter().map(|field| field.name)) {
            Some(near) => format!("did you mean {near}? (keys that begin with x- are free)"),
            None => {
                let names: Vec<_> = fields.iter().map(|field| field.name).collect();
                format!("known here: {} (keys that begin with x- are free)", names.join(", "))
            }
        };
        let what = format!("unknown key {}", self.key());
        if !self.tolerant {
            return Err(self.error(line, what).hint(hint));
        }
        self.warnings.push(Warning {
            code: "unknown_key",
            place: self.at(line),
            message: what,
            hint: Some(hint),
        });
        Ok(())
    }

    fn map(&mut self, node: &Node, names: Names, inner: &'static Shape) -> Result<Value, Error> {
        let Tree::Map(pairs) = &node.value else { return Ok(Value::Null) };
        let mut out = Map::new();
        for (key, value) in pairs {
            self.path.push(match names {
                Names::Hosts => format!("\"{}\"", printable_key(&key.name)),
                _ => printable_key(&key.name),
            });
            let is_generated = value.get("evidence").is_some_and(|node| !matches!(node.value, Tree::Null));
            let (what, list): (_, &[&str]) = match names {
                Names::Bots if !is_generated => ("bot", self.known.bots.unwrap_or(&[])),
                Names::Hosts if !is_generated => ("host", self.known.hosts.unwrap_or(&[])),
                Names::Pins => ("key", &PINS),
                _ => ("", &[]),
            };
            let is_limited = match names {
                Names::Bots => self.known.bots.is_some() && !is_generated,
                Names::Hosts => self.known.hosts.is_some() && !is_generated,
                Names::Pins => true,
                Names::Other => false,
            };
            if is_limited && !list.contains(&key.name.as_str()) {
                let error = self
                    .error(key.line, format_args!("unknown {what} {} in {}", quoted(&key.name), self.key()));
                return Err(match nearest(&key.name, list.iter().copied()) {
                    Some(near) => error.hint(format_args!("did you mean {near}?")),
                    None if names == Names::Bots => {
                        error.hint("bots are called as in the catalogue, in the baseline and in parse")
                    }
                    None if names == Names::Pins => {
                        error.hint(format_args!("known here: {}", PINS.join(", ")))
                    }
                    None => error,
                });
            }
            let value = self.value(value, inner)?;
            out.insert(key.name.clone(), value);
            self.path.pop();
        }
        Ok(Value::Object(out))
    }

    /// Moves `rate_limiting.max_delay_ms` to where it belongs.
    fn take_alias(&mut self, root: &Node, map: &mut Map<String, Value>) {
        let Some(Value::Object(section)) = map.get_mut("rate_limiting") else { return };
        let Some(alias) = section.remove("max_delay_ms") else { return };
        let adaptive = section.entry("adaptive_delay").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(adaptive) = adaptive else { return };
        match adaptive.get("max_delay_ms") {
            None => {
                adaptive.insert("max_delay_ms".to_owned(), alias);
            }
            Some(given) if *given == alias => {}
            Some(given) => {
                let line = root
                    .get("rate_limiting")
                    .and_then(|node| node.get("max_delay_ms"))
                    .map_or(0, |node| node.line);
                let message = format!(
                    "rate_limiting.max_delay_ms ({alias}) is not used: adaptive_delay.max_delay_ms is {given}"
                );
                self.warnings.push(Warning {
                    code: "alias_ignored",
                    place: self.at(line),
                    message,
                    hint: Some("keep adaptive_delay.max_delay_ms alone".to_owned()),
                });
            }
        }
    }
}

fn printable_key(name: &str) -> String {
    let quoted = quoted(name);
    quoted.trim_matches('`').to_owned()
}

/// Whether a value that is no map and no list of something has the form.
fn fits(node: &Node, shape: &Shape) -> bool {
    match (&node.value, shape) {
        (Tree::Integer(value), Shape::Integer(least)) => value >= least,
        (Tree::Integer(value), Shape::Status) => (100..=599).contains(value),
        (Tree::Integer(value), Shape::Number) => *value >= 0,
        (Tree::Large(_), Shape::Integer(_) | Shape::Number)
        | (Tree::Boolean(_), Shape::Boolean)
        | (Tree::Text(_), Shape::Text) => true,
        (Tree::Number(value), Shape::Number) => *value >= 0.0,
        (Tree::Text(text), Shape::Choice(names)) => names.contains(&text.as_str()),
        (Tree::Text(text), Shape::Minute) => Minute::parse(text).is_some(),
        (Tree::Text(text), Shape::Second) => Second::parse(text).is_some(),
        (Tree::List(items), Shape::Pair) => {
            items.len() == 2 && items.iter().all(|item| fits(item, &Shape::Integer(0)))
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
