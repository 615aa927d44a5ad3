//! Hand-computed tables for each figure of the baseline, and what must hold of any.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fixture::{Hit, days, input, source};
use super::*;
use crate::format::RejectReason;
use crate::tally::distinct::stable_hash;
use crate::tally::table::{DayTables, LineCounts, Verification};

fn measured(sources: &[Vec<Hit>]) -> Baseline {
    let tables: Vec<DayTables> = sources.iter().flat_map(|hits| days(hits)).collect();
    measure(&input(sources, &tables))
}

fn hit(bot: &str, epoch: i64) -> Hit {
    Hit { bot: bot.into(), epoch, ..Hit::default() }
}

fn people(epoch: i64) -> Hit {
    Hit { bot: "(people)".into(), category: String::new(), epoch, ..Hit::default() }
}

fn times(n: usize, hit: &Hit) -> Vec<Hit> {
    vec![hit.clone(); n]
}

fn map(entries: &[(&str, u64)]) -> BTreeMap<String, u64> {
    entries.iter().map(|(k, n)| ((*k).to_owned(), *n)).collect()
}

#[test]
fn the_same_minute_of_two_logs_is_one_minute_of_one_bot() {
    let b = measured(&[times(40, &hit("A", 65)), times(30, &hit("A", 70))]);
    let bot = &b.hosts["(default)"].bots["A"];
    assert_eq!((bot.requests, bot.rpm.peak, bot.rpm.active_minutes), (70, 70, 1));
    assert_eq!((bot.requests_per_second_peak, bot.requests_per_10s_peak), (40, 70));
    assert_eq!(b.rpm_by_bot, map(&[("A", 70)]));
}

#[test]
fn the_seeds_rpm_is_over_all_hosts_and_the_hosts_own_is_over_everybody() {
    let on = |host: &str, epoch| Hit { host: host.into(), ..hit("A", epoch) };
    let b = measured(&[[
        times(5, &on("a.example", 0)),
        times(7, &on("b.example", 30)),
        times(8, &on("b.example", 60)),
        times(100, &Hit { host: "b.example".into(), ..people(60) }),
    ]
    .concat()]);
    assert_eq!(b.rpm_by_bot, map(&[("A", 12)]));
    assert_eq!(b.hosts["b.example"].bots["A"].rpm.peak, 8);
    assert_eq!((b.hosts["b.example"].rpm.peak, b.hosts["b.example"].requests), (108, 115));
    assert_eq!(b.hosts["b.example"].bots.keys().collect::<Vec<_>>(), ["A"]);
    assert_eq!((b.totals.bot_records, b.totals.records), (20, 120));
}

#[test]
fn spoofed_requests_are_load_but_never_the_bots_rate() {
    let failed = Hit { verdict: Verification::Failed, status: Some(403), ..hit("A", 10) };
    let verified = Hit { verdict: Verification::Verified, ..hit("A", 10) };
    let b = measured(&[[times(50, &failed), times(3, &verified), times(4, &hit("A", 70))].concat()]);
    let bot = &b.hosts["(default)"].bots["A"];
    assert_eq!((bot.rpm.peak, bot.requests_per_second_peak, bot.requests_per_60s_peak), (4, 4, 4));
    assert_eq!((bot.requests, bot.waste_share), (57, 0.877_193));
    assert_eq!(bot.status, map(&[("200", 7), ("403", 50)]));
    assert_eq!(bot.verification, Verdicts { verified: 3, failed: 50, not_checkable: 4 });
    let spoofed = bot.spoofed.as_ref().unwrap();
    assert_eq!((spoofed.requests, spoofed.rpm.peak, spoofed.requests_per_10s_peak), (50, 50, 50));
    assert_eq!(b.rpm_by_bot, map(&[("A", 53)]));
    assert_eq!(b.hosts["(default)"].rpm.peak, 53);
    assert!(b.warnings.iter().any(|w| w.code == "spoofed" && w.message.contains("A 50")));
}

#[test]
fn a_bot_that_rests_while_people_come_has_empty_covered_minutes() {
    let mut hits: Vec<Hit> = (0..60).map(|m| people(m * 60)).collect();
    for m in 0..10 {
        hits.extend(times(10, &hit("A", m * 360)));
    }
    let b = measured(&[hits]);
    let rpm = &b.hosts["(default)"].bots["A"].rpm;
    assert_eq!(b.window.minutes_covered, 60);
    assert_eq!(
        (rpm.p50_active, rpm.p50_all, rpm.p95_all, rpm.mean_all),
        (Some(10), Some(0), Some(10), Some(1.666_667))
    );
}

