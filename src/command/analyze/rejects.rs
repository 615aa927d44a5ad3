//! `--rejects FILE`: the rejected lines of all logs, one a row: path, line number, reason, line.
//!
//! Example of a row, tabs as blanks: `access.log 17 bad_status 192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" x 5`

use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use crate::error::Error;
use crate::file::{Failure, write_named};
use crate::format::escape::printable;
use crate::ingest::Ingested;
use crate::pipeline::rejects::Spool;
use crate::report::Escaped;

/// Writes them in the order of the logs; a log that is counted elsewhere in this run is left out, as it is of the totals.
///
/// # Errors
/// What cannot be written (exit 5).
pub(super) fn write(path: &Path, spool: &Spool, logs: &[Ingested]) -> Result<(), Error> {
    if path != Path::new("-") {
        return write_named(path, |out| rows(spool, logs, out));
    }
    let mut out = BufWriter::with_capacity(64 * 1024, std::io::stdout().lock());
    let written = rows(spool, logs, &mut out).and_then(|()| Ok(out.flush()?));
    match written {
        Ok(()) => Ok(()),
        Err(failure) => match failure.downcast::<Error>() {
            Ok(error) => Err(*error),
            // A reader that went away has read enough; the rest of the run goes on.
            Err(e)
                if e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) =>
            {
                Ok(())
            }
            Err(e) => Err(Error::runtime("standard output", "cannot write").cause(e)),
        },
    }
}

fn rows(spool: &Spool, logs: &[Ingested], out: &mut impl Write) -> Result<(), Failure> {
    for log in logs.iter().filter(|log| log.duplicate_of().is_none()) {
        let Some(rejected) = &log.rejected else { continue };
        let place = printable(log.log.path.as_os_str().as_encoded_bytes());
        let mut failed = None;
        spool.read(rejected, |number, reason, line| {
            if failed.is_none() {
                failed = writeln!(out, "{}\t{number}\t{}\t{}", Escaped(&place), reason.name(), Escaped(line))
                    .err();
            }
            Ok(())
        })?;
        if let Some(e) = failed {
            return Err(e.into());
        }
    }
    Ok(())
}
