//! No bytes make the parser panic, lose a line, or read a line otherwise because of the lines before it.
//! Run: `tests/fuzz/run parse`.

#![no_main]

use std::cell::RefCell;

use crawl_baseline::format::{Entry, Line, Parser, ParserOptions};

fn options() -> ParserOptions {
    ParserOptions { now: Some(1_773_194_400), max_line_bytes: 4096, ..ParserOptions::default() }
}

thread_local! {
    /// Kept, because the room for its index is a parser's cost; and what it read before must not matter.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new(options()));
}

libfuzzer_sys::fuzz_target!(|block: &[u8]| {
    let lines: Vec<&[u8]> = block.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut parts, mut columns_named) = (0, false);
    let sink = |entry: Entry<'_>| {
        let raw = lines[usize::try_from(entry.number).expect("a line of the block")];
        let line = raw.strip_suffix(b"\n").unwrap_or(raw);
        assert_eq!(entry.line, line);
        parts += entry.parts;
        // A parser that has read nothing else says the same, but for lines that need another one.
        columns_named |= matches!(entry.outcome, Line::Directive);
        let needs = entry.parts > 1 || columns_named;
        if !needs {
            assert_eq!(Parser::new(options()).line(line), *entry.outcome);
        }
        if let Line::Record(record) = entry.outcome {
            assert!(record.status.is_none_or(|status| status < 1000));
            assert!(record.bytes.is_none_or(|bytes| i64::try_from(bytes).is_ok()));
        }
    };
    let count = PARSER.with_borrow_mut(|parser| {
        parser.enter_source();
        parser.block(block, sink)
    });
    assert_eq!((count, parts), (lines.len() as u64, lines.len() as u64), "a line is lost");
});
