//! The program: arguments in, exit code out. Everything else is the library's.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Parser as _;
use clap::error::ErrorKind;
use crawl_baseline::cli::Cli;
use crawl_baseline::command::{self, console};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no errors; a reader that went away is none either.
            let _ = e.print();
            return ExitCode::from(match e.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => 0,
                _ => 2,
            });
        }
    };
    let stop = Arc::new(AtomicUsize::new(0));
    match Signals::new([SIGINT, SIGTERM]) {
        Ok(signals) => {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || watch(signals, &stop));
        }
        Err(e) => console::print_note(format_args!("signals cannot be caught: {e}")),
    }
    match command::run(cli, &stop) {
        Ok(status) => ExitCode::from(status.code()),
        Err(error) => {
            console::print_error(&error);
            ExitCode::from(error.exit().code())
        }
    }
}

/// Tells the run to stop, and ends the process if it cannot: a read from a silent pipe waits for ever.
#[expect(clippy::exit, reason = "only when the run did not stop by itself")]
fn watch(mut signals: Signals, stop: &AtomicUsize) {
    if let Some(signal) = signals.forever().next() {
        stop.store(usize::try_from(signal).unwrap_or(0), Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(700));
        std::process::exit(128 + signal);
    }
}
