//! The worked examples: each is a formula of the minute, and shows one thing.
//!
//! Their numbers are in `expected.jsonl`. Example: `1`: 56 to 64 requests in every minute of a week.

use std::ops::Range;

use super::table::{DAY, MONDAY, Row, Table, days, grouped, manifest, minute_row, pattern, row, series};
use crate::ceiling::{CdnHits, Input, PreviousManifest, RangeState, SiteConfig, Zone};
use crate::tally::table::{DayTables, Verification};

/// Window end of the manifest that a week's example starts from.
const YESTERDAY: i64 = MONDAY + 6 * DAY - 1;

/// A worked example.
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) input: Input,
    /// The bots whose entries are written down; all when empty.
    pub(super) shown: &'static [&'static str],
}

pub(super) fn steady(m: i64) -> Option<Row> {
    Some(row(pattern(m, 56, 9)))
}

fn steady_at(m: i64, ms: u64) -> Option<Row> {
    Some(row(pattern(m, 56, 9)).taking(ms))
}

/// A bot alone.
fn alone(cover: Range<i64>, f: impl Fn(i64) -> Option<Row> + 'static) -> Table {
    Table::new(cover).bot("bot", f)
}

fn with(mut input: Input, change: impl FnOnce(&mut Input)) -> Input {
    change(&mut input);
    input
}

fn after(input: Input, previous: PreviousManifest) -> Input {
    with(input, |i| i.previous = vec![previous])
}

fn at_site(input: Input, site: SiteConfig) -> Input {
    with(input, |i| i.site = site)
}

/// 300 requests within 20 seconds.
pub(super) fn burst_every(m: i64, minutes: i64) -> Option<Row> {
    (m % minutes == 0).then(|| grouped(300, 15, 20))
}

/// 80 to 100, and for half an hour a day 150 of which 120 are admitted.
pub(super) fn capped(m: i64) -> Option<Row> {
    Some(if (720..750).contains(&(m % DAY)) { row(150).refused(30) } else { row(pattern(m, 80, 21)) })
}

fn lowered(m: i64) -> Option<Row> {
    let (day, minute) = ((m - MONDAY) / DAY, m % DAY);
    Some(match (day, minute) {
        (13, 600..900) => row(100).refused(40),
        (13, 900..) => row(50),
        _ => row(pattern(m, 90, 11)),
    })
}

fn once_refused(m: i64) -> Option<Row> {
    let at = MONDAY + 6 * DAY + 720;
    Some(if (at..at + 10).contains(&m) { row(100).refused(40) } else { row(pattern(m, 50, 5)) })
}

/// All examples, in order.
pub(super) fn all() -> Vec<Example> {
    let mut out = Vec::new();
    let mut add = |name, input| out.push(Example { name, input, shown: &[] });
    demand_and_capacity(&mut add);
    data_and_clocks(&mut add);
    limits(&mut add);
    memory(&mut add);
    several_bots(&mut add);
    weight_of_a_429(&mut add);
    windows_and_configuration(&mut add);
    for example in &mut out {
        example.shown = match example.name {
            "22" => &["bot00", "bot11"],
            "23" => &["fast", "slow00"],
            "31b" => &["alpha"],
            _ => &[],
        };
    }
    out
}

