//! The caps of a window: which hosts and self-declared names stand for themselves. The rest keeps its counts under a
//! name in parentheses.
//!
//! Largest first, ties by name, so that the order of sources and days changes nothing. Example: `RareBot`, declared by
//! nine requests in the window, is part of `(other-declared)`.

use std::collections::{HashMap, HashSet};

use super::rate::count;
use crate::tally::GroupBy;
use crate::tally::table::{DayTables, Series};

/// Hosts that stand for themselves.
pub(super) const HOSTS: usize = 1_000;
/// Self-declared names that stand for themselves.
pub(super) const DECLARED_NAMES: usize = 4_096;
/// A self-declared name with fewer requests in the window does not.
pub(super) const DECLARED_REQUESTS: u64 = 10;

pub(super) const OTHER_HOSTS: &str = "(other-hosts)";
pub(super) const OTHER_DECLARED: &str = "(other-declared)";
const DECLARED: &str = "declared";
/// Bots of whom nobody knows the operator.
pub(super) const UNKNOWN: &str = "(unknown)";

/// A bot's roll-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct RollUp<'a> {
    /// The newest date that says so comes first: a newer catalogue knows better.
    date: i32,
    pub family: &'a str,
    pub operator: &'a str,
    pub category: &'a str,
}

/// The names of a window after its caps.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    other_hosts: HashSet<&'a str>,
    other_declared: HashSet<&'a str>,
    roll_ups: HashMap<&'a str, RollUp<'a>>,
    /// Whether there were more declared names than the cap, beside the rare ones.
    pub declared_overflow: bool,
}

