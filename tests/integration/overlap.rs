//! A log that begins with the lines that an older one ends with: they count once, where they stood first, whichever of
//! the two is read first, whatever the arguments are.
//!
//! Example: the last 20 lines of `access.log.1` are the first 20 of `access.log`, which has 120: 100 of them count.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::command::{Dir, Output};

const NOW: &str = "2026-03-12T02:00:00Z";

/// Lines of a morning, one a second, no two of them equal; every fiftieth is no record.
fn lines(numbers: std::ops::Range<u32>) -> String {
    numbers
        .map(|n| match n % 50 {
            49 => format!("no line of a log {n}\n"),
            _ => format!(
                "192.0.2.{} - - [10/Mar/2026:06:{:02}:{:02} +0000] \"GET /p/{n} HTTP/1.1\" 200 {n} \"-\" \"Googlebot/2.1\"\n",
                n % 200,
                n / 60 % 60,
                n % 60
            ),
        })
        .collect()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).expect("a vector takes every byte");
    packed.finish().expect("a vector takes every byte")
}

fn run(dir: &Dir, logs: &[&str]) -> Output {
    let options = ["--now", NOW, "--output-json", "-", "--output-dir", "out", "--max-reject-share", "100"];
    dir.command([&["analyze"], logs, &options[..]].concat()).run()
}

fn analyze(dir: &Dir, logs: &[&str]) -> Value {
    run(dir, logs).exit(0).json()
}

/// All parts but those of `runs` and of `ceilings`, which are about a window and not about a log.
fn counted(dir: &Dir) -> BTreeMap<PathBuf, Vec<u8>> {
    let tables = ["minutes", "status", "waste", "params", "bots", "sources"];
    tables
        .iter()
        .flat_map(|table| dir.glob(&format!("out/history/{table}/*/*.parquet")))
        .map(|path| {
            (path.strip_prefix(dir.path()).expect("below").to_owned(), std::fs::read(&path).expect("a part"))
        })
        .collect()
}

/// Lets all logs look as if they had been left alone for an hour, so that they need not be read twice.
fn settle(dir: &Dir, logs: &[&str]) {
    for log in logs {
        let file = std::fs::File::options().write(true).open(dir.path().join(log)).expect("it is there");
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("a time");
    }
}

#[test]
fn the_order_in_which_both_are_read_changes_nothing() {
    let make = || {
        let dir = Dir::new();
        dir.write("logs/access.log.1", lines(0..300)).write("logs/access.log", lines(280..400));
        settle(&dir, &["logs/access.log.1", "logs/access.log"]);
        dir
    };
    let together = make();
    let baseline = analyze(&together, &["logs"]);
    assert_eq!(baseline["totals"]["lines"], 400);
    assert_eq!(baseline["totals"]["overlap_bytes"], lines(280..300).len());
    assert_eq!(baseline["inputs"][0]["lines"], 100);
    // Lines have the numbers that they have in the file.
    assert_eq!(baseline["inputs"][0]["first_rejected_lines"][0]["line"], 70, "{}", baseline["inputs"][0]);
    together
        .command(["analyze", "logs", "--now", NOW, "--output-dir", "out", "--max-reject-share", "100"])
        .run()
        .exit(0)
        .stdout_has("bytes already in an older log");
    let expected = counted(&together);

    let (live, rotated) = ("logs/access.log", "logs/access.log.1");
    for order in [&[&[rotated][..], &[live]][..], &[&[live], &[rotated]], &[&[live], &[rotated], &["logs"]]] {
        let dir = make();
        for logs in order {
            analyze(&dir, logs);
        }
        assert!(counted(&dir) == expected, "{order:?}");
        dir.command(["history", "check", "--output-dir", "out"]).run().exit(0);
    }
}

#[test]
fn logs_that_never_met_are_named_and_mended_when_they_do() {
    let dir = Dir::new();
    dir.write("old/a.log", lines(0..300)).write("new/b.log", lines(290..400));
    settle(&dir, &["old/a.log", "new/b.log"]);
    assert_eq!(analyze(&dir, &["new"])["totals"]["lines"], 110);
    assert_eq!(analyze(&dir, &["old"])["totals"]["lines"], 300);
    dir.command(["history", "check", "--output-dir", "out"])
        .run()
        .exit(1)
        .stdout_has("its first 10 lines are the last of source");
    // The newer one is not new, and is read again for this.
    let baseline = analyze(&dir, &["new"]);
    assert_eq!(baseline["totals"]["lines"], 100);
    assert_eq!(baseline["totals"]["overlap_bytes"], lines(290..300).len());
    dir.command(["history", "check", "--output-dir", "out"]).run().exit(0);
    let mended = counted(&dir);
    // And not once more.
    let again = analyze(&dir, &["new"]);
    assert_eq!((&again["inputs"][0]["read"], &again["totals"]), (&Value::Bool(false), &baseline["totals"]));
    assert!(counted(&dir) == mended);

    let other = Dir::new();
    other.write("old/a.log", lines(0..300)).write("new/b.log", lines(290..400));
    analyze(&other, &["old", "new"]);
    assert!(counted(&other) == mended);
}

