//! Properties of reading and counting, on files of any bytes: every line is counted once as exactly one kind, and
//! neither threads nor the order of files change a row.
//!
//! Example: 3 files of 40 good and hard lines, one of them gzip, read by 1, 2 and 8 threads in two orders.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crawl_baseline::bot::names::Names;
use crawl_baseline::bot::verify::Verifier;
use crawl_baseline::bot::{Catalogue, Matcher};
use crawl_baseline::format::ParserOptions;
use crawl_baseline::format::client::ClientChoice;
use crawl_baseline::history::known::Decision;
use crawl_baseline::ingest::{self, Ingested, Urls};
use crawl_baseline::pipeline::{Pipeline, Progress};
use crawl_baseline::source::discover::LogFile;
use crawl_baseline::tally::table::SourceTables;
use crawl_baseline::url::Rules;
use proptest::prelude::*;

/// Reads the files and gives what was counted of each, by path.
fn count(matcher: &Matcher, files: &[PathBuf], threads: usize) -> Vec<(PathBuf, SourceTables, Decision)> {
    let mut counted: Vec<_> = ingest(matcher, files, threads, false, &|| {})
        .into_iter()
        .map(|l| (l.log.path, l.tables, l.decision))
        .collect();
    counted.sort_by(|a, b| a.0.cmp(&b.0));
    counted
}

/// Reads the files, mapped where they are old enough and `map` says so; `opened` is called when one was opened and its
/// length is known, before it is read.
fn ingest(
    matcher: &Matcher,
    files: &[PathBuf],
    threads: usize,
    map: bool,
    opened: &(dyn Fn() + Sync),
) -> Vec<Ingested> {
    let (names, progress, stop) = (Names::default(), Progress::default(), AtomicUsize::new(0));
    let (verifier, rules) = (Verifier::default(), Rules::default());
    let pipeline = Pipeline {
        parser: ParserOptions { now: Some(1_773_200_000), ..ParserOptions::default() },
        matcher,
        verifier: &verifier,
        names: &names,
        client: ClientChoice::Peer,
        host_from_path: None,
        rejects: None,
        default_host: "(default)".to_owned(),
        view: None,
        live: false,
        map,
        spilling: None,
        threads,
        checkpoints: &|_| {
            opened();
            Vec::new()
        },
        progress: &progress,
        stop: &stop,
    };
    let logs: Vec<LogFile> = files
        .iter()
        .map(|path| LogFile {
            path: path.clone(),
            size: std::fs::metadata(path).map_or(0, |m| m.len()),
            host: None,
        })
        .collect();
    let urls = Urls { rules: &rules, keep_query_values: false };
    let mut read: Vec<Ingested> = ingest::read(&pipeline, &logs, &urls, None).expect("the files are there");
    ingest::overlap::settle(&pipeline, &mut read, &urls, None).expect("the files can be read again");
    ingest::store(&mut read, None).expect("nothing is written");
    read
}

#[test]
fn a_log_that_is_truncated_or_grows_while_it_is_read_keeps_what_was_there() {
    let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
    let line =
        "192.0.2.1 - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"SomeAuditBot/1.0\"\n";
    let (length, lines) = (line.len() as u64, 40_000);
    let dir = tempfile::tempdir().expect("a temporary folder");
    for threads in [1, 4] {
        for kept in [0, 1, 5_000, 20_000, lines - 1] {
            let path = write(dir.path(), 0, line.repeat(40_000).as_bytes(), false);
            let truncate = || {
                let file = std::fs::File::options().write(true).open(&path).expect("it is there");
                file.set_len(kept * length + if kept == 0 { 0 } else { 20 }).expect("it is shortened");
            };
            let read = ingest(&matcher, std::slice::from_ref(&path), threads, false, &truncate);
            let counts = &read[0].tables.counts;
            assert!(counts.balances());
            assert_eq!((counts.records, counts.lines), (kept, kept), "{threads} threads");
            let damage = read[0].damage.as_ref().expect("it is told");
            assert!(damage.cause.contains("became shorter"), "{damage:?}");
            assert_eq!(read[0].length, kept * length, "the identity is that of what was counted");
        }
        let path = write(dir.path(), 1, line.repeat(40_000).as_bytes(), false);
        let grow = || {
            let mut file = std::fs::File::options().append(true).open(&path).expect("it is there");
            file.write_all(&line.as_bytes()[..50]).expect("it grows");
        };
        let read = ingest(&matcher, std::slice::from_ref(&path), threads, false, &grow);
        assert_eq!(read[0].tables.counts.records, lines, "what was there when it was opened");
        assert!(read[0].damage.is_none() && read[0].is_live());
        // An unterminated last line of a log that grows is left for the next run.
        let path = write(dir.path(), 2, &line.repeat(40_000).as_bytes()[..line.len() * 40_000 - 9], false);
        let grow = || {
            let mut file = std::fs::File::options().append(true).open(&path).expect("it is there");
            file.write_all(&line.as_bytes()[line.len() - 9..]).expect("it grows");
        };
        let read = ingest(&matcher, std::slice::from_ref(&path), threads, false, &grow);
        let counts = &read[0].tables.counts;
        assert_eq!((counts.records, counts.deferred_bytes), (lines - 1, length - 9));
        assert!(counts.balances() && read[0].is_live());
    }
}

