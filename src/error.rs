//! One error type: where, what could not be done, why, and what to do about it.
//!
//! A bad *line* is data (a counted reason, see [`crate::format::Reject`]); a bad *file*, flag or folder is an
//! [`Error`]. The text is always `<where>: <what could not be done>: <cause>` and, on a line of its own,
//! `hint: <remedy>`. There is no conversion from `std::io::Error` on purpose: it would lose the path.
//!
//! Example of what it prints: `access.log.gz: cannot read past byte 4096: corrupt deflate stream`

use std::fmt;

use crate::exit::ExitStatus;

/// What went wrong, in the terms of the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Wrong flag, configuration, pattern, catalogue or manifest: exit 2.
    Usage,
    /// Nothing to work on: exit 3.
    NoData,
    /// Some input could not be read; the rest was: exit 4.
    Partial,
    /// Could not write, out of disk, or another run-time failure: exit 5.
    Runtime,
    /// Stopped by this signal number: exit 128 + signal.
    Interrupted(i32),
}

/// An error with its place, cause and remedy. Made by the constructors named after [`ErrorKind`].
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    place: String,
    what: String,
    cause: Option<String>,
    hint: Option<String>,
}

impl Error {
    #[cold]
    fn new(kind: ErrorKind, place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self(Box::new(Inner {
            kind,
            place: place.to_string(),
            what: what.to_string(),
            cause: None,
            hint: None,
        }))
    }

    /// Exit 2. `place` is a flag, a path with its line, or a key.
    #[cold]
    pub fn usage(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Usage, place, what)
    }

    /// Exit 3.
    #[cold]
    pub fn no_data(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NoData, place, what)
    }

    /// Exit 4. `place` is a path, with the byte where reading stopped if there is one.
    #[cold]
    pub fn partial(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Partial, place, what)
    }

    /// Exit 5.
    #[cold]
    pub fn runtime(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Runtime, place, what)
    }

    /// Exit 128 + `signal`.
    #[cold]
    pub fn interrupted(signal: i32) -> Self {
        Self::new(
            ErrorKind::Interrupted(signal),
            "crawl-baseline",
            format_args!("stopped by signal {signal}"),
        )
    }

    /// Adds the cause, usually the text of an `std::io::Error`.
    #[must_use]
    pub fn cause(mut self, cause: impl fmt::Display) -> Self {
        self.0.cause = Some(cause.to_string());
        self
    }

    /// Adds the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.0.hint = Some(hint.to_string());
        self
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The remedy, if there is one.
    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The exit status that this error alone would lead to.
    #[must_use]
    pub fn exit(&self) -> ExitStatus {
        match self.0.kind {
            ErrorKind::Usage => ExitStatus::Usage,
            ErrorKind::NoData => ExitStatus::NoData,
            ErrorKind::Partial => ExitStatus::Partial,
            ErrorKind::Runtime => ExitStatus::Runtime,
            ErrorKind::Interrupted(signal) => ExitStatus::Signal(signal),
        }
    }
}

/// One line, without the hint.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.place, self.0.what)?;
        match &self.0.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}, {self}, hint: {:?})", self.0.kind, self.0.hint)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where_what_and_why_in_this_order() {
        let e = Error::partial("a.log", "cannot open").cause("permission denied").hint("chmod");
        assert_eq!(e.to_string(), "a.log: cannot open: permission denied");
        assert_eq!(e.remedy(), Some("chmod"));
        assert_eq!(e.exit().code(), 4);
    }
}
