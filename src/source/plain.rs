//! Plain regular files, cut into blocks of whole lines that several threads read at once.
//!
//! Block `k` owns the lines that begin in bytes `k * BLOCK_BYTES ..`; its window reaches one byte back, to see whether
//! its first byte begins a line, and forward to the end of its last line. So every line is in exactly one block,
//! whatever the number of threads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime};

use super::mapped::Window;
use crate::format::cri;

/// The size of a block: that of the content identity, and small enough for the second-level cache.
pub const BLOCK_BYTES: u64 = crate::source::identity::BLOCK_BYTES as u64;

/// How far past the block's end the last line is looked for at first.
const LOOK_AHEAD: usize = 4 * 1024;

/// A plain file of a length that was fixed when it was opened.
pub struct PlainFile {
    file: File,
    length: u64,
    /// When it was last modified, where its blocks may be mapped.
    settled: Option<SystemTime>,
    /// It was longer when it was opened first.
    cut: bool,
}

/// A file that was not modified for so long is taken for settled.
const SETTLED: Duration = Duration::from_secs(60);

/// The lines of one block inside the buffer it was read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainBlock {
    /// Where the block's own bytes (for the content identity) begin and end in the buffer.
    pub own: (usize, usize),
    /// Where its lines begin and end in the buffer.
    pub lines: (usize, usize),
    /// Whether its lines end where the file does.
    pub at_end: bool,
    /// NUL bytes of a hole behind the block, before the end of its last line, that are not in the buffer.
    pub hole: u64,
}

impl PlainFile {
    /// A file and the length up to which it is read.
    #[must_use]
    pub fn new(file: File, length: u64) -> Self {
        Self { file, length, settled: None, cut: false }
    }

    /// The same, mapped where that is safe to try: the file is settled. See [`super::mapped`].
    #[must_use]
    pub fn mapped(file: File, length: u64) -> Self {
        let settled = file
            .metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
            .filter(|modified| modified.elapsed().is_ok_and(|age| age >= SETTLED));
        Self { file, length, settled, cut: false }
    }

