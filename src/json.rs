//! JSON documents that this program wrote, read back strictly: whatever does not fit is named by file, line and key.
//!
//! Not logs in JSON, see [`crate::format`]. Example of a message:
//! `report.json:12: hosts."a.example".rpm_peak: expected a whole number, found string "fast"`

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::format::escape::printable;

/// What a document is, for messages.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// `budget report`.
    pub name: &'static str,
    /// What makes one.
    pub hint: &'static str,
    /// The version that is read.
    pub schema_version: u64,
}

/// Reads a file's text.
///
/// # Errors
/// A file that cannot be read or is no UTF-8 (usage).
pub fn text_of(path: &Path, kind: Kind) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|e| {
        Error::usage(path.display(), format_args!("cannot read this {}", kind.name)).cause(e).hint(kind.hint)
    })
}

/// Reads a versioned document; keys that its type does not know are ignored. `place` is the path that errors name.
///
/// # Errors
/// A usage error: no JSON, no or another `schema_version`, a key that is missing or holds something else. Its text has
/// the line and the key, what was expected and what was found.
pub fn read<T: DeserializeOwned>(text: &str, place: &str, kind: Kind) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u64,
    }
    let version: Version = serde_json::from_str(text).map_err(|e| misfit(text, place, kind, &e))?;
    if version.schema_version != kind.schema_version {
        let newer = version.schema_version > kind.schema_version;
        return Err(Error::usage(place, "schema_version")
            .cause(format_args!("expected {}, found {}", kind.schema_version, version.schema_version))
            .hint(if newer {
                "read it with the version of crawl-baseline that wrote it, or write it again".to_owned()
            } else {
                kind.hint.to_owned()
            }));
    }
    serde_json::from_str(text).map_err(|e| misfit(text, place, kind, &e))
}

fn misfit(text: &str, place: &str, kind: Kind, error: &serde_json::Error) -> Error {
    let said = error.to_string();
    let cause = said.rsplit_once(" at line ").map_or(said.as_str(), |(cause, _)| cause);
    let key = key_at(text, error.line(), error.column());
    let at = if error.line() == 0 { place.to_owned() } else { format!("{place}:{}", error.line()) };
    let what = match (error.classify(), key.is_empty()) {
        (serde_json::error::Category::Data, false) => key,
        _ => format!("is no {}", kind.name),
    };
    Error::usage(at, what).cause(printable(expectation(cause).as_bytes())).hint(kind.hint)
}

