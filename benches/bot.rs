//! What naming one User-Agent costs, and what checking one claim costs; each answer is asserted.
//!
//! Run with `cargo bench --bench bot`. Most of it caches nothing; `bot/known` and `bot/new` are what a run pays: a string that was
//! seen before costs a hash look-up (at most 15 % of parsing its line), a new one is classified (at most ten lines' worth).

use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crawl_baseline::bot::cache::UserAgentCache;
use crawl_baseline::bot::verify::Verifier;
use crawl_baseline::bot::{Catalogue, Matcher, Who};
use crawl_baseline::format::{Line, Parser, ParserOptions};
use crawl_baseline::tally::table::Verification;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const PEOPLE: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
const GOOGLEBOT: &str = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.5735.179 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const DECLARED: &str = "Mozilla/5.0 (compatible; AcmeSpider/2.3; +https://acme.example/spider)";
const CONTACT: &str = "Mozilla/5.0 (compatible; Acme Reader/2.3; +https://acme.example/about)";

fn classify(c: &mut Criterion) {
    let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
    let browsers = PEOPLE.repeat(70);
    let cases = [
        ("people", PEOPLE.to_owned(), None),
        ("known", GOOGLEBOT.to_owned(), Some("Googlebot")),
        ("declared", DECLARED.to_owned(), Some("AcmeSpider")),
        ("contact", CONTACT.to_owned(), Some("Acme")),
        ("hostile: a browser string 70 times", browsers, None),
        ("hostile: 8 KiB of mentions", "like Googlebot ".repeat(546), Some("(other-client)")),
        ("hostile: 8 KiB of endings", "bot.".repeat(2_048), Some(&"bot.".repeat(16)[..63])),
        ("hostile: 8 KiB of parentheses", "(compatible;".repeat(682), Some("(other-client)")),
    ];
    let mut group = c.benchmark_group("bot/classify");
    for (name, user_agent, want) in &cases {
        let who = matcher.classify(Some(user_agent.as_bytes()));
        assert_eq!(who.bot_name(matcher.catalogue()), *want, "{name}");
        group.throughput(Throughput::Bytes(user_agent.len() as u64));
        group.bench_function(*name, |b| b.iter(|| matcher.classify(black_box(Some(user_agent.as_bytes())))));
    }
    group.finish();
}

fn prepare(c: &mut Criterion) {
    let catalogue = Arc::new(Catalogue::built_in());
    c.bench_function("bot/read the catalogue", |b| b.iter(Catalogue::built_in));
    c.bench_function("bot/prepare the matcher", |b| b.iter(|| Matcher::new(Arc::clone(&catalogue))));
}

fn verify(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let prefixes: Vec<String> =
        (0..1_000).map(|n| format!("\"198.{}.{}.0/27\"", 18 + n / 250, n % 250)).collect();
    std::fs::write(folder.path().join("googlebot.json"), format!("[{}]", prefixes.join(",")))
        .expect("a range file");
    let catalogue = Catalogue::built_in();
    let verifier = Verifier::load(&catalogue, Some(folder.path()), None).expect("readable ranges");
    let who = Who::Known(catalogue.find("Googlebot").expect("it is in the catalogue"));
    let inside: IpAddr = "198.20.100.5".parse().expect("an address");
    let outside: IpAddr = "198.20.100.99".parse().expect("an address");
    assert_eq!(verifier.verdict(&who, Some(inside)), Verification::Verified);
    assert_eq!(verifier.verdict(&who, Some(outside)), Verification::Failed);
    c.bench_function("bot/verdict among 1,000 ranges", |b| {
        b.iter(|| verifier.verdict(&who, black_box(Some(outside))))
    });
}

/// Lines of one block: enough that no single look-up is timed.
const LINES: usize = 4_000;
/// Strings that a log of ordinary size repeats.
const KNOWN: usize = 200;

/// A log of so many lines whose User-Agents are `KNOWN` different ones, and each of them alone.
fn lines() -> (Vec<u8>, Vec<String>) {
    let agents: Vec<String> = (0..LINES)
        .map(|n| match n % KNOWN {
            n if n % 4 == 0 => GOOGLEBOT.replace("114.0", &format!("{}.0", 100 + n)),
            n if n % 4 == 1 => DECLARED.replace("2.3", &format!("2.{n}")),
            n => PEOPLE.replace("131.0", &format!("{}.0", 100 + n)),
        })
        .collect();
    let log = agents.iter().enumerate().map(|(n, agent)| {
        format!(
            "192.0.2.{} - - [10/Mar/2026:06:25:{:02} +0000] \"GET /shop/item-{n}?ref=a HTTP/1.1\" 200 {} \"-\" \"{agent}\"\n",
            n % 256,
            n / 70,
            512 + n
        )
    });
    (log.collect::<String>().into_bytes(), agents)
}

/// Records of a block.
fn parsed(parser: &mut Parser, log: &[u8]) -> usize {
    let mut records = 0;
    parser.block(log, |entry| records += usize::from(matches!(black_box(&entry.outcome), Line::Record(_))));
    records
}

#[expect(clippy::print_stdout, reason = "a bench tells what it measured")]
fn per_line(c: &mut Criterion) {
    let matcher = Matcher::new(Arc::new(Catalogue::built_in()));
    let (log, agents) = lines();
    let mut parser = Parser::new(ParserOptions::default());
    parser.begin_source();
    assert_eq!(parsed(&mut parser, &log), LINES);
    let mut cache = UserAgentCache::new(7);
    let mut known = || -> usize {
        let bots = agents
            .iter()
            .filter(|a| cache.get(black_box(a.as_bytes()), |text| matcher.classify(Some(text))).is_bot());
        bots.count()
    };
    let new = || agents.iter().filter(|a| matcher.classify(black_box(Some(a.as_bytes()))).is_bot()).count();
    // Of four strings, one is Googlebot and one declares itself.
    assert_eq!((known(), known(), new()), (LINES / 2, LINES / 2, LINES / 2));

    let mut group = c.benchmark_group("bot");
    group.throughput(Throughput::Elements(LINES as u64));
    group.bench_function("the line", |b| b.iter(|| parsed(&mut parser, black_box(&log))));
    group.bench_function("known", |b| b.iter(&mut known));
    group.bench_function("new", |b| b.iter(new));
    group.finish();
    // As a test, once and without optimisation, times say nothing.
    if std::env::args().any(|argument| argument == "--bench") {
        let line = fastest(|| parsed(&mut parser, &log));
        let (known, new) = (fastest(known), fastest(new));
        println!(
            "bot/known: a known User-Agent costs {:.1} % of parsing its line, a new one {:.1} lines",
            known.as_secs_f64() / line.as_secs_f64() * 100.0,
            new.as_secs_f64() / line.as_secs_f64()
        );
        assert!(known * 100 <= line * 15, "a known User-Agent: {known:?}, its lines: {line:?}");
        assert!(new <= line * 10, "a new User-Agent: {new:?}, its lines: {line:?}");
    }
}

/// The least time of many rounds: what else runs on the machine only adds to it.
fn fastest(mut round: impl FnMut() -> usize) -> Duration {
    let timed = |_| {
        let start = Instant::now();
        black_box(round());
        start.elapsed()
    };
    (0..100).map(timed).min().unwrap_or_default()
}

criterion_group!(benches, classify, prepare, verify, per_line);
criterion_main!(benches);
