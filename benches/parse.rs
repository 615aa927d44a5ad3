//! Bytes per second of the parser alone, on one thread, with the fast path and without.
//!
//! `cargo bench --bench parse`. The log is made from a fixed seed; every round asserts what it read.

use std::hint::black_box;

use crawl_baseline::format::{Entry, Line, Parser, ParserOptions};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const LINES: u64 = 100_000;

/// About 230 bytes a line, 5 to 6 lines a second, one line in 500 with an escaped quote.
fn log() -> Vec<u8> {
    const AGENTS: [&str; 4] = [
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
        "Mozilla/5.0 (compatible; ExampleBot/2.1; +https://bot.example/about)",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ExampleFetcher/1.2; +https://fetcher.example/)",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    ];
    let mut dice = 42_u64;
    let mut log = String::new();
    for line in 0..LINES {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let roll = dice >> 33;
        let second = line * 2 / 11;
        let agent =
            if roll % 500 == 7 { r#"Odd \"quoted\" client/1.0"# } else { AGENTS[(roll % 4) as usize] };
        log.push_str(&format!(
            "203.0.113.{} - - [10/Mar/2026:{:02}:{:02}:{:02} +0000] \"GET /shop/item-{}?ref={} HTTP/1.1\" {} {} \"{}\" \"{agent}\"\n",
            roll % 256,
            second / 3_600 % 24,
            second / 60 % 60,
            second % 60,
            roll % 50_000,
            roll % 97,
            [200, 200, 200, 304, 404][(roll % 5) as usize],
            roll % 100_000,
            ["-", "https://www.example.com/shop/"][(roll % 2) as usize],
        ));
    }
    log.into_bytes()
}

/// What a round has read: records, and sums that need every field to be found.
#[derive(Default, PartialEq, Eq, Debug, Clone, Copy)]
struct Read {
    records: u64,
    bytes: u64,
    epochs: i64,
    agent_bytes: usize,
}

impl Read {
    fn add(&mut self, outcome: &Line<'_>) {
        if let Line::Record(record) = black_box(outcome) {
            self.records += 1;
            self.bytes += record.bytes.unwrap_or(0);
            self.epochs += record.epoch;
            self.agent_bytes += record.user_agent.map_or(0, <[u8]>::len);
        }
    }
}

fn fast(log: &[u8]) -> Read {
    let mut parser = Parser::new(ParserOptions::default());
    let mut read = Read::default();
    parser.block(log, |entry: Entry<'_>| read.add(entry.outcome));
    read
}

fn careful(log: &[u8]) -> Read {
    let mut parser = Parser::new(ParserOptions::default());
    let mut read = Read::default();
    for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        read.add(&parser.line(line));
    }
    read
}

fn parse(criterion: &mut Criterion) {
    let log = log();
    let want = careful(&log);
    assert_eq!(want.records, LINES);
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(log.len() as u64));
    group.bench_function("combined/fast", |bencher| bencher.iter(|| assert_eq!(fast(black_box(&log)), want)));
    group.bench_function("combined/careful", |bencher| {
        bencher.iter(|| assert_eq!(careful(black_box(&log)), want))
    });
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
