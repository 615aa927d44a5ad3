//! What is taken from the tables of the history, and how the constants are set.
//!
//! Example: the last minute of a log that is still being written counts for nothing.

use super::table::{DAY, HOST, MONDAY, Table, days, minute_row, row, series};
use crate::ceiling::{ByGrade, Input, Policy, recommend};
use crate::tally::table::{DayTables, Verification};

#[test]
fn a_minute_that_is_not_over_counts_for_nothing() {
    let table = Table::new(days(7)).bot("bot", |_| Some(row(60)));
    let whole = table.input();
    let mut days = table.days();
    let mut unfinished = minute_row(0, whole.now + 1, &row(900).refused(400));
    unfinished.partial = true;
    days.last_mut().unwrap().minutes.insert(DAY.try_into().unwrap(), unfinished);
    let mut input = Input::new(whole.now + 1);
    input.covered.clone_from(&whole.covered);
    for day in &days {
        input.add_day(day, HOST);
    }
    let (expected, found) = (recommend(&whole, &Policy::default()), recommend(&input, &Policy::default()));
    assert_eq!(found, expected);
}

#[test]
fn only_the_rows_of_the_host_count_and_groups_are_people() {
    let mut other = series("bot", Verification::NotCheckable);
    other.host = "other.example".to_owned();
    let mut searching = series("bot", Verification::NotCheckable);
    searching.category = "search-engine".to_owned();
    let names = ["(no-user-agent)", "(other-declared)"].map(|name| series(name, Verification::NotCheckable));
    let day = DayTables {
        series: [names.to_vec(), vec![searching, other]].concat(),
        minutes: (0..4).map(|s| minute_row(s, MONDAY, &row(10 + u64::from(s)))).collect(),
        ..DayTables::default()
    };
    let mut input = Input::new(MONDAY);
    input.add_day(&day, HOST);
    let result = recommend(&input, &Policy::default()).unwrap();
    assert_eq!(result.bots.keys().collect::<Vec<_>>(), ["(other-declared)", "bot"]);
    assert_eq!(result.host.demand, Some(10 + 11 + 12));
    assert_eq!(input.categories["bot"], "search-engine");
}

#[test]
fn two_sources_of_one_minute_add_up() {
    let one = Table::new(days(7)).bot("bot", |_| Some(row(30)));
    let mut input = one.input();
    for day in one.days() {
        input.add_day(&day, HOST);
    }
    let both = Table::new(days(7)).bot("bot", |_| Some(row(60))).input();
    let rate =
        |input: &Input| recommend(input, &Policy::default()).unwrap().bots["bot"].max_requests_per_minute;
    assert_eq!(rate(&input), rate(&both));
}

#[test]
fn seconds_before_the_clean_window_are_not_needed() {
    let table = Table::new(days(40)).bot("bot", |m| {
        let hit = m % DAY < 10;
        Some(if hit { row(150).refused(30) } else { row(60) })
    });
    let mut lean = Input::new(MONDAY + 40 * DAY - 1);
    lean.covered = vec![(MONDAY, lean.now)];
    lean.seconds_from = lean.now - 28 * DAY;
    for day in table.days() {
        lean.add_day(&day, HOST);
    }
    assert_eq!(recommend(&lean, &Policy::default()), recommend(&table.input(), &Policy::default()));
}

#[test]
fn nothing_in_the_window_is_no_recommendation() {
    assert_eq!(recommend(&Input::new(MONDAY), &Policy::default()), None);
}

#[test]
fn a_policy_sets_some_constants_and_refuses_what_it_does_not_know() {
    let policy: Policy =
        toml::from_str("default_rpm = 20\nutilisation_percent = {A=80,B=80,C=85,D=85}").unwrap();
    assert_eq!(policy.utilisation_percent, ByGrade { a: 80, b: 80, c: 85, d: 85 });
    assert_eq!(Policy { default_rpm: 30, ..policy.clone() }.capacity_share_percent.a, 70);
    policy.check("").unwrap();
    assert!(toml::from_str::<Policy>("default_rmp = 20").is_err());
    let zero = Policy { utilisation_percent: ByGrade { a: 85, b: 0, c: 90, d: 90 }, ..Policy::default() };
    assert_eq!(
        zero.check("").unwrap_err().to_string(),
        "policy.utilisation_percent: is out of range: expected 1 to 100, found 0"
    );
    let negative = Policy { freeze_days: -1, ..Policy::default() };
    assert_eq!(
        negative.check("c.toml: ").unwrap_err().to_string(),
        "c.toml: policy.freeze_days: is out of range: expected 0 to 3660, found -1"
    );
    let backwards = Policy { cooldown_seconds: (900, 5), ..Policy::default() };
    assert!(backwards.check("").is_err());
    Policy::default().check("").unwrap();
}
