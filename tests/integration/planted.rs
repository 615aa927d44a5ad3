//! Logs in which something is planted: the manifest names it for what it is.
//!
//! Example: a bot that asks 90 times a minute and is admitted 60 times on three days is bound by `429_onset` at 42.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::command::Dir;

/// Monday 2026-03-02T00:00Z, in minutes.
const MONDAY: i64 = 1_772_409_600 / 60;
const DAY: i64 = 1440;

/// A log in the order of its writing.
#[derive(Default)]
struct Log {
    text: String,
    stamps: BTreeMap<i64, String>,
}

impl Log {
    /// `n` requests of a minute, `refused` of them answered with `status`, each after `ms`.
    fn minute(&mut self, minute: i64, agent: &str, n: u64, refused: (u64, u16), ms: Option<u64>) {
        for i in 0..n {
            let second = minute * 60 + i64::try_from(i * 60 / n).expect("small");
            let stamp = self.stamps.entry(second).or_insert_with(|| {
                let at = chrono::DateTime::from_timestamp(second, 0).expect("a time");
                at.format("%d/%b/%Y:%H:%M:%S +0000").to_string()
            });
            let status = if i < n - refused.0.min(n) { 200 } else { refused.1 };
            let _ =
                write!(self.text, "192.0.2.1 - - [{stamp}] \"GET / HTTP/1.1\" {status} 9 \"-\" \"{agent}\"");
            if let Some(ms) = ms {
                let _ = write!(self.text, " rt={}.{:03}", ms / 1000, ms % 1000);
            }
            self.text.push('\n');
        }
        self.stamps.retain(|second, _| *second >= minute * 60);
    }

    fn bot(&mut self, minute: i64, name: &str, n: u64) {
        self.minute(minute, &agent(name), n, (0, 200), None);
    }

    fn people(&mut self, minute: i64, n: u64, failed: u64, ms: Option<u64>) {
        let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0";
        self.minute(minute, agent, n, (failed, 503), ms);
    }

    /// What `analyze` recommends for it.
    fn analyzed(&self, last: i64) -> Manifest {
        let dir = Dir::new();
        dir.write("a.log", &self.text);
        let now = chrono::DateTime::from_timestamp((last + 1) * 60, 0).expect("a time");
        let now = now.format("%Y-%m-%dT%H:%M:%SZ").to_string();
        let output = dir.command(["analyze", "a.log", "--manifest-format", "json", "--now", &now]).run();
        // No finding of the lint on what the program itself wrote.
        output.exit(0).stderr_is_empty();
        let bytes =
            std::fs::read(dir.path().join("crawl-artifacts/throttle_manifest.json")).expect("a manifest");
        let manifest: Value = serde_json::from_slice(&bytes).expect("JSON");
        Manifest(manifest["domain_overrides"]["(default)"].clone())
    }
}

fn agent(name: &str) -> String {
    format!("{name}/1.0 (+https://{name}.example)")
}

struct Manifest(Value);

impl Manifest {
    fn bot(&self, name: &str) -> &Value {
        &self.0["bots"][name]
    }
}

/// The ceiling, and the rule that bound it.
fn bound(entry: &Value) -> (u64, &str) {
    let evidence = &entry["evidence"]["max_requests_per_minute"];
    let rule = evidence["bound_by"].as_str().unwrap_or_else(|| panic!("no evidence: {entry:#}"));
    (entry["max_requests_per_minute"].as_u64().expect("a ceiling"), rule)
}

fn why_not<'a>(entry: &'a Value, rule: &str) -> &'a str {
    let all = entry["evidence"]["max_requests_per_minute"]["not_used"].as_array().expect("a list");
    all.iter().find(|n| n["rule"] == rule).and_then(|n| n["why"].as_str()).unwrap_or("used")
}

