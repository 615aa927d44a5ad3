//! URLs that were answered 4xx or 5xx, counted as logged; the canonical key is made once per distinct URL, at the end.
//!
//! Entries are compact and texts lie in one arena, because a scanner can ask for millions of different URLs.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

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

/// All entries of one tally.
#[derive(Debug, Default)]
pub(crate) struct WasteTable {
    entries: Vec<WasteEntry>,
    texts: Vec<u8>,
    index: HashTable<u32>,
    state: RandomState,
}

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

    /// All entries, in the order of their first occurrence.
    pub(crate) fn entries(&self) -> &[WasteEntry] {
        &self.entries
    }
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
}
