//! Properties of any table: bounds, stability, and what must not change a ceiling.
//!
//! Example: the rows of a bot whose claim failed do not move its ceiling while no capacity is known.

use proptest::prelude::*;

use super::manifest::warnings;
use super::table::{DAY, HOST, MONDAY, Row, Table, grouped};
use crate::ceiling::{
    AllBots, HostRecommendation, Input, OnsetState, Policy, PreviousEntry, PreviousManifest, SiteConfig,
    recommend,
};
use crate::manifest::Grade;
use crate::tally::table::{DayTables, Verification};

/// A bot of a random table.
#[derive(Debug, Clone)]
struct Crawler {
    low: u64,
    width: u64,
    /// Active in one of so many minutes.
    every: u64,
    /// Minutes at which an episode begins, their number, what is admitted.
    episodes: Vec<(i64, i64, u64)>,
    failed: u64,
}

#[derive(Debug, Clone)]
struct World {
    days: i64,
    crawlers: Vec<Crawler>,
    people: u64,
    /// The load above which the host answers 503.
    capacity: u64,
    latency_ms: Option<u64>,
    seed: u64,
    operator_max: Option<u64>,
    crawl_delay_ms: Option<u64>,
    previous: Option<PreviousEntry>,
    partial: bool,
}

/// A small random number that belongs to a minute.
fn noise(seed: u64, minute: i64, salt: u64, below: u64) -> u64 {
    let text = [seed, minute.unsigned_abs(), salt].map(u64::to_le_bytes).concat();
    crate::tally::distinct::stable_hash(&text) % below.max(1)
}

fn crawler() -> impl Strategy<Value = Crawler> {
    let episodes = prop::collection::vec((0..10 * DAY, 1..30_i64, 5..80_u64), 0..5);
    (
        1..90_u64,
        1..30_u64,
        prop::sample::select(vec![1, 1, 3, 40]),
        episodes,
        prop::sample::select(vec![0, 0, 200]),
    )
        .prop_map(|(low, width, every, episodes, failed)| Crawler {
            low,
            width,
            every,
            episodes,
            failed,
        })
}

fn previous() -> impl Strategy<Value = PreviousEntry> {
    let best = prop::option::of((1..400_u64, 0..100 * DAY));
    (1..600_u64, 1..9_u64, best, prop::bool::ANY).prop_map(|(rate, connections, best, thin)| PreviousEntry {
        max_requests_per_minute: rate,
        max_concurrency: Some(connections),
        hourly_budget: Some(30 * rate),
        daily_budget: Some(300 * rate),
        grade: if thin { Grade::D } else { Grade::B },
        best_demand: best.map(|(l, age)| (l, MONDAY - age)),
        ..PreviousEntry::default()
    })
}

fn world() -> impl Strategy<Value = World> {
    (
        prop::sample::select(vec![1_i64, 3, 9]),
        prop::collection::vec(crawler(), 1..4),
        prop::sample::select(vec![0_u64, 60, 300]),
        prop::sample::select(vec![150_u64, 400, u64::MAX, u64::MAX]),
        prop::option::of(50..700_u64),
        any::<u64>(),
        prop::option::weighted(0.3, 1..200_u64),
        prop::option::weighted(0.1, 500..20_000_u64),
        prop::option::of(previous()),
        prop::bool::weighted(0.2),
    )
        .prop_map(
            |(
                days,
                crawlers,
                people,
                capacity,
                latency_ms,
                seed,
                operator_max,
                crawl_delay_ms,
                previous,
                partial,
            )| {
                let site = (operator_max, crawl_delay_ms);
                let (operator_max, crawl_delay_ms) = site;
                World {
                    days,
                    crawlers,
                    people,
                    capacity,
                    latency_ms,
                    seed,
                    operator_max,
                    crawl_delay_ms,
                    previous,
                    partial,
                }
            },
        )
}

