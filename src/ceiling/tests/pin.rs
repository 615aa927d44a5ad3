//! Pins: what follows from them, what stays, what is read back on the next night.
//!
//! Example: example 1 pinned at 60 says 60, keeps 76 in its evidence, and the next night starts from 76.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::examples;
use crate::ceiling::{
    CdnHits, Input, Pin, Pinning, Policy, SiteConfig, host_entry, manifest_policy, manifest_scopes, previous,
    recommend, scopes, window,
};
use crate::error::Error;
use crate::manifest::{Entry, Grade, Known, Manifest, lint, parse};

const HOST: &str = "www.example.com";

fn pin(text: &str) -> Pin {
    toml::from_str(&format!("host = \"{HOST}\"\n{text}")).unwrap()
}

/// The manifest of an example. All that are used here are made once: building the examples takes seconds.
fn manifest_of(example: &str) -> (Manifest, SiteConfig) {
    static MADE: OnceLock<BTreeMap<String, (Manifest, SiteConfig)>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let used = ["1", "6", "7a", "8", "10a", "21", "34a"];
        let wanted = examples::all().into_iter().filter(|e| used.contains(&e.name));
        wanted.map(|e| (e.name.to_owned(), written(&e.input))).collect()
    });
    made[example].clone()
}

fn written(input: &Input) -> (Manifest, SiteConfig) {
    let (policy, site) = (Policy::default(), input.site.clone());
    let result = recommend(input, &policy).unwrap();
    let manifest = Manifest {
        window: Some(window(&result.window)),
        policy: manifest_policy(&policy),
        scopes: manifest_scopes(&scopes(&[&result], None, &site, &policy)),
        domain_overrides: BTreeMap::from([(HOST.to_owned(), host_entry(&result, None, &site, &policy))]),
        ..Manifest::default()
    };
    (manifest, site)
}

fn apply(manifest: &mut Manifest, site: &SiteConfig, pins: &[Pin]) -> Result<(), Error> {
    let placed: Vec<(String, &Pin)> =
        pins.iter().enumerate().map(|(i, p)| (format!("c.toml: [[pin]] number {}", i + 1), p)).collect();
    Pinning {
        pins: &placed,
        hosts: &["quiet.example.com"],
        bots: &["Googlebot", "GPTBot"],
        site: &|_| site.clone(),
        policy: &Policy::default(),
    }
    .apply(manifest)
}

fn pinned(example: &str, pins: &[&str]) -> Manifest {
    let (mut manifest, site) = manifest_of(example);
    let pins: Vec<Pin> = pins.iter().map(|text| pin(text)).collect();
    apply(&mut manifest, &site, &pins).unwrap();
    // Whatever was pinned, the file is read back as it was written.
    let (again, warnings) = parse("m", manifest.to_yaml().as_bytes(), &Known::default()).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(again.domain_overrides, manifest.domain_overrides);
    manifest
}

fn found(entry: &Entry) -> u64 {
    entry.evidence.as_ref().unwrap().max_requests_per_minute.value
}

#[test]
fn a_pinned_ceiling_wins_and_what_was_found_stays_in_the_evidence() {
    for rate in [60, 120] {
        let manifest = pinned("1", &[&format!("bot = \"bot\"\nmax_requests_per_minute = {rate}")]);
        let bot = manifest.entry(HOST, Some("bot")).unwrap();
        assert_eq!((bot.max_requests_per_minute, found(bot)), (rate, 76));
        assert_eq!(bot.base_delay_ms, 60_000_u64.div_ceil(rate));
        assert_eq!(bot.jitter_range_ms, bot.base_delay_ms / 2);
        assert_eq!(bot.enforce_burst, if rate == 60 { 13 } else { 20 });
        assert_eq!(bot.pinned["max_requests_per_minute"], rate);
        let budgets = bot.budgets.unwrap();
        assert_eq!(budgets.requests_per_minute, rate);
        assert_eq!(budgets.requests_per_hour, 4236.min(60 * rate));
        assert_eq!(budgets.plan_per_hour + budgets.retry_reserve_per_hour, budgets.requests_per_hour);
        // The host allows what its pinned bot may do, and no less than before.
        assert_eq!(manifest.entry(HOST, None).unwrap().max_requests_per_minute, rate.max(76));
        assert_eq!(lint(&manifest), []);
        // Without the pin the next night goes on from what was found.
        let before = previous(&manifest, HOST).unwrap();
        assert_eq!(before.bots["bot"].max_requests_per_minute, 76);
        assert_eq!(before.all_bots.unwrap().max_requests_per_minute, 76);
    }
}

#[test]
fn a_pinned_host_caps_its_bots() {
    let manifest = pinned("21", &["max_requests_per_minute = 50"]);
    let host = manifest.entry(HOST, None).unwrap();
    assert_eq!((host.max_requests_per_minute, found(host)), (50, 142));
    let rates: Vec<_> = host.bots.values().map(|b| (b.max_requests_per_minute, found(b))).collect();
    assert_eq!(rates, [(50, 106), (36, 36)]);
    assert!(host.bots.values().all(|b| b.pinned.is_empty()));
    assert_eq!(lint(&manifest), []);
    let before = previous(&manifest, HOST).unwrap();
    let rates: Vec<u64> = before.bots.values().map(|b| b.max_requests_per_minute).collect();
    assert_eq!(rates, [106, 36]);
}

