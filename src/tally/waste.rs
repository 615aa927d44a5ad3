//! URLs that were answered 4xx or 5xx, counted as logged; the canonical key is made once per distinct URL, at the end.
//!
//! Entries are compact and texts lie in one arena, because a scanner can ask for millions of different URLs. A table that
//! outgrows its share of the memory is written as a sorted run ([`crate::tally::spill`]) and begins anew; the key of a
//! URL is made then, because it says in which slice of the run an entry belongs.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use crate::error::Error;
use crate::format::escape::unescape;
use crate::tally::distinct::stable_hash;
use crate::tally::spill::{Run, SLICES, Spill, Spilling, grouped, slice_of};

/// One URL as logged, of one series on one date with one status.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WasteEntry {
    pub(crate) date: i32,
    pub(crate) series: u32,
    pub(crate) hits: u64,
    pub(crate) bytes: u64,
    start: u64,
    length: u32,
    pub(crate) status: u16,
}

/// What an entry is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WasteKey<'a> {
    pub(crate) date: i32,
    pub(crate) series: u32,
    pub(crate) status: u16,
    pub(crate) target: &'a [u8],
}

/// All entries of one tally: those in memory, and the runs of those that were written.
#[derive(Debug, Default)]
pub(crate) struct WasteTable {
    entries: Vec<WasteEntry>,
    texts: Vec<u8>,
    index: HashTable<u32>,
    state: RandomState,
    written: Written,
}

/// Runs of wasted URLs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written(Vec<OfSeries>);

/// Runs, and the series that those of their entries are by now.
#[derive(Debug, Clone, Default)]
struct OfSeries {
    runs: Vec<Arc<Run>>,
    /// `None` where a series is what it was.
    series: Option<Vec<u32>>,
}

/// An entry of a run. A URL may stand in several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WasteRecord<'a> {
    pub(crate) date: i32,
    pub(crate) series: u32,
    pub(crate) status: u16,
    pub(crate) hits: u64,
    pub(crate) bytes: u64,
    /// As logged.
    pub(crate) target: &'a [u8],
    /// Its key on a site without a name.
    pub(crate) key: &'a str,
}

/// Bytes of a record before its texts.
const HEAD: usize = 34;
/// The length of a key that is the URL as logged.
const SAME: u32 = u32::MAX;
/// What an entry takes beside its text: itself, and its place in an index that is half empty.
const ENTRY_BYTES: usize = size_of::<WasteEntry>() + 10;

fn hash(state: &RandomState, key: &WasteKey<'_>) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write(key.target);
    hasher.write_u64(u64::from(key.series) << 32 | u64::from(key.status) << 16);
    hasher.write_i32(key.date);
    hasher.finish()
}

impl WasteTable {
    /// Counts `hits` more.
    ///
    /// # Panics
    /// Past four thousand million distinct URLs in one source.
    pub(crate) fn add(&mut self, key: WasteKey<'_>, hits: u64, bytes: u64) {
        let hash_of_key = hash(&self.state, &key);
        let (entries, texts) = (&self.entries, &self.texts);
        let found = self.index.find(hash_of_key, |i| key_of(entries, texts, *i) == key).copied();
        if let Some(i) = found {
            let entry = &mut self.entries[i as usize];
            entry.hits += hits;
            entry.bytes += bytes;
            return;
        }
        let position = u32::try_from(self.entries.len()).expect("memory ends before 2^32 distinct URLs do");
        self.entries.push(WasteEntry {
            date: key.date,
            series: key.series,
            hits,
            bytes,
            start: self.texts.len() as u64,
            length: u32::try_from(key.target.len()).expect("a line is at most 4 GiB"),
            status: key.status,
        });
        self.texts.extend_from_slice(key.target);
        let (entries, texts, state) = (&self.entries, &self.texts, &self.state);
        self.index.insert_unique(hash_of_key, position, |i| hash(state, &key_of(entries, texts, *i)));
    }

