//! How a run ends that is stopped from outside: 130, 143, quietly when nobody reads, 5 when nothing can be written.
//!
//! Example: `crawl-baseline parse access.log | head -n 1` is no failure.

use std::io::Write;
use std::thread;
use std::time::Duration;

use crate::command::{Dir, Running};
use crate::generator::{Options, Size, generate};

/// Stops in this time after a signal, also on a busy machine.
const SOON: Duration = Duration::from_secs(1);

fn log(lines: u64) -> Vec<u8> {
    let mut log = Vec::new();
    generate(&Options { size: Size::Lines(lines), ..Options::default() }, &mut log)
        .expect("a vector takes every byte");
    log
}

/// Nothing of an interrupted run stays: no result, no temporary file.
fn assert_nothing_is_left(dir: &Dir) {
    let files: Vec<_> = dir.glob("**/*").into_iter().filter(|path| path.is_file()).collect();
    let left: Vec<_> = files.iter().filter(|path| !path.to_string_lossy().ends_with(".lock")).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Lines that never end, slowly.
fn feed(running: &mut Running) -> thread::JoinHandle<()> {
    let mut pipe = running.child.stdin.take().expect("stdin is a pipe");
    let some = log(50);
    thread::spawn(move || {
        while pipe.write_all(&some).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    })
}

fn stopped_while_reading(name: &str, number: u32, code: i32) {
    let dir = Dir::new();
    std::fs::create_dir(dir.path().join("tmp")).expect("a folder is created");
    let tmp = dir.path().join("tmp").display().to_string();
    let mut running = dir.command(["analyze", "-"]).env("TMPDIR", &tmp).spawn();
    let feeder = feed(&mut running);
    running.wait_for_handler(number);
    thread::sleep(Duration::from_millis(50));
    running.signal(name);
    let output = running.wait();
    output.exit(code);
    assert!(output.took < SOON, "took {:?}\n{}", output.took, output.told());
    feeder.join().expect("the feeder ends with the program");
    assert_nothing_is_left(&dir);
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_ends_with_130_within_a_second_and_leaves_nothing() {
    stopped_while_reading("INT", 2, 130);
}

#[test]
#[cfg(target_os = "linux")]
fn a_termination_ends_with_143_within_a_second_and_leaves_nothing() {
    stopped_while_reading("TERM", 15, 143);
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_is_heard_while_standard_input_is_silent() {
    let dir = Dir::new();
    let mut running = dir.command(["analyze", "-"]).spawn();
    running.wait_for_handler(2);
    thread::sleep(Duration::from_millis(50));
    running.signal("INT");
    // The pipe stays open until the program has ended.
    let pipe = running.child.stdin.take();
    let output = running.wait();
    drop(pipe);
    output.exit(130);
    assert!(output.took < SOON, "took {:?}\n{}", output.took, output.told());
}

#[test]
fn an_output_that_nobody_reads_ends_quietly_with_0() {
    let dir = Dir::new();
    dir.write("a.log", log(20_000));
    dir.command(["parse", "a.log"]).run_into_head().exit(0).stdout_has("\"kind\"").stderr_is_empty();
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_a_run_time_failure() {
    let dir = Dir::new();
    dir.write("a.log", log(20_000));
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    dir.command(["parse", "a.log"]).stdout_to(full).run().exit(5);
}
