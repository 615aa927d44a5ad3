//! Night after night over logs that rotate as logrotate rotates them: every request is in the history once, whatever the
//! files are called, however often and in whatever order they are read, and whenever the program is killed.
//!
//! Example: on the fourth night `access.log.1` is what `access.log` was, its older copies are compressed, and the history
//! holds four days and a morning.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crawl_baseline::history::read::{History, Wanted};
use serde_json::Value;

use crate::command::Dir;
use crate::generator::{Options, Size, generate};

const NOW: &str = "2026-03-25T02:00:00Z";
const NIGHTS: usize = 10;
const DAY: i64 = 86_400;

/// What was logged, in figures that add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sums {
    lines: u64,
    records: u64,
    rejects: u64,
    requests: u64,
    bytes: u64,
    bot_records: u64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.records += other.records;
        self.rejects += other.rejects;
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.bot_records += other.bot_records;
    }

    /// What the history holds.
    fn of_history(folder: &Path) -> Self {
        let history = History::open(folder).expect("a history");
        assert!(history.warnings().is_empty(), "{:?}", history.warnings());
        let mut sums = Self::default();
        for row in history.sources().values() {
            sums.lines += row.counts.lines;
            sums.records += row.counts.records;
            sums.rejects += row.counts.rejected();
        }
        let window = history.read_window(0, 30_000, Wanted::all()).expect("a window");
        assert!(window.warnings.is_empty(), "{:?}", window.warnings);
        let mut by_status = 0;
        for day in &window.days {
            for minute in &day.minutes {
                sums.requests += minute.requests;
                sums.bytes += minute.bytes_sum;
                if day.series[minute.series as usize].is_bot() {
                    sums.bot_records += minute.requests;
                }
            }
            by_status += day.status.iter().map(|s| s.requests).sum::<u64>();
        }
        assert_eq!(by_status, sums.requests, "two tables of one history");
        sums
    }
}

/// A piece of log and what is in it.
fn piece(seed: u64, start: i64, minutes: u32, lines: u64) -> (Vec<u8>, Sums) {
    let options = Options { seed, size: Size::Lines(lines), start, minutes, bots: 12, ..Options::default() };
    let mut text = Vec::new();
    let truth = generate(&options, &mut text).expect("a vector takes every byte");
    let sums = Sums {
        lines: truth.lines,
        records: truth.records,
        rejects: truth.rejects.values().sum(),
        requests: truth.records,
        bytes: truth.bytes_sum,
        bot_records: truth.bot_records,
    };
    (text, sums)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).and_then(|()| packed.finish()).expect("a vector takes every byte")
}

/// Lets a file look as if it had been left alone for an hour.
fn settle(path: &Path) {
    let file = File::options().write(true).open(path).expect("the file is there");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("a time");
}

/// Writes a file that nobody has touched for an hour; one that has these bytes already stays the same file.
fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    if std::fs::read(&path).is_ok_and(|there| there == bytes) {
        return;
    }
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(&path, bytes).expect("a file");
    settle(&path);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rotation {
    CreateCompress,
    DelayCompress,
    CopyTruncate,
    DateExt,
    OneLiveFile,
    /// The live file begins with the last lines of the day before: 20, and on every second day more than the history
    /// keeps hashes of.
    KeepsTheTail,
}

/// Days of a log: a morning that the run of the night before sees, and the rest.
struct Days(Vec<[(Vec<u8>, Sums); 2]>);

impl Days {
    fn new() -> Self {
        let start = Options::default().start;
        Self(
            (0..=NIGHTS)
                .map(|day| {
                    let from = start + i64::try_from(day).expect("few") * DAY + 6 * 3600;
                    let seed = day as u64 * 2 + 1;
                    [piece(seed, from, 120, 150), piece(seed + 1, from + 7200, 1320, 300)]
                })
                .collect(),
        )
    }

    fn day(&self, day: usize) -> Vec<u8> {
        self.0[day].iter().flat_map(|(text, _)| text.clone()).collect()
    }

