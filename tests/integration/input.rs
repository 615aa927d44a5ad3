//! What is asked of the lines through the built program: filters, rejects, clients, and what is said of odd logs.
//!
//! Example: `--filter status=5xx` leaves 3 of 12 records, and the history is that of a run without it.

use std::collections::BTreeMap;

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
