//! A YAML or JSON document as a tree that knows its lines.
//!
//! Not what it means: see [`super::shape`]. JSON is read by the same parser, since YAML contains it.
//!
//! Example: `rate_limiting: {max_retries: 3}` is a map of one key on line 1, whose value is a map of one key.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::error::Error;

/// A value with the line on which it begins, from 1; 0 when the parser does not know.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: u64,
    pub(super) value: Tree,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Null,
    Boolean(bool),
    Integer(i64),
    /// Whole numbers above 2^63-1.
    Large(u64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) line: u64,
    pub(super) name: String,
}

/// Nesting of the deepest manifest is 9; more than this is no manifest.
const DEEPEST: usize = 32;

impl Node {
    /// Reads one document. `place` is the path that errors name.
    pub(super) fn parse(place: &str, bytes: &[u8]) -> Result<Self, Error> {
        // A document cannot have more nodes than bytes; aliases keep the parser's own limits.
        let size = bytes.len().max(1024);
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_events: size.saturating_mul(2),
                max_nodes: size,
                max_total_scalar_bytes: size.saturating_mul(2),
                max_total_comment_bytes: size,
                max_depth: DEEPEST,
                max_documents: 1,
            },
            null_as_string: true,
            emit_comments: false,
            with_snippet: false,
        };
        serde_saphyr::from_slice_with_options(bytes, options).map_err(|error| {
            let at = match error.location() {
                Some(location) if location.line() > 0 => format!("{place}:{}", location.line()),
                _ => place.to_owned(),
            };
            let cause = error.to_string();
            let cause =
                cause.strip_prefix("error: ").unwrap_or(&cause).lines().next().unwrap_or("").to_owned();
            Error::usage(at, "is neither YAML nor JSON").cause(cause)
        })
    }

    /// The value of a key of a map.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match &self.value {
            Tree::Map(pairs) => pairs.iter().find(|(key, _)| key.name == name).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The tree as JSON, lines forgotten.
    pub(super) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.value {
            Tree::Null => Value::Null,
            Tree::Boolean(value) => Value::Bool(*value),
            Tree::Integer(value) => Value::from(*value),
            Tree::Large(value) => Value::from(*value),
            Tree::Number(value) => Value::from(*value),
            Tree::Text(value) => Value::String(value.clone()),
            Tree::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Tree::Map(pairs) => {
                Value::Object(pairs.iter().map(|(key, node)| (key.name.clone(), node.to_json())).collect())
            }
        }
    }
}

/// How a message says what was found.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Tree::Null => f.write_str("nothing"),
            Tree::Boolean(value) => write!(f, "`{value}`"),
            Tree::Integer(value) => write!(f, "the number {value}"),
            Tree::Large(value) => write!(f, "the number {value}"),
            Tree::Number(value) => write!(f, "the number {value:?}"),
            Tree::Text(value) => write!(f, "the text {}", quoted(value)),
            Tree::List(_) => f.write_str("a list"),
            Tree::Map(_) => f.write_str("a map"),
        }
    }
}

/// A text from a file in backticks: printable, cut after 60 characters.
pub(super) fn quoted(text: &str) -> String {
    let printable = crate::format::escape::printable(text.as_bytes());
    let mut cut: String = printable.chars().take(60).collect();
    if cut.len() < printable.len() {
        cut.push_str("...");
    }
    format!("`{cut}`")
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Tree>::deserialize(deserializer)?;
        Ok(Self { line: spanned.referenced.line(), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(i64::try_from(value).map_or(Tree::Large(value), Tree::Integer))
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Tree, E> {
        Err(E::custom(format_args!("{value} is beyond 64 bits")))
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Tree, E> {
        Err(E::custom(format_args!("{value} is beyond 64 bits")))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = pairs.next_key::<Spanned<String>>()? {
            let node = pairs.next_value()?;
            map.push((Key { line: key.referenced.line(), name: key.value }, node));
        }
        Ok(Tree::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_value_knows_its_line() {
        let node = Node::parse("m", b"# a comment\na:\n  b: 1\n  \"1e3\": [x,\n   ~]\n").unwrap();
        let a = node.get("a").unwrap();
        let Tree::Map(pairs) = &a.value else { panic!("{a:?}") };
        assert_eq!((pairs[0].0.line, pairs[0].0.name.as_str()), (3, "b"));
        assert_eq!((pairs[1].0.line, pairs[1].0.name.as_str()), (4, "1e3"));
        assert_eq!(node.to_json(), serde_json::json!({"a": {"b": 1, "1e3": ["x", null]}}));
    }

    #[test]
    fn json_is_read_by_the_same_parser() {
        let text =
            "{\"a\\/b\": \"\\u00e9\\ud83d\\ude00\",\n\t\"c\": [1.5, true, null, -1, 18446744073709551615]}";
        let node = Node::parse("m", text.as_bytes()).unwrap();
        assert_eq!(
            node.to_json(),
            serde_json::json!({"a/b": "\u{e9}\u{1f600}", "c": [1.5, true, null, -1, u64::MAX]})
        );
        assert_eq!(node.get("c").unwrap().line, 2);
    }

    #[test]
    fn what_is_no_document_is_named_with_its_line() {
        for (text, want) in [
            ("a: 1\na: 2\n", "m:2: is neither YAML nor JSON"),
            ("a: [1\nb: 2\n", "m:2: is neither YAML nor JSON"),
            ("- a\n-b: *none\n", "m:2: is neither YAML nor JSON"),
        ] {
            let error = Node::parse("m", text.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with(want), "{error}");
            assert_eq!(error.exit().code(), 2);
        }
        assert!(Node::parse("m", b"a: \xff\n").is_err());
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert!(Node::parse("m", deep.as_bytes()).is_err());
    }
}