    /// Whether blocks may be mapped.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.settled.is_some()
    }

    /// Whether the file is another one than when it was opened, so that what was seen of it mapped cannot be trusted.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        let Ok(metadata) = self.file.metadata() else { return true };
        metadata.len() != self.length || metadata.modified().ok() != self.settled
    }

    /// The file as it is now, to be read.
    ///
    /// # Errors
    /// The system gives no second descriptor, or no length.
    pub fn read_again(&self) -> io::Result<Self> {
        let length = self.file.metadata()?.len();
        Ok(Self { cut: length < self.length, ..Self::new(self.file.try_clone()?, length) })
    }

    /// Whether the end is gone that it had when it was opened first: its last line may be a part of one.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    /// Block `index` in a window, at the same places as [`PlainFile::read_block`] gives. `None`: it must be read, because
    /// the file is not to be mapped, the system maps no more, or the last entry reaches far behind the block.
    #[must_use]
    pub fn map_block(&self, index: u64, max_line_bytes: usize) -> Option<(Window, PlainBlock)> {
        self.settled?;
        let start = index * BLOCK_BYTES;
        let end = (start + BLOCK_BYTES).min(self.length);
        let from = start.saturating_sub(1);
        let length = (end - from + LOOK_AHEAD as u64).min(self.length - from);
        let window = Window::new(&self.file, from, usize::try_from(length).ok()?).ok()?;
        let text = window.bytes();
        let own_start = usize::from(start > 0);
        let own = (own_start, usize::try_from(end - from).ok()?);
        let first = match start {
            0 => Some(0),
            _ => memchr::memchr(b'\n', &text[..own.1]).map(|i| i + 1).filter(|first| *first < own.1),
        };
        let Some(first) = first else {
            return Some((window, PlainBlock { own, lines: (0, 0), at_end: false, hole: 0 }));
        };
        let stop = match memchr::memchr(b'\n', &text[own.1 - 1..]) {
            Some(i) => own.1 + i,
            None if from + text.len() as u64 == self.length => text.len(),
            None => return None,
        };
        let first = self.behind_entry(text, from, first, max_line_bytes).ok()?;
        let stop = self.behind_entry(text, from, stop, max_line_bytes).ok()?;
        if stop > text.len() {
            return None;
        }
        let at_end = from + stop as u64 == self.length;
        let lines = if first < stop { (first, stop) } else { (0, 0) };
        Some((window, PlainBlock { own, lines, at_end: at_end && first < stop, hole: 0 }))
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
    /// A line longer than `max_line_bytes` is given cut behind that many bytes; nothing else of it is in any block. NUL
    /// bytes before a line do not count, and those behind the block are left out.
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
        let own = (own_start, own_end);
        let none = PlainBlock { own, lines: (0, 0), at_end: false, hole: 0 };
        // The first line that begins here: behind the first newline at or after the byte before the block.
        let first = if start == 0 {
            0
        } else {
            match memchr::memchr(b'\n', &buffer[..own_end]) {
                Some(i) if i + 1 < own_end => i + 1,
                _ => return Ok(none),
            }
        };
        // The last line that begins here ends at the first newline at or after the block's last byte.
        let mut searched = own_end - 1;
        let line_start = memchr::memrchr(b'\n', &buffer[first..own_end]).map_or(first, |i| first + i + 1);
        let mut hole = 0;
        let stop = loop {
            if line_start == own_end {
                break own_end;
            }
            if let Some(i) = memchr::memchr(b'\n', &buffer[searched..]) {
                break searched + i + 1;
            }
            searched = buffer.len();
            if from + hole + searched as u64 == self.length {
                break searched;
            }
            let nul = buffer[line_start..].iter().take_while(|byte| **byte == 0).count();
            if line_start + nul == searched {
                // A hole is as long as the log once was: it is not kept.
                hole += (searched - own_end) as u64;
                searched = own_end;
                self.fill(buffer, searched, from + hole + searched as u64, own_len.max(LOOK_AHEAD))?;
                continue;
            }
            if searched - line_start - nul > max_line_bytes {
                break searched;
            }
            let more = (searched - own_end).max(LOOK_AHEAD) * 4;
            self.fill(buffer, searched, from + hole + searched as u64, more)?;
        };
        // An entry that a container runtime cut into parts belongs to the block in which it begins.
        let first = self.behind_entry(buffer, from, first, max_line_bytes)?;
        let stop = self.behind_entry(buffer, from + hole, stop, max_line_bytes)?;
        if first >= stop {
            return Ok(none);
        }
        if stop > buffer.len() {
            let (have, more) = (buffer.len(), stop - buffer.len());
            self.fill(buffer, have, from + hole + have as u64, more)?;
        }
        let at_end = from + hole + stop as u64 == self.length;
        Ok(PlainBlock { own, lines: (first, stop), at_end, hole })
    }

    /// Where in the buffer, or behind it, the entry ends that is open at `at`, the start of a line. The buffer begins at
    /// `from` in the file.
    ///
    /// The answer follows from the bytes around that place alone, so two blocks find the same border. An entry whose
    /// parts reach further behind it than a line may be long is cut there.
    fn behind_entry(&self, buffer: &[u8], from: u64, at: usize, max_line_bytes: usize) -> io::Result<usize> {
        const FRONT: usize = 128;
        let place = from + at as u64;
        if place == 0 || place >= self.length {
            return Ok(at);
        }
        let mut near = Vec::new();
        let line = match buffer.get(at..at + FRONT) {
            Some(line) => line,
            None => {
                self.fill(&mut near, 0, place, FRONT)?;
                &near[..]
            }
        };
        if !cri::leads(line) {
            return Ok(at);
        }
        let window = place.saturating_sub(cri::REACH as u64 + 1);
        let mut text = Vec::new();
        let mut border = usize::try_from(place - window).unwrap_or(usize::MAX);
        self.fill(&mut text, 0, window, border)?;
        if !cri::is_open(&text) {
            return Ok(at);
        }
        let begin = border;
        self.fill(&mut text, begin, place, max_line_bytes + cri::REACH)?;
        let to_end = window + text.len() as u64 == self.length;
        while border < text.len() && cri::is_open(&text[..border]) && cri::leads(&text[border..]) {
            match memchr::memchr(b'\n', &text[border..]) {
                Some(end) => border += end + 1,
                None if to_end => border = text.len(),
                None => return Ok(at),
            }
        }
        let cut = border == text.len() && !to_end;
        Ok(if cut { at } else { at + (border - begin) })
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

    #[test]
    fn a_hole_of_nul_bytes_is_no_line_and_the_next_one_is_whole() {
        let hole = vec![0; 5 * crate::source::identity::BLOCK_BYTES / 2];
        let text = [b"one\n", &hole[..], b"two\nthree\n", &hole].concat();
        let lines = lines_of(&text, 1000);
        let plain: Vec<&[u8]> =
            lines.iter().map(|line| &line[line.iter().take_while(|b| **b == 0).count()..]).collect();
        assert_eq!(plain, [&b"one\n"[..], b"two\n", b"three\n", b""]);
        assert!(lines[1].len() > 4 && !lines[3].is_empty());
    }

    fn lines_of(text: &[u8], max: usize) -> Vec<Vec<u8>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file.set_modified(SystemTime::now() - 2 * SETTLED).unwrap();
        let settled = PlainFile::mapped(file.try_clone().unwrap(), text.len() as u64);
        let plain = PlainFile::new(file, text.len() as u64);
        let (mut buffer, mut all, mut own) = (Vec::new(), Vec::new(), Vec::new());
        let mut mapped_blocks = 0;
        for k in 0..plain.blocks() {
            let b = plain.read_block(k, max, &mut buffer).unwrap();
            if let Some((window, mapped)) = settled.map_block(k, max) {
                assert_eq!(mapped, b);
                assert_eq!(window.bytes()[..b.own.1.max(b.lines.1)], buffer[..b.own.1.max(b.lines.1)]);
                mapped_blocks += 1;
            }
            own.extend_from_slice(&buffer[b.own.0..b.own.1]);
            all.extend(buffer[b.lines.0..b.lines.1].split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec));
        }
        assert_eq!(own, text);
        // Blocks whose last line reaches far behind them are read.
        assert!(max < 1 << 20 || text.is_empty() || mapped_blocks > 0);
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
    fn parts_of_one_entry_are_in_the_block_where_it_begins() {
        let front = "2026-03-10T06:25:14Z stdout";
        let border = usize::try_from(BLOCK_BYTES).unwrap();
        // The border falls on every part of an entry, and between two.
        for shift in (0..64_000).step_by(3_001) {
            let mut text = format!("{front} F {}\n", "y".repeat(shift)).into_bytes();
            while text.len() < border + 200_000 {
                let part = "x".repeat(16_000);
                text.extend_from_slice(
                    format!(
                        "{front} P {part}\n2026-03-10T06:25:14Z stderr F e\n{front} P {part}\n{front} F z\n"
                    )
                    .as_bytes(),
                );
            }
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&text).unwrap();
            let plain = PlainFile::new(file, text.len() as u64);
            let (mut buffer, mut all) = (Vec::new(), Vec::new());
            for k in 0..plain.blocks() {
                let b = plain.read_block(k, 1 << 20, &mut buffer).unwrap();
                all.extend_from_slice(&buffer[b.lines.0..b.lines.1]);
                assert!(!cri::is_open(&all), "{shift}");
            }
            assert!(all == text, "{shift}");
        }
        // Parts without an end: nothing is lost and nothing is read twice.
        let text = format!("{front} P {}\n", "x".repeat(9_000)).repeat(300).into_bytes();
        assert!(text.len() > 2 * border);
        for max in [1 << 14, 1 << 20] {
            assert!(lines_of(&text, max).concat() == text, "{max}");
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
