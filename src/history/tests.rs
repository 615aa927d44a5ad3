//! Parts written and read again: round trips, determinism, damage, replacement.
//!
//! Example: a source of two dates and three bots, generated.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::format::{Format, RejectReason};
use crate::history::part::PartPath;
use crate::history::read::{History, Wanted};
use crate::history::run::{RunInput, RunRow, write_run};
use crate::history::schema::Table;
use crate::history::settings::Settings;
use crate::history::source_row::{Identity, SourceEntry};
use crate::history::write::{Written, write_source};
use crate::source::identity::{Digester, Digests};
use crate::tally::distinct::{Distinct, stable_hash};
use crate::tally::edges::Edges;
use crate::tally::table::{
    BotRow, Coverage, DayTables, LatencyRow, LineCounts, MinuteRow, ParamRow, Series, SourceTables,
    StatusRow, Verification, WasteRow,
};

pub(super) fn digests(content: &[u8]) -> Digests {
    let mut digester = Digester::new(Vec::new());
    digester.update(content);
    digester.finish()
}

pub(super) fn entry(name: &str, content: &[u8]) -> SourceEntry {
    SourceEntry {
        source: name.to_owned(),
        identity: Identity::from(&digests(content)),
        settings: Settings::new(vec![("host".to_owned(), "www.example.com".to_owned())]),
        recorded: vec![("catalogue".to_owned(), "0.1.0".to_owned())],
        replaces: Vec::new(),
        clock: Some("end".to_owned()),
        live: false,
        damaged: false,
        overlap_source: Some("5d1f0a3c9be27744".to_owned()),
        edges: Edges {
            first: vec![1, u64::MAX],
            last: vec![7],
            first_since: Some(1_773_100_800),
            last_since: None,
        },
        overflow: Vec::new(),
    }
}

fn series(host: usize, bot: usize, verification: Verification) -> Series {
    Series {
        host: format!("h{host}.example"),
        bot: format!("Bot{bot}"),
        verification,
        family: format!("Family{}", bot / 2),
        operator: if bot == 3 { String::new() } else { format!("Op{bot}") },
        category: "search-engine".to_owned(),
    }
}

fn sketch(seed: u64, n: u64) -> Distinct {
    let mut d = Distinct::default();
    (0..n).for_each(|i| d.insert(stable_hash(&(seed * 1000 + i).to_le_bytes())));
    d
}

/// A minute whose counts follow from a seed and are consistent.
fn minute(series: u32, minute: i64, seed: u64) -> MinuteRow {
    let h = |salt: u64, below: u64| stable_hash(&(seed * 64 + salt).to_le_bytes()) % below;
    let mut seconds = BTreeMap::new();
    for i in 0..=h(0, 6) {
        *seconds.entry(u8::try_from(h(10 + i, 60)).unwrap()).or_insert(0) += 1 + h(20, 4);
    }
    let seconds: Vec<(u8, u64)> = seconds.into_iter().collect();
    let requests = seconds.iter().map(|s| s.1).sum();
    let latency_count = h(1, 2) * requests;
    let mut row = MinuteRow {
        series,
        minute,
        requests,
        bytes_sum: requests * h(2, 90_000),
        seconds,
        latency_count,
        latency_ms_sum: latency_count * h(3, 500),
        latency_ms_max: (latency_count > 0).then(|| h(3, 500)),
        cached_count: h(4, 2),
        path_static_requests: h(5, 2),
        partial: h(6, 30) == 0,
        ..MinuteRow::default()
    };
    row.classes[1] = requests;
    row.codes[usize::try_from(h(7, 8)).unwrap()] = h(8, 3);
    row
}

