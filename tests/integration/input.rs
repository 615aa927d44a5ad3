//! What is asked of the lines through the built program: filters, rejects, clients, and what is said of odd logs.
//!
//! Example: `--filter status=5xx` leaves 3 of 12 records, and the history is that of a run without it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::Value;

use crate::command::{Dir, Output};

const NOW: &str = "2026-03-11T02:00:00Z";

/// Twelve records of three clients, two hosts and four statuses, one reject, one blank line.
fn log() -> String {
    let mut text = String::new();
    for i in 0..12 {
        let (host, status) = (["a.example", "b.example"][i % 2], [200, 404, 500, 503][i % 4]);
        let agent =
            ["GPTBot/1.0", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "-"]
                [i % 3];
        text += &format!(
            "{host}:443 192.0.2.{i} - - [10/Mar/2026:06:{i:02}:14 +0000] \"GET /p/{i}?q=1 HTTP/1.1\" {status} 5 \"-\" \"{agent}\"\n"
        );
    }
    text + "\nnot a line of a log\n"
}

fn analyze(dir: &Dir, args: &[&str]) -> Output {
    dir.command([&["analyze", "--now", NOW, "--output-json", "-"], args].concat()).run()
}

fn number(json: &Value, at: &str) -> u64 {
    json.pointer(at).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number at {at}"))
}

/// Every part but those of `runs` and `ceilings`, by path.
fn parts(dir: &Dir) -> BTreeMap<String, Vec<u8>> {
    let found = dir.glob("crawl-artifacts/history/*/date=*/*.parquet").into_iter();
    found
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a part")))
        .map(|(path, bytes)| (path.split("/history/").nth(1).expect("below it").to_owned(), bytes))
        .filter(|(path, _)| !path.starts_with("runs/"))
        .collect()
}

#[test]
fn filters_shape_the_baseline_and_never_the_history() {
    let whole = Dir::new();
    whole.write("a.log", log());
    analyze(&whole, &["a.log"]).exit(0);
    for (filters, records) in [
        (&["status=5xx"][..], 6),
        (&["status!=200"], 9),
        (&["host=A.EXAMPLE"], 6),
        (&["host=a.example", "status=404"], 0),
        (&["bot=GPTBot"], 4),
        (&["bot!=(people)"], 8),
        (&["user-agent=-"], 4),
        (&["url~^/p/1"], 3),
        (&["url~^/p/1", "method=GET", "bot=(people)"], 2),
    ] {
        let dir = Dir::new();
        dir.write("a.log", log());
        let args: Vec<&str> = filters.iter().flat_map(|f| ["--filter", f]).chain(["a.log"]).collect();
        for run in ["new", "known"] {
            let output = analyze(&dir, &args);
            let json = output.exit(if records == 0 { 3 } else { 0 }).json();
            assert_eq!(number(&json, "/totals/records"), records, "{filters:?} {run}");
            assert_eq!(number(&json, "/totals/filtered"), 12 - records, "{filters:?} {run}");
            assert_eq!(number(&json, "/totals/lines"), 14, "{filters:?} {run}");
            let shown: u64 = json["hosts"]
                .as_object()
                .into_iter()
                .flat_map(|hosts| hosts.values())
                .map(|host| host["requests"].as_u64().expect("a number"))
                .sum();
            assert_eq!(shown, records, "{filters:?} {run}");
        }
        let (mut ours, mut theirs) = (parts(&dir), parts(&whole));
        if records == 0 {
            // Without a record no ceilings are recommended.
            ours.retain(|path, _| !path.starts_with("ceilings"));
            theirs.retain(|path, _| !path.starts_with("ceilings"));
        }
        assert_eq!(ours, theirs, "{filters:?}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("a vector takes every byte");
    encoder.finish().expect("a vector takes every byte")
}

#[test]
fn every_reject_is_written_under_its_number_whatever_the_threads_do() {
    // Several blocks, with rejects in all of them; a container's lines shift the numbers.
    let mut text = String::new();
    let mut want = Vec::new();
    for i in 1..=24_000 {
        if i % 97 == 0 {
            let _ = writeln!(text, "junk\t{i} \u{1b}[2J \u{202e}");
            want.push(format!("{i}\tnot_this_format\tjunk\\x09{i} \\x1B[2J \\u{{202E}}"));
        } else if i % 1009 == 0 {
            let _ = writeln!(text, "192.0.2.1 - - [31/Feb/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 1");
            want.push(format!(
                "{i}\tbad_time\t192.0.2.1 - - [31/Feb/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 1"
            ));
        } else {
            let target = "x".repeat(100);
            let _ = writeln!(
                text,
                "192.0.2.1 - - [10/Mar/2026:06:25:14 +0000] \"GET /{target} HTTP/1.1\" 200 1 \"-\" \"GPTBot/1.0\""
            );
        }
    }
    assert!(text.len() > 4 << 20, "several blocks");
    let dir = Dir::new();
    dir.write("a.log", &text).write("b.log.gz", gzip(&text.as_bytes()[..1_500_000])).write("c/a.log", &text);
    let run = |threads: &str, rejects: &str| {
        let args = ["--rejects", rejects, "--threads", threads, "--no-history", "--output-json", "b.json"];
        dir.command([&["analyze", "--now", NOW, "a.log", "b.log.gz", "c/a.log"], &args[..]].concat()).run()
    };
    run("1", "one.tsv").exit(0);
    let one = std::fs::read_to_string(dir.path().join("one.tsv")).expect("it was written");
    let json: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("b.json")).expect("JSON")).expect("JSON");
    let total: u64 =
        json["totals"]["rejects"].as_object().expect("rejects").values().filter_map(Value::as_u64).sum();
    assert_eq!(one.lines().count() as u64, total, "as many as the totals say");
    let ours: Vec<&str> = one.lines().filter_map(|l| l.strip_prefix("a.log\t")).collect();
    assert_eq!(ours, want);
    assert!(!one.contains("c/a.log"), "the same content is counted once");
    run("4", "four.tsv").exit(0);
    assert!(one == std::fs::read_to_string(dir.path().join("four.tsv")).expect("it was written"));
    let piped = run("2", "-");
    assert_eq!(String::from_utf8_lossy(&piped.exit(0).stdout), one);
    piped.stderr_has("Lines");
    // Told again of a log that the history knows.
    for _ in 0..2 {
        let output = dir.command(["analyze", "--now", NOW, "a.log", "-q", "--rejects", "-"]).run();
        assert_eq!(output.exit(0).stdout.iter().filter(|b| **b == b'\n').count(), want.len());
    }
}

