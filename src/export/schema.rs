//! The JSON Schema of the manifest (draft 2020-12), for editors and for whoever writes one.
//!
//! Made from the very table that reading checks against. Example: `"max_retries": {"type": "integer", "minimum": 0}`.

use serde_json::{Map, Value, json};

use crate::manifest::SCHEMA_VERSION;
use crate::manifest::shape::{Field, MANIFEST, Names, PINS, Shape};

/// Keys whose forms are written once, under `$defs`.
const SHARED: [&str; 5] = ["evidence", "schedule", "budgets", "breaker", "rate_limiting"];

/// The schema, with a line feed at its end.
#[must_use]
pub fn schema() -> String {
    let mut shared = Map::new();
    let mut root = Map::new();
    root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".to_owned(), json!("throttle_manifest"));
    root.insert(
        "description".to_owned(),
        json!(format!(
            "Throttle manifest of crawl-baseline, version {SCHEMA_VERSION}. Rates are requests per UTC minute; keys that begin \
             with x- are free."
        )),
    );
    if let Value::Object(body) = form(&MANIFEST, &mut shared) {
        root.extend(body);
    }
    root.insert("$defs".to_owned(), Value::Object(shared));
    let mut text = format!("{:#}", Value::Object(root));
    text.push('\n');
    text
}

fn form(shape: &Shape, shared: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Integer(least) => json!({"type": "integer", "minimum": least}),
        Shape::Number => json!({"type": "number", "minimum": 0}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Text => json!({"type": "string"}),
        Shape::Choice(names) => json!({"enum": names}),
        // With seconds and other offsets it is read, too.
        Shape::Minute => {
            json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"})
        }
        Shape::Second => json!({"type": "string", "format": "date-time"}),
        Shape::Status => json!({"type": "integer", "minimum": 100, "maximum": 599}),
        Shape::List(inner) => json!({"type": "array", "items": form(inner, shared)}),
        Shape::Pair => {
            json!({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2})
        }
        Shape::Record(fields) => record(fields, shared),
        Shape::Map(names, inner) => {
            let inner = match (names, inner) {
                (Names::Bots, _) => reference("bot_entry", inner, shared),
                (Names::Hosts, _) => reference("host_entry", inner, shared),
                _ => form(inner, shared),
            };
            let mut map = json!({"type": "object", "additionalProperties": inner});
            if *names == Names::Pins {
                map["propertyNames"] = json!({"enum": PINS});
            }
            map
        }
        Shape::Nullable(inner) => json!({"anyOf": [form(inner, shared), {"type": "null"}]}),
        Shape::Any => Value::Bool(true),
    }
}

fn record(fields: &[Field], shared: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let of_field = match field.shape {
            Shape::Nullable(inner) if SHARED.contains(&field.name) => {
                json!({"anyOf": [reference(field.name, inner, shared), {"type": "null"}]})
            }
            _ if SHARED.contains(&field.name) => reference(field.name, &field.shape, shared),
            // `1.0` without quotes is a number in YAML.
            _ if field.name == "schema_version" => json!({"type": ["string", "number"]}),
            _ => form(&field.shape, shared),
        };
        properties.insert(field.name.to_owned(), of_field);
    }
    let required: Vec<&str> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    let mut out = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out["patternProperties"] = json!({"^x-": true});
    out["additionalProperties"] = json!(false);
    out
}

fn reference(name: &str, shape: &Shape, shared: &mut Map<String, Value>) -> Value {
    if !shared.contains_key(name) {
        // Reserved first: an entry may hold another one.
        shared.insert(name.to_owned(), Value::Null);
        let body = form(shape, shared);
        shared.insert(name.to_owned(), body);
    }
    json!({"$ref": format!("#/$defs/{name}")})
}
