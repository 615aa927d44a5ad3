//! Bots by name through the program: many strings of one crawler, roll-ups, spoofed claims, ranges and proxies.
//!
//! Example: three Chrome versions of Googlebot at 40 requests in one minute are one bot at 120.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::command::{Dir, Output};

const NOW: &str = "2026-03-12T02:00:00Z";

/// Requests at seconds of a day of March 2026.
struct Log(String);

impl Log {
    fn new() -> Self {
        Self(String::new())
    }

    /// `second` counts from midnight of `day`.
    fn hit(&mut self, day: u32, second: u32, client: &str, user_agent: &str) -> &mut Self {
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        writeln!(
            self.0,
            "{client} - - [{day:02}/Mar/2026:{h:02}:{m:02}:{s:02} +0000] \"GET /p/{second} HTTP/1.1\" 200 512 \"-\" \"{user_agent}\""
        )
        .expect("a string takes text");
        self
    }
}

fn googlebot(chrome: u32) -> String {
    format!(
        "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{chrome}.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    )
}

const DESKTOP: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

/// Writes the log as one that nobody has touched for an hour: its rows may come from the history.
fn put(dir: &Dir, log: &Log) {
    dir.write("a.log", &log.0);
    let file = std::fs::File::options().write(true).open(dir.path().join("a.log")).expect("the log");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("a time");
}

fn analyze(dir: &Dir, args: &[&str]) -> Output {
    dir.command([&["analyze", "a.log", "--now", NOW, "--output-json", "-"], args].concat()).run()
}

fn baseline(dir: &Dir, args: &[&str]) -> Value {
    analyze(dir, args).exit(0).json()
}

#[test]
fn many_strings_of_one_crawler_are_one_bot_with_samples_variants_and_a_count_of_strings() {
    let (dir, mut log) = (Dir::new(), Log::new());
    for chrome in 100..103 {
        for n in 0..40 {
            log.hit(10, 36_000 + n, "192.0.2.10", &googlebot(chrome));
        }
    }
    for chrome in 103..200 {
        log.hit(10, 40_000 + chrome, "192.0.2.10", &googlebot(chrome));
    }
    for n in 0..7 {
        log.hit(10, 50_000 + n, "192.0.2.10", DESKTOP);
    }
    dir.write("a.log", &log.0);
    let first = baseline(&dir, &["--threads", "1"]);
    let bot = &first["hosts"]["(default)"]["bots"]["Googlebot"];
    assert_eq!((&bot["requests"], &bot["rpm"]["peak"]), (&Value::from(224), &Value::from(120)));
    assert_eq!(bot["variants"], serde_json::json!({ "desktop": 7, "smartphone": 217 }));
    let distinct = bot["user_agents"]["distinct"].as_u64().expect("a count");
    assert!((95..=107).contains(&distinct), "101 strings, estimated {distinct}");
    let samples = bot["user_agents"]["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 5);
    for sample in samples {
        let text = sample["user_agent"].as_str().expect("a string");
        let logged = log.0.lines().filter(|line| line.ends_with(&format!("\"{text}\""))).count();
        assert_eq!(sample["requests"], logged, "{text}");
    }
    // From the history, and from the lines on many threads, the same.
    assert_eq!(baseline(&dir, &[])["hosts"], first["hosts"]);
    assert_eq!(
        baseline(&dir, &["--no-history", "--threads", "4"])["hosts"]["(default)"]["bots"]["Googlebot"]["user_agents"],
        bot["user_agents"]
    );
}

#[test]
fn roll_ups_are_sums_of_minutes_and_need_no_lines() {
    let (dir, mut log) = (Dir::new(), Log::new());
    for n in 0..30 {
        log.hit(10, 36_000 + n, "192.0.2.10", DESKTOP).hit(
            10,
            36_060 + n,
            "192.0.2.10",
            "Googlebot-Image/1.0",
        );
    }
    for n in 0..20 {
        log.hit(10, 36_120 + n, "192.0.2.10", DESKTOP).hit(
            10,
            36_120 + n,
            "192.0.2.10",
            "Googlebot-Image/1.0",
        );
        log.hit(10, 36_120 + n, "192.0.2.11", "GPTBot/1.2");
    }
    put(&dir, &log);
    let by_bot = baseline(&dir, &[]);
    let bots = &by_bot["hosts"]["(default)"]["bots"];
    assert_eq!(
        (&bots["Googlebot"]["rpm"]["peak"], &bots["Googlebot-Image"]["rpm"]["peak"]),
        (&30.into(), &30.into())
    );
    let all = &by_bot["hosts"]["(default)"]["all_bots"];
    assert_eq!(
        (&all["rpm"]["peak"], &all["requests_per_second_peak"], &all["requests"]),
        (&60.into(), &3.into(), &120.into())
    );
    for (group_by, name, peak, requests) in [
        ("family", "Googlebot", 40, 100),
        ("operator", "Google", 40, 100),
        ("category", "search-engine", 40, 100),
    ] {
        let found = baseline(&dir, &["--group-by", group_by]);
        assert_eq!(found["inputs"][0]["read"], false, "a roll-up comes from the history");
        let bot = &found["hosts"]["(default)"]["bots"][name];
        assert_eq!((&bot["rpm"]["peak"], &bot["requests"]), (&peak.into(), &requests.into()), "{group_by}");
        assert_eq!(found["rpm_by_bot"][name], peak, "{group_by}");
        assert_eq!(bot["ceiling"], serde_json::json!({}), "the manifest speaks of bots, not of a {group_by}");
        assert_eq!(found["hosts"]["(default)"]["all_bots"], *all, "{group_by}");
        assert_eq!(found["status_distribution"], by_bot["status_distribution"]);
    }
    // With patterns, only what they match.
    dir.write("patterns.txt", "Googlebot\n");
    let found = baseline(&dir, &["--group-by", "operator", "--ua-regex-file", "patterns.txt"]);
    assert_eq!(found["rpm_by_bot"], serde_json::json!({ "Google": 40 }));
    assert_eq!(found["hosts"]["(default)"]["all_bots"]["requests"], 100);
}
