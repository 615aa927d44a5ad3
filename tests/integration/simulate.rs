//! Plans from the command line: the worked example, what a change adds, what is measured, and the gate behind it.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::command::{Dir, Output};

const NOW: &str = "2026-03-11T02:00:00Z";

/// 502 rows: two of a flow, 300 products, 200 documents, their values falling with their numbers.
fn worked_rows() -> String {
    let row = |url: String, score: i64| json!({"url": url, "score": score});
    let shop = |path: &str, score| row(format!("https://shop.example.com/{path}"), score);
    let mut rows = vec![shop("login", 10), shop("cart", 10)];
    rows.extend((1..=300).map(|n| shop(&format!("p/{}", 1000 + n), 10 - n % 7)));
    rows.extend((1..=200).map(|n| row(format!("https://docs.example.com/d/{}", 300 + n), 8 - n % 6)));
    json!({"schema_version": 1, "urls": rows}).to_string()
}

const WORKED_MANIFEST: &str = "domain_overrides:\n  shop.example.com: {max_requests_per_minute: 5, base_delay_ms: 12000}\n  docs.example.com: {max_requests_per_minute: 5, base_delay_ms: 12000}\n";

#[test]
fn the_worked_example_comes_out_line_by_line() {
    let dir = Dir::new();
    dir.write("rows.json", worked_rows()).write("m.yaml", WORKED_MANIFEST);
    let args = [
        "simulate",
        "--urls",
        "rows.json",
        "--manifest",
        "m.yaml",
        "--minutes",
        "40",
        "--budget",
        "global_per_minute=8",
        "--budget",
        "global_per_hour=260",
        "--budget",
        "credential_per_hour=190",
        "--budget",
        "host_per_hour:shop.example.com=150",
        "--budget",
        "host-per-hour:docs.example.com=70",
        "--retry-reserve",
        "24",
        "--response-bytes",
        "41000",
        "--now",
        NOW,
    ];
    let output = dir.command(args).run();
    output.exit(0).stderr_is_empty();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let table: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.len() == 8 && words[0].parse::<u64>().is_ok())
        .collect();
    // minute, sent, docs, shop, left on the credential, left in all, retry reserve, lowest value
    let mut wanted: Vec<[String; 8]> = (0..23_u64)
        .map(|m| {
            let lowest = match m {
                0..11 => 8,
                11..22 => 7,
                _ => 6,
            };
            [m, 8, 3, 5, 182 - 8 * m, 252 - 8 * m, 24, lowest].map(|n| n.to_string())
        })
        .collect();
    wanted.push([23, 6, 1, 5, 0, 70, 24, 6].map(|n: u64| n.to_string()));
    wanted.push(["24", "0", "0", "0", "0", "70", "24", "-"].map(str::to_owned));
    assert_eq!(table, wanted, "{text}");
    output.stdout_has(
        "ran 25 minutes: 502 URLs queued, 190 requests, 190 delivered, 312 deferred, at most 7.8 MB an hour",
    );
    output.stdout_has("binding: credential_per_hour holds back 312 URLs");
    output.stdout_has("exhausted: host_per_hour of docs.example.com, credential_per_hour of crawler");
    output.stdout_has("not limited: identity_per_day, prerequisite_reserve");
    // The same again, byte by byte, and what a plan keeps to it does not break.
    let again = dir.command(args.into_iter().chain(["--output", "-"])).run();
    let first = std::fs::read(&dir.glob("crawl-artifacts/2026-03-11/budget_report_020000.json")[0]).unwrap();
    assert_eq!(again.stdout, first);
    dir.write("report.json", &first);
    let gate =
        ["gate", "--report", "report.json", "--manifest", "m.yaml", "--max-rpm", "5", "--concurrency", "2"];
    dir.command(gate).run().exit(0).stdout_has("pass     rpm-ceiling");
    dir.command(["gate", "--report", "report.json", "--max-rpm", "4"]).run().exit(1).stdout_has("(minute 0)");
}