#[test]
fn calendar_minutes_and_sliding_minutes_are_both_given() {
    let mut hits = Vec::new();
    for i in 0..40 {
        hits.push(hit("A", 45 + i % 15));
        hits.push(hit("A", 60 + i % 15));
    }
    let bot = &measured(&[hits]).hosts["(default)"].bots["A"];
    assert_eq!((bot.rpm.peak, bot.requests_per_60s_peak), (40, 80));
}

#[test]
fn a_gap_of_years_costs_neither_minutes_nor_memory() {
    let b = measured(&[vec![hit("A", 0), hit("A", 1_700_000_000)]]);
    assert_eq!(b.window.minutes_covered, 2);
    assert_eq!(b.window.first.as_deref(), Some("1970-01-01T00:00:00Z"));
    assert_eq!(b.window.last.as_deref(), Some("2023-11-14T22:13:20Z"));
    assert_eq!(b.hosts["(default)"].bots["A"].rpm.p50_all, Some(1));
}

#[test]
fn the_last_minute_of_a_live_log_is_in_no_percentile_of_anybody() {
    let hits = [times(2, &hit("A", 0)), times(4, &hit("A", 60)), times(9, &hit("A", 120)), vec![people(60)]]
        .concat();
    let mut tables = days(&hits);
    for row in &mut tables[0].minutes {
        row.partial = row.minute == 2;
    }
    let b = measure(&input(&[hits], &tables));
    assert_eq!(b.window.minutes_covered, 2);
    let host = &b.hosts["(default)"];
    assert_eq!((host.rpm.peak, host.rpm.p99_all, host.bots["A"].rpm.p99_all), (9, Some(5), Some(4)));
    assert!(b.warnings.iter().any(|w| w.code == "partial_minutes"));
}

#[test]
fn waste_is_by_canonical_url_the_most_hits_first_and_ties_bytewise() {
    let wasted =
        |url: &str, status, n| times(n, &Hit { url: url.into(), status: Some(status), ..hit("A", 0) });
    let mut hits =
        [wasted("/b?x=2", 404, 3), wasted("/b?x=1", 500, 2), wasted("/a", 404, 5), wasted("/ok", 200, 9)]
            .concat();
    for i in 0..25 {
        hits.extend(wasted(&format!("/tail{i:02}"), 410, 1));
    }
    let b = measured(&[hits.clone(), wasted("/b?x=0", 404, 1)]);
    let waste = &b.hosts["(default)"].bots["A"].waste;
    assert_eq!(waste.len(), 20);
    assert_eq!((waste[0].url_key.as_str(), waste[0].hits, waste[0].url_sample.as_str()), ("/b", 6, "/b?x=0"));
    assert_eq!(waste[0].status, map(&[("404", 4), ("500", 2)]));
    assert_eq!((waste[1].url_key.as_str(), waste[1].hits), ("/a", 5));
    assert_eq!((waste[2].url_key.as_str(), waste[19].url_key.as_str()), ("/tail00", "/tail17"));
    // Without the URLs as logged the samples stand for them.
    assert_eq!(b.top_waste_urls[0], WasteUrl { url: "/b?x=0".into(), error_hits: 6 });
    let tables = days(&hits);
    let mut given = input(&[hits], &tables);
    given.top_waste = Some((0..30).map(|i| (format!("/u{:02}", 29 - i), 7 + i / 29)).collect());
    let top = measure(&given).top_waste_urls;
    assert_eq!(
        (top.len(), top[0].url.as_str(), top[1].url.as_str(), top[19].url.as_str()),
        (20, "/u00", "/u01", "/u19")
    );
}

#[test]
fn urls_past_the_cap_are_an_overflow_and_no_url() {
    let hits = times(3, &Hit { url: "(other)".into(), status: Some(404), ..hit("A", 0) });
    let b = measured(&[hits]);
    assert!(b.hosts["(default)"].bots["A"].waste.is_empty() && b.top_waste_urls.is_empty());
    let other = Overflow { cap: "waste_urls".into(), limit: 1000, into: "(other)".into(), requests: 3 };
    assert_eq!(b.totals.overflow, [other]);
}

