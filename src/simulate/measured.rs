//! How a host answered in the history: latency by load, the load of everybody, the size of an answer, how often bots came
//! for nothing new.
//!
//! Minutes are put into at most ten bins of equal count by their load, as the ceilings do; a bin's median load and
//! median latency are a point of the curve. Example: 120 ms up to 300 requests a minute, 500 ms at 600.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::LatencyCurve;
use crate::tally::distinct::Distinct;
use crate::tally::table::DayTables;
use crate::throttle::{Revisit, revisit};

/// Minutes of a bin, unless there are too few for that.
const BIN_MINUTES: usize = 30;
/// Bins at most.
const BINS: usize = 10;

/// The minutes of the hosts that are asked for.
#[derive(Debug, Default)]
pub struct MeasuredHosts {
    hosts: BTreeMap<String, MeasuredHost>,
}

/// One host's minutes.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct MeasuredHost {
    /// Minute: requests, requests with a latency, milliseconds.
    minutes: BTreeMap<i64, (u64, u64, u64)>,
    bytes: u64,
    requests: u64,
    /// Of bots: requests, 304s, distinct URLs, dates.
    bot_requests: u64,
    not_modified: u64,
    urls: Distinct,
    dates: BTreeSet<i32>,
}

impl MeasuredHosts {
    /// Nothing seen yet of these hosts.
    #[must_use]
    pub fn of<'a>(hosts: impl IntoIterator<Item = &'a str>) -> Self {
        Self { hosts: hosts.into_iter().map(|host| (host.to_owned(), MeasuredHost::default())).collect() }
    }

    /// Takes a date in.
    pub fn add(&mut self, day: &DayTables) {
        for row in &day.minutes {
            let host =
                day.series.get(row.series as usize).and_then(|series| self.hosts.get_mut(&series.host));
            let Some(host) = host else { continue };
            let minute = host.minutes.entry(row.minute).or_default();
            minute.0 += row.requests;
            minute.1 += row.latency_count;
            minute.2 += row.latency_ms_sum;
            host.bytes = host.bytes.saturating_add(row.bytes_sum);
            host.requests += row.requests;
            if day.series.get(row.series as usize).is_some_and(|series| series.is_bot()) {
                host.bot_requests += row.requests;
                host.not_modified += row.code(304);
                host.dates.insert(day.date);
            }
        }
        for row in &day.bots {
            let series = day.series.get(row.series as usize).filter(|series| series.is_bot());
            if let Some(host) = series.and_then(|series| self.hosts.get_mut(&series.host)) {
                host.urls.merge(&row.urls);
            }
        }
    }

    /// The hosts that were seen.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &MeasuredHost)> {
        self.hosts.iter().filter(|(_, host)| host.requests > 0).map(|(name, host)| (name.as_str(), host))
    }

    /// Mean bytes of an answer over all hosts; none without a request.
    #[must_use]
    pub fn response_bytes_mean(&self) -> Option<u64> {
        let sum = |of: fn(&MeasuredHost) -> u64| self.hosts.values().map(of).fold(0, u64::saturating_add);
        sum(|host| host.bytes).checked_div(sum(|host| host.requests))
    }
}

impl MeasuredHost {
    /// Latency by load; assumed where none was logged.
    #[must_use]
    pub fn latency(&self) -> LatencyCurve {
        let mut points: Vec<(f64, f64)> = self
            .minutes
            .values()
            .filter(|(_, count, _)| *count > 0)
            .map(|(requests, count, sum)| (*requests as f64, *sum as f64 / *count as f64))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let bins = (points.len() / BIN_MINUTES).clamp(1, BINS);
        let edge = |i: usize| i * points.len() / bins;
        let bins: Vec<(f64, f64)> = (0..bins)
            .map(|i| &points[edge(i)..edge(i + 1)])
            .filter(|bin| !bin.is_empty())
            .map(|bin| (median(bin.iter().map(|p| p.0)), median(bin.iter().map(|p| p.1))))
            .collect();
        LatencyCurve::of_bins(&bins)
    }

    /// How often a page is worth a visit, by the share of 304 that bots were answered: they come back to a page every
    /// `dates * URLs / requests` days. None without any 304: then nobody asks conditionally, and nothing is known.
    #[must_use]
    pub fn revisit(&self) -> Option<Revisit> {
        let days = self.dates.len() as f64;
        let visits = self.bot_requests as f64 / self.urls.estimate().max(1) as f64;
        let interval = Duration::try_from_secs_f64(days * 86_400.0 / visits).ok()?;
        let found =
            revisit(interval, self.bot_requests, self.not_modified).filter(|_| self.not_modified > 0)?;
        // More would not survive being written and read back.
        let rounded = |share: f64| (share * 1e6).round() / 1e6;
        Some(Revisit {
            requests_saved_share: rounded(found.requests_saved_share),
            bodies_saved_share: rounded(found.bodies_saved_share),
            ..found
        })
    }

