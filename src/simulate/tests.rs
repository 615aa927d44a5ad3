//! Worked schedules, budgets under stress, and that a run is the same every time.
//!
//! Example: the schedule of 502 rows under four budgets, minute by minute.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

use super::{
    BudgetReport, HostSettings, LatencyCurve, OriginLimit, OriginModel, Pace, Page, Reason, Settings,
    simulate,
};
use crate::manifest::{Entry, Manifest, RateLimiting};
use crate::throttle::{Failure, HostLimits, Limits, Rate, Scope};

const SHOP: &str = "shop.example.com";
const DOCS: &str = "docs.example.com";

/// Two pages of a flow, 300 products and 200 documents, their values falling with their numbers.
fn worked_pages() -> Vec<Page> {
    let mut pages = vec![Page::new("cart", SHOP, 10.0), Page::new("login", SHOP, 10.0)];
    pages.extend((1..=300).map(|n| Page::new(&format!("p/{}", 1000 + n), SHOP, f64::from(10 - n % 7))));
    pages.extend((1..=200).map(|n| Page::new(&format!("d/{}", 300 + n), DOCS, f64::from(8 - n % 6))));
    pages
}

fn worked_settings() -> Settings {
    let host = |per_hour| HostLimits { per_minute: Some(5), per_hour: Some(per_hour) };
    Settings {
        minutes: 40,
        credential: Some("crawler".to_owned()),
        response_bytes_mean: Some(41_000),
        limits: Limits {
            hosts: BTreeMap::from([(SHOP.to_owned(), host(150)), (DOCS.to_owned(), host(70))]),
            credential_per_hour: Some(190),
            global_per_minute: Some(8),
            global_per_hour: Some(260),
            retry_reserve: Some(24),
            ..Limits::default()
        },
        ..Settings::default()
    }
}

/// Minute, spent, shop, docs, left on the credential, left in all, lowest value.
type Row = (u64, u64, u64, u64, u64, u64, Option<f64>);

fn table(report: &BudgetReport) -> Vec<Row> {
    let of = |map: &BTreeMap<String, u64>, key: &str| map.get(key).copied().unwrap_or(0);
    report
        .minutes
        .iter()
        .map(|row| {
            let credential = row.left[&Scope::CredentialPerHour]["crawler"];
            let total = row.left[&Scope::GlobalPerHour][""];
            let (shop, docs) = (of(&row.hosts, SHOP), of(&row.hosts, DOCS));
            (row.minute, row.spent, shop, docs, credential, total, row.lowest_value)
        })
        .collect()
}

fn check_worked(report: &BudgetReport) {
    let mut expected: Vec<_> = (0..23)
        .map(|m| {
            let value = if m < 11 {
                8.0
            } else if m < 22 {
                7.0
            } else {
                6.0
            };
            (m, 8, 5, 3, 190 - 8 * (m + 1), 260 - 8 * (m + 1), Some(value))
        })
        .collect();
    expected.push((23, 6, 5, 1, 0, 70, Some(6.0)));
    expected.push((24, 0, 0, 0, 0, 70, None));
    assert_eq!(table(report), expected);
    assert_eq!((report.queued, report.requests, report.deferred.len()), (502, 190, 312));
    let binding = report.binding.as_ref().unwrap();
    assert_eq!((binding.reason, binding.pages), (Reason::Scope(Scope::CredentialPerHour), 312));
    let exhausted: Vec<(Scope, &str)> = report.exhausted.iter().map(|e| (e.scope, e.key.as_str())).collect();
    assert_eq!(exhausted, [(Scope::HostPerHour, DOCS), (Scope::CredentialPerHour, "crawler")]);
    assert_eq!(report.minutes[24].left[&Scope::RetryReserve][""], 24);
    assert_eq!(report.unset, [Scope::IdentityPerDay, Scope::PrerequisiteReserve]);
    assert_eq!(report.bytes_per_hour_max, Some(190 * 41_000));
}

#[test]
fn the_worked_schedule_comes_out_in_every_figure() {
    let report = simulate(&worked_pages(), &worked_settings()).unwrap();
    check_worked(&report);
    assert_eq!(report.delivered, 190);
    assert_eq!(report.requests_per_delivered_row, Some(1.0));
    assert!(report.hosts[SHOP].latency_assumed);
}

