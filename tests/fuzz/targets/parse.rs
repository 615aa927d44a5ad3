//! No bytes make the parser panic, lose a line, or read a line otherwise because of the lines before it.
//! Run: `tests/fuzz/run parse`.

#![no_main]

use crawl_baseline::format::{Line, Parser, ParserOptions};

libfuzzer_sys::fuzz_target!(|block: &[u8]| {
    let options =
        ParserOptions { now: Some(1_773_194_400), max_line_bytes: 4096, ..ParserOptions::default() };
    let lines: Vec<&[u8]> = block.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut parts, mut columns_named) = (0, false);
    let count = Parser::new(options.clone()).block(block, |entry| {
        let raw = lines[usize::try_from(entry.number).expect("a line of the block")];
        let line = raw.strip_suffix(b"\n").unwrap_or(raw);
        assert_eq!(entry.line, line);
        parts += entry.parts;
        // A parser that has read nothing else says the same, but for lines that need another one.
        columns_named |= matches!(entry.outcome, Line::Directive);
        let needs = entry.parts > 1 || columns_named;
        if !needs {
            assert_eq!(Parser::new(options.clone()).line(line), *entry.outcome);
        }
        if let Line::Record(record) = entry.outcome {
            assert!(record.status.is_none_or(|status| status < 1000));
            assert!(record.bytes.is_none_or(|bytes| i64::try_from(bytes).is_ok()));
        }
    });
    assert_eq!((count, parts), (lines.len() as u64, lines.len() as u64), "a line is lost");
});
