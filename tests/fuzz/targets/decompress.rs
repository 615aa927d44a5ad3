//! The decompression layer on any bytes: no panic, bounded blocks, every byte that was given counts once, no line is cut
//! by a block, and an end that is either whole or told as damage. What a packer packs comes back. The first byte of the
//! input chooses the size of blocks and what is done with the rest: it is read as it is, packed and read, or packed, cut
//! and read. Run: `tests/fuzz/run decompress`.

#![no_main]

use std::cell::RefCell;
use std::io::Cursor;

use crawl_baseline::source::compression::Compression;
use crawl_baseline::source::stream::Stream;
use flate2::{Compress, FlushCompress};

/// Where a bomb is left alone.
const MOST: usize = 32 * 1024;
const LONGEST: usize = 200;
const BLOCKS: [usize; 8] = [16, 17, 40, 64, 100, 256, 500, 1000];

fn unpacked(packed: &[u8], block_bytes: usize) -> Option<(Vec<u8>, bool)> {
    let compression = Compression::of(packed);
    let packed = Box::new(Cursor::new(packed.to_vec()));
    let mut stream = Stream::open_in_blocks(packed, compression, LONGEST, block_bytes).ok()?;
    let (mut buffer, mut all, mut lines) = (Vec::new(), Vec::new(), 0);
    while let Some(shape) = stream.next_block(&mut buffer) {
        assert!(shape.lines_start <= shape.lines_end && shape.lines_end <= shape.counted_end);
        assert!(buffer[shape.lines_end..shape.counted_end].iter().all(|byte| *byte == 0));
        assert!(buffer.len() <= block_bytes + 2 * LONGEST + 2 * 64 * 1024, "{}", buffer.len());
        all.extend_from_slice(&buffer[..shape.counted_end]);
        lines += count(&buffer[shape.lines_start..shape.lines_end]);
        if all.len() > MOST {
            return None;
        }
        if shape.last {
            assert!(stream.next_block(&mut buffer).is_none(), "something follows the last block");
            break;
        }
    }
    let damaged = stream.damage().is_some();
    // Of a hole that damage ends in no line came.
    let mut end = all.len();
    if damaged && all[last_line(&all)..].iter().all(|byte| *byte == 0) {
        end = last_line(&all);
    }
    assert_eq!(lines, count(&all[..end]), "a line is lost or cut");
    Some((all, damaged))
}

/// Behind the last newline.
fn last_line(text: &[u8]) -> usize {
    text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

fn count(lines: &[u8]) -> usize {
    lines.split_inclusive(|byte| *byte == b'\n').count()
}

fn packed(text: &[u8]) -> Vec<u8> {
    thread_local! {
        static GZIP: RefCell<Compress> = RefCell::new(Compress::new_gzip(flate2::Compression::fast(), 15));
    }
    GZIP.with_borrow_mut(|gzip| {
        gzip.reset();
        let mut packed = Vec::with_capacity(text.len() + 100);
        gzip.compress_vec(text, &mut packed, FlushCompress::Finish).expect("every text can be packed");
        assert_eq!(gzip.total_in(), text.len() as u64, "no room");
        packed
    })
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((how, text)) = input.split_first() else { return };
    let block_bytes = BLOCKS[usize::from(how % 8)];
    match how / 8 % 4 {
        0 | 1 => {
            let any = unpacked(text, block_bytes);
            if Compression::of(text) == Compression::None {
                let (all, damaged) = any.expect("plain bytes can be read");
                assert!(!damaged && all == text, "bytes are lost");
            }
        }
        2 => assert_eq!(unpacked(&packed(text), block_bytes), Some((text.to_vec(), false))),
        // What comes back is a beginning, in whole lines.
        _ => {
            let Some((place, text)) = text.split_first() else { return };
            let packed = packed(text);
            let cut = usize::from(*place) % packed.len();
            if cut >= Compression::HEAD
                && let Some((all, damaged)) = unpacked(&packed[..cut], block_bytes)
            {
                assert!(damaged && text.starts_with(&all), "cut at {cut}");
            }
        }
    }
});
