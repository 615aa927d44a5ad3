//! From wasted URLs to rows: one per key and status, the largest of each series and date by name, the rest as `(other)`.
//!
//! What is in memory is one list; what was written to runs is read slice by slice. A key is in one slice only, so the
//! largest of a slice are exact, and the largest of all slices are among them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::error::Error;
use crate::format::escape::unescape;
use crate::tally::finish::MAX_WASTE_URLS;
use crate::tally::spill::Spill;
use crate::tally::table::WasteRow;
use crate::tally::waste::{WasteRecord, WasteTable};

/// What wasted URLs become rows with.
pub(super) struct Rows<'a> {
    /// The row of a series of the tally among those of a date.
    pub(super) place: &'a (dyn Fn(i32, u32) -> u32 + Sync),
    /// The site of a series, as printed.
    pub(super) host: &'a (dyn Fn(u32) -> &'a str + Sync),
    /// See [`super::finish::Finish`].
    pub(super) url_key: &'a (dyn Fn(&[u8], &str) -> String + Sync),
    /// See [`super::finish::Finish`].
    pub(super) url_sample: &'a (dyn Fn(&[u8]) -> String + Sync),
    /// Whether there is an `(other)` row.
    pub(super) caps: bool,
}

/// Rows by date, those of each date sorted.
pub(super) type ByDate = BTreeMap<i32, Vec<WasteRow>>;

impl Rows<'_> {
    /// The rows of all entries, which are all in memory or all written.
    ///
    /// # Errors
    /// What was written cannot be read (exit 5).
    pub(super) fn of(&self, waste: &WasteTable, spill: Option<&Spill>) -> Result<ByDate, Error> {
        let groups = match spill.filter(|_| !waste.written().is_empty()) {
            None => {
                let mut rows = self.in_memory(waste);
                rows.par_sort_unstable_by(order);
                self.cut(rows)
            }
            Some(spill) => {
                let groups = Mutex::new(BTreeMap::new());
                waste.written().slices(spill).into_par_iter().try_for_each(|slices| {
                    let mut buffer = Vec::new();
                    let mut rows = Vec::new();
                    waste.written().read(spill, &slices, &mut buffer, |r| rows.push(self.row_of(&r)))?;
                    // Not on all threads: each has its own slices.
                    rows.sort_unstable_by(order);
                    let cut = self.cut(rows);
                    let mut groups = groups.lock().unwrap_or_else(PoisonError::into_inner);
                    for (of, group) in cut {
                        groups.entry(of).or_insert_with(Group::default).add(group, self.caps);
                    }
                    Ok(())
                })?;
                groups.into_inner().unwrap_or_else(PoisonError::into_inner)
            }
        };
        let mut by_date = ByDate::new();
        for ((date, _), group) in groups {
            by_date.entry(date).or_default().extend(group.into_rows());
        }
        Ok(by_date)
    }

    fn in_memory(&self, waste: &WasteTable) -> Vec<(i32, WasteRow)> {
        let entries = waste.entries().par_iter();
        entries
            .map(|entry| {
                let text = waste.text(entry);
                let row = WasteRow {
                    series: (self.place)(entry.date, entry.series),
                    url_key: (self.url_key)(&unescape(text), (self.host)(entry.series)),
                    status: entry.status,
                    hits: entry.hits,
                    bytes_sum: entry.bytes,
                    url_sample: (self.url_sample)(text),
                };
                (entry.date, row)
            })
            .collect()
    }

    fn row_of(&self, record: &WasteRecord<'_>) -> (i32, WasteRow) {
        // Only of an absolute URL does the key depend on the site.
        let url_key = if record.target.starts_with(b"/") {
            record.key.to_owned()
        } else {
            (self.url_key)(&unescape(record.target), (self.host)(record.series))
        };
        let row = WasteRow {
            series: (self.place)(record.date, record.series),
            url_key,
            status: record.status,
            hits: record.hits,
            bytes_sum: record.bytes,
            url_sample: (self.url_sample)(record.target),
        };
        (record.date, row)
    }

    /// One row per key and status, by date and series.
    fn cut(&self, mut rows: Vec<(i32, WasteRow)>) -> BTreeMap<(i32, u32), Group> {
        // Rows of one key and status are neighbours, the smallest sample first.
        rows.dedup_by(|later, kept| {
            let same = kept.0 == later.0
                && kept.1.series == later.1.series
                && kept.1.status == later.1.status
                && kept.1.url_key == later.1.url_key;
            if same {
                kept.1.hits += later.1.hits;
                kept.1.bytes_sum = kept.1.bytes_sum.saturating_add(later.1.bytes_sum);
            }
            same
        });
        let mut groups = BTreeMap::new();
        let mut rest = rows.into_iter().peekable();
        while let Some(first) = rest.peek() {
            let of = (first.0, first.1.series);
            let mut group = Group::default();
            while let Some((_, row)) = rest.next_if(|(date, row)| (*date, row.series) == of) {
                group.rows.push(row);
            }
            group.cut(self.caps);
            groups.insert(of, group);
        }
        groups
    }
}

