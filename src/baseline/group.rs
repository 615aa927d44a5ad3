//! Rows of many sources and days gathered by host and bot. Sums only what is small; minutes stay where they are.
//!
//! Example: the rows of `(www.example.com, Googlebot)` of two logs and three verdicts are one group.

use std::collections::{BTreeMap, HashMap};

use super::fold::{Names, RollUp, index};
use crate::tally::GroupBy;
use crate::tally::distinct::{Distinct, stable_hash};
use crate::tally::table::{DayTables, MinuteRow, Verification};

/// The key of everything past a cap of URLs.
const OTHER_URLS: &str = "(other)";
/// User-Agents that each bot keeps.
const SAMPLES: usize = 5;

/// One canonical URL with its errors.
#[derive(Debug, Clone)]
pub(super) struct Waste<'a> {
    pub sample: &'a str,
    pub status: BTreeMap<u16, u64>,
    pub hits: u64,
}

/// One bot on one host.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub host: &'a str,
    pub bot: &'a str,
    pub is_bot: bool,
    pub roll_up: RollUp<'a>,
    /// Rows of those who are not known to be somebody else.
    pub genuine: Vec<&'a MinuteRow>,
    /// Rows whose claim failed.
    pub failed: Vec<&'a MinuteRow>,
    pub verified: u64,
    pub not_checkable: u64,
    pub status: BTreeMap<Option<u16>, u64>,
    pub waste: BTreeMap<&'a str, Waste<'a>>,
    pub waste_past_cap: u64,
    pub urls: Distinct,
    pub user_agents: Distinct,
    samples: BTreeMap<&'a str, u64>,
    pub variants: BTreeMap<&'a str, u64>,
    prefixes: BTreeMap<&'a str, u64>,
}

impl<'a> Group<'a> {
    fn new(host: &'a str, bot: &'a str, is_bot: bool, roll_up: RollUp<'a>) -> Self {
        Self {
            host,
            bot,
            is_bot,
            roll_up,
            genuine: Vec::new(),
            failed: Vec::new(),
            verified: 0,
            not_checkable: 0,
            status: BTreeMap::new(),
            waste: BTreeMap::new(),
            waste_past_cap: 0,
            urls: Distinct::default(),
            user_agents: Distinct::default(),
            samples: BTreeMap::new(),
            variants: BTreeMap::new(),
            prefixes: BTreeMap::new(),
        }
    }

    /// Every row, whatever the verdict.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a MinuteRow> + '_ {
        self.genuine.iter().chain(&self.failed).copied()
    }

    /// (minute, requests) of every row.
    pub(super) fn minutes(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.rows().map(|row| (row.minute, row.requests))
    }

    /// The User-Agents with the smallest hash, by text: one of them is among the five of every part that has it, so that
    /// its count is exact.
    pub(super) fn samples(&self) -> Vec<(&'a str, u64)> {
        let mut all: Vec<_> =
            self.samples.iter().map(|(text, n)| (stable_hash(text.as_bytes()), *text, *n)).collect();
        all.sort_unstable();
        let mut five: Vec<_> = all.into_iter().take(SAMPLES).map(|(_, text, n)| (text, n)).collect();
        five.sort_unstable();
        five
    }

    /// Networks of failed claims, most requests first.
    pub(super) fn prefixes(&self) -> Vec<(&'a str, u64)> {
        let mut all: Vec<_> = self.prefixes.iter().map(|(text, n)| (*text, *n)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all.truncate(10);
        all
    }
}

/// One group for each host and bot, sorted by both. With `all_are_bots` names are User-Agents or patterns, and one in
/// parentheses is no group of people. Under a roll-up, bots that share it are one group.
pub(super) fn gather<'a>(
    days: &[&'a DayTables],
    names: &Names<'a>,
    all_are_bots: bool,
    group_by: GroupBy,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut positions: HashMap<(&str, &str), usize> = HashMap::new();
    for day in days {
        let of_series: Vec<usize> = day
            .series
            .iter()
            .map(|series| {
                let (host, bot) = (names.host(&series.host), names.bot(&series.bot));
                let is_bot = all_are_bots || series.is_bot();
                let roll_up = names.roll_up(bot);
                let entry = roll_up.entry(bot, is_bot, group_by);
                let position = *positions.entry((host, entry)).or_insert_with(|| {
                    groups.push(Group::new(host, entry, is_bot, roll_up));
                    groups.len() - 1
                });
                if entry != bot {
                    groups[position].roll_up = groups[position].roll_up.shared(&roll_up);
                }
                position
            })
            .collect();
        add(day, &of_series, &mut groups);
    }
    groups.sort_unstable_by(|a, b| (a.host, a.bot).cmp(&(b.host, b.bot)));
    for group in &mut groups {
        group.genuine.sort_by_key(|row| row.minute);
        group.failed.sort_by_key(|row| row.minute);
    }
    groups
}

fn add<'a>(day: &'a DayTables, of_series: &[usize], groups: &mut [Group<'a>]) {
    for row in &day.minutes {
        let series = index(row.series);
        let group = &mut groups[of_series[series]];
        match day.series[series].verification {
            Verification::Failed => group.failed.push(row),
            Verification::Verified => {
                group.verified += row.requests;
                group.genuine.push(row);
            }
            Verification::NotCheckable => {
                group.not_checkable += row.requests;
                group.genuine.push(row);
            }
        }
    }
    for row in &day.status {
        *groups[of_series[index(row.series)]].status.entry(row.status).or_default() += row.requests;
    }
    for row in &day.waste {
        let group = &mut groups[of_series[index(row.series)]];
        if row.url_key == OTHER_URLS {
            group.waste_past_cap += row.hits;
            continue;
        }
        let waste = group.waste.entry(&row.url_key).or_insert_with(|| Waste {
            sample: &row.url_sample,
            status: BTreeMap::new(),
            hits: 0,
        });
        waste.sample = waste.sample.min(&row.url_sample);
        *waste.status.entry(row.status).or_default() += row.hits;
        waste.hits += row.hits;
    }
    for row in &day.bots {
        let group = &mut groups[of_series[index(row.series)]];
        group.urls.merge(&row.urls);
        group.user_agents.merge(&row.user_agents);
        for (counts, rows) in [
            (&mut group.samples, &row.samples),
            (&mut group.variants, &row.variants),
            (&mut group.prefixes, &row.failing_prefixes),
        ] {
            for (text, n) in rows {
                *counts.entry(text).or_default() += n;
            }
        }
    }
}