#[test]
fn shares_status_bytes_and_latency_are_sums_over_logs() {
    let one = |status, bytes, latency_ms| Hit { status, bytes, latency_ms, ..hit("A", 0) };
    let b = measured(&[
        vec![one(Some(304), 0, Some(10)), one(Some(200), 500, None), one(None, 1, Some(25))],
        vec![one(Some(503), 20, Some(400)), one(Some(0), 0, None)],
    ]);
    let bot = &b.hosts["(default)"].bots["A"];
    assert_eq!(bot.status, map(&[("-", 1), ("0", 1), ("200", 1), ("304", 1), ("503", 1)]));
    assert_eq!((bot.not_modified_share, bot.waste_share, bot.bytes_sum), (0.2, 0.2, 521));
    assert_eq!(bot.latency_ms, Some(Latency { count: 3, mean: 145.0, max: 400 }));
    assert_eq!((b.totals.bytes_sum, &b.status_distribution), (521, &bot.status));
    assert!(!b.warnings.iter().any(|w| w.code == "no_latency"));
}

#[test]
fn byte_counts_that_somebody_invented_do_not_stop_the_run() {
    let huge = Hit { bytes: u64::MAX / 2, ..hit("A", 0) };
    let b = measured(&[vec![huge.clone()], vec![huge.clone()], vec![huge]]);
    assert_eq!(b.totals.bytes_sum, u64::MAX);
}

#[test]
fn user_agents_keep_the_five_smallest_hashes_with_exact_counts() {
    let agent = |i: usize| Hit { user_agent: format!("A/{i}"), ..hit("A", 0) };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for i in 0..40 {
        one.extend(times(i + 1, &agent(i)));
        two.extend(times(100, &agent(i + 20)));
    }
    let bot = &measured(&[one, two]).hosts["(default)"].bots["A"];
    let mut want: Vec<(String, u64)> = (0..60_u64)
        .map(|i| (format!("A/{i}"), if i < 40 { i + 1 } else { 0 } + if i >= 20 { 100 } else { 0 }))
        .collect();
    want.sort_by_key(|(text, _)| stable_hash(text.as_bytes()));
    want.truncate(5);
    want.sort();
    let got: Vec<_> = bot.user_agents.samples.iter().map(|s| (s.user_agent.clone(), s.requests)).collect();
    assert_eq!(got, want);
    assert!((57..=63).contains(&bot.user_agents.distinct), "{}", bot.user_agents.distinct);
    assert_eq!(bot.urls_distinct, 1);
}

#[test]
fn groups_of_people_are_shown_on_request_only() {
    let hits = vec![people(0), people(1), hit("A", 0)];
    let tables = days(&hits);
    let mut given = input(&[hits], &tables);
    assert_eq!(measure(&given).hosts["(default)"].bots.keys().collect::<Vec<_>>(), ["A"]);
    given.include_other = true;
    let b = measure(&given);
    assert_eq!(b.hosts["(default)"].bots.keys().collect::<Vec<_>>(), ["(people)", "A"]);
    assert_eq!((b.hosts["(default)"].bots["(people)"].requests, b.totals.bot_records), (2, 1));
    assert_eq!((b.rpm_by_bot, b.status_distribution), (map(&[("A", 1)]), map(&[("200", 1)])));
}

#[test]
fn rare_declared_names_are_one_bot_with_all_their_requests() {
    let declared = |bot: &str, epoch| Hit { category: "declared".into(), ..hit(bot, epoch) };
    let b = measured(&[
        [
            times(9, &declared("NineBot", 0)),
            times(8, &declared("EightBot", 1)),
            times(6, &declared("TwelveBot", 2)),
        ]
        .concat(),
        times(6, &declared("TwelveBot", 3)),
    ]);
    let bots = &b.hosts["(default)"].bots;
    assert_eq!(bots.keys().collect::<Vec<_>>(), ["(other-declared)", "TwelveBot"]);
    let rest = &bots["(other-declared)"];
    assert_eq!((rest.requests, rest.rpm.peak, rest.requests_per_second_peak), (17, 17, 9));
    assert_eq!((rest.family.as_str(), rest.category.as_str()), ("(other-declared)", "declared"));
    assert_eq!(b.rpm_by_bot, map(&[("(other-declared)", 17), ("TwelveBot", 12)]));
    assert!(b.totals.overflow.is_empty(), "a rule, not a cap that was reached");
}

#[test]
fn hosts_past_the_cap_stand_together_and_nothing_is_lost() {
    let hits: Vec<Hit> = (0..1_005).map(|i| Hit { host: format!("h{i:04}"), ..hit("A", 0) }).collect();
    let b = measured(&[hits]);
    assert_eq!((b.hosts.len(), b.hosts["(other-hosts)"].requests), (1_001, 5));
    assert_eq!(b.hosts["(other-hosts)"].bots["A"].rpm.peak, 5);
    assert_eq!(b.totals.overflow[0].requests, 5);
    assert!(b.warnings.iter().any(|w| w.code == "overflow"));
}

