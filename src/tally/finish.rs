//! From counts to rows: names put in, caps applied, everything sorted. The same counts give the same rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::bot::names::OTHER_DECLARED;
use crate::error::Error;
use crate::format::escape::printable;
use crate::tally::fold::{DaySeries, Row, SeriesState, Tally, joined_seconds};
use crate::tally::latency::bound_ms;
use crate::tally::parameters::of_bots;
use crate::tally::spill::Spilling;
use crate::tally::table::{BotRow, Coverage, DayTables, LatencyRow, MinuteRow, Series, StatusRow};
use crate::tally::wasted::Rows;

/// Hosts kept by name, per source.
pub const MAX_HOSTS: usize = 1_000;
/// Self-declared names kept, per source.
pub const MAX_DECLARED: usize = 4_096;
/// Fewer requests than this, and a declared name is `(other-declared)`.
pub const MIN_DECLARED_REQUESTS: u64 = 10;
/// URLs kept per host, bot and verdict on one date.
pub const MAX_WASTE_URLS: usize = 1_000;

/// What a number of a tally stands for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Named {
    /// The bot's name, or a group in parentheses.
    pub bot: String,
    /// Roll-up.
    pub family: String,
    /// Roll-up.
    pub operator: String,
    /// Roll-up; `declared` for self-declared names.
    pub category: String,
    /// Names of the bot's variants; index 0 is never counted.
    pub variants: Vec<String>,
}

/// What [`finish`] needs to know beside the counts.
pub struct Finish<'a> {
    /// Resolves a name's number.
    pub name: &'a (dyn Fn(u32) -> Named + Sync),
    /// The canonical form of a target (escapes undone) on a host, secrets masked.
    pub url_key: &'a (dyn Fn(&[u8], &str) -> String + Sync),
    /// A URL as logged, secrets masked.
    pub url_sample: &'a (dyn Fn(&[u8]) -> String + Sync),
    /// Whether the caps apply: not for groupings that shape one baseline.
    pub caps: bool,
    /// How what outgrows memory is written; `None` keeps everything in memory.
    pub spilling: Option<&'a Spilling<'a>>,
}

/// Rows of one source.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// One entry per date, ascending.
    pub days: Vec<DayTables>,
    /// Ascending.
    pub coverage: Vec<Coverage>,
    /// What did not fit under the caps, as printed.
    pub overflow: Vec<String>,
}

