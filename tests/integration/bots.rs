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

/// Ranges of Google that were published at this time.
fn ranges(dir: &Dir, created: &str) {
    for (name, prefix) in [("googlebot", "198.51.100.0/27"), ("common-crawlers", "198.51.100.32/27")] {
        let text =
            format!("{{\"creationTime\": \"{created}\", \"prefixes\": [{{\"ipv4Prefix\": \"{prefix}\"}}]}}");
        dir.write(&format!("ranges/{name}.json"), text);
    }
}

fn warning<'a>(found: &'a Value, code: &str) -> Option<&'a str> {
    let all = found["warnings"].as_array().expect("warnings");
    all.iter().find(|w| w["code"] == code).map(|w| w["message"].as_str().expect("a message"))
}

/// Two to five requests a minute for three days.
fn steady() -> Log {
    let mut log = Log::new();
    for day in 9..12 {
        for minute in 0..1_440 {
            for n in 0..2 + minute % 4 {
                log.hit(day, minute * 60 + n, "198.51.100.5", DESKTOP);
            }
        }
    }
    log
}

#[test]
fn a_spoofer_ten_times_as_fast_does_not_move_the_ceiling_by_one() {
    let entry = |spoofed: bool| {
        let (dir, mut log) = (Dir::new(), steady());
        if spoofed {
            for day in 9..12 {
                for minute in (0..1_440).step_by(2) {
                    for n in 0..50 {
                        log.hit(
                            day,
                            minute * 60 + n,
                            if n % 5 == 0 { "192.0.2.77" } else { "203.0.113.9" },
                            DESKTOP,
                        );
                    }
                }
            }
        }
        put(&dir, &log);
        ranges(&dir, "2026-03-10T14:46:45.000000");
        let found = baseline(&dir, &["--ip-ranges", "ranges", "--manifest-format", "json"]);
        let manifest = dir.glob("crawl-artifacts/2026-03-12/throttle_manifest_*.json");
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(&manifest[0]).expect("a manifest")).expect("JSON");
        let ceiling = manifest["domain_overrides"]["(default)"]["bots"]["Googlebot"].clone();
        let again = dir.command(["recommend", "--ip-ranges", "ranges", "--now", NOW]).run();
        again.exit(0);
        (found, ceiling, dir)
    };
    let ((alone, before, _), (found, after, dir)) = (entry(false), entry(true));
    assert!(before["max_requests_per_minute"].as_u64().is_some_and(|n| n > 0), "{before:#}");
    assert_eq!(after["max_requests_per_minute"], before["max_requests_per_minute"]);
    assert_eq!(after["max_burst_capacity"], before["max_burst_capacity"]);
    assert_eq!(after["budgets"], before["budgets"]);

    let (bot, real) = (
        &found["hosts"]["(default)"]["bots"]["Googlebot"],
        &alone["hosts"]["(default)"]["bots"]["Googlebot"],
    );
    assert_eq!(bot["rpm"], real["rpm"]);
    assert_eq!(bot["ceiling"]["max_requests_per_minute"], real["ceiling"]["max_requests_per_minute"]);
    assert_eq!(
        bot["verification"],
        serde_json::json!({ "verified": 15_120, "failed": 108_000, "not_checkable": 0 })
    );
    let spoofed = &bot["spoofed"];
    assert_eq!((&spoofed["requests"], &spoofed["rpm"]["peak"]), (&108_000.into(), &50.into()));
    assert_eq!(spoofed["share"], 0.877_193);
    assert_eq!(
        spoofed["failing_prefixes"],
        serde_json::json!([{ "prefix": "203.0.113.0/24", "requests": 86_400 }, { "prefix": "192.0.2.0/24", "requests": 21_600 }])
    );
    assert_eq!(real["spoofed"], Value::Null);
    assert!(warning(&found, "spoofed").is_some_and(|w| w.contains("Googlebot 108000")));
    assert_eq!((warning(&found, "ranges_stale"), warning(&alone, "spoofed")), (None, None));
    analyze(&dir, &["--ip-ranges", "ranges", "--group-by", "family"])
        .exit(0)
        .stderr_has(
            "Googlebot: 108,000 of 123,120 requests (87.7 %) are not from its addresses, peak 50 RPM:",
        )
        .stderr_has("203.0.113.0/24 86,400");
}

#[test]
fn stale_ranges_are_said_with_their_operator_and_the_verdict_stays() {
    let (dir, mut log) = (Dir::new(), Log::new());
    for n in 0..60 {
        log.hit(11, 36_000 + n, "198.51.100.5", DESKTOP);
    }
    log.hit(11, 36_100, "203.0.113.9", DESKTOP);
    put(&dir, &log);
    ranges(&dir, "2026-03-04T00:00:00.000000");
    dir.write("ranges/nobodys-bot.json", "[\"192.0.2.0/27\"]");
    let fresh = baseline(&dir, &["--no-history", "--ip-ranges", "ranges"]);
    assert_eq!(warning(&fresh, "ranges_stale"), None, "seven days are not more than seven days");
    assert!(warning(&fresh, "ranges_unused").is_some_and(|w| w.contains("nobodys-bot.json")));
    ranges(&dir, "2026-03-03T23:59:59.000000");
    let stale = baseline(&dir, &["--no-history", "--ip-ranges", "ranges"]);
    let said = warning(&stale, "ranges_stale").expect("it is stale");
    assert!(said.contains("googlebot.json (Google, 8 days older)"), "{said}");
    assert_eq!(stale["hosts"]["(default)"]["bots"]["Googlebot"]["verification"]["failed"], 1);
    // Nobody claims to be Google: nothing to say.
    dir.write("a.log", log.0.replace("Googlebot", "AcmeSpider"));
    let other = baseline(&dir, &["--no-history", "--ip-ranges", "ranges"]);
    assert_eq!(warning(&other, "ranges_stale"), None);
}

