//! The compiler of format strings and what it makes: the first line of the input is the string, the rest is a log.
//! No panic, no line lost, and the same answer for a line alone and in a block. Run: `tests/fuzz/run layout`.

#![no_main]

use std::sync::Arc;

use crawl_baseline::format::layout::{Layout, configuration};
use crawl_baseline::format::{Format, Line, Parser, ParserOptions};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let Ok(text) = std::str::from_utf8(&input[..end]) else { return };
    let _ = configuration::formats(text);
    let Some(Ok(layout)) = Layout::compile(text) else { return };
    assert_eq!(layout.text(), text);
    let options = ParserOptions {
        now: Some(1_773_194_400),
        max_line_bytes: 4096,
        layout: Some(Arc::new(layout)),
        ..ParserOptions::default()
    };
    let block = input.get(end + 1..).unwrap_or_default();
    let mut parts = 0;
    let count = Parser::new(options.clone()).block(block, |entry| {
        parts += entry.parts;
        if entry.parts == 1 {
            assert_eq!(Parser::new(options.clone()).line(entry.line), *entry.outcome);
        }
        if let Line::Record(record) = entry.outcome {
            assert_eq!(record.format, Format::Custom);
            assert!(record.bytes.is_none_or(|bytes| i64::try_from(bytes).is_ok()));
        }
    });
    let lines = block.split_inclusive(|byte| *byte == b'\n').count() as u64;
    assert_eq!((count, parts), (lines, lines), "a line is lost");
});
