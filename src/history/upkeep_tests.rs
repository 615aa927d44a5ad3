//! Parts joined, taken apart, checked and pruned.
//!
//! Example: three sources of three dates, of which two dates are old.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::history::check::{Fault, check};
use crate::history::compact::{Compacted, compact, take_apart};
use crate::history::prune::{Pruned, prune};
use crate::history::read::{History, Wanted};
use crate::history::tests::{digests, entry, files, plain_tables};
use crate::history::write::write_source;
use crate::tally::table::{DayTables, LatencyRow, SourceTables};

const FIRST: i32 = 20_000;

fn tables(seed: u64) -> SourceTables {
    let mut tables = plain_tables(FIRST..FIRST + 3, 3, seed);
    for day in &mut tables.days {
        let row = |series, latency_ms_le| LatencyRow {
            series,
            hour: i64::from(day.date) * 24,
            latency_ms_le,
            requests: seed,
        };
        day.latency = vec![row(0, 16), row(0, 18), row(2, 16)];
    }
    tables
}

fn three_sources(folder: &Path) {
    for (name, seed) in [("a", 1), ("b", 2), ("c", 3)] {
        write_source(folder, entry(name, name.as_bytes()), &tables(seed), &BTreeSet::new()).unwrap();
    }
}

fn days(folder: &Path) -> Vec<DayTables> {
    let window = History::open(folder).unwrap().read_window(0, 30_000, Wanted::all()).unwrap();
    assert!(window.warnings.is_empty(), "{:?}", window.warnings);
    window.days
}

fn faults(folder: &Path) -> Vec<(Fault, String)> {
    let checked = check(&History::open(folder).unwrap()).unwrap();
    checked.findings.into_iter().map(|f| (f.fault, f.place)).collect()
}

fn is_part_of(name: &str, table: &str, date: &str) -> bool {
    name.starts_with(&format!("{table}/date={date}/"))
}

#[test]
fn joined_parts_give_the_same_rows_and_taken_apart_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    three_sources(folder.path());
    let (before, parts) = (days(folder.path()), files(folder.path()));

    // Today is the fourth date: the first is more than two days old, the second is not.
    let history = History::open(folder.path()).unwrap();
    let (done, troubles) = compact(&history, FIRST + 3).unwrap();
    assert_eq!((done, troubles.len()), (Compacted { before: 12, after: 4 }, 0));
    assert!(days(folder.path()) == before);
    assert_eq!(faults(folder.path()), []);
    let joined = files(folder.path());
    assert_eq!(joined.keys().filter(|n| is_part_of(n, "minutes", "2024-10-04")).count(), 1);
    assert_eq!(joined.keys().filter(|n| is_part_of(n, "minutes", "2024-10-05")).count(), 3);
    for source in ["a", "b", "c"] {
        let history = History::open(folder.path()).unwrap();
        assert!(history.is_whole(source));
        assert_eq!(
            history.read_source(source).unwrap().map(|d| d[0].minutes.len()),
            Some(tables(1).days[0].minutes.len())
        );
    }

    // Again, there is nothing to do; with a source more, the joined part is joined with its.
    let (done, _) = compact(&History::open(folder.path()).unwrap(), FIRST + 3).unwrap();
    assert_eq!(done, Compacted::default());
    assert!(files(folder.path()) == joined);
    write_source(folder.path(), entry("d", b"d"), &tables(4), &BTreeSet::new()).unwrap();
    let with_d = days(folder.path());
    compact(&History::open(folder.path()).unwrap(), FIRST + 3).unwrap();
    assert!(days(folder.path()) == with_d);
    assert_eq!(faults(folder.path()), []);

    // One of them is to be replaced: all have their own parts again, to the byte.
    let gone = take_apart(&History::open(folder.path()).unwrap(), &BTreeSet::from(["b".to_owned()])).unwrap();
    assert_eq!(gone.len(), 4);
    let apart = files(folder.path());
    for (name, bytes) in &parts {
        assert!(apart.get(name) == Some(bytes), "{name}");
    }
    assert_eq!(apart.keys().filter(|n| n.contains("joined-")).count(), 0);
    assert!(days(folder.path()) == with_d);
}

