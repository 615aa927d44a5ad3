//! Many nights: the ceiling of one night is what the bot obeys on the next day.
//!
//! Example: a hidden limit of 120 under a demand of 200 is found, probed twice and then kept at 84.

use super::examples::{burst_every, steady};
use super::table::{DAY, HOST, MONDAY, Row, Table, days, grouped, manifest, pattern, row};
use crate::ceiling::{
    ConnectionRule, HostRecommendation, Input, Policy, PreviousManifest, Recommendation, Rule, SiteConfig,
    recommend, scopes,
};

/// A crawl that runs for days; each night the ceiling is found anew from all days so far.
struct Crawl {
    input: Input,
    day: i64,
    ceilings: Vec<u64>,
    nights_with_429: usize,
}

impl Crawl {
    fn new() -> Self {
        Self { input: Input::new(0), day: 0, ceilings: Vec::new(), nights_with_429: 0 }
    }

    /// One more day of these minutes, and the night after it.
    fn night(&mut self, f: impl Fn(i64) -> Option<Row> + 'static) -> Recommendation {
        let from = MONDAY + self.day * DAY;
        for tables in Table::new(from..from + DAY).bot("bot", f).days() {
            self.nights_with_429 += usize::from(tables.minutes.iter().any(|r| r.code(429) > 0));
            self.input.add_day(&tables, HOST);
        }
        self.day += 1;
        self.input.now = from + DAY - 1;
        self.input.covered = vec![(MONDAY, self.input.now)];
        let result = recommend(&self.input, &Policy::default()).unwrap();
        self.input.previous.push(result.as_previous());
        let entry = result.bots["bot"].clone();
        self.ceilings.push(entry.max_requests_per_minute);
        entry
    }

    /// A day of a bot that wants `demand` and obeys, behind a limiter that admits `limit` a minute.
    fn obedient_night(&mut self, demand: u64, limit: u64, latency_ms: Option<u64>) {
        let n = self.ceilings.last().map_or(demand, |ceiling| demand.min(*ceiling));
        self.night(move |_| {
            // In four groups: every second costs time, and the ceiling does not look at them.
            let row = grouped(n, n.div_ceil(4), 60).refused(n.saturating_sub(limit));
            Some(Row { latency_ms, ..row })
        });
    }
}

#[test]
fn a_hidden_limit_is_found_probed_twice_and_kept() {
    for (nights, latency_ms) in [(90, None), (40, Some(200))] {
        let mut crawl = Crawl::new();
        for _ in 0..nights {
            crawl.obedient_night(200, 120, latency_ms);
        }
        assert_eq!(crawl.ceilings[..8], [72; 8]);
        assert_eq!(crawl.ceilings[8..14], [79, 86, 94, 103, 113, 124]);
        assert_eq!(crawl.ceilings[14..22], [78; 8]);
        assert_eq!(crawl.ceilings[22..27], [85, 93, 102, 112, 123]);
        assert_eq!(crawl.ceilings[27..], vec![84; nights - 27]);
        assert_eq!(crawl.nights_with_429, 3);
    }
}

#[test]
fn without_a_limit_the_ceiling_stays_above_the_demand() {
    let mut crawl = Crawl::new();
    for _ in 0..12 {
        crawl.obedient_night(60, u64::MAX, None);
    }
    assert_eq!(crawl.ceilings[..6], [67; 6]);
    assert_eq!(crawl.ceilings[6..], [71; 6]);
}

/// Nine quiet nights, then a day on which some minutes of 60 have 10 refused.
fn after_a_429(minutes: i64, nights: i64) -> Vec<u64> {
    let mut crawl = Crawl::new();
    for night in 1..=nights {
        if night == 10 {
            let at = MONDAY + 9 * DAY + 720;
            crawl.night(move |m| Some(row(60).refused(if (at..at + minutes).contains(&m) { 10 } else { 0 })));
        } else {
            crawl.obedient_night(60, u64::MAX, None);
        }
    }
    crawl.ceilings
}

#[test]
fn an_episode_of_429_halves_the_ceiling_for_a_week_and_is_then_probed() {
    let ceilings = after_a_429(10, 26);
    assert_eq!(ceilings[9..16], [32; 7]);
    assert_eq!(ceilings[16..], [35, 38, 41, 45, 49, 53, 58, 63, 69, 69]);
}

#[test]
fn a_stray_429_changes_nothing() {
    let mut crawl = Crawl::new();
    for night in 1..=12 {
        if night == 10 {
            let at = MONDAY + 9 * DAY + 720;
            crawl.night(move |m| Some(row(60).refused(u64::from(m == at))));
        } else {
            crawl.obedient_night(60, u64::MAX, None);
        }
    }
    assert_eq!(crawl.ceilings[6..], [71; 6]);
}

#[test]
fn a_passing_limit_is_forgotten_in_three_weeks() {
    let mut crawl = Crawl::new();
    for night in 1..=36 {
        crawl.obedient_night(100, if (11..=13).contains(&night) { 40 } else { u64::MAX }, None);
    }
    assert!(crawl.ceilings[10..13].contains(&26), "{:?}", crawl.ceilings);
    assert_eq!(crawl.ceilings[34], 113, "{:?}", crawl.ceilings);
}

#[test]
fn a_ceiling_that_hides_the_demand_is_raised_a_tenth_a_night() {
    let mut crawl = Crawl::new();
    crawl.ceilings.push(30);
    for _ in 0..24 {
        crawl.obedient_night(200, u64::MAX, Some(100));
    }
    assert_eq!(crawl.ceilings[1..6], [34, 37, 40, 44, 48]);
    assert_eq!(crawl.ceilings[23], 231, "{:?}", crawl.ceilings);
}