#[test]
fn pacing_inside_the_minute_changes_the_gaps_and_not_the_schedule() {
    let mut settings = worked_settings();
    settings.other_hosts.pace = Some(Pace { rate: Rate::per_minute(5).unwrap(), burst: 1 });
    let paced = simulate(&worked_pages(), &settings).unwrap();
    check_worked(&paced);
    assert_eq!(paced.hosts[SHOP].requests_per_10s_peak, 1);
    assert_eq!(paced.hosts[SHOP].requests_per_60s_peak, 5);
    assert_eq!(paced.hosts[SHOP].rpm_peak, 5);
    let at_once = simulate(&worked_pages(), &worked_settings()).unwrap();
    assert_eq!(at_once.hosts[SHOP].requests_per_10s_peak, 5);
}

#[test]
fn a_new_hour_has_its_own_budget() {
    let settings = Settings { minutes: 90, ..worked_settings() };
    let report = simulate(&worked_pages(), &settings).unwrap();
    assert_eq!(report.minutes[59].spent, 0);
    assert_eq!(report.minutes[60].spent, 8);
    assert_eq!(report.minutes.iter().map(|row| row.spent).sum::<u64>(), 380);
}

fn one_host(n: usize) -> Vec<Page> {
    (0..n).map(|i| Page::new(&format!("https://h.example/{i:04}"), "h.example", 1.0)).collect()
}

#[test]
fn a_limit_of_the_origin_below_ours_shows_as_429_and_no_page_is_lost() {
    let limit = Some(OriginLimit { requests_per_minute: 30, burst: 1 });
    let origin = OriginModel { limit, ..OriginModel::default() };
    let settings = Settings {
        minutes: 600,
        limits: Limits { host_per_minute: Some(60), retry_reserve: Some(500), ..Limits::default() },
        other_hosts: HostSettings {
            pace: Some(Pace { rate: Rate::per_minute(60).unwrap(), burst: 2 }),
            origin,
            ..HostSettings::default()
        },
        ..Settings::default()
    };
    let report = simulate(&one_host(300), &settings).unwrap();
    assert!(report.rate_limited > 0);
    assert_eq!(report.delivered, 300, "a 429 makes no dead letter");
    assert_eq!(report.requests, 300 + report.rate_limited);
    assert!(report.retries > 0 && report.retries <= report.rate_limited);
    assert!(report.success_share.unwrap() < 1.0);

    let mut obeying = settings;
    obeying.other_hosts.pace = Some(Pace { rate: Rate::per_minute(30).unwrap(), burst: 1 });
    let report = simulate(&one_host(300), &obeying).unwrap();
    assert_eq!(
        (report.rate_limited, report.requests),
        (0, 300),
        "a pace that the origin allows is never refused"
    );
}

#[test]
fn pages_that_fail_three_times_are_dead_letters_with_their_class() {
    let origin = OriginModel { unavailable_share: 1.0, ..OriginModel::default() };
    let mut settings = Settings {
        limits: Limits { host_per_minute: Some(60), ..Limits::default() },
        other_hosts: HostSettings { origin, ..HostSettings::default() },
        ..Settings::default()
    };
    settings.retry.percent_of_successes = None;
    let report = simulate(&one_host(40), &settings).unwrap();
    assert_eq!((report.delivered, report.dead_letters.len(), report.requests), (0, 40, 120));
    assert!(report.dead_letters.iter().all(|d| d.failure == Failure::Unavailable && d.item.attempts == 3));
    assert!(!report.bans.is_empty());
    assert_eq!(report.requests_per_delivered_row, None);

    // With the budget of 10 % of no success, there is no retry at all: the pages wait.
    settings.retry.percent_of_successes = Some(10);
    let report = simulate(&one_host(40), &settings).unwrap();
    assert_eq!((report.requests, report.retries, report.dead_letters.len()), (40, 0, 0));
    assert!(report.deferred.iter().all(|page| page.reason == Reason::RetryWaits));
    assert_eq!(report.deferred.len(), 40);
}

