//! What happens to the history and the artifacts between and during runs: recommended from again, checked, joined, pruned,
//! written by several programs at once, killed.
//!
//! Example: `kill -9` at any instant of a run, then the run again: the bytes of an undisturbed one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crawl_baseline::history::read::{History, Wanted};

use crate::command::Dir;
use crate::generator::{Layout, Options, Size, generate};

const NOW: &str = "2026-03-12T02:00:00Z";

fn log(options: &Options) -> Vec<u8> {
    let mut text = Vec::new();
    generate(options, &mut text).expect("a vector takes every byte");
    text
}

fn small(seed: u64) -> Options {
    Options { seed, size: Size::Lines(2_000), bots: 12, ..Options::default() }
}

/// All files of a history but those of `runs`, and no caches.
fn parts(output: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let pattern = format!("{}/history/*/date=*/*", output.display());
    glob::glob(&pattern)
        .expect("a pattern")
        .flatten()
        .filter(|path| !path.starts_with(output.join("history/runs")))
        .map(|path| {
            (path.strip_prefix(output).expect("below").to_owned(), std::fs::read(&path).expect("a part"))
        })
        .collect()
}

#[test]
fn recommend_after_analyze_gives_the_same_manifest_and_the_same_table_of_ceilings() {
    let dir = Dir::new();
    dir.write("a.log", log(&Options { minutes: 2880, size: Size::Lines(8_000), ..small(1) }));
    dir.command(["analyze", "a.log", "--now", NOW, "--enforce", "search-engine"]).run().exit(0);
    let newest = dir.path().join("crawl-artifacts/throttle_manifest.yaml");
    let analyzed = std::fs::read(&newest).expect("a manifest");
    let before = parts(&dir.path().join("crawl-artifacts"));
    assert!(before.keys().any(|p| p.starts_with("history/ceilings/date=2026-03-11")), "{:?}", before.keys());
    std::fs::remove_file(dir.path().join("a.log")).expect("the log is not needed");
    std::fs::remove_file(&newest).expect("the manifest is not needed");
    dir.command(["recommend", "--now", NOW, "--enforce", "search-engine"])
        .run()
        .exit(0)
        .stdout_has("_2.yaml");
    assert!(std::fs::read(&newest).expect("a manifest") == analyzed);
    assert!(parts(&dir.path().join("crawl-artifacts")) == before);

    // A run that lost input holds its ceilings, and so does what is recommended from it.
    let other = Dir::new();
    other.write("a.log", log(&small(1)));
    other.command(["analyze", "a.log", "missing.log", "--now", NOW]).run().exit(4);
    let newest = other.path().join("crawl-artifacts/throttle_manifest.yaml");
    let analyzed = std::fs::read(&newest).expect("a manifest");
    other.command(["recommend", "--now", NOW]).run().exit(0);
    assert!(std::fs::read(&newest).expect("a manifest") == analyzed);
    Dir::new().command(["recommend", "--now", NOW]).run().exit(3).stderr_has("holds no record");
}

#[test]
fn latencies_of_the_history_add_up_to_those_that_were_logged() {
    let dir = Dir::new();
    dir.write("a.log", log(&Options { layout: Layout::NginxRt, ..small(3) }));
    dir.command(["analyze", "a.log", "--now", NOW]).run().exit(0);
    let history = History::open(&dir.path().join("crawl-artifacts/history")).expect("a history");
    let window = history.read_window(0, 30_000, Wanted::all()).expect("a window");
    for day in &window.days {
        for (number, series) in (0_u32..).zip(&day.series) {
            let counted = day.latency.iter().filter(|l| l.series == number).map(|l| l.requests).sum::<u64>();
            let logged: u64 =
                day.minutes.iter().filter(|m| m.series == number).map(|m| m.latency_count).sum();
            assert_eq!(counted, logged, "{series:?}");
            let largest =
                day.minutes.iter().filter(|m| m.series == number).filter_map(|m| m.latency_ms_max).max();
            let bound = day.latency.iter().filter(|l| l.series == number).map(|l| l.latency_ms_le).max();
            assert!(bound >= largest, "{series:?}: {bound:?}, {largest:?}");
        }
        assert!(day.latency.iter().map(|l| l.requests).sum::<u64>() > 1000);
    }
}

