//! Small tables for the tests of this room, counted the slow way from single requests.

use std::collections::{BTreeMap, BTreeSet};

use super::input::{Input, InputSource};
use crate::tally::distinct::{Distinct, stable_hash};
use crate::tally::table::{
    BotRow, Coverage, DayTables, LineCounts, MinuteRow, STATUS_CODES, Series, StatusRow, Verification,
    WasteRow, status_class,
};

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub host: String,
    pub bot: String,
    /// The bot itself where it is empty.
    pub family: String,
    pub operator: String,
    pub category: String,
    pub verdict: Verification,
    pub epoch: i64,
    pub status: Option<u16>,
    pub bytes: u64,
    pub url: String,
    pub user_agent: String,
    pub latency_ms: Option<u64>,
}

impl Default for Hit {
    fn default() -> Self {
        Self {
            host: "(default)".into(),
            bot: "Googlebot".into(),
            family: String::new(),
            operator: String::new(),
            category: "search-engine".into(),
            verdict: Verification::NotCheckable,
            epoch: 0,
            status: Some(200),
            bytes: 0,
            url: "/".into(),
            user_agent: "ua".into(),
            latency_ms: None,
        }
    }
}

impl Hit {
    fn series(&self) -> Series {
        Series {
            host: self.host.clone(),
            bot: self.bot.clone(),
            verification: self.verdict,
            family: if self.family.is_empty() { self.bot.clone() } else { self.family.clone() },
            operator: self.operator.clone(),
            category: self.category.clone(),
        }
    }

    fn date(&self) -> i32 {
        i32::try_from(self.epoch.div_euclid(86_400)).unwrap()
    }
}

/// The tables of one source.
pub(super) fn days(hits: &[Hit]) -> Vec<DayTables> {
    let dates: BTreeSet<i32> = hits.iter().map(Hit::date).collect();
    dates
        .into_iter()
        .map(|date| day(date, &hits.iter().filter(|h| h.date() == date).collect::<Vec<_>>()))
        .collect()
}

fn day(date: i32, hits: &[&Hit]) -> DayTables {
    let mut series: Vec<Series> = Vec::new();
    for hit in hits {
        series.push(hit.series());
    }
    series.sort_by(|a, b| a.key().cmp(&b.key()));
    series.dedup_by(|a, b| a.key() == b.key());
    let positions: BTreeMap<_, u32> = series.iter().map(Series::key).zip(0..).collect();
    let (mut minutes, mut seconds) = (BTreeMap::new(), BTreeMap::<_, BTreeMap<u8, u64>>::new());
    let (mut status, mut waste) = (BTreeMap::new(), BTreeMap::new());
    let mut bots: BTreeMap<u32, (BotRow, BTreeMap<String, u64>)> = BTreeMap::new();
    for hit in hits {
        let key = (hit.host.as_str(), hit.bot.as_str(), hit.verdict.name());
        let (series, minute) = (positions[&key], hit.epoch.div_euclid(60));
        let row = minutes.entry((series, minute)).or_insert_with(|| MinuteRow {
            series,
            minute,
            ..MinuteRow::default()
        });
        row.requests += 1;
        row.bytes_sum += hit.bytes;
        row.classes[status_class(hit.status)] += 1;
        if let Some(i) = STATUS_CODES.iter().position(|c| Some(*c) == hit.status) {
            row.codes[i] += 1;
        }
        if let Some(ms) = hit.latency_ms {
            row.latency_count += 1;
            row.latency_ms_sum += ms;
            row.latency_ms_max = row.latency_ms_max.max(Some(ms));
        }
        let second = u8::try_from(hit.epoch.rem_euclid(60)).unwrap();
        *seconds.entry((series, minute)).or_default().entry(second).or_default() += 1;
        let requests: &mut (u64, u64) = status.entry((series, hit.status)).or_default();
        *requests = (requests.0 + 1, requests.1 + hit.bytes);
        if let Some(code @ 400..=599) = hit.status {
            // The fixture's canonical form: the URL without its query.
            let key = hit.url.split('?').next().unwrap().to_owned();
            let row = waste.entry((series, key.clone(), code)).or_insert_with(|| WasteRow {
                series,
                url_key: key,
                status: code,
                hits: 0,
                bytes_sum: 0,
                url_sample: hit.url.clone(),
            });
            row.hits += 1;
            row.bytes_sum += hit.bytes;
            row.url_sample = row.url_sample.clone().min(hit.url.clone());
        }
        let (bot, agents) = bots.entry(series).or_insert_with(|| {
            let (urls, user_agents) = (Distinct::default(), Distinct::default());
            let (samples, variants, failing_prefixes) = (Vec::new(), Vec::new(), Vec::new());
            (BotRow { series, urls, user_agents, samples, variants, failing_prefixes }, BTreeMap::new())
        });
        bot.urls.insert(stable_hash(hit.url.as_bytes()));
        bot.user_agents.insert(stable_hash(hit.user_agent.as_bytes()));
        *agents.entry(hit.user_agent.clone()).or_default() += 1;
    }
    DayTables {
        date,
        latency: Vec::new(),
        params: Vec::new(),
        minutes: minutes
            .into_iter()
            .map(|(key, row)| MinuteRow {
                seconds: seconds[&key].iter().map(|(s, n)| (*s, *n)).collect(),
                ..row
            })
            .collect(),
        status: status
            .into_iter()
            .map(|((series, status), (requests, bytes_sum))| StatusRow {
                series,
                status,
                requests,
                bytes_sum,
            })
            .collect(),
        waste: waste.into_values().collect(),
        bots: bots
            .into_values()
            .map(|(bot, agents)| BotRow { samples: smallest_five(agents), ..bot })
            .collect(),
        series,
    }
}

fn smallest_five(agents: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut all: Vec<_> = agents.into_iter().collect();
    all.sort_by_key(|(text, _)| stable_hash(text.as_bytes()));
    all.truncate(5);
    all.sort();
    all
}

/// The source that holds these requests and nothing else.
pub(super) fn source(path: &str, hits: &[Hit]) -> InputSource {
    let mut coverage: BTreeMap<i32, Coverage> = BTreeMap::new();
    for hit in hits {
        let c = coverage.entry(hit.date()).or_insert(Coverage {
            date: hit.date(),
            first: hit.epoch,
            last: hit.epoch,
        });
        (c.first, c.last) = (c.first.min(hit.epoch), c.last.max(hit.epoch));
    }
    let n = u64::try_from(hits.len()).unwrap();
    InputSource {
        path: path.to_owned(),
        source: Some(format!("{:016x}", stable_hash(path.as_bytes()))),
        compression: "none".to_owned(),
        clock: "end".to_owned(),
        counts: LineCounts { lines: n, records: n, ..LineCounts::default() },
        coverage: coverage.into_values().collect(),
        read: true,
        ..InputSource::default()
    }
}

/// The input of these sources, `log-0`, `log-1` ...
pub(super) fn input<'a>(sources: &[Vec<Hit>], days: &'a [DayTables]) -> Input<'a> {
    Input {
        generator: "crawl-baseline test".to_owned(),
        analysis_window_min: 60,
        sources: sources.iter().enumerate().map(|(i, hits)| source(&format!("log-{i}"), hits)).collect(),
        days: days.iter().collect(),
        ..Input::default()
    }
}
