//! Every number of the worked examples, against `expected.jsonl`: one line for the host and for each entry.
//!
//! Slots are written as runs (`76*8 53*10`), nulls and constants are left out. To write the file anew after a change
//! that is meant: `CRAWL_BASELINE_WRITE=1 cargo test --lib examples`, then read the difference.
//! Example of a line: `["8","bot",{"grade":"D","max_requests_per_minute":30}]`

use serde_json::{Value, json};

use super::examples::{self, Example};
use super::manifest::warnings;
use crate::ceiling::{AllBots, HostRecommendation, Policy, recommend};

const EXPECTED: &str = include_str!("expected.jsonl");

/// Figures that are the same in every entry, or stand elsewhere in it.
const LEFT_OUT: [&str; 5] = ["breaker", "max_domain_stall_s", "window", "window_to", "value"];

/// The values of slots in their order, as `value*times`.
fn runs(slots: &Value) -> String {
    let values: Vec<u64> = slots.as_object().unwrap().values().map(|v| v.as_u64().unwrap()).collect();
    let runs = values.chunk_by(|a, b| a == b).map(|run| format!("{}*{}", run[0], run.len()));
    runs.collect::<Vec<_>>().join(" ")
}

fn compact(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(key, value)| !value.is_null() && !LEFT_OUT.contains(&key.as_str()))
            .map(|(key, value)| match key.as_str() {
                "schedule" | "people" if value.is_object() => (key, Value::String(runs(&value))),
                _ => (key, compact(value)),
            })
            .collect(),
        other => other,
    }
}

fn lines(example: &Example, result: &HostRecommendation) -> Vec<String> {
    let mut host = compact(json!(result.host));
    host["window"] = json!(result.window);
    let mut entries = vec![("(host)", host)];
    let shown = |name: &str| example.shown.is_empty() || example.shown.contains(&name);
    for (name, entry) in result.bots.iter().filter(|(name, _)| shown(name)) {
        entries.push((name, compact(json!(entry))));
    }
    let AllBots::Recommended(together) = &result.all_bots else { panic!("no example holds it") };
    entries.push(("(all)", compact(json!(together))));
    entries.into_iter().map(|(name, entry)| json!([example.name, name, entry]).to_string()).collect()
}

#[test]
fn the_worked_examples_give_every_number_and_no_lint() {
    let mut found = Vec::new();
    for example in examples::all() {
        let result = recommend(&example.input, &Policy::default()).unwrap();
        assert_eq!(warnings(&result, &example.input.site), Vec::<String>::new(), "example {}", example.name);
        found.extend(lines(&example, &result));
    }
    if std::env::var_os("CRAWL_BASELINE_WRITE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ceiling/tests/expected.jsonl");
        std::fs::write(path, found.join("\n") + "\n").unwrap();
        return;
    }
    for (expected, found) in EXPECTED.lines().zip(&found) {
        assert_eq!(expected, found);
    }
    assert_eq!(EXPECTED.lines().count(), found.len());
}

/// The headline of each example, by hand: ceiling, grade, rule. A golden file can be written anew; this is meant.
#[test]
fn the_headlines_of_the_examples_are_what_the_rules_say() {
    let expected = [
        ("1", "bot", 76, "B", "demand_headroom"),
        ("2", "bot", 353, "B", "demand_headroom"),
        ("3", "bot", 76, "B", "demand_headroom"),
        ("4a", "bot", 84, "A", "429_onset"),
        ("4b", "bot", 72, "C", "429_onset"),
        ("5", "bot", 16, "B", "latency_knee"),
        ("5b", "bot", 213, "B", "latency_knee"),
        ("6", "bot", 53, "A", "host_overload"),
        ("8", "bot", 30, "D", "thin_data_default"),
        ("9", "(all)", 30, "none", "no_traffic_default"),
        ("10a", "bot", 1, "D", "all_errors_floor"),
        ("10c", "bot", 67, "C", "demand_headroom"),
        ("10e", "bot", 72, "C", "429_onset"),
        ("11", "bot", 67, "C", "demand_headroom"),
        ("12", "bot", 76, "B", "demand_headroom"),
        ("13a", "bot", 118, "B", "demand_headroom"),
        ("13b", "bot", 39, "B", "429_onset"),
        ("13c", "bot", 39, "B", "429_onset"),
        ("14", "bot", 67, "C", "demand_headroom"),
        ("14b", "bot", 36, "C", "429_onset"),
        ("15", "bot", 6, "B", "robots_crawl_delay"),
        ("16a", "bot", 88, "B", "max_raise_per_day"),
        ("16b", "bot", 74, "B", "deadband"),
        ("16c", "bot", 60, "A", "frozen_after_429"),
        ("16d", "bot", 65, "B", "censored_by_own_ceiling"),
        ("16e", "bot", 71, "B", "max_raise_per_day"),
        ("16f", "bot", 75, "B", "operator_max"),
        ("18", "bot", 38, "B", "demand_headroom"),
        ("21", "alpha", 106, "B", "demand_headroom"),
        ("21", "(all)", 142, "B", "demand_headroom"),
        ("22", "(all)", 76, "B", "demand_headroom"),
        ("23", "(all)", 123, "B", "demand_headroom"),
        ("24a", "late", 76, "A", "demand_headroom"),
        ("24b", "late", 45, "A", "host_overload"),
        ("26a", "bot", 39, "B", "429_onset"),
        ("26b", "bot", 64, "B", "demand_headroom"),
        ("26c", "bot", 42, "B", "max_raise_per_day"),
        ("26d", "bot", 38, "B", "429_onset"),
        ("29a", "(all)", 120, "B", "sum_of_bots"),
        ("30", "bot", 76, "B", "demand_headroom"),
        ("31a", "bot", 2, "B", "demand_headroom"),
        ("31b", "alpha", 106, "B", "demand_headroom"),
        ("32a", "bot", 76, "B", "partial_input_hold"),
        ("32b", "bot", 29, "B", "demand_headroom"),
        ("32c", "bot", 39, "B", "429_onset"),
        ("33a", "bot", 76, "B", "demand_headroom"),
        ("33b", "bot", 190, "B", "demand_headroom"),
        ("35", "bot", 54, "B", "published_quota"),
        ("36c", "bot", 60, "A", "429_onset"),
        ("37", "bot", 60, "B", "unhealthy_hold"),
    ];
    for (example, entry, rate, grade, bound_by) in expected {
        let line = EXPECTED
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .find(|line| line[0] == example && line[1] == entry)
            .unwrap_or_else(|| panic!("{example} {entry} is not in the golden file"));
        let found = &line[2];
        assert_eq!(
            (&found["max_requests_per_minute"], &found["grade"], &found["bound_by"]),
            (&json!(rate), &json!(grade), &json!(bound_by)),
            "{example} {entry}"
        );
    }
}