/// Turns counts into rows.
///
/// # Errors
/// What outgrew memory cannot be written, or not be read (exit 5).
pub fn finish(mut tally: Tally, with: &Finish<'_>) -> Result<Finished, Error> {
    tally.count_aside(&|who| (with.name)(who).bot, with.spilling)?;
    tally.flush_coverage();
    tally.settle(with.spilling)?;
    let (keys, overflow) = final_keys(&tally, with);
    let Tally { rows, days, waste, coverage, hosts, series, queries, .. } = tally;

    let coverage: BTreeMap<i32, (i64, i64)> = coverage.into_iter().collect();
    let mut tables: BTreeMap<i32, DayTables> =
        coverage.keys().map(|date| (*date, DayTables { date: *date, ..DayTables::default() })).collect();

    // Which series of the tally become which row of each date's series.
    let mut by_date: BTreeMap<i32, BTreeMap<(String, String, &'static str), u32>> = BTreeMap::new();
    for day in &days {
        let series = &keys[day.series as usize].series;
        let key = (series.host.clone(), series.bot.clone(), series.verification.name());
        by_date.entry(day.date).or_default().entry(key).or_insert(day.series);
    }
    let mut place: HashMap<(i32, u32), u32> = HashMap::new();
    for (date, names) in &by_date {
        let table = tables.entry(*date).or_insert_with(|| DayTables { date: *date, ..DayTables::default() });
        table.series = names.values().map(|s| keys[*s as usize].series.clone()).collect();
    }
    for day in &days {
        let series = &keys[day.series as usize].series;
        let table = &tables[&day.date];
        let index = table.series.binary_search_by(|s| s.key().cmp(&series.key())).unwrap_or_default();
        place.insert((day.date, day.series), u32::try_from(index).unwrap_or(u32::MAX));
    }

    put_minutes(rows, &place, &mut tables);
    put_days(days, &place, &keys, &mut tables);
    let spill = with.spilling.map(|spilling| spilling.to);
    if with.caps {
        let shown = keys.iter().map(|key| (key.host, key.series.host.as_str())).collect();
        for (date, rows) in of_bots(&waste, &queries, &series, &shown, spill)? {
            tables.entry(date).and_modify(|table| table.params = rows);
        }
    }
    let host_names: Vec<String> = hosts.iter().map(|h| printable(h).into_owned()).collect();
    let rows = Rows {
        place: &|date, series| place[&(date, series)],
        host: &|series| &host_names[keys[series as usize].host as usize],
        url_key: with.url_key,
        url_sample: with.url_sample,
        caps: with.caps,
    };
    for (date, rows) in rows.of(&waste, spill)? {
        tables.entry(date).and_modify(|table| table.waste = rows);
    }

    Ok(Finished {
        days: tables.into_values().collect(),
        coverage: coverage.into_iter().map(|(date, (first, last))| Coverage { date, first, last }).collect(),
        overflow,
    })
}

struct FinalKey {
    series: Series,
    variants: Vec<String>,
    host: u32,
}

/// The name of every series after the caps: largest first, ties by name, whatever the order of reading.
fn final_keys(tally: &Tally, with: &Finish<'_>) -> (Vec<FinalKey>, Vec<String>) {
    let mut requests = vec![0u64; tally.series.len()];
    for row in &tally.rows {
        requests[row.series as usize] += row.classes.iter().sum::<u64>();
    }
    let whos: BTreeSet<u32> = tally.series.iter().map(|s| s.who).collect();
    let named: BTreeMap<u32, Named> = whos.into_iter().map(|who| (who, (with.name)(who))).collect();
    let hosts: Vec<String> = tally.hosts.iter().map(|h| printable(h).into_owned()).collect();
    let mut overflow = Vec::new();
    let (mut host_total, mut declared_total) = (BTreeMap::new(), BTreeMap::new());
    for (SeriesState { host, who, .. }, n) in tally.series.iter().zip(&requests) {
        *host_total.entry(hosts[*host as usize].as_str()).or_insert(0u64) += n;
        let name = &named[who];
        if name.category == "declared" && *who != OTHER_DECLARED {
            *declared_total.entry(name.bot.as_str()).or_insert(0u64) += n;
        }
    }
    let kept_hosts = largest(&host_total, MAX_HOSTS);
    declared_total.retain(|_, n| *n >= MIN_DECLARED_REQUESTS);
    let kept_declared = largest(&declared_total, MAX_DECLARED);
    if with.caps && kept_hosts.len() < host_total.len() {
        overflow.push(format!("hosts: {} kept of {}", kept_hosts.len(), host_total.len()));
    }
    let declared = tally.aside.frequent.unwrap_or(declared_total.len());
    if with.caps && kept_declared.len() < declared {
        overflow.push(format!("declared bots: {} kept of {declared}", kept_declared.len()));
    }
    let keys = tally
        .series
        .iter()
        .map(|state| {
            let host = &hosts[state.host as usize];
            let mut name = named[&state.who].clone();
            if with.caps && name.category == "declared" && !kept_declared.contains(name.bot.as_str()) {
                name = Named {
                    bot: "(other-declared)".to_owned(),
                    family: "(other-declared)".to_owned(),
                    category: "declared".to_owned(),
                    ..Named::default()
                };
            }
            let host = if with.caps && !kept_hosts.contains(host.as_str()) { "(other-hosts)" } else { host };
            FinalKey {
                series: Series {
                    host: host.to_owned(),
                    bot: name.bot,
                    verification: state.verification,
                    family: name.family,
                    operator: name.operator,
                    category: name.category,
                },
                variants: name.variants,
                host: state.host,
            }
        })
        .collect();
    (keys, overflow)
}

fn largest<'a>(totals: &BTreeMap<&'a str, u64>, cap: usize) -> BTreeSet<&'a str> {
    let mut order: Vec<(&&str, &u64)> = totals.iter().collect();
    order.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    order.into_iter().take(cap).map(|(name, _)| *name).collect()
}

