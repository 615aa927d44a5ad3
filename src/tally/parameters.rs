//! From URLs with their requests to the parameters of each host. Names are those of keys; of values only a sketch is kept.
//!
//! Example: `/list?color=red` with 3 requests and `/list?color=blue` with 1 give `color`, 4 hits, 2 distinct values.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use rayon::prelude::*;

use crate::format::escape::unescape;
use crate::tally::distinct::{Distinct, stable_hash};
use crate::tally::fold::SeriesState;
use crate::tally::queries::Queries;
use crate::tally::table::ParamRow;
use crate::tally::waste::WasteTable;
use crate::url::{canonical_text, mask_name, parameters};

/// Parameters kept per host on one date.
pub const MAX_PARAMETERS: usize = 1_000;
/// Rows kept per source and date: hosts share them when there are many, so that sketches do not fill the memory.
const MAX_ROWS: usize = 20_000;
/// Every host keeps at least so many.
const LEAST: usize = 10;
/// Names of one URL that are looked at; no honest URL has more.
const NAMES_OF_A_URL: usize = 64;
/// A longer name is none that somebody meant.
const LONGEST_NAME: usize = 128;
/// URLs that are counted together.
const CHUNK: usize = 1 << 14;
/// What is past a cap.
pub const OTHER: &str = "(other)";

/// Requests for one URL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requested<'a> {
    pub(crate) date: i32,
    /// The host under which it is shown.
    pub(crate) host: &'a str,
    pub(crate) hits: u64,
    /// As logged.
    pub(crate) target: &'a [u8],
}

/// The parameters by date of what bots asked for: all that was answered 4xx or 5xx, and the sample of the rest. `shown`
/// names hosts by their number.
pub(crate) fn of_bots(
    waste: &WasteTable,
    queries: &Queries,
    series: &[SeriesState],
    shown: &HashMap<u32, &str>,
) -> BTreeMap<i32, Vec<ParamRow>> {
    let host = |number: u32| shown.get(&number).copied().unwrap_or_default();
    let wasted = waste.entries().iter().filter(|e| series[e.series as usize].is_bot).map(|e| Requested {
        date: e.date,
        host: host(series[e.series as usize].host),
        hits: e.hits,
        target: waste.text(e),
    });
    let sampled = queries.entries().map(|s| Requested {
        date: s.date,
        host: host(s.host),
        hits: s.hits,
        target: s.target,
    });
    let with_query = |r: &Requested<'_>| memchr::memchr(b'?', r.target).is_some();
    parameter_rows(wasted.filter(with_query).chain(sampled).collect(), queries.one_in())
}

/// The parameters by date: sorted by host, then name. The order of `requested` changes nothing.
pub(crate) fn parameter_rows(
    mut requested: Vec<Requested<'_>>,
    sampled_one_in: u64,
) -> BTreeMap<i32, Vec<ParamRow>> {
    requested.par_sort_unstable_by(|a, b| (a.date, a.host).cmp(&(b.date, b.host)));
    let mut dates = BTreeMap::new();
    for of_date in requested.chunk_by(|a, b| a.date == b.date) {
        let hosts = of_date.chunk_by(|a, b| a.host == b.host).count();
        let cap = (MAX_ROWS / hosts.max(1)).clamp(LEAST, MAX_PARAMETERS);
        let rows: Vec<ParamRow> = of_date
            .chunk_by(|a, b| a.host == b.host)
            .flat_map(|of_host| rows_of_host(of_host, cap, sampled_one_in))
            .collect();
        dates.insert(of_date[0].date, rows);
    }
    dates
}

/// The names with most hits, ties by name; the rest is one row. Counted in chunks, on all threads: a scanner can ask for
/// millions of URLs.
fn rows_of_host(requested: &[Requested<'_>], cap: usize, sampled_one_in: u64) -> Vec<ParamRow> {
    let Some(first) = requested.first() else { return Vec::new() };
    let parts: Vec<Names> = requested.par_chunks(CHUNK).map(Names::of).collect();
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, hits) in parts.iter().flat_map(|part| &part.names) {
        *totals.entry(name).or_default() += hits;
    }
    let mut order: Vec<(&str, u64)> = totals.iter().map(|(name, hits)| (*name, *hits)).collect();
    order.retain(|(name, _)| *name != OTHER);
    order.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    order.truncate(cap);
    order.sort_unstable();
    let place = |name: &str| order.binary_search_by(|(kept, _)| (*kept).cmp(name)).unwrap_or(order.len());
    let mut rows: Vec<ParamRow> = order
        .iter()
        .map(|(name, _)| *name)
        .chain([OTHER])
        .map(|parameter| ParamRow {
            host: first.host.to_owned(),
            parameter: parameter.to_owned(),
            hits: 0,
            distinct: Distinct::default(),
            sampled_one_in,
        })
        .collect();
    for (name, hits) in totals {
        rows[place(name)].hits += hits;
    }
    let nothing = || vec![Distinct::default(); rows.len()];
    let sketches = requested
        .par_chunks(CHUNK)
        .zip(&parts)
        .fold(nothing, |mut sketches, (chunk, part)| {
            let places: Vec<usize> = part.names.iter().map(|(name, _)| place(name)).collect();
            for r in chunk {
                for (spelling, value) in parameters(&unescape(r.target)) {
                    if let Some(number) = part.by_spelling.get(spelling) {
                        sketches[places[*number]].insert(value_hash(value));
                    }
                }
            }
            sketches
        })
        .reduce(nothing, |mut a, b| {
            a.iter_mut().zip(&b).for_each(|(a, b)| a.merge(b));
            a
        });
    for (row, sketch) in rows.iter_mut().zip(sketches) {
        row.distinct = sketch;
    }
    rows.retain(|row| row.hits > 0);
    rows.sort_by(|a, b| a.parameter.cmp(&b.parameter));
    rows
}