/// Why a share of what was observed is no rule: it feeds on itself.
#[test]
fn a_share_of_the_observed_maximum_would_end_at_one_request_a_minute() {
    let (mut ceiling, mut seen) = (u64::MAX, Vec::new());
    for _ in 0..8 {
        ceiling = (65 * ceiling.min(60) / 100).max(1);
        seen.push(ceiling);
    }
    assert_eq!(seen, [39, 25, 16, 10, 6, 3, 1, 1]);
}

#[test]
fn one_night_run_six_times_gives_the_same_six_times() {
    let yesterday = MONDAY + 6 * DAY - 1;
    let mut input = Table::new(days(7)).bot("bot", |m| steady(m).map(|r| r.taking(180))).input();
    input.previous = vec![manifest(yesterday, 60, 2)];
    let mut first: Option<HostRecommendation> = None;
    for _ in 0..6 {
        let again = recommend(&input, &Policy::default()).unwrap();
        assert_eq!((again.bots["bot"].max_requests_per_minute, again.bots["bot"].max_concurrency), (66, 2));
        assert_eq!(*first.get_or_insert_with(|| again.clone()), again);
        input.previous.push(again.as_previous());
    }
}

/// A busy bot at 450 ms; on day 8, `minutes` minutes of 600 with so many refused.
fn busy_nights(minutes: i64, refused: u64, last: i64) -> Vec<(u64, u64, Rule, ConnectionRule)> {
    let mut crawl = Crawl::new();
    let at = MONDAY + 7 * DAY + 720;
    let mut out = Vec::new();
    for night in 1..=last {
        if night == 8 {
            let mut before = manifest(MONDAY + 7 * DAY - 1, 753, 4);
            before.bots.get_mut("bot").unwrap().best_demand = Some((640, MONDAY + 7 * DAY - 1));
            crawl.input.previous = vec![before];
        }
        let entry = crawl.night(move |m| {
            let hit = (at..at + minutes).contains(&m);
            Some(if hit { row(600).refused(refused) } else { row(pattern(m, 560, 81)) }.taking(450))
        });
        if night >= 8 {
            out.push((
                entry.max_requests_per_minute,
                entry.max_concurrency,
                entry.bound_by,
                entry.concurrency_rule,
            ));
        }
    }
    out
}

#[test]
fn connections_fall_once_for_an_episode_and_rise_by_one_a_night() {
    let nights = busy_nights(2, 60, 18);
    assert_eq!(nights[0], (351, 3, Rule::Onset429, ConnectionRule::DecreaseAfter429));
    assert_eq!(nights[1..7], [(351, 3, Rule::Onset429, ConnectionRule::Hold); 6]);
    let rise = |rate, connections, rule| (rate, connections, Rule::MaxRaisePerDay, rule);
    assert_eq!(
        nights[7..],
        [
            rise(386, 4, ConnectionRule::PlusOne),
            rise(424, 5, ConnectionRule::PlusOne),
            rise(466, 5, ConnectionRule::Hold),
            rise(512, 5, ConnectionRule::Hold),
        ]
    );
}

#[test]
fn a_stray_429_holds_the_connections_for_a_week() {
    let nights = busy_nights(1, 6, 16);
    assert_eq!(nights[..7], [(753, 4, Rule::Deadband, ConnectionRule::Hold); 7]);
    let rise = |connections| (753, connections, Rule::Deadband, ConnectionRule::PlusOne);
    assert_eq!(nights[7..], [rise(5), rise(6)]);
}

#[test]
fn scopes_add_up_hosts_and_are_cut_by_what_is_configured() {
    let one = |table: Table| recommend(&table.input(), &Policy::default()).unwrap();
    let hosts = [
        one(Table::new(days(7)).bot("bot", steady)),
        one(Table::new(days(7)).bot("bot", |m| burst_every(m, 10))),
    ];
    let hosts: Vec<&HostRecommendation> = hosts.iter().collect();
    let of =
        |site: &SiteConfig, bot| serde_json::to_value(scopes(&hosts, bot, site, &Policy::default())).unwrap();
    let nothing = serde_json::json!({"limit": null, "measured": false});
    let free = of(&SiteConfig::default(), None);
    assert_eq!(free["global_per_hour"], serde_json::json!({"limit": 6354, "measured": true}));
    assert_eq!((&free["credential_per_hour"], &free["identity_per_day"]), (&nothing, &nothing));
    assert_eq!(of(&SiteConfig::default(), Some("bot"))["global_per_hour"]["limit"], 6354);
    let site = SiteConfig {
        egress_per_hour: Some(5000),
        credential_per_hour: Some(190),
        identity_per_day: Some(2000),
        account_age_days: Some(20),
        ..SiteConfig::default()
    };
    let cut = of(&site, None);
    assert_eq!(cut["global_per_hour"], serde_json::json!({"limit": 5000, "measured": true}));
    assert_eq!(cut["credential_per_hour"]["limit"], 95);
    assert_eq!(cut["identity_per_day"]["limit"], 1000);
}

#[test]
fn a_partial_run_without_a_bot_keeps_its_entry() {
    let mut input = Table::new(days(7)).bot("other", steady).input();
    let before = manifest(MONDAY + 6 * DAY - 1, 40, 2);
    input.previous = vec![PreviousManifest { all_bots: Some(before.bots["bot"].clone()), ..before }];
    assert!(recommend(&input, &Policy::default()).unwrap().held.is_empty());
    input.partial = true;
    let result = recommend(&input, &Policy::default()).unwrap();
    assert_eq!(result.held["bot"].max_requests_per_minute, 40);
    assert!(result.bots.contains_key("other"));
}
