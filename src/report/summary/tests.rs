//! The summary of a busy night, of a hostile log and of nothing at all.

use super::*;
use crate::baseline::{Input, Spoofed, Warning, measure};

/// A bot as the contract's JSON has it: what a test does not say is zero.
fn bot(requests: u64, peak: u64, status: &[(&str, u64)], waste_share: f64) -> Bot {
    let mut bot: Bot = serde_json::from_str(
        r#"{"family": "", "operator": "", "category": "", "requests": 0,
            "rpm": {"peak": 0, "peak_minutes": [], "peak_minutes_count": 0, "p50_active": 1, "p95_active": null,
                    "p99_active": null, "p50_all": null, "p95_all": null, "p99_all": null, "mean_all": null,
                    "active_minutes": 0},
            "requests_per_second_peak": 0, "requests_per_10s_peak": 0, "requests_per_60s_peak": 0, "bytes_sum": 0,
            "status": {}, "latency_ms": null, "urls_distinct": 0, "not_modified_share": 0, "waste_share": 0,
            "verification": {"verified": 0, "failed": 0, "not_checkable": 0},
            "user_agents": {"distinct": 0, "samples": []}, "waste": [], "ceiling": {}}"#,
    )
    .unwrap();
    bot.requests = requests;
    bot.rpm.peak = peak;
    bot.rpm.p95_active = Some(peak / 2);
    bot.status = status.iter().map(|(s, n)| ((*s).to_owned(), *n)).collect();
    bot.waste_share = waste_share;
    bot
}

fn host(requests: u64, bots: Vec<(&str, Bot)>) -> Host {
    let rpm = crate::baseline::Rpm { peak: 120, p95_active: Some(80), ..Default::default() };
    let bots = bots.into_iter().map(|(name, bot)| (name.to_owned(), bot)).collect();
    Host { requests, rpm, status: BTreeMap::new(), bots, parameters: Vec::new(), all_bots: None }
}

fn log(path: &str, records: u64) -> Log {
    let json = r#"{"path": "", "source": null, "compression": "none", "formats": {}, "clock": "end", "bytes_read": 0,
        "lines": 0, "blank": 0, "directive": 0, "records": 0, "rejects": {}, "first_rejected_lines": [], "damage": null,
        "duplicate_of": null, "read": true}"#;
    let mut log: Log = serde_json::from_str(json).unwrap();
    path.clone_into(&mut log.path);
    log.records = records;
    log
}

fn empty() -> Baseline {
    let mut baseline = measure(&Input::default());
    baseline.warnings.clear();
    baseline
}

fn rendered(baseline: &Baseline) -> String {
    Summary { baseline, ceilings: BTreeMap::new(), written: vec![], spilled: (0, 0), width: 100 }.render()
}

#[test]
fn what_outgrew_memory_is_one_line_and_otherwise_nothing_is_said_of_it() {
    let baseline = empty();
    let text = |spilled| {
        Summary { baseline: &baseline, ceilings: BTreeMap::new(), written: vec![], spilled, width: 100 }
            .render()
    };
    assert!(!text((0, 0)).contains("Memory"));
    let told = "Memory  past --memory-limit, 71.6 MiB in 5 runs of a temporary file; nothing is lost by it\n";
    assert!(text((75_000_000, 5)).contains(told), "{}", text((75_000_000, 5)));
    assert!(text((9, 1)).contains("0.1 MiB in 1 run of"), "{}", text((9, 1)));
}

fn busy() -> Baseline {
    let mut b = empty();
    b.window.first = Some("2026-03-10T06:25:03Z".into());
    b.window.last = Some("2026-03-11T06:25:01Z".into());
    b.window.minutes_covered = 1_441;
    b.totals.lines = 1_234_570;
    b.totals.blank = 1;
    b.totals.records = 1_234_567;
    b.totals.rejects = [("torn_line".to_owned(), 2)].into();
    b.totals.bot_records = 9_126;
    b.totals.nul_bytes_skipped = 4_096;
    b.inputs = vec![
        Log {
            formats: [("combined".to_owned(), 1_234_566)].into(),
            ..log("/var/log/nginx/access.log.1", 1_234_566)
        },
        Log { compression: "gzip".into(), damage: Some("cut off at byte 4,096".into()), ..log("b.gz", 1) },
        Log { read: false, ..log("seen.log", 5) },
        Log { read: false, duplicate_of: Some("b.gz".into()), ..log("copy.gz", 0) },
        Log { read: false, skipped: Some("no line of it is an access".into()), ..log("notes.txt", 0) },
    ];
    let spoofed = Spoofed {
        requests: 3,
        share: 0.000_375,
        rpm: crate::baseline::Rpm::default(),
        requests_per_second_peak: 1,
        requests_per_10s_peak: 1,
        requests_per_60s_peak: 1,
        failing_prefixes: vec![crate::baseline::Network { prefix: "203.0.113.0/24".into(), requests: 3 }],
    };
    let google = Bot { spoofed: Some(spoofed), ..bot(8_000, 67, &[("200", 7_000), ("429", 1_000)], 0.125) };
    b.hosts.insert(
        "www.example.com".into(),
        host(1_200_000, vec![("bingbot", bot(1_100, 12, &[("200", 1_100)], 0.0)), ("Googlebot", google)]),
    );
    b.hosts.insert("blog.example.com".into(), host(34_567, vec![]));
    b.top_waste_urls = vec![
        WasteUrl { url: "/old?id=1".into(), error_hits: 1_031 },
        WasteUrl { url: "/x".into(), error_hits: 2 },
    ];
    b.warnings = vec![Warning::new(
        "no_latency",
        "no request says how long it took: the latency of the origin is unknown, and with it where its capacity ends",
        "log it: nginx `rt=$request_time`, Apache `%D`",
    )];
    b
}