#[test]
fn a_joined_history_is_checked_and_a_log_that_has_grown_is_replaced_in_it() {
    let (joined, plain) = (Dir::new(), Dir::new());
    let whole = log(&small(1));
    let half = whole[..whole.len() / 2].iter().rposition(|b| *b == b'\n').expect("lines") + 1;
    for dir in [&joined, &plain] {
        dir.write("a.log", &whole[..half]).write("b.log", log(&small(2)));
        dir.command(["analyze", "a.log", "b.log", "--now", "2026-03-13T02:00:00Z"]).run().exit(0);
    }
    let compact = ["history", "compact", "--now", "2026-03-13T02:00:00Z"];
    joined.command(compact).run().exit(0).stdout_has("10 parts joined to 5");
    joined.command(compact).run().exit(0).stdout_has("nothing to join");
    joined.command(["history", "check"]).run().exit(0).stdout_has("2 sources, 5 parts: nothing is wrong");
    for dir in [&joined, &plain] {
        dir.write("a.log", &whole);
        dir.command(["analyze", "a.log", "b.log", "--now", "2026-03-13T02:00:01Z"]).run().exit(0);
    }
    let of = |dir: &Dir| parts(&dir.path().join("crawl-artifacts"));
    assert!(of(&joined) == of(&plain));
    let part = joined.glob("crawl-artifacts/history/waste/*/*.parquet").pop().expect("a part");
    std::fs::write(&part, "no parquet").expect("damage");
    joined.command(["history", "check"]).run().exit(1).stdout_has("damaged: waste/date=2026-03-10/");
    joined.command(["artifacts", "verify", "--now", "2026-03-13T03:00:00Z"]).run().exit(1);
    // The remedy that is told works.
    joined.command(["analyze", "a.log", "b.log", "--now", "2026-03-13T02:00:02Z"]).run().exit(0);
    joined.command(["history", "check"]).run().exit(0);
    joined.command(["artifacts", "verify", "--now", "2026-03-13T03:00:00Z"]).run().exit(0);
    joined
        .command(["artifacts", "verify", "--now", "2026-03-14T03:00:00Z"])
        .run()
        .exit(1)
        .stdout_has("missing: 2026-03-14/baseline_");
}

#[test]
fn many_writers_of_one_history_take_no_lock_and_lose_nothing() {
    let (together, alone) = (Dir::new(), Dir::new());
    let mut writers = Vec::new();
    for seed in 1..=4 {
        let name = format!("{seed}.log");
        for dir in [&together, &alone] {
            dir.write(&name, log(&small(seed)));
        }
        let args = ["analyze", &name, "--history-only", "--history", "shared", "--now", NOW];
        writers.push(together.command(args).spawn());
    }
    for writer in writers {
        writer.wait().exit(0);
    }
    assert_eq!(together.glob("crawl-artifacts").len(), 0, "the history and nothing else");
    alone.command(["analyze", "1.log", "2.log", "3.log", "4.log", "--now", NOW]).run().exit(0);
    let of = |folder: PathBuf| -> BTreeMap<PathBuf, Vec<u8>> {
        let written = glob::glob(&format!("{}/*/date=*/*", folder.display())).expect("a pattern").flatten();
        written
            .filter(|p| !p.starts_with(folder.join("runs")) && !p.starts_with(folder.join("ceilings")))
            .map(|p| (p.strip_prefix(&folder).expect("below").to_owned(), std::fs::read(&p).expect("a part")))
            .collect()
    };
    let shared = of(together.path().join("shared"));
    assert!(shared.len() > 16 && shared == of(alone.path().join("crawl-artifacts/history")));
    assert_eq!(together.glob("shared/runs/*/*.parquet").len(), 4);
}