#[test]
fn the_folder_holds_the_report_and_its_checksum() {
    let dir = Dir::new();
    dir.write(
        "urls.txt",
        "# a list\nhttps://a.example/1\n\nhttps://a.example/2#top extra\r\nhttps://a.example/2\n",
    );
    let output = dir.command(["simulate", "--urls", "urls.txt", "--now", NOW, "--output", "r.json"]).run();
    output
        .exit(0)
        .stderr_has("no manifest: its defaults apply, 30 requests a minute")
        .stdout_has("2 URLs queued");
    output.stdout_has("crawl-artifacts/2026-03-11/budget_report_020000.json").stdout_has("  r.json");
    let sums = std::fs::read_to_string(dir.path().join("crawl-artifacts/2026-03-11/checksums.txt")).unwrap();
    assert!(sums.contains("  budget_report_020000.json"), "{sums}");
    assert_eq!(report(&dir)["hosts"]["a.example"]["limit_per_minute"], 30);
    assert_eq!(report(&dir)["hosts"]["a.example"]["concurrency"], 3);
    dir.command(["gate", "--checks", "checksums", "--output-dir", "crawl-artifacts"]).run().exit(0);
}

fn report(dir: &Dir) -> Value {
    serde_json::from_slice(&std::fs::read(dir.path().join("r.json")).unwrap()).unwrap()
}

fn plan(dir: &Dir, args: &[&str]) -> Output {
    let fixed = ["simulate", "--now", NOW, "--output", "r.json"];
    dir.command(fixed.iter().chain(args)).run()
}

fn urls(dir: &Dir) -> Vec<String> {
    // Everything that is planned and not sent stands in `deferred`: with a budget of nothing that is all.
    let deferred = report(dir)["deferred"].as_array().unwrap().clone();
    deferred.iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn sitemaps_and_their_indexes_are_read_from_files_and_never_fetched() {
    let dir = Dir::new();
    let map = |paths: &[&str]| {
        let locs: String =
            paths.iter().map(|p| format!("<url><loc>https://a.example{p}</loc></url>\n")).collect();
        format!(
            "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{locs}</urlset>"
        )
    };
    dir.write("one.xml", map(&["/a?x=1&amp;y=2", "/b"]));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, map(&["/c"]).as_bytes()).unwrap();
    dir.write("two.xml.gz", packed.finish().unwrap());
    let index = "<sitemapindex><sitemap><loc>https://a.example/maps/one.xml</loc></sitemap><sitemap><loc>https://a.example/two.xml.gz?v=2</loc></sitemap></sitemapindex>";
    dir.write("sitemap.xml", index);
    plan(&dir, &["--urls", "sitemap.xml", "--budget", "global_per_hour=0"]).exit(0);
    assert_eq!(urls(&dir), ["https://a.example/a?x=1&y=2", "https://a.example/b", "https://a.example/c"]);
    std::fs::remove_file(dir.path().join("two.xml.gz")).unwrap();
    plan(&dir, &["--urls", "sitemap.xml"])
        .exit(2)
        .stderr_has("sitemap.xml: lists https://a.example/two.xml.gz?v=2, which is not here")
        .stderr_has("nothing is fetched");
    dir.write("loop.xml", "<sitemapindex><sitemap><loc>loop.xml</loc></sitemap></sitemapindex>");
    plan(&dir, &["--urls", "loop.xml"]).exit(2).stderr_has("again and again");
    dir.write("half.xml", "<urlset><url><loc>https://a.example/");
    plan(&dir, &["--urls", "half.xml"]).exit(2).stderr_has("half.xml: is no sitemap");
}

#[test]
fn only_what_a_change_adds_is_planned() {
    let dir = Dir::new();
    let list = |paths: &[&str]| paths.iter().map(|p| format!("https://a.example{p}\n")).collect::<String>();
    dir.write("old.txt", list(&["/", "/p/1", "/about"]));
    dir.write("new.txt", list(&["/", "/p/1?utm_source=x", "/p/2", "/p/2/reviews", "/about"]));
    dir.write("routes.txt", "# changed\n/p/:id\n");
    let nothing = ["--budget", "global_per_hour=0"];
    let plan = |args: &[&str]| plan(&dir, &[&nothing, args].concat());
    plan(&["--urls", "new.txt", "--diff-only", "--baseline-urls", "old.txt"]).exit(0);
    assert_eq!(urls(&dir), ["https://a.example/p/2", "https://a.example/p/2/reviews"]);
    plan(&["--urls", "new.txt", "--diff-only", "--changed-routes", "routes.txt"]).exit(0);
    assert_eq!(urls(&dir), ["https://a.example/p/1?utm_source=x", "https://a.example/p/2"]);
    // Both: what is new and what is on a changed route.
    plan(&[
        "--urls",
        "new.txt",
        "--diff-only",
        "--changed-routes",
        "routes.txt",
        "--baseline-urls",
        "old.txt",
    ])
    .exit(0);
    assert_eq!(urls(&dir).len(), 3);
    // Nothing new: no data, and a report that says so and does not pass the gate.
    plan(&["--urls", "old.txt", "--diff-only", "--baseline-urls", "new.txt"])
        .exit(3)
        .stderr_has("old.txt: holds no URL that is new or on a changed route");
    assert_eq!(report(&dir)["queued"], 0);
    dir.command(["gate", "--report", "r.json"])
        .run()
        .exit(3)
        .stderr_has("r.json: the budget report holds no request");
    plan(&["--urls", "new.txt", "--diff-only"]).exit(2).stderr_has("--diff-only: needs something");
    dir.write("routes.txt", "/a/***\n");
    plan(&["--urls", "new.txt", "--changed-routes", "routes.txt"]).exit(2).stderr_has("route /a/***");
}

