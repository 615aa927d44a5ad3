//! `analyze` on logs whose content is known: figures, the line equation, the same bytes on any thread count, and no
//! double count whatever happens to a log between two runs.
//!
//! Example: 30,000 generated lines with 2 per mille hard ones must give every bot its requests and its peak.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::command::Dir;
use crate::generator::{Layout, Options, Size, Truth, Variant, generate};
use crate::samples;

const NOW: &str = "2026-03-12T02:00:00Z";
/// Catalogue names: counted whatever their number.
const NAMED: [&str; 6] = ["Googlebot", "Bingbot", "GPTBot", "AhrefsBot", "ClaudeBot", "Applebot"];

fn log(options: &Options) -> (Vec<u8>, Truth) {
    let mut text = Vec::new();
    let truth = generate(options, &mut text).expect("a vector takes every byte");
    (text, truth)
}

fn baseline(dir: &Dir, args: &[&str]) -> Value {
    dir.command([&["analyze", "--now", NOW, "--output-json", "-"], args].concat()).run().exit(0).json()
}

fn number(value: &Value, pointer: &str) -> u64 {
    value
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no number at {pointer} in {value:#}"))
}

fn sum(value: &Value) -> u64 {
    value.as_object().map_or(0, |map| map.values().filter_map(Value::as_u64).sum())
}

fn by_name(value: &Value) -> BTreeMap<String, u64> {
    let map = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    map.iter().map(|(name, count)| (name.clone(), count.as_u64().expect("a count"))).collect()
}

fn assert_line_equation(totals: &Value) {
    let kinds = ["blank", "directive", "filtered", "records"].map(|kind| number(totals, &format!("/{kind}")));
    assert_eq!(number(totals, "/lines"), kinds.iter().sum::<u64>() + sum(&totals["rejects"]), "{totals:#}");
}

#[test]
fn a_generated_log_is_counted_as_it_was_generated() {
    let ordinary = Options { size: Size::Lines(30_000), minutes: 300, bots: 40, ..Options::default() };
    for options in [
        ordinary.clone(),
        Options { layout: Layout::VhostCombined, hosts: 5, ..ordinary.clone() },
        Options { layout: Layout::NginxRt, seed: 9, ..ordinary.clone() },
        Options { layout: Layout::Common, ..ordinary.clone() },
        Options { variant: Variant::HighCardinality, ..ordinary.clone() },
        Options { variant: Variant::RandomUserAgents, ..ordinary },
    ] {
        let (text, truth) = log(&options);
        let dir = Dir::new();
        dir.write("access.log", text);
        let found = baseline(&dir, &["access.log", "--no-history"]);
        let told = format!("{options:?}");

        let totals = &found["totals"];
        assert_line_equation(totals);
        for (key, expected) in [
            ("lines", truth.lines),
            ("blank", truth.blank),
            ("directive", truth.directive),
            ("records", truth.records),
            ("bytes_sum", truth.bytes_sum),
            ("bot_records", truth.bot_records),
            ("out_of_range", 0),
        ] {
            assert_eq!(number(totals, &format!("/{key}")), expected, "{key}, {told}");
        }
        let rejects: BTreeMap<String, u64> =
            truth.rejects.iter().map(|(r, n)| ((*r).to_owned(), *n)).collect();
        assert_eq!(by_name(&totals["rejects"]), rejects, "{told}");
        let status: BTreeMap<String, u64> =
            truth.bot_status.iter().map(|(s, n)| (s.to_string(), *n)).collect();
        assert_eq!(by_name(&found["status_distribution"]), status, "{told}");

        for (name, host) in &truth.hosts {
            let got = &found["hosts"][name];
            assert_eq!(number(got, "/requests"), host.load.requests, "{name}, {told}");
            assert_eq!(number(got, "/rpm/peak"), host.load.peak_rpm, "{name}, {told}");
            for (bot, load) in &host.bots {
                // Fewer than ten requests of a name that is in no catalogue are (other-declared).
                if bot.starts_with('(') || (load.requests < 10 && !NAMED.contains(&bot.as_str())) {
                    continue;
                }
                let got = &got["bots"][bot];
                assert_eq!(number(got, "/requests"), load.requests, "{bot} on {name}, {told}");
                assert_eq!(number(got, "/rpm/peak"), load.peak_rpm, "{bot} on {name}, {told}");
            }
        }
        for bot in NAMED.iter().filter(|bot| truth.bots.contains_key(**bot)) {
            assert_eq!(
                number(&found["rpm_by_bot"], &format!("/{bot}")),
                truth.bots[*bot].peak_rpm,
                "{bot}, {told}"
            );
        }
    }
}

#[test]
fn the_sample_logs_are_counted_as_they_were_made() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/logs").display().to_string();
    let dir = Dir::new();
    let found = baseline(&dir, &[&folder, "--no-history"]);
    let of = |count: fn(&Truth) -> u64| samples::all().iter().map(|sample| count(&sample.truth)).sum::<u64>();
    // What is added is written by hand at the end of access.log, see testdata/hard-lines.log.
    let totals = &found["totals"];
    assert_line_equation(totals);
    assert_eq!(number(totals, "/lines"), of(|truth| truth.lines) + 25);
    assert_eq!(number(totals, "/blank"), of(|truth| truth.blank) + 1);
    assert_eq!(number(totals, "/directive"), of(|truth| truth.directive) + 1);
    assert_eq!(number(totals, "/records"), of(|truth| truth.records) + 20);
    for (reason, by_hand) in [("torn_line", 1), ("unterminated_quote", 1), ("bad_bytes", 0)] {
        let made: u64 = samples::all().iter().filter_map(|sample| sample.truth.rejects.get(reason)).sum();
        assert_eq!(number(totals, &format!("/rejects/{reason}")), made + by_hand, "{reason}");
    }
    let hosts = found["hosts"].as_object().expect("hosts");
    let names: Vec<&str> = hosts.keys().map(String::as_str).collect();
    assert_eq!(names, ["(default)", "api.example.com", "shop.example.com", "www.example.com"]);
    for bot in NAMED {
        let got: u64 = hosts.values().filter_map(|host| host["bots"][bot]["requests"].as_u64()).sum();
        let made: u64 =
            samples::all().iter().filter_map(|s| s.truth.bots.get(bot)).map(|load| load.requests).sum();
        assert_eq!(got, made, "{bot}");
    }
}

