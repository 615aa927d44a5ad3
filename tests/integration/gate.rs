//! The gate against what it is given: every check with every kind of input and its exit code, every threshold on both
//! sides, every form of the answer.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod world;

use serde_json::{Value, json};

use crate::command::Dir;
use world::{HOST, NOW, World, manifest};

const CHECKS: [&str; 15] = [
    "rpm-ceiling",
    "rpm-headroom",
    "throttled",
    "throttle-surge",
    "retry-share",
    "waste-share",
    "dedup-ratio",
    "orphans",
    "latency",
    "concurrency",
    "manifest-age",
    "checksums",
    "artifacts-present",
    "rejects",
    "verified-share",
];

/// Breaks one check.
fn breach(check: &str, world: &mut World) {
    match check {
        "rpm-ceiling" => world.bot()["rpm"]["peak"] = json!(121),
        "rpm-headroom" => world.bot()["rpm"]["peak"] = json!(110),
        "throttled" => world.planned()["rate_limited"] = json!(1),
        "throttle-surge" => world.bot()["status"] = json!({"200": 190, "429": 10}),
        "retry-share" => world.report["retries"] = json!(60),
        "waste-share" => world.bot()["status"] = json!({"200": 150, "404": 50}),
        "dedup-ratio" => world.normalized["urls"] = json!([{"url": "https://a/1"}, {"url": "https://a/2"}]),
        "orphans" => world.report["orphans"] = json!([{"urls": ["/old", "/older"]}]),
        "latency" => world.bot()["latency_ms"]["mean"] = json!(500.0),
        "concurrency" => world.planned()["concurrency"] = json!(2),
        "manifest-age" => {
            world.dir.write("manifest.yaml", manifest("2026-03-01T02:00:00Z"));
        }
        "checksums" => {
            world.dir.write("artifacts/2026-03-11/baseline_020000.json", "damaged");
        }
        "artifacts-present" => {
            std::fs::remove_file(world.dir.path().join("artifacts/2026-03-11/budget_report_020000.json"))
                .unwrap();
        }
        "rejects" => world.baseline["totals"]["rejects"] = json!({"bad_time": 11}),
        "verified-share" => {
            world.bot()["verification"] = json!({"verified": 89, "failed": 11, "not_checkable": 0})
        }
        other => panic!("no breach of {other}"),
    }
    world.write();
}

/// Takes what one check needs away, without taking the input away.
fn no_data(check: &str, world: &mut World) {
    match check {
        "rpm-ceiling" | "rpm-headroom" | "throttled" | "latency" => {
            world.bot()["rpm"]["peak"] = json!(0);
            world.baseline["totals"]["bot_records"] = json!(0);
            world.bot()["latency_ms"] = Value::Null;
            world.report["requests"] = json!(0);
            world.planned()["requests"] = json!(0);
            world.planned()["latency_assumed"] = json!(true);
        }
        "throttle-surge" => std::fs::remove_dir_all(world.dir.path().join("history")).unwrap(),
        "retry-share" => world.report["requests"] = json!(0),
        "waste-share" => world.bot()["requests"] = json!(19),
        "dedup-ratio" => world.normalized["urls"] = json!([]),
        "orphans" => world.report["inputs"] = json!({}),
        "concurrency" => {
            world.planned()["concurrency"] = Value::Null;
            world.report["hosts"] = json!({});
        }
        "manifest-age" => {
            let text = manifest("x").replace("generated_at: x\n", "");
            world.dir.write("manifest.yaml", text);
        }
        "checksums" | "artifacts-present" => {
            std::fs::remove_dir_all(world.dir.path().join("artifacts")).unwrap();
        }
        "rejects" => {
            world.baseline["totals"]["lines"] = json!(0);
            world.baseline["totals"]["records"] = json!(0);
        }
        "verified-share" => {
            world.bot()["verification"] = json!({"verified": 0, "failed": 0, "not_checkable": 200})
        }
        other => panic!("no way to take the data of {other} away"),
    }
    world.write();
}