fn write(dir: &Path, index: usize, text: &[u8], packed: bool) -> PathBuf {
    let path = dir.join(format!("{index}.log"));
    let bytes = if packed {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).expect("a vector takes every byte");
        gzip.finish().expect("a vector takes every byte")
    } else {
        text.to_vec()
    };
    std::fs::write(&path, bytes).expect("the folder is there");
    path
}

fn a_line() -> impl Strategy<Value = Vec<u8>> {
    let agents = prop::sample::select(vec![
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        "SomeAuditBot/1.0",
        "-",
        "a \\\"quoted\\\" client",
    ]);
    let good = (0i64..200_000, prop::sample::select(vec!["200", "404", "429", "503", "-", "0"]), agents, 0u32..40)
        .prop_map(|(second, status, agent, url)| {
            let (day, rest) = (9 + second / 86_400, second % 86_400);
            let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
            format!(
                "192.0.2.{} - - [{day:02}/Mar/2026:{hour:02}:{minute:02}:{second:02} +0000] \"GET /u/{url}?sid={url} \
                 HTTP/1.1\" {status} {url} \"-\" \"{agent}\"",
                url % 9
            )
            .into_bytes()
        });
    let hard = prop::sample::select(vec![
        &b""[..],
        b"   ",
        b"# note",
        b"\0\0\0",
        b"192.0.2.1 - - [10/Mar/2026:06:25:14 +0000] \"GET /p",
        b"192.0.2.1 - - [31/Feb/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"",
        b"192.0.2.1 - - [10/Mar/2099:06:25:14 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"",
        b"\x16\x03\x01",
    ])
    .prop_map(<[u8]>::to_vec);
    let junk = prop::collection::vec(any::<u8>().prop_filter("no newline", |b| *b != b'\n'), 0..60);
    prop_oneof![8 => good, 2 => hard, 1 => junk]
}