#[test]
fn orphans_are_told_as_chains_and_break_the_gate() {
    let dir = Dir::new();
    dir.write("urls.txt", "https://a.example/\nhttps://a.example/shop\nhttps://a.example/old\n");
    dir.write("links.csv", "from,to\n/,/shop\n/old,/older\n");
    plan(&dir, &["--urls", "urls.txt", "--links", "links.csv"])
        .exit(0)
        .stdout_has("orphans: 1 chain of")
        .stdout_has("https://a.example/old -> /older");
    dir.command(["gate", "--report", "r.json", "--checks", "orphans"])
        .run()
        .exit(1)
        .stdout_has("error    orphans");
    plan(&dir, &["--urls", "urls.txt", "--links", "links.csv", "--root", "/", "--root", "/old"]).exit(0);
    dir.command(["gate", "--report", "r.json", "--checks", "orphans"]).run().exit(0);
    // A change is not blamed for old orphans.
    dir.write("old.txt", "https://a.example/\nhttps://a.example/old\n");
    plan(&dir, &["--urls", "urls.txt", "--links", "links.csv", "--diff-only", "--baseline-urls", "old.txt"])
        .exit(0);
    dir.command(["gate", "--report", "r.json", "--checks", "orphans"]).run().exit(0);
    dir.write("links.csv", "/a\n");
    plan(&dir, &["--urls", "urls.txt", "--links", "links.csv"]).exit(2).stderr_has("links.csv:1: is no link");
}

#[test]
fn what_is_fresh_waits_and_a_warm_up_does_not() {
    let dir = Dir::new();
    let row = |url: &str, fetched: &str| json!({"url": url, "score": 5, "ttl_seconds": 3600, "fetched_at": fetched});
    let rows = json!({"schema_version": 1, "urls": [
        row("https://a.example/due-in-2", "2026-03-11T01:02:00Z"),
        row("https://a.example/fresh", "2026-03-11T01:59:00Z"),
        row("https://a.example/due", "2026-03-10T01:00:00Z"),
    ]});
    dir.write("rows.json", rows.to_string());
    plan(&dir, &["--urls", "rows.json", "--minutes", "10"]).exit(0).stdout_has("deferred: 1 for being fresh");
    let minutes = report(&dir)["minutes"].clone();
    let sent: Vec<u64> =
        minutes.as_array().unwrap().iter().map(|row| row["spent"].as_u64().unwrap()).collect();
    assert_eq!(&sent[..3], [1, 0, 1]);
    plan(&dir, &["--urls", "rows.json", "--warm-up"]).exit(0).stdout_has("3 delivered, 0 deferred");
    plan(&dir, &["--urls", "rows.json", "--warm-up", "--baseline-urls", "rows.json"])
        .exit(2)
        .stderr_has("--warm-up");
}

#[test]
fn origins_answer_as_the_history_says_and_refuse_as_the_manifest_has_seen() {
    let dir = Dir::new();
    let mut log = String::new();
    for i in 0..600 {
        let (minute, second) = (i / 10, i % 10 * 6);
        writeln!(log, "192.0.2.1 - - [10/Mar/2026:06:{minute:02}:{second:02} +0000] \"GET /{i} HTTP/1.1\" 200 2000 \"-\" \"Mozilla/5.0 Firefox/140.0\" rt=0.640").unwrap();
    }
    dir.write("a.log", log);
    let analyze =
        ["analyze", "a.log", "--host", "a.example", "--quiet", "--now", NOW, "--output-dir", "nights"];
    dir.command(analyze).run().exit(0);
    let urls: String = (0..90).map(|i| format!("https://a.example/{i}\n")).collect();
    dir.write("urls.txt", urls);
    let args = ["--urls", "urls.txt", "--history", "nights/history"];
    plan(&dir, &args).exit(0).stdout_has("640 ms on average");
    let host = report(&dir)["hosts"]["a.example"].clone();
    assert_eq!((&host["latency_assumed"], &host["latency_ms_p50"]), (&json!(false), &json!(640)));
    assert_eq!(report(&dir)["bytes_per_hour_max"], 90 * 2000);
    dir.command(["gate", "--report", "r.json", "--checks", "latency"])
        .run()
        .exit(0)
        .stdout_has("warning  latency");
    plan(&dir, &["--urls", "urls.txt"]).exit(0).stdout_has("latency assumed");
}

