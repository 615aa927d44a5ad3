//! What the parts of a run cost behind the parser: counting, inflating, writing the history. Each answer is asserted.
//!
//! Run with `cargo bench --bench analyze`. The log is the generator's, and so is the truth that the counts are compared with.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use crawl_baseline::bot::{Catalogue, Matcher};
use crawl_baseline::format::{Line, Parser, ParserOptions, request};
use crawl_baseline::history::read::{History, Wanted};
use crawl_baseline::history::settings::Settings;
use crawl_baseline::history::source_row::{Identity, SourceEntry};
use crawl_baseline::history::write::{Written, write_source};
use crawl_baseline::source::gzip::GzipMembers;
use crawl_baseline::source::identity::Digester;
use crawl_baseline::tally::distinct::stable_hash;
use crawl_baseline::tally::edges::Edges;
use crawl_baseline::tally::finish::{Finish, Finished, Named, finish};
use crawl_baseline::tally::fold::Tally;
use crawl_baseline::tally::hit::{Asker, Hit};
use crawl_baseline::tally::table::{DayTables, SourceTables, Verification};
use crawl_baseline::url::{self, Rules};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::Compression;
use flate2::write::GzEncoder;

#[allow(dead_code, reason = "a bench uses a part of it")]
#[path = "generate/generator.rs"]
mod generator;

use generator::{Options, Size, Truth, generate};

const LINES: u64 = 50_000;
const HOST: &str = "(default)";

/// A day of log, about 250 bytes a line, and what is in it.
fn log() -> (Vec<u8>, Truth) {
    let mut text = Vec::new();
    let options = Options { size: Size::Lines(LINES), ..Options::default() };
    let truth = generate(&options, &mut text).expect("a vector takes every byte");
    (text, truth)
}

/// An access with the texts of its line, and who asked.
struct Access {
    epoch: i64,
    status: Option<u16>,
    bytes: u64,
    target: Option<Vec<u8>>,
    user_agent: Option<Vec<u8>>,
    asker: Asker,
}

impl Access {
    fn hit(&self) -> Hit<'_> {
        let target = self.target.as_deref();
        Hit {
            host: None,
            epoch: self.epoch,
            status: self.status,
            bytes: self.bytes,
            latency_us: None,
            cached: false,
            is_static: target.is_some_and(url::is_static),
            target,
            user_agent: self.user_agent.as_deref(),
            network: None,
        }
    }
}

/// All accesses of the log, in its order, and the names that their numbers stand for.
fn accesses(log: &[u8]) -> (Vec<Access>, Vec<String>) {
    let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut names = Vec::new();
    let mut all = Vec::new();
    let mut parser = Parser::new(ParserOptions::default());
    parser.begin_source();
    parser.block(log, |entry| {
        let Line::Record(record) = &entry.outcome else { return };
        let who = matcher.classify(record.user_agent);
        let name = who.series_name(matcher.catalogue());
        let number = *numbers.entry(name.to_owned()).or_insert_with(|| {
            names.push(name.to_owned());
            u32::try_from(names.len() - 1).expect("a few names")
        });
        all.push(Access {
            epoch: record.epoch,
            status: record.status,
            bytes: record.bytes.unwrap_or(0),
            target: request::target(record.request).map(<[u8]>::to_vec),
            user_agent: record.user_agent.map(<[u8]>::to_vec),
            asker: Asker {
                who: number,
                is_bot: who.is_bot(),
                variant: 0,
                verification: Verification::NotCheckable,
                user_agent_hash: record.user_agent.map(stable_hash),
            },
        });
    });
    (all, names)
}

fn counted(accesses: &[Access]) -> Tally {
    let mut tally = Tally::new(HOST.as_bytes());
    for access in accesses {
        tally.add(&access.hit(), &access.asker);
    }
    tally
}

fn finished(tally: Tally, names: &[String]) -> Finished {
    let rules = Rules::default();
    finish(
        tally,
        &Finish {
            name: &|who| Named { bot: names[who as usize].clone(), ..Named::default() },
            url_key: &|target, _| rules.key(target, None),
            url_sample: &|target| String::from_utf8_lossy(target).into_owned(),
            caps: true,
            spilling: None,
        },
    )
    .expect("nothing was written to a file that could not be read")
}