fn arbitrary_day(date: i32) -> impl Strategy<Value = DayTables> {
    let keys = prop::collection::btree_set((0..2_usize, 0..4_usize, 0..3_usize), 1..6);
    (keys, prop::collection::btree_set((0..6_u32, 0..1440_i64), 1..60), any::<u64>()).prop_map(
        move |(keys, cells, seed)| {
            let seed = seed >> 20;
            let mut all: Vec<Series> =
                keys.into_iter().map(|(h, b, v)| series(h, b, Verification::ALL[v])).collect();
            all.sort_by(|a, b| a.key().cmp(&b.key()));
            let n = u32::try_from(all.len()).unwrap();
            let cells: BTreeSet<(u32, i64)> = cells.into_iter().map(|(s, m)| (s % n, m)).collect();
            let statuses = [None, Some(0), Some(200), Some(404), Some(999)];
            let per_series = |k: u64| (0..n).flat_map(move |s| (0..k).map(move |i| (s, i)));
            DayTables {
                date,
                minutes: (0_u64..)
                    .zip(&cells)
                    .map(|(i, (s, m))| minute(*s, i64::from(date) * 1440 + m, seed + i))
                    .collect(),
                status: per_series(5)
                    .map(|(series, i)| StatusRow {
                        series,
                        status: statuses[usize::try_from(i).unwrap()],
                        requests: seed % 100 + i,
                        bytes_sum: seed,
                    })
                    .collect(),
                waste: per_series(seed % 4)
                    .map(|(series, i)| WasteRow {
                        series,
                        url_key: format!("/p{i}?a=\u{e9}\\xFF"),
                        status: 404,
                        hits: i + 1,
                        bytes_sum: i,
                        url_sample: format!("/p{i}?a=1"),
                    })
                    .collect(),
                latency: per_series(seed % 3)
                    .map(|(series, i)| LatencyRow {
                        series,
                        hour: i64::from(date) * 24 + 3,
                        latency_ms_le: 18 + i,
                        requests: i + 1,
                    })
                    .collect(),
                params: (0..seed % 3)
                    .map(|i| ParamRow {
                        host: format!("h{}.example", i / 2),
                        parameter: format!("p{i}"),
                        hits: seed % 50 + i,
                        distinct: sketch(seed, i * 30),
                        sampled_one_in: 1 << (seed % 4),
                    })
                    .collect(),
                bots: (0..n)
                    .map(|series| BotRow {
                        series,
                        urls: sketch(seed, u64::from(series) * 40),
                        user_agents: sketch(seed, 1),
                        samples: vec![("Mozilla/5.0".to_owned(), 3), ("Q".to_owned(), seed % 7)],
                        variants: if series == 0 { vec![("desktop".to_owned(), 1)] } else { Vec::new() },
                        failing_prefixes: vec![("192.0.2.0/24".to_owned(), 2)],
                    })
                    .collect(),
                series: all,
            }
        },
    )
}

fn arbitrary_tables() -> impl Strategy<Value = SourceTables> {
    let days = prop::collection::btree_set(20_000..20_005, 0..3)
        .prop_flat_map(|dates| dates.into_iter().map(arbitrary_day).collect::<Vec<_>>());
    (days, any::<u32>()).prop_map(|(days, n)| tables(days, u64::from(n)))
}

pub(super) fn tables(days: Vec<DayTables>, n: u64) -> SourceTables {
    SourceTables {
        counts: LineCounts {
            lines: n * 3 + 4,
            blank: n,
            directive: 1,
            records: n * 2,
            rejects: BTreeMap::from([(RejectReason::TornLine, 1), (RejectReason::NoTime, 2)]),
            out_of_range: 7,
            deferred_bytes: 8,
            ..LineCounts::default()
        },
        formats: BTreeMap::from([(Format::Combined, n), (Format::VhostCommon, n)]),
        flags: BTreeMap::from([("quote_repair", 3)]),
        coverage: days
            .iter()
            .map(|d| {
                let first = i64::from(d.date) * 86_400 + 5;
                Coverage { date: d.date, first, last: first + 80_000 }
            })
            .collect(),
        first_date: days.first().map(|d| d.date),
        first_rejected_lines: vec![(4, RejectReason::NoTime), (9, RejectReason::TornLine)],
        days,
    }
}