#[test]
fn a_log_with_a_proxys_addresses_is_not_called_full_of_spoofers() {
    let (dir, mut log) = (Dir::new(), Log::new());
    for n in 0..190 {
        log.hit(11, 36_000 + n % 40, "10.0.0.7", DESKTOP);
    }
    for n in 0..10 {
        log.hit(11, 36_200 + n, "198.51.100.5", DESKTOP);
    }
    put(&dir, &log);
    ranges(&dir, "2026-03-10T14:46:45.000000");
    let found = baseline(&dir, &["--ip-ranges", "ranges"]);
    let bot = &found["hosts"]["(default)"]["bots"]["Googlebot"];
    assert_eq!(bot["verification"], serde_json::json!({ "verified": 0, "failed": 0, "not_checkable": 200 }));
    assert_eq!((&bot["spoofed"], &bot["rpm"]["peak"]), (&Value::Null, &190.into()));
    let said = warning(&found, "proxy_addresses").expect("the guard holds");
    assert!(said.starts_with("a.log: 190 of 200 claims"), "{said}");
    assert!(found.to_string().contains("real_ip_header") && found.to_string().contains("mod_remoteip"));
    // Ranges that could not be applied leave the bot with a ceiling of its own rows.
    assert!(bot["ceiling"]["max_requests_per_minute"].as_u64().is_some(), "{bot:#}");
    // The second run reads no line and says the same.
    let again = baseline(&dir, &["--ip-ranges", "ranges"]);
    assert_eq!(again["inputs"][0]["read"], false);
    assert_eq!(warning(&again, "proxy_addresses"), Some(said));
    assert_eq!(again["hosts"], found["hosts"]);
    // One claim fewer that fails, and they are spoofers again.
    dir.write("a.log", log.0.replacen("10.0.0.7", "198.51.100.5", 1));
    let spoofed = baseline(&dir, &["--no-history", "--ip-ranges", "ranges"]);
    assert_eq!(spoofed["hosts"]["(default)"]["bots"]["Googlebot"]["verification"]["failed"], 189);
    let said = warning(&spoofed, "proxy_addresses").expect("the addresses are private all the same");
    assert!(!said.contains("claims"), "{said}");
}

#[test]
fn addresses_to_look_up_are_written_and_the_answers_are_read_back() {
    let (dir, mut log) = (Dir::new(), Log::new());
    for n in 0..30 {
        log.hit(11, 36_000 + n, "203.0.113.9", DESKTOP).hit(11, 36_100 + n, "192.0.2.200", "curl/8.0");
    }
    for n in 0..40 {
        log.hit(11, 36_200 + n, "203.0.113.77", DESKTOP);
        log.hit(11, 36_300 + n, "198.51.100.5", DESKTOP);
    }
    put(&dir, &log);
    ranges(&dir, "2026-03-10T14:46:45.000000");
    let given = ["--ip-ranges", "ranges", "--unverified-ips", "look-up.tsv"];
    baseline(&dir, &given);
    let listed = || std::fs::read_to_string(dir.path().join("look-up.tsv")).expect("it was written");
    assert_eq!(listed(), "203.0.113.77\tGooglebot\t40\n203.0.113.9\tGooglebot\t30\n");
    // A log that is known is read again for it.
    std::fs::remove_file(dir.path().join("look-up.tsv")).expect("it is there");
    baseline(&dir, &given);
    assert!(listed().starts_with("203.0.113.77\t"));

    dir.write(
        "rdns.tsv",
        "203.0.113.77\tcrawl-203-0-113-77.googlebot.com\ttrue\n203.0.113.9\tevil.example\ttrue\n",
    );
    let found = baseline(&dir, &["--ip-ranges", "ranges", "--rdns", "rdns.tsv", "--reclassify"]);
    let verdicts = serde_json::json!({ "verified": 80, "failed": 30, "not_checkable": 0 });
    assert_eq!(found["hosts"]["(default)"]["bots"]["Googlebot"]["verification"], verdicts);
    // It is in the history now.
    let again = baseline(&dir, &["--ip-ranges", "ranges"]);
    assert_eq!(again["inputs"][0]["read"], false);
    assert_eq!(again["hosts"]["(default)"]["bots"]["Googlebot"]["verification"], verdicts);
    analyze(&dir, &["--no-history", "--unverified-ips", "no/such/folder/x"])
        .exit(5)
        .stderr_has("no/such/folder/x");
}
