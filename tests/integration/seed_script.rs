//! The rules of a widely copied baseline script, restated as an oracle: one expression a line, counts per full
//! User-Agent and minute, statuses and error URLs of matching lines. On logs where it loses nothing,
//! `analyze --group-by user-agent --ua-regex-file FILE` must give its numbers.
//!
//! Where it loses: other layouts, escaped quotes, `-` bytes, bytes that are not UTF-8, every file that is not `*.log`.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use crate::command::Dir;
use crate::generator::{Options, Size, generate};

const PATTERNS: &str = "# crawlers\nGooglebot\nbingbot\n\n(?i)gptbot\nAhrefsBot/7\nExampleAuditBot/\\d\nMozilla/5\\.0 \\(compatible;\n";

/// What the script prints.
#[derive(Default)]
struct Script {
    rpm_by_user_agent: BTreeMap<String, u64>,
    status: BTreeMap<String, u64>,
    waste: BTreeMap<String, u64>,
    /// By line of the pattern file: requests and peak of the lines that match it.
    patterns: BTreeMap<String, (u64, u64)>,
}

fn script(text: &str) -> Script {
    let line = Regex::new(
        r#"^(?P<ip>\S+) \S+ \S+ \[(?P<ts>[^\]]+)\] "\S+ (?P<url>\S+) [^"]*" (?P<status>\d{3}) \d+ "[^"]*" "(?P<ua>[^"]*)""#,
    )
    .expect("a pattern");
    let patterns: Vec<(&str, Regex)> = PATTERNS
        .lines()
        .filter(|text| !text.trim().is_empty() && !text.starts_with('#'))
        .map(|text| (text.trim(), Regex::new(text.trim()).expect("a pattern")))
        .collect();
    let mut by_user_agent: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut by_pattern: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut found = Script::default();
    for line in
        text.lines().map(|text| line.captures(text).unwrap_or_else(|| panic!("the script loses {text}")))
    {
        let user_agent = &line["ua"];
        let matching: Vec<&str> =
            patterns.iter().filter(|(_, p)| p.is_match(user_agent)).map(|(text, _)| *text).collect();
        if matching.is_empty() {
            continue;
        }
        // All stamps are +0000, so the text up to the minute is the minute.
        let minute = line["ts"][..17].to_owned();
        *by_user_agent.entry(user_agent.to_owned()).or_default().entry(minute.clone()).or_default() += 1;
        for pattern in matching {
            *by_pattern.entry(pattern.to_owned()).or_default().entry(minute.clone()).or_default() += 1;
        }
        *found.status.entry(line["status"].to_owned()).or_default() += 1;
        if line["status"].starts_with(['4', '5']) {
            *found.waste.entry(line["url"].to_owned()).or_default() += 1;
        }
    }
    let peak = |minutes: &BTreeMap<String, u64>| minutes.values().copied().max().unwrap_or(0);
    found.rpm_by_user_agent =
        by_user_agent.iter().map(|(name, minutes)| (name.clone(), peak(minutes))).collect();
    found.patterns = by_pattern
        .iter()
        .map(|(name, minutes)| (name.clone(), (minutes.values().sum(), peak(minutes))))
        .collect();
    found
}

/// A generated log without hard lines and without query strings: canonical URLs are the logged ones.
fn log(seed: u64) -> String {
    let options = Options {
        seed,
        size: Size::Lines(20_000),
        minutes: 400,
        hard_per_mille: 0,
        bots: 30,
        ..Options::default()
    };
    let mut text = Vec::new();
    generate(&options, &mut text).expect("a vector takes every byte");
    let text = String::from_utf8(text).expect("no hard line, no odd byte");
    let query = Regex::new(r#"("[A-Z]+ /[^ ?"]*)\?[^ "]*"#).expect("a pattern");
    query.replace_all(&text, "$1").into_owned()
}

fn run(group_by: &str, text: &str) -> Value {
    let dir = Dir::new();
    // Two logs, as the script reads every *.log of a folder.
    let half = text[..text.len() / 2].rfind('\n').expect("lines") + 1;
    dir.write("logs/one.log", &text[..half]).write("logs/two.log", &text[half..]).write("ua.txt", PATTERNS);
    let args = ["analyze", "--group-by", group_by, "--ua-regex-file", "ua.txt", "--log-dir", "logs"];
    let rest = ["--no-history", "--now", "2026-03-11T02:00:00Z", "--output-json", "-"];
    dir.command([&args[..], &rest].concat()).run().exit(0).json()
}

fn by_name(value: &Value) -> BTreeMap<String, u64> {
    let map = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    map.iter().map(|(name, count)| (name.clone(), count.as_u64().expect("a count"))).collect()
}

#[test]
fn grouping_by_user_agent_gives_the_numbers_of_the_script() {
    for seed in [3, 4] {
        let text = log(seed);
        let (expected, found) = (script(&text), run("user-agent", &text));
        assert!(expected.rpm_by_user_agent.len() > 10 && expected.waste.len() > 40);
        assert_eq!(by_name(&found["rpm_by_bot"]), expected.rpm_by_user_agent);
        assert_eq!(by_name(&found["status_distribution"]), expected.status);
        assert_eq!(found["analysis_window_min"], 60);

        // Ties are broken by URL here and by reading order there: equal counts, and equal sets above the last count.
        let mut counts: Vec<u64> = expected.waste.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.truncate(20);
        let list = found["top_waste_urls"].as_array().expect("a list");
        let listed: Vec<(&str, u64)> = list
            .iter()
            .map(|row| (row["url"].as_str().expect("a URL"), row["error_hits"].as_u64().expect("a count")))
            .collect();
        assert_eq!(listed.iter().map(|(_, hits)| *hits).collect::<Vec<_>>(), counts);
        let distinct: BTreeSet<&str> = listed.iter().map(|(url, _)| *url).collect();
        assert_eq!(distinct.len(), listed.len(), "a URL is listed twice: {listed:?}");
        for (url, hits) in listed {
            assert_eq!(expected.waste.get(url), Some(&hits), "{url}");
        }
    }
}

#[test]
fn grouping_by_pattern_counts_a_request_for_every_pattern_that_it_matches() {
    let text = log(5);
    let (expected, found) = (script(&text), run("pattern", &text));
    assert_eq!(expected.patterns.len(), 6);
    for (pattern, (requests, peak)) in &expected.patterns {
        let bot = &found["hosts"]["(default)"]["bots"][pattern];
        assert_eq!(bot["requests"].as_u64(), Some(*requests), "{pattern}");
        assert_eq!(bot["rpm"]["peak"].as_u64(), Some(*peak), "{pattern}");
    }
}