#[test]
fn more_connections_than_the_manifest_allows_are_told_by_the_gate() {
    let dir = Dir::new();
    dir.write("urls.txt", "https://a.example/1\n");
    dir.write(
        "m.yaml",
        "domain_overrides:\n  a.example: {max_requests_per_minute: 60, max_concurrency: 2}\n",
    );
    let gate = ["gate", "--report", "r.json", "--manifest", "m.yaml", "--checks", "concurrency"];
    plan(&dir, &["--urls", "urls.txt", "--manifest", "m.yaml"]).exit(0);
    dir.command(gate).run().exit(0);
    let typed = ["--urls", "urls.txt", "--manifest", "m.yaml", "--concurrency", "5"];
    plan(&dir, &typed).exit(0).stderr_has("5 connections are in use, the manifest allows 2");
    dir.command(gate).run().exit(1).stdout_has("5 connections are in use, the manifest allows 2");
    // Simulated with 2, crawled with 5: the gate proves nothing.
    plan(&dir, &["--urls", "urls.txt", "--manifest", "m.yaml"]).exit(0);
    dir.command(["gate", "--report", "r.json", "--checks", "concurrency"])
        .env("MAX_CONCURRENCY", "5")
        .run()
        .exit(1)
        .stdout_has("5 connections are in use, the simulation used 2");
}

#[test]
fn a_plan_of_what_is_new_among_a_thousand_urls_and_its_gate_take_less_than_a_second() {
    let dir = Dir::new();
    let list = |n: usize| (0..n).map(|i| format!("https://www.example.com/p/{i}\n")).collect::<String>();
    dir.write("old.txt", list(500)).write("new.txt", list(1000));
    let output =
        plan(&dir, &["--urls", "new.txt", "--diff-only", "--baseline-urls", "old.txt", "--concurrency", "3"]);
    output.exit(0).stdout_has("500 URLs queued");
    let gate = dir.command(["gate", "--report", "r.json", "--max-rpm", "120"]).run();
    gate.exit(0);
    // Without optimisation and on a busy machine: many times that.
    assert!(output.took + gate.took < Duration::from_secs(20), "{:?} and {:?}", output.took, gate.took);
}

#[test]
fn while_another_run_holds_the_folder_nothing_is_read_or_written() {
    let dir = Dir::new();
    dir.write("urls.txt", "https://a.example/1\n").write("lock", "");
    let lock = std::fs::File::open(dir.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let output = plan(&dir, &["--urls", "urls.txt", "--lock-file", "lock"]);
    output.exit(0).stderr_has("Another crawl gate is running.");
    assert!(output.stdout.is_empty(), "{}", output.told());
    assert!(dir.glob("crawl-artifacts/*").is_empty() && dir.glob("r.json").is_empty());
    plan(&dir, &["--urls", "urls.txt", "--lock-file", "lock", "--if-locked", "fail"]).exit(5);
}

#[test]
fn a_closed_pipe_is_quiet_and_a_full_disk_is_not() {
    let dir = Dir::new();
    dir.write("urls.txt", "https://shop.example.com/1\n").write("m.yaml", WORKED_MANIFEST);
    let args = ["simulate", "--urls", "urls.txt", "--manifest", "m.yaml"];
    dir.command(args).run_into_head().exit(0).stderr_is_empty();
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        dir.command(args).stdout_to(full).run().exit(5).stderr_has("standard output: cannot write");
        // Through a link, so that a fault cannot cost the machine its device.
        std::os::unix::fs::symlink("/dev/full", dir.path().join("full")).unwrap();
        dir.command(args.into_iter().chain(["--output", "full"]))
            .run()
            .exit(5)
            .stderr_has("full: cannot write");
    }
}