#[test]
fn a_pinned_ceiling_holds_at_every_hour() {
    let manifest = pinned("6", &["bot = \"bot\"\nmax_requests_per_minute = 60"]);
    let bot = manifest.entry(HOST, Some("bot")).unwrap();
    assert_eq!((bot.max_requests_per_minute, &bot.schedule), (60, &None));
    // Slots of the host, at least the pin.
    let slots = &manifest.entry(HOST, None).unwrap().schedule.as_ref().unwrap().requests_per_minute;
    assert_eq!(slots.values().min(), Some(&60));
    assert_eq!(previous(&manifest, HOST).unwrap().bots["bot"].schedule, None);
}

#[test]
fn every_value_can_be_pinned_and_is_echoed() {
    let text = "bot = \"bot\"\nmax_burst_capacity = 4\nenforce_burst = 9\nmax_concurrency = 7\nbase_delay_ms = 900\n\
                jitter_range_ms = 0\ndefault_cooldown_seconds = 2.5\nedge_requests_per_minute = 500";
    let manifest = pinned("1", &[text]);
    let bot = manifest.entry(HOST, Some("bot")).unwrap();
    assert_eq!((bot.max_burst_capacity, bot.enforce_burst, bot.max_concurrent_connections), (4, 9, 7));
    assert_eq!((bot.base_delay_ms, bot.jitter_range_ms, bot.max_concurrency), (900, 0, 7));
    assert_eq!((bot.default_cooldown_seconds, bot.edge_requests_per_minute), (2.5, Some(500)));
    assert_eq!((bot.max_requests_per_minute, bot.pinned.len()), (76, 7));
    assert_eq!(manifest.entry(HOST, None).unwrap().max_concurrent_connections, 7);
    assert_eq!(lint(&manifest), []);
}

#[test]
fn a_pin_is_applied_where_the_data_is_thin_but_not_to_a_bot_that_is_to_be_stopped() {
    let thin = pinned("8", &["bot = \"bot\"\nmax_requests_per_minute = 90"]);
    let bot = thin.entry(HOST, Some("bot")).unwrap();
    assert_eq!((bot.confidence, bot.apply, bot.apply_reason.as_deref()), (Some(Grade::D), true, None));
    assert_eq!(bot.budgets.unwrap().requests_per_hour, 2700);
    let dead = pinned("10a", &["bot = \"bot\"\nmax_requests_per_minute = 90"]);
    let bot = dead.entry(HOST, Some("bot")).unwrap();
    assert_eq!((bot.apply, bot.apply_reason.as_deref()), (false, Some("stop_denied")));
    let search = pinned("34a", &["bot = \"bot\"\nmax_requests_per_minute = 90"]);
    assert!(!search.entry(HOST, Some("bot")).unwrap().apply);
}

#[test]
fn a_known_host_or_bot_without_an_entry_gets_one() {
    let (mut manifest, site) = manifest_of("1");
    let quiet = Pin { host: "Quiet.example.com".to_owned(), ..pin("max_requests_per_minute = 12") };
    let unseen = pin("bot = \"gptbot\"\nmax_requests_per_minute = 10");
    apply(&mut manifest, &site, &[quiet, unseen]).unwrap();
    let quiet = manifest.entry("quiet.example.com", None).unwrap();
    assert_eq!((quiet.max_requests_per_minute, quiet.base_delay_ms, quiet.apply), (12, 5000, true));
    let bot = manifest.entry(HOST, Some("GPTBot")).unwrap();
    assert_eq!((bot.max_requests_per_minute, bot.evidence.is_none()), (10, true));
    assert_eq!(lint(&manifest), []);
    // It was never found: nothing rises from it.
    assert_eq!(previous(&manifest, HOST).unwrap().bots["GPTBot"].grade, Grade::D);
}

#[test]
fn the_edge_follows_a_pinned_ceiling() {
    let (mut manifest, _) = manifest_of("7a");
    let site = SiteConfig { cdn: Some(CdnHits::Ratio(0.8)), ..SiteConfig::default() };
    apply(&mut manifest, &site, &[pin("bot = \"bot\"\nmax_requests_per_minute = 60")]).unwrap();
    assert_eq!(manifest.entry(HOST, Some("bot")).unwrap().edge_requests_per_minute, Some(300));
}

#[test]
fn unknown_hosts_and_bots_are_named_with_the_nearest() {
    let (mut manifest, site) = manifest_of("1");
    for (broken, what, hint) in [
        (
            Pin { host: "ww.example.com".to_owned(), ..pin("enforce_burst = 1") },
            "c.toml: [[pin]] number 1: host \"ww.example.com\" is unknown",
            "did you mean www.example.com?",
        ),
        (
            pin("bot = \"Gogglebot\"\nenforce_burst = 1"),
            "c.toml: [[pin]] number 1: bot \"Gogglebot\" is unknown",
            "did you mean Googlebot?",
        ),
        (
            Pin { host: "nothing-like-it".to_owned(), ..pin("enforce_burst = 1") },
            "c.toml: [[pin]] number 1: host \"nothing-like-it\" is unknown",
            "known are www.example.com, quiet.example.com",
        ),
    ] {
        let error = apply(&mut manifest, &site, &[broken]).unwrap_err();
        assert_eq!((error.exit().code(), error.to_string().as_str()), (2, what));
        assert_eq!(error.remedy(), Some(hint));
    }
}