/// A source with these numbers of bots and dates, a minute row every tenth minute.
pub(super) fn plain_tables(dates: std::ops::Range<i32>, bots: usize, seed: u64) -> SourceTables {
    let days = dates
        .map(|date| {
            let all: Vec<Series> = (0..bots).map(|b| series(0, b, Verification::NotCheckable)).collect();
            let numbers = 0..u32::try_from(bots).unwrap();
            DayTables {
                date,
                minutes: numbers
                    .clone()
                    .flat_map(|s| (0..144).map(move |m| (s, m)))
                    .map(|(s, m)| minute(s, i64::from(date) * 1440 + m * 10, seed + u64::from(s)))
                    .collect(),
                status: numbers
                    .clone()
                    .map(|series| StatusRow { series, status: Some(200), requests: 9, bytes_sum: 1 })
                    .collect(),
                waste: Vec::new(),
                latency: Vec::new(),
                params: Vec::new(),
                bots: numbers
                    .map(|series| BotRow {
                        series,
                        urls: Distinct::default(),
                        user_agents: Distinct::default(),
                        samples: Vec::new(),
                        variants: Vec::new(),
                        failing_prefixes: Vec::new(),
                    })
                    .collect(),
                series: all,
            }
        })
        .collect();
    tables(days, 100)
}

fn write(history: &Path, name: &str, content: &[u8], tables: &SourceTables) -> Written {
    write_source(history, entry(name, content), tables, &BTreeSet::new()).unwrap()
}

/// Every file of a folder with its bytes.
pub(super) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn collect(root: &Path, folder: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, out);
            } else {
                out.insert(path.strip_prefix(root).unwrap().display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    if folder.is_dir() {
        collect(folder, folder, &mut out);
    }
    out
}

fn read_all(history: &Path) -> (Vec<DayTables>, Vec<String>) {
    let window = History::open(history).unwrap().read_window(-1, 30_000, Wanted::all()).unwrap();
    (window.days, window.warnings.iter().map(ToString::to_string).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_was_written_is_read_back_and_the_same_tables_give_the_same_bytes(tables in arbitrary_tables()) {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let written = write(a.path(), "abc", b"some log", &tables);
        write(b.path(), "abc", b"some log", &tables);
        write(b.path(), "abc", b"some log", &tables);
        prop_assert!(files(a.path()) == files(b.path()));

        let history = History::open(a.path()).unwrap();
        prop_assert_eq!(history.sources().get("abc"), Some(&written.row));
        prop_assert!(history.warnings().is_empty());
        let window = history.read_window(0, 30_000, Wanted::all()).unwrap();
        prop_assert!(window.warnings.is_empty(), "{:?}", window.warnings);
        prop_assert_eq!(&window.days, &tables.days);
        let coverage: Vec<Coverage> = window.coverage.into_iter().map(|c| c.1).collect();
        prop_assert_eq!(coverage, tables.coverage);

        let pruned = history.read_window(0, 30_000, Wanted { status: true, ..Wanted::default() }).unwrap();
        for (pruned, day) in pruned.days.iter().zip(&tables.days) {
            prop_assert_eq!(&pruned.status, &day.status);
            prop_assert_eq!(&pruned.series, &day.series);
            prop_assert!(pruned.minutes.is_empty() && pruned.bots.is_empty() && pruned.waste.is_empty());
        }
    }

    #[test]
    fn a_window_is_the_sum_of_its_sources_in_any_order(a in arbitrary_day(20_000), b in arbitrary_day(20_000)) {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (a, b) = (tables(vec![a], 1), tables(vec![b], 2));
        write(one.path(), "a", b"first log", &a);
        write(one.path(), "b", b"second log", &b);
        write(other.path(), "b", b"second log", &b);
        write(other.path(), "a", b"first log", &a);
        prop_assert!(files(one.path()) == files(other.path()));
        let (days, warnings) = read_all(one.path());
        prop_assert!(warnings.is_empty());
        let sum = |days: &[DayTables]| -> u64 { days.iter().flat_map(|d| &d.minutes).map(|m| m.requests).sum() };
        let by_second = |days: &[DayTables]| -> u64 {
            days.iter().flat_map(|d| &d.minutes).flat_map(|m| &m.seconds).map(|s| s.1).sum()
        };
        prop_assert_eq!(sum(&days), sum(&a.days) + sum(&b.days));
        prop_assert_eq!(by_second(&days), sum(&days));
        let status = |days: &[DayTables]| -> u64 { days.iter().flat_map(|d| &d.status).map(|s| s.requests).sum() };
        prop_assert_eq!(status(&days), status(&a.days) + status(&b.days));
        let swapped = super::merge::merge_days([b.days.clone(), a.days.clone()].concat());
        prop_assert_eq!(&days, &vec![swapped]);
    }
}

#[test]
fn a_count_beyond_2_to_the_63_is_an_error_that_names_part_and_column_and_writes_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = plain_tables(20_000..20_001, 1, 1);
    tables.days[0].minutes[3].bytes_sum = 1 << 63;
    let e = write_source(folder.path(), entry("abc", b"x"), &tables, &BTreeSet::new()).unwrap_err();
    assert_eq!(e.exit().code(), 5);
    assert_eq!(
        e.to_string(),
        "minutes/date=2024-10-04/abc.parquet: cannot store `bytes_sum`: 9223372036854775808 is beyond 2^63-1"
    );
    assert_eq!(files(folder.path()).len(), 0);
}

/// As versions before the table `params` wrote it: no part of it, and no row that names one.
#[test]
fn a_history_without_the_table_of_parameters_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let tables = plain_tables(20_000..20_002, 2, 1);
    write(folder.path(), "a", b"old", &tables);
    assert!(!folder.path().join("params").exists());
    let (days, warnings) = read_all(folder.path());
    assert_eq!((days, warnings), (tables.days, Vec::new()));
    let history = History::open(folder.path()).unwrap();
    assert!(history.is_whole("a") && history.read_source("a").unwrap().is_some());
}

