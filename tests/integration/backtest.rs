//! `backtest` on logs whose seconds are known: the figures of every machine are those of the reference, the verdict and
//! the exit code follow from them, and the smallest ceiling passes where one less does not.
//!
//! Example: 600 requests in ten minutes, one a second, wait for nothing at 76 RPM and are not accepted at 40.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::command::{Dir, Output};
use crate::oracle::{ask, oracle};

const NOW: &str = "2026-03-11T02:00:00Z";
const START: i64 = 1_773_100_800;
const MACHINES: [&str; 5] = ["token", "leaky", "nginx", "sliding", "fixed"];

/// A log of (second, requests, status).
fn log(seconds: &[(i64, u32, u16)]) -> String {
    let mut text = String::new();
    for (second, requests, status) in seconds {
        let at =
            chrono::DateTime::from_timestamp(*second, 0).expect("a time").format("%d/%b/%Y:%H:%M:%S +0000");
        for _ in 0..*requests {
            let _ = writeln!(
                text,
                "192.0.2.10 - - [{at}] \"GET / HTTP/1.1\" {status} 5 \"-\" \"Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)\""
            );
        }
    }
    text
}

fn manifest(rpm: u64, burst: u64, enforce: u64) -> String {
    format!(
        "domain_overrides:\n  (default):\n    max_requests_per_minute: 9000\n    bots:\n      GPTBot: \
         {{max_requests_per_minute: {rpm}, max_burst_capacity: {burst}, enforce_burst: {enforce}}}\n"
    )
}

fn ready(seconds: &[(i64, u32, u16)]) -> Dir {
    let dir = Dir::new();
    dir.write("a.log", log(seconds));
    dir.command(["analyze", "a.log", "--now", NOW, "-q"]).run().exit(0);
    dir
}

fn backtest(dir: &Dir, args: &[&str]) -> Output {
    dir.command([&["backtest", "--manifest", "m.yaml", "--bot", "GPTBot"], args].concat()).run()
}

fn entry(output: &Output) -> Value {
    output.json()["entries"][0].clone()
}

/// Uneven, reproducible: bursts, pauses, single requests.
fn uneven() -> Vec<(i64, u32, u16)> {
    let mut state = 12_345_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut at = START;
    (0..900)
        .map(|_| {
            at += i64::try_from(1 + next(4)).expect("small");
            let n = if next(12) == 0 { 6 + next(9) } else { 1 + next(2) };
            (at, u32::try_from(n).expect("small"), 200)
        })
        .collect()
}

#[test]
fn every_machine_gives_the_figures_of_the_reference() {
    let Some(folder) = oracle("replay_ref.py") else { return };
    let seconds = uneven();
    let dir = ready(&seconds);
    let flat: Vec<i64> =
        seconds.iter().flat_map(|(at, n, _)| std::iter::repeat_n(*at, *n as usize)).collect();
    for (rpm, burst, enforce) in [(60, 1, 10), (76, 2, 13), (120, 15, 40)] {
        dir.write("m.yaml", manifest(rpm, burst, enforce));
        let program = format!(
            "import json, sys\nfrom replay_ref import *\nsecs = json.load(sys.stdin)\n\
             ts = {{how: spread(secs, how, '(default)', 'GPTBot') for how in ('jitter', 'start', 'even')}}\n\
             t = ts['jitter']\nout = {{}}\n\
             def full(w, refused): return dict(requests=len(t), delayed_share=sum(x > 1e-3 for x in w) / len(w), \
             p50=nearest_rank(w, 50), p95=nearest_rank(w, 95), max=max(w), drain=w[-1], refused=refused)\n\
             R, b, e = {rpm}, {burst}, {enforce}\n\
             w = token_bucket_delay(t, R, b)\n\
             out['token'] = full(w, token_bucket_reject(t, R, e))\n\
             out['leaky'] = full(token_bucket_delay(t, R, 1), token_bucket_reject(t, R, 1))\n\
             out['nginx'] = full(*nginx_limit_req(t, R, e - 1, 0))\n\
             out['sliding'] = full(w, sliding_log(t, R))\n\
             out['fixed'] = full(w, fixed_window(t, R))\n\
             out['start'] = token_bucket_reject(ts['start'], R, e)\n\
             out['even'] = token_bucket_reject(ts['even'], R, e)\n\
             print(json.dumps(out))"
        );
        let want: Value =
            serde_json::from_str(&ask(&folder, &program, &json!(flat).to_string())).expect("JSON");
        for machine in MACHINES {
            let found = entry(&backtest(&dir, &["--json", "-", "--machine", machine]));
            for (ours, theirs) in [
                ("requests", "requests"),
                ("delayed_share", "delayed_share"),
                ("wait_seconds_p50", "p50"),
                ("wait_seconds_p95", "p95"),
                ("wait_seconds_max", "max"),
                ("drain_seconds", "drain"),
                ("refused", "refused"),
            ] {
                let (a, b) = (found["all"][ours].as_f64(), want[machine][theirs].as_f64());
                let (a, b) = (a.expect("a number"), b.expect("a number"));
                assert!((a - b).abs() < 1e-6, "{machine} {rpm}: {ours} is {a}, the reference has {b}");
            }
        }
        let found = entry(&backtest(&dir, &["--json", "-"]));
        assert_eq!(found["at_start"]["refused"], want["start"]);
        assert_eq!(found["evenly"]["refused"], want["even"]);
    }
}

