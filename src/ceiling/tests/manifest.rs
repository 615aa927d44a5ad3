//! From a recommendation to a manifest and back.
//!
//! Example: example 1 becomes `max_burst_capacity: 1` and is read back as 76 requests a minute with a demand of 64.

use std::collections::BTreeMap;

use super::examples;
use super::table::{DAY, MONDAY, Table, days, manifest, row};
use crate::ceiling::{
    HostRecommendation, Policy, PreviousManifest, SiteConfig, host_entry, manifest_policy, manifest_scopes,
    previous, recommend, scopes, window,
};
use crate::manifest::{Entry, Known, Manifest, Severity, lint, parse};

const HOST: &str = "www.example.com";

/// A manifest of one host.
fn written(result: &HostRecommendation, before: Option<&Entry>, site: &SiteConfig) -> Manifest {
    let policy = Policy::default();
    Manifest {
        window: Some(window(&result.window)),
        policy: manifest_policy(&policy),
        scopes: manifest_scopes(&scopes(&[result], None, site, &policy)),
        domain_overrides: BTreeMap::from([(HOST.to_owned(), host_entry(result, before, site, &policy))]),
        ..Manifest::default()
    }
}

/// What the manifest's lint warns of.
pub(super) fn warnings(result: &HostRecommendation, site: &SiteConfig) -> Vec<String> {
    let findings = lint(&written(result, None, site)).into_iter().filter(|f| f.severity == Severity::Warning);
    findings.map(|f| format!("{}: {}: {}", f.place, f.code, f.message)).collect()
}

#[test]
fn every_example_is_written_read_again_and_remembered() {
    for example in examples::all() {
        let result = recommend(&example.input, &Policy::default()).unwrap();
        let manifest = written(&result, None, &example.input.site);
        let text = manifest.to_yaml();
        let (again, found) = parse("test.yaml", text.as_bytes(), &Known::default()).unwrap();
        assert!(found.is_empty(), "example {}: {found:?}", example.name);
        assert_eq!(again.domain_overrides, manifest.domain_overrides, "example {}", example.name);
        assert_eq!(previous(&again, HOST), Some(result.as_previous()), "example {}", example.name);
    }
}

#[test]
fn formulas_show_the_figures_that_give_the_value() {
    let expected = [
        ("1", "bot", "ceil(64 / 0.85)"),
        ("4a", "bot", "max(1, floor(0.70 * 120))"),
        ("5", "bot", "max(1, floor(0.05 * 329))"),
        ("6", "bot", "max(1, floor(0.70 * 819 - 520))"),
        ("15", "bot", "max(1, floor(60000 / 10000))"),
        ("16a", "bot", "max(80 + 1, floor(1.10 * 80))"),
        ("16b", "bot", "as before, 74"),
        ("24b", "late", "max(1, floor((0.70 * 436 - 214) * 64 / 128))"),
        ("35", "bot", "max(1, floor(0.90 * 60))"),
    ];
    let examples = examples::all();
    for (name, bot, formula) in expected {
        let example = examples.iter().find(|e| e.name == name).unwrap();
        let result = recommend(&example.input, &Policy::default()).unwrap();
        let entry = host_entry(&result, None, &example.input.site, &Policy::default());
        let evidence = entry.bots[bot].evidence.as_ref().unwrap();
        assert_eq!(evidence.max_requests_per_minute.formula, formula, "example {name}");
    }
}

#[test]
fn a_partial_run_carries_the_earlier_entry_over_whole() {
    let bot = |name: &str| Table::new(days(6)).bot(name, |_| Some(row(60)));
    let before = recommend(&bot("bot").input(), &Policy::default()).unwrap();
    let before = written(&before, None, &SiteConfig::default());
    let mut input = Table::new(MONDAY..MONDAY + 7 * DAY).bot("other", |_| Some(row(20))).input();
    input.previous = previous(&before, HOST).into_iter().collect();
    input.partial = true;
    let result = recommend(&input, &Policy::default()).unwrap();
    let earlier = &before.domain_overrides[HOST];
    let now = host_entry(&result, Some(earlier), &SiteConfig::default(), &Policy::default());
    assert_eq!(now.bots.keys().collect::<Vec<_>>(), ["bot", "other"]);
    let (was, is) = (&earlier.bots["bot"], &now.bots["bot"]);
    assert_eq!(is.budgets, was.budgets);
    let bound_by = |e: &Entry| e.evidence.as_ref().unwrap().max_requests_per_minute.bound_by.clone();
    assert_eq!((bound_by(was).as_str(), bound_by(is).as_str()), ("demand_headroom", "partial_input_hold"));
    // Without the earlier manifest the few numbers that were read back still stand.
    let bare = host_entry(&result, None, &SiteConfig::default(), &Policy::default());
    assert_eq!(bare.bots["bot"].max_requests_per_minute, was.max_requests_per_minute);
}

#[test]
fn a_partial_run_that_saw_no_bot_holds_the_entry_of_all_bots() {
    let mut input = Table::new(days(7)).people(|_| 100).input();
    let before = manifest(MONDAY + 6 * DAY - 1, 40, 2);
    input.previous = vec![PreviousManifest { all_bots: Some(before.bots["bot"].clone()), ..before }];
    input.partial = true;
    let result = recommend(&input, &Policy::default()).unwrap();
    let entry = host_entry(&result, None, &SiteConfig::default(), &Policy::default());
    assert_eq!((entry.max_requests_per_minute, entry.bots["bot"].max_requests_per_minute), (40, 40));
}
