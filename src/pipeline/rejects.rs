//! `--rejects`: every rejected line with its number and reason, whatever the threads do and however many there are.
//!
//! Threads put what they reject behind each other into one spool, in memory up to 8 MiB and in an unnamed
//! temporary file beyond, and remember per block where it lies. Numbers within the log are known when all its blocks
//! are; then the blocks are read back in their order.
//!
//! Example of a row: line 17, `bad_status`, `192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" x 5`

use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Mutex, PoisonError};

use tempfile::SpooledTempFile;

use crate::error::Error;
use crate::format::RejectReason;
use crate::format::client::mask_addresses;
use crate::format::escape::printable;

/// Bytes of rejected lines that are kept in memory.
const IN_MEMORY: usize = 8 << 20;

/// The rejected lines of all logs of a run.
#[derive(Debug)]
pub struct Spool {
    inner: Mutex<Inner>,
    mask: bool,
}

#[derive(Debug)]
struct Inner {
    file: SpooledTempFile,
    length: u64,
    failed: Option<io::Error>,
}

/// Where the rejected lines of some blocks of one log lie in the spool.
#[derive(Debug, Default)]
pub struct Rejected {
    /// Lines of every block, parts of an entry counted.
    blocks: Vec<(u64, u64)>,
    chunks: Vec<Chunk>,
    /// Those of the block at hand.
    current: Vec<u8>,
}

#[derive(Debug)]
struct Chunk {
    block: u64,
    offset: u64,
    bytes: u64,
}

impl Spool {
    /// An empty one; with `mask`, the host part of every address is zeroed before a line is kept.
    #[must_use]
    pub fn new(mask: bool) -> Self {
        let file = SpooledTempFile::new(IN_MEMORY);
        Self { inner: Mutex::new(Inner { file, length: 0, failed: None }), mask }
    }

    fn put(&self, bytes: &[u8]) -> u64 {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = inner.length;
        if inner.failed.is_none() {
            match inner.file.write_all(bytes) {
                Ok(()) => inner.length += bytes.len() as u64,
                Err(e) => inner.failed = Some(e),
            }
        }
        offset
    }

    /// The rejected lines of one log in its order: number from 1, reason, and the line, printable.
    ///
    /// # Errors
    /// The temporary file could not be written or read (exit 5), or what `row` returned.
    pub fn read(
        &self,
        rejected: &Rejected,
        mut row: impl FnMut(u64, RejectReason, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |e: &io::Error| {
            Error::runtime("--rejects", "cannot keep the rejected lines in a temporary file")
                .cause(e)
                .hint("TMPDIR names another folder for it")
        };
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(e) = &inner.failed {
            return Err(failed(e));
        }
        let mut blocks = rejected.blocks.clone();
        blocks.sort_unstable();
        let mut chunks: Vec<&Chunk> = rejected.chunks.iter().collect();
        chunks.sort_by_key(|chunk| chunk.block);
        let (mut before, mut blocks) = (0, blocks.into_iter().peekable());
        let mut line = Vec::new();
        for chunk in chunks {
            while let Some((_, lines)) = blocks.next_if(|(block, _)| *block < chunk.block) {
                before += lines;
            }
            inner.file.seek(SeekFrom::Start(chunk.offset)).map_err(|e| failed(&e))?;
            let mut reader = BufReader::new((&mut inner.file).take(chunk.bytes));
            let mut head = [0; 9];
            while !reader.fill_buf().map_err(|e| failed(&e))?.is_empty() {
                reader.read_exact(&mut head).map_err(|e| failed(&e))?;
                line.clear();
                reader.read_until(b'\n', &mut line).map_err(|e| failed(&e))?;
                let [number @ .., reason] = head;
                let reason = RejectReason::ALL[usize::from(reason)];
                let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
                row(before + u64::from_le_bytes(number) + 1, reason, &text)?;
            }
        }
        Ok(())
    }
}

impl Rejected {
    /// Notes a line of the block at hand; `number` counts its lines from 0.
    #[cold]
    pub(super) fn line(&mut self, number: u64, reason: RejectReason, line: &[u8], spool: &Spool) {
        self.current.extend_from_slice(&number.to_le_bytes());
        let index = RejectReason::ALL.iter().position(|r| *r == reason).unwrap_or_default();
        self.current.push(u8::try_from(index).unwrap_or_default());
        let text = if spool.mask { mask_addresses(line) } else { line.into() };
        self.current.extend_from_slice(printable(&text).as_bytes());
        self.current.push(b'\n');
    }

    /// Ends the block, which has so many lines.
    pub(super) fn end_block(&mut self, block: u64, lines: u64, spool: &Spool) {
        self.blocks.push((block, lines));
        if !self.current.is_empty() {
            let offset = spool.put(&self.current);
            self.chunks.push(Chunk { block, offset, bytes: self.current.len() as u64 });
            self.current.clear();
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.blocks.extend(other.blocks);
        self.chunks.extend(other.chunks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_in_order_whoever_noted_them_and_wherever_they_were_kept() {
        let spool = Spool::new(true);
        let long = vec![b'x'; 300_000];
        let mut parts: Vec<Rejected> = (0..3).map(|_| Rejected::default()).collect();
        for block in (0..60).rev() {
            let part = &mut parts[block % 3];
            part.line(1, RejectReason::NoTime, b"a\tb 192.0.2.77\xff", &spool);
            part.line(8, RejectReason::BadJson, &long, &spool);
            part.end_block(block as u64, 10, &spool);
        }
        parts[0].end_block(60, 10, &spool);
        let mut whole = Rejected::default();
        parts.into_iter().for_each(|part| whole.merge(part));
        let mut rows = Vec::new();
        spool
            .read(&whole, |number, reason, text| {
                rows.push((number, reason, text.len()));
                assert!(text.len() == 300_000 || text == "a\\x09b 192.0.2.0\\xFF", "{text}");
                Ok(())
            })
            .unwrap();
        let want: Vec<_> = (0..60)
            .flat_map(|b| {
                [(b * 10 + 2, RejectReason::NoTime, 20), (b * 10 + 9, RejectReason::BadJson, 300_000)]
            })
            .collect();
        assert_eq!(rows, want);
    }
}
