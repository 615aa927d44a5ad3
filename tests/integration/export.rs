//! `export schema`: the manifests that the program writes keep to it, and what reading refuses it refuses too.
//!
//! Example: the YAML and the JSON form of one night's manifest are valid; with `max_retry: 3` in it they are not.

use regex::Regex;
use serde_json::{Value, json};

use crate::command::Dir;
use crate::generator::{Layout, Options, Size, generate};

const NOW: &str = "2026-04-01T02:00:00Z";

/// What of JSON Schema (draft 2020-12) the exported one uses; an unknown keyword fails the test.
fn faults(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let rules = match schema {
        Value::Bool(true) => return Vec::new(),
        Value::Bool(false) => return vec![format!("{at}: not allowed")],
        Value::Object(rules) => rules,
        other => panic!("no schema: {other}"),
    };
    let mut out = Vec::new();
    let fault = |what: &str| format!("{at}: {what}: {value}");
    for (keyword, rule) in rules {
        let holds = match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" | "additionalProperties" | "patternProperties" => {
                true
            }
            "$ref" => {
                let pointer = rule.as_str().and_then(|r| r.strip_prefix('#')).expect("a local reference");
                let target = root.pointer(pointer).unwrap_or_else(|| panic!("nothing at {pointer}"));
                out.extend(faults(root, target, value, at));
                true
            }
            "type" => {
                let names: Vec<&str> = match rule {
                    Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                    name => vec![name.as_str().expect("a type")],
                };
                names.iter().any(|name| match *name {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "number" => value.is_number(),
                    "integer" => value.is_u64() || value.is_i64(),
                    other => panic!("no type: {other}"),
                })
            }
            "enum" => rule.as_array().expect("a list").contains(value),
            "minimum" => value.as_f64().is_none_or(|v| v >= rule.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|v| v <= rule.as_f64().expect("a number")),
            "minItems" => value.as_array().is_none_or(|v| v.len() as u64 >= rule.as_u64().expect("a count")),
            "maxItems" => value.as_array().is_none_or(|v| v.len() as u64 <= rule.as_u64().expect("a count")),
            "pattern" => {
                let pattern = Regex::new(rule.as_str().expect("a pattern")).expect("a pattern");
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "format" => {
                assert_eq!(rule, "date-time");
                value.as_str().is_none_or(|text| chrono::DateTime::parse_from_rfc3339(text).is_ok())
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    out.extend(faults(root, rule, item, &format!("{at}/{i}")));
                }
                true
            }
            "anyOf" => rule.as_array().expect("a list").iter().any(|s| faults(root, s, value, at).is_empty()),
            "required" => rule.as_array().expect("a list").iter().all(|key| {
                value.as_object().is_none_or(|map| map.contains_key(key.as_str().expect("a key")))
            }),
            "propertyNames" => value
                .as_object()
                .is_none_or(|map| map.keys().all(|key| faults(root, rule, &json!(key), at).is_empty())),
            "properties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    if let Some(of_key) = rule.get(key) {
                        out.extend(faults(root, of_key, inner, &format!("{at}/{key}")));
                    }
                }
                true
            }
            other => panic!("the check does not know {other}"),
        };
        if !holds {
            out.push(fault(keyword));
        }
    }
    let named = |key: &String| rules.get("properties").is_some_and(|p| p.get(key).is_some());
    let free = |key: &String| rules.contains_key("patternProperties") && key.starts_with("x-");
    if let Some(rest) = rules.get("additionalProperties") {
        for (key, inner) in value.as_object().into_iter().flatten() {
            if !named(key) && !free(key) {
                out.extend(faults(root, rest, inner, &format!("{at}/{key}")));
            }
        }
    }
    out
}

fn schema(dir: &Dir) -> Value {
    let output = dir.command(["export", "schema"]).run();
    output.exit(0).stderr_is_empty();
    output.json()
}

fn newest(dir: &Dir, extension: &str) -> String {
    std::fs::read_to_string(dir.path().join(format!("crawl-artifacts/throttle_manifest.{extension}")))
        .expect("a manifest")
}

