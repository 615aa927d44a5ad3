//! From URLs with their requests to the parameters of each host. Names are those of keys; of values only a sketch is kept.
//!
//! Example: `/list?color=red` with 3 requests and `/list?color=blue` with 1 give `color`, 4 hits, 2 distinct values.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use rayon::prelude::*;

use crate::error::Error;
use crate::format::escape::unescape;
use crate::tally::distinct::{Distinct, stable_hash};
use crate::tally::fold::SeriesState;
use crate::tally::queries::Queries;
use crate::tally::spill::Spill;
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
/// Names that are counted at once: with their texts some 30 MB.
const MAX_NAMES: usize = if cfg!(test) { 2_500 } else { 1 << 18 };
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

/// Every requested URL, in batches, each time anew.
type Batches<'a> = dyn Fn(&mut dyn FnMut(&mut [Requested<'_>])) -> Result<(), Error> + 'a;

/// The parameters by date of what bots asked for: all that was answered 4xx or 5xx, and the sample of the rest. `shown`
/// names hosts by their number.
///
/// # Errors
/// What was written cannot be read (exit 5).
pub(crate) fn of_bots(
    waste: &WasteTable,
    queries: &Queries,
    series: &[SeriesState],
    shown: &HashMap<u32, &str>,
    spill: Option<&Spill>,
) -> Result<BTreeMap<i32, Vec<ParamRow>>, Error> {
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
    let has_query = |target: &[u8]| memchr::memchr(b'?', target).is_some();
    let in_memory: Vec<_> = wasted.filter(|r| has_query(r.target)).chain(sampled).collect();
    let written = waste.written();
    let batches = |each: &mut dyn FnMut(&mut [Requested<'_>])| {
        each(&mut in_memory.clone());
        let Some(spill) = spill.filter(|_| !written.is_empty()) else { return Ok(()) };
        let mut buffer = Vec::new();
        for slices in written.slices(spill) {
            let mut batch = Vec::new();
            written.read(spill, &slices, &mut buffer, |r| {
                let of = &series[r.series as usize];
                if of.is_bot && has_query(r.target) {
                    batch.push(Requested {
                        date: r.date,
                        host: host(of.host),
                        hits: r.hits,
                        target: r.target,
                    });
                }
            })?;
            each(&mut batch);
        }
        Ok(())
    };
    parameter_rows(&batches, queries.one_in())
}

/// The parameters by date: sorted by host, then name. The order of what is requested changes nothing.
fn parameter_rows(batches: &Batches<'_>, sampled_one_in: u64) -> Result<BTreeMap<i32, Vec<ParamRow>>, Error> {
    let mut dates = BTreeMap::new();
    let mut kept = kept_names(batches)?;
    put_sketches(batches, &mut kept)?;
    for ((date, host), names) in kept {
        let rows: &mut Vec<ParamRow> = dates.entry(date).or_default();
        let start = rows.len();
        rows.extend(names.rows(&host, sampled_one_in));
        rows[start..].sort_by(|a, b| a.parameter.cmp(&b.parameter));
    }
    Ok(dates)
}

/// The names of one host on one date that have rows.
#[derive(Default)]
struct Kept {
    /// By name.
    names: Vec<(String, u64)>,
    /// Hits of all others.
    other: u64,
    /// One for each name, and one for the others; none until a value was put in.
    sketches: Vec<Distinct>,
}

/// By date and host.
type ByHost<T> = BTreeMap<(i32, String), T>;

/// The names with most hits, ties by name; the rest is one row. A scanner can ask for millions of names: then those of one
/// half, quarter ... of their hashes are counted at a time.
fn kept_names(batches: &Batches<'_>) -> Result<ByHost<Kept>, Error> {
    let mut passes = 1;
    loop {
        if let Some(kept) = kept_in_passes(batches, passes)? {
            return Ok(kept);
        }
        passes *= 4;
    }
}

/// The names that are kept; `None` when one pass of so many has too many.
fn kept_in_passes(batches: &Batches<'_>, passes: u64) -> Result<Option<ByHost<Kept>>, Error> {
    let mut kept: ByHost<Kept> = BTreeMap::new();
    for pass in 0..passes {
        let Some(totals) = count_names(batches, passes, pass)? else { return Ok(None) };
        let mut hosts: BTreeMap<i32, usize> = BTreeMap::new();
        totals.keys().for_each(|(date, _)| *hosts.entry(*date).or_default() += 1);
        for (of, names) in totals {
            let cap = (MAX_ROWS / hosts[&of.0]).clamp(LEAST, MAX_PARAMETERS);
            kept.entry(of).or_default().add(names, cap);
        }
    }
    Ok(Some(kept))
}

/// The hits of all names whose hash belongs to this pass; `None` when they are too many. Counted in chunks, on all threads.
fn count_names(
    batches: &Batches<'_>,
    passes: u64,
    pass: u64,
) -> Result<Option<ByHost<BTreeMap<String, u64>>>, Error> {
    let mut totals: ByHost<BTreeMap<String, u64>> = BTreeMap::new();
    let mut count = 0;
    batches(&mut |batch| {
        if count > MAX_NAMES {
            return;
        }
        batch.par_sort_unstable_by(|a, b| (a.date, a.host).cmp(&(b.date, b.host)));
        for of_host in batch.chunk_by(|a, b| (a.date, a.host) == (b.date, b.host)) {
            let parts: Vec<Names> = of_host.par_chunks(CHUNK).map(Names::of).collect();
            let totals = totals.entry((of_host[0].date, of_host[0].host.to_owned())).or_default();
            for (name, hits) in parts.into_iter().flat_map(|part| part.names) {
                if passes > 1 && stable_hash(name.as_bytes()) % passes != pass {
                    continue;
                }
                count += usize::from(!totals.contains_key(&name));
                *totals.entry(name).or_default() += hits;
            }
        }
    })?;
    Ok((count <= MAX_NAMES).then_some(totals))
}

/// The values of all names that have rows.
fn put_sketches(batches: &Batches<'_>, kept: &mut ByHost<Kept>) -> Result<(), Error> {
    batches(&mut |batch| {
        batch.par_sort_unstable_by(|a, b| (a.date, a.host).cmp(&(b.date, b.host)));
        for of_host in batch.chunk_by(|a, b| (a.date, a.host) == (b.date, b.host)) {
            // Every host that is in a batch was in it when names were counted.
            let Some(kept) = kept.get_mut(&(of_host[0].date, of_host[0].host.to_owned())) else { continue };
            let of_chunks = of_host
                .par_chunks(CHUNK)
                .fold(Vec::new, |mut sketches, chunk| {
                    kept.sketch(chunk, &mut sketches);
                    sketches
                })
                .reduce(Vec::new, merged);
            kept.sketches = merged(std::mem::take(&mut kept.sketches), of_chunks);
        }
    })
}

fn merged(mut a: Vec<Distinct>, b: Vec<Distinct>) -> Vec<Distinct> {
    if a.is_empty() {
        return b;
    }
    a.iter_mut().zip(&b).for_each(|(a, b)| a.merge(b));
    a
}

impl Kept {
    /// Adds other names with their hits, and keeps the largest.
    fn add(&mut self, mut names: BTreeMap<String, u64>, cap: usize) {
        self.other += names.remove(OTHER).unwrap_or_default();
        self.names.extend(names);
        self.names.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        self.other += self.names.drain(cap.min(self.names.len())..).map(|(_, hits)| hits).sum::<u64>();
        self.names.sort_unstable();
    }

    /// The number of a name's row; the last one is that of all others.
    fn place(&self, name: &str) -> usize {
        self.names.binary_search_by(|(kept, _)| kept.as_str().cmp(name)).unwrap_or(self.names.len())
    }

    fn sketch(&self, requested: &[Requested<'_>], sketches: &mut Vec<Distinct>) {
        sketches.resize(self.names.len() + 1, Distinct::default());
        let mut places: HashMap<Vec<u8>, usize, RandomState> = HashMap::default();
        for r in requested {
            for (spelling, value) in parameters(&unescape(r.target)) {
                let place = match places.get(spelling) {
                    Some(place) => *place,
                    None => *places.entry(spelling.to_vec()).or_insert(self.place(&name_of(spelling))),
                };
                sketches[place].insert(value_hash(value));
            }
        }
    }

    fn rows(self, host: &str, sampled_one_in: u64) -> impl Iterator<Item = ParamRow> {
        let others = (OTHER.to_owned(), self.other);
        self.names.into_iter().chain([others]).zip(self.sketches).filter(|((_, hits), _)| *hits > 0).map(
            move |((parameter, hits), distinct)| ParamRow {
                host: host.to_owned(),
                parameter,
                hits,
                distinct,
                sampled_one_in,
            },
        )
    }
}

/// A name in the spelling of keys, masked where it says too much.
fn name_of(spelling: &[u8]) -> String {
    let text = canonical_text(spelling);
    if text.len() > LONGEST_NAME { OTHER.to_owned() } else { mask_name(&text).into_owned() }
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
        let text = name_of(spelling);
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

    /// In batches of so many.
    fn rows_of(
        requested: &[Requested<'_>],
        batch: usize,
        sampled_one_in: u64,
    ) -> BTreeMap<i32, Vec<ParamRow>> {
        let batches = |each: &mut dyn FnMut(&mut [Requested<'_>])| {
            requested.chunks(batch).for_each(|batch| each(&mut batch.to_vec()));
            Ok(())
        };
        parameter_rows(&batches, sampled_one_in).unwrap()
    }

    fn rows(list: &[(&'static str, &'static str, u64)]) -> Vec<(String, String, u64, u64)> {
        let requested = list.iter().map(|(host, target, hits)| Requested {
            date: 1,
            host,
            hits: *hits,
            target: target.as_bytes(),
        });
        rows_of(&requested.collect::<Vec<_>>(), 3, 4)
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
        let rows = &rows_of(&requested, usize::MAX, 1)[&1];
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
        let all = rows_of(&requested, usize::MAX, 1);
        assert!(all == rows_of(&backwards, usize::MAX, 1) && all == rows_of(&backwards, 7, 1));
        let rows = &all[&1];
        assert_eq!(rows.len(), MAX_PARAMETERS + 1);
        assert_eq!(rows.iter().map(|r| r.hits).sum::<u64>(), 2 * 1_300);
        assert_eq!((rows[0].parameter.as_str(), rows[0].hits), (OTHER, 301));
        assert_eq!(rows.last().map(|r| (r.parameter.as_str(), r.hits)), Some(("q", 1_300)));
    }

    #[test]
    fn more_names_than_are_counted_at_once_give_the_same_rows_in_any_batches() {
        let targets: Vec<String> =
            (0..9_000).map(|n| format!("/?p{}={n}&q{}={}", n % 7_000, n % 40, n % 3)).collect();
        let requested: Vec<Requested<'_>> = targets
            .iter()
            .zip(0..)
            .map(|(target, n)| Requested {
                date: n / 5_000,
                host: ["a", "b"][usize::try_from(n % 2).unwrap()],
                hits: 1 + u64::try_from(n % 5).unwrap(),
                target: target.as_bytes(),
            })
            .collect();
        let all = rows_of(&requested, usize::MAX, 1);
        assert!(all == rows_of(&requested, 700, 1));
        let hits = |rows: &[ParamRow]| rows.iter().map(|r| r.hits).sum::<u64>();
        assert_eq!(all.values().map(|rows| hits(rows)).sum::<u64>(), 2 * 3 * 9_000);
        assert!(all.values().all(|rows| rows.len() == 2 * (MAX_PARAMETERS + 1)));
        let q = all[&0].iter().find(|r| r.host == "b" && r.parameter == "q39").unwrap();
        assert_eq!((q.hits, q.distinct.estimate()), (5 * 125, 3));
    }
}