#[test]
fn a_host_that_gets_slow_is_stopped_by_its_breaker() {
    // Flat up to 40 a minute, ten times as slow at 50.
    let latency = LatencyCurve::of_bins(&[(40.0, 100.0), (50.0, 1000.0)]);
    let settings = Settings {
        minutes: 30,
        limits: Limits { host_per_minute: Some(120), ..Limits::default() },
        other_hosts: HostSettings {
            pace: Some(Pace { rate: Rate::per_minute(90).unwrap(), burst: 1 }),
            origin: OriginModel { latency, ..OriginModel::default() },
            ..HostSettings::default()
        },
        ..Settings::default()
    };
    let report = simulate(&one_host(300), &settings).unwrap();
    assert!(report.breaker_trips >= 2, "{}", report.breaker_trips);
    assert!(report.hosts["h.example"].rpm_peak < 60, "it stopped before the minute's 90");
    assert!(!report.hosts["h.example"].latency_assumed);
}

#[test]
fn prerequisites_go_first_and_are_paid_from_their_reserve() {
    let list = |n: usize| Page {
        prerequisite: true,
        yields: 0.5,
        ..Page::new(&format!("https://h.example/list/{n}"), "h.example", 1.0)
    };
    let pages: Vec<Page> = one_host(50).into_iter().chain((0..6).map(list)).collect();
    let limits = |reserve| Limits {
        host_per_minute: Some(30),
        global_per_hour: Some(20),
        prerequisite_reserve: reserve,
        ..Limits::default()
    };
    let run = |reserve| {
        let settings = Settings { minutes: 5, limits: limits(reserve), ..Settings::default() };
        simulate(&pages, &settings).unwrap()
    };
    let starved = run(None);
    assert_eq!((starved.delivered, starved.prerequisites), (20, 0));
    let funded = run(Some(4));
    assert_eq!((funded.delivered, funded.prerequisites), (16, 4));
    assert_eq!(funded.requests_per_delivered_row, Some(1.25));
}

#[test]
fn a_fresh_page_waits_until_its_time_to_live_is_over() {
    let page = |url: &str, minutes: u64| Page {
        ttl: Some(Duration::from_secs(3600)),
        fetched_at: Some(Duration::from_secs(36_000 + minutes * 60)),
        ..Page::new(url, "h", 5.0)
    };
    let pages = [page("later", 3), page("much later", 300), Page::new("now", "h", 1.0)];
    let settings = Settings { start: Duration::from_secs(39_600), minutes: 10, ..Settings::default() };
    let report = simulate(&pages, &settings).unwrap();
    let spent: Vec<u64> = report.minutes.iter().map(|row| row.spent).collect();
    assert_eq!(spent, [1, 0, 0, 1, 0], "the last minute shows that nothing more can come");
    assert_eq!(report.deferred[0].reason, Reason::Fresh);
    assert_eq!(report.binding, None, "what is fresh is not held back");
}

#[test]
fn the_order_is_score_times_yields_then_the_url() {
    let hub = Page { yields: 40.0, prerequisite: true, ..Page::new("hub", "h", 1.0) };
    let pages = [Page::new("b", "h", 10.0), Page::new("a", "h", 10.0), hub, Page::new("c", "h", 30.0)];
    let settings = Settings {
        minutes: 2,
        limits: Limits { host_per_minute: Some(1), ..Limits::default() },
        ..Settings::default()
    };
    let report = simulate(&pages, &settings).unwrap();
    let left: Vec<&str> = report.deferred.iter().map(|page| page.url.as_str()).collect();
    assert_eq!(left, ["a", "b"]);
    assert_eq!(report.binding.unwrap().reason, Reason::Scope(Scope::HostPerMinute));
}

#[test]
fn a_manifest_becomes_settings() {
    let mut manifest = Manifest::default();
    let entry = Entry {
        max_requests_per_minute: 76,
        max_burst_capacity: 2,
        ..Entry::of_defaults(&RateLimiting::default())
    };
    manifest.domain_overrides.insert("a.example".to_owned(), entry);
    manifest.scopes.global_per_hour.limit = Some(4236);
    let settings = Settings::of_manifest(&manifest, ["a.example", "b.example"]).unwrap();
    assert_eq!(settings.limits.global_per_hour, Some(4236));
    assert_eq!(settings.limits.of(Scope::HostPerMinute, "a.example"), Some(76));
    assert_eq!(settings.limits.of(Scope::HostPerMinute, "b.example"), Some(30), "the policy's default");
    assert_eq!(settings.host("a.example").pace.unwrap().burst, 2);
    let report = simulate(&[Page::new("https://a.example/", "a.example", 1.0)], &settings).unwrap();
    assert_eq!(report.delivered, 1);
}