    /// The URL of an entry as logged.
    pub(crate) fn text(&self, entry: &WasteEntry) -> &[u8] {
        text_of(&self.texts, entry)
    }

    /// All entries in memory, in the order of their first occurrence.
    pub(crate) fn entries(&self) -> &[WasteEntry] {
        &self.entries
    }

    /// About how much memory the entries take.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() * ENTRY_BYTES + self.texts.len()
    }

    /// What was written so far.
    pub(crate) fn written(&self) -> &Written {
        &self.written
    }

    /// Adds runs whose series have the same numbers here.
    pub(crate) fn extend_written(&mut self, other: &Written) {
        self.written.0.extend(other.0.iter().cloned());
    }

    /// Adds the runs of another table, whose series have these numbers here.
    pub(crate) fn add_written(&mut self, other: &Written, series: &[u32]) {
        for group in &other.0 {
            let series = match &group.series {
                None => series.to_vec(),
                Some(earlier) => earlier.iter().map(|s| series[*s as usize]).collect(),
            };
            self.written.0.push(OfSeries { runs: group.runs.clone(), series: Some(series) });
        }
    }

    /// Writes the entries when they have outgrown the table's share of the memory.
    ///
    /// # Errors
    /// The run cannot be written (exit 5).
    pub(crate) fn spill_if_full(&mut self, spilling: &Spilling<'_>) -> Result<(), Error> {
        if self.bytes() > spilling.to.share() { self.spill(spilling) } else { Ok(()) }
    }

    /// Has all entries in memory or all of them written, before they are made rows of.
    ///
    /// # Errors
    /// The run cannot be written (exit 5).
    pub(crate) fn settle(&mut self, spilling: Option<&Spilling<'_>>) -> Result<(), Error> {
        match spilling {
            Some(spilling) if self.written.is_empty() => self.spill_if_full(spilling),
            Some(spilling) => self.spill(spilling),
            None => Ok(()),
        }
    }

    /// Writes all entries in memory as one run, and forgets them.
    ///
    /// # Errors
    /// The run cannot be written (exit 5).
    pub(crate) fn spill(&mut self, spilling: &Spilling<'_>) -> Result<(), Error> {
        if self.entries.is_empty() {
            return Ok(());
        }
        // Keys that differ from their URL, behind each other.
        let mut keys = Vec::new();
        let mut order: Vec<(u64, u32, Option<Range<usize>>)> = Vec::with_capacity(self.entries.len());
        let mut lengths = vec![0; SLICES];
        for (number, entry) in (0..).zip(&self.entries) {
            let target = self.text(entry);
            let key = (spilling.key)(&unescape(target));
            let hash = stable_hash(key.as_bytes());
            let start = keys.len();
            let differs = key.as_bytes() != target;
            if differs {
                keys.extend_from_slice(key.as_bytes());
            }
            lengths[slice_of(hash)] += (HEAD + target.len() + keys.len() - start) as u64;
            order.push((hash, number, differs.then_some(start..keys.len())));
        }
        order.sort_unstable_by_key(|(hash, number, _)| (*hash, *number));
        let run = spilling.to.put(&lengths, |out| {
            order.iter().try_for_each(|(_, number, key)| {
                let entry = &self.entries[*number as usize];
                write_record(out, entry, self.text(entry), key.clone().map(|key| &keys[key]))
            })
        })?;
        self.entries.clear();
        self.texts.clear();
        self.index.clear();
        let run = Arc::new(run);
        match self.written.0.last_mut() {
            Some(last) if last.series.is_none() => last.runs.push(run),
            _ => self.written.0.push(OfSeries { runs: vec![run], series: None }),
        }
        Ok(())
    }
}

impl Written {
    /// Whether nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Series that are wanted become 1, all others 0.
    pub(crate) fn told_apart(&self, wanted: &[bool]) -> Self {
        let number = |series: usize| u32::from(wanted[series]);
        let told = |group: &OfSeries| OfSeries {
            runs: group.runs.clone(),
            series: Some(match &group.series {
                None => (0..wanted.len()).map(number).collect(),
                Some(series) => series.iter().map(|s| number(*s as usize)).collect(),
            }),
        };
        Self(self.0.iter().map(told).collect())
    }