#[test]
fn a_source_without_dated_records_is_under_1970() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "abc", b"# nothing", &tables(Vec::new(), 0));
    let names: Vec<String> = files(folder.path()).into_keys().collect();
    assert_eq!(names, ["sources/date=1970-01-01/abc.parquet"]);
    assert_eq!(History::open(folder.path()).unwrap().sources().len(), 1);
}

#[test]
fn a_source_read_again_replaces_its_parts_and_removes_those_that_are_named_no_more() {
    let (folder, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), "other", b"other", &plain_tables(20_000..20_002, 1, 5));
    // First without a dated record, then of three dates, then reclassified to two.
    write(folder.path(), "abc", b"# n", &tables(Vec::new(), 0));
    write(folder.path(), "abc", b"# nothing", &plain_tables(20_000..20_003, 3, 1));
    let last = write(folder.path(), "abc", b"# nothing", &plain_tables(20_001..20_003, 2, 2));
    assert_eq!(
        last.removed.len(),
        4,
        "the sources part of the first date and its three parts: {:?}",
        last.removed
    );
    write(fresh.path(), "abc", b"# nothing", &plain_tables(20_001..20_003, 2, 2));
    write(fresh.path(), "other", b"other", &plain_tables(20_000..20_002, 1, 5));
    assert!(files(folder.path()) == files(fresh.path()));
}

#[test]
fn a_replaced_source_is_ignored_and_its_parts_are_removed_even_when_the_run_that_replaced_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let short = plain_tables(20_000..20_001, 1, 1);
    write(folder.path(), "short", b"short", &short);
    let before = files(folder.path());
    let long = plain_tables(20_000..20_002, 2, 1);
    let mut replacing = entry("long", b"short and more");
    replacing.replaces = vec!["short".to_owned()];
    let written = write_source(folder.path(), replacing, &long, &BTreeSet::new()).unwrap();
    assert_eq!(written.removed.len(), 4);
    assert_eq!(read_all(folder.path()), (long.days.clone(), Vec::new()));
    // Killed before the removal: the old parts are still there.
    let clean = files(folder.path());
    for (name, bytes) in before {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    assert_eq!(read_all(folder.path()), (long.days, Vec::new()));
    let history = History::open(folder.path()).unwrap();
    assert_eq!(history.replaced().keys().collect::<Vec<_>>(), ["short"]);
    assert_eq!(history.tidy().unwrap().len(), 4);
    assert!(files(folder.path()) == clean);
}