#[test]
fn the_same_bytes_come_out_on_any_thread_count_and_in_any_order_of_files() {
    let dir = Dir::new();
    for (name, seed) in [("a.log", 1), ("b.log", 2), ("c.log", 3)] {
        dir.write(name, log(&Options { seed, size: Size::Lines(20_000), ..Options::default() }).0);
    }
    let run = |args: &[&str]| {
        let fixed = ["analyze", "--no-history", "--now", NOW, "--output-json", "-"];
        dir.command([&fixed, args].concat()).run().exit(0).stdout.clone()
    };
    let one = run(&["--threads", "1", "a.log", "b.log", "c.log"]);
    assert!(one.len() > 1000);
    for args in
        [["2", "a.log", "b.log", "c.log"], ["8", "c.log", "a.log", "b.log"], ["3", "b.log", "c.log", "a.log"]]
    {
        assert!(run(&[&["--threads"], &args[..]].concat()) == one, "--threads {}", args.join(" "));
    }
}

/// Every file of the history but `runs`, with its bytes.
fn history(dir: &Dir) -> BTreeMap<String, Vec<u8>> {
    let root = dir.path().join("crawl-artifacts/history");
    let files = dir.glob("crawl-artifacts/history/**/*.parquet");
    let named = files.iter().map(|path| path.strip_prefix(&root).expect("below").display().to_string());
    let all = named.zip(&files).filter(|(name, _)| !name.starts_with("runs/"));
    all.map(|(name, path)| (name, std::fs::read(path).expect("a part"))).collect()
}

#[test]
fn a_log_that_is_read_rotated_compressed_or_renamed_again_changes_nothing_in_the_history() {
    let dir = Dir::new();
    let (text, truth) = log(&Options { size: Size::Lines(5_000), hard_per_mille: 5, ..Options::default() });
    dir.write("logs/access.log", &text);
    let first = baseline(&dir, &["logs"]);
    let parts = history(&dir);
    assert!(parts.keys().any(|name| name.starts_with("minutes/date=2026-03-10/")), "{:?}", parts.keys());
    assert!(parts.keys().any(|name| name.starts_with("sources/date=2026-03-10/")), "{:?}", parts.keys());

    let check = |what: &str| {
        let again = baseline(&dir, &["logs"]);
        assert_eq!(number(&again, "/totals/records"), truth.records, "{what}");
        assert_eq!(again["hosts"], first["hosts"], "{what}");
        assert!(history(&dir) == parts, "the history changed: {what}");
    };
    check("again");
    let path = |name: &str| dir.path().join("logs").join(name);
    std::fs::rename(path("access.log"), path("access.log.1")).expect("renamed");
    check("rotated");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, &text).expect("a vector takes every byte");
    dir.write("logs/access.log.2.gz", gz.finish().expect("a vector takes every byte"));
    std::fs::remove_file(path("access.log.1")).expect("removed");
    check("compressed");
    std::fs::rename(path("access.log.2.gz"), path("no-extension")).expect("renamed");
    check("renamed");
}

#[test]
fn a_log_that_has_grown_replaces_what_it_was() {
    let (text, truth) = log(&Options { size: Size::Lines(5_000), ..Options::default() });
    let half = text[..text.len() / 2].iter().rposition(|byte| *byte == b'\n').expect("lines") + 1;
    let (grown, whole) = (Dir::new(), Dir::new());
    grown.write("a.log", &text[..half]);
    baseline(&grown, &["a.log"]);
    grown.write("a.log", &text);
    whole.write("a.log", &text);
    let (grown_found, whole_found) = (baseline(&grown, &["a.log"]), baseline(&whole, &["a.log"]));
    assert_eq!(number(&grown_found, "/totals/records"), truth.records);
    assert_eq!(grown_found["hosts"], whole_found["hosts"]);
    assert!(history(&grown) == history(&whole), "the history is not that of an undisturbed run");
}

#[test]
fn checksums_are_what_sha256sum_checks() {
    let dir = Dir::new();
    dir.write("a.log", log(&Options { size: Size::Lines(500), ..Options::default() }).0);
    baseline(&dir, &["a.log"]);
    let folder = dir.path().join("crawl-artifacts/2026-03-12");
    let mut sum = std::process::Command::new("sha256sum");
    let output = sum.args(["--check", "--strict", "checksums.txt"]).current_dir(folder).output();
    let output = output.expect("sha256sum is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        told.contains("baseline_020000.json: OK") && told.contains("throttle_manifest_020000.yaml: OK"),
        "{told}"
    );
}
