//! Each named format by itself: the first byte of the input chooses it. No panic, no line lost, and nothing is read as
//! another format. Run: `tests/fuzz/run format`.

#![no_main]

use std::cell::RefCell;

use crawl_baseline::format::latency_field::LatencyField;
use crawl_baseline::format::{Format, Line, Parser, ParserOptions, clock, guess, tail};

thread_local! {
    /// Of each format two: without and with a field of latencies. Kept, because the room for its index is a parser's cost.
    static PARSERS: RefCell<Vec<(Format, ParserOptions, Parser)>> = RefCell::new(
        Format::named()
            .flat_map(|format| [(format, None), (format, LatencyField::new("-1:us").ok())])
            .map(|(format, latency_field)| {
                let options = ParserOptions {
                    now: Some(1_773_194_400),
                    max_line_bytes: 4096,
                    format: Some(format),
                    latency_field,
                    ..ParserOptions::default()
                };
                (format, options.clone(), Parser::new(options))
            })
            .collect(),
    );
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((first, block)) = input.split_first() else { return };
    PARSERS.with_borrow_mut(|parsers| {
        let formats = parsers.len() / 2;
        let latency = usize::from(*first > 127);
        let (named, options, parser) = &mut parsers[usize::from(*first) % formats * 2 + latency];
        let mut rejected = Vec::new();
        let mut parts = 0;
        parser.enter_source();
        let count = parser.block(block, |entry| {
            parts += entry.parts;
            match entry.outcome {
                Line::Record(record) => {
                    assert_eq!(record.format, *named);
                    assert!(record.status.is_none_or(|status| status < 1000));
                    assert!(record.bytes.is_none_or(|bytes| i64::try_from(bytes).is_ok()));
                    let _ = (record.latency_us(), record.is_cached(), clock::of(&record, entry.line));
                    assert!(tail::fields(record.tail).count() <= record.tail.len());
                }
                Line::Reject(_) => rejected.push(entry.line.to_vec()),
                Line::Blank | Line::Directive => {}
            }
        });
        let lines = block.split_inclusive(|byte| *byte == b'\n').count() as u64;
        assert_eq!((count, parts), (lines, lines), "a line is lost");
        rejected.truncate(1);
        let _ = guess::guess(&rejected, options);
    });
});
