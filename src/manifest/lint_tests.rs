//! Every finding by the change that makes it, and none on what is sound.

use serde_json::json;

use super::super::sample;
use super::super::{Candidate, Minute, RateLimiting};
use super::*;

/// The codes of the findings after a change of the host's entry.
fn after_host(change: impl FnOnce(&mut Entry)) -> Vec<(&'static str, String)> {
    let mut manifest = sample::manifest();
    change(manifest.domain_overrides.get_mut("www.example.com").unwrap());
    lint(&manifest).into_iter().map(|finding| (finding.code, finding.place)).collect()
}

fn after_bot(change: impl FnOnce(&mut Entry)) -> Vec<(&'static str, String)> {
    after_host(|host| change(host.bots.get_mut("Examplebot").unwrap()))
}

fn at_host(code: &'static str) -> Vec<(&'static str, String)> {
    vec![(code, "domain_overrides.\"www.example.com\"".to_owned())]
}

fn at_bot(code: &'static str) -> Vec<(&'static str, String)> {
    vec![(code, "domain_overrides.\"www.example.com\".bots.Examplebot".to_owned())]
}

#[test]
fn sound_manifests_have_no_finding() {
    assert_eq!(lint(&sample::manifest()), []);
    assert_eq!(lint(&Manifest::default()), []);
    for defaults in [RateLimiting::default(), RateLimiting::seed_defaults()] {
        let entry = Entry::of_defaults(&defaults);
        let manifest = Manifest { domain_overrides: [("a".to_owned(), entry)].into(), ..Manifest::default() };
        assert_eq!(lint(&manifest), []);
    }
}

#[test]
fn a_delay_that_allows_more_than_the_ceiling_is_found() {
    assert_eq!(after_host(|host| host.base_delay_ms = 789), at_host("delay_allows_more_than_ceiling"));
    assert_eq!(after_host(|host| host.base_delay_ms = 0), at_host("delay_allows_more_than_ceiling"));
    assert_eq!(after_host(|host| host.base_delay_ms = 790), []);
}

#[test]
fn bursts_of_more_than_ten_seconds_are_found() {
    assert_eq!(after_host(|host| host.max_burst_capacity = 13), at_host("burst_over_ten_seconds"));
    assert_eq!(after_host(|host| host.max_burst_capacity = 12), []);
}

#[test]
fn a_servers_burst_above_the_ceiling_or_the_known_limit_is_found() {
    let known = |state: &str, burst: u64| {
        let state = state.to_owned();
        after_bot(move |bot| {
            let evidence = bot.evidence.as_mut().unwrap();
            evidence.c429 = Some(70);
            evidence.c429_state = state;
            bot.enforce_burst = burst;
        })
    };
    assert_eq!(after_host(|host| host.enforce_burst = 77), at_host("enforce_burst_over_limit"));
    assert_eq!(after_host(|host| host.enforce_burst = 76), []);
    assert_eq!(known("established", 10), []);
    assert_eq!(known("established", 11), at_bot("enforce_burst_over_limit"));
    assert_eq!(known("provisional", 11), at_bot("enforce_burst_over_limit"));
    assert_eq!(known("refuted", 11), []);
}

#[test]
fn a_demand_bound_ceiling_outside_80_to_90_per_cent_is_found_unless_it_is_pinned() {
    let want = |host: &mut Entry, want| {
        host.evidence.as_mut().unwrap().max_requests_per_minute.inputs.want = Some(want);
    };
    assert_eq!(after_host(|host| want(host, 60)), at_host("utilisation_outside_80_90"));
    assert_eq!(after_host(|host| want(host, 69)), at_host("utilisation_outside_80_90"));
    // What the policy asks for is sound, too.
    let mut asked = sample::manifest();
    want(asked.domain_overrides.get_mut("www.example.com").unwrap(), 60);
    asked.policy.insert("utilisation_percent".to_owned(), json!({"A": 75, "B": 85, "C": 90, "D": 90}));
    assert_eq!(lint(&asked), []);
    assert_eq!(after_host(|host| want(host, 68)), []);
    assert_eq!(after_host(|host| want(host, 61)), []);
    let pin = |host: &mut Entry| {
        want(host, 60);
        host.pinned.insert("max_requests_per_minute".to_owned(), json!(76));
    };
    assert_eq!(after_host(pin), []);
}

#[test]
fn slots_above_the_measured_capacity_are_found_by_more_than_the_dead_band() {
    // 0.70 x 436 - 214 = 91.2, and 95 % of 96 are 91.2.
    let slot = |value| {
        after_host(move |host| {
            host.schedule.as_mut().unwrap().requests_per_minute.insert("07".to_owned(), value);
        })
    };
    assert_eq!(slot(96), []);
    assert_eq!(slot(97), at_host("above_measured_capacity"));
    // Where people need everything, five per cent remain: 21.8, and 95 % of 22 are 20.9.
    let share = |value| {
        after_host(move |host| {
            let schedule = host.schedule.as_mut().unwrap();
            schedule.people_per_minute.insert("07".to_owned(), 500);
            schedule.requests_per_minute.insert("07".to_owned(), value);
        })
    };
    assert_eq!(share(22), []);
    assert_eq!(share(23), at_host("above_measured_capacity"));
    let mut manifest = sample::manifest();
    manifest.policy.insert("capacity_share_percent".to_owned(), json!({"A": 50, "B": 40}));
    assert_eq!(lint(&manifest)[0].code, "above_measured_capacity");
}