impl Crawler {
    fn row(&self, world: &World, index: u64, minute: i64) -> Option<Row> {
        // Every third minute only: whole days, a third of the time.
        if minute % 3 != 0 || noise(world.seed, minute, index, self.every) != 0 {
            return None;
        }
        let n = self.low + noise(world.seed, minute, 100 + index, self.width);
        let hit = self.episodes.iter().find(|(at, length, _)| {
            let from = MONDAY + at % (world.days * DAY);
            (from..from + 3 * length).contains(&minute)
        });
        let mut row = grouped(n, n.div_ceil(5), 60);
        row.latency_ms = world.latency_ms;
        if let Some((_, _, admitted)) = hit {
            row.n429 = n.saturating_sub(*admitted);
        }
        Some(row)
    }
}

impl World {
    fn load(&self, minute: i64) -> u64 {
        let people = self.people + noise(self.seed, minute, 7, self.people / 2 + 1);
        people * u64::from(minute % 3 == 0)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(MONDAY..MONDAY + self.days * DAY);
        for (index, crawler) in (0_u64..).zip(&self.crawlers) {
            let (world, crawler) = (self.clone(), crawler.clone());
            let failed = crawler.failed;
            let name = format!("bot{index}");
            table = table.bot(&name, move |m| crawler.row(&world, index, m));
            if failed > 0 {
                let row = move |m: i64| (m % 9 == 0).then(|| grouped(failed, failed, 60));
                table = table.verified(&name, Verification::Failed, row);
            }
        }
        let (world, other) = (self.clone(), self.clone());
        table = table.people(move |m| world.load(m));
        table.people_unavailable(move |m| {
            let load = other.load(m);
            if load > other.capacity { load / 10 + 3 } else { 0 }
        })
    }

    fn input(&self, days: &[DayTables]) -> Input {
        let mut input = Input::new(MONDAY + self.days * DAY - 1);
        input.covered = vec![(MONDAY, input.now)];
        for day in days {
            input.add_day(day, HOST);
        }
        input.partial = self.partial;
        input.site = SiteConfig {
            operator_max: self.operator_max,
            crawl_delay_ms: self.crawl_delay_ms,
            ..SiteConfig::default()
        };
        if let Some(entry) = &self.previous {
            let bots = ["bot0", "bot1"].map(|name| (name.to_owned(), entry.clone()));
            let window_to = input.now - DAY;
            input.previous =
                vec![PreviousManifest { window_to, bots: bots.into(), all_bots: Some(entry.clone()) }];
        }
        input
    }
}

fn found(input: &Input) -> HostRecommendation {
    recommend(input, &Policy::default()).unwrap()
}

