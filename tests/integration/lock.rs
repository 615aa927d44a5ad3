//! Two runs on one output folder: `--if-locked skip|wait|fail`.
//!
//! Example: cron and a pull request start at the same minute; one works, the other says
//! `Another crawl gate is running.` and ends with 0.

use std::fs::File;
use std::thread;
use std::time::Duration;

use crate::command::{Command, Dir};

const LINE: &str = "192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\"\n";
const SAID: &str = "Another crawl gate is running.";

/// A folder with a log, and its lock held by this test.
fn locked() -> (Dir, File) {
    let dir = Dir::new();
    dir.write("a.log", LINE).write("gate.lock", "");
    let lock = File::options().write(true).open(dir.path().join("gate.lock")).expect("the lock file opens");
    lock.lock().expect("nobody else holds it");
    (dir, lock)
}

fn analyze(dir: &Dir, more: &[&str]) -> Command {
    dir.command([&["analyze", "a.log", "--now", "2026-03-11T02:00:00Z"], more].concat())
        .env("LOCK_FILE", "gate.lock")
}

#[test]
fn a_second_run_says_so_ends_with_0_and_writes_nothing() {
    let (dir, _lock) = locked();
    for more in [&[][..], &["--if-locked", "skip"]] {
        analyze(&dir, more).run().exit(0).stderr_has(SAID);
    }
    assert_eq!(dir.glob("crawl-artifacts/**/*.*"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_second_run_fails_when_that_is_asked_for() {
    let (dir, _lock) = locked();
    analyze(&dir, &["--if-locked", "fail"]).run().exit(5).stderr_has(SAID);
    assert_eq!(dir.glob("crawl-artifacts/**/*.*"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_second_run_waits_when_that_is_asked_for() {
    let (dir, lock) = locked();
    let mut running = analyze(&dir, &["--if-locked", "wait"]).spawn();
    thread::sleep(Duration::from_millis(300));
    assert!(running.child.try_wait().expect("a child").is_none(), "did not wait");
    assert_eq!(dir.glob("crawl-artifacts/**/*.*"), Vec::<std::path::PathBuf>::new());
    lock.unlock().expect("it was held");
    running.wait().exit(0);
    assert_eq!(dir.glob("crawl-artifacts/throttle_manifest.yaml").len(), 1);
}

#[test]
fn the_lock_is_free_after_a_run() {
    let (dir, lock) = locked();
    lock.unlock().expect("it was held");
    for _ in 0..2 {
        analyze(&dir, &["--if-locked", "fail"]).run().exit(0);
    }
    assert_eq!(dir.glob("crawl-artifacts/2026-03-11/baseline_*.json").len(), 2);
}

#[test]
fn a_lock_file_in_a_folder_that_is_missing_is_told_by_its_path() {
    let dir = Dir::new();
    dir.write("a.log", LINE).write("occupied", "a file");
    dir.command(["analyze", "a.log"])
        .env("LOCK_FILE", "occupied/gate.lock")
        .run()
        .exit(5)
        .stderr_has("occupied/gate.lock");
}