#[test]
fn garbage_leftovers_and_orphans_are_named_or_ignored_and_the_rest_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (plain_tables(20_000..20_002, 2, 1), plain_tables(20_000..20_001, 1, 9));
    write(folder.path(), "a", b"a", &a);
    write(folder.path(), "b", b"b", &b);
    let (whole, none) = read_all(folder.path());
    assert_eq!(none, Vec::<String>::new());
    let at = |name: &str| folder.path().join(name);

    // No row names it, or it is no part at all.
    fs::copy(at("minutes/date=2024-10-04/a.parquet"), at("minutes/date=2024-10-04/orphan.parquet")).unwrap();
    fs::write(at("minutes/date=2024-10-04/.a.parquet.elsewhere.0.1.2.3.crawl-tmp"), "PAR1").unwrap();
    fs::write(at("sources/date=2024-10-04/.a.parquet.elsewhere.0.1.2.3.crawl-tmp"), "PAR1").unwrap();
    fs::write(at("sources/README"), "no folder of a date").unwrap();
    assert_eq!(read_all(folder.path()), (whole, Vec::new()));

    // One flipped bit, a cut part, a part that is gone, a row that is garbage.
    let flipped = at("minutes/date=2024-10-05/a.parquet");
    let mut bytes = fs::read(&flipped).unwrap();
    bytes[200] ^= 4;
    fs::write(&flipped, bytes).unwrap();
    let cut = at("status/date=2024-10-05/a.parquet");
    fs::write(&cut, &fs::read(&cut).unwrap()[..300]).unwrap();
    fs::remove_file(at("minutes/date=2024-10-04/b.parquet")).unwrap();
    fs::write(at("sources/date=2024-10-04/garbage.parquet"), "PAR1 and nothing else PAR1").unwrap();
    let history = History::open(folder.path()).unwrap();
    assert_eq!(history.warnings().len(), 1);
    assert!(history.warnings()[0].to_string().contains("garbage.parquet"), "{:?}", history.warnings());
    let window = history.read_window(0, 30_000, Wanted::all()).unwrap();
    assert_eq!(window.warnings.len(), 3, "{:?}", window.warnings);
    for warning in window.warnings.iter().chain(history.warnings()) {
        assert_eq!(warning.exit().code(), 4);
        assert!(warning.remedy().unwrap().contains("analyze its log again"), "{warning:?}");
    }
    assert_eq!(window.days[0].minutes, a.days[0].minutes);
    assert_eq!((window.days[1].minutes.len(), window.days[1].status.len()), (0, 0));
    assert_eq!(window.days[1].bots, a.days[1].bots);
}

