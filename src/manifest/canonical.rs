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
        digest_of(tree(self))
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
    let digest = Some(manifest.computed_digest());
    match tree(&Manifest { digest, ..manifest.clone() }) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn tree(manifest: &Manifest) -> Value {
    serde_json::to_value(manifest).expect("every key is a text and no value refuses to be written")
}

/// The digest that a document as read would have to carry.
pub(super) fn digest_of_document(root: &Node) -> String {
    digest_of(without_free_keys(root, &MANIFEST))
}

fn digest_of(mut root: Value) -> String {
    if let Value::Object(map) = &mut root {
        map.shift_remove("digest");
    }
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(sorted(root).to_string()) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.into_iter().collect();
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(pairs.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        scalar => scalar,
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
