//! What naming one User-Agent costs, and what checking one claim costs; each answer is asserted.
//!
//! Run with `cargo bench --bench bot`. Nothing is cached here: in a run, a string that was seen before costs a hash
//! look-up only.

use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;

use crawl_baseline::bot::verify::Verifier;
use crawl_baseline::bot::{Catalogue, Matcher, Who};
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

criterion_group!(benches, classify, prepare, verify);
criterion_main!(benches);