    /// Slices that are to be read together. All entries of a URL, and of all URLs with its key, are in one of them.
    pub(crate) fn slices(&self, spill: &Spill) -> Vec<Range<usize>> {
        let runs: Vec<&Run> = self.0.iter().flat_map(|group| &group.runs).map(AsRef::as_ref).collect();
        // Texts, keys and rows are made of what is read.
        grouped(&runs, spill.share() as u64 / 4)
    }

    /// Reads slices of all runs into `buffer` and gives `each` their records.
    ///
    /// # Errors
    /// The runs cannot be read (exit 5).
    pub(crate) fn read<'b>(
        &self,
        spill: &Spill,
        slices: &Range<usize>,
        buffer: &'b mut Vec<u8>,
        mut each: impl FnMut(WasteRecord<'b>),
    ) -> Result<(), Error> {
        buffer.clear();
        let mut ends = Vec::with_capacity(self.0.len());
        for group in &self.0 {
            for run in &group.runs {
                spill.get(run, slices, buffer)?;
            }
            ends.push((buffer.len(), group.series.as_deref()));
        }
        let mut at = 0;
        for (end, series) in ends {
            while at < end {
                let (mut record, length) = read_record(&buffer[at..]);
                record.series = series.map_or(record.series, |map| map[record.series as usize]);
                at += length;
                each(record);
            }
        }
        Ok(())
    }
}

fn write_record(
    out: &mut dyn Write,
    entry: &WasteEntry,
    target: &[u8],
    key: Option<&[u8]>,
) -> io::Result<()> {
    let mut head = [0; HEAD];
    head[0..4].copy_from_slice(&entry.series.to_le_bytes());
    head[4..8].copy_from_slice(&entry.date.to_le_bytes());
    head[8..10].copy_from_slice(&entry.status.to_le_bytes());
    head[10..18].copy_from_slice(&entry.hits.to_le_bytes());
    head[18..26].copy_from_slice(&entry.bytes.to_le_bytes());
    head[26..30].copy_from_slice(&entry.length.to_le_bytes());
    let key_length = key.map_or(SAME, |key| u32::try_from(key.len()).expect("a line is at most 1 GiB"));
    head[30..34].copy_from_slice(&key_length.to_le_bytes());
    out.write_all(&head)?;
    out.write_all(target)?;
    out.write_all(key.unwrap_or_default())
}

/// The record that `bytes` begin with, and its length.
fn read_record(bytes: &[u8]) -> (WasteRecord<'_>, usize) {
    let u32_at = |at: usize| u32::from_le_bytes(part(bytes, at));
    let target_end = HEAD + u32_at(26) as usize;
    let target = &bytes[HEAD..target_end];
    let (key, end) = match u32_at(30) {
        SAME => (target, target_end),
        length => (&bytes[target_end..target_end + length as usize], target_end + length as usize),
    };
    let record = WasteRecord {
        series: u32_at(0),
        date: i32::from_le_bytes(part(bytes, 4)),
        status: u16::from_le_bytes(part(bytes, 8)),
        hits: u64::from_le_bytes(part(bytes, 10)),
        bytes: u64::from_le_bytes(part(bytes, 18)),
        target,
        // Keys were texts when they were written.
        key: std::str::from_utf8(key).unwrap_or_default(),
    };
    (record, end)
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

fn text_of<'a>(texts: &'a [u8], entry: &WasteEntry) -> &'a [u8] {
    let start = usize::try_from(entry.start).unwrap_or(usize::MAX);
    &texts[start..start + entry.length as usize]
}