#[test]
fn a_table_by_pattern_counts_a_request_for_each_pattern_and_the_host_once() {
    let hits = times(3, &hit("Googlebot", 0));
    let by_bot = days(&hits);
    let patterns = [times(3, &hit("(?i)google", 0)), times(3, &hit("bot", 0))].concat();
    let by_pattern = days(&patterns);
    let mut given = input(&[hits], &by_bot);
    given.group_by = crate::tally::GroupBy::Pattern;
    given.grouped = Some(by_pattern.iter().collect());
    given.first_match_requests = Some(map(&[("(?i)google", 3)]));
    let b = measure(&given);
    assert_eq!(b.rpm_by_bot, map(&[("(?i)google", 3), ("bot", 3)]));
    assert_eq!((b.hosts["(default)"].requests, b.totals.bot_records), (3, 3));
    assert_eq!(b.hosts["(default)"].bots.len(), 2);
    assert_eq!(b.first_match_requests, Some(map(&[("(?i)google", 3)])));
    assert_eq!(b.group_by, "pattern");
}

#[test]
fn totals_are_sums_of_inputs_and_a_duplicate_counts_nothing() {
    let hits = vec![hit("A", 0), hit("A", 1)];
    let tables = days(&hits);
    let mut given = input(std::slice::from_ref(&hits), &tables);
    let counts = &mut given.sources[0].counts;
    *counts = LineCounts {
        lines: 9,
        blank: 1,
        directive: 2,
        records: 3,
        out_of_range: 1,
        rejects: [(RejectReason::TornLine, 2), (RejectReason::NoTime, 1)].into(),
        nul_bytes_skipped: 7,
        ..LineCounts::default()
    };
    given.sources[0].first_rejected_lines = vec![(4, RejectReason::TornLine)];
    given.sources.push(InputSource { duplicate_of: Some("log-0".into()), ..source("copy", &hits) });
    given.sources[1].counts.lines = 9;
    let b = measure(&given);
    let t = &b.totals;
    assert_eq!((t.lines, t.blank, t.directive, t.filtered, t.records, t.out_of_range), (9, 1, 2, 0, 3, 1));
    assert_eq!((&t.rejects, t.nul_bytes_skipped), (&map(&[("no_time", 1), ("torn_line", 2)]), 7));
    assert_eq!(b.inputs.iter().map(|i| i.path.as_str()).collect::<Vec<_>>(), ["copy", "log-0"]);
    assert_eq!(b.inputs[1].first_rejected_lines, [RejectedLine { line: 4, reason: "torn_line".into() }]);
    let codes: Vec<_> = b.warnings.iter().map(|w| w.code.as_str()).collect();
    assert_eq!(codes, ["rejects", "out_of_range", "no_latency"]);
}

#[test]
fn a_run_without_a_bot_names_the_commonest_user_agents() {
    let hits = vec![people(0)];
    let tables = days(&hits);
    let mut given = input(&[hits], &tables);
    given.commonest_user_agents = vec![("Mozilla/5.0".into(), 1)];
    let b = measure(&given);
    let w = b.warnings.iter().find(|w| w.code == "no_bot_found").unwrap();
    assert!(w.message.contains("1 x Mozilla/5.0"), "{}", w.message);
}

#[test]
fn an_empty_run_has_all_keys_and_says_so() {
    let b = measure(&Input::default());
    assert_eq!((b.window.first.as_ref(), b.window.minutes_covered), (None, 0));
    assert_eq!(b.warnings[0].code, "no_records");
    assert_eq!(Baseline::from_json(&b.to_json().unwrap(), "b.json").unwrap(), b);
}

#[test]
fn counts_that_do_not_add_up_are_said() {
    let hits = vec![hit("A", 0)];
    let tables = days(&hits);
    let mut given = input(&[hits], &tables);
    given.sources[0].counts.records = 2;
    assert!(measure(&given).warnings.iter().any(|w| w.code == "counts_differ"));
}