/// Requests and busiest minute of each name, from the rows of minutes.
fn loads(days: &[DayTables]) -> BTreeMap<String, (u64, u64)> {
    let mut loads = BTreeMap::new();
    for day in days {
        for row in &day.minutes {
            let name = day.series[row.series as usize].bot.clone();
            let (requests, peak): &mut (u64, u64) = loads.entry(name).or_default();
            *requests += row.requests;
            *peak = (*peak).max(row.requests);
        }
    }
    loads
}

fn generated(truth: &Truth) -> BTreeMap<String, (u64, u64)> {
    truth.bots.iter().map(|(name, load)| (name.clone(), (load.requests, load.peak_rpm))).collect()
}

fn tally(c: &mut Criterion) {
    let (log, truth) = log();
    let (accesses, names) = accesses(&log);
    assert_eq!(accesses.len() as u64, truth.records);
    let tables = finished(counted(&accesses), &names);
    assert_eq!(loads(&tables.days), generated(&truth));
    let last = accesses.iter().map(|access| access.epoch).max();

    let mut group = c.benchmark_group("tally");
    group.throughput(Throughput::Elements(truth.records));
    group.bench_function("minute", |b| {
        b.iter(|| {
            assert_eq!(counted(black_box(&accesses)).newest().map(|t| t.div_euclid(60)), last.map(|t| t / 60))
        });
    });
    group.bench_function("minute, and its rows", |b| {
        b.iter(|| assert_eq!(finished(counted(black_box(&accesses)), &names), tables));
    });
    group.finish();
}

fn inflate(c: &mut Criterion) {
    let (log, _) = log();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&log).expect("a vector takes every byte");
    let packed = encoder.finish().expect("a vector takes every byte");
    let mut out = Vec::with_capacity(log.len());

    let mut group = c.benchmark_group("inflate");
    group.throughput(Throughput::Bytes(log.len() as u64));
    group.bench_function("gzip", |b| {
        b.iter(|| {
            out.clear();
            GzipMembers::new(black_box(packed.as_slice()), 1 << 18)
                .read_to_end(&mut out)
                .expect("it is whole");
            assert!(out == log, "other bytes came out");
        });
    });
    group.finish();
}

/// Writes the parts of one source into `history`.
fn written(history: &Path, tables: &SourceTables) -> Written {
    let mut digester = Digester::new(Vec::new());
    digester.update(b"the content");
    let entry = SourceEntry {
        source: "5d1f0a3c9be27744".to_owned(),
        identity: Identity::from(&digester.finish()),
        settings: Settings::default(),
        recorded: Vec::new(),
        replaces: Vec::new(),
        clock: None,
        live: false,
        damaged: false,
        overlap_source: None,
        edges: Edges::default(),
        overflow: Vec::new(),
    };
    write_source(history, entry, tables, &BTreeSet::new()).expect("a folder that takes files")
}

fn history(c: &mut Criterion) {
    let (log, truth) = log();
    let (accesses, names) = accesses(&log);
    let rows = finished(counted(&accesses), &names);
    let tables = SourceTables { coverage: rows.coverage, days: rows.days, ..SourceTables::default() };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let first = written(folder.path(), &tables);
    let window = History::open(folder.path())
        .and_then(|history| history.read_window(i32::MIN, i32::MAX, Wanted::all()))
        .expect("what was just written");
    assert_eq!(loads(&window.days), generated(&truth));

    let minutes: usize = tables.days.iter().map(|day| day.minutes.len()).sum();
    let mut group = c.benchmark_group("history");
    group.sample_size(20);
    group.throughput(Throughput::Elements(minutes as u64));
    group.bench_function("write", |b| {
        b.iter(|| {
            let again = written(folder.path(), black_box(&tables));
            assert_eq!((again.bytes, again.row.parts.len()), (first.bytes, first.row.parts.len()));
        });
    });
    group.finish();
}

criterion_group!(benches, tally, inflate, history);
criterion_main!(benches);
