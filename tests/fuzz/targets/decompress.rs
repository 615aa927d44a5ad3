//! The decompression layer on any bytes: no panic, bounded blocks, every byte that was given counts once, and an end that
//! is either whole or told as damage. What a packer packs comes back. Run: `tests/fuzz/run decompress`.

#![no_main]

use std::io::{Cursor, Write as _};

use crawl_baseline::source::compression::Compression;
use crawl_baseline::source::stream::{BLOCK_BYTES, Stream};

const MOST: usize = 8 << 20;
const LONGEST: usize = 4096;

fn unpacked(packed: Vec<u8>) -> Option<(Vec<u8>, bool)> {
    let compression = Compression::of(&packed);
    let mut stream = Stream::open(Box::new(Cursor::new(packed)), compression, LONGEST).ok()?;
    let (mut buffer, mut all) = (Vec::new(), Vec::new());
    while let Some(shape) = stream.next_block(&mut buffer) {
        assert!(shape.lines_start <= shape.lines_end && shape.lines_end <= buffer.len());
        assert!(buffer.len() <= BLOCK_BYTES + 2 * LONGEST + 2 * 64 * 1024, "{}", buffer.len());
        all.extend_from_slice(&buffer[..shape.lines_end]);
        if all.len() > MOST {
            return None;
        }
        if shape.last {
            assert!(stream.next_block(&mut buffer).is_none(), "something follows the last block");
            break;
        }
    }
    Some((all, stream.damage().is_some()))
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let any = unpacked(input.to_vec());
    if Compression::of(input) == Compression::None {
        let (all, damaged) = any.expect("plain bytes can be read");
        assert!(!damaged && all == input, "bytes are lost");
    }
    // Packed, and cut at a place that the input chooses: what comes back is a beginning of it, in whole lines.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(input).expect("a vector takes every byte");
    let packed = gzip.finish().expect("a vector takes every byte");
    assert_eq!(unpacked(packed.clone()), Some((input.to_vec(), false)));
    let cut = usize::from(input.first().copied().unwrap_or(0)) % packed.len();
    if cut >= Compression::HEAD
        && let Some((all, damaged)) = unpacked(packed[..cut].to_vec())
    {
        assert!(damaged && input.starts_with(&all), "cut at {cut}");
    }
});
