//! Plain regular files, cut into blocks of whole lines that several threads read at once.
//!
//! Block `k` owns the lines that begin in bytes `k * BLOCK_BYTES ..`; its window reaches one byte back, to see whether
//! its first byte begins a line, and forward to the end of its last line. So every line is in exactly one block,
//! whatever the number of threads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The size of a block: that of the content identity, and small enough for the second-level cache.
pub const BLOCK_BYTES: u64 = crate::source::identity::BLOCK_BYTES as u64;

/// How far past the block's end the last line is looked for at first.
const LOOK_AHEAD: usize = 4 * 1024;

/// A plain file of a length that was fixed when it was opened.
pub struct PlainFile {
    file: File,
    length: u64,
}

/// The lines of one block inside the buffer it was read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainBlock {
    /// Where the block's own bytes (for the content identity) begin and end in the buffer.
    pub own: (usize, usize),
    /// Where its lines begin and end in the buffer.
    pub lines: (usize, usize),
    /// Whether the last line ends in `\n`.
    pub terminated: bool,
}

impl PlainFile {
    /// A file and the length up to which it is read.
    #[must_use]
    pub fn new(file: File, length: u64) -> Self {
        Self { file, length }
    }

    /// The length that was fixed at the start, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The file itself, to look at its size again.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.length.div_ceil(BLOCK_BYTES)
    }

    /// Reads block `index` into `buffer` (its old content is dropped).
    ///
    /// A line longer than `max_line_bytes` is given cut behind that many bytes; nothing else of it is in any block.
    ///
    /// # Errors
    /// A read error, or `UnexpectedEof` when the file became shorter meanwhile.
    pub fn read_block(
        &self,
        index: u64,
        max_line_bytes: usize,
        buffer: &mut Vec<u8>,
    ) -> io::Result<PlainBlock> {
        let start = index * BLOCK_BYTES;
        let end = (start + BLOCK_BYTES).min(self.length);
        let from = start.saturating_sub(1);
        let own_start = usize::from(start > 0);
        let own_len = usize::try_from(end - start).unwrap_or(usize::MAX);
        let own_end = own_start + own_len;

        self.fill(buffer, 0, from, own_end + LOOK_AHEAD)?;
        // The first line that begins here: behind the first newline at or after the byte before the block.
        let first = if start == 0 {
            0
        } else {
            match memchr::memchr(b'\n', &buffer[..own_end]) {
                Some(i) if i + 1 < own_end => i + 1,
                _ => return Ok(PlainBlock { own: (own_start, own_end), lines: (0, 0), terminated: true }),
            }
        };
        // The last line that begins here ends at the first newline at or after the block's last byte.
        let mut searched = own_end - 1;
        let line_start = memchr::memrchr(b'\n', &buffer[first..own_end]).map_or(first, |i| first + i + 1);
        if line_start == own_end {
            return Ok(PlainBlock { own: (own_start, own_end), lines: (first, own_end), terminated: true });
        }
        loop {
            if let Some(i) = memchr::memchr(b'\n', &buffer[searched..]) {
                let stop = searched + i + 1;
                return Ok(PlainBlock { own: (own_start, own_end), lines: (first, stop), terminated: true });
            }
            searched = buffer.len();
            if from + searched as u64 == self.length {
                return Ok(PlainBlock {
                    own: (own_start, own_end),
                    lines: (first, searched),
                    terminated: false,
                });
            }
            if searched - line_start > max_line_bytes {
                return Ok(PlainBlock {
                    own: (own_start, own_end),
                    lines: (first, searched),
                    terminated: true,
                });
            }
            let more = (searched - own_end).max(LOOK_AHEAD) * 4;
            self.fill(buffer, searched, from + searched as u64, more)?;
        }
    }

    /// Reads `wanted` bytes (fewer at the end of the file) at `offset` into the buffer behind its first `keep` bytes.
    fn fill(&self, buffer: &mut Vec<u8>, keep: usize, offset: u64, wanted: usize) -> io::Result<()> {
        let available = usize::try_from(self.length - offset).unwrap_or(usize::MAX);
        let wanted = wanted.min(available);
        if buffer.len() < keep + wanted {
            buffer.resize(keep + wanted, 0);
        } else {
            buffer.truncate(keep + wanted);
        }
        self.file.read_exact_at(&mut buffer[keep..], offset)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines_of(text: &[u8], max: usize) -> Vec<Vec<u8>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let plain = PlainFile::new(file, text.len() as u64);
        let (mut buffer, mut all, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..plain.blocks() {
            let b = plain.read_block(k, max, &mut buffer).unwrap();
            own.extend_from_slice(&buffer[b.own.0..b.own.1]);
            all.extend(buffer[b.lines.0..b.lines.1].split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec));
        }
        assert_eq!(own, text);
        all
    }

    #[test]
    fn every_line_is_in_exactly_one_block() {
        // Lengths around the block border, so that newlines fall on, before and behind it.
        for shift in 0..3usize {
            let mut text = vec![b'a'; shift];
            let mut i = 0u32;
            while text.len() < 2 * crate::source::identity::BLOCK_BYTES + 100 {
                text.extend_from_slice(format!("line {i} {}\n", "x".repeat((i % 300) as usize)).as_bytes());
                i += 1;
            }
            for cut in 0..3 {
                let text = &text[..text.len() - cut];
                let want: Vec<Vec<u8>> = text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                assert_eq!(lines_of(text, 1 << 20), want);
            }
        }
        let border = usize::try_from(BLOCK_BYTES).unwrap();
        for newline in [border - 2, border - 1, border, border + 1] {
            let mut text = vec![b'a'; 2 * border + 7];
            text[newline] = b'\n';
            let want: Vec<Vec<u8>> = text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            assert_eq!(lines_of(&text, 1 << 22), want, "{newline}");
        }
    }

    #[test]
    fn a_line_over_many_blocks_is_one_line() {
        let mut text = vec![b'x'; 9_000_000];
        text.extend_from_slice(b"\nnext\n");
        let lines = lines_of(&text, 1 << 20);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].len() > 1 << 20 && lines[0].len() < 9_000_000);
        assert_eq!(lines[1], b"next\n");
    }
}