fn put_minutes(mut rows: Vec<Row>, place: &HashMap<(i32, u32), u32>, tables: &mut BTreeMap<i32, DayTables>) {
    let date_of = |minute: i64| i32::try_from(minute.div_euclid(1440)).unwrap_or(i32::MAX);
    for row in &mut rows {
        row.series = place[&(date_of(row.minute), row.series)];
    }
    rows.sort_by_key(|r| (date_of(r.minute), r.series, r.minute));
    let mut joined: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows {
        match joined.last_mut() {
            Some(last) if last.series == row.series && last.minute == row.minute => last.merge(row),
            _ => joined.push(row),
        }
    }
    for row in joined {
        let Some(table) = tables.get_mut(&date_of(row.minute)) else { continue };
        table.minutes.push(MinuteRow {
            series: row.series,
            minute: row.minute,
            requests: row.classes.iter().sum(),
            bytes_sum: row.bytes,
            classes: row.classes,
            codes: row.codes,
            seconds: joined_seconds(&row.seconds),
            latency_count: row.latency_count,
            // Rounded once per row, so that microseconds do not vanish one by one.
            latency_ms_sum: (row.latency_us_sum + 500) / 1000,
            latency_ms_max: (row.latency_count > 0).then_some((row.latency_us_max + 500) / 1000),
            cached_count: row.cached,
            path_static_requests: row.statics,
            partial: false,
        });
    }
}

