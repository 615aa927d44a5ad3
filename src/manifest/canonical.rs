//! The one JSON text of a manifest that its digest is taken over, and the JSON form.
//!
//! Keys sorted bytewise, no blanks, without the top key `digest` and without free `x-` keys. Example of a digest:
//! `sha256:` and 64 hex digits.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Manifest;
use super::node::{Node, Tree};
use super::shape::{MANIFEST, Shape};

impl Manifest {
    /// The digest over the manifest as it is now: `sha256:` and 64 hex digits. [`Manifest::digest`] is what was read.
    #[must_use]
    pub fn computed_digest(&self) -> String {
        digest_of(&tree(self))
    }

    /// The manifest as pretty-printed JSON, keys in the order of the documentation, with its digest. What YAML does
    /// not take for printable is escaped, so that one parser reads both forms.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        for c in format!("{:#}\n", Value::Object(with_digest(self))).chars() {
            if is_printable(c) || c == '\n' {
                text.push(c);
            } else {
                let _ = write!(text, "\\u{:04X}", u32::from(c));
            }
        }
        text
    }
}

/// What YAML lets stand as it is; not the line ends that only YAML knows, nor the byte order mark.
pub(super) fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}

/// The keys in their order, with the digest as it must be.
pub(super) fn with_digest(manifest: &Manifest) -> Map<String, Value> {
    let tree = tree(manifest);
    let digest = Value::String(digest_of(&tree));
    let Value::Object(mut map) = tree else { return Map::new() };
    map.shift_remove("digest");
    let place =
        ["schema_version", "generated_at", "generator"].iter().filter(|key| map.contains_key(**key)).count();
    map.shift_insert(place, "digest".to_owned(), digest);
    map
}

fn tree(manifest: &Manifest) -> Value {
    serde_json::to_value(manifest).expect("every key is a text and no value refuses to be written")
}

/// The digest that a document as read would have to carry.
pub(super) fn digest_of_document(root: &Node) -> String {
    digest_of(&without_free_keys(root, &MANIFEST))
}

fn digest_of(root: &Value) -> String {
    let mut json = String::new();
    push_canonical(&mut json, root, true);
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(json) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn push_canonical(out: &mut String, value: &Value, is_top: bool) {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().filter(|(key, _)| !is_top || *key != "digest").collect();
            pairs.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, value)) in pairs.into_iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                let _ = write!(out, "{}:", Value::String(key.clone()));
                push_canonical(out, value, false);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                push_canonical(out, item, false);
            }
            out.push(']');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

/// A host may be called `x-...`: only keys of records are free.
fn without_free_keys(node: &Node, shape: &Shape) -> Value {
    match (&node.value, shape) {
        (_, Shape::Nullable(inner)) => without_free_keys(node, inner),
        (Tree::Map(pairs), Shape::Record(fields)) => Value::Object(
            pairs
                .iter()
                .filter(|(key, _)| !key.name.starts_with("x-"))
                .map(|(key, value)| {
                    let field = fields.iter().find(|field| field.name == key.name);
                    let shape = field.map_or(Shape::Any, |field| field.shape);
                    (key.name.clone(), without_free_keys(value, &shape))
                })
                .collect(),
        ),
        (Tree::Map(pairs), Shape::Map(_, inner)) => Value::Object(
            pairs.iter().map(|(key, value)| (key.name.clone(), without_free_keys(value, inner))).collect(),
        ),
        (Tree::List(items), Shape::List(inner)) => {
            Value::Array(items.iter().map(|item| without_free_keys(item, inner)).collect())
        }
        _ => node.to_json(),
    }
}