fn a_file() -> impl Strategy<Value = (Vec<Vec<u8>>, bool, bool)> {
    (prop::collection::vec(a_line(), 0..60), any::<bool>(), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_one_of_its_kinds_and_threads_and_order_change_nothing(
        files in prop::collection::vec(a_file(), 1..5),
        rotate in 0usize..4,
    ) {
        let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut paths = Vec::new();
        let mut lines = Vec::new();
        for (index, (text, packed, unterminated)) in files.iter().enumerate() {
            let mut bytes = text.join(&b'\n');
            if !text.is_empty() && !unterminated {
                bytes.push(b'\n');
            }
            // What `wc -l` and a last line without a newline come to.
            let expected = bytes.iter().filter(|b| **b == b'\n').count()
                + usize::from(bytes.last().is_some_and(|b| *b != b'\n'));
            lines.push(expected as u64);
            paths.push(write(dir.path(), index, &bytes, *packed));
        }
        let one = count(&matcher, &paths, 1);
        for ((_, tables, _), expected) in one.iter().zip(&lines) {
            prop_assert_eq!(tables.counts.lines, *expected);
            prop_assert!(tables.counts.balances(), "{:?}", tables.counts);
            let counted: u64 = tables.days.iter().flat_map(|d| &d.minutes).map(|m| m.requests).sum();
            prop_assert_eq!(counted, tables.counts.records - tables.counts.out_of_range);
            for row in tables.days.iter().flat_map(|d| &d.minutes) {
                prop_assert_eq!(row.classes.iter().sum::<u64>(), row.requests);
                prop_assert_eq!(row.seconds.iter().map(|s| s.1).sum::<u64>(), row.requests);
            }
        }
        for threads in [2, 8] {
            let turn = rotate % paths.len();
            paths.rotate_left(turn);
            let other = count(&matcher, &paths, threads);
            prop_assert_eq!(
                one.iter().map(|(path, tables, _)| (path, tables)).collect::<Vec<_>>(),
                other.iter().map(|(path, tables, _)| (path, tables)).collect::<Vec<_>>()
            );
            // Which of two equal logs is the copy may differ; how many are counted may not.
            let written = |all: &[(PathBuf, SourceTables, Decision)]| {
                all.iter().filter(|(_, _, d)| matches!(d, Decision::Write { .. })).count()
            };
            prop_assert_eq!(written(&one), written(&other));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn what_logs_of_a_rotation_set_repeat_of_each_other_is_counted_once(
        pieces in prop::collection::vec(
            (0..500usize, prop_oneof![Just(0), 3..40usize, 200..400usize], any::<bool>()), 2..5),
        rotate in 0usize..4,
        threads in 1usize..3,
    ) {
        let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
        let dir = tempfile::tempdir().expect("a temporary folder");
        let all = many_lines(2000);
        let all: Vec<&[u8]> = all.split_inclusive(|b| *b == b'\n').collect();
        let (mut logged, mut before, mut paths) = (0, 0, Vec::new());
        for (age, (lines, repeated, packed)) in pieces.iter().enumerate() {
            // At most all but the first line of the log before: a log that begins with all of another one has grown.
            let repeated = Some((*repeated).min(usize::saturating_sub(before, 1))).filter(|n| *n >= 3).unwrap_or(0);
            let text = all[logged - repeated..logged + lines].concat();
            (logged, before) = (logged + lines, repeated + lines);
            let written = write(dir.path(), age, &text, *packed);
            let name = match pieces.len() - 1 - age {
                0 => "access.log".to_owned(),
                n => format!("access.log.{n}"),
            };
            paths.push(dir.path().join(name));
            std::fs::rename(written, &paths[age]).expect("it was written");
        }
        let turn = rotate % paths.len();
        paths.rotate_left(turn);
        let read = ingest(&matcher, &paths, threads, false, &|| {});
        let counted: Vec<&Ingested> = read.iter().filter(|l| l.duplicate_of().is_none()).collect();
        let sum = |of: fn(&Ingested) -> u64| counted.iter().map(|l| of(l)).sum::<u64>();
        prop_assert_eq!(sum(|l| l.tables.counts.lines), logged as u64);
        prop_assert_eq!(sum(|l| l.tables.days.iter().flat_map(|d| &d.minutes).map(|m| m.requests).sum()), logged as u64);
        for log in &read {
            prop_assert!(log.tables.counts.balances());
            prop_assert_eq!(log.overlap.as_ref().map_or(0, |o| o.bytes), log.tables.counts.overlap_bytes);
        }
    }
}

#[test]
fn a_log_of_many_blocks_is_counted_alike_by_any_number_of_threads() {
    let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut text = Vec::new();
    let mut lines = 0u64;
    while text.len() < 5 * 1024 * 1024 {
        let second = lines % 86_400;
        // Lengths that move every border of a block over every part of a line; one line is longer than two blocks.
        let filler = if lines == 7_000 { 3 << 20 } else { (lines * 37 % 500) as usize };
        writeln!(
            text,
            "192.0.2.1 - - [10/Mar/2026:{:02}:{:02}:{:02} +0000] \"GET /{} HTTP/1.1\" 404 1 \"-\" \"SomeAuditBot/1.0\"",
            second / 3600,
            second / 60 % 60,
            second % 60,
            "x".repeat(filler)
        )
        .expect("a vector takes every byte");
        lines += 1;
    }
    let plain = write(dir.path(), 0, &text, false);
    let packed = write(dir.path(), 1, &text, true);
    let one = count(&matcher, std::slice::from_ref(&plain), 1);
    assert_eq!(one[0].1.counts.lines, lines);
    assert_eq!(one[0].1.counts.rejected(), 1, "the long one");
    assert!(one[0].1.counts.balances());
    for (path, threads) in [(&plain, 2), (&plain, 8), (&packed, 1), (&packed, 2), (&packed, 8)] {
        let other = count(&matcher, std::slice::from_ref(path), threads);
        assert_eq!(other[0].1, one[0].1, "{} on {threads} threads", path.display());
    }
    // The packed copy is the same content: counted once.
    let both = count(&matcher, &[plain, packed], 2);
    assert_eq!(both.iter().filter(|(_, _, d)| matches!(d, Decision::Write { .. })).count(), 1);
}

/// A log that looks as if it was written an hour ago.
fn settled(folder: &Path, name: &str, text: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a folder of one's own");
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = File::options().write(true).open(&path).expect("it is there");
    file.set_modified(hour_ago).expect("it is ours");
    path
}

fn many_lines(count: u32) -> Vec<u8> {
    let mut text = Vec::new();
    for i in 0..count {
        let (second, agent) =
            (i / 10, if i % 3 == 0 { "ExampleBot/1.0" } else { "Mozilla/5.0 (X11) Gecko/1 Firefox/9" });
        let status = if i % 7 == 0 { 404 } else { 200 };
        text.extend_from_slice(
            format!(
                "192.0.2.{} - - [10/Mar/2026:{:02}:{:02}:{:02} +0000] \"GET /p/{i}.html HTTP/1.1\" {status} {i} \"-\" \"{agent}\"\n",
                i % 250,
                second / 3600 % 24,
                second / 60 % 60,
                second % 60,
            )
            .as_bytes(),
        );
    }
    text
}

#[test]
fn a_mapped_log_is_counted_like_one_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
    let log = settled(folder.path(), "access.log.1", &many_lines(40_000));
    let read = count(&matcher, std::slice::from_ref(&log), 2);
    assert_eq!(read[0].1.counts.lines, 40_000);
    for threads in [1, 2, 8] {
        let mapped = ingest(&matcher, std::slice::from_ref(&log), threads, true, &|| {});
        assert_eq!(mapped[0].tables, read[0].1);
        assert!(mapped[0].damage.is_none() && !mapped[0].is_live());
    }
}

#[test]
fn a_log_that_is_cut_grows_or_changes_while_it_is_mapped_is_counted_as_it_is_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
    let text = many_lines(40_000);
    let half = text.len() / 2 + 13;
    // A cut line is no line.
    let lines_of_half = text[..half].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    let open = |path: &Path| File::options().write(true).open(path).unwrap();
    /// A name, what happens to the file, and what is in it afterwards.
    type Change<'a> = (&'a str, &'a (dyn Fn(&Path) + Sync), Vec<u8>);
    let changes: [Change<'_>; 4] = [
        ("cut", &|path| open(path).set_len(half as u64).unwrap(), text[..lines_of_half].to_vec()),
        ("emptied", &|path| open(path).set_len(0).unwrap(), Vec::new()),
        ("grown", &|path| std::fs::write(path, text.repeat(2)).unwrap(), text.repeat(2)),
        (
            "rewritten",
            &|path| std::fs::write(path, text.to_ascii_uppercase()).unwrap(),
            text.to_ascii_uppercase(),
        ),
    ];
    for (name, change, becomes) in changes {
        for threads in [1, 2] {
            let path = settled(folder.path(), &format!("{name}{threads}.log"), &text);
            let mut got = ingest(&matcher, std::slice::from_ref(&path), threads, true, &|| {
                // Once: the log is opened again for its new content.
                if std::fs::read(&path).unwrap() == text {
                    change(&path);
                }
            });
            let same = settled(folder.path(), &format!("{name}{threads}.txt"), &becomes);
            let want = count(&matcher, &[same], threads);
            let counts = &mut got[0].tables.counts;
            assert_eq!(counts.deferred_bytes, if name == "cut" { (half - lines_of_half) as u64 } else { 0 });
            counts.deferred_bytes = 0;
            assert_eq!(got[0].tables, want[0].1, "{name}, {threads} threads");
            assert_eq!(got[0].damage.is_some(), becomes.len() < text.len(), "{name}");
        }
    }
}
