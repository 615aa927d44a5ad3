//! Standard output and standard error: the only place that writes to them. A reader that went away ends the program
//! quietly with 0.

use std::fmt::Display;
use std::io::{self, Write};

use crate::error::Error;
use crate::report::Escaped;

/// Prints an error and its hint on standard error.
pub fn print_error(error: &Error) {
    // Nobody left to tell when standard error is gone.
    let _ = write_error(error);
}

fn write_error(error: &Error) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "crawl-baseline: {}", Escaped(&error.to_string()))?;
    match error.remedy() {
        Some(hint) => writeln!(stderr, "hint: {}", Escaped(hint)),
        None => Ok(()),
    }
}

/// Prints one line of information on standard error.
pub fn print_note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "crawl-baseline: {}", Escaped(&text.to_string()));
}

/// Writes data to standard output. `Ok(false)` when its reader went away: the caller stops, and that is no failure.
///
/// # Errors
/// Anything else that keeps it from being written (exit 5).
pub fn write_out(bytes: &[u8]) -> Result<bool, Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Error::runtime("standard output", "cannot write").cause(e)),
    }
}

/// Prints finished text on standard error as it is.
pub fn print_text(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