#[test]
fn parts_of_a_run_that_was_killed_before_its_row_are_said_and_never_counted_twice() {
    let (folder, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (young, old) = (plain_tables(20_000..20_002, 2, 1), plain_tables(20_000..20_001, 1, 1));
    write(folder.path(), "a", b"log", &old);
    write(killed.path(), "a", b"log, grown", &young);
    for (name, bytes) in files(killed.path()) {
        if !name.starts_with("sources") && !name.starts_with("status") {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    let (days, warnings) = read_all(folder.path());
    assert_eq!(days.len(), 1);
    assert_eq!(days[0].minutes, young.days[0].minutes);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("of another age"), "{warnings:?}");
    // The next run leaves what an undisturbed one would have.
    write(folder.path(), "a", b"log, grown", &young);
    assert!(files(folder.path()) == files(killed.path()));
}

#[test]
fn a_source_and_date_with_one_request_costs_less_than_24_kib() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = plain_tables(20_000..20_001, 1, 1);
    tables.days[0].minutes.truncate(1);
    let waste = WasteRow {
        series: 0,
        url_key: "/".to_owned(),
        status: 404,
        hits: 1,
        bytes_sum: 1,
        url_sample: "/".to_owned(),
    };
    tables.days[0].waste.push(waste);
    let written = write(folder.path(), "5d1f0a3c9be27744", b"a", &tables);
    assert_eq!(files(folder.path()).values().map(Vec::len).sum::<usize>() as u64, written.bytes);
    assert!(written.bytes < 24 * 1024, "{}", written.bytes);
}

#[test]
fn a_newer_schema_is_a_usage_error_and_no_hole() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", b"a", &plain_tables(20_000..20_001, 1, 1));
    let path = folder.path().join("sources/date=2024-10-04/a.parquet");
    let mut bytes = fs::read(&path).unwrap();
    let key = b"schema_version";
    let at = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    let value = at + bytes[at..].iter().position(|b| *b == b'1').unwrap();
    bytes[value] = b'2';
    fs::write(&path, bytes).unwrap();
    let e = History::open(folder.path()).unwrap_err();
    assert_eq!(e.exit().code(), 2);
    assert!(e.to_string().ends_with("expected schema 1 or older, found 2"), "{e}");
}

#[test]
fn a_folder_that_is_not_there_is_an_empty_history() {
    let folder = tempfile::tempdir().unwrap();
    let history = History::open(&folder.path().join("history")).unwrap();
    assert!(history.sources().is_empty() && history.warnings().is_empty());
    assert!(history.read_window(0, 30_000, Wanted::all()).unwrap().days.is_empty());
    assert!(history.read_window(5, 4, Wanted::all()).unwrap().days.is_empty());
}

#[test]
fn runs_are_read_back_in_the_order_of_their_start() {
    let folder = tempfile::tempdir().unwrap();
    let run = |started_at: i64| RunRow {
        run: RunRow::name(started_at, 4711),
        version: "0.1.0".to_owned(),
        arguments: vec!["analyze".to_owned(), "/var/log/nginx".to_owned()],
        inputs: vec![
            RunInput { path: "a.log".to_owned(), source: Some("abc".to_owned()), outcome: "new".to_owned() },
            RunInput { path: "b.log".to_owned(), source: None, outcome: "unreadable".to_owned() },
        ],
        started_at,
        finished_at: started_at + 3,
        exit_code: 4,
    };
    let (first, second) = (run(1_773_194_400), run(1_773_280_800));
    let path = write_run(folder.path(), &second).unwrap();
    assert!(path.ends_with("runs/date=2026-03-12/20260312T020000Z-4711.parquet"));
    write_run(folder.path(), &first).unwrap();
    assert_eq!(History::open(folder.path()).unwrap().runs().unwrap(), [first, second]);
}

#[test]
fn a_large_part_has_row_groups_of_which_one_bot_needs_few() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<Series> = (10..70).map(|b| series(0, b, Verification::NotCheckable)).collect();
    let minutes = (0..60_u32)
        .flat_map(|s| (0..1440).map(move |m| (s, m)))
        .map(|(s, m)| minute(s, 20_000 * 1440 + m, u64::from(s)))
        .collect();
    let day = DayTables { date: 20_000, series: all, minutes, ..DayTables::default() };
    write(folder.path(), "a", b"a", &tables(vec![day], 1));
    let part = PartPath { table: Table::Minutes, date: 20_000, name: "a".to_owned() };
    let file = fs::File::open(part.below(folder.path())).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let bot = Table::Minutes.schema().index_of("bot").unwrap();
    let hits = reader
        .metadata()
        .row_groups()
        .iter()
        .filter(|group| {
            let statistics = group.column(bot).statistics().unwrap();
            let wanted = b"Bot37".as_slice();
            statistics.min_bytes_opt().unwrap() <= wanted && wanted <= statistics.max_bytes_opt().unwrap()
        })
        .count();
    assert_eq!((reader.metadata().num_row_groups(), hits), (6, 1));
    assert!(reader.metadata().row_group(0).column(bot).column_index_offset().is_some(), "page index");
}