#[test]
fn a_busy_night_fits_on_one_screen_of_100_columns() {
    let baseline = busy();
    let ceiling = |rpm, bound: &str| Ceiling {
        requests_per_minute: rpm,
        bound_by: bound.into(),
        confidence: "B".into(),
        advice: "apply",
    };
    let of_host = HostCeilings {
        all_bots: Some(ceiling(120, "overload")),
        bots: [("Googlebot".to_owned(), ceiling(76, "demand"))].into(),
    };
    let text = Summary {
        baseline: &baseline,
        ceilings: [("www.example.com".to_owned(), of_host)].into(),
        written: vec![
            "crawl-artifacts/2026-03-11/baseline_020007.json".into(),
            "crawl-artifacts/throttle_manifest.yaml".into(),
        ],
        spilled: (0, 0),
        width: 100,
    }
    .render();
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn without_a_manifest_there_are_no_empty_columns() {
    let text = rendered(&busy());
    assert!(text.contains("Peak RPM") && !text.contains("Ceiling"), "{text}");
}

#[test]
fn an_equation_that_does_not_hold_is_not_written_as_one() {
    let mut b = busy();
    assert!(rendered(&b).contains(
        "Lines   1,234,570 = 1 blank + 0 directive + 0 filtered + 1,234,567 records + 2 rejects (torn_line 2)"
    ));
    b.totals.lines += 1;
    assert!(rendered(&b).contains("1,234,571 IS NOT 1 blank"));
}

#[test]
fn a_run_without_a_record_says_so() {
    insta::assert_snapshot!(rendered(&empty()));
}

#[test]
fn at_most_twenty_bots_are_listed_the_largest_first() {
    let mut b = empty();
    let names: Vec<String> = (0..23).map(|i| format!("Bot{i:02}")).collect();
    let bots = names.iter().zip(100..).map(|(name, n)| (name.as_str(), bot(n, 1, &[], 0.0))).collect();
    b.hosts.insert("h".into(), host(9_000, bots));
    let text = rendered(&b);
    assert!(text.contains("\nBot22 ") && text.contains("\nBot03 ") && !text.contains("\nBot02 "), "{text}");
    assert!(text.contains("\n  and 3 more bots\n"), "{text}");
}

#[test]
fn nothing_of_a_hostile_log_reaches_the_terminal() {
    const EVIL: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\u{9b}31m\u{202e}y";
    let mut b = busy();
    b.hosts.insert(EVIL.into(), host(10_000_000, vec![(EVIL, bot(1, 1, &[], 0.0))]));
    b.top_waste_urls.push(WasteUrl { url: EVIL.into(), error_hits: 1 });
    b.totals.rejects.insert(EVIL.into(), 0);
    b.window.first = Some(EVIL.into());
    b.warnings.push(Warning::new(EVIL, EVIL, EVIL));
    let evil_log = Log { formats: [(EVIL.to_owned(), 1)].into(), compression: EVIL.into(), ..log(EVIL, 1) };
    b.inputs.push(evil_log.clone());
    b.inputs.push(Log { damage: Some(EVIL.into()), ..evil_log.clone() });
    b.inputs.push(Log { duplicate_of: Some(EVIL.into()), ..evil_log.clone() });
    b.inputs.push(Log { skipped: Some(EVIL.into()), ..evil_log });
    let ceiling =
        Ceiling { requests_per_minute: 1, bound_by: EVIL.into(), confidence: EVIL.into(), advice: "apply" };
    let of_host = HostCeilings { all_bots: Some(ceiling.clone()), bots: [(EVIL.to_owned(), ceiling)].into() };
    let text = Summary {
        baseline: &b,
        ceilings: [(EVIL.to_owned(), of_host)].into(),
        written: vec![EVIL.into()],
        spilled: (0, 0),
        width: 100,
    }
    .render();
    let bad: Vec<char> =
        text.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
    assert!(bad.is_empty(), "{bad:?}");
    // One line feed of the log would be a line that begins with what follows it.
    assert!(!text.lines().any(|l| l.trim_start().starts_with("31m")), "{text}");
    assert!(text.contains(r"x\x1B[2J\x1B]0;owned\x07\x0D\x0A\u{9B}31m\u{202E}y"));
}

#[test]
fn numbers_are_grouped_and_words_agree() {
    for (n, want) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(number(n), want);
    }
    assert_eq!((counted(1, "record"), counted(2, "record")), ("1 record".into(), "2 records".into()));
}

#[test]
fn long_text_is_wrapped_under_its_lead_and_a_long_word_stays_whole() {
    let mut out = String::new();
    wrapped(&mut out, 12, "  a: ", "one two three /a/very/long/path end");
    assert_eq!(out, "  a: one two\n     three\n     /a/very/long/path\n     end\n");
}
