//! Every message of the reader, what it accepts, and what it fills in.

use serde_json::json;

use super::super::sample;
use super::super::{Algorithm, Entry};
use super::*;

fn read_text(text: &str) -> (Manifest, Vec<Warning>) {
    parse("m.yaml", text.as_bytes(), &Known::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str, known: &Known<'_>) -> String {
    let error = parse("m.yaml", text.as_bytes(), known).unwrap_err();
    assert_eq!(error.exit().code(), 2, "{error}");
    match error.remedy() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

#[test]
fn a_manifest_of_a_crawler_alone_is_read_with_the_defaults() {
    let (manifest, warnings) = read_text(
        "rate_limiting:
  algorithm: \"token_bucket\"
  max_concurrency: 5
  base_delay_ms: 200
  max_retries: 4
  retry_on_status:
    - 429
    - 503
  max_delay_ms: 7000
domain_overrides:
  \"api.example.net\":
    max_concurrency: 2
    base_delay_ms: 500
  cdn.example.net: {max_concurrency: 10, base_delay_ms: 50}
",
    );
    assert!(warnings.is_empty(), "{warnings:?}");
    let mut want =
        RateLimiting { max_retries: 4, retry_on_status: vec![429, 503], ..RateLimiting::seed_defaults() };
    want.adaptive_delay.max_delay_ms = 7000;
    assert_eq!(manifest.rate_limiting, want);
    assert_eq!(manifest.schema_version, "1.0");
    let api = manifest.entry("api.example.net", None).unwrap();
    assert_eq!(
        *api,
        Entry {
            max_concurrency: 2,
            max_concurrent_connections: 2,
            base_delay_ms: 500,
            max_requests_per_minute: 120,
            enforce_burst: 20,
            ..Entry::of_defaults(&want)
        }
    );
    assert_eq!(manifest.entry("cdn.example.net", None).unwrap().max_requests_per_minute, 1200);
    assert_eq!(manifest.entry("api.example.net", Some("Googlebot")), None);
    assert_eq!(manifest.entry("other.example.net", None), None);
}

#[test]
fn what_an_entry_leaves_out_comes_from_its_host_then_from_rate_limiting() {
    let (manifest, _) = read_text(
        "rate_limiting: {jitter_range_ms: 7}
domain_overrides:
  a:
    max_requests_per_minute: 60
    max_concurrency: 4
    algorithm: leaky_bucket
    default_cooldown_seconds: 9
    bots: {Googlebot: {max_requests_per_minute: 7}, bingbot: }
  b:
",
    );
    let google = manifest.entry("a", Some("Googlebot")).unwrap();
    assert_eq!((google.max_requests_per_minute, google.base_delay_ms), (7, 8572));
    assert_eq!(
        (google.max_concurrency, google.max_concurrent_connections, google.jitter_range_ms),
        (4, 4, 7)
    );
    assert_eq!(
        (google.algorithm, google.max_burst_capacity, google.enforce_burst),
        (Algorithm::LeakyBucket, 1, 2)
    );
    assert!((google.default_cooldown_seconds - 9.0).abs() < f64::EPSILON && google.apply);
    let bing = manifest.entry("a", Some("bingbot")).unwrap();
    assert_eq!((bing.max_requests_per_minute, bing.base_delay_ms), (60, 1000));
    // A host that says nothing has what a host without an entry has.
    assert_eq!(*manifest.entry("b", None).unwrap(), Entry::of_defaults(&manifest.rate_limiting));
    let b = manifest.entry("b", None).unwrap();
    assert_eq!((b.max_requests_per_minute, b.max_concurrent_connections, b.base_delay_ms), (30, 2, 2000));
    assert_eq!((b.max_burst_capacity, b.enforce_burst), (2, 5));
}

#[test]
fn keys_that_begin_with_x_are_free_and_a_host_may_be_called_so() {
    let text = sample::manifest().to_yaml();
    let text = text.replacen("rate_limiting:\n", "x-owner: {team: [a, b]}\nrate_limiting:\n  x-note: 1\n", 1);
    let (manifest, warnings) = read_text(&text);
    assert_eq!(warnings, []);
    assert_eq!(manifest.rate_limiting, RateLimiting::default());
    let (manifest, _) = read_text("domain_overrides: {x-files.example.com: {base_delay_ms: 1000}}");
    assert!(manifest.entry("x-files.example.com", None).is_some());
}

#[test]
fn an_edited_manifest_warns_whatever_was_edited() {
    let manifest = sample::manifest();
    for text in [
        manifest.to_yaml().replacen("max_requests_per_minute: 76", "max_requests_per_minute: 77", 1),
        manifest.to_yaml().replacen("    max_domain_stall_seconds: 900\n", "", 1),
        manifest.to_json().replacen("5.0", "5", 1),
        manifest.to_yaml().replacen("digest: sha256:", "digest: sha256:0", 1),
    ] {
        let (_, warnings) = read_text(&text);
        let [Warning { code: "edited_by_hand", place, message, hint: Some(_) }] = &warnings[..] else {
            panic!("{warnings:?}");
        };
        assert_eq!(place, "m.yaml");
        assert!(message.starts_with("edited by hand"), "{message}");
    }
    let without = manifest.to_yaml();
    let without: String =
        without.lines().filter(|l| !l.starts_with("digest")).map(|l| format!("{l}\n")).collect();
    assert_eq!(read_text(&without).1, []);
}

#[test]
fn comments_order_and_style_are_no_edit() {
    let manifest = sample::manifest();
    let (digest, json) = (manifest.computed_digest(), manifest.to_json());
    let mut tree: serde_json::Map<String, Value> = serde_json::from_str(&json).unwrap();
    let first = tree.shift_remove("rate_limiting").unwrap();
    tree.insert("rate_limiting".into(), first);
    let (read, warnings) = read_text(&Value::Object(tree).to_string());
    assert_eq!((read.digest, warnings), (Some(digest), vec![]));
}

#[test]
fn a_newer_minor_version_warns_of_unknown_keys_and_a_newer_major_is_refused() {
    let text = "schema_version: \"1.7\"\nrate_limiting:\n  max_retries: 2\n  max_retry_seconds: 3\n";
    let (manifest, warnings) = read_text(text);
    assert_eq!((manifest.rate_limiting.max_retries, manifest.schema_version.as_str()), (2, "1.7"));
    let [Warning { code: "unknown_key", place, message, .. }] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(
        (place.as_str(), message.as_str()),
        ("m.yaml:4", "unknown key rate_limiting.max_retry_seconds")
    );
    for version in ["1.0", "\"1.0\"", "1"] {
        assert_eq!(read_text(&format!("schema_version: {version}\n")).0.schema_version, "1.0");
    }
    assert_eq!(
        refused("# x\nschema_version: \"2.0\"\nnew: 1\n", &Known::default()),
        "m.yaml:2: schema version 2.0 is newer than what this program reads (1.0)\n\
         hint: upgrade crawl-baseline, or let `crawl-baseline recommend` write the manifest anew"
    );
    assert_eq!(
        refused("schema_version: 0.9\n", &Known::default()),
        "m.yaml:1: schema version 0.9 is older than what this program reads (1.0)\n\
         hint: let `crawl-baseline recommend` write the manifest anew"
    );
    assert_eq!(
        refused("schema_version: latest\n", &Known::default()),
        "m.yaml:1: schema_version cannot be read: expected a version such as \"1.0\", found the text `latest`"
    );
}

#[test]
fn unknown_keys_are_named_with_line_and_nearest_name() {
    for (text, want) in [
        (
            "rate_limiting:\n  max_retry: 3\n",
            "m.yaml:2: unknown key rate_limiting.max_retry\n\
             hint: did you mean max_retries? (keys that begin with x- are free)",
        ),
        (
            "a: 1\n",
            "m.yaml:1: unknown key a\nhint: known here: schema_version, generated_at, generator, digest, window, policy, \
             scopes, rate_limiting, domain_overrides (keys that begin with x- are free)",
        ),
        (
            "{\"domain_overrides\": {\n\"a.example\": {\n\"max_request_per_minute\": 1}}}",
            "m.yaml:3: unknown key domain_overrides.\"a.example\".max_request_per_minute\n\
             hint: did you mean max_requests_per_minute? (keys that begin with x- are free)",
        ),
        (
            "domain_overrides:\n  a:\n    bots:\n      Googlebot:\n        bots: {}\n",
            "m.yaml:5: unknown key domain_overrides.\"a\".bots.Googlebot.bots\n\
             hint: known here: max_concurrency, base_delay_ms, jitter_range_ms, algorithm, max_requests_per_minute, \
             max_burst_capacity, max_concurrent_connections, default_cooldown_seconds, enforce_burst, \
             edge_requests_per_minute, even_pace_requests_per_minute, budgets, schedule, breaker, \
             max_domain_stall_seconds, confidence, apply, apply_reason, action, pinned, evidence \
             (keys that begin with x- are free)",
        ),
        (
            "domain_overrides:\n  a:\n    pinned: {max_request_per_minute: 3}\n",
            "m.yaml:3: unknown key `max_request_per_minute` in domain_overrides.\"a\".pinned.max_request_per_minute\n\
             hint: did you mean max_requests_per_minute?",
        ),
    ] {
        assert_eq!(refused(text, &Known::default()), want);
    }
}

#[test]
fn wrong_values_are_named_with_what_was_expected_and_found() {
    for (text, want) in [
        ("rate_limiting: 3\n", "m.yaml:1: rate_limiting cannot be read: expected a map, found the number 3"),
        (
            "rate_limiting:\n  base_delay_ms: fast\n",
            "m.yaml:2: rate_limiting.base_delay_ms cannot be read: expected a whole number, found the text `fast`",
        ),
        (
            "rate_limiting:\n  base_delay_ms: 1.5\n",
            "m.yaml:2: rate_limiting.base_delay_ms cannot be read: expected a whole number, found the number 1.5",
        ),
        (
            "rate_limiting:\n  base_delay_ms: -1\n",
            "m.yaml:2: rate_limiting.base_delay_ms cannot be read: expected a whole number, found the number -1",
        ),
        (
            "domain_overrides: {a: {max_requests_per_minute: 0}}\n",
            "m.yaml:1: domain_overrides.\"a\".max_requests_per_minute cannot be read: expected a whole number of at least \
             1, found the number 0",
        ),
        (
            "rate_limiting: {respect_robots_txt: 1}\n",
            "m.yaml:1: rate_limiting.respect_robots_txt cannot be read: expected `true` or `false`, found the number 1",
        ),
        (
            "rate_limiting: {algorithm: [leaky]}\n",
            "m.yaml:1: rate_limiting.algorithm cannot be read: expected `token_bucket` or `leaky_bucket`, found a list",
        ),
        (
            "rate_limiting: {retry_on_status: [429, 70000]}\n",
            "m.yaml:1: rate_limiting.retry_on_status cannot be read: expected a status code from 100 to 599, found the \
             number 70000",
        ),
        (
            "rate_limiting: {retry_on_status: 429}\n",
            "m.yaml:1: rate_limiting.retry_on_status cannot be read: expected a list, found the number 429",
        ),
        (
            "rate_limiting: {max_retries: }\n",
            "m.yaml:1: rate_limiting.max_retries cannot be read: expected a whole number, found nothing",
        ),
        (
            "window: {from: 2026-03-10T00:00Z, to: today, minutes_covered: 1}\n",
            "m.yaml:1: window.to cannot be read: expected a UTC minute such as `2026-03-10T23:59Z`, found the text `today`",
        ),
        (
            "generated_at: {}\n",
            "m.yaml:1: generated_at cannot be read: expected a time such as `2026-03-11T02:00:07Z`, found a map",
        ),
        (
            "rate_limiting: {backoff_multiplier: true}\n",
            "m.yaml:1: rate_limiting.backoff_multiplier cannot be read: expected a number, found `true`",
        ),
        ("generator: 7\n", "m.yaml:1: generator cannot be read: expected a text, found the number 7"),
        (
            "\nwindow: {from: 2026-03-10T00:00Z, to: 2026-03-10T00:01Z}\n",
            "m.yaml:2: window has no key minutes_covered",
        ),
        ("[1, 2]\n", "m.yaml:1: the manifest cannot be read: expected a map, found a list"),
        ("", "m.yaml: holds no manifest"),
        ("# nothing\n", "m.yaml: holds no manifest"),
    ] {
        assert_eq!(refused(text, &Known::default()), want);
    }
}

#[test]
fn what_is_no_yaml_is_named_with_its_line() {
    let text = refused("rate_limiting:\n  max_retries: 1\n  max_retries: 2\n", &Known::default());
    assert!(text.starts_with("m.yaml:3: is neither YAML nor JSON: "), "{text}");
    assert!(text.contains("max_retries"), "{text}");
}

#[test]
fn unknown_bots_and_hosts_are_named_with_the_nearest_known_one() {
    let known = Known { bots: Some(&["Googlebot", "bingbot"]), hosts: Some(&["www.example.com"]) };
    let text = "domain_overrides:\n  www.example.com:\n    bots:\n      googelbot:\n        max_requests_per_minute: 60\n";
    assert_eq!(
        refused(text, &known),
        "m.yaml:4: unknown bot `googelbot` in domain_overrides.\"www.example.com\".bots.googelbot\n\
         hint: did you mean Googlebot?"
    );
    assert_eq!(
        refused(&text.replace("googelbot", "zzz"), &known),
        "m.yaml:4: unknown bot `zzz` in domain_overrides.\"www.example.com\".bots.zzz\n\
         hint: bots are called as in the catalogue, in the baseline and in parse"
    );
    assert_eq!(
        refused("domain_overrides: {ww.example.com: {}}", &known),
        "m.yaml:1: unknown host `ww.example.com` in domain_overrides.\"ww.example.com\"\n\
         hint: did you mean www.example.com?"
    );
    assert!(parse("m", text.replace("googelbot", "Googlebot").as_bytes(), &known).is_ok());
    // A name that this program wrote itself is known.
    let generated = sample::manifest().to_yaml();
    let none = Known { bots: Some(&[]), hosts: Some(&[]) };
    assert!(parse("m", generated.as_bytes(), &none).is_ok());
}

#[test]
fn an_alias_beside_its_key_is_not_used_and_said() {
    let (manifest, warnings) =
        read_text("rate_limiting:\n  max_delay_ms: 9\n  adaptive_delay: {max_delay_ms: 8}\n");
    assert_eq!(manifest.rate_limiting.adaptive_delay.max_delay_ms, 8);
    assert_eq!(
        (warnings[0].code, warnings[0].place.as_str(), warnings[0].message.as_str()),
        (
            "alias_ignored",
            "m.yaml:2",
            "rate_limiting.max_delay_ms (9) is not used: adaptive_delay.max_delay_ms is 8"
        )
    );
}

#[test]
fn a_file_that_is_not_there_is_a_usage_error_with_its_path() {
    let error = read(Path::new("/no/such/manifest.yaml"), &Known::default()).unwrap_err();
    assert!(
        error.to_string().starts_with("/no/such/manifest.yaml: cannot read the throttle manifest: "),
        "{error}"
    );
    assert_eq!(error.exit().code(), 2);
}

/// Every key that the types write is in the table, and every key of the table is written by the sample.
#[test]
fn the_table_of_keys_and_the_types_agree() {
    fn unused(value: &Value, shape: &Shape, path: &str, missing: &mut Vec<String>) {
        match (shape, value) {
            (Shape::Nullable(inner), _) => unused(value, inner, path, missing),
            (Shape::Record(fields), Value::Object(map)) => {
                for field in *fields {
                    match map.get(field.name) {
                        Some(value) => {
                            unused(value, &field.shape, &format!("{path}.{}", field.name), missing)
                        }
                        None => missing.push(format!("{path}.{}", field.name)),
                    }
                }
            }
            (Shape::Map(_, inner), Value::Object(map)) => {
                // A key counts as written when one of the values has it.
                let each: Vec<Vec<String>> = map
                    .values()
                    .map(|value| {
                        let mut missing = Vec::new();
                        unused(value, inner, path, &mut missing);
                        missing
                    })
                    .collect();
                if let Some((first, others)) = each.split_first() {
                    missing
                        .extend(first.iter().filter(|key| others.iter().all(|m| m.contains(key))).cloned());
                }
            }
            _ => {}
        }
    }
    let tree: Value = serde_json::from_str(&sample::manifest().to_json()).unwrap();
    let mut missing = Vec::new();
    unused(&tree, &MANIFEST, "", &mut missing);
    // The alias is read, never written; a bot's entry has what only a host's or only the other bot's has not.
    missing.retain(|key| key != ".rate_limiting.max_delay_ms");
    let of_hosts_only: Vec<_> =
        missing.iter().map(|key| key.trim_start_matches(".domain_overrides")).collect();
    assert_eq!(
        of_hosts_only,
        [
            ".apply_reason",
            ".action",
            ".pinned",
            ".evidence.max_requests_per_minute.inputs.C429",
            ".evidence.max_requests_per_minute.inputs.prev",
            ".evidence.max_requests_per_minute.inputs.crawl_delay_ms",
            ".evidence.burst_429",
            ".evidence.quota_state",
            ".bots.edge_requests_per_minute",
            ".bots.schedule",
            ".bots.evidence.max_requests_per_minute.inputs.H",
            ".bots.evidence.max_requests_per_minute.inputs.slot",
            ".bots.evidence.max_requests_per_minute.inputs.people",
            ".bots.evidence.max_requests_per_minute.inputs.share",
        ],
    );
    assert_eq!(tree["rate_limiting"]["retry_on_status"], json!([429, 502, 503, 504]));
}
