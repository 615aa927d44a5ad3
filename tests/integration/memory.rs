//! `--memory-limit` through the built program: whatever outgrows it, every table and every number is the same.
//!
//! Example: 45,000 distinct wasted URLs under 16M on three threads are several runs in a temporary file that has no name.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::command::{Dir, Output};

const NOW: &str = "2026-03-12T02:00:00Z";

/// Lines whose URLs are nearly all different and nearly all wrong, of two hosts, two dates and four askers.
fn log(seed: u64, lines: u64) -> String {
    let mut text = String::new();
    for i in 0..lines {
        let n = (i * 7_919 + seed * 104_729) % 1_000_003;
        let url = match i % 9 {
            0 => format!("/gone/{}", n % 50),
            1 => format!("/gone/{n}?utm_source=x{n}&color={}", n % 70),
            2 => format!("http://a.example/gone/{n}?token=secret{n}"),
            3 => format!("http://elsewhere.example/gone/{n}?p{}=1", n % 4_000),
            _ => format!("/a/rather/long/way/to/nothing/{n}/at-all.html"),
        };
        let status = [404, 410, 500, 200][usize::try_from(i / 9 % 4).expect("small")];
        let agent = [
            "GPTBot/1.0",
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            "acmebot/2.0",
            "-",
        ][usize::try_from(i / 36 % 4).expect("small")];
        let (host, day) = (["a.example", "b.example"][usize::try_from(n % 2).expect("small")], 10 + n % 2);
        writeln!(
            text,
            "{host}:443 192.0.2.{} - - [{day}/Mar/2026:06:{:02}:14 +0000] \"GET {url} HTTP/1.1\" {status} 5 \"-\" \"{agent}\"",
            n % 200,
            n % 60
        )
        .expect("a string");
    }
    text
}

fn analyze(dir: &Dir, args: &[&str]) -> Output {
    dir.command([&["analyze", "--now", NOW], args].concat()).run()
}

/// Every part but those of `runs`, by path.
fn parts(dir: &Dir) -> BTreeMap<String, Vec<u8>> {
    let found = dir.glob("crawl-artifacts/history/*/date=*/*.parquet").into_iter();
    found
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a part")))
        .map(|(path, bytes)| (path.split("/history/").nth(1).expect("below it").to_owned(), bytes))
        .filter(|(path, _)| !path.starts_with("runs/"))
        .collect()
}

/// The baseline JSON and the newest manifest.
fn documents(dir: &Dir) -> [Vec<u8>; 2] {
    ["baseline.json", "crawl-artifacts/throttle_manifest.yaml"]
        .map(|name| std::fs::read(dir.path().join(name)).expect("it was written"))
}

#[test]
fn what_outgrows_the_limit_changes_nothing_but_the_line_that_says_so() {
    let with = |args: &[&str]| {
        let dir = Dir::new();
        dir.write("a.log", log(1, 60_000)).write("b.log", log(2, 9_000));
        let output = analyze(&dir, &[args, &["--output-json", "baseline.json", "a.log", "b.log"]].concat());
        (dir, String::from_utf8_lossy(&output.exit(0).stdout).into_owned())
    };
    let (whole, text) = with(&["--memory-limit", "4G"]);
    assert!(!text.contains("--memory-limit"), "{text}");
    let (want, documents_wanted) = (parts(&whole), documents(&whole));
    assert!(
        want.keys().any(|path| path.starts_with("waste/")) && want.keys().any(|p| p.starts_with("params/"))
    );
    for args in [&["--threads", "1"][..], &["--threads", "2"], &["--threads", "3", "--no-mmap"]] {
        let (dir, text) = with(&[&["--memory-limit", "16M"], args].concat());
        let said = text.lines().find(|line| line.starts_with("Memory  ")).unwrap_or_else(|| panic!("{text}"));
        assert!(said.contains("runs of a temporary file"), "{said}");
        assert!(parts(&dir) == want, "{args:?}");
        assert!(documents(&dir) == documents_wanted, "{args:?}");
        assert_eq!(dir.glob("crawl-artifacts/history/.tmp*").len(), 0, "a temporary file stayed");
    }
}

#[test]
fn a_baseline_by_patterns_and_filters_is_the_same_under_a_limit() {
    std::thread::scope(|scope| {
        for args in [
            &["--ua-regex-file", "patterns", "--group-by", "pattern"][..],
            &["--filter", "status=404", "--last", "12h"],
        ] {
            scope.spawn(move || {
                let with = |limit: &str| {
                    let dir = Dir::new();
                    dir.write("a.log", log(3, 40_000)).write("patterns", "GPTBot\nbot/\n");
                    let limit = [
                        "--memory-limit",
                        limit,
                        "--threads",
                        "2",
                        "--output-json",
                        "baseline.json",
                        "a.log",
                    ];
                    analyze(&dir, &[args, &limit].concat()).exit(0);
                    (parts(&dir), documents(&dir))
                };
                assert!(with("16M") == with("1G"), "{args:?}");
            });
        }
    });
}

#[test]
fn a_temporary_file_that_cannot_be_is_exit_5_with_its_place_and_nothing_is_written() {
    let dir = Dir::new();
    dir.write("a.log", log(1, 40_000)).write("taken", "a file");
    let place = dir.path().join("taken").display().to_string();
    let command = dir.command(["analyze", "--now", NOW, "--memory-limit", "16M", "a.log"]);
    let output = command.env("TMPDIR", &place).run();
    output.exit(5).stderr_has(&place);
    assert!(parts(&dir).is_empty());
    assert!(!dir.path().join("crawl-artifacts/throttle_manifest.yaml").exists());
}
