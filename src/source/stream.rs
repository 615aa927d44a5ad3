//! Bytes that can only be read in order: compressed files and standard input, cut into blocks of whole lines.
//!
//! A block holds the lines that begin in it; the last, unfinished one is carried over into the next. Where blocks are
//! cut changes nothing that is counted.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::format::cri;
use crate::source::compression::Compression;
use crate::source::gzip::GzipMembers;
use crate::source::streams::Streams;

/// Bytes asked for at a time; a block is at most this plus one line.
pub const BLOCK_BYTES: usize = 512 * 1024;

/// Packed bytes asked for at a time.
const READ_BUFFER: usize = 256 * 1024;

/// Why a stream could not be read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Decompressed bytes before the damage; all of them were given.
    pub at_byte: u64,
    /// The reader's own words.
    pub cause: String,
}

enum Reader {
    Plain(Packed),
    Gzip(Box<GzipMembers<Packed>>),
    Streams(Streams<Packed>),
}

/// The bytes as they are on disk, counted for the progress line.
struct Packed {
    inner: Box<dyn Read + Send>,
    count: Arc<AtomicU64>,
}

impl Read for Packed {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// A decompressing reader that gives blocks of whole lines.
pub struct Stream {
    reader: Reader,
    count: Arc<AtomicU64>,
    carry: Vec<u8>,
    max_line_bytes: usize,
    /// The line in `carry` was given up as too long: skip to its end.
    skipping: bool,
    block_bytes: usize,
    offset: u64,
    ended: bool,
    damage: Option<Damage>,
}

/// Where the lines of a block are in its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockShape {
    /// They begin here: behind the end of a line that was too long.
    pub lines_start: usize,
    /// They end here.
    pub lines_end: usize,
    /// The bytes up to here are those of the stream that count, each in one block; what stands behind is carried over
    /// into the next block, or left out behind damage. Between `lines_end` and this are only NUL bytes: those of a hole
    /// that is longer than a line may be, but for the last one, which stands before its line.
    pub counted_end: usize,
    /// Whether nothing follows.
    pub last: bool,
}

impl Stream {
    /// Reads from the start of `packed`, which is packed as `compression` says.
    ///
    /// # Errors
    /// When the decompressor cannot be set up, or the compression is not supported.
    pub fn open(
        packed: Box<dyn Read + Send>,
        compression: Compression,
        max_line_bytes: usize,
    ) -> io::Result<Self> {
        Self::open_in_blocks(packed, compression, max_line_bytes, BLOCK_BYTES)
    }

    /// The same with `block_bytes` (at least 1) in the place of [`BLOCK_BYTES`]: where blocks are cut changes nothing
    /// that is counted, and a test has more of them.
    ///
    /// # Errors
    /// As [`Stream::open`].
    pub fn open_in_blocks(
        packed: Box<dyn Read + Send>,
        compression: Compression,
        max_line_bytes: usize,
        block_bytes: usize,
    ) -> io::Result<Self> {
        let read_buffer = READ_BUFFER.min(block_bytes);
        let count = Arc::new(AtomicU64::new(0));
        let packed = Packed { inner: packed, count: Arc::clone(&count) };
        let reader = match compression {
            Compression::None => Reader::Plain(packed),
            Compression::Gzip => Reader::Gzip(Box::new(GzipMembers::new(packed, read_buffer))),
            Compression::Zstd | Compression::Bzip2 | Compression::Xz => {
                Reader::Streams(Streams::new(compression, packed, read_buffer)?)
            }
            Compression::Unsupported(name) => {
                return Err(io::Error::new(io::ErrorKind::Unsupported, format!("{name} is not supported")));
            }
        };
        Ok(Self {
            reader,
            count,
            carry: Vec::new(),
            max_line_bytes,
            skipping: false,
            block_bytes,
            offset: 0,
            ended: false,
            damage: None,
        })
    }

    /// Bytes on disk that were read since this was last asked.
    #[must_use]
    pub fn take_bytes_read(&self) -> u64 {
        self.count.swap(0, Ordering::Relaxed)
    }