#[test]
fn the_verdict_and_the_exit_code_follow_from_the_figures() {
    let seconds: Vec<_> = (0..600).map(|i| (START + i, 1, 200)).collect();
    let dir = ready(&seconds);
    dir.write("m.yaml", manifest(90, 3, 15));
    backtest(&dir, &[]).exit(0).stdout_has("Verdict: accepted").stdout_has("600 requests").stderr_is_empty();
    // One a second to 00:09:59, and done by then or not.
    backtest(&dir, &["--finish-by", "2026-03-10T00:11:00Z"]).exit(0);
    backtest(&dir, &["--finish-by", "2026-03-10T00:09:59Z"])
        .exit(1)
        .stdout_has("NOT ACCEPTED: it would finish after --finish-by");
    backtest(&dir, &["--finish-by", "dawn"])
        .exit(2)
        .stderr_has("--finish-by: cannot read \"dawn\" as a time");
    // Too slow: waits pile up, and most would be refused.
    dir.write("m.yaml", manifest(40, 1, 7));
    backtest(&dir, &[])
        .exit(1)
        .stdout_has("it would have run at 40 RPM, finishing 5.0 min later")
        .stdout_has("NOT ACCEPTED: 20 % or more wait, and no measured capacity asks for it; 0.5 % or more of the clean")
        .stdout_has("Verdict: not accepted");
    let found = entry(&backtest(&dir, &["--find", "--json", "-"]));
    let smallest = found["smallest_accepted"].as_u64().expect("one");
    assert!((61..200).contains(&smallest), "{smallest}");
    for (rpm, code) in [(smallest, 0), (smallest - 1, 1)] {
        dir.write("m.yaml", manifest(rpm, 1, rpm.div_ceil(6)));
        backtest(&dir, &[]).exit(code);
    }
    // Not to be applied: it is told, and does not count, unless it is asked for by name.
    let text = manifest(40, 1, 7).replace("enforce_burst: 7", "enforce_burst: 7, apply: false");
    dir.write("m.yaml", text);
    dir.command(["backtest", "--manifest", "m.yaml"])
        .run()
        .exit(0)
        .stdout_has("GPTBot: 40 RPM, burst 1, enforce_burst 7 (not to be applied)");
    backtest(&dir, &[]).exit(1);
}

#[test]
fn refusals_of_minutes_that_had_a_429_are_told_but_do_not_count() {
    // Nine minutes of one request a second, and one in which a limiter was at work.
    let seconds: Vec<_> = (0..600)
        .flat_map(|i| {
            let hit = (300..360).contains(&i);
            [(START + i, if hit { 9 } else { 1 }, 200), (START + i, u32::from(hit), 429)]
        })
        .filter(|(_, n, _)| *n > 0)
        .collect();
    let dir = ready(&seconds);
    dir.write("m.yaml", manifest(120, 3, 20));
    let found = entry(&backtest(&dir, &["--json", "-"]));
    assert_eq!(
        (found["all"]["requests"].as_u64(), found["clean"]["requests"].as_u64()),
        (Some(1140), Some(540))
    );
    assert!(found["all"]["refused"].as_u64() > Some(300));
    assert_eq!(found["clean"]["refused"], 0);
}

#[test]
fn the_same_seconds_give_the_same_figures_and_another_seed_others() {
    let dir = ready(&uneven());
    dir.write("m.yaml", manifest(60, 1, 10));
    let run = |args: &[&str]| entry(&backtest(&dir, &[&["--json", "-"], args].concat()));
    assert_eq!(run(&[]), run(&["--seed", "0"]));
    let (one, two) = (run(&[]), run(&["--seed", "7"]));
    assert_eq!(one["all"]["requests"], two["all"]["requests"]);
    assert_ne!(one["all"]["wait_seconds_p95"], two["all"]["wait_seconds_p95"]);
    // In a file, the words are on standard output.
    backtest(&dir, &["--json", "b.json"]).stdout_has("Verdict");
    let written: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("b.json")).expect("a file")).expect("JSON");
    assert_eq!(written["entries"][0], one);
    assert_eq!(written["schema_version"], 1);
}

#[test]
fn what_was_not_recorded_is_no_data_and_what_is_unknown_is_named() {
    let dir = ready(&[(START, 1, 200)]);
    dir.write("m.yaml", manifest(60, 1, 10).replace("GPTBot:", "ClaudeBot:"));
    dir.command(["backtest", "--manifest", "m.yaml", "--bot", "ClaudeBot"])
        .run()
        .exit(3)
        .stderr_has("holds no second of what was asked for");
    dir.command(["backtest", "--manifest", "m.yaml"])
        .run()
        .exit(0)
        .stdout_has("no recorded traffic in the window");
    dir.command(["backtest", "--manifest", "m.yaml", "--bot", "ClaudBot"])
        .run()
        .exit(2)
        .stderr_has("--bot: \"ClaudBot\" is not in m.yaml")
        .stderr_has("did you mean ClaudeBot?");
    dir.command(["backtest", "--manifest", "m.yaml", "--history", "nowhere"]).run().exit(3);
    dir.command(["backtest", "--manifest", "m.yaml", "--machine", "toke"]).run().exit(2).stderr_has("token");
}

#[test]
fn the_programs_own_manifest_is_replayed_as_it_stands() {
    let seconds: Vec<_> = (0..3600).map(|i| (START + i, 1, 200)).collect();
    let dir = ready(&seconds);
    let output = dir.command(["backtest"]).run();
    // One a second, at random inside it, through a leaky bucket: more than half wait, none for a second. By the rule a
    // person has to look at that.
    output
        .exit(1)
        .stdout_has("(default), (all-bots): 67 RPM, burst 1, enforce_burst 12")
        .stdout_has("at most < 1 s");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    dir.command(["backtest"]).stdout_to(full).run().exit(5).stderr_has("standard output: cannot write");
    let head = dir.command(["backtest"]).run_into_head();
    head.stderr_is_empty();
}
