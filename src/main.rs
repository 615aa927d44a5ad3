//! The program: arguments in, exit code out. Everything else is the library's.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use clap::Parser as _;
use clap::error::ErrorKind;
use crawl_baseline::cli::Cli;
use crawl_baseline::command::{self, console};
use signal_hook::consts::{SIGINT, SIGTERM};

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
    for signal in [SIGINT, SIGTERM] {
        let number = usize::try_from(signal).unwrap_or(0);
        if let Err(e) = signal_hook::flag::register_usize(signal, Arc::clone(&stop), number) {
            console::print_note(format_args!("signal {signal} cannot be caught: {e}"));
        }
    }
    match command::run(cli, &stop) {
        Ok(status) => ExitCode::from(status.code()),
        Err(error) => {
            console::print_error(&error);
            ExitCode::from(error.exit().code())
        }
    }
}
