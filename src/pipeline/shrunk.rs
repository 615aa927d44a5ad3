//! A plain file that became shorter while it was read: what is still there is kept, what is gone is told.
//!
//! Example: `copytruncate` empties a log of 40 MB while its tenth block is read.

use std::io;

use crate::source::plain::{PlainBlock, PlainFile};
use crate::source::stream::Damage;

/// Reads a block, or what the file still has of it up to the end of a line.
///
/// # Errors
/// Any other error, or a block of which nothing is left.
pub(super) fn read_block(
    file: &PlainFile,
    number: u64,
    longest: usize,
    buffer: &mut Vec<u8>,
) -> io::Result<(PlainBlock, Option<Damage>)> {
    let gone = match file.read_block(number, longest, buffer) {
        Ok(block) => return Ok((block, None)),
        Err(e) if e.kind() != io::ErrorKind::UnexpectedEof => return Err(e),
        Err(e) => e,
    };
    let left = file.file().metadata()?.len().min(file.length());
    let rest = PlainFile::new(file.file().try_clone()?, left);
    if number >= rest.blocks() {
        return Err(gone);
    }
    let mut block = rest.read_block(number, longest, buffer)?;
    // The last line may be cut, and what stood behind it is gone.
    let (start, end) = block.lines;
    let whole = memchr::memrchr(b'\n', &buffer[start..end]).map_or(start, |at| start + at + 1);
    if block.at_end {
        block.own.1 = block.own.1.min(whole.max(block.own.0));
        block.lines.1 = whole;
    }
    block.at_end = false;
    Ok((block, Some(Damage { at_byte: left, cause: became_shorter().to_owned() })))
}

/// The cause in words.
pub(super) fn became_shorter() -> &'static str {
    "the file became shorter while it was read"
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::source::plain::BLOCK_BYTES;

    #[test]
    fn what_is_left_of_a_block_is_read_up_to_its_last_whole_line() {
        let mut file = tempfile::tempfile().unwrap();
        let line = "0123456789abcde\n";
        let length = BLOCK_BYTES + 1600;
        file.write_all(line.repeat(usize::try_from(length / 16).unwrap()).as_bytes()).unwrap();
        let plain = PlainFile::new(file, length);
        let mut buffer = Vec::new();
        let read = |buffer: &mut Vec<u8>, number| super::read_block(&plain, number, 1 << 20, buffer);
        let (block, damage) = read(&mut buffer, 1).unwrap();
        assert_eq!((block.lines.1 - block.lines.0, damage), (1600, None));
        plain.file().set_len(BLOCK_BYTES + 100).unwrap();
        let (block, damage) = read(&mut buffer, 1).unwrap();
        assert_eq!((block.lines.1 - block.lines.0, block.own.1 - block.own.0), (96, 96));
        assert_eq!(damage.map(|d| d.at_byte), Some(BLOCK_BYTES + 100));
        plain.file().set_len(BLOCK_BYTES - 7).unwrap();
        let (block, _) = read(&mut buffer, 0).unwrap();
        assert_eq!((block.lines.1 - block.lines.0) % 16, 0);
        assert!(read(&mut buffer, 1).is_err());
        plain.file().set_len(0).unwrap();
        assert!(read(&mut buffer, 0).is_err());
    }
}
