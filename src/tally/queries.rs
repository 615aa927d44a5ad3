//! Which URLs with a query bots were answered well for: a sample of bounded size. Waste URLs are all kept elsewhere
//! ([`crate::tally::waste`]), so here are the others.
//!
//! A URL is in the sample or not by its fixed-seed hash, whatever the order of lines, blocks and threads; of one that is,
//! every request is counted. One in 1 to begin with; whenever more than [`MAX_SAMPLED`] different ones are in it, half of
//! them go (Gibbons 2001, distinct sampling).
//!
//! Example: a log with 100,000 different `/list?...` URLs keeps those whose hash ends in two zero bits, about 25,000.

use crate::tally::distinct::stable_hash;
use crate::tally::waste::{WasteKey, WasteTable};

/// Different URLs (per date and host) that one source keeps.
pub const MAX_SAMPLED: usize = 32_768;

/// The sample of one tally.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    table: WasteTable,
    /// Hashes with this many zero bits at their end are in.
    bits: u32,
}

/// One URL of the sample.
pub(crate) struct Sampled<'a> {
    pub(crate) date: i32,
    pub(crate) host: u32,
    pub(crate) hits: u64,
    /// As logged.
    pub(crate) target: &'a [u8],
}

impl Queries {
    /// Whether a URL with this [`stable_hash`] is in the sample, if it has a query at all. Asked for every line of a bot.
    pub(crate) fn wants(&self, hash: u64) -> bool {
        hash.trailing_zeros() >= self.bits
    }

    /// One URL in so many is in the sample.
    pub(crate) fn one_in(&self) -> u64 {
        1 << self.bits
    }

    /// Counts requests for a URL that is wanted.
    #[cold]
    pub(crate) fn add(&mut self, date: i32, host: u32, target: &[u8], hits: u64) {
        self.table.add(WasteKey { date, series: host, status: 0, target }, hits, 0);
        while self.table.entries().len() > MAX_SAMPLED && self.bits < u64::BITS {
            self.thin(self.bits + 1);
        }
    }

    fn thin(&mut self, bits: u32) {
        self.bits = bits;
        let all = std::mem::take(&mut self.table);
        for entry in all.entries() {
            let target = all.text(entry);
            if self.wants(stable_hash(target)) {
                let key = WasteKey { date: entry.date, series: entry.series, status: 0, target };
                self.table.add(key, entry.hits, 0);
            }
        }
    }

    /// Adds another sample whose hosts have these numbers here.
    pub(crate) fn merge(&mut self, other: &Self, hosts: &[u32]) {
        if other.bits > self.bits {
            self.thin(other.bits);
        }
        for sampled in other.entries().filter(|s| self.wants(stable_hash(s.target))).collect::<Vec<_>>() {
            // The sample may have become thinner since.
            if self.wants(stable_hash(sampled.target)) {
                self.add(sampled.date, hosts[sampled.host as usize], sampled.target, sampled.hits);
            }
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Sampled<'_>> {
        self.table.entries().iter().map(|entry| Sampled {
            date: entry.date,
            host: entry.series,
            hits: entry.hits,
            target: self.table.text(entry),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn add(queries: &mut Queries, target: &str) {
        let hash = stable_hash(target.as_bytes());
        if queries.wants(hash) {
            queries.add(1, 0, target.as_bytes(), 1);
        }
    }

    fn counted(queries: &Queries) -> BTreeMap<Vec<u8>, u64> {
        queries.entries().map(|s| (s.target.to_vec(), s.hits)).collect()
    }

    #[test]
    fn a_small_sample_is_everything_and_a_large_one_is_the_same_in_any_order_and_cut() {
        let targets: Vec<String> =
            (0..3 * MAX_SAMPLED).map(|i| format!("/l?p={}", i % (2 * MAX_SAMPLED + 500))).collect();
        let sample = |part: &mut dyn Iterator<Item = &String>| {
            let mut queries = Queries::default();
            part.for_each(|target| add(&mut queries, target));
            queries
        };
        assert_eq!(sample(&mut targets[..1000].iter()).one_in(), 1);
        let whole = sample(&mut targets.iter());
        assert!(whole.one_in() >= 2 && whole.entries().count() <= MAX_SAMPLED);
        let backwards = sample(&mut targets.iter().rev());
        assert!(counted(&backwards) == counted(&whole));
        for cut in [1, 1000, MAX_SAMPLED + 7, 2 * MAX_SAMPLED + 900] {
            let mut front = sample(&mut targets[..cut].iter());
            front.merge(&sample(&mut targets[cut..].iter()), &[0]);
            assert_eq!(front.one_in(), whole.one_in(), "{cut}");
            assert!(counted(&front) == counted(&whole), "{cut}");
            let mut back = sample(&mut targets[cut..].iter());
            back.merge(&sample(&mut targets[..cut].iter()), &[0]);
            assert!(counted(&back) == counted(&whole), "{cut}");
        }
    }
}