/// `expected X, found Y` in the words of JSON instead of Rust's.
fn expectation(cause: &str) -> String {
    let found = cause.strip_prefix("invalid type: ").or_else(|| cause.strip_prefix("invalid value: "));
    let Some((found, expected)) = found.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return match cause.strip_prefix("missing field ") {
            Some(field) => format!("expected the key {field}, found none"),
            None => cause.to_owned(),
        };
    };
    let expected = match expected {
        "u64" | "u32" | "u16" | "u8" | "usize" => "a whole number",
        "i64" | "i32" => "an integer",
        "f64" | "f32" => "a number",
        "a map" => "an object",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    let found = match found {
        "map" => "an object",
        "sequence" => "a list",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

/// An object's or a list's place on the way to a byte.
enum Step {
    Key(Option<String>),
    Index(usize),
}

/// The keys on the way to a position of a JSON text, `hosts."a.example".rpm_peak`; empty at its outermost level.
fn key_at(text: &str, line: usize, column: usize) -> String {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let end = before.saturating_add(column).min(text.len());
    let bytes = text.as_bytes();
    let mut steps: Vec<Step> = Vec::new();
    let mut at = 0;
    while at < end {
        match bytes[at] {
            // A bracket that is itself what does not fit is no step on the way to it.
            b'{' if at + 1 < end => steps.push(Step::Key(None)),
            b'[' if at + 1 < end => steps.push(Step::Index(0)),
            b'}' | b']' => {
                steps.pop();
            }
            b',' => match steps.last_mut() {
                Some(Step::Key(key)) => *key = None,
                Some(Step::Index(index)) => *index += 1,
                None => {}
            },
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let raw = bytes.get(start..at.min(bytes.len())).unwrap_or_default();
                if let Some(Step::Key(key @ None)) = steps.last_mut() {
                    *key = Some(String::from_utf8_lossy(raw).into_owned());
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for step in steps {
        let is_plain = |key: &str| key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        // A string takes every text.
        let _ = match step {
            Step::Key(Some(key)) => {
                let dot = if path.is_empty() { "" } else { "." };
                let quote = if is_plain(&key) { "" } else { "\"" };
                write!(path, "{dot}{quote}{}{quote}", printable(key.as_bytes()))
            }
            Step::Key(None) => Ok(()),
            Step::Index(index) => write!(path, "[{index}]"),
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Document {
        schema_version: u64,
        hosts: BTreeMap<String, Host>,
        list: Vec<Host>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Host {
        rpm: u64,
        share: f64,
    }

    const KIND: Kind = Kind { name: "test document", hint: "write one", schema_version: 1 };

    fn told(text: &str) -> String {
        read::<Document>(text, "d.json", KIND).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn what_does_not_fit_is_named_by_line_and_key() {
        let host = |body: &str| {
            format!("{{\n\"schema_version\": 1,\n\"hosts\": {{\"a.b\": {body}}},\n\"list\": []}}")
        };
        for (text, message) in [
            (
                host(r#"{"rpm": "fast", "share": 1}"#),
                r#"d.json:3: hosts."a.b".rpm: expected a whole number, found string "fast""#,
            ),
            (
                host(r#"{"rpm": -1, "share": 1}"#),
                r#"d.json:3: hosts."a.b".rpm: expected a whole number, found integer `-1`"#,
            ),
            (
                host(r#"{"rpm": {"x": 1}, "share": 1}"#),
                r#"d.json:3: hosts."a.b".rpm: expected a whole number, found an object"#,
            ),
            (
                host(r#"{"rpm": [1], "share": 1}"#),
                r#"d.json:3: hosts."a.b".rpm: expected a whole number, found a list"#,
            ),
            (host(r#"{"rpm": 1}"#), r#"d.json:3: hosts."a.b": expected the key `share`, found none"#),
            (host("7"), r#"d.json:3: hosts."a.b": expected an object, found integer `7`"#),
            (
                "{\"schema_version\": 1, \"hosts\": {}, \"list\": [{\"rpm\": 1, \"share\": 0.5}, {\"rpm\": 1, \"share\": null}]}".to_owned(),
                "d.json:1: list[1].share: expected a number, found null",
            ),
            (
                "{\"schema_version\": 1, \"hosts\": {}}".to_owned(),
                "d.json:1: is no test document: expected the key `list`, found none",
            ),
            ("{\"schema_version\": 2}".to_owned(), "d.json: schema_version: expected 1, found 2"),
            ("{\"hosts\": 1}".to_owned(), "d.json:1: is no test document: expected the key `schema_version`, found none"),
            (
                "{\"schema_version\": \"1\"}".to_owned(),
                "d.json:1: schema_version: expected a whole number, found string \"1\"",
            ),
            ("[]".to_owned(), "d.json:1: is no test document: expected the key `schema_version`, found none"),
            ("{".to_owned(), "d.json:1: is no test document: EOF while parsing an object"),
            (String::new(), "d.json:1: is no test document: EOF while parsing a value"),
        ] {
            let found = told(&text);
            // serde reads a list as a struct's fields in order.
            if text == "[]" {
                assert!(found.starts_with("d.json:1: is no test document: "), "{found}");
            } else {
                assert_eq!(found, message, "{text}");
            }
        }
    }

    #[test]
    fn hostile_keys_and_cut_texts_are_harmless() {
        for text in [
            "{\"schema_version\": 1, \"hosts\": {\"\\u001b[2J\n",
            "{\"a",
            "\"\\",
            "{\"schema_version\":1,\"hosts\":{\"\u{e9}\\\"",
        ] {
            assert!(!told(text).is_empty());
        }
    }
}
