//! From counts to rows: names put in, caps applied, everything sorted. The same counts give the same rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

use crate::format::escape::{printable, unescape};
use crate::tally::fold::{DaySeries, Row, SeriesState, Tally, joined_seconds};
use crate::tally::latency::bound_ms;
use crate::tally::parameters::of_bots;
use crate::tally::table::{BotRow, Coverage, DayTables, LatencyRow, MinuteRow, Series, StatusRow, WasteRow};

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
#[must_use]
pub fn finish(mut tally: Tally, with: &Finish<'_>) -> Finished {
    tally.flush_coverage();
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
    if with.caps {
        let shown = keys.iter().map(|key| (key.host, key.series.host.as_str())).collect();
        for (date, rows) in of_bots(&waste, &queries, &series, &shown) {
            tables.entry(date).and_modify(|table| table.params = rows);
        }
    }
    put_waste(&waste, &place, &hosts, &keys, with, &mut tables);

    Finished {
        days: tables.into_values().collect(),
        coverage: coverage.into_iter().map(|(date, (first, last))| Coverage { date, first, last }).collect(),
        overflow,
    }
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
        if name.category == "declared" {
            *declared_total.entry(name.bot.as_str()).or_insert(0u64) += n;
        }
    }
    let kept_hosts = largest(&host_total, MAX_HOSTS);
    declared_total.retain(|_, n| *n >= MIN_DECLARED_REQUESTS);
    let kept_declared = largest(&declared_total, MAX_DECLARED);
    if with.caps && kept_hosts.len() < host_total.len() {
        overflow.push(format!("hosts: {} kept of {}", kept_hosts.len(), host_total.len()));
    }
    if with.caps && kept_declared.len() < declared_total.len() {
        overflow.push(format!("declared bots: {} kept of {}", kept_declared.len(), declared_total.len()));
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

fn put_waste(
    waste: &crate::tally::waste::WasteTable,
    place: &HashMap<(i32, u32), u32>,
    hosts: &[Vec<u8>],
    keys: &[FinalKey],
    with: &Finish<'_>,
    tables: &mut BTreeMap<i32, DayTables>,
) {
    let host_names: Vec<String> = hosts.iter().map(|h| printable(h).into_owned()).collect();
    let mut rows: Vec<(i32, WasteRow)> = waste
        .entries()
        .par_iter()
        .map(|entry| {
            let text = waste.text(entry);
            let host = &host_names[keys[entry.series as usize].host as usize];
            let row = WasteRow {
                series: place[&(entry.date, entry.series)],
                url_key: (with.url_key)(&unescape(text), host),
                status: entry.status,
                hits: entry.hits,
                bytes_sum: entry.bytes,
                url_sample: (with.url_sample)(text),
            };
            (entry.date, row)
        })
        .collect();
    rows.par_sort_unstable_by(|a, b| {
        (a.0, a.1.series, &a.1.url_key, a.1.status, &a.1.url_sample).cmp(&(
            b.0,
            b.1.series,
            &b.1.url_key,
            b.1.status,
            &b.1.url_sample,
        ))
    });
    // Rows of one key and status are neighbours now, the smallest sample first.
    rows.dedup_by(|later, kept| {
        let same = kept.0 == later.0
            && kept.1.series == later.1.series
            && kept.1.status == later.1.status
            && kept.1.url_key == later.1.url_key;
        if same {
            kept.1.hits += later.1.hits;
            kept.1.bytes_sum = kept.1.bytes_sum.saturating_add(later.1.bytes_sum);
        }
        same
    });
    let mut rest = rows.into_iter().peekable();
    while let Some(first) = rest.peek() {
        let (date, series) = (first.0, first.1.series);
        let mut group = Vec::new();
        while let Some((_, row)) = rest.next_if(|(d, r)| *d == date && r.series == series) {
            group.push(row);
        }
        if let Some(table) = tables.get_mut(&date) {
            table.waste.extend(if with.caps { cut_waste(group) } else { group });
        }
    }
}

/// Keeps the URLs with most hits (ties bytewise) and sums the rest by status as `(other)`, which sorts first.
fn cut_waste(group: Vec<WasteRow>) -> Vec<WasteRow> {
    let mut hits_of: Vec<(u64, &str)> = Vec::new();
    for row in &group {
        match hits_of.last_mut() {
            Some((hits, key)) if *key == row.url_key => *hits += row.hits,
            _ => hits_of.push((row.hits, &row.url_key)),
        }
    }
    if hits_of.len() <= MAX_WASTE_URLS {
        return group;
    }
    hits_of.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let kept: BTreeSet<String> =
        hits_of.into_iter().take(MAX_WASTE_URLS).map(|(_, key)| key.to_owned()).collect();
    let mut other: BTreeMap<u16, WasteRow> = BTreeMap::new();
    let mut rows = Vec::with_capacity(MAX_WASTE_URLS + 8);
    for row in group {
        if kept.contains(&row.url_key) {
            rows.push(row);
            continue;
        }
        let sum = other.entry(row.status).or_insert_with(|| WasteRow {
            series: row.series,
            url_key: "(other)".to_owned(),
            status: row.status,
            hits: 0,
            bytes_sum: 0,
            url_sample: "(other)".to_owned(),
        });
        sum.hits += row.hits;
        sum.bytes_sum = sum.bytes_sum.saturating_add(row.bytes_sum);
    }
    rows.extend(other.into_values());
    rows.sort_by(|a, b| (&a.url_key, a.status).cmp(&(&b.url_key, b.status)));
    rows
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
            },
        )
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
}
