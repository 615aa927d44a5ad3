//! Looks a second time where the granules of two logs of one run cannot tell whether one is the beginning of the other.
//!
//! Example: `access.log.1` of 5,000,100 bytes and `access.log` of 9 MB agree in their first 4,980,736 bytes. The beginning
//! of the longer one is digested again up to byte 5,000,100, and then it is known.

use std::collections::BTreeMap;
use std::fs::File;

use crate::error::Error;
use crate::history::known::{Decision, Proof, Skip, Stream, decide};
use crate::history::source_row::SourceRow;
use crate::source::compression::Compression;
use crate::source::discover::LogFile;
use crate::source::identity::{Digester, Digests};
use crate::source::stream::Stream as LogStream;

/// Lines longer than a block of the stream do not matter here: bytes are digested, not lines.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Decides for all logs of a run, and again with what a second look at some of them has shown.
///
/// Standard input cannot be looked at twice; there the bytes past the last whole granule are taken on trust.
pub(super) fn decide_exactly<'a>(
    known: &BTreeMap<String, SourceRow>,
    streams: &mut [Stream],
    log: &dyn Fn(usize) -> &'a LogFile,
) -> Result<Vec<Decision>, Error> {
    loop {
        let decisions = decide(known, streams);
        let mut learned = false;
        for (shorter, decision) in decisions.iter().enumerate() {
            let Decision::Skip(Skip::PrefixOfInput(longer, Proof::UpTo(_))) = decision else { continue };
            let length = streams[shorter].digests.length();
            if let Some(beginning) = beginning(log(*longer), length) {
                learned |= streams[*longer].digests.learn(&beginning);
            }
        }
        // Every round adds a length that was not known before, so this ends.
        if !learned {
            return Ok(decisions);
        }
    }
}

/// The digests of the first `length` bytes; `None` when they cannot be read a second time.
fn beginning(log: &LogFile, length: u64) -> Option<Digests> {
    if log.is_stdin() {
        return None;
    }
    let mut head = [0; Compression::HEAD];
    let file = File::open(&log.path).ok()?;
    let n = std::os::unix::fs::FileExt::read_at(&file, &mut head, 0).ok()?;
    let mut stream = LogStream::open(Box::new(file), Compression::of(&head[..n]), MAX_LINE_BYTES).ok()?;
    let mut digester = Digester::new(Vec::new());
    let mut left = length;
    let mut buffer = Vec::new();
    while left > 0 {
        let shape = stream.next_block(&mut buffer)?;
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(shape.counted_end);
        digester.update(&buffer[..taken]);
        left -= taken as u64;
    }
    Some(digester.finish())
}