    /// Decompressed bytes given so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The damage, once the end was reached.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Bytes behind the last member or stream that are none, once the end was reached.
    #[must_use]
    pub fn trailing_garbage(&self) -> Option<u64> {
        match &self.reader {
            Reader::Plain(_) => None,
            Reader::Gzip(members) => members.trailing_garbage(),
            Reader::Streams(streams) => streams.trailing_garbage(),
        }
    }

    fn read_some(&mut self, buf: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < buf.len() && !self.ended {
            let result = match &mut self.reader {
                Reader::Plain(r) => r.read(&mut buf[filled..]),
                Reader::Gzip(r) => r.read(&mut buf[filled..]),
                Reader::Streams(r) => r.read(&mut buf[filled..]),
            };
            match result {
                Ok(0) => self.ended = true,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.ended = true;
                    self.damage = Some(Damage { at_byte: self.offset + filled as u64, cause: e.to_string() });
                }
            }
        }
        filled
    }

    /// Fills `buffer` (its old content is dropped) with the next block; `None` at the end.
    ///
    /// Whole lines are `buffer[lines_start..lines_end]`. At the end of an undamaged stream a last line without `\n`
    /// is part of the lines; behind damage it is left out: half a line is no line.
    pub fn next_block(&mut self, buffer: &mut Vec<u8>) -> Option<BlockShape> {
        if self.ended && self.carry.is_empty() {
            return None;
        }
        // What the buffer held is written over: zeros for a whole block would be a second pass over it.
        let carried = self.carry.len();
        buffer.resize(carried + self.block_bytes, 0);
        buffer[..carried].copy_from_slice(&self.carry);
        self.carry.clear();
        let read = self.read_some(&mut buffer[carried..]);
        self.offset += read as u64;
        buffer.truncate(carried + read);

        let mut lines_start = 0;
        if self.skipping {
            match memchr::memchr(b'\n', buffer) {
                Some(end) => {
                    lines_start = end + 1;
                    self.skipping = false;
                }
                None => lines_start = buffer.len(),
            }
        }
        let mut lines_end = if self.ended {
            buffer.len()
        } else {
            memchr::memrchr(b'\n', &buffer[lines_start..]).map_or(lines_start, |i| lines_start + i + 1)
        };
        if self.ended && self.damage.is_some() {
            lines_end =
                memchr::memrchr(b'\n', &buffer[lines_start..]).map_or(lines_start, |i| lines_start + i + 1);
            return Some(BlockShape { lines_start, lines_end, counted_end: lines_end, last: true });
        }
        if !self.ended {
            let unfinished = &buffer[lines_end..];
            let nul = unfinished.iter().take_while(|byte| **byte == 0).count();
            if unfinished.len() > self.max_line_bytes && unfinished.len() - nul <= self.max_line_bytes {
                let counted_end = lines_end + nul - 1;
                self.carry.extend_from_slice(&buffer[counted_end..]);
                return Some(BlockShape { lines_start, lines_end, counted_end, last: false });
            }
            if unfinished.len() > self.max_line_bytes {
                // One line, already too long: give what is there as that line and skip the rest of it.
                lines_end = buffer.len();
                self.skipping = true;
            } else {
                // The parts of an entry that a container runtime cut stay together, as long as a line may be.
                let whole = lines_start + cri::whole_entries(&buffer[lines_start..lines_end]);
                if buffer.len() - whole <= self.max_line_bytes + cri::REACH {
                    lines_end = whole;
                }
                self.carry.extend_from_slice(&buffer[lines_end..]);
            }
        }
        Some(BlockShape { lines_start, lines_end, counted_end: lines_end, last: self.ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &[u8], max_line_bytes: usize) -> Vec<Vec<u8>> {
        let mut stream =
            Stream::open(Box::new(io::Cursor::new(text.to_vec())), Compression::None, max_line_bytes)
                .unwrap();
        let (mut buffer, mut all, mut raw) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(shape) = stream.next_block(&mut buffer) {
            raw.extend_from_slice(&buffer[..shape.counted_end]);
            assert!(buffer[shape.lines_end..shape.counted_end].iter().all(|byte| *byte == 0));
            let lines = &buffer[shape.lines_start..shape.lines_end];
            all.extend(lines.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec));
        }
        assert_eq!(raw, text);
        all
    }

    #[test]
    fn blocks_hold_every_line_once() {
        let text: Vec<u8> = (0..150_000u32).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
        let want: Vec<Vec<u8>> = text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        assert_eq!(lines_of(&text, 1 << 20), want);
        assert_eq!(lines_of(&text[..text.len() - 1], 1 << 20).len(), want.len());
        assert_eq!(lines_of(b"", 100).len(), 0);
    }

    /// `printf 'one\ntwo\n' | bzip2` and the same through `xz`.
    const BZIP2: &[u8] = b"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xa7\x14\x2b\x77\x00\x00\x02\xc1\x80\x00\x10\x02\x01\x84\x80\x20\x00\x21\x80\x0c\x02\x38\xf5\x1b\x8b\xb9\x22\x9c\x28\x48\x53\x8a\x15\xbb\x80";
    const XZ: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x07\x6f\x6e\x65\x0a\x74\x77\x6f\x0a\x00\x51\xab\x9e\xaf\x57\x75\x70\x49\x00\x01\x20\x08\xbb\x19\xd9\xbb\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";

    fn unpacked(packed: &[u8]) -> (Vec<u8>, bool) {
        let compression = Compression::of(packed);
        assert_ne!(compression, Compression::None);
        let mut stream = Stream::open(Box::new(io::Cursor::new(packed.to_vec())), compression, 100).unwrap();
        let (mut buffer, mut all) = (Vec::new(), Vec::new());
        while let Some(shape) = stream.next_block(&mut buffer) {
            all.extend_from_slice(&buffer[shape.lines_start..shape.lines_end]);
        }
        (all, stream.damage().is_some())
    }

    #[test]
    fn bzip2_and_xz_are_read_with_all_their_streams_and_a_cut_is_told() {
        for packed in [BZIP2, XZ] {
            assert_eq!(unpacked(packed), (b"one\ntwo\n".to_vec(), false));
            assert_eq!(unpacked(&[packed, packed].concat()), (b"one\ntwo\none\ntwo\n".to_vec(), false));
            assert!(unpacked(&packed[..packed.len() - 14]).1);
        }
    }

    #[test]
    fn parts_of_one_entry_stay_in_one_block() {
        let front = "2026-03-10T06:25:14Z stdout";
        let mut text = Vec::new();
        let mut number = 0;
        while text.len() < 3 * BLOCK_BYTES {
            let part = "x".repeat(7_000 + number % 13 * 1_000);
            text.extend_from_slice(format!("{front} P {part}\n{front} P {part}\n2026-03-10T06:25:14Z stderr F e\n{front} F {number}\n").as_bytes());
            number += 1;
        }
        let mut stream =
            Stream::open(Box::new(io::Cursor::new(text.clone())), Compression::None, 1 << 20).unwrap();
        let (mut buffer, mut raw, mut blocks) = (Vec::new(), Vec::new(), 0);
        while let Some(shape) = stream.next_block(&mut buffer) {
            raw.extend_from_slice(&buffer[..shape.lines_end]);
            assert!(!cri::is_open(&raw), "block {blocks}");
            blocks += 1;
        }
        assert!(blocks > 2 && raw == text);
    }

    #[test]
    fn a_hole_of_nul_bytes_is_no_line_and_the_next_one_is_whole() {
        let hole = vec![0; 3 * BLOCK_BYTES];
        let text = [b"one\n", &hole[..], b"two\nthree\n", &hole].concat();
        let lines = lines_of(&text, 1000);
        let plain: Vec<&[u8]> =
            lines.iter().map(|line| &line[line.iter().take_while(|b| **b == 0).count()..]).collect();
        assert_eq!(plain, [&b"one\n"[..], b"two\n", b"three\n", b""]);
        // One NUL says that there was a hole.
        assert!(lines[1].len() > 4 && !lines[3].is_empty());
    }

    #[test]
    fn a_line_past_the_limit_is_one_line_and_the_next_is_whole() {
        let mut text = vec![b'x'; 3 * BLOCK_BYTES];
        text.extend_from_slice(b"\nnext\n");
        let lines = lines_of(&text, 1000);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].len() > 1000);
        assert_eq!(lines[1], b"next\n");
    }
}
