//! No bytes make the parser panic, lose a line, or read a line otherwise because of the lines before it.
//! Run: `cargo +nightly fuzz run --fuzz-dir tests/fuzz parse`.

#![no_main]

use crawl_baseline::format::{Line, Parser, ParserOptions};

libfuzzer_sys::fuzz_target!(|block: &[u8]| {
    let options = ParserOptions { now: Some(1_773_194_400), max_line_bytes: 4096, ..ParserOptions::default() };
    let mut rest = block.split_inclusive(|byte| *byte == b'\n');
    Parser::new(options).block(block, |entry| {
        let raw = rest.next().expect("no more entries than lines");
        let line = raw.strip_suffix(b"\n").unwrap_or(raw);
        assert_eq!(entry.line, line);
        // A parser that has read nothing else says the same.
        assert_eq!(Parser::new(options).line(line), entry.outcome);
        if let Line::Record(record) = entry.outcome {
            assert!(record.status.is_none_or(|status| status < 1000));
            assert!(record.bytes.is_none_or(|bytes| i64::try_from(bytes).is_ok()));
        }
    });
    assert!(rest.next().is_none(), "a line is lost");
});
