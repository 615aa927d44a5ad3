//! A history that an older program wrote stays readable. `testdata/history-1` was written by the first one, schema 1, and is never
//! written again: a column that is added later has to do without there.
//!
//! Example: `crawl-baseline recommend --history history` on it gives ceilings for Googlebot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::command::Dir;

const NOW: &str = "2026-03-12T02:00:00Z";

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/history-1")
}

/// A folder with a copy of the history and of the log that it was made from.
fn older() -> (Dir, BTreeMap<PathBuf, Vec<u8>>) {
    let dir = Dir::new();
    let pattern = format!("{}/history/**/*.parquet", testdata().display());
    let mut parts = BTreeMap::new();
    for path in glob::glob(&pattern).expect("a pattern").flatten() {
        let below = path.strip_prefix(testdata()).expect("below").to_owned();
        let bytes = std::fs::read(&path).expect("a part");
        dir.write(below.to_str().expect("text"), &bytes);
        parts.insert(below, bytes);
    }
    assert_eq!(parts.len(), 12, "{:?}", parts.keys());
    dir.write("access.log", std::fs::read(testdata().join("access.log")).expect("its log"));
    (dir, parts)
}

#[test]
fn a_history_of_the_first_schema_is_whole_and_gives_ceilings() {
    let (dir, _) = older();
    dir.command(["history", "check", "--history", "history"]).run().exit(0).stdout_has("nothing is wrong");
    dir.command(["recommend", "--history", "history", "--now", NOW]).run().exit(0).stderr_is_empty();
    let manifest = std::fs::read_to_string(dir.path().join("crawl-artifacts/throttle_manifest.yaml"));
    let manifest = manifest.expect("a manifest");
    assert!(manifest.contains("Googlebot:") && manifest.contains("AcmeAuditBot:"), "{manifest}");
}

#[test]
fn its_log_is_known_and_one_that_has_grown_replaces_it() {
    let (dir, parts) = older();
    let run = || {
        let args = ["analyze", "access.log", "--history", "history", "--now", NOW, "--output-json", "-"];
        dir.command(args).run().exit(0).json()
    };
    let found = run();
    let bot = &found["hosts"]["(default)"]["bots"]["Googlebot"];
    assert_eq!((&found["totals"]["records"], &bot["requests"]), (&184.into(), &80.into()));
    for (below, bytes) in parts.iter().filter(|(below, _)| !below.starts_with("history/ceilings")) {
        assert!(std::fs::read(dir.path().join(below)).expect("a part") == *bytes, "{}", below.display());
    }
    let mut log = std::fs::read(dir.path().join("access.log")).expect("a log");
    let last = log.split_inclusive(|byte| *byte == b'\n').next_back().expect("lines").to_vec();
    log.extend(last);
    dir.write("access.log", log);
    assert_eq!(run()["totals"]["records"], 185);
    let sources = dir.glob("history/sources/*/*.parquet");
    assert_eq!(sources.len(), 1, "{sources:?}");
    dir.command(["history", "check", "--history", "history"]).run().exit(0);
}