/// The names of one chunk with their hits.
#[derive(Default)]
struct Names {
    by_spelling: HashMap<Vec<u8>, usize, RandomState>,
    names: Vec<(String, u64)>,
}

impl Names {
    fn of(requested: &[Requested<'_>]) -> Self {
        let mut names = Self::default();
        let mut by_text: HashMap<String, usize, RandomState> = HashMap::default();
        let mut of_url: Vec<usize> = Vec::new();
        for r in requested {
            of_url.clear();
            for (spelling, _) in parameters(&unescape(r.target)) {
                let number = names.number(spelling, &mut by_text);
                if !of_url.contains(&number) && of_url.len() < NAMES_OF_A_URL {
                    of_url.push(number);
                    names.names[number].1 += r.hits;
                }
            }
        }
        names
    }

    fn number(&mut self, spelling: &[u8], by_text: &mut HashMap<String, usize, RandomState>) -> usize {
        if let Some(number) = self.by_spelling.get(spelling) {
            return *number;
        }
        let text = canonical_text(spelling);
        let text = if text.len() > LONGEST_NAME { OTHER.to_owned() } else { mask_name(&text).into_owned() };
        let next = self.names.len();
        let number = *by_text.entry(text.clone()).or_insert(next);
        if number == next {
            self.names.push((text, 0));
        }
        self.by_spelling.insert(spelling.to_vec(), number);
        number
    }
}

/// Of the value in the spelling of keys. Most have no code in them.
fn value_hash(value: &[u8]) -> u64 {
    if value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')) {
        stable_hash(value)
    } else {
        stable_hash(canonical_text(value).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(list: &[(&'static str, &'static str, u64)]) -> Vec<(String, String, u64, u64)> {
        let requested = list.iter().map(|(host, target, hits)| Requested {
            date: 1,
            host,
            hits: *hits,
            target: target.as_bytes(),
        });
        parameter_rows(requested.collect(), 4)
            .remove(&1)
            .unwrap_or_default()
            .into_iter()
            .inspect(|row| assert_eq!(row.sampled_one_in, 4))
            .map(|row| (row.host, row.parameter, row.hits, row.distinct.estimate()))
            .collect()
    }

    #[test]
    fn names_are_counted_once_a_url_and_values_by_their_spelling_in_keys() {
        let got = rows(&[
            ("b", "/l?color=red&color=blue", 3),
            ("a", "/l?%63olor=%72ed&x", 2),
            ("b", "/m?color=red#?no=1", 1),
            ("b", "/none", 9),
        ]);
        let want = [("a", "color", 2, 1), ("a", "x", 2, 1), ("b", "color", 4, 2)]
            .map(|(host, name, hits, distinct)| (host.to_owned(), name.to_owned(), hits, distinct));
        assert_eq!(got, want);
        assert!(rows(&[("a", r"/l?user\x22=1", 1)])[0].1 == "user%22");
    }

    #[test]
    fn a_name_that_is_an_address_is_masked_and_an_endless_one_is_other() {
        let long: &'static str = Box::leak(format!("/?{}=1", "n".repeat(LONGEST_NAME + 1)).into_boxed_str());
        let got = rows(&[("a", "/?ann@example.org", 1), ("a", long, 5)]);
        assert_eq!((got[0].1.as_str(), got[0].2), (OTHER, 5));
        assert!(got[1].1.starts_with('~') && got[1].1.len() == 9, "{got:?}");
    }

    #[test]
    fn chunks_add_up() {
        let targets: Vec<String> = (0..3 * CHUNK).map(|n| format!("/?id={n}&kind={}", n % 5)).collect();
        let requested: Vec<Requested<'_>> = targets
            .iter()
            .map(|target| Requested { date: 1, host: "h", hits: 2, target: target.as_bytes() })
            .collect();
        let rows = &parameter_rows(requested, 1)[&1];
        let n = 3 * CHUNK as u64;
        assert_eq!((rows.len(), rows[0].hits, rows[1].hits), (2, 2 * n, 2 * n));
        assert_eq!(rows[1].distinct.estimate(), 5);
        let mut whole = Distinct::default();
        (0..3 * CHUNK).for_each(|n| whole.insert(stable_hash(n.to_string().as_bytes())));
        assert_eq!(rows[0].distinct, whole);
    }

    #[test]
    fn what_is_past_the_cap_is_one_row_and_no_hit_is_lost() {
        let targets: Vec<String> = (0..1_300).map(|n| format!("/?p{n:04}={n}&q=1")).collect();
        let requested: Vec<Requested<'_>> = targets
            .iter()
            .map(|target| Requested { date: 1, host: "h", hits: 1, target: target.as_bytes() })
            .collect();
        let mut backwards = requested.clone();
        backwards.reverse();
        let all = parameter_rows(requested, 1);
        assert!(all == parameter_rows(backwards, 1));
        let rows = &all[&1];
        assert_eq!(rows.len(), MAX_PARAMETERS + 1);
        assert_eq!(rows.iter().map(|r| r.hits).sum::<u64>(), 2 * 1_300);
        assert_eq!((rows[0].parameter.as_str(), rows[0].hits), (OTHER, 301));
        assert_eq!(rows.last().map(|r| (r.parameter.as_str(), r.hits)), Some(("q", 1_300)));
    }
}