#[test]
fn joining_that_was_killed_is_done_by_the_next_call() {
    let (folder, undisturbed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for f in [&folder, &undisturbed] {
        three_sources(f.path());
    }
    let before = days(folder.path());
    let own = files(folder.path());
    compact(&History::open(undisturbed.path()).unwrap(), FIRST + 9).unwrap();
    let joined = files(undisturbed.path());
    // Killed after the joined parts and one of the rows: everything is there twice, and counts once.
    for (name, bytes) in joined.iter().filter(|(n, _)| n.contains("joined-") || n.ends_with("/a.parquet")) {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    assert!(days(folder.path()) == before);
    compact(&History::open(folder.path()).unwrap(), FIRST + 9).unwrap();
    assert!(days(folder.path()) == before);
    let orphans = faults(folder.path());
    assert!(
        orphans.iter().all(|(fault, name)| *fault == Fault::Orphan && own.contains_key(name)),
        "{orphans:?}"
    );
    for (_, name) in orphans {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert!(files(folder.path()) == joined);
}

#[test]
fn damage_orphans_and_two_ages_of_one_log_are_named() {
    let folder = tempfile::tempdir().unwrap();
    three_sources(folder.path());
    assert_eq!(faults(folder.path()), []);
    let path = |name: &str| folder.path().join(name);
    fs::write(path("minutes/date=2024-10-04/a.parquet"), "PAR1").unwrap();
    fs::remove_file(path("status/date=2024-10-05/b.parquet")).unwrap();
    fs::copy(path("bots/date=2024-10-05/b.parquet"), path("bots/date=2024-10-05/x.parquet")).unwrap();
    fs::copy(path("latency/date=2024-10-05/b.parquet"), path("latency/date=2024-10-05/c.parquet")).unwrap();
    let long: Vec<u8> = (0..90_000_u32).flat_map(u32::to_le_bytes).collect();
    for (name, length) in [("young", 300_000), ("old", 100_000)] {
        write_source(folder.path(), entry(name, &long[..length]), &tables(9), &BTreeSet::new()).unwrap();
    }
    assert_eq!(
        faults(folder.path()),
        [
            (Fault::Damaged, "latency/date=2024-10-05/c.parquet".to_owned()),
            (Fault::Damaged, "minutes/date=2024-10-04/a.parquet".to_owned()),
            (Fault::Damaged, "status/date=2024-10-05/b.parquet".to_owned()),
            (Fault::Orphan, "bots/date=2024-10-05/x.parquet".to_owned()),
            (Fault::Overlap, "source old".to_owned()),
        ]
    );
    let history = History::open(folder.path()).unwrap();
    assert!(!history.is_whole("a") && history.is_whole("young"));
    // What is damaged is not joined, and everything else is.
    let (done, troubles) = compact(&history, FIRST + 9).unwrap();
    assert_eq!((done.after, troubles.len()), (9, 3), "{troubles:?}");
}

#[test]
fn what_was_pruned_is_gone_and_remembered_and_a_row_goes_with_its_last_date() {
    let folder = tempfile::tempdir().unwrap();
    three_sources(folder.path());
    write_source(
        folder.path(),
        entry("old", b"old log"),
        &plain_tables(FIRST..FIRST + 1, 2, 5),
        &BTreeSet::new(),
    )
    .unwrap();
    compact(&History::open(folder.path()).unwrap(), FIRST + 4).unwrap();
    let (before, all) = (days(folder.path()), files(folder.path()));
    let old = BTreeSet::from([FIRST]);
    let would = prune(&History::open(folder.path()).unwrap(), &old, true).unwrap();
    assert!(files(folder.path()) == all);
    let removed = prune(&History::open(folder.path()).unwrap(), &old, false).unwrap();
    assert_eq!(removed, would);
    assert_eq!(
        removed.len(),
        5,
        "a joined part of each of four tables, and the row of the old one: {removed:?}"
    );
    assert!(days(folder.path()) == before[1..]);
    assert_eq!(faults(folder.path()), []);
    assert!(!folder.path().join("minutes/date=2024-10-04").exists());

    let pruned = Pruned::read(folder.path()).unwrap();
    let content = digests(b"old log");
    assert_eq!(pruned.gone(content.length(), content.content()), Some("old"));
    assert_eq!(pruned.gone(content.length() + 1, content.content()), None);
    assert_eq!((pruned.dates("a"), pruned.dates("old")), (old.clone(), BTreeSet::new()));
    assert_eq!(prune(&History::open(folder.path()).unwrap(), &old, false).unwrap().len(), 0);

    // Read again, the log of three dates brings back two.
    write_source(folder.path(), entry("a", b"a"), &tables(1), &pruned.dates("a")).unwrap();
    assert!(days(folder.path()) == before[1..]);
    let history = History::open(folder.path()).unwrap();
    assert!(history.is_whole("a") && history.read_source("a").unwrap().is_none(), "not all of it is there");
    fs::write(folder.path().join(".pruned"), "crawl-baseline pruned 1\nnonsense\n").unwrap();
    assert!(Pruned::read(folder.path()).unwrap_err().to_string().contains(".pruned:2:"));
}