#[test]
fn a_bot_above_all_bots_is_found_when_it_is_trusted() {
    let raise = |bot: &mut Entry| {
        bot.max_requests_per_minute = 77;
        bot.pinned.clear();
    };
    assert_eq!(after_bot(raise), at_bot("bot_above_all_bots"));
    let thin = |bot: &mut Entry| {
        raise(bot);
        bot.confidence = Some(Grade::D);
    };
    assert_eq!(after_bot(thin), []);
}

#[test]
fn a_broken_crawl_delay_is_found() {
    let delay = |milliseconds, connections| {
        after_bot(move |bot| {
            bot.max_concurrent_connections = connections;
            bot.evidence.as_mut().unwrap().max_requests_per_minute.inputs.crawl_delay_ms = Some(milliseconds);
        })
    };
    assert_eq!(delay(1000, 1), []);
    assert_eq!(delay(1000, 2), at_bot("crawl_delay_broken"));
    assert_eq!(delay(1001, 1), at_bot("crawl_delay_broken"));
    assert_eq!(delay(120_000, 1), at_bot("crawl_delay_broken"));
    let candidate = |value| {
        after_bot(move |bot| {
            let rule = "robots_crawl_delay".to_owned();
            let rate = &mut bot.evidence.as_mut().unwrap().max_requests_per_minute;
            rate.candidates.push(Candidate { rule, value });
        })
    };
    assert_eq!(candidate(59), at_bot("crawl_delay_broken"));
    assert_eq!(candidate(60), []);
}

#[test]
fn budgets_that_do_not_fit_are_found() {
    let change =
        |edit: fn(&mut super::super::Budgets)| after_host(move |host| edit(host.budgets.as_mut().unwrap()));
    assert_eq!(change(|b| b.requests_per_hour = 4561), at_host("budgets_inconsistent"));
    assert_eq!(change(|b| b.requests_per_day = 101_665), at_host("budgets_inconsistent"));
    assert_eq!(change(|b| b.plan_per_hour += 1), at_host("budgets_inconsistent"));
    assert_eq!(change(|b| b.retry_reserve_per_hour = u64::MAX), at_host("budgets_inconsistent"));
}

#[test]
fn a_pin_that_the_entry_does_not_keep_is_found() {
    assert_eq!(
        after_bot(|bot| {
            (bot.max_requests_per_minute, bot.base_delay_ms) = (59, 1017);
            bot.budgets = None;
        }),
        at_bot("pin_broken")
    );
    let seconds = |value| {
        after_bot(move |bot| {
            bot.pinned.insert("default_cooldown_seconds".to_owned(), value);
        })
    };
    assert_eq!(seconds(json!(5)), []);
    assert_eq!(seconds(json!(6)), at_bot("pin_broken"));
}

#[test]
fn entries_of_an_earlier_window_are_not_looked_at() {
    let carried = |bot: &mut Entry| {
        bot.max_burst_capacity = 60;
        bot.evidence.as_mut().unwrap().window_to = Minute(sample::END.0 - 1440);
    };
    assert_eq!(after_bot(carried), []);
}

#[test]
fn a_headless_browser_is_noted() {
    let mut manifest = sample::manifest();
    let host = manifest.domain_overrides.get_mut("www.example.com").unwrap();
    let bot = host.bots.remove("Examplebot").unwrap();
    host.bots.insert("Headless Chrome".to_owned(), bot);
    let findings = lint(&manifest);
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].code, findings[0].severity), ("headless_memory", Severity::Note));
    let host = manifest.domain_overrides.get_mut("www.example.com").unwrap();
    host.bots.get_mut("Headless Chrome").unwrap().apply = false;
    assert_eq!(lint(&manifest), []);
}

#[test]
fn a_finding_says_place_figures_and_remedy() {
    let mut manifest = sample::manifest();
    manifest.domain_overrides.get_mut("www.example.com").unwrap().base_delay_ms = 100;
    let finding = lint(&manifest).remove(0);
    assert_eq!(
        finding.message,
        "base_delay_ms 100 permits 600 requests per minute, max_requests_per_minute is 76"
    );
    assert_eq!(finding.hint.as_deref(), Some("set base_delay_ms to at least 790"));
    assert_eq!(finding.severity, Severity::Warning);
}

#[test]
fn connections_in_use_other_than_the_manifests_are_found() {
    let manifest = sample::manifest();
    assert_eq!(lint_concurrency(&manifest, 3), None);
    let above = lint_concurrency(&manifest, 5).unwrap();
    assert_eq!((above.code, above.severity), ("concurrency_above_manifest", Severity::Warning));
    assert_eq!(above.message, "5 connections are in use, the manifest allows 3");
    let below = lint_concurrency(&manifest, 2).unwrap();
    assert_eq!((below.code, below.severity), ("concurrency_below_manifest", Severity::Note));
    assert_eq!(lint_concurrency(&Manifest::default(), 3).unwrap().place, "rate_limiting");
    assert_eq!(lint_concurrency(&Manifest::default(), 2), None);
}