#[test]
fn both_forms_of_every_manifest_keep_to_the_exported_schema() {
    let dir = Dir::new();
    let mut log = Vec::new();
    let options = Options {
        size: Size::Lines(6000),
        layout: Layout::VhostCombined,
        hosts: 3,
        minutes: 500,
        ..Options::default()
    };
    generate(&options, &mut log).expect("a vector takes every byte");
    dir.write("a.log", &log);
    let schema = schema(&dir);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let configurations = [
        "",
        "[[site]]\nhosts = [\"www.example.com\"]\ncdn_hit_ratio = 0.8\ncrawl_delay_seconds = 2\negress_per_hour = 50\n\
         identity_per_day = 7\n[site.published]\nper_minute = 9\n\
         [[pin]]\nhost = \"www.example.com\"\nbot = \"GPTBot\"\nmax_requests_per_minute = 3\ndefault_cooldown_seconds = 2.5\n",
    ];
    for configuration in configurations {
        dir.write("crawl-baseline.toml", configuration);
        let make = |form: &str| {
            dir.command(["analyze", "a.log", "--now", NOW, "--manifest-format", form, "-q"]).run().exit(0);
        };
        make("yaml");
        let text = newest(&dir, "yaml");
        let yaml: Value = serde_saphyr::from_str(&text).expect("YAML");
        make("json");
        let json: Value = serde_json::from_str(&newest(&dir, "json")).expect("JSON");
        for (form, value) in [("yaml", &yaml), ("json", &json)] {
            assert_eq!(faults(&schema, &schema, value, ""), Vec::<String>::new(), "{form}");
        }
        assert_eq!(yaml, json);
        assert!(json["domain_overrides"].as_object().is_some_and(|hosts| hosts.len() > 1));
    }
}

#[test]
fn what_reading_refuses_the_schema_refuses_and_what_it_takes_is_valid() {
    let dir = Dir::new();
    let schema = schema(&dir);
    for (text, is_valid) in [
        ("{}", true),
        ("domain_overrides: {a.example: {max_concurrency: 2, base_delay_ms: 500, x-note: mine}}", true),
        ("schema_version: 1.0\nx-free: [1]", true),
        ("rate_limiting: {retry_on_status: [429], max_delay_ms: 5}", true),
        ("rate_limiting: {max_retry: 3}", false),
        ("rate_limiting: {max_retries: three}", false),
        ("rate_limiting: {max_retries: -1}", false),
        ("rate_limiting: {retry_on_status: [42]}", false),
        ("domain_overrides: {a.example: {max_requests_per_minute: 0}}", false),
        ("domain_overrides: {a.example: {confidence: E}}", false),
        ("domain_overrides: {a.example: {pinned: {rpm: 5}}}", false),
        ("window: {from: yesterday, to: 2026-03-10T00:00Z, minutes_covered: 1}", false),
        ("window: {from: 2026-03-10T00:00Z, to: 2026-03-10T00:00Z}", false),
    ] {
        dir.write("m.yaml", text);
        let value: Value = serde_saphyr::from_str(text).expect("YAML");
        let found = faults(&schema, &schema, &value, "");
        assert_eq!(found.is_empty(), is_valid, "{text}: {found:?}");
        let read = dir.command(["export", "env", "--manifest", "m.yaml"]).run();
        read.exit(if is_valid { 0 } else { 2 });
    }
}

#[test]
fn env_is_read_by_a_shell() {
    let dir = Dir::new();
    let manifest = "domain_overrides:\n  a.example: {max_requests_per_minute: 76, max_concurrency: 3}\n  \
                    b.example: {max_requests_per_minute: 90, max_concurrency: 2, bots: {Examplebot: {max_requests_per_minute: 12}}}\n  \
                    c.example: {max_requests_per_minute: 5, apply: false}\n";
    dir.write("m.yaml", manifest);
    let env = |args: &[&str]| dir.command([&["export", "env", "--manifest", "m.yaml"], args].concat()).run();
    for (args, rpm, connections) in [
        (&[][..], 76, 2),
        (&["--host", "B.example"], 90, 2),
        (&["--bot", "examplebot"], 12, 2),
        (&["--host", "c.example"], 30, 2),
        (&["--host", "c.example", "--force"], 5, 2),
    ] {
        let output = env(args);
        output.exit(0).stdout_has(&format!("\nMAX_RPM_THRESHOLD={rpm}\nMAX_CONCURRENCY={connections}\n"));
    }
    env(&[]).stderr_has("1 entry is not to be applied; --force uses it");
    env(&["--output", "crawler.env"]).exit(0);
    let shell = std::process::Command::new("sh")
        .args(["-c", ". ./crawler.env && echo $MAX_RPM_THRESHOLD $MAX_CONCURRENCY"])
        .current_dir(dir.path())
        .output()
        .expect("sh is installed");
    assert_eq!(String::from_utf8_lossy(&shell.stdout), "76 2\n");
}