fn order(a: &(i32, WasteRow), b: &(i32, WasteRow)) -> Ordering {
    (a.0, a.1.series).cmp(&(b.0, b.1.series)).then_with(|| {
        (&a.1.url_key, a.1.status, &a.1.url_sample).cmp(&(&b.1.url_key, b.1.status, &b.1.url_sample))
    })
}

/// The rows of one series on one date.
#[derive(Default)]
struct Group {
    /// By key and status.
    rows: Vec<WasteRow>,
    /// What was cut off, by status.
    other: BTreeMap<u16, WasteRow>,
}

impl Group {
    /// Adds a group of other keys.
    fn add(&mut self, more: Self, caps: bool) {
        self.rows.extend(more.rows);
        for row in more.other.into_values() {
            self.add_other(&row);
        }
        self.rows.sort_unstable_by(|a, b| (&a.url_key, a.status).cmp(&(&b.url_key, b.status)));
        self.cut(caps);
    }

    /// Keeps the URLs with most hits (ties bytewise) and sums the rest by status.
    fn cut(&mut self, caps: bool) {
        // So many rows are not more keys.
        if !caps || self.rows.len() <= MAX_WASTE_URLS {
            return;
        }
        let mut hits_of: Vec<(u64, &str)> = Vec::new();
        for row in &self.rows {
            match hits_of.last_mut() {
                Some((hits, key)) if *key == row.url_key => *hits += row.hits,
                _ => hits_of.push((row.hits, &row.url_key)),
            }
        }
        if hits_of.len() <= MAX_WASTE_URLS {
            return;
        }
        hits_of.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let kept: BTreeSet<String> =
            hits_of.into_iter().take(MAX_WASTE_URLS).map(|(_, key)| key.to_owned()).collect();
        let (rows, cut) =
            std::mem::take(&mut self.rows).into_iter().partition(|row| kept.contains(&row.url_key));
        self.rows = rows;
        let cut: Vec<WasteRow> = cut;
        cut.iter().for_each(|row| self.add_other(row));
    }

    fn add_other(&mut self, row: &WasteRow) {
        let sum = self.other.entry(row.status).or_insert_with(|| WasteRow {
            series: row.series,
            url_key: "(other)".to_owned(),
            status: row.status,
            hits: 0,
            bytes_sum: 0,
            url_sample: "(other)".to_owned(),
        });
        sum.hits += row.hits;
        sum.bytes_sum = sum.bytes_sum.saturating_add(row.bytes_sum);
    }

    /// All rows by key and status, the rest as `(other)`, which sorts first.
    fn into_rows(self) -> Vec<WasteRow> {
        let mut rows = self.rows;
        rows.extend(self.other.into_values());
        rows.sort_by(|a, b| (&a.url_key, a.status).cmp(&(&b.url_key, b.status)));
        rows
    }
}
