//! The YAML as a whole, and that it and the JSON say what they were made from, whatever the names.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::super::sample;
use super::super::{
    Algorithm, Breaker, Candidate, Entry, Evidence, Grade, Known, Manifest, Minute, RateLimiting, Schedule,
    ScheduleKind, Scope, Scopes, Second, parse,
};
use super::*;

/// As it is read back: with its digest, without a warning.
fn assert_round_trip(manifest: &Manifest) {
    let want = Manifest { digest: Some(manifest.computed_digest()), ..manifest.clone() };
    for text in [manifest.to_yaml(), manifest.to_json()] {
        let (read, warnings) =
            parse("m", text.as_bytes(), &Known::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(warnings, [], "{text}");
        assert_eq!(read, want, "{text}");
    }
}

#[test]
fn the_manifest_reads_as_documented() {
    insta::assert_snapshot!(sample::manifest().to_yaml());
}

#[test]
fn yaml_and_json_are_read_back_as_they_were() {
    assert_round_trip(&sample::manifest());
    assert_round_trip(&Manifest::default());
    let seed = Manifest { rate_limiting: RateLimiting::seed_defaults(), ..Manifest::default() };
    assert_round_trip(&seed);
    assert!(seed.to_yaml().contains("base_delay_ms: 200\n"));
}

#[test]
fn only_what_no_reader_can_mistake_is_plain() {
    for plain in ["Googlebot", "Europe/Berlin", "crawl-baseline 0.1.0", "sha256:0a", "x_y.z", "Bot-1"] {
        assert!(is_plain(plain), "{plain}");
    }
    for quoted in [
        "",
        "~",
        "null",
        "Null",
        "YES",
        "n",
        "1e3",
        "0x1F",
        ".inf",
        "-",
        "- a",
        "a: b",
        "a:",
        "a #b",
        "*ref",
        "&a",
        "!t",
        "%d",
        "@a",
        "`a",
        "a,b",
        "[a]",
        "{a}",
        "a ",
        " a",
        "a  b",
        "caf\u{e9}",
        "'a",
        "\"a",
        "a\n",
        "12:30:45",
        "? a",
        "<<",
        "=",
        "1_000",
        "2026-03-10",
    ] {
        assert!(!is_plain(quoted), "{quoted}");
    }
}

#[test]
fn floats_never_have_an_exponent_and_always_a_point() {
    for (number, want) in
        [(5.0, "5.0"), (0.5, "0.5"), (1e21, "1000000000000000000000.0"), (1e-7, "0.0000001")]
    {
        assert_eq!(flow(&json!(number)), want);
    }
}

#[test]
fn long_lists_of_slots_are_wrapped_and_still_one_map() {
    let mut manifest = sample::manifest();
    let host = manifest.domain_overrides.get_mut("www.example.com").unwrap();
    let slots: BTreeMap<_, _> =
        (1..=7).flat_map(|day| (0..24).map(move |hour| (format!("{day}-{hour:02}"), 53))).collect();
    let schedule = host.schedule.as_mut().unwrap();
    schedule.kind = ScheduleKind::HourOfWeek;
    schedule.requests_per_minute = slots;
    assert_round_trip(&manifest);
    let yaml = manifest.to_yaml();
    assert!(
        yaml.lines().filter(|line| line.contains("\": 53")).all(|line| line.len() <= WIDTH + 1),
        "{yaml}"
    );
}

fn hostile_name() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "evil: *ref #Bot",
        "\"quoted\"",
        "it's",
        "line\nbreak",
        "\r\n",
        "tab\there",
        "~",
        "null",
        "1e3",
        "0x10",
        "true",
        "yes",
        "x-free",
        "<<",
        "- item",
        "? key",
        "{a: b}",
        "[1]",
        "!!str x",
        "&anchor",
        "*alias",
        "%TAG",
        "@at",
        "`tick`",
        "|",
        ">",
        "# comment",
        "a: b",
        "caf\u{e9}",
        "\u{85}\u{2028}\u{feff}",
        "\u{0}\u{7f}\u{1b}[31m",
        "\\",
        "\\n",
        "",
        " ",
        "a ",
        "2026-03-10T23:59Z",
        "2026-03-11T02:00:07Z",
        "www.example.com",
        "Googlebot",
        "12:30",
        "\u{1f600}",
        "=",
        "...",
        "---",
        "evidence",
        "bots",
        "digest",
    ]);
    prop_oneof![known.prop_map(str::to_owned), any::<String>(), "[a-z]{200}"]
}

fn minute() -> impl Strategy<Value = Minute> {
    (-1_000_000_i64..100_000_000).prop_map(Minute)
}

