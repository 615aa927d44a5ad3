//! A manifest for the tests: one host with a schedule and two bots, every key in use.
//!
//! Only in tests. Example: `Examplebot` at 60 of 76 requests per minute, pinned.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    Action, Algorithm, Breaker, Budgets, Candidate, Capacity, ConnectionEvidence, Entry, Evidence, Grade,
    Inputs, Manifest, Minute, NotUsed, RateEvidence, RateLimiting, Schedule, ScheduleKind, Scope, Scopes,
    Second, Window,
};

/// 2026-03-10T23:59Z.
pub(super) const END: Minute = Minute(29_553_119);

pub(super) fn window() -> Window {
    Window { from: Minute(END.0 - 40_319), to: END, minutes_covered: 40_320 }
}

/// Consistent numbers of a bot that needs 64 requests per minute.
pub(super) fn bot() -> Entry {
    Entry {
        base_delay_ms: 790,
        jitter_range_ms: 395,
        algorithm: Algorithm::LeakyBucket,
        max_requests_per_minute: 76,
        max_burst_capacity: 1,
        max_concurrency: 3,
        max_concurrent_connections: 3,
        enforce_burst: 13,
        even_pace_requests_per_minute: Some(71),
        budgets: Some(Budgets {
            requests_per_minute: 76,
            requests_per_hour: 4236,
            requests_per_day: 101_648,
            plan_per_hour: 3922,
            retry_reserve_per_hour: 314,
            retry_cap_per_hour: 392,
        }),
        confidence: Some(Grade::B),
        evidence: Some(evidence()),
        ..Entry::of_defaults(&RateLimiting::default())
    }
}

pub(super) fn evidence() -> Evidence {
    Evidence {
        max_requests_per_minute: RateEvidence {
            value: 76,
            bound_by: "demand_headroom".into(),
            rule: "demand_headroom".into(),
            formula: "ceil(64 / 0.85)".into(),
            inputs: Inputs {
                f: 65,
                u: 85,
                demand: Some(64),
                want: Some(64),
                clean_minutes: 40_300,
                days: 28,
                episodes: 0,
                ..Inputs::default()
            },
            runner_up: None,
            candidates: vec![Candidate { rule: "demand_headroom".into(), value: 76 }],
            minutes: vec![Minute(END.0 - 9), END],
            window: window(),
            not_used: vec![
                NotUsed { rule: "429_onset".into(), why: "none".into() },
                NotUsed { rule: "latency_knee".into(), why: "no_latency".into() },
            ],
            capacity: Capacity { known: false, low: Some(64), high: None },
        },
        max_concurrent_connections: Some(ConnectionEvidence {
            rule: "start_blind".into(),
            need: 4,
            latency_ms_mean: None,
        }),
        demand: Some(64),
        demand_best: Some(64),
        demand_best_at: Some(END),
        c429: None,
        c429_state: "none".into(),
        burst_429: None,
        quota: None,
        quota_state: None,
        outliers: 0,
        utilisation: Some(0.842),
        window_to: END,
    }
}

/// All bots of the host, whose capacity was measured.
fn host() -> Entry {
    let slots = |value| (0..24).map(|hour| (format!("{hour:02}"), value)).collect::<BTreeMap<_, _>>();
    let mut host = bot();
    host.algorithm = Algorithm::TokenBucket;
    host.max_burst_capacity = 2;
    host.edge_requests_per_minute = Some(380);
    host.schedule = Some(Schedule {
        kind: ScheduleKind::HourOfDay,
        time_zone: "Europe/Berlin".into(),
        requests_per_minute: slots(76),
        people_per_minute: slots(214),
    });
    let rate = &mut host.evidence.as_mut().unwrap().max_requests_per_minute;
    rate.inputs.host_capacity = Some(436);
    rate.inputs.slot = Some("00".into());
    rate.inputs.people = Some(214);
    rate.inputs.share = Some([1, 1]);
    rate.runner_up = Some(Candidate { rule: "host_overload".into(), value: 91 });
    rate.candidates.insert(0, Candidate { rule: "host_overload".into(), value: 91 });
    rate.capacity = Capacity { known: true, low: Some(278), high: Some(436) };
    rate.not_used.truncate(1);

    let mut pinned = bot();
    pinned.max_requests_per_minute = 60;
    pinned.base_delay_ms = 1000;
    pinned.jitter_range_ms = 500;
    pinned.enforce_burst = 10;
    pinned.pinned.insert("max_requests_per_minute".into(), json!(60));
    pinned.budgets = Some(Budgets {
        requests_per_minute: 60,
        requests_per_hour: 3600,
        requests_per_day: 86_400,
        plan_per_hour: 3333,
        retry_reserve_per_hour: 267,
        retry_cap_per_hour: 333,
    });
    pinned.even_pace_requests_per_minute = Some(60);
    pinned.evidence.as_mut().unwrap().max_requests_per_minute.bound_by = "pinned".into();
    let mut dead = Entry {
        confidence: Some(Grade::C),
        apply: false,
        apply_reason: Some("stop_denied".into()),
        action: Some(Action::StopDenied),
        base_delay_ms: 60_000,
        jitter_range_ms: 30_000,
        max_requests_per_minute: 1,
        max_burst_capacity: 1,
        enforce_burst: 1,
        max_concurrency: 1,
        max_concurrent_connections: 1,
        default_cooldown_seconds: 900.0,
        breaker: Breaker { window: 50, ..Breaker::default() },
        budgets: None,
        ..bot()
    };
    let evidence = dead.evidence.as_mut().unwrap();
    evidence.max_requests_per_minute.bound_by = "all_errors_floor".into();
    evidence.c429 = Some(12);
    evidence.c429_state = "provisional".into();
    evidence.burst_429 = Some(8);
    evidence.quota = Some(720);
    evidence.quota_state = Some("established".into());
    evidence.max_requests_per_minute.inputs.c429 = Some(12);
    evidence.max_requests_per_minute.inputs.prev = Some(30);
    evidence.max_requests_per_minute.inputs.crawl_delay_ms = Some(10_000);
    host.bots = [("Examplebot".to_owned(), pinned), ("Other Bot".to_owned(), dead)].into();
    host
}

pub(super) fn manifest() -> Manifest {
    Manifest {
        generated_at: Some(Second(1_773_194_407)),
        generator: Some("crawl-baseline 0.1.0".into()),
        window: Some(window()),
        policy: [
            ("default_rpm".to_owned(), json!(30)),
            ("f".to_owned(), json!({"A": 70, "B": 65, "C": 60, "D": 60})),
            ("q".to_owned(), json!(0.95)),
        ]
        .into(),
        scopes: Scopes { global_per_hour: Scope { limit: Some(4236), measured: true }, ..Scopes::default() },
        domain_overrides: [("www.example.com".to_owned(), host())].into(),
        ..Manifest::default()
    }
}