    /// The median of the minutes' requests of everybody: the load that is there already.
    #[must_use]
    pub fn background_per_minute(&self) -> u64 {
        let mut requests: Vec<u64> = self.minutes.values().map(|minute| minute.0).collect();
        requests.sort_unstable();
        requests.get(requests.len().saturating_sub(1) / 2).copied().unwrap_or(0)
    }
}

/// The lower median of a bin that is not empty.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tally::table::{MinuteRow, Series, Verification};

    #[test]
    fn the_curve_goes_through_the_medians_of_bins_of_load() {
        let series = |host: &str| Series {
            host: host.to_owned(),
            bot: "(people)".to_owned(),
            verification: Verification::NotCheckable,
            family: String::new(),
            operator: String::new(),
            category: String::new(),
        };
        // 60 minutes at 10 requests and 100 ms, 60 at 50 and 300 ms, each in two rows; another host is left out.
        let rows = (0..120).flat_map(|minute| {
            let (requests, ms) = if minute < 60 { (10, 100) } else { (50, 300) };
            (0..2).map(move |_| MinuteRow {
                minute,
                requests: requests / 2,
                bytes_sum: requests * 50,
                latency_count: requests / 2,
                latency_ms_sum: requests / 2 * ms,
                ..MinuteRow::default()
            })
        });
        let mut minutes: Vec<MinuteRow> = rows.collect();
        minutes.push(MinuteRow { series: 1, requests: 999, ..MinuteRow::default() });
        let day = DayTables { series: vec![series("h"), series("other")], minutes, ..DayTables::default() };
        let mut measured = MeasuredHosts::of(["h", "unseen"]);
        measured.add(&day);
        let hosts: Vec<&str> = measured.iter().map(|(name, _)| name).collect();
        assert_eq!(hosts, ["h"]);
        let (_, host) = measured.iter().next().unwrap();
        let curve = host.latency();
        assert!(!curve.is_assumed());
        assert_eq!(curve.at(0.0), Duration::from_millis(100));
        assert_eq!(curve.at(30.0), Duration::from_millis(200));
        assert_eq!(curve.at(900.0), Duration::from_millis(300));
        assert_eq!(host.background_per_minute(), 10);
        assert_eq!(measured.response_bytes_mean(), Some(100));
        assert!(MeasuredHost::default().latency().is_assumed());
    }

    #[test]
    fn pages_that_bots_find_unchanged_are_worth_fewer_visits() {
        let series = Series {
            host: "h".to_owned(),
            bot: "ABot".to_owned(),
            verification: Verification::NotCheckable,
            family: "ABot".to_owned(),
            operator: String::new(),
            category: "other".to_owned(),
        };
        // 10 URLs, each asked for 24 times on each of two dates, 97 % unchanged: hourly visits to pages of days.
        let mut measured = MeasuredHosts::of(["h"]);
        let mut urls = Distinct::default();
        (0..10_u64).for_each(|n| urls.insert(crate::tally::distinct::stable_hash(&n.to_le_bytes())));
        for date in 0..2 {
            let minute =
                MinuteRow { requests: 240, codes: [233, 0, 0, 0, 0, 0, 0, 0], ..MinuteRow::default() };
            let bot = crate::tally::table::BotRow {
                series: 0,
                urls: urls.clone(),
                user_agents: Distinct::default(),
                samples: Vec::new(),
                variants: Vec::new(),
                failing_prefixes: Vec::new(),
            };
            let day = DayTables {
                date,
                series: vec![series.clone()],
                minutes: vec![minute],
                bots: vec![bot],
                ..DayTables::default()
            };
            measured.add(&day);
        }
        let (_, host) = measured.iter().next().unwrap();
        let revisit = host.revisit().unwrap();
        assert_eq!(revisit.tier, crate::throttle::Tier::Day);
        assert!((revisit.requests_saved_share - 23.0 / 24.0).abs() < 0.01, "{revisit:?}");
        assert!((revisit.bodies_saved_share - 233.0 / 240.0).abs() < 0.001, "{revisit:?}");
        assert_eq!(MeasuredHost::default().revisit(), None);
    }
}
