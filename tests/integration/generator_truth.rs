//! The log generator against a slow reader of its lines, and the sample logs against their recipe. Both are what other
//! tests lean on, so they are tested themselves.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use regex::bytes::Regex;

use crate::generator::{Layout, Options, Size, Truth, Variant, generate};
use crate::samples;

fn log(options: &Options) -> (Vec<u8>, Truth) {
    let mut text = Vec::new();
    let truth = generate(options, &mut text).expect("a vector takes every byte");
    (text, truth)
}

/// Requests and greatest requests in a minute of the lines that hold `token`, by their stamps as text.
fn slow_count(text: &[u8], token: &str) -> (u64, u64) {
    let stamp = Regex::new(r"\[([^\]]{17})").expect("a pattern");
    let holds = Regex::new(&format!("{}[/; ]", regex::escape(token))).expect("a pattern");
    let mut minutes: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| holds.is_match(line)) {
        let minute = stamp.captures(line).expect("every bot line has a stamp")[1].to_vec();
        *minutes.entry(minute).or_default() += 1;
    }
    (minutes.values().sum(), minutes.values().copied().max().unwrap_or(0))
}

#[test]
fn the_generator_counts_what_it_writes() {
    for layout in [Layout::Combined, Layout::VhostCombined, Layout::NginxRt] {
        let options =
            Options { size: Size::Lines(30_000), layout, minutes: 90, bots: 40, ..Options::default() };
        let (text, truth) = log(&options);
        assert_eq!(truth.file_bytes, text.len() as u64);
        assert_eq!(truth.lines, text.iter().filter(|byte| **byte == b'\n').count() as u64);
        assert_eq!(
            truth.lines,
            truth.blank + truth.directive + truth.records + truth.rejects.values().sum::<u64>()
        );
        for map in [truth.status.values().sum(), truth.bots.values().map(|load| load.requests).sum::<u64>()] {
            assert_eq!(map, truth.records);
        }
        assert_eq!(truth.bot_status.values().sum::<u64>(), truth.bot_records);
        let hosts: u64 = truth.hosts.values().map(|host| host.load.requests).sum();
        assert_eq!(hosts, truth.records);
        for name in ["Googlebot", "AhrefsBot", "ExampleAuditBot", "Bababot"] {
            let load = truth.bots[name];
            assert_eq!(slow_count(&text, name), (load.requests, load.peak_rpm), "{name} in {layout:?}");
        }
    }
}

#[test]
fn the_same_seed_writes_the_same_bytes_and_another_seed_others() {
    let options = Options { size: Size::Lines(2_000), ..Options::default() };
    assert_eq!(log(&options), log(&options));
    assert_ne!(log(&options).0, log(&Options { seed: 2, ..options }).0);
}

#[test]
fn a_size_in_bytes_is_met_within_one_percent() {
    let (text, _) = log(&Options { size: Size::Bytes(5_000_000), ..Options::default() });
    assert!((4_950_000..=5_050_000).contains(&text.len()), "{} bytes", text.len());
}

/// Distinct error URLs of the variant in a log, and lines that ask for one.
fn error_urls(text: &[u8]) -> (u64, u64) {
    let gone = Regex::new(r"/gone/[0-9a-f]{16}").expect("a pattern");
    let found: Vec<&[u8]> = gone.find_iter(text).map(|found| found.as_bytes()).collect();
    let distinct: std::collections::BTreeSet<&[u8]> = found.iter().copied().collect();
    (distinct.len() as u64, found.len() as u64)
}

#[test]
fn high_cardinality_means_that_error_urls_do_not_repeat() {
    let options =
        Options { size: Size::Lines(20_000), variant: Variant::HighCardinality, ..Options::default() };
    let (text, truth) = log(&options);
    let (distinct, asked) = error_urls(&text);
    assert_eq!((distinct, asked), (truth.distinct_error_urls, truth.distinct_error_urls));
    assert!(distinct > 10_000, "{distinct}");
}

#[test]
fn as_many_error_urls_as_wanted_are_asked_for_in_turn() {
    for (urls, want) in [(1, 1), (300, 300), (1_000_000, 10_000)] {
        let options = Options {
            size: Size::Lines(20_000),
            variant: Variant::HighCardinality,
            urls: Some(urls),
            ..Options::default()
        };
        let (text, truth) = log(&options);
        let (distinct, asked) = error_urls(&text);
        assert_eq!(distinct, truth.distinct_error_urls, "{urls}");
        assert!(distinct == want || distinct > 10_000 && distinct == asked, "{urls}: {distinct} of {asked}");
    }
}

#[test]
fn random_user_agents_do_not_repeat() {
    let options =
        Options { size: Size::Lines(5_000), variant: Variant::RandomUserAgents, ..Options::default() };
    let (text, truth) = log(&options);
    let build = Regex::new(r"Build/[0-9a-f]{16}").expect("a pattern");
    let distinct: std::collections::BTreeSet<&[u8]> =
        build.find_iter(&text).map(|found| found.as_bytes()).collect();
    let without = truth.bots["(no-user-agent)"].requests;
    assert!(distinct.len() as u64 + without + 20 > truth.records, "{} of {}", distinct.len(), truth.records);
}

#[test]
fn times_never_go_back() {
    let (text, _) = log(&Options { hard_per_mille: 0, ..Options::default() });
    let stamps: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').filter_map(|line| line.split(|b| *b == b'[').nth(1)).collect();
    let times: Vec<&[u8]> = stamps.iter().map(|stamp| &stamp[12..20]).collect();
    assert!(stamps.len() == 10_000 && times.is_sorted());
}

#[test]
fn the_sample_logs_are_what_their_recipe_makes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/logs");
    let mut names: Vec<String> = folder
        .read_dir()
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name().display().to_string())
        .collect();
    names.sort();
    let recipe = samples::all();
    assert_eq!(names, recipe.iter().map(|sample| sample.name).collect::<Vec<_>>());
    for sample in recipe {
        let mut content = std::fs::read(folder.join(sample.name)).expect("a sample log");
        if sample.gzip_members > 0 {
            let mut text = Vec::new();
            flate2::read::MultiGzDecoder::new(content.as_slice())
                .read_to_end(&mut text)
                .expect("a whole gzip file");
            content = text;
        }
        assert!(content == sample.text, "{} differs: write the samples again", sample.name);
    }
}