fn slots() -> impl Strategy<Value = BTreeMap<String, u64>> {
    prop::collection::btree_map(hostile_name(), any::<u64>(), 0..30)
}

fn evidence() -> impl Strategy<Value = Evidence> {
    (
        hostile_name(),
        prop::option::of(any::<u64>()),
        minute(),
        prop::option::of(0.0..1e9_f64),
        prop::collection::vec((hostile_name(), any::<u64>()), 0..4),
        prop::option::of(any::<[u64; 2]>()),
    )
        .prop_map(|(text, count, minute, ratio, candidates, share)| {
            // Pairs are checked as whole numbers of 63 bits.
            let share = share.map(|pair| pair.map(|n| n >> 1));
            let mut evidence = sample::evidence();
            evidence.c429_state.clone_from(&text);
            evidence.demand = count;
            evidence.demand_best_at = count.map(|_| minute);
            evidence.quota_state = count.map(|_| text.clone());
            evidence.utilisation = ratio;
            evidence.window_to = minute;
            let rate = &mut evidence.max_requests_per_minute;
            rate.formula.clone_from(&text);
            rate.minutes = vec![minute; candidates.len()];
            rate.candidates = candidates.into_iter().map(|(rule, value)| Candidate { rule, value }).collect();
            rate.runner_up = rate.candidates.first().cloned();
            rate.inputs.share = share;
            rate.inputs.slot = share.map(|_| text);
            evidence
        })
}

fn entry() -> impl Strategy<Value = Entry> {
    (
        (1..u64::MAX, any::<u64>(), any::<bool>(), 0.0..1e12_f64),
        prop::option::of(hostile_name()),
        prop::option::of((hostile_name(), slots(), slots())),
        prop::option::of(evidence()),
        prop::sample::select(vec![
            None,
            Some(Grade::A),
            Some(Grade::B),
            Some(Grade::C),
            Some(Grade::D),
            Some(Grade::None),
        ]),
    )
        .prop_map(|((one, any, flag, float), text, schedule, evidence, confidence)| Entry {
            max_concurrency: one,
            base_delay_ms: any,
            max_requests_per_minute: one,
            default_cooldown_seconds: float,
            algorithm: if flag { Algorithm::TokenBucket } else { Algorithm::LeakyBucket },
            edge_requests_per_minute: flag.then_some(any),
            breaker: Breaker { over: text.clone().unwrap_or_default(), factor: float, ..Breaker::default() },
            pinned: if flag { [("enforce_burst".to_owned(), json!(any))].into() } else { BTreeMap::new() },
            apply: flag,
            apply_reason: text,
            schedule: schedule.map(|(time_zone, requests_per_minute, people_per_minute)| Schedule {
                kind: ScheduleKind::Flat,
                time_zone,
                requests_per_minute,
                people_per_minute,
            }),
            evidence,
            confidence,
            ..sample::bot()
        })
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        (-1e9..1e9_f64).prop_map(|n| json!(n)),
        hostile_name().prop_map(|s| json!(s)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
            prop::collection::btree_map(hostile_name(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_manifest() -> impl Strategy<Value = Manifest> {
    (
        prop::option::of((hostile_name(), 0_i64..4_000_000_000, any::<u64>())),
        prop::collection::btree_map(hostile_name(), any_json(), 0..4),
        prop::collection::btree_map(
            hostile_name(),
            (entry(), prop::collection::btree_map(hostile_name(), entry(), 0..3)),
            0..3,
        ),
        (0.0..100.0_f64, prop::collection::vec(100_u16..600, 0..5)),
    )
        .prop_map(|(head, policy, hosts, (multiplier, statuses))| Manifest {
            generated_at: head.as_ref().map(|(_, at, _)| Second(*at)),
            window: head.as_ref().map(|_| sample::window()),
            scopes: Scopes {
                identity_per_day: Scope {
                    limit: head.as_ref().map(|(_, _, n)| *n),
                    measured: head.is_some(),
                },
                ..Scopes::default()
            },
            generator: head.map(|(name, ..)| name),
            policy,
            rate_limiting: RateLimiting {
                backoff_multiplier: multiplier,
                retry_on_status: statuses,
                ..RateLimiting::default()
            },
            domain_overrides: hosts
                .into_iter()
                .map(|(name, (host, bots))| (name, Entry { bots, ..host }))
                .collect(),
            ..Manifest::default()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_manifest_is_read_back_as_it_was(manifest in any_manifest()) {
        assert_round_trip(&manifest);
    }

    #[test]
    fn the_digest_sees_every_change(manifest in any_manifest(), other in any_manifest()) {
        prop_assert_eq!(manifest.computed_digest() == other.computed_digest(), manifest == other);
    }
}