#[test]
fn every_check_ends_as_it_should_with_every_kind_of_input() {
    let passing = World::new();
    passing
        .gate(&["--fail-on", "note"])
        .exit(0)
        .stdout_has("pass: 0 errors, 0 warnings, 0 notes; 15 checks ran");
    for check in CHECKS {
        let only = |extra: &[&str]| {
            let mut args = vec!["--checks", check, "--fail-on", "note"];
            args.extend(extra);
            args.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let run = |world: &World, args: Vec<String>| {
            world.gate(&args.iter().map(String::as_str).collect::<Vec<_>>())
        };
        run(&passing, only(&[])).exit(0).stdout_has(&format!("pass     {check}")).stderr_is_empty();

        let names = format!("{check},rpm-celing");
        run(&passing, only(&["--checks", &names]))
            .exit(2)
            .stderr_has("rpm-celing")
            .stderr_has("did you mean rpm-ceiling?");

        let mut world = World::new();
        breach(check, &mut world);
        run(&world, only(&[]))
            .exit(1)
            .stdout_has(check)
            .stdout_has("breach: ")
            .stdout_has("more: ")
            .stderr_is_empty();
        // A breach is a breach with every other check beside it.
        assert_eq!(world.gate(&["--fail-on", "note"]).code(), 1, "{check} among all");

        let mut world = World::new();
        no_data(check, &mut world);
        run(&world, only(&[])).exit(3).stdout_has(&format!("no data  {check}")).stderr_has(check);

        let world = World::new();
        world.dir.write("manifest.yaml", manifest("2026-03-01T02:00:00Z"));
        run(&world, only(&["--checks", &format!("{check},manifest-age")])).exit(1).stdout_has("10 days ago");

        let mut world = World::new();
        world.report["hosts"][HOST]["rpm_peak"] = json!("fast");
        world.write();
        run(&world, only(&[]))
            .exit(2)
            .stderr_has("report.json:")
            .stderr_has("hosts.\"www.example.com\".rpm_peak: expected a whole number, found string \"fast\"");
    }
}

/// How one check ends after a change: the level of its only finding, or none.
type Threshold = (&'static str, fn(&mut World), Option<&'static str>);

#[test]
fn every_threshold_is_where_it_should_be() {
    let table: &[Threshold] = &[
        ("rpm-ceiling", |w| w.bot()["rpm"]["peak"] = json!(120), None),
        ("rpm-ceiling", |w| w.bot()["rpm"]["peak"] = json!(121), Some("error")),
        ("rpm-ceiling", |w| w.bot()["requests_per_60s_peak"] = json!(121), Some("error")),
        ("rpm-ceiling", |w| w.bot()["requests_per_10s_peak"] = json!(20), None),
        ("rpm-ceiling", |w| w.bot()["requests_per_10s_peak"] = json!(21), Some("error")),
        ("rpm-ceiling", |w| w.planned()["rpm_peak"] = json!(121), Some("error")),
        // S1, checklist 1: 80 to 90 % of the ceiling.
        ("rpm-headroom", |w| w.bot()["rpm"]["peak"] = json!(108), None),
        ("rpm-headroom", |w| w.bot()["rpm"]["peak"] = json!(109), Some("warning")),
        ("rpm-headroom", |w| w.bot()["rpm"]["peak"] = json!(96), None),
        ("rpm-headroom", |w| w.bot()["rpm"]["peak"] = json!(95), Some("note")),
        ("rpm-headroom", |w| w.bot()["rpm"]["peak"] = json!(121), None),
        // Checklist 2: no 429.
        ("throttled", |w| w.bot()["status"] = json!({"200": 199, "429": 1}), Some("warning")),
        ("throttled", |w| w.bot()["status"] = json!({"200": 199, "404": 1}), None),
        ("throttled", |w| w.planned()["rate_limited"] = json!(1), Some("error")),
        ("throttle-surge", |w| w.bot()["status"] = json!({"200": 198, "429": 2}), None),
        ("throttle-surge", |w| w.bot()["status"] = json!({"200": 197, "429": 3}), Some("error")),
        ("retry-share", |w| w.report["retries"] = json!(20), None),
        ("retry-share", |w| w.report["retries"] = json!(21), Some("warning")),
        ("retry-share", |w| w.report["retries"] = json!(59), Some("warning")),
        ("retry-share", |w| w.report["retries"] = json!(60), Some("error")),
        ("waste-share", |w| w.bot()["status"] = json!({"200": 160, "404": 20, "503": 20}), None),
        ("waste-share", |w| w.bot()["status"] = json!({"200": 159, "404": 21, "503": 20}), Some("warning")),
        // Checklist 3: the deduplication ratio.
        ("dedup-ratio", |w| w.normalized["urls"][0]["urls_merged"] = json!(4), None),
        ("dedup-ratio", |w| w.normalized["urls"][0]["urls_merged"] = json!(5), Some("note")),
        (
            "dedup-ratio",
            |w| (0..4).for_each(|i| w.normalized["urls"][i]["urls_merged"] = json!(1)),
            Some("warning"),
        ),
        ("orphans", |w| w.report["orphans"] = json!([{"urls": ["/old"]}]), Some("error")),
        ("latency", |w| w.bot()["latency_ms"]["mean"] = json!(499.9), None),
        ("latency", |w| w.bot()["latency_ms"]["mean"] = json!(500), Some("warning")),
        ("latency", |w| w.bot()["status"] = json!({"200": 199, "500": 1}), None),
        ("latency", |w| w.bot()["status"] = json!({"200": 198, "500": 2}), Some("warning")),
        ("latency", |w| w.planned()["latency_ms_mean"] = json!(501), Some("warning")),
        // Errors are seen without a latency too.
        (
            "latency",
            |w| {
                w.bot()["latency_ms"] = Value::Null;
                w.planned()["latency_assumed"] = json!(true);
                w.bot()["status"] = json!({"200": 100, "500": 100});
            },
            Some("warning"),
        ),
        ("concurrency", |w| w.planned()["concurrency"] = json!(2), Some("error")),
        ("concurrency", |w| w.planned()["concurrency"] = json!(4), Some("note")),
        (
            "manifest-age",
            |w| {
                w.dir.write("manifest.yaml", manifest("2026-03-03T02:00:00Z"));
            },
            None,
        ),
        (
            "manifest-age",
            |w| {
                w.dir.write("manifest.yaml", manifest("2026-03-03T01:59:59Z"));
            },
            Some("error"),
        ),
        // Checklist 5: artifacts are there and checksummed.
        (
            "checksums",
            |w| {
                w.dir.write("artifacts/2026-03-11/stranger.json", "{}");
            },
            Some("error"),
        ),
        (
            "artifacts-present",
            |w| {
                w.dir.write("artifacts/2026-03-11/report_1.html", "");
            },
            None,
        ),
        ("rejects", |w| w.baseline["totals"]["rejects"] = json!({"bad_time": 2}), None),
        (
            "rejects",
            |w| w.baseline["totals"]["rejects"] = json!({"bad_time": 2, "bad_status": 1}),
            Some("warning"),
        ),
        ("rejects", |w| w.baseline["totals"]["rejects"] = json!({"bad_time": 10}), Some("warning")),
        ("rejects", |w| w.baseline["totals"]["rejects"] = json!({"bad_time": 11}), Some("error")),
        ("verified-share", |w| w.bot()["verification"]["failed"] = json!(10), None),
        ("verified-share", |w| w.bot()["verification"]["failed"] = json!(11), Some("warning")),
        (
            "verified-share",
            |w| w.bot()["verification"] = json!({"verified": 20, "failed": 0, "not_checkable": 0}),
            None,
        ),
    ];
    for (number, (check, change, level)) in table.iter().enumerate() {
        let mut world = World::new();
        change(&mut world);
        world.write();
        let output = world.gate(&["--checks", check, "--format", "json", "--fail-on", "note"]);
        let verdict = output.json();
        let findings = verdict["checks"][0]["findings"].as_array().unwrap().clone();
        let levels: Vec<&str> = findings.iter().map(|f| f["level"].as_str().unwrap()).collect();
        let wanted: Vec<&str> = level.iter().copied().collect();
        assert_eq!(levels, wanted, "row {number}, {check}\n{}", output.told());
        output.exit(i32::from(level.is_some()));
        for finding in findings {
            for key in ["subject", "measure", "value", "limit", "message", "more"] {
                assert!(!finding[key].is_null(), "row {number}, {check}: no {key}");
            }
        }
    }
}

#[test]
fn levels_below_fail_on_are_told_and_pass() {
    let mut world = World::new();
    world.bot()["status"] = json!({"200": 199, "429": 1});
    world.write();
    for (fail_on, exit) in [("error", 0), ("warning", 1), ("note", 1)] {
        world
            .gate(&["--checks", "throttled", "--fail-on", fail_on])
            .exit(exit)
            .stdout_has("warning  throttled");
    }
}

#[test]
fn bursts_and_minute_borders_are_seen_and_ceilings_that_are_not_applied_are_only_told() {
    let line = |minute: u32, second: u32| {
        format!(
            "192.0.2.10 - - [10/Mar/2026:06:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"ExampleBot/1.0 (+https://bot.example)\"\n"
        )
    };
    let dir = Dir::new();
    dir.write("burst.log", line(0, 0).repeat(60));
    let edge: String = (0..40).map(|i| line(0, 45 + i * 15 / 40) + &line(1, i * 15 / 40)).collect();
    dir.write("edge.log", edge);
    for name in ["burst", "edge"] {
        let (log, json) = (format!("{name}.log"), format!("{name}.json"));
        dir.command(["analyze", &log, "--no-history", "--quiet", "--now", NOW, "--output-json", &json])
            .run()
            .exit(0);
    }
    dir.command(["gate", "--baseline", "burst.json", "--max-rpm", "60"])
        .run()
        .exit(1)
        .stdout_has("60 requests in sliding 10 s, --max-rpm allows 10 ");
    dir.command(["gate", "--baseline", "edge.json", "--max-rpm", "60", "--checks", "rpm-ceiling"])
        .run()
        .exit(1)
        .stdout_has("80 requests in sliding 60 s, --max-rpm allows 60 ");
    let manifest = "domain_overrides:\n  (default):\n    max_requests_per_minute: 30\n    apply: false\n";
    dir.write("manifest.yaml", manifest);
    let args = ["gate", "--baseline", "edge.json", "--manifest", "manifest.yaml", "--checks", "rpm-ceiling"];
    dir.command(args).run().exit(0).stdout_has("recommended, not applied");
    dir.write("manifest.yaml", manifest.replace("    apply: false\n", ""));
    dir.command(args).run().exit(1).stdout_has("domain_overrides.\"(default)\" allows 30");
    // The threshold of the environment holds beside it.
    dir.write("manifest.yaml", manifest);
    dir.command(args).env("MAX_RPM_THRESHOLD", "39").run().exit(1).stdout_has("--max-rpm allows 39");
}

#[test]
fn all_bots_of_a_host_together_keep_to_its_own_ceiling_and_to_no_other() {
    let line = |bot: &str, second: u32| {
        format!(
            "192.0.2.10 - - [10/Mar/2026:06:00:{second:02} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"{bot}/1.0 (+https://bot.example)\"\n"
        )
    };
    let dir = Dir::new();
    let log: String = (0..40).map(|i| line("OneExampleBot", i) + &line("OtherExampleBot", i + 10)).collect();
    dir.write("night.log", log);
    let args =
        ["analyze", "night.log", "--no-history", "--quiet", "--now", NOW, "--output-json", "night.json"];
    dir.command(args).run().exit(0);
    let gate = |own: u64| {
        dir.write(
            "manifest.yaml",
            format!(
                "domain_overrides:\n  (default):\n    max_requests_per_minute: {own}\n    enforce_burst: 9\n    bots:\n      \
                 OneExampleBot: {{max_requests_per_minute: 50, enforce_burst: 9}}\n      OtherExampleBot: {{max_requests_per_minute: 50, \
                 enforce_burst: 9}}\n"
            ),
        );
        let args =
            ["gate", "--baseline", "night.json", "--manifest", "manifest.yaml", "--checks", "rpm-ceiling"];
        dir.command(args).env("MAX_RPM_THRESHOLD", "60").run()
    };
    // 40 each, 80 together: --max-rpm is for each bot.
    gate(90).exit(0).stdout_has("2 pairs of host and bot, all bots together on 1 of the hosts");
    gate(79).exit(1).stdout_has("all bots on (default): 80 requests in a UTC minute, the manifest's");
}

#[test]
fn every_form_of_the_answer_says_the_same() {
    let mut world = World::new();
    world.bot()["rpm"]["peak"] = json!(140);
    world.bot()["status"] = json!({"200": 199, "429": 1});
    world.write();
    let gate = |form| world.gate(&["--format", form, "--checks", "rpm-ceiling,throttled,rejects"]);
    let text = gate("text");
    text.exit(1)
        .stdout_has("error    rpm-ceiling")
        .stdout_has("140 requests in a UTC minute")
        .stdout_has("(2026-03-10T06:25Z)");
    text.stdout_has("pass     rejects")
        .stdout_has("breach: 1 error, 1 warning, 0 notes; 3 checks ran, 0 did not; fails on error");
    let json = gate("json");
    json.exit(1);
    let verdict = json.json();
    assert_eq!(verdict["schema_version"], 1);
    assert_eq!((&verdict["verdict"], &verdict["exit_code"]), (&json!("breach"), &json!(1)));
    assert_eq!(verdict["checks"][0]["findings"][0]["value"], 140);
    assert_eq!(verdict["checks"][0]["findings"][0]["limit"], 120);
    assert_eq!(verdict["checks"][2]["state"], "pass");
    gate("github")
        .exit(1)
        .stdout_has("::error title=rpm-ceiling::ExampleBot on www.example.com: 140 requests in a UTC minute")
        .stdout_has("::warning title=throttled::www.example.com: 1 of 200 bot requests");
    let junit = gate("junit");
    junit.exit(1).stdout_has("<testsuites tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\">");
    junit.stdout_has("name=\"throttled\"><system-out>warning: www.example.com: 1 of 200");

    no_data("orphans", &mut world);
    let gate = |form| world.gate(&["--format", form, "--checks", "orphans"]);
    assert_eq!(gate("json").exit(3).json()["no_data"].as_array().unwrap().len(), 1);
    gate("github").exit(3).stdout_has("::error title=no data::orphans: ");
    gate("junit").exit(3).stdout_has("errors=\"1\"").stdout_has("<error type=\"no_data\"");
}

#[test]
fn inputs_without_a_request_are_named_and_no_pass() {
    let mut world = World::new();
    world.report["requests"] = json!(0);
    world.write();
    world
        .gate(&[])
        .exit(3)
        .stderr_has("report.json: the budget report holds no request")
        .stdout_has("no data: ");
    // A breach goes first; both are told.
    breach("rejects", &mut world);
    world.gate(&[]).exit(1).stderr_has("report.json: the budget report holds no request");

    let dir = Dir::new();
    dir.write("people.log", "192.0.2.1 - - [10/Mar/2026:06:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0 (Windows NT 10.0) Firefox/140.0\"\n".repeat(30));
    dir.command(["analyze", "people.log", "--no-history", "--quiet", "--output-json", "b.json"])
        .run()
        .exit(0);
    dir.command(["gate", "--baseline", "b.json"])
        .run()
        .exit(3)
        .stderr_has("b.json: the baseline holds no request of a bot");
}

#[test]
fn a_damaged_history_is_named_and_partial_not_a_pass_and_no_breach() {
    let world = World::new();
    world.dir.write("history/sources/date=2026-03-08/junk.parquet", "junk");
    let output = world.gate(&[]);
    output.exit(4).stderr_has("junk.parquet").stdout_has("partial: 0 errors");
    assert_eq!(world.gate(&["--format", "json"]).json()["exit_code"], 4);
    world.dir.write("urls.txt", "https://www.example.com/\n");
    let plan = ["simulate", "--urls", "urls.txt", "--history", "history", "--now", NOW];
    world.dir.command(plan).run().exit(4).stderr_has("junk.parquet").stdout_has("1 URL queued");
}

#[test]
fn documents_that_are_not_what_they_should_be_are_usage_errors() {
    let world = World::new();
    let newer = |value: &Value| {
        let mut newer = value.clone();
        newer["schema_version"] = json!(2);
        newer.to_string()
    };
    let dir = &world.dir;
    dir.write("newer-report.json", newer(&world.report)).write("newer-baseline.json", newer(&world.baseline));
    dir.write("newer-list.json", newer(&world.normalized))
        .write("torn.json", "{\"schema_version\": 1, \"requ");
    dir.write("newer.yaml", "schema_version: \"2.0\"\n").write("latin.json", b"{\"a\": \"\xe9\"}");
    for (flag, file, said) in [
        ("--report", "newer-report.json", "schema_version: expected 1, found 2"),
        ("--baseline", "newer-baseline.json", "schema_version: expected 1, found 2"),
        ("--normalized", "newer-list.json", "schema_version: expected 1, found 2"),
        ("--manifest", "newer.yaml", "newer.yaml:1: schema version 2.0 is newer"),
        ("--report", "torn.json", "torn.json:1: is no budget report of this program: EOF"),
        ("--report", "latin.json", "latin.json: cannot read this budget report"),
        ("--report", "none.json", "none.json: cannot read this budget report"),
        ("--report", "baseline.json", "give it with --baseline"),
        ("--baseline", "report.json", "give it with --report"),
        ("--normalized", "report.json", "expected the key `urls`, found none"),
    ] {
        dir.command(["gate", flag, file]).run().exit(2).stderr_has(said).stderr_has("hint: ");
    }
}

#[test]
fn a_name_that_nobody_knows_is_told_with_the_nearest_one() {
    let world = World::new();
    let manifest = |host: &str, bot: &str| {
        format!(
            "domain_overrides:\n  {host}:\n    max_requests_per_minute: 60\n    bots:\n      {bot}: {{max_requests_per_minute: 9}}\n"
        )
    };
    world.dir.write("m.yaml", manifest(HOST, "googelbot"));
    world
        .dir
        .command(["gate", "--manifest", "m.yaml"])
        .run()
        .exit(2)
        .stderr_has("m.yaml:5")
        .stderr_has("`googelbot`")
        .stderr_has("Googlebot");
    // Known from the baseline, not from the catalogue.
    let with =
        ["gate", "--manifest", "m.yaml", "--baseline", "baseline.json", "--history", "none", "--now", NOW];
    world.dir.write("m.yaml", manifest(HOST, "ExampleBot"));
    world.dir.command(with).run().exit(1).stdout_has("bots.ExampleBot allows 9");
    world.dir.write("m.yaml", manifest("www.exmaple.com", "Googlebot"));
    world
        .dir
        .command(with)
        .run()
        .exit(2)
        .stderr_has("unknown host `www.exmaple.com`")
        .stderr_has("did you mean www.example.com?");
    world.dir.write("m.yaml", "domain_overrides:\n  www.example.com: {max_rpm: 4}\n");
    world.dir.command(with).run().exit(2).stderr_has("unknown key").stderr_has("max_rpm");
}

#[test]
fn a_closed_pipe_is_quiet_and_a_full_disk_is_not() {
    let world = World::new();
    let args = ["gate", "--report", "report.json"];
    let head = world.dir.command(args).run_into_head();
    head.exit(0).stderr_is_empty();
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        world.dir.command(args).stdout_to(full).run().exit(5).stderr_has("standard output: cannot write");
    }
}