type Add<'a> = &'a mut dyn FnMut(&'static str, Input);

fn demand_and_capacity(add: Add<'_>) {
    add("1", alone(days(7), steady).input());
    add("2", alone(days(7), |m| burst_every(m, 10)).input());

    let outage = |m: i64| (MONDAY + 3 * DAY + 600..MONDAY + 3 * DAY + 615).contains(&m);
    let in_outage = move |m| {
        let n = pattern(m, 56, 9);
        Some(if outage(m) { row(n).unavailable(n) } else { row(n) })
    };
    let crowd = |m| pattern(m, 180, 41);
    let table = alone(days(7), in_outage).people(crowd);
    add("3", table.people_unavailable(move |m| if outage(m) { crowd(m) } else { 0 }).input());

    add("4a", alone(days(14), capped).input());
    add("4b", alone(days(1), capped).input());

    // 120 ms up to a load of 300, 4 ms more for each request above.
    let latency = |n: u64| 120 + 4 * n.saturating_sub(300);
    let crowd = |m: i64| u64::try_from(m * 13 % 400).unwrap();
    let shared = move |m| Some(row(50).taking(latency(50 + crowd(m))));
    add("5", alone(days(14), shared).people(crowd).latency(move |_, n| latency(n)).input());
    let growing = move |m| {
        let n = 50 + crowd(m);
        Some(grouped(n, n.div_ceil(60).max(5), 60).taking(latency(n)))
    };
    add("5b", alone(days(14), growing).input());

    let peaks = [MONDAY + 8 * DAY + 660, MONDAY + 16 * DAY + 660];
    let office = move |m: i64| {
        let local = m + 60;
        let (weekday, hour) = ((local.div_euclid(DAY) + 3) % 7, local % DAY / 60);
        match (weekday, hour) {
            _ if peaks.contains(&m) => 760,
            (0..5, 8..18) => pattern(m, 480, 41),
            (5.., _) => pattern(m, 100, 21),
            _ => pattern(m, 40, 11),
        }
    };
    let table = alone(days(28), steady).people(office);
    let table = table.people_unavailable(move |m| if peaks.contains(&m) { 40 } else { 0 });
    add("6", at_site(table.input(), SiteConfig { time_zone: Zone::Fixed(60), ..SiteConfig::default() }));
}

fn data_and_clocks(add: Add<'_>) {
    for (name, cdn) in [("7a", CdnHits::Ratio(0.8)), ("7b", CdnHits::Measured { hits: 800, total: 1000 })] {
        add(
            name,
            at_site(alone(days(7), steady).input(), SiteConfig { cdn: Some(cdn), ..SiteConfig::default() }),
        );
    }
    add("8", alone(MONDAY..MONDAY + 10, |m| Some(row(pattern(m, 18, 5)))).input());
    add("9", Table::new(days(7)).people(|m| pattern(m, 100, 21)).input());
    add("10a", alone(days(1), |_| Some(row(60).refused(60))).input());
    add("10b", alone(days(1), |_| Some(row(60).broken(60))).input());
    add("10c", alone(days(1), |_| Some(row(60))).input());
    add("10d", alone(days(1), |_| Some(row(1).forbidden(1))).input());
    let two_hours = |m: i64| (600..720).contains(&(m % DAY)).then(|| row(200).refused(80));
    add("10e", alone(days(1), two_hours).input());

    let october = (20_454 + 297) * DAY; // 2026-10-25, when clocks in Berlin go back at 01:00 UTC
    let table = alone(october - DAY - 120..october + 2 * DAY - 60, |_| Some(row(60)));
    let berlin = Zone::Named(chrono_tz::Europe::Berlin);
    add("11", at_site(table.input(), SiteConfig { time_zone: berlin, ..SiteConfig::default() }));

    let storm = |m| if m == MONDAY + 2000 { Some(grouped(5000, 120, 60)) } else { steady(m) };
    add("12", alone(days(7), storm).input());
}

fn limits(add: Add<'_>) {
    let refuted = |m: i64| {
        let (day, minute) = ((m - MONDAY) / DAY, m % DAY);
        Some(match (day, minute) {
            (0..=2, 600..610) => row(100).refused(40),
            (0..=3, _) => row(pattern(m, 50, 5)),
            _ => row(pattern(m, 90, 11)),
        })
    };
    add("13a", alone(days(14), refuted).input());
    add("13b", alone(days(14), lowered).input());
    let ten_dates = |m: i64| {
        let (day, minute) = ((m - MONDAY) / DAY, m % DAY);
        Some(match (day, minute) {
            (13, 720..730) => row(150).refused(90),
            (3.., 720..730) => row(150).refused(30),
            _ => row(pattern(m, 80, 21)),
        })
    };
    add("13c", alone(days(14), ten_dates).input());
    add("14", alone(days(2), |m| Some(if m % 60 < 20 { row(60) } else { row(60).refused(60) })).input());
    let ban = MONDAY + 700..MONDAY + 820;
    add("14b", alone(days(2), move |m| Some(row(60).refused(if ban.contains(&m) { 60 } else { 0 }))).input());
    let delay = SiteConfig { crawl_delay_ms: Some(10_000), ..SiteConfig::default() };
    add("15", at_site(alone(days(7), steady).input(), delay));
    add("17", alone(days(7), |_| Some(row(2))).input());
    let refused_bursts =
        |m: i64| Some(if m % 60 == 0 { grouped(40, 8, 5).refused(10) } else { row(pattern(m, 28, 5)) });
    add("18", alone(days(7), refused_bursts).input());
}

fn memory(add: Add<'_>) {
    let raised = alone(days(7), |m| Some(row(pattern(m, 76, 9)).taking(200))).input();
    add("16a", after(raised, manifest(YESTERDAY, 80, 4)));
    add("16b", after(alone(days(7), steady).input(), manifest(YESTERDAY, 74, 4)));
    add("16c", after(alone(days(14), capped).input(), manifest(MONDAY + 13 * DAY - 1, 60, 4)));
    add("16d", after(alone(days(7), steady).input(), manifest(YESTERDAY, 65, 4)));
    add("16e", after(alone(days(7), |m| steady_at(m, 180)).input(), manifest(YESTERDAY, 65, 4)));
    let maximum = SiteConfig { operator_max: Some(75), ..SiteConfig::default() };
    add("16f", at_site(after(alone(days(7), steady).input(), manifest(YESTERDAY, 76, 4)), maximum));
    for (name, ms) in [("19", 400), ("19b", 800)] {
        let busy = alone(days(7), move |m| Some(row(pattern(m, 236, 9)).taking(ms)));
        add(name, after(busy.input(), manifest(YESTERDAY, 290, 2)));
    }
}

/// A bot at 86 to 90 and one at 26 to 30 beside people; overload was seen twice at a load of 852 and more.
fn two_bots(cover: Range<i64>) -> Table {
    let peaks = [MONDAY + 2 * DAY, MONDAY + 9 * DAY];
    Table::new(cover)
        .bot("alpha", |m| Some(row(pattern(m, 86, 5))))
        .bot("beta", |m| Some(row(pattern(m, 26, 5))))
        .people(move |m| if peaks.contains(&m) { 740 } else { pattern(m, 200, 21) })
        .people_unavailable(move |m| if peaks.contains(&m) { 60 } else { 0 })
}

fn several_bots(add: Add<'_>) {
    add("21", two_bots(days(14)).input());
    let turns = (0..12).fold(Table::new(days(7)), |table, i| {
        table.bot(&format!("bot{i:02}"), move |m| steady(m).filter(|_| m / 60 % 12 == i))
    });
    add("22", turns.input());
    let slow = (0..20).fold(alone(days(7), |_| None).bot("fast", steady), |table, i| {
        table.bot(&format!("slow{i:02}"), |_| Some(row(2)))
    });
    add("23", slow.input());
    for (name, shared_hours) in [("24a", 0), ("24b", 1)] {
        let peaks = [MONDAY + 2 * DAY + 900, MONDAY + 9 * DAY + 900];
        let table = Table::new(days(14))
            .bot("early", move |m| steady(m).filter(|_| m / 60 % 24 < 12 + shared_hours))
            .bot("late", |m| steady(m).filter(|_| m / 60 % 24 >= 12))
            .people(move |m| if peaks.contains(&m) { 380 } else { pattern(m, 200, 21) })
            .people_unavailable(move |m| if peaks.contains(&m) { 40 } else { 0 });
        add(name, table.input());
    }
    let beside = Table::new(days(14)).bot("alpha", capped).bot("beta", |m| Some(row(pattern(m, 26, 5))));
    add("29a", beside.input());
    let beside = Table::new(days(7)).bot("alpha", |m| burst_every(m, 100)).bot("beta", |_| Some(row(5)));
    add("29b", beside.input());
}

fn weight_of_a_429(add: Add<'_>) {
    let stray = |m| if m == MONDAY + 5 * DAY + 600 { Some(row(60).refused(1)) } else { steady(m) };
    add("25", alone(days(14), stray).input());
    add("26a", alone(days(11), once_refused).input());
    add("26b", alone(days(14), once_refused).input());
    add("26c", after(alone(days(14), once_refused).input(), manifest(MONDAY + 13 * DAY - 1, 39, 3)));
    add("26d", alone(days(7), |_| Some(row(60).refused(1))).input());
}

fn windows_and_configuration(add: Add<'_>) {
    let strange = with(alone(days(7), steady).input(), |input| {
        for minute in [68_000 * DAY, 5, MONDAY + 7 * DAY + 720] {
            let one = Row { n: 1, seconds: vec![(0, 1)], ..Row::default() };
            let day = DayTables {
                series: vec![series("bot", Verification::NotCheckable)],
                minutes: vec![minute_row(0, minute, &one)],
                ..DayTables::default()
            };
            input.add_day(&day, super::table::HOST);
        }
    });
    add("30", strange);
    add("31a", alone(days(28), |m| (m % 15 == 0).then(|| row(1))).input());
    add("31b", two_bots(days(14)).without(MONDAY + 4 * DAY..MONDAY + 8 * DAY).input());

    let third = || {
        let mut before = manifest(YESTERDAY, 76, 3);
        let entry = before.bots.get_mut("bot").unwrap();
        (entry.hourly_budget, entry.daily_budget) = (Some(4236), Some(101_648));
        after(alone(days(7), |m| Some(row(pattern(m, 20, 5)))).input(), before)
    };
    add("32a", with(third(), |i| i.partial = true));
    add("32b", third());
    let lowered = after(alone(days(14), lowered).input(), manifest(MONDAY + 13 * DAY - 1, 118, 3));
    add("32c", with(lowered, |i| i.partial = true));

    for (name, state) in [("33a", RangeState::Fresh), ("33b", RangeState::Stale)] {
        let table = Table::new(days(7))
            .verified("bot", Verification::Verified, steady)
            .verified("bot", Verification::Failed, |m| (m >= MONDAY + 4 * DAY).then(|| row(500)))
            .verified("bot", Verification::NotCheckable, |m| (m % 7 == 0).then(|| row(100)));
        add(name, with(table.input(), |i| i.ranges = [("bot".to_owned(), state)].into()));
    }
    let search = || {
        let category = ("bot".to_owned(), "search-engine".to_owned());
        with(alone(days(7), steady).input(), |i| i.categories = [category].into())
    };
    add("34a", search());
    let enforce = ["search-engine".to_owned()].into();
    add("34b", at_site(search(), SiteConfig { enforce, ..SiteConfig::default() }));

    let mut published = SiteConfig::default();
    published.published.per_minute = Some(60);
    published.published.per_day = Some(10_000);
    published.published.at_once = Some(5);
    published.published.connections = Some(2);
    add("35", at_site(alone(days(7), steady).input(), published));
    let young = SiteConfig { account_age_days: Some(20), ..SiteConfig::default() };
    add("36c", at_site(alone(days(14), capped).input(), young));
    let broken = alone(days(7), |m| steady_at(m, 180).map(|r| r.broken(2)));
    add("37", after(broken.input(), manifest(YESTERDAY, 60, 2)));
}