#[test]
fn killed_at_any_instant_nothing_is_damaged_and_the_next_run_gives_the_undisturbed_bytes() {
    // The number of instants, more by hand: KILLS=200 cargo test --test integration killed
    let kills: u64 = std::env::var("KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let logs: Vec<Vec<u8>> = (1..=3).map(|seed| log(&Options { minutes: 2880, ..small(seed) })).collect();
    let make = || {
        let dir = Dir::new();
        for (name, text) in ["a.log", "b.log", "c.log"].iter().zip(&logs) {
            dir.write(&format!("logs/{name}"), text);
        }
        // There is a history already: a run over the half of one log.
        let half = logs[0][..logs[0].len() / 2].iter().rposition(|b| *b == b'\n').expect("lines") + 1;
        dir.write("first/a.log", &logs[0][..half]);
        dir.command(["analyze", "first", "--now", "2026-03-12T01:00:00Z", "--quiet"]).run().exit(0);
        dir
    };
    let args = ["analyze", "logs", "--now", NOW, "--quiet"];
    let undisturbed = make();
    let took = undisturbed.command(args).run().exit(0).took;
    let of = |dir: &Dir| parts(&dir.path().join("crawl-artifacts"));
    let expected = of(&undisturbed);
    let micros = u64::try_from(took.as_micros()).expect("a short run").max(kills);
    let dir = make();
    let half_way = of(&dir);
    let mut killed = 0;
    for kill in 0..kills {
        let mut running = dir.command(args).spawn();
        std::thread::sleep(Duration::from_micros(micros * kill / kills + kill * 37 % 500));
        running.child.kill().expect("a child");
        let ended = running.wait();
        killed += u64::from(ended.code() == 137);
        let newest = std::fs::read(dir.path().join("crawl-artifacts/throttle_manifest.yaml"));
        assert!(newest.expect("a manifest").ends_with(b"\n"), "half a manifest");
        dir.command(["history", "check"]).run();
        // No part that is named is damaged for good, and no reader meets half a part.
        for path in dir.glob("crawl-artifacts/history/*/date=*/[!.]*.parquet") {
            let bytes = std::fs::read(&path).expect("a part");
            assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{}", path.display());
        }
        dir.command(args).run().exit(0);
        assert!(of(&dir) == expected, "kill {kill} of {kills}");
        dir.command(["history", "check"]).run().exit(0);
        assert_eq!(dir.glob("crawl-artifacts/**/.*.crawl-tmp"), Vec::<PathBuf>::new(), "kill {kill}");
        // Back to where it was.
        std::fs::remove_dir_all(dir.path().join("crawl-artifacts/history")).expect("a history");
        for (name, bytes) in &half_way {
            dir.write(&format!("crawl-artifacts/{}", name.display()), bytes);
        }
    }
    assert!(killed >= kills / 2, "{killed} of {kills} runs were killed before they ended");
}

#[test]
fn prune_keeps_what_is_young_weekly_named_or_in_use_and_an_old_log_does_not_come_back() {
    let dir = Dir::new();
    let day = |date: u32| {
        let start = 1_767_225_600 + i64::from(date - 1) * 86_400; // 2026-01-01
        log(&Options { start, minutes: 600, ..small(date.into()) })
    };
    for date in 1..=12 {
        let name = format!("logs/{date}.log");
        dir.write(&name, day(date));
        let now = format!("2026-01-{:02}T23:00:00Z", date);
        dir.command(["analyze", &name, "--now", &now, "--quiet"]).run().exit(0);
    }
    dir.write("crawl-artifacts/keep.txt", "2026-01-06/baseline_230000.json # the launch\n");
    let now = ["--now", "2026-05-01T00:00:00Z"];
    let folders = |dir: &Dir| -> Vec<String> {
        let found = dir.glob("crawl-artifacts/2026-*");
        found.iter().filter_map(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned()).collect()
    };
    let dates = |dir: &Dir| -> Vec<String> {
        let found = dir.glob("crawl-artifacts/history/minutes/date=*");
        found.iter().filter_map(|p| p.to_str()?.rsplit_once("date=")).map(|(_, d)| d.to_owned()).collect()
    };
    assert_eq!((folders(&dir).len(), dates(&dir).len()), (12, 12));
    dir.command([&["artifacts", "prune", "--dry-run"][..], &now].concat())
        .run()
        .exit(0)
        .stdout_has("would remove crawl-artifacts/2026-01-05")
        .stdout_has("would remove 8 dated folders and");
    assert_eq!((folders(&dir).len(), dates(&dir).len()), (12, 12));
    dir.command([&["artifacts", "prune"][..], &now].concat()).run().exit(0);
    // The newest of each week: Sunday the 4th and the 11th, and of the last the 12th, which also is the newest baseline.
    let left = ["2026-01-04", "2026-01-06", "2026-01-11", "2026-01-12"];
    assert_eq!(
        (folders(&dir), dates(&dir)),
        (left.map(str::to_owned).into(), left.map(str::to_owned).into())
    );
    dir.command(["history", "check"]).run().exit(0);
    dir.command([&["artifacts", "list"][..], &now].concat()).run().exit(0).stdout_has("4 sources, 4 dates");

    // The logs are read again: what was pruned stays away, an archive that nobody has seen is written.
    dir.write("logs/old.log", log(&Options { start: 1_735_689_600, minutes: 600, ..small(99) }));
    dir.command([&["analyze", "logs", "--quiet"][..], &now].concat()).run().exit(0);
    assert_eq!(dates(&dir), [&["2025-01-01"], &left[..]].concat());
    dir.write("crawl-artifacts/keep.txt", "the launch\n");
    dir.command([&["artifacts", "prune"][..], &now].concat()).run().exit(2).stderr_has("keep.txt:1");
}