#[test]
fn masked_clients_are_nowhere_and_are_checked_all_the_same() {
    let dir = Dir::new();
    dir.write(
        "ranges/googlebot.json",
        r#"{"creationTime":"2026-03-10T00:00:00","prefixes":[{"ipv4Prefix":"192.0.2.64/27"}]}"#,
    );
    let mut text = String::new();
    for i in 60..70 {
        let _ = writeln!(
            text,
            "203.0.113.{i}, 198.51.100.77 192.0.2.{i} - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \
             \"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\" \"203.0.113.{i}\""
        );
    }
    text += "192.0.2.77 - - \"GET / HTTP/1.1\" 200 5\n";
    dir.write("a.log", &text);
    let flags = ["--mask-clients", "--now", NOW, "a.log"];
    let parsed = dir.command([&["parse"], &flags[..]].concat()).run();
    let output = String::from_utf8_lossy(&parsed.exit(0).stdout).into_owned();
    for part in [
        r#""client":"192.0.2.0","client_chain":["203.0.113.0","198.51.100.0","192.0.2.0"]"#,
        r#""extra":["203.0.113.0"]"#,
    ] {
        assert_eq!(output.matches(part).count(), 10, "{part}");
    }
    let run = dir
        .command(
            [&["analyze", "--rejects", "-", "--ip-ranges", "ranges", "--output-json", "b.json"], &flags[..]]
                .concat(),
        )
        .run();
    run.exit(0).stdout_has("a.log\t11\tno_time\t192.0.2.0 - - \"GET");
    let json: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("b.json")).expect("JSON")).expect("JSON");
    let bot = json.pointer("/hosts/(default)/bots/Googlebot/verification").expect("the bot");
    assert_eq!((bot["verified"].as_u64(), bot["failed"].as_u64()), (Some(6), Some(4)));
    for file in dir.glob("crawl-artifacts/**/*").into_iter().filter(|p| p.is_file()) {
        let bytes = std::fs::read(&file).expect("it is there");
        assert!(!bytes.windows(10).any(|w| w == b"192.0.2.77"), "{}", file.display());
    }
    // Another setting for a source that is known.
    dir.command(["analyze", "--ip-ranges", "ranges", "--now", NOW, "a.log"])
        .run()
        .exit(2)
        .stderr_has("--mask-clients true");
}