    /// Logged when the run of that night starts.
    fn truth(&self, night: usize) -> Sums {
        let mut sums = self.0[night + 1][0].1;
        self.0[..=night].iter().flatten().for_each(|(_, piece)| sums.add(*piece));
        sums
    }

    /// The folder of logs as that night's run finds it.
    fn folder(&self, rotation: Rotation, night: usize, folder: &Path) {
        let current = &self.0[night + 1][0].0;
        if rotation == Rotation::OneLiveFile {
            let mut all: Vec<u8> = (0..=night).flat_map(|day| self.day(day)).collect();
            all.extend(current);
            return put(folder, "access.log", &all);
        }
        if folder.is_dir() {
            std::fs::remove_dir_all(folder).expect("an old folder");
        }
        let kept = |day: usize| match (rotation, day.checked_sub(1)) {
            (Rotation::KeepsTheTail, Some(before)) => {
                last_lines(&self.day(before), if day.is_multiple_of(2) { 20 } else { 400 }).to_vec()
            }
            _ => Vec::new(),
        };
        put(folder, "access.log", &[&kept(night + 1)[..], current].concat());
        for age in 1..=night + 1 {
            let day = night + 1 - age;
            let text = [kept(day), self.day(day)].concat();
            let plain = match rotation {
                Rotation::CreateCompress => false,
                Rotation::CopyTruncate => true,
                _ => age == 1,
            };
            let name = if rotation == Rotation::DateExt {
                format!("access.log-202603{:02}", 10 + night + 1 - age)
            } else {
                format!("access.log.{age}")
            };
            if plain {
                put(folder, &name, &text);
            } else {
                put(folder, &format!("{name}.gz"), &gzip(&text));
            }
        }
    }
}

fn last_lines(text: &[u8], lines: usize) -> &[u8] {
    let starts: Vec<usize> = (0..text.len()).filter(|i| *i == 0 || text[i - 1] == b'\n').collect();
    &text[starts[starts.len() - lines]..]
}

/// All parts but those of `runs`, and no caches.
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

fn analyze(dir: &Dir) -> Value {
    dir.command(["analyze", "logs", "--now", NOW, "--output-json", "-", "--output-dir", "out"])
        .run()
        .exit(0)
        .json()
}

#[test]
fn ten_nights_of_every_kind_of_rotation_add_up_to_what_was_logged() {
    let days = Days::new();
    for rotation in [
        Rotation::CreateCompress,
        Rotation::DelayCompress,
        Rotation::CopyTruncate,
        Rotation::DateExt,
        Rotation::OneLiveFile,
        Rotation::KeepsTheTail,
    ] {
        let (once, twice, shuffled) = (Dir::new(), Dir::new(), Dir::new());
        for night in 0..NIGHTS {
            for (dir, runs) in [(&once, 1), (&twice, 2)] {
                days.folder(rotation, night, &dir.path().join("logs"));
                for _ in 0..runs {
                    analyze(dir);
                    let found = Sums::of_history(&dir.path().join("out/history"));
                    assert_eq!(found, days.truth(night), "{rotation:?}, night {night}");
                }
            }
        }
        for night in [4, 9, 0, 7, 2, 8, 1, 6, 3, 5] {
            days.folder(rotation, night, &shuffled.path().join("logs"));
            analyze(&shuffled);
        }
        let of = |dir: &Dir| parts(&dir.path().join("out"));
        let undisturbed = of(&once);
        assert!(undisturbed.len() > 30, "{}", undisturbed.len());
        assert!(of(&twice) == undisturbed, "{rotation:?}: each night twice");
        // What was recommended on a night depends on the nights before it: in another order those are others.
        let counted = |mut parts: BTreeMap<PathBuf, Vec<u8>>| {
            parts.retain(|path, _| !path.starts_with("history/ceilings"));
            parts
        };
        assert!(counted(of(&shuffled)) == counted(undisturbed), "{rotation:?}: in another order");
    }
}

