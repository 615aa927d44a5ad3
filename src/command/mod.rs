//! One file per command: settings in, exit status out. Only here and in `main.rs` is anything printed.
//!
//! Data goes to standard output, everything else to standard error.

pub mod analyze;
pub mod artifacts;
pub mod bots;
pub mod backtest;
pub mod ceilings;
pub mod console;
pub mod export;
pub mod gate;
pub mod history;
pub mod normalize;
mod manifest;
pub mod parse;
pub mod place;
pub mod reading;
pub mod recommend;
pub mod simulate;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::cli::{Cli, Command};
use crate::error::Error;
use crate::exit::ExitStatus;

/// Runs the command. `stop` becomes the number of a signal that came.
///
/// # Errors
/// What kept the command from working at all; what it met on the way is printed and in the status.
pub fn run(cli: Cli, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    match cli.command {
        Command::Analyze(arguments) => analyze::run(&arguments, stop),
        Command::Artifacts(arguments) => artifacts::run(&arguments, stop),
        Command::Bots(arguments) => bots::run(&arguments),
        Command::Backtest(arguments) => backtest::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Gate(arguments) => gate::run(&arguments),
        Command::History(arguments) => history::run(&arguments, stop),
        Command::Normalize(arguments) => normalize::run(&arguments, stop),
        Command::Recommend(arguments) => recommend::run(&arguments, stop),
        Command::Simulate(arguments) => simulate::run(&arguments, stop),
        Command::Parse(arguments) => parse::run(&arguments, stop),
    }
}