fn put_days(
    days: Vec<DaySeries>,
    place: &HashMap<(i32, u32), u32>,
    keys: &[FinalKey],
    tables: &mut BTreeMap<i32, DayTables>,
) {
    let mut joined: BTreeMap<(i32, u32), (DaySeries, u32)> = BTreeMap::new();
    let mut order: Vec<DaySeries> = days;
    // Variants of one name are the same list, so any series of the joined ones serves to name them.
    order.sort_by_key(|d| (d.date, d.series));
    for day in order {
        let at = (day.date, place[&(day.date, day.series)]);
        let series = day.series;
        match joined.get_mut(&at) {
            Some((known, _)) => known.merge(day),
            None => {
                joined.insert(at, (day, series));
            }
        }
    }
    for ((date, index), (day, original)) in joined {
        let Some(table) = tables.get_mut(&date) else { continue };
        let mut status = day.status;
        status.sort_by_key(|s| s.0);
        table.status.extend(status.into_iter().map(|(status, requests, bytes_sum)| StatusRow {
            series: index,
            status,
            requests,
            bytes_sum,
        }));
        let mut samples: Vec<(String, u64)> =
            day.samples.iter().map(|s| (printable(&s.text).into_owned(), s.requests)).collect();
        samples.sort();
        let names = &keys[original as usize].variants;
        let variants = day
            .variants
            .iter()
            .zip(names)
            .filter(|(n, name)| **n > 0 && !name.is_empty())
            .map(|(n, name)| (name.clone(), *n))
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .collect();
        let networks: BTreeMap<String, u64> =
            day.networks.into_iter().map(|(net, n)| (net.to_string(), n)).collect();
        let mut failing_prefixes: Vec<(String, u64)> = networks.into_iter().collect();
        failing_prefixes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        failing_prefixes.truncate(10);
        let latency: BTreeMap<(u8, u16), u64> = day.latency.into_iter().collect();
        table.latency.extend(latency.into_iter().map(|((hour, bucket), requests)| LatencyRow {
            series: index,
            hour: i64::from(date) * 24 + i64::from(hour),
            latency_ms_le: bound_ms(bucket),
            requests,
        }));
        table.bots.push(BotRow {
            series: index,
            urls: day.urls,
            user_agents: day.user_agents,
            samples,
            variants,
            failing_prefixes,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::hit::{Asker, Hit};
    use crate::tally::table::Verification;

    fn name(who: u32) -> Named {
        let (bot, category) = match who {
            0 => ("(people)", ""),
            1 => ("TestBot", "other"),
            n => return Named { bot: format!("d{n}"), category: "declared".to_owned(), ..Named::default() },
        };
        Named { bot: bot.to_owned(), category: category.to_owned(), ..Named::default() }
    }

    fn finished(tally: Tally) -> Finished {
        finish(
            tally,
            &Finish {
                name: &name,
                url_key: &|t, _| String::from_utf8_lossy(t).split('?').next().unwrap().to_owned(),
                url_sample: &|t| String::from_utf8_lossy(t).into_owned(),
                caps: true,
                spilling: None,
            },
        )
        .unwrap()
    }

    fn hit(epoch: i64, status: u16, target: &'static [u8]) -> Hit<'static> {
        Hit {
            host: None,
            epoch,
            status: Some(status),
            bytes: 10,
            latency_us: Some(1500),
            cached: false,
            is_static: false,
            target: Some(target),
            user_agent: Some(b"ua"),
            network: None,
        }
    }

    fn asker(who: u32) -> Asker {
        Asker {
            who,
            is_bot: who > 0,
            variant: 0,
            verification: Verification::NotCheckable,
            user_agent_hash: Some(u64::from(who) + 7),
        }
    }

    #[test]
    fn two_tallies_merge_to_the_rows_of_one_in_any_order() {
        let hits: Vec<(Hit<'_>, Asker)> = (0..500u32)
            .map(|i| {
                (
                    hit(
                        1_773_100_000 + i64::from(i * 7919 % 100_000),
                        [200, 404, 429][i as usize % 3],
                        b"/a?x=1",
                    ),
                    asker(i % 14),
                )
            })
            .collect();
        let tally = |part: &[(Hit<'_>, Asker)]| {
            let mut t = Tally::new(b"(default)");
            for (h, a) in part {
                t.add(h, a);
            }
            t
        };
        let whole = finished(tally(&hits));
        let (mut ab, mut ba) = (tally(&hits[..123]), tally(&hits[123..]));
        ab.merge(tally(&hits[123..]));
        ba.merge(tally(&hits[..123]));
        assert_eq!(finished(ab), whole);
        assert_eq!(finished(ba), whole);
        assert_eq!(whole.days.iter().flat_map(|d| &d.minutes).map(|m| m.requests).sum::<u64>(), 500);
        assert_eq!(whole.days.iter().flat_map(|d| &d.status).map(|s| s.requests).sum::<u64>(), 500);
    }

    #[test]
    fn rare_declared_names_are_one_group_and_nothing_is_lost() {
        let mut tally = Tally::new(b"(default)");
        for who in 2..30 {
            for i in 0..(if who == 5 { 10 } else { 9 }) {
                tally.add(&hit(1_773_100_000 + i, 200, b"/"), &asker(who));
            }
        }
        let day = &finished(tally).days[0];
        let bots: Vec<&str> = day.series.iter().map(|s| s.bot.as_str()).collect();
        assert_eq!(bots, ["(other-declared)", "d5"]);
        assert_eq!(day.minutes.iter().map(|m| m.requests).sum::<u64>(), 27 * 9 + 10);
        assert_eq!(day.minutes[0].seconds.iter().map(|s| s.1).sum::<u64>(), 27 * 9);
    }

    #[test]
    fn waste_past_the_cap_is_one_row_per_status() {
        let mut tally = Tally::new(b"(default)");
        let targets: Vec<Vec<u8>> = (0..1500).map(|i| format!("/u/{i:04}").into_bytes()).collect();
        for (i, target) in targets.iter().enumerate() {
            let mut h = hit(1_773_100_000, if i % 2 == 0 { 404 } else { 500 }, b"");
            h.target = Some(target);
            tally.add(&h, &asker(1));
        }
        let waste = &finished(tally).days[0].waste;
        assert_eq!(waste.len(), 1002);
        assert_eq!(waste.iter().map(|w| w.hits).sum::<u64>(), 1500);
        assert_eq!(
            (waste[0].url_key.as_str(), waste[0].hits, waste[2].url_key.as_str()),
            ("(other)", 250, "/u/0000")
        );
    }

    /// A key as those of the product: no host unless it is a foreign one, no `utm` parameter.
    fn key(target: &[u8], host: &str) -> String {
        let text = String::from_utf8_lossy(target);
        let path = match text.strip_prefix("http://") {
            Some(rest) if host == "(default)" || rest.split('/').next() == Some(host) => {
                rest[rest.find('/').unwrap_or(rest.len())..].to_owned()
            }
            _ => text.into_owned(),
        };
        path.split("?utm=").next().unwrap_or_default().to_owned()
    }

    fn rows_of(tally: Tally, spilling: Option<&Spilling<'_>>, caps: bool) -> Finished {
        let sample = |t: &[u8]| String::from_utf8_lossy(t).into_owned();
        let with = Finish { name: &name, url_key: &key, url_sample: &sample, caps, spilling };
        finish(tally, &with).unwrap()
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]

        /// Whatever is written when, by however many threads, and in whichever order their tallies are merged.
        #[test]
        fn what_was_written_gives_the_rows_of_what_was_not(
            seed in 0u64..1 << 40,
            parts in 1usize..4,
            every in 40usize..700,
            verdicts in proptest::bool::ANY,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let spill = crate::tally::spill::Spill::new(folder.path().to_owned(), 0, 1);
            let anywhere = |target: &[u8]| key(target, "(default)");
            let spilling = Spilling { to: &spill, key: &anywhere };
            let mut whole = Tally::new(b"(default)");
            let mut written: Vec<Tally> = (0..parts).map(|_| Tally::new(b"(default)")).collect();
            let mut state = seed | 1;
            let mut draw = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            for i in 0..8000 {
                // A few URLs come often, most once: more than the cap of each series and date.
                let number = if draw(3) == 0 { draw(40) } else { draw(20_000) };
                let target = match draw(8) {
                    0 => format!("http://a.example/u/{number}"),
                    1 => format!("http://b.example/u/{number}?p{}={number}", draw(3_000)),
                    2 => format!("/u/{number}?utm={}", draw(5)),
                    3 => format!("/u/{number}?q={number}&p{}=1", draw(2)),
                    4 => format!("*{number}"),
                    _ => format!("/u/{number}"),
                };
                let mut h = hit(1_773_100_000 + 86_400 * i64::from(draw(8) == 0), 404, b"");
                h.status = Some([404, 404, 500, 200][usize::try_from(draw(4)).unwrap()]);
                h.target = Some(target.as_bytes());
                // Most of one site and one bot, so that there is something to cut.
                h.host = match draw(10) {
                    0 => Some(b"a.example"),
                    1 => Some(b"b.example"),
                    _ => None,
                };
                let mut a = asker(match draw(10) {
                    0 => 0,
                    1 => 2,
                    _ => 1,
                });
                if a.who == 1 && draw(8) == 0 {
                    a.verification = Verification::Failed;
                }
                whole.add(&h, &a);
                let part = usize::try_from(draw(parts as u64)).unwrap();
                written[part].add(&h, &a);
                if i % every == every - 1 {
                    written[part].waste.spill(&spilling).unwrap();
                }
            }
            if draw(2) == 0 {
                written.reverse();
            }
            let mut merged = written.pop().unwrap();
            written.into_iter().for_each(|part| merged.merge(part));
            if verdicts {
                (whole, merged) = (whole.without_verdicts(), merged.without_verdicts());
            }
            proptest::prop_assert!(spill.spilled().1 >= 3);
            let mut matched = crate::tally::matched::MatchedTally::of_bots(&merged);
            let mut want = crate::tally::matched::MatchedTally::of_bots(&whole);
            proptest::prop_assert_eq!(
                matched.top_waste(40, Some(&spilling)).unwrap(),
                want.top_waste(40, None).unwrap()
            );
            let want = rows_of(whole, None, true);
            proptest::prop_assert!(want.days.iter().any(|d| d.waste.iter().any(|w| w.url_key == "(other)")));
            proptest::prop_assert!(want.days.iter().all(|d| !d.params.is_empty()));
            proptest::prop_assert!(rows_of(merged, Some(&spilling), true) == want);
        }
    }
}