#[test]
fn the_json_has_the_keys_of_the_contract_in_their_order() {
    let json: serde_json::Value =
        serde_json::from_str(&measured(&[vec![Hit { status: Some(404), ..hit("A", 0) }]]).to_json().unwrap())
            .unwrap();
    let keys = |v: &serde_json::Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys(&json),
        "schema_version generated_at generator rpm_by_bot status_distribution analysis_window_min top_waste_urls \
         group_by window totals inputs hosts warnings"
    );
    assert_eq!(keys(&json["window"]), "first last minutes_covered");
    assert_eq!(
        keys(&json["totals"]),
        "lines blank directive filtered records rejects out_of_range joined_lines deferred_bytes overlap_bytes \
         nul_bytes_skipped bot_records bytes_sum overflow"
    );
    assert_eq!(
        keys(&json["inputs"][0]),
        "path source compression formats clock bytes_read lines blank directive filtered records rejects \
         first_rejected_lines damage duplicate_of read skipped"
    );
    let host = &json["hosts"]["(default)"];
    assert_eq!(keys(host), "requests rpm status bots parameters all_bots");
    assert!(
        keys(&host["all_bots"]).starts_with("requests rpm requests_per_second_peak requests_per_10s_peak")
    );
    let bot = &host["bots"]["A"];
    assert_eq!(
        keys(bot),
        "family operator category requests rpm requests_per_second_peak requests_per_10s_peak requests_per_60s_peak \
         bytes_sum status latency_ms urls_distinct not_modified_share waste_share verification user_agents waste \
         ceiling spoofed variants"
    );
    let rpm = "peak peak_minutes peak_minutes_count p50_active p95_active p99_active p50_all p95_all p99_all mean_all \
               active_minutes";
    assert_eq!((keys(&host["rpm"]).as_str(), keys(&bot["rpm"]).as_str()), (rpm, rpm));
    assert_eq!(keys(&bot["verification"]), "verified failed not_checkable");
    assert_eq!(keys(&bot["user_agents"]), "distinct samples");
    assert_eq!(keys(&bot["waste"][0]), "url_key url_sample status hits");
    assert_eq!(keys(&json["top_waste_urls"][0]), "url error_hits");
    assert_eq!(keys(&json["warnings"][0]), "code message hint");
    assert_eq!(json["generated_at"], "1970-01-01T00:00:00Z");
}

#[test]
fn a_newer_schema_and_other_json_are_refused_with_what_was_found() {
    let b = measured(&[vec![hit("A", 0)]]);
    let newer = b.to_json().unwrap().replace("\"schema_version\": 1", "\"schema_version\": 2");
    let e = Baseline::from_json(&newer, "b.json").unwrap_err();
    assert_eq!(e.to_string(), "b.json: schema_version: expected 1, found 2");
    assert_eq!(e.exit().code(), 2);
    let e = Baseline::from_json("{}", "b.json").unwrap_err();
    assert!(e.to_string().starts_with("b.json:1: is no baseline of this program: expected the key"), "{e}");
    // A later version of this schema may add keys.
    let more = b.to_json().unwrap().replacen('{', "{\"novelty\": 1,", 1);
    assert_eq!(Baseline::from_json(&more, "b.json").unwrap(), b);
}

