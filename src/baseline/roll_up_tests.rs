//! Families, operators, categories and all bots: sums of minute rows, never of figures.

use super::fixture::{Hit, days, input};
use super::*;
use crate::tally::GroupBy;
use crate::tally::table::{DayTables, Verification};

fn measured(hits: &[Hit], group_by: GroupBy) -> Baseline {
    let sources = [hits.to_vec()];
    let tables: Vec<DayTables> = days(hits);
    let mut given = input(&sources, &tables);
    given.group_by = group_by;
    measure(&given)
}

fn of(bot: &str, family: &str, operator: &str, category: &str, epochs: &[i64]) -> Vec<Hit> {
    let hit = |epoch: &i64| Hit {
        bot: bot.into(),
        family: family.into(),
        operator: operator.into(),
        category: category.into(),
        epoch: *epoch,
        user_agent: format!("{bot}/1.0"),
        ..Hit::default()
    };
    epochs.iter().map(hit).collect()
}

fn traffic() -> Vec<Hit> {
    [
        // Each has a peak of three, in minutes of its own; together they reach four in a third one.
        of("Googlebot", "Googlebot", "Google", "search-engine", &[0, 1, 2, 120, 121]),
        of("Googlebot-Image", "Googlebot", "Google", "search-engine", &[60, 61, 62, 120, 121]),
        of("AdsBot", "AdsBot", "Google", "advertising", &[121]),
        of("GPTBot", "GPTBot", "OpenAI", "ai-training", &[121, 122]),
        of("AcmeSpider", "AcmeSpider", "", "declared", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        of("(people)", "(people)", "", "", &[121, 121, 121]),
    ]
    .concat()
}

#[test]
fn the_peak_of_a_family_is_that_of_the_sum() {
    let b = measured(&traffic(), GroupBy::Family);
    assert_eq!(b.group_by, "family");
    let family = &b.hosts["(default)"].bots["Googlebot"];
    assert_eq!(
        (family.requests, family.rpm.peak, family.rpm.peak_minutes.as_slice()),
        (10, 4, &["1970-01-01T00:02Z".to_owned()][..])
    );
    assert_eq!((family.requests_per_second_peak, family.requests_per_60s_peak), (2, 5));
    assert_eq!(
        (family.family.as_str(), family.operator.as_str(), family.category.as_str()),
        ("Googlebot", "Google", "search-engine")
    );
    assert_eq!(family.user_agents.samples.iter().map(|s| s.requests).collect::<Vec<_>>(), [5, 5]);
    assert_eq!(b.rpm_by_bot["Googlebot"], 4);
}

#[test]
fn an_operator_has_no_family_of_its_own_and_nobody_is_left_out() {
    let b = measured(&traffic(), GroupBy::Operator);
    let host = &b.hosts["(default)"];
    assert_eq!(host.bots.keys().collect::<Vec<_>>(), ["(unknown)", "Google", "OpenAI"]);
    let google = &host.bots["Google"];
    assert_eq!((google.requests, google.rpm.peak), (11, 5));
    assert_eq!(
        (google.family.as_str(), google.operator.as_str(), google.category.as_str()),
        ("", "Google", "")
    );
    assert_eq!(host.bots.values().map(|bot| bot.requests).sum::<u64>(), b.totals.bot_records);
}

#[test]
fn a_category_sums_its_bots_and_people_stay_people() {
    let hits = traffic();
    let sources = [hits.clone()];
    let tables = days(&hits);
    let mut given = input(&sources, &tables);
    (given.group_by, given.include_other) = (GroupBy::Category, true);
    let host = &measure(&given).hosts["(default)"];
    assert_eq!(
        host.bots.keys().collect::<Vec<_>>(),
        ["(people)", "advertising", "ai-training", "declared", "search-engine"]
    );
    assert_eq!(host.bots["(people)"].requests, 3);
}

#[test]
fn all_bots_together_are_the_same_whatever_the_rows_are() {
    let mut hits = traffic();
    hits.extend(
        of("Googlebot", "Googlebot", "Google", "search-engine", &[121; 50])
            .into_iter()
            .map(|hit| Hit { verdict: Verification::Failed, ..hit }),
    );
    let by_bot = measured(&hits, GroupBy::Bot);
    let all = by_bot.hosts["(default)"].all_bots.as_ref().unwrap();
    // Ten of AcmeSpider and three of Googlebot in the first minute, seven of four bots in the third; no failed claim.
    assert_eq!((all.requests, all.rpm.peak, all.verification.failed), (73, 13, 50));
    assert_eq!(all.requests, by_bot.totals.bot_records);
    for group_by in [GroupBy::Family, GroupBy::Operator, GroupBy::Category] {
        let b = measured(&hits, group_by);
        assert_eq!(b.hosts["(default)"].all_bots.as_ref(), Some(all));
        assert_eq!(
            (b.totals, b.status_distribution),
            (by_bot.totals.clone(), by_bot.status_distribution.clone())
        );
    }
    let people = measured(&of("(people)", "(people)", "", "", &[0]), GroupBy::Bot);
    assert_eq!(people.hosts["(default)"].all_bots.as_ref().map(|all| all.requests), Some(0));
    let pattern = measured(&hits, GroupBy::Pattern);
    assert_eq!(pattern.hosts["(default)"].all_bots, None);
}