impl<'a> Names<'a> {
    /// Counts names over all days and draws the lines. Without `fold_declared` (names are User-Agents or patterns then)
    /// every bot stands for itself.
    pub(super) fn of(days: &[&'a DayTables], fold_declared: bool) -> Self {
        let mut hosts: HashMap<&str, u64> = HashMap::new();
        let mut bots: HashMap<&str, (u64, RollUp<'_>)> = HashMap::new();
        for day in days {
            let mut requests = vec![0_u64; day.series.len()];
            for row in &day.minutes {
                requests[index(row.series)] += row.requests;
            }
            for (series, n) in day.series.iter().zip(requests) {
                *hosts.entry(&series.host).or_default() += n;
                let bot = bots.entry(&series.bot).or_default();
                bot.0 += n;
                bot.1 = bot.1.max(roll_up(day.date, series));
            }
        }
        hosts.remove(OTHER_HOSTS);
        let other_hosts = past(HOSTS, hosts.into_iter().collect());
        let mut names = Self { other_hosts, ..Self::default() };
        if fold_declared {
            let declared =
                bots.iter().filter(|(name, b)| b.1.category == DECLARED && **name != OTHER_DECLARED);
            let (common, rare): (Vec<_>, Vec<_>) =
                declared.map(|(name, b)| (*name, b.0)).partition(|(_, n)| *n >= DECLARED_REQUESTS);
            names.other_declared = past(DECLARED_NAMES, common);
            names.declared_overflow = !names.other_declared.is_empty();
            names.other_declared.extend(rare.into_iter().map(|(name, _)| name));
        }
        names.roll_ups = bots.into_iter().map(|(name, b)| (name, b.1)).collect();
        names
    }

    /// Folds the same hosts as `other`: the tables of one baseline must agree on them.
    pub(super) fn take_hosts_of(&mut self, other: &Names<'a>) {
        self.other_hosts.clone_from(&other.other_hosts);
    }

    pub(super) fn host(&self, host: &'a str) -> &'a str {
        if self.other_hosts.contains(host) { OTHER_HOSTS } else { host }
    }

    pub(super) fn bot(&self, bot: &'a str) -> &'a str {
        if self.other_declared.contains(bot) { OTHER_DECLARED } else { bot }
    }

    /// By the name after folding.
    pub(super) fn roll_up(&self, bot: &'a str) -> RollUp<'a> {
        match self.roll_ups.get(bot) {
            _ if bot == OTHER_DECLARED => RollUp { date: 0, family: bot, operator: "", category: DECLARED },
            Some(known) => *known,
            None => RollUp { date: 0, family: bot, operator: "", category: "" },
        }
    }
}

fn roll_up(date: i32, series: &Series) -> RollUp<'_> {
    RollUp { date, family: &series.family, operator: &series.operator, category: &series.category }
}

/// All names but the `keep` largest.
fn past(keep: usize, mut names: Vec<(&str, u64)>) -> HashSet<&str> {
    names.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    names.into_iter().skip(keep).map(|(name, _)| name).collect()
}

impl<'a> RollUp<'a> {
    /// The name under which a bot's rows stand.
    pub(super) fn entry(&self, bot: &'a str, is_bot: bool, group_by: GroupBy) -> &'a str {
        let name = match group_by {
            GroupBy::Bot | GroupBy::UserAgent | GroupBy::Pattern => return bot,
            GroupBy::Family => self.family,
            GroupBy::Operator => self.operator,
            GroupBy::Category => self.category,
        };
        match name {
            _ if !is_bot => bot,
            "" => UNKNOWN,
            name => name,
        }
    }

    /// What both have in common; empty where they differ.
    pub(super) fn shared(&self, other: &Self) -> Self {
        let same = |a: &'a str, b: &'a str| if a == b { a } else { "" };
        Self {
            date: self.date.max(other.date),
            family: same(self.family, other.family),
            operator: same(self.operator, other.operator),
            category: same(self.category, other.category),
        }
    }
}

/// A row's series as an index.
pub(super) fn index(series: u32) -> usize {
    usize::try_from(series).expect("32 bits fit into an index on every supported machine")
}

/// The cap as it is printed.
pub(super) fn limit(cap: usize) -> u64 {
    count(cap)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Hit, days};
    use super::*;

    fn hits(bot: &str, category: &str, n: usize) -> Vec<Hit> {
        (0..n)
            .map(|i| Hit {
                bot: bot.into(),
                category: category.into(),
                epoch: count(i).cast_signed(),
                ..Hit::default()
            })
            .collect()
    }

    #[test]
    fn a_declared_name_needs_ten_requests_in_the_window() {
        // Five in each of two sources make ten together.
        let sources = [
            [
                hits("TenBot", "declared", 5),
                hits("NineBot", "declared", 9),
                hits("Googlebot", "search-engine", 1),
            ]
            .concat(),
            hits("TenBot", "declared", 5),
        ];
        let tables: Vec<_> = sources.iter().flat_map(|s| days(s)).collect();
        let names = Names::of(&tables.iter().collect::<Vec<_>>(), true);
        assert_eq!(
            ["TenBot", "NineBot", "Googlebot"].map(|b| names.bot(b)),
            ["TenBot", OTHER_DECLARED, "Googlebot"]
        );
        assert!(!names.declared_overflow);
        let as_they_are = Names::of(&tables.iter().collect::<Vec<_>>(), false);
        assert_eq!(as_they_are.bot("NineBot"), "NineBot");
    }

    #[test]
    fn hosts_past_the_thousandth_are_folded_largest_first_and_ties_by_name() {
        let mut all = Vec::new();
        for i in 0..1_002 {
            for epoch in 0..if i == 1_001 { 2 } else { 1 } {
                all.push(Hit { host: format!("h{i:04}"), epoch, ..Hit::default() });
            }
        }
        let tables = days(&all);
        let names = Names::of(&tables.iter().collect::<Vec<_>>(), true);
        assert_eq!(
            ["h0000", "h0998", "h0999", "h1000", "h1001"].map(|h| names.host(h)),
            ["h0000", "h0998", OTHER_HOSTS, OTHER_HOSTS, "h1001"]
        );
    }

    #[test]
    fn declared_names_past_the_cap_are_folded_and_said() {
        let mut all = Vec::new();
        for i in 0..=DECLARED_NAMES {
            all.extend(hits(&format!("b{i:05}bot"), "declared", 10));
        }
        let tables = days(&all);
        let names = Names::of(&tables.iter().collect::<Vec<_>>(), true);
        assert_eq!(["b04095bot", "b04096bot"].map(|b| names.bot(b)), ["b04095bot", OTHER_DECLARED]);
        assert!(names.declared_overflow);
    }

    #[test]
    fn the_newest_date_says_what_a_bot_is() {
        let old = Hit { bot: "FooBot".into(), category: "declared".into(), ..Hit::default() };
        let new = Hit { bot: "FooBot".into(), category: "seo".into(), epoch: 86_400, ..Hit::default() };
        let tables = days(&[old, new]);
        let names = Names::of(&tables.iter().rev().collect::<Vec<_>>(), true);
        assert_eq!((names.bot("FooBot"), names.roll_up("FooBot").category), ("FooBot", "seo"));
    }
}