#[test]
fn values_that_are_no_numbers_and_limits_that_cannot_be_are_refused() {
    let page = Page::new("https://h/", "h", f64::NAN);
    assert!(simulate(&[page], &Settings::default()).is_err());
    let limits = Limits { global_per_hour: Some(1), retry_reserve: Some(2), ..Limits::default() };
    assert!(simulate(&[], &Settings { limits, ..Settings::default() }).is_err());
    let report = simulate(&[], &Settings::default()).unwrap();
    assert_eq!((report.requests, report.success_share), (0, None));
}

proptest! {
    /// Under any budgets and any origin: no budget is overrun, every page is delivered, dead or deferred exactly once,
    /// and the same seed gives the same report, whatever the order of the pages.
    #[test]
    fn budgets_hold_pages_are_conserved_and_runs_repeat(
        values in prop::collection::vec((0_u8..5, 0_usize..3, any::<bool>(), 0_u64..3), 0..60),
        limits in prop::collection::vec(prop::option::of(1_u64..12), 5),
        origin in (prop::option::of(1_u64..40), 0_u8..4, prop::option::of(1_u64..60), 1_u64..4000),
        retry_reserve in prop::option::of(0_u64..3),
        seed in any::<u64>(),
        minutes in 1_u64..75,
    ) {
        let pages: Vec<Page> = values.iter().enumerate().map(|(i, (score, host, prerequisite, ttl))| Page {
            prerequisite: *prerequisite,
            ttl: Some(Duration::from_secs(ttl * 100)),
            fetched_at: Some(Duration::ZERO),
            ..Page::new(&format!("u{i}"), ["a", "b", "c"][*host], f64::from(*score))
        }).collect();
        let (limit, failing, capacity, ms) = origin;
        let limits = Limits {
            host_per_minute: limits[0], host_per_hour: limits[1].map(|n| n * 4), credential_per_hour: limits[2].map(|n| n * 5),
            identity_per_day: limits[3].map(|n| n * 6), global_per_minute: limits[4], global_per_hour: Some(50),
            prerequisite_reserve: Some(3), retry_reserve, ..Limits::default()
        };
        let settings = Settings {
            minutes, seed, credential: Some("c".to_owned()), identity: Some("i".to_owned()), limits,
            other_hosts: HostSettings {
                pace: Some(Pace { rate: Rate::per_minute(20).unwrap(), burst: 2 }),
                origin: OriginModel {
                    limit: limit.map(|requests_per_minute| OriginLimit { requests_per_minute, burst: 1 }),
                    unavailable_share: f64::from(failing) * 0.2,
                    capacity_per_minute: capacity,
                    latency: LatencyCurve::flat(Duration::from_millis(ms)),
                    ..OriginModel::default()
                },
                ..HostSettings::default()
            },
            ..Settings::default()
        };
        let report = simulate(&pages, &settings).unwrap();
        for spending in &report.scopes {
            prop_assert!(spending.limit.is_none_or(|limit| spending.spent_peak <= limit), "{spending:?}");
        }
        let ended = report.delivered + report.prerequisites + report.dead_letters.len() as u64;
        prop_assert_eq!(ended + report.deferred.len() as u64, report.queued);
        prop_assert_eq!(report.minutes.iter().map(|row| row.spent).sum::<u64>(), report.requests);
        let answered = report.delivered + report.prerequisites + report.rate_limited + report.unavailable;
        prop_assert_eq!(answered, report.requests);
        let backwards: Vec<Page> = pages.iter().rev().cloned().collect();
        prop_assert_eq!(&simulate(&backwards, &settings).unwrap(), &report);
        let json = serde_json::to_string(&report).unwrap();
        prop_assert_eq!(&serde_json::from_str::<BudgetReport>(&json).unwrap(), &report);
    }
}
