//! What the key of one URL costs, and a whole list: read, keyed, merged, ranked, reported. Each answer is asserted.
//!
//! Run with `cargo bench --bench url`. The list is made from a fixed seed: pages, facets, paging, tracking.

use std::hint::black_box;
use std::io::Cursor;
use std::sync::atomic::AtomicUsize;

use crawl_baseline::normalize::{
    Collector, Finishing, Form, Normalized, PriorityRules, Totals, finish, read_list,
};
use crawl_baseline::url::{Rules, mask_secrets};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const LINES: u64 = 20_000;

fn list() -> String {
    let mut dice = 42_u64;
    let mut list = String::new();
    for _ in 0..LINES {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let roll = dice >> 33;
        list.push_str(&format!(
            "https://www.example.com/categories/item-{}?color={}&utm_source=s{}&page={}\n",
            roll % 8_000,
            ["red", "blue"][(roll / 8_000 % 2) as usize],
            roll / 16_000 % 50,
            roll / 800_000 % 3,
        ));
    }
    list
}

fn normalized(list: &str) -> Normalized {
    let mut collector = Collector::new(Form::Canonical(Rules::default()));
    let reader = Box::new(Cursor::new(list.as_bytes().to_vec()));
    read_list(reader, "list", &mut collector, &AtomicUsize::new(0)).expect("a list");
    let rules = r#"[{"pattern": "^https://www\\.example\\.com/categories/[^?]+$", "score": 80}, {"pattern": ".*", "score": 10}]"#;
    let with = Finishing {
        generated_at: chrono::DateTime::UNIX_EPOCH,
        generator: String::new(),
        options: serde_json::Value::Null,
        rules: PriorityRules::parse(rules, "rules").expect("rules"),
        keep_query_values: false,
        warnings: Vec::new(),
    };
    finish(collector, with)
}

fn keys(c: &mut Criterion) {
    let rules = Rules::default();
    let mut group = c.benchmark_group("url/key");
    for (name, url, want) in [
        ("plain", "/shop/item-4711", "/shop/item-4711"),
        ("parameters", "/shop?utm_source=x&id=1&color=red", "/shop?id=1&color=red"),
        (
            "all",
            "HTTP://Example.COM:80/a/../%7eb;jsessionid=1?t=%2f&sort=up#x",
            "http://example.com/~b?t=%2F",
        ),
    ] {
        group.throughput(Throughput::Elements(1));
        group.bench_function(name, |b| {
            b.iter(|| assert_eq!(rules.key_of_url(black_box(url.as_bytes())), want))
        });
    }
    group.finish();
    let url = "/shop?id=1&color=red&page=2";
    c.bench_function("url/mask nothing", |b| b.iter(|| assert_eq!(mask_secrets(black_box(url)), url)));
}

fn lists(c: &mut Criterion) {
    let list = list();
    let unique = list
        .lines()
        .map(|url| Rules::default().key_of_url(url.as_bytes()))
        .collect::<std::collections::BTreeSet<_>>()
        .len() as u64;
    let want = Totals { lines: LINES, urls: LINES, unique, merged: LINES - unique, ..Totals::default() };
    let mut group = c.benchmark_group("url/list");
    group.throughput(Throughput::Elements(LINES)).sample_size(20);
    group.bench_function("read and finish", |b| {
        b.iter(|| assert_eq!(normalized(black_box(&list)).totals, want))
    });
    let done = normalized(&list);
    group.bench_function("write", |b| {
        b.iter(|| {
            let mut out = Vec::new();
            done.write_json(&mut out).expect("a vector takes every byte");
            assert_eq!(memchr::memmem::find_iter(&out, b"\n    {\"url\"").count() as u64, unique);
        })
    });
    group.finish();
}

criterion_group!(benches, keys, lists);
criterion_main!(benches);