#[test]
fn a_planted_limit_is_found_where_it_is() {
    // Three mornings of 40 minutes: 30 a minute, then ten minutes of 90 of which 60 are admitted.
    let mut log = Log::default();
    for day in 0..3 {
        for m in 0..50 {
            let minute = MONDAY + day * DAY + 360 + m;
            if m < 40 {
                log.bot(minute, "SteadyCrawler", 30);
            } else {
                log.minute(minute, &agent("SteadyCrawler"), 90, (30, 429), None);
            }
        }
    }
    let manifest = log.analyzed(MONDAY + 2 * DAY + 409);
    let bot = manifest.bot("SteadyCrawler");
    assert_eq!(bot["evidence"]["c429"], 60);
    assert_eq!(bot["evidence"]["c429_state"], "established");
    // The demand of the clean minutes would be 34; what was admitted is 60, 60 % of which may be used at grade C.
    assert_eq!(bot["evidence"]["max_requests_per_minute"]["inputs"]["C429"], 60);
    assert_eq!(bound(bot), (34, "demand_headroom"));
    let candidates = bot["evidence"]["max_requests_per_minute"]["candidates"].to_string();
    assert!(candidates.contains(r#"{"rule":"429_onset","value":36}"#), "{candidates}");
}

#[test]
fn a_limit_that_the_demand_hits_binds() {
    // Demand of 90 all the time, 60 admitted: nothing is clean.
    let mut log = Log::default();
    for day in 0..3 {
        for m in 0..20 {
            log.minute(MONDAY + day * DAY + 360 + m, &agent("SteadyCrawler"), 90, (30, 429), None);
        }
    }
    let manifest = log.analyzed(MONDAY + 2 * DAY + 379);
    let bot = manifest.bot("SteadyCrawler");
    assert_eq!(bound(bot), (36, "429_onset"));
    assert_eq!(bot["evidence"]["max_requests_per_minute"]["formula"], "max(1, floor(0.60 * 60))");
    assert_eq!(bot["evidence"]["max_requests_per_minute"]["capacity"]["high"], 60);
}

#[test]
fn an_outage_is_an_incident_and_caps_nobody() {
    let mut log = Log::default();
    for m in 0..240 {
        // The quietest quarter of an hour is the one that fails.
        let out = (100..115).contains(&m);
        log.bot(MONDAY + m, "SteadyCrawler", 10);
        log.people(
            MONDAY + m,
            if out { 5 } else { 20 + (m * 7 % 20).unsigned_abs() },
            if out { 5 } else { 0 },
            None,
        );
    }
    let manifest = log.analyzed(MONDAY + 239);
    let bot = manifest.bot("SteadyCrawler");
    assert_eq!(bound(bot), (12, "demand_headroom"));
    assert_eq!(why_not(bot, "host_overload"), "incident");
    assert!(bot["schedule"].is_null());
}

#[test]
fn overload_that_comes_with_load_caps_the_host() {
    let mut log = Log::default();
    for day in 0..2 {
        for m in 0..120 {
            let minute = MONDAY + day * DAY + m;
            let load = if m >= 100 { 150 } else { 20 + (m * 7 % 50).unsigned_abs() };
            log.bot(minute, "SteadyCrawler", 10);
            log.people(minute, load, if m >= 100 { 30 } else { 0 }, None);
        }
    }
    let manifest = log.analyzed(MONDAY + DAY + 119);
    let evidence = &manifest.0["evidence"]["max_requests_per_minute"];
    assert_eq!(
        (&evidence["capacity"]["known"], &evidence["inputs"]["H"]),
        (&Value::Bool(true), &Value::from(160))
    );
    assert_eq!(why_not(&manifest.0, "host_overload"), "used");
    assert!(manifest.0["schedule"].is_object());
}

#[test]
fn a_latency_knee_is_found() {
    let mut log = Log::default();
    for m in 0..300 {
        let load = 5 + (m * 37 % 100_i64).unsigned_abs();
        // Above 70 a minute everything takes three times as long.
        let ms = if load + 5 > 70 { 300 } else { 100 };
        log.minute(MONDAY + m, &agent("SteadyCrawler"), 5, (0, 200), Some(ms));
        log.people(MONDAY + m, load, 0, Some(ms));
    }
    let manifest = log.analyzed(MONDAY + 299);
    let evidence = &manifest.0["evidence"]["max_requests_per_minute"];
    let knee = evidence["inputs"]["H"].as_u64().expect("a capacity");
    assert!((60..=70).contains(&knee), "{knee}");
    assert_eq!(why_not(&manifest.0, "latency_knee"), "used");
    assert_eq!(why_not(&manifest.0, "host_overload"), "none");
    let connections = &manifest.bot("SteadyCrawler")["evidence"]["max_concurrent_connections"];
    assert!(
        connections["latency_ms_mean"].as_f64().is_some_and(|ms| (100.0..300.0).contains(&ms)),
        "{connections}"
    );
}

#[test]
fn an_hourly_quota_limits_the_hour_and_not_the_minute() {
    // 20 a minute until 600 are used up, then nothing until the hour ends; four hours of two days.
    let mut log = Log::default();
    for day in 0..2 {
        for hour in 0..2 {
            for m in 0..60 {
                let minute = MONDAY + day * DAY + hour * 60 + m;
                log.minute(minute, &agent("SteadyCrawler"), 20, (if m >= 30 { 20 } else { 0 }, 429), None);
            }
        }
    }
    let manifest = log.analyzed(MONDAY + DAY + 119);
    let bot = manifest.bot("SteadyCrawler");
    assert_eq!(
        (&bot["evidence"]["quota"], &bot["evidence"]["c429_state"]),
        (&Value::from(600), &Value::from("quota"))
    );
    assert_eq!(bot["budgets"]["requests_per_hour"], 360);
    assert_eq!(bound(bot), (23, "demand_headroom"));
    assert_eq!(why_not(bot, "429_onset"), "quota");
}

#[test]
fn a_weekend_pattern_becomes_a_schedule_that_knows_the_weekend() {
    // Two weeks and a day, six minutes of each hour: people come on weekdays; the host fails at 100 on Mondays.
    let mut log = Log::default();
    for hour in 0..15 * 24 {
        let (day, minute) = (hour / 24, MONDAY + hour * 60);
        let people = if day % 7 >= 5 { 3 } else { 15 + u64::from(hour % 3 == 0) };
        let fails = day % 7 == 0 && hour % 24 == 12;
        for m in 0..6 {
            log.bot(minute + m, "SteadyCrawler", 4);
            log.people(minute + m, if fails { 96 } else { people }, if fails { 40 } else { 0 }, None);
        }
    }
    let manifest = log.analyzed(MONDAY + 15 * DAY - 55);
    let schedule = &manifest.0["schedule"];
    assert_eq!(schedule["kind"], "hour_of_day_type", "{schedule}");
    let people = |slot: &str| schedule["people_per_minute"][slot].as_u64().expect("a slot");
    assert!(people("weekday-09") >= 15 && people("weekend-09") <= 3, "{schedule}");
    let slots = &manifest.bot("SteadyCrawler")["schedule"]["requests_per_minute"];
    assert_eq!(slots.as_object().map(serde_json::Map::len), Some(48));
}

#[test]
fn twelve_bots_in_turn_share_nothing() {
    // Each has an hour of its own; none ever meets another, and nothing was ever saturated.
    let mut log = Log::default();
    for hour in 0..12 {
        for m in 0..60 {
            log.bot(
                MONDAY + hour * 60 + m,
                &format!("Crawler{}bot", (b'a' + u8::try_from(hour).expect("few")) as char),
                20,
            );
        }
    }
    let manifest = log.analyzed(MONDAY + 12 * 60 - 1);
    let bots = manifest.0["bots"].as_object().expect("bots");
    assert_eq!(bots.len(), 12);
    for entry in bots.values() {
        assert_eq!(bound(entry), (23, "demand_headroom"));
    }
    // All together need no more than one of them.
    assert_eq!(bound(&manifest.0).0, 23);
    assert_eq!(manifest.0["evidence"]["max_requests_per_minute"]["capacity"]["known"], false);
}
