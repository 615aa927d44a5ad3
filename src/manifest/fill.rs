//! What a hand-written entry leaves out.
//!
//! A generated manifest leaves nothing out. Example: `{max_concurrency: 2, base_delay_ms: 500}` gets
//! `max_requests_per_minute: 120`.

use serde_json::{Map, Value};

use super::types::burst_of;

/// Fills every entry of a checked document from `rate_limiting`, a bot's first from its host.
pub(super) fn fill(root: &mut Map<String, Value>, defaults: &Value) {
    let Some(Value::Object(hosts)) = root.get_mut("domain_overrides") else { return };
    for (_, host) in hosts.iter_mut() {
        let Value::Object(host) = host else { continue };
        let mut bots = host.remove("bots");
        fill_entry(host, defaults);
        let host_values = Value::Object(host.clone());
        if let Some(Value::Object(bots)) = &mut bots {
            for (_, bot) in bots.iter_mut() {
                if let Value::Object(bot) = bot {
                    fill_entry(bot, &host_values);
                }
            }
        }
        if let Some(bots) = bots {
            host.insert("bots".to_owned(), bots);
        }
    }
}

/// `above` is a filled host entry, or `rate_limiting`, whose ceiling follows from its delay.
fn fill_entry(entry: &mut Map<String, Value>, above: &Value) {
    let number = |map: &Map<String, Value>, key: &str| map.get(key).and_then(Value::as_u64);
    let connections =
        number(entry, "max_concurrent_connections").or_else(|| number(entry, "max_concurrency"));
    let connections = connections.or_else(|| above["max_concurrency"].as_u64()).unwrap_or(1);
    let rpm_of = |delay: u64| (60_000 / delay.max(1)).max(1);
    let (rpm, delay) = match (number(entry, "max_requests_per_minute"), number(entry, "base_delay_ms")) {
        (Some(rpm), Some(delay)) => (rpm, delay),
        (Some(rpm), None) => (rpm, 60_000_u64.div_ceil(rpm.max(1))),
        (None, Some(delay)) => (rpm_of(delay), delay),
        (None, None) => {
            let delay = above["base_delay_ms"].as_u64().unwrap_or(0);
            (above["max_requests_per_minute"].as_u64().unwrap_or_else(|| rpm_of(delay)), delay)
        }
    };
    let algorithm = entry.get("algorithm").unwrap_or(&above["algorithm"]).clone();
    let burst = if algorithm == "leaky_bucket" { 1 } else { burst_of(rpm) };
    for (key, value) in [
        ("max_concurrency", Value::from(connections)),
        ("base_delay_ms", Value::from(delay)),
        ("jitter_range_ms", above["jitter_range_ms"].clone()),
        ("algorithm", algorithm),
        ("max_requests_per_minute", Value::from(rpm)),
        ("max_burst_capacity", Value::from(burst)),
        ("max_concurrent_connections", Value::from(connections)),
        (
            "default_cooldown_seconds",
            above.get("default_cooldown_seconds").cloned().unwrap_or(Value::from(5.0)),
        ),
        ("enforce_burst", Value::from(rpm.div_ceil(6))),
        ("apply", Value::Bool(true)),
    ] {
        entry.entry(key).or_insert(value);
    }
}