fn any_hit() -> impl Strategy<Value = Hit> {
    let bot =
        prop::sample::select(vec![("Googlebot", "search-engine"), ("RareBot", "declared"), ("(people)", "")]);
    let status = prop::sample::select(vec![None, Some(200), Some(304), Some(404), Some(429), Some(503)]);
    (0..2_usize, bot, 0..3_usize, -4_000..90_000_i64, status, 0..4_u8).prop_map(
        |(host, bot, verdict, epoch, status, url)| Hit {
            host: format!("h{host}"),
            bot: bot.0.into(),
            category: bot.1.into(),
            verdict: if bot.1 == "search-engine" {
                Verification::ALL[verdict]
            } else {
                Verification::NotCheckable
            },
            epoch,
            status,
            bytes: 10,
            url: format!("/{}?q={url}", url / 2),
            user_agent: format!("{}/{url}", bot.0),
            latency_ms: (url > 1).then_some(u64::from(url)),
            ..Hit::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bots_and_groups_add_up_to_the_host_and_hosts_to_the_records(
        sources in prop::collection::vec(prop::collection::vec(any_hit(), 0..60), 0..4),
    ) {
        let tables: Vec<DayTables> = sources.iter().flat_map(|hits| days(hits)).collect();
        let mut given = input(&sources, &tables);
        given.include_other = true;
        let b = measure(&given);
        let records: usize = sources.iter().map(Vec::len).sum();
        prop_assert_eq!(b.hosts.values().map(|h| h.requests).sum::<u64>(), u64::try_from(records).unwrap());
        prop_assert!(!b.warnings.iter().any(|w| w.code == "counts_differ"));
        for host in b.hosts.values() {
            prop_assert_eq!(host.bots.values().map(|x| x.requests).sum::<u64>(), host.requests);
            prop_assert_eq!(host.status.values().sum::<u64>(), host.requests);
            for bot in host.bots.values() {
                prop_assert_eq!(bot.status.values().sum::<u64>(), bot.requests);
                let v = &bot.verification;
                prop_assert_eq!(v.verified + v.failed + v.not_checkable, bot.requests);
                prop_assert_eq!(v.failed, bot.spoofed.as_ref().map_or(0, |s| s.requests));
                prop_assert!(bot.requests_per_60s_peak >= bot.rpm.peak);
            }
        }
    }

    #[test]
    fn the_order_of_sources_and_days_changes_nothing(
        sources in prop::collection::vec(prop::collection::vec(any_hit(), 0..40), 1..4),
        turn in 0..12_usize,
    ) {
        let tables: Vec<DayTables> = sources.iter().flat_map(|hits| days(hits)).collect();
        let given = input(&sources, &tables);
        let mut turned = given.clone();
        let (a, b) = (turned.sources.len(), turned.days.len());
        turned.sources.rotate_left(turn % a);
        turned.days.rotate_left(turn % b.max(1));
        if turn % 2 == 1 {
            turned.sources.reverse();
            turned.days.reverse();
        }
        prop_assert_eq!(measure(&given).to_json().unwrap(), measure(&turned).to_json().unwrap());
    }

    #[test]
    fn one_log_cut_in_two_is_the_same_traffic(hits in prop::collection::vec(any_hit(), 1..60), cut in 0..60_usize) {
        let cut = cut.min(hits.len());
        let halves = [hits[..cut].to_vec(), hits[cut..].to_vec()];
        let (whole, cut) = (measured(&[hits]), measured(&halves));
        prop_assert_eq!(whole.rpm_by_bot, cut.rpm_by_bot);
        prop_assert_eq!(whole.top_waste_urls, cut.top_waste_urls);
        for (name, host) in &whole.hosts {
            for (bot, a) in &host.bots {
                let b = &cut.hosts[name].bots[bot];
                prop_assert_eq!((a.rpm.peak, &a.rpm.peak_minutes, a.rpm.p95_active), (b.rpm.peak, &b.rpm.peak_minutes, b.rpm.p95_active));
                prop_assert_eq!((a.requests_per_10s_peak, a.requests_per_60s_peak), (b.requests_per_10s_peak, b.requests_per_60s_peak));
                prop_assert_eq!((&a.status, &a.waste, &a.user_agents, &a.latency_ms), (&b.status, &b.waste, &b.user_agents, &b.latency_ms));
            }
        }
    }

    #[test]
    fn rates_agree_with_counting_every_covered_minute(hits in prop::collection::vec(any_hit(), 1..80)) {
        let b = measured(std::slice::from_ref(&hits));
        let span = |date: i64| {
            let on: Vec<i64> = hits.iter().map(|h| h.epoch).filter(|e| e.div_euclid(86_400) == date).collect();
            on.iter().min().map(|first| (*first, *on.iter().max().unwrap()))
        };
        let mut covered = std::collections::BTreeSet::new();
        let mut before: Option<i64> = None;
        for (first, last) in [-1, 0, 1].into_iter().filter_map(span) {
            let from = before.filter(|b| first - b <= 86_400).unwrap_or(first);
            covered.extend(from.div_euclid(60)..=last.div_euclid(60));
            before = Some(last);
        }
        prop_assert_eq!(b.window.minutes_covered, u64::try_from(covered.len()).unwrap());
        for (name, host) in &b.hosts {
            let mut all: Vec<u64> = covered.iter().map(|m| {
                let n = hits.iter().filter(|h| &h.host == name && h.epoch.div_euclid(60) == *m).count();
                u64::try_from(n).unwrap()
            }).collect();
            all.sort_unstable();
            let rank = |p: usize| all[(all.len() * p).div_ceil(100) - 1];
            prop_assert_eq!(host.rpm.peak, *all.last().unwrap());
            prop_assert_eq!((host.rpm.p50_all, host.rpm.p95_all, host.rpm.p99_all), (Some(rank(50)), Some(rank(95)), Some(rank(99))));
            prop_assert_eq!(host.rpm.active_minutes, u64::try_from(all.iter().filter(|n| **n > 0).count()).unwrap());
        }
    }
}