#[test]
fn a_log_that_was_left_alone_is_not_read_again_and_gives_the_same_baseline() {
    let days = Days::new();
    let dir = Dir::new();
    let logs = dir.path().join("logs");
    days.folder(Rotation::DelayCompress, 3, &logs);
    let first = analyze(&dir);
    let read = |baseline: &Value| -> Vec<bool> {
        baseline["inputs"].as_array().expect("inputs").iter().map(|i| i["read"] == true).collect()
    };
    assert_eq!(read(&first), [true; 5]);
    let second = analyze(&dir);
    assert_eq!(read(&second), [false; 5]);
    for key in ["totals", "hosts", "window", "rpm_by_bot", "status_distribution", "warnings"] {
        assert_eq!(first[key], second[key], "{key}");
    }
    for key in ["source", "formats", "rejects", "first_rejected_lines", "compression"] {
        for input in 0..5 {
            assert_eq!(first["inputs"][input][key], second["inputs"][input][key], "{key}");
        }
    }
    dir.command(["analyze", "logs", "--now", NOW, "--output-dir", "out"])
        .run()
        .exit(0)
        .stdout_has("from the history: logs/access.log.1: 450 records");

    // What looks below the grain of the history reads the lines.
    std::fs::write(dir.path().join("patterns"), "Googlebot\n").expect("a file");
    for option in [
        &["--since", "2026-03-11"][..],
        &["--last", "24h"],
        &["--group-by", "user-agent"],
        &["--ua-regex-file", "patterns"],
        &["--live"],
    ] {
        let args = [&["analyze", "logs", "--now", NOW, "--output-json", "-", "--output-dir", "out"], option]
            .concat();
        let baseline = dir.command(args).run().exit(0).json();
        assert_eq!(read(&baseline), [true; 5], "{option:?}");
    }

    // One byte more, the cache gone, or a damaged part: read again, and the part is whole afterwards.
    put(&logs, "access.log.1", &[days.day(3), b"\n".to_vec()].concat());
    assert_eq!(read(&analyze(&dir)), [false, true, false, false, false]);
    std::fs::remove_file(dir.path().join("out/history/.seen")).expect("the cache");
    assert_eq!(read(&analyze(&dir)), [true; 5]);
    let whole = parts(&dir.path().join("out"));
    let damaged = dir.glob("out/history/minutes/date=2026-03-11/*.parquet").pop().expect("a part");
    std::fs::write(&damaged, "PAR1").expect("a damaged part");
    assert_eq!(read(&analyze(&dir)).iter().filter(|read| **read).count(), 1);
    assert!(parts(&dir.path().join("out")) == whole);

    // A copy of what comes from the history counts once, and so does what has outgrown it.
    put(&logs, "copy.log", &days.day(3));
    put(&logs, "longer.log", &[days.day(2), days.day(3)].concat());
    analyze(&dir);
    let sums = Sums::of_history(&dir.path().join("out/history"));
    let baseline = analyze(&dir);
    assert_eq!(baseline["totals"]["lines"], sums.lines, "{:#}", baseline["inputs"]);
}

#[test]
fn a_log_that_differs_from_the_beginning_of_a_longer_one_in_its_last_bytes_is_counted() {
    let (long, _) = piece(5, Options::default().start, 600, 12_000);
    // Past 1 MiB granules are 64 KiB: the difference is inside of the last, cut one.
    let end = 1_300_000 + long[1_300_000..].iter().position(|b| *b == b'\n').expect("a line ends") + 1;
    let mut short = long[..end].to_vec();
    let dir = Dir::new();
    dir.write("a.log", &long).write("b.log", &short);
    let run = |dir: &Dir| {
        dir.command(["analyze", "a.log", "b.log", "--no-history", "--now", NOW, "--output-json", "-"])
            .run()
            .exit(0)
            .json()
    };
    assert_eq!(run(&dir)["inputs"][1]["duplicate_of"], "a.log");
    let digit = short.windows(9).rposition(|w| w == b"HTTP/1.1\"").expect("a request") + 7;
    short[digit] = b'0';
    dir.write("b.log", &short);
    let baseline = run(&dir);
    assert_eq!(baseline["inputs"][1]["duplicate_of"], Value::Null);
    let lines = |text: &[u8]| text.iter().filter(|b| **b == b'\n').count();
    assert_eq!(baseline["totals"]["lines"], lines(&long) + lines(&short));
}