fn key_of<'a>(entries: &[WasteEntry], texts: &'a [u8], index: u32) -> WasteKey<'a> {
    let entry = &entries[index as usize];
    WasteKey { date: entry.date, series: entry.series, status: entry.status, target: text_of(texts, entry) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_counted_apart_and_exactly() {
        let mut table = WasteTable::default();
        for round in 0..3u64 {
            for i in 0..1000u32 {
                let target = format!("/u/{}", i % 500).into_bytes();
                let status = if i < 500 { 404 } else { 500 };
                table.add(WasteKey { date: 1, series: i % 2, status, target: &target }, 1, round);
            }
        }
        assert_eq!(table.entries().len(), 1000);
        assert!(table.entries().iter().all(|e| e.hits == 3 && e.bytes == 3));
        assert_eq!(table.text(&table.entries()[7]), b"/u/7");
    }

    type Counted = std::collections::BTreeMap<(i32, u32, u16, Vec<u8>, String), (u64, u64)>;

    fn counted(written: &Written, spill: &Spill) -> Counted {
        let mut all = Counted::new();
        let mut slices_of_key = std::collections::BTreeMap::new();
        for slices in written.slices(spill) {
            let mut buffer = Vec::new();
            written
                .read(spill, &slices, &mut buffer, |r| {
                    let sum = all
                        .entry((r.date, r.series, r.status, r.target.to_vec(), r.key.to_owned()))
                        .or_default();
                    *sum = (sum.0 + r.hits, sum.1 + r.bytes);
                    assert_eq!(slices_of_key.entry(r.key.to_owned()).or_insert(slices.start), &slices.start);
                })
                .unwrap();
        }
        all
    }

    fn key(target: &[u8]) -> String {
        String::from_utf8_lossy(target).split('?').next().unwrap_or_default().to_owned()
    }

    #[test]
    fn what_was_written_comes_back_with_its_keys_and_the_series_that_it_is_by_now() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path().to_owned(), 0, 1);
        let spilling = Spilling { to: &spill, key: &key };
        let mut whole = WasteTable::default();
        let (mut want, mut parts) = (Counted::new(), Vec::new());
        let targets: [&[u8]; 5] = [b"", b"/a", b"/a?x=1", b"?", b"/\xff\\x22"];
        for part in 0..3u32 {
            let mut table = WasteTable::default();
            for round in 0..200 {
                for (i, target) in (0..).zip(targets) {
                    let many = format!("/many/{}", i * 1000 + round).into_bytes();
                    for target in [target, many.as_slice()] {
                        let key_of = key(&unescape(target));
                        table.add(
                            WasteKey { date: -3, series: i % 2, status: 404, target },
                            2,
                            u64::from(part),
                        );
                        let at = (-3, 10 * part + i % 2, 404, target.to_vec(), key_of);
                        let sum = want.entry(at).or_default();
                        *sum = (sum.0 + 2, sum.1 + u64::from(part));
                    }
                }
                if part != 1 {
                    table.spill(&spilling).unwrap();
                    assert!(table.entries().is_empty() && table.bytes() == 0);
                }
            }
            table.spill(&spilling).unwrap();
            parts.push(table);
        }
        for (part, table) in (0..).zip(&parts) {
            // Twice removed: numbered anew by one merge and once more by the next.
            let mut middle = WasteTable::default();
            middle.add_written(table.written(), &[5, 6]);
            whole.add_written(middle.written(), &[0, 0, 0, 0, 0, 10 * part, 10 * part + 1]);
        }
        assert!(counted(whole.written(), &spill) == want);
        let mut wanted = vec![false; 30];
        wanted[11] = true;
        let told = counted(&whole.written().told_apart(&wanted), &spill);
        let hits = |of: &Counted, series: u32| -> u64 {
            of.iter().filter(|(at, _)| at.1 == series).map(|(_, sum)| sum.0).sum()
        };
        assert!(hits(&told, 1) > 0 && hits(&told, 1) == hits(&want, 11));
        assert_eq!(told.values().map(|s| s.0).sum::<u64>(), want.values().map(|s| s.0).sum::<u64>());
    }
}