#[test]
fn the_older_one_is_found_beside_the_log_and_in_the_history() {
    // Beside it: packed, not among the arguments, no history.
    let dir = Dir::new();
    dir.write("access.log.1", gzip(&lines(0..300))).write("access.log", lines(250..400));
    let baseline = analyze(&dir, &["access.log", "--no-history"]);
    assert_eq!((&baseline["totals"]["lines"], &baseline["inputs"][1]), (&Value::from(100), &Value::Null));
    // A block that has more lines than are remembered is compared byte by byte.
    dir.write("access.log.1", gzip(&lines(0..1500))).write("access.log", lines(600..1600));
    let baseline = analyze(&dir, &["access.log", "--no-history"]);
    assert_eq!(baseline["totals"]["lines"], 100);
    assert_eq!(baseline["totals"]["overlap_bytes"], lines(600..1500).len());

    // In the history: the file is gone, and the log grows, rotates and is packed.
    let dir = Dir::new();
    dir.write("access.log", lines(0..300));
    analyze(&dir, &["access.log"]);
    let mut name = "access.log";
    for (next, end, pack) in
        [("access.log", 340, false), ("access.log", 500, false), ("access.log.1", 600, true)]
    {
        std::fs::remove_file(dir.path().join(name)).expect("it is there");
        let text = lines(280..end);
        dir.write(next, if pack { gzip(&text) } else { text.into_bytes() });
        let baseline = analyze(&dir, &[next]);
        assert_eq!(baseline["totals"]["lines"], end - 300);
        assert_eq!(baseline["totals"]["overlap_bytes"], lines(280..300).len());
        name = next;
    }
    assert_eq!(dir.glob("out/history/sources/*/*.parquet").len(), 2);
    // What cannot be read twice is counted, and named.
    let dir = Dir::new();
    dir.write("access.log", lines(0..300));
    analyze(&dir, &["access.log"]);
    let options = ["analyze", "-", "--now", NOW, "--output-dir", "out", "--max-reject-share", "100"];
    dir.command(options).stdin(lines(280..400)).run().exit(0);
    dir.command(["history", "check", "--output-dir", "out"]).run().exit(1).stdout_has("its first 20 lines");
}

#[test]
fn rejected_lines_live_logs_and_columns_that_were_named_before_are_those_of_the_whole_file() {
    let dir = Dir::new();
    dir.write("access.log.1", lines(0..300)).write("access.log", format!("{}cut", lines(280..400)));
    let baseline = analyze(&dir, &["access.log", "--live", "--rejects", "rejects"]);
    assert_eq!(
        (&baseline["totals"]["lines"], &baseline["totals"]["deferred_bytes"]),
        (&100.into(), &3.into())
    );
    let rejects = std::fs::read_to_string(dir.path().join("rejects")).expect("rejects");
    let numbers: Vec<&str> = rejects.lines().filter_map(|row| row.split('\t').nth(1)).collect();
    assert_eq!(numbers, ["70", "120"], "{rejects}");

    // The directive that says what the columns are stands in what is not counted.
    let w3c = |numbers: std::ops::Range<u32>| -> String {
        let fields = "#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
        numbers
            .map(|n| {
                let line = format!("2026-03-10 06:{:02}:{:02} 192.0.2.7 GET /p/{n} 200\n", n / 60, n % 60);
                if n % 100 == 0 { format!("{fields}{line}") } else { line }
            })
            .collect()
    };
    let dir = Dir::new();
    dir.write("w3c.log.1", w3c(0..230)).write("w3c.log", w3c(200..290));
    let baseline = analyze(&dir, &["w3c.log.1", "w3c.log"]);
    assert_eq!(baseline["totals"]["records"], 290, "{:#}", baseline["inputs"]);
}

#[test]
fn what_only_looks_like_it_is_counted() {
    let alike =
        "192.0.2.1 - - [10/Mar/2026:06:05:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"Googlebot/2.1\"\n";
    let pair = format!("{alike}{}", alike.replace("GET /", "GET /style.css"));
    for (what, older, newer) in [
        ("one request twice in one second", lines(0..300) + alike, alike.to_owned() + &lines(301..400)),
        ("two requests", lines(0..300) + &pair, pair.clone() + &lines(301..400)),
        ("one over and over", lines(0..300) + &alike.repeat(500), alike.repeat(500) + &lines(301..400)),
        ("not the end of the older one", lines(0..300) + alike, lines(280..400)),
        ("not the start of the newer one", lines(0..300), alike.to_owned() + &lines(280..400)),
        ("a last line without an end", lines(0..300).trim_end().to_owned(), lines(280..400)),
    ] {
        let dir = Dir::new();
        dir.write("access.log.1", &older).write("access.log", &newer);
        let baseline = analyze(&dir, &["access.log.1", "access.log", "--no-history"]);
        let expected = older.lines().count() + newer.lines().count();
        assert_eq!(baseline["totals"]["lines"], expected, "{what}");
        assert_eq!(baseline["totals"]["overlap_bytes"], 0, "{what}");
    }
}