fn ceilings(result: &HostRecommendation) -> Vec<(&str, u64)> {
    result.bots.iter().map(|(name, r)| (name.as_str(), r.max_requests_per_minute)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ceilings_keep_to_their_bounds_and_contradict_nothing(world in world()) {
        let input = world.input(&world.table().days());
        let result = found(&input);
        prop_assert_eq!(warnings(&result, &input.site), Vec::<String>::new());
        let AllBots::Recommended(together) = &result.all_bots else { return Err(TestCaseError::fail("held")) };
        for (name, entry) in &result.bots {
            let rate = entry.max_requests_per_minute;
            prop_assert!(rate >= 1 && world.operator_max.is_none_or(|max| rate <= max), "{}", name);
            prop_assert!(entry.grade == Grade::D || rate <= together.max_requests_per_minute);
            let lowest = entry.schedule.iter().flat_map(|s| s.values()).min();
            prop_assert!(lowest.is_none_or(|lowest| rate <= *lowest));
            // A tenth a day at most, whatever was found.
            if let Some(before) = world.previous.as_ref().filter(|p| p.grade != Grade::D && name != "bot2") {
                let before = before.max_requests_per_minute;
                prop_assert!(rate <= (before * 110 / 100).max(before + 1), "{} after {}", rate, before);
            }
        }
    }

    #[test]
    fn order_of_days_whole_weeks_and_strange_stamps_change_nothing(world in world()) {
        let mut days = world.table().days();
        let result = found(&world.input(&days));
        days.reverse();
        let mut reversed = world.input(&days);
        prop_assert_eq!(&found(&reversed), &result);
        reversed.sort();
        prop_assert_eq!(&found(&reversed), &result);

        let mut strange = world.input(&days);
        let far = MONDAY + 40_000 * DAY;
        let one = super::table::minute_row(0, far, &grouped(1, 1, 60));
        let series = vec![super::table::series("bot0", Verification::NotCheckable)];
        strange.add_day(&DayTables { series, minutes: vec![one], ..DayTables::default() }, HOST);
        let with_strange = found(&strange);
        prop_assert_eq!(with_strange.window.out_of_range, Some(1));
        prop_assert_eq!(&with_strange.bots, &result.bots);

        let mut later = World { previous: None, ..world.clone() };
        let flat = ceilings(&found(&later.input(&days))).iter().map(|(_, r)| *r).collect::<Vec<_>>();
        for day in &mut days {
            for row in &mut day.minutes {
                row.minute += 4 * 7 * DAY;
            }
        }
        later.days += 28;
        let mut input = later.input(&days);
        input.covered = vec![(MONDAY + 28 * DAY, input.now)];
        prop_assert_eq!(ceilings(&found(&input)).iter().map(|(_, r)| *r).collect::<Vec<_>>(), flat);
    }

    #[test]
    fn a_second_run_of_a_date_and_the_same_data_a_day_later_are_fixed_points(world in world()) {
        let days = world.table().days();
        let mut input = world.input(&days);
        let first = found(&input);
        input.previous.push(first.as_previous());
        prop_assert_eq!(&found(&input), &first);
        // The same data with last night's manifest: nothing moves on, unless a raise was still under way.
        let mut settled = world.input(&days);
        settled.previous.clear();
        let without = found(&settled);
        let mut before = without.as_previous();
        before.window_to -= DAY;
        settled.previous = vec![before];
        let again = found(&settled);
        prop_assert_eq!(ceilings(&again), ceilings(&without));
    }

    #[test]
    fn without_capacity_other_bots_and_failed_rows_do_not_move_a_bot(world in world()) {
        let world = World { capacity: u64::MAX, latency_ms: None, ..world };
        let result = found(&world.input(&world.table().days()));
        prop_assert_eq!(result.host.limit, None);
        let mut lonely = world.clone();
        lonely.crawlers.truncate(1);
        lonely.crawlers[0].failed = 0;
        lonely.people = 0;
        let alone = found(&lonely.input(&lonely.table().days()));
        let (Some(a), Some(b)) = (alone.bots.get("bot0"), result.bots.get("bot0")) else { return Ok(()) };
        // The window ends with the host's last minute, which may be another one.
        if alone.window.end == result.window.end {
            prop_assert_eq!(a.max_requests_per_minute, b.max_requests_per_minute);
        }
    }

    #[test]
    fn a_partial_run_lowers_nothing_that_a_whole_one_would_not(world in world()) {
        let days = world.table().days();
        let whole = found(&World { partial: false, ..world.clone() }.input(&days));
        let partial = found(&World { partial: true, ..world }.input(&days));
        for (name, entry) in &partial.bots {
            prop_assert!(entry.max_requests_per_minute >= whole.bots[name].max_requests_per_minute, "{}", name);
        }
    }

    #[test]
    fn a_stray_429_counts_as_if_its_minute_were_not_there(world in world(), at in 0..DAY / 3) {
        let mut world = World { partial: false, latency_ms: None, capacity: u64::MAX, ..world };
        world.crawlers.truncate(1);
        world.crawlers[0].episodes.clear();
        world.people = 40;
        let minute = MONDAY + 3 * at;
        let mut days = world.table().days();
        let mut gone = days.clone();
        gone[0].minutes.retain(|r| r.series != 0 || r.minute != minute);
        for row in days[0].minutes.iter_mut().filter(|r| r.series == 0 && r.minute == minute) {
            row.codes[3] = 1;
        }
        let (with, without) = (found(&world.input(&days)), found(&world.input(&gone)));
        let (Some(with), Some(without)) = (with.bots.get("bot0"), without.bots.get("bot0")) else { return Ok(()) };
        prop_assert!(matches!(with.c429_state, OnsetState::None | OnsetState::Stray));
        // The error share of the week sees it, and so does a grade at its very edge.
        if with.clean_minutes >= 30 && with.grade == without.grade && world.previous.is_none() {
            prop_assert_eq!(with.max_requests_per_minute, without.max_requests_per_minute);
        }
    }
}
