//! `history check` and `history compact`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::console;
use super::place::Place;
use crate::cli::{HistoryAction, HistoryArguments};
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::history::check::{Checked, check};
use crate::history::compact::compact;
use crate::history::read::History;
use crate::report::Escaped;

/// Runs `history`.
///
/// # Errors
/// Usage errors, and a history that cannot be listed or written.
pub fn run(arguments: &HistoryArguments, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    let place = Place::new(&arguments.place)?;
    match arguments.action {
        HistoryAction::Check => {
            let checked = check(&History::open(&place.history)?)?;
            console::write_out(told(&checked).as_bytes())?;
            Ok(if checked.findings.is_empty() { ExitStatus::Success } else { ExitStatus::CheckFailed })
        }
        HistoryAction::Compact => {
            let Some(_lock) = place.lock(stop)? else { return Ok(ExitStatus::Success) };
            let history = History::open(&place.history)?;
            history.warnings().iter().for_each(console::print_error);
            history.tidy()?;
            let today = i32::try_from(place.now.timestamp().div_euclid(86_400)).unwrap_or(i32::MAX);
            let (done, troubles) = compact(&history, today)?;
            troubles.iter().for_each(console::print_error);
            let text = if done.before == 0 {
                "nothing to join\n".to_owned()
            } else {
                format!("{} parts joined to {}\n", done.before, done.after)
            };
            console::write_out(text.as_bytes())?;
            let partial = !troubles.is_empty() || !history.warnings().is_empty();
            Ok(if partial { ExitStatus::Partial } else { ExitStatus::Success })
        }
    }
}

/// One line for each finding and its remedy, then what was looked at.
pub(super) fn told(checked: &Checked) -> String {
    let mut text = String::new();
    for finding in &checked.findings {
        let (place, cause) = (Escaped(&finding.place), Escaped(&finding.cause));
        // A string takes every text.
        let _ = writeln!(text, "{}: {place}: {cause}\n  hint: {}", finding.fault.name(), finding.hint);
    }
    let wrong = match checked.findings.len() {
        0 => "nothing is wrong".to_owned(),
        1 => "1 finding".to_owned(),
        n => format!("{n} findings"),
    };
    let _ = writeln!(text, "{} sources, {} parts: {wrong}", checked.sources, checked.parts);
    text
}
