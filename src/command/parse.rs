//! `parse`: what every line was taken for, as one JSON object a line. For setting a format up, and for tests.
//!
//! Reads in order and prints as it reads, so that `| head` sees the first lines at once.

mod object;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::console;
use super::reading::Reading;
use crate::bot::Who;
use crate::cli::ParseArguments;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::format::escape::unescape;
use crate::format::guess::guess;
use crate::format::{Entry, Line, Parser, client};
use crate::source::compression::Compression;
use crate::source::discover::LogFile;
use crate::source::stream::Stream;

/// Runs `parse`.
///
/// # Errors
/// Usage errors, a signal, and standard output that cannot be written.
pub fn run(arguments: &ParseArguments, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    let reading = Reading::new(&arguments.reading)?;
    let found = reading.discover()?;
    let mut status = ExitStatus::Success;
    for error in &found.unreadable {
        console::print_error(error);
        status = status.and(error.exit());
    }
    for skipped in &found.skipped {
        console::print_note(format_args!("{}: left out: {}", skipped.path.display(), skipped.reason));
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut lines = 0;
    for log in &found.logs {
        match print_log(&reading, log, stop, &mut out) {
            Ok(count) => lines += count,
            Err(Failed::ReaderWentAway) => return Ok(ExitStatus::Success),
            Err(Failed::Error(error)) if error.exit() == ExitStatus::Partial => {
                lines += 1;
                console::print_error(&error);
                status = status.and(ExitStatus::Partial);
            }
            Err(Failed::Error(error)) => return Err(error),
        }
    }
    match out.flush() {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => return Err(cannot_write(&e)),
        _ => {}
    }
    if lines == 0 {
        console::print_error(&Error::no_data("parse", "found no line").hint("name a log that is not empty"));
        status = status.and(ExitStatus::NoData);
    }
    Ok(status)
}

/// Rejected lines that a hint is made from.
const LOOKED_AT: usize = 20;

enum Failed {
    ReaderWentAway,
    Error(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

fn cannot_write(e: &io::Error) -> Error {
    Error::runtime("standard output", "cannot write").cause(e)
}

/// Prints all lines of a log and returns their number.
fn print_log(
    reading: &Reading,
    log: &LogFile,
    stop: &AtomicUsize,
    out: &mut impl Write,
) -> Result<u64, Failed> {
    let place = log.path.display().to_string();
    let unreadable = |e: io::Error| Error::partial(&place, "cannot open").cause(e);
    let mut head = Vec::new();
    let mut file: Box<dyn Read + Send> = if log.is_stdin() {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(&log.path).map_err(unreadable)?)
    };
    (&mut file).take(Compression::HEAD as u64).read_to_end(&mut head).map_err(unreadable)?;
    let compression = Compression::of(&head);
    if let Compression::Unsupported(name) = compression {
        let error = Error::partial(&place, format_args!("{name} compression is not supported"));
        return Err(error
            .hint("unpack it first, or pipe it: program -dc FILE | crawl-baseline ... -")
            .into());
    }
    let reader = Box::new(io::Cursor::new(head).chain(file));
    let mut stream = Stream::open(reader, compression, reading.parser.max_line_bytes).map_err(unreadable)?;
    let mut parser = Parser::new(reading.parser.clone());
    let (mut buffer, mut number) = (Vec::new(), 0);
    let (mut records, mut rejected): (u64, Vec<Vec<u8>>) = (0, Vec::new());
    parser.begin_source();
    while let Some(shape) = stream.next_block(&mut buffer) {
        let signal = stop.load(Ordering::Relaxed);
        if signal != 0 {
            return Err(Error::interrupted(i32::try_from(signal).unwrap_or(0)).into());
        }
        let mut result = Ok(());
        let lines = parser.block(&buffer[shape.lines_start..shape.lines_end], |entry| {
            match &entry.outcome {
                Line::Record(_) => records += 1,
                Line::Reject(_) if rejected.len() < LOOKED_AT => rejected.push(entry.line.to_vec()),
                _ => {}
            }
            if result.is_ok() {
                result = print_line(reading, &place, number + entry.number + 1, &entry, out);
            }
        });
        number += lines;
        result.map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe => Failed::ReaderWentAway,
            _ => cannot_write(&e).into(),
        })?;
        parser.continue_source();
    }
    if records == 0
        && let Some(hint) = guess(&rejected, &reading.parser)
    {
        console::print_error(&Error::partial(&place, "no line was read").hint(hint));
    }
    match stream.damage() {
        Some(damage) => Err(Error::partial(&place, format_args!("cannot read past byte {}", damage.at_byte))
            .cause(&damage.cause)
            .hint("the lines before it were printed")
            .into()),
        None => Ok(number),
    }
}

fn print_line(
    reading: &Reading,
    place: &str,
    number: u64,
    entry: &Entry<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let who = match entry.outcome {
        Line::Record(record) => {
            let user_agent = record.user_agent.map(unescape);
            let who = reading.matcher.classify(user_agent.as_deref());
            let catalogue = reading.matcher.catalogue();
            let address = client::address(client::chosen(record, reading.client));
            let verdict = who.is_bot().then(|| reading.verifier.verdict(&who, address).name().to_owned());
            let category = match &who {
                Who::Known(_) | Who::Declared(_) => Some(who.category(catalogue).to_owned()),
                _ => None,
            };
            object::Who {
                bot: who.bot_name(catalogue).map(str::to_owned),
                category: category.filter(|c| !c.is_empty()),
                verification: verdict,
            }
        }
        _ => object::Who::default(),
    };
    let object = object::object(place, number, entry, &who, reading);
    serde_json::to_writer(&mut *out, &object).map_err(io::Error::from)?;
    out.write_all(b"\n")
}