#[test]
fn the_client_is_the_last_untrusted_and_nobody_else_can_say_so() {
    let dir = Dir::new();
    let line = |peer: &str, list: &str| {
        format!("{list} {peer} - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"Bot/1.0\"\n")
    };
    dir.write(
        "a.log",
        line("10.0.0.1", "66.249.66.1, 203.0.113.9, 10.0.0.2,") + &line("203.0.113.7", "66.249.66.1,"),
    );
    let trusted = ["--client", "last-untrusted", "--trusted-proxy", "10.0.0.0/8"];
    dir.command([&["parse", "a.log"], &trusted[..]].concat())
        .run()
        .exit(0)
        .stdout_has(r#""line":1,"kind":"record","format":"combined","prefix":null,"host":null,"vhost_port":null,"client":"203.0.113.9""#)
        .stdout_has(r#""client":"203.0.113.7""#);
    // The networks are a setting of what was counted, in any order.
    let analyze =
        |args: &[&str]| dir.command([&["analyze", "--now", NOW, "a.log"], &trusted[..], args].concat()).run();
    analyze(&["--trusted-proxy", "192.0.2.7"]).exit(0);
    dir.command(["analyze", "--now", NOW, "a.log", "--trusted-proxy", "192.0.2.7/32"].iter().chain(&trusted))
        .run()
        .exit(0);
    analyze(&[]).exit(2).stderr_has("--trusted-proxy 192.0.2.7/32");
}

#[test]
fn a_site_can_stand_in_the_path_and_the_latency_in_any_field() {
    let dir = Dir::new();
    let mut text = String::new();
    for (site, n) in [("shop", 3), ("blog", 2)] {
        for i in 0..n {
            let _ = writeln!(
                text,
                "192.0.2.1 - - [10/Mar/2026:06:2{i}:14 +0000] \"GET /sites/{site}/p HTTP/1.1\" 200 1 \"-\" \"GPTBot/1.0\" 0 25000"
            );
        }
    }
    text += "192.0.2.1 - - [10/Mar/2026:06:25:14 +0000] \"GET /robots.txt HTTP/1.1\" 200 1 \"-\" \"GPTBot/1.0\" 0 25000\n";
    dir.write("a.log", text);
    let flags = ["--host-from-path", "^/sites/([a-z]+)/", "--latency-field", "-1:us"];
    let json = analyze(&dir, &[&["a.log", "--host", "www.example.com"], &flags[..]].concat()).exit(0).json();
    let requests = |host: &str| json["hosts"][host]["requests"].as_u64();
    assert_eq!(
        (requests("shop"), requests("blog"), requests("www.example.com")),
        (Some(3), Some(2), Some(1))
    );
    assert_eq!(json.pointer("/hosts/shop/bots/GPTBot/latency_ms/max").and_then(Value::as_f64), Some(25.0));
    assert_eq!(json.pointer("/inputs/0/clock"), Some(&Value::from("start")), "%D is Apache's");
    dir.command([&["parse", "a.log"], &flags[..]].concat())
        .run()
        .stdout_has(r#""host":"shop""#)
        .stdout_has(r#""latency_ms":25,"#);
    // Filters see the same host.
    let filtered = analyze(&dir, &[&["a.log", "--no-history", "--filter", "host=blog"], &flags[..]].concat());
    assert_eq!(number(&filtered.exit(0).json(), "/totals/records"), 2);
}

#[test]
fn lines_that_docker_cut_are_one_line() {
    let request = r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] \"GET /p"#;
    let wrap = |log: &str, stream: &str| {
        format!("{{\"log\":\"{log}\",\"stream\":\"{stream}\",\"time\":\"2026-03-10T06:25:14.1Z\"}}\n")
    };
    let dir = Dir::new();
    let long = "x".repeat(16_000);
    let text = [
        wrap(request, "stdout"),
        wrap("note\\n", "stderr"),
        wrap(&long, "stdout"),
        wrap(r#" HTTP/1.1\" 200 5 \"-\" \"Bot/1.0\"\n"#, "stdout"),
        wrap(&format!(r#"{request} HTTP/1.1\" 200 5\n"#), "stdout"),
    ]
    .concat();
    dir.write("a-json.log", &text);
    let out = dir.command(["parse", "a-json.log"]).run();
    out.exit(0).stdout_has(r#""line":1,"kind":"record","format":"combined","prefix":"docker""#);
    out.stdout_has(r#""line":5,"kind":"record","format":"common","prefix":"docker""#);
    out.stdout_has(r#""line":2,"kind":"reject""#);
    // Over the borders of blocks, plain and packed.
    let many = text.repeat(300);
    assert!(many.len() > 4 << 20);
    dir.write("many.log", &many).write("many.log.gz", gzip(many.as_bytes()));
    for (file, threads) in [("many.log", "1"), ("many.log", "4"), ("many.log.gz", "1")] {
        let run = analyze(&dir, &[file, "--no-history", "--threads", threads, "--max-reject-share", "100"]);
        let json = run.exit(0).json();
        assert_eq!(number(&json, "/totals/records"), 600, "{file}");
        assert_eq!(number(&json, "/totals/joined_lines"), 600, "{file}");
        assert_eq!(number(&json, "/totals/lines"), 900, "{file}");
    }
    // Whoever drops the newline of every line has cut none.
    dir.write("dropped.log", wrap(&format!(r#"{request} HTTP/1.1\" 200 5"#), "stdout").repeat(50));
    let json = analyze(&dir, &["dropped.log", "--no-history"]).exit(0).json();
    assert_eq!((number(&json, "/totals/records"), number(&json, "/totals/joined_lines")), (50, 0));
}

#[test]
fn what_a_log_looks_like_is_said_and_remembered() {
    let combined = |client: &str, i: usize, behind: &str| {
        format!(
            "{client} - - [10/Mar/2026:06:{:02}:14 +0000] \"GET /{i} HTTP/1.1\" 200 1 \"-\" \"GPTBot/1.0\"{behind}\n",
            i % 60
        )
    };
    let dir = Dir::new();
    let proxied: String = (0..120).map(|i| combined("10.0.0.7", i, " rt=0.020")).collect();
    let edge = "#Fields: date time x-edge-location c-ip cs-method cs-uri-stem sc-status cs(User-Agent)\n\
                2026-03-10\t06:25:14\tFRA2\t192.0.2.1\tGET\t/\t200\tGPTBot/1.0\n";
    dir.write("logs/proxied.log", proxied).write("logs/edge.log", edge);
    // A file that was just written is read again; one that was left alone is not, and has the same remarks.
    for name in ["proxied.log", "edge.log"] {
        let file = std::fs::File::open(dir.path().join("logs").join(name)).expect("it is there");
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600))
            .expect("a time");
    }
    for read in [true, false] {
        let json = analyze(&dir, &["logs"]).exit(0).json();
        let codes: Vec<&str> =
            json["warnings"].as_array().expect("a list").iter().filter_map(|w| w["code"].as_str()).collect();
        assert!(codes.contains(&"edge_log") && codes.contains(&"proxy_addresses"), "{codes:?}");
        assert_eq!(json.pointer("/inputs/0/clock"), Some(&Value::from("end")));
        assert_eq!(json.pointer("/inputs/1/clock"), Some(&Value::from("end")));
        assert_eq!(json.pointer("/inputs/1/read"), Some(&Value::from(read)));
    }
    // Behind a list of which the proxies are known, nothing is wrong.
    let list: String = (0..120).map(|i| combined(&format!("203.0.113.{i}, 10.0.0.7"), i, "")).collect();
    dir.write("list.log", list);
    let args = ["list.log", "--no-history", "--client", "last-untrusted", "--trusted-proxy", "10.0.0.0/8"];
    assert!(!String::from_utf8_lossy(&analyze(&dir, &args).stdout).contains("proxy_addresses"));
}

/// `copytruncate` empties a log under a program that goes on at its old place.
#[test]
fn a_hole_in_a_log_costs_no_line_and_its_bytes_are_the_same_however_it_is_read() {
    let lines = |from: usize, to: usize| -> String {
        (from..to)
            .map(|i| format!("192.0.2.{i} - - [10/Mar/2026:06:{i:02}:14 +0000] \"GET /p/{i} HTTP/1.1\" 200 5 \"-\" \"GPTBot/1.0\"\n"))
            .collect()
    };
    let hole = "\0".repeat(3_500_000);
    let dir = Dir::new();
    dir.write("middle.log", format!("{}{hole}{}", lines(0, 3), lines(3, 9)));
    dir.write("logs/access.log", format!("{hole}{}", lines(0, 9)));
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(600);
    for name in ["middle.log", "logs/access.log"] {
        let file = std::fs::File::options().append(true).open(dir.path().join(name)).expect("just written");
        file.set_modified(old).expect("a file of our own");
    }
    let mut runs = vec![];
    for args in [
        &["middle.log"][..],
        &["middle.log", "--no-mmap"],
        &["middle.log", "--threads", "1"],
        &["middle.log", "--live"],
        &["logs"],
    ] {
        runs.push((args.join(" "), analyze(&dir, &[args, &["--no-history"]].concat()).exit(0).json()));
    }
    let middle = std::fs::read(dir.path().join("middle.log")).expect("just written");
    let args = ["analyze", "--now", NOW, "--output-json", "-", "--no-history", "-"];
    runs.push(("-".to_owned(), dir.command(args).stdin(middle).run().exit(0).json()));
    for (args, json) in runs {
        assert_eq!(number(&json, "/totals/records"), 9, "{args}");
        assert_eq!(number(&json, "/totals/lines"), 9, "{args}");
        assert_eq!(number(&json, "/totals/nul_bytes_skipped"), 3_500_000, "{args}");
    }
}
