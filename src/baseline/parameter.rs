//! Query parameters of each host in what bots fetched, and which of them look like a crawl trap: one page under ever new
//! addresses.
//!
//! Example: `sid` with 4,000 values in 4,100 requests of bots is one; `page` with 12 is none.

use std::collections::BTreeMap;

use super::document::Parameter;
use super::fold::Names;
use crate::tally::distinct::Distinct;
use crate::tally::parameters::OTHER;
use crate::tally::table::DayTables;
use crate::url::Rules;

pub(super) use crate::tally::parameters::MAX_PARAMETERS;

/// How many are listed for each host.
const LISTED: usize = 20;
/// So many values of a parameter that makes no page by its name (sessions, tracking, orders) ...
const VALUES_OF_NO_PAGE: u64 = 100;
/// ... and of any other: an id has as many, and is no trap; a person has to look.
const VALUES: u64 = 1_000;
/// How many are named in a warning.
const NAMED: usize = 5;

#[derive(Debug, Default)]
struct Sum {
    hits: u64,
    distinct: Distinct,
    sampled_one_in: u64,
}

/// The parameters of all hosts.
#[derive(Debug, Default)]
pub(super) struct Parameters<'a> {
    hosts: BTreeMap<&'a str, BTreeMap<&'a str, Sum>>,
    /// Requests with parameters past the cap of their source.
    pub beyond: u64,
}

impl<'a> Parameters<'a> {
    /// Sums the rows of all days; hosts that do not stand for themselves are one.
    pub(super) fn of(days: &[&'a DayTables], names: &Names<'a>) -> Self {
        let mut all = Self::default();
        for row in days.iter().flat_map(|day| &day.params) {
            if row.parameter == OTHER {
                all.beyond = all.beyond.saturating_add(row.hits);
                continue;
            }
            let host = all.hosts.entry(names.host(&row.host)).or_default();
            let sum = host.entry(&row.parameter).or_default();
            sum.hits = sum.hits.saturating_add(row.hits);
            sum.distinct.merge(&row.distinct);
            sum.sampled_one_in = sum.sampled_one_in.max(row.sampled_one_in);
        }
        all
    }

    /// Those of one host with most values, then most hits, then by name.
    pub(super) fn listed(&self, host: &str) -> Vec<Parameter> {
        let mut listed: Vec<Parameter> = self
            .hosts
            .get(host)
            .into_iter()
            .flatten()
            .map(|(name, sum)| Parameter {
                name: (*name).to_owned(),
                hits: sum.hits,
                distinct_values: sum.distinct.estimate(),
                sampled_one_in: sum.sampled_one_in,
            })
            .collect();
        listed.sort_by(|a, b| {
            (b.distinct_values, b.hits).cmp(&(a.distinct_values, a.hits)).then_with(|| a.name.cmp(&b.name))
        });
        listed.truncate(LISTED);
        listed
    }

    /// Hosts with the parameters that multiply their URLs, in words.
    pub(super) fn traps(&self) -> Vec<(String, String)> {
        let rules = Rules::default();
        let mut traps = Vec::new();
        for host in self.hosts.keys() {
            let words: Vec<String> = self
                .listed(host)
                .iter()
                .filter(|p| {
                    p.distinct_values >= if rules.drops(&p.name) { VALUES_OF_NO_PAGE } else { VALUES }
                })
                .take(NAMED)
                .map(|p| {
                    let sample = match p.sampled_one_in {
                        0 | 1 => String::new(),
                        n => format!(" of a sample of one URL in {n}"),
                    };
                    format!("{} has {} values in {} requests{sample}", p.name, p.distinct_values, p.hits)
                })
                .collect();
            if !words.is_empty() {
                traps.push(((*host).to_owned(), words.join(", ")));
            }
        }
        traps
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure;
    use super::*;
    use crate::baseline::fixture::{Hit, days, input};
    use crate::tally::distinct::stable_hash;
    use crate::tally::table::ParamRow;

    fn row(
        host: &str,
        parameter: &str,
        hits: u64,
        values: std::ops::Range<u64>,
        sampled_one_in: u64,
    ) -> ParamRow {
        let mut distinct = Distinct::default();
        values.for_each(|value| distinct.insert(stable_hash(&value.to_le_bytes())));
        ParamRow { host: host.to_owned(), parameter: parameter.to_owned(), hits, distinct, sampled_one_in }
    }

    #[test]
    fn parameters_add_up_over_sources_and_those_that_multiply_urls_are_said() {
        let sources = vec![vec![Hit::default()], vec![Hit { epoch: 90_000, ..Hit::default() }]];
        let mut tables: Vec<_> = sources.iter().flat_map(|hits| days(hits)).collect();
        let host = "(default)";
        tables[0].params = vec![
            row(host, "(other)", 7, 0..3, 1),
            row(host, "color", 900, 0..4, 1),
            row(host, "sid", 200, 0..120, 1),
        ];
        tables[1].params = vec![
            row(host, "color", 100, 2..6, 4),
            row(host, "id", 2_000, 0..900, 1),
            row(host, "q", 9_000, 0..4_000, 4),
            row(host, "sid", 10, 100..120, 4),
        ];
        let baseline = measure(&input(&sources, &tables));
        let listed: Vec<_> = baseline.hosts[host]
            .parameters
            .iter()
            .map(|p| (p.name.as_str(), p.hits, p.sampled_one_in))
            .collect();
        assert_eq!(listed, [("q", 9_000, 4), ("id", 2_000, 1), ("sid", 210, 4), ("color", 1_000, 4)]);
        assert_eq!(baseline.hosts[host].parameters[3].distinct_values, 6);
        let trap = baseline.warnings.iter().find(|w| w.code == "crawl_trap").expect("a warning");
        assert!(trap.message.starts_with("bots find ever new URLs on (default): q has "), "{trap:?}");
        assert!(trap.message.contains(" in 9000 requests of a sample of one URL in 4, sid has "), "{trap:?}");
        assert!(!trap.message.contains("color") && !trap.message.contains("id has 9"), "{trap:?}");
        let overflow = &baseline.totals.overflow[0];
        assert_eq!((overflow.cap.as_str(), overflow.limit, overflow.requests), ("parameters", 1_000, 7));
        let mut backwards = input(&sources, &tables);
        backwards.days.reverse();
        assert_eq!(measure(&backwards).hosts, baseline.hosts);
    }

    #[test]
    fn a_baseline_of_before_has_no_parameters_and_is_read() {
        let sources = vec![vec![Hit::default()]];
        let tables = days(&sources[0]);
        let mut baseline = measure(&input(&sources, &tables));
        assert!(baseline.hosts["(default)"].parameters.is_empty());
        let text = baseline.to_json().unwrap().replace(",\n      \"parameters\": []", "");
        assert!(!text.contains("\"parameters\""), "{text}");
        let read = super::super::Baseline::from_json(&text, "b.json").unwrap();
        baseline.generated_at.clone_from(&read.generated_at);
        assert_eq!(read, baseline);
    }
}
