//! Requests that matched a pattern, each counted once however many patterns it matched: by status, and the wasted URLs
//! as logged.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::error::Error;
use crate::tally::fold::Tally;
use crate::tally::spill::Spilling;
use crate::tally::waste::{WasteKey, WasteTable};

/// The only series that counts; runs of a tally hold others beside it.
const COUNTED: u32 = 1;

/// Counts over any blocks of any sources.
#[derive(Debug, Default)]
pub struct MatchedTally {
    status: Vec<(Option<u16>, u64)>,
    waste: WasteTable,
}

impl MatchedTally {
    /// What bots got a 4xx or 5xx for.
    #[must_use]
    pub fn of_bots(tally: &Tally) -> Self {
        let mut matched = Self::default();
        let is_bot: Vec<bool> = tally.series.iter().map(|s| s.is_bot).collect();
        for entry in tally.waste.entries().iter().filter(|e| is_bot[e.series as usize]) {
            matched.add_waste(tally.waste.text(entry), entry.hits);
        }
        matched.waste.extend_written(&tally.waste.written().told_apart(&is_bot));
        matched
    }

    /// Counts one request.
    pub fn add(&mut self, status: Option<u16>, target: Option<&[u8]>) {
        self.add_status(status, 1);
        if let (Some(400..=599), Some(target)) = (status, target) {
            self.add_waste(target, 1);
        }
    }

    fn add_status(&mut self, status: Option<u16>, requests: u64) {
        match self.status.iter_mut().find(|s| s.0 == status) {
            Some(known) => known.1 += requests,
            None => self.status.push((status, requests)),
        }
    }

    /// Counts hits of a wasted URL alone.
    pub fn add_waste(&mut self, target: &[u8], hits: u64) {
        self.waste.add(WasteKey { date: 0, series: COUNTED, status: 0, target }, hits, 0);
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        for (status, requests) in &other.status {
            self.add_status(*status, *requests);
        }
        for entry in other.waste.entries() {
            self.add_waste(other.waste.text(entry), entry.hits);
        }
        self.waste.extend_written(other.waste.written());
    }

    /// About how much memory it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.waste.bytes()
    }

    /// Writes what is in memory.
    ///
    /// # Errors
    /// The run cannot be written (exit 5).
    pub fn spill(&mut self, spilling: &Spilling<'_>) -> Result<(), Error> {
        self.waste.spill(spilling)
    }

    /// Writes what is in memory when it has outgrown its share.
    ///
    /// # Errors
    /// The run cannot be written (exit 5).
    pub fn spill_if_full(&mut self, spilling: &Spilling<'_>) -> Result<(), Error> {
        self.waste.spill_if_full(spilling)
    }

    /// Requests by status, in the order of the statuses, `None` first.
    #[must_use]
    pub fn status(&self) -> Vec<(Option<u16>, u64)> {
        let mut status = self.status.clone();
        status.sort_unstable();
        status
    }

    /// The wasted URLs as logged with most hits; ties bytewise.
    ///
    /// # Errors
    /// What was written cannot be read (exit 5).
    pub fn top_waste(
        &mut self,
        most: usize,
        spilling: Option<&Spilling<'_>>,
    ) -> Result<Vec<(Vec<u8>, u64)>, Error> {
        self.waste.settle(spilling)?;
        let in_memory = self.waste.entries().iter().map(|e| (self.waste.text(e), e.hits));
        let mut top = owned(largest(in_memory.collect(), most));
        let written = self.waste.written();
        let Some(spilling) = spilling.filter(|_| !written.is_empty()) else { return Ok(top) };
        let mut buffer = Vec::new();
        for slices in written.slices(spilling.to) {
            let mut hits: HashMap<&[u8], u64, RandomState> = HashMap::default();
            written.read(spilling.to, &slices, &mut buffer, |r| {
                if r.series == COUNTED {
                    *hits.entry(r.target).or_default() += r.hits;
                }
            })?;
            // A URL is in one slice only.
            top.extend(owned(largest(hits.into_iter().collect(), most)));
            top = largest(top, most);
        }
        Ok(top)
    }
}

fn owned(top: Vec<(&[u8], u64)>) -> Vec<(Vec<u8>, u64)> {
    top.into_iter().map(|(target, hits)| (target.to_vec(), hits)).collect()
}

/// Those with most hits, ties bytewise; sorted.
fn largest<T: Ord>(mut all: Vec<(T, u64)>, most: usize) -> Vec<(T, u64)> {
    let order = |a: &(T, u64), b: &(T, u64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    if all.len() > most && most > 0 {
        all.select_nth_unstable_by(most - 1, order);
        all.truncate(most);
    }
    all.sort_unstable_by(order);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::spill::Spill;

    #[test]
    fn the_top_is_exact_and_does_not_depend_on_the_order() {
        let (mut a, mut b) = (MatchedTally::default(), MatchedTally::default());
        for i in 0..100u32 {
            let target = format!("/{}", i % 30);
            let tally = if i % 3 == 0 { &mut a } else { &mut b };
            tally.add(Some(if i % 2 == 0 { 404 } else { 200 }), Some(target.as_bytes()));
        }
        let mut ab = MatchedTally::default();
        ab.merge(&a);
        ab.merge(&b);
        let mut ba = MatchedTally::default();
        ba.merge(&b);
        ba.merge(&a);
        let top = |tally: &mut MatchedTally, most| tally.top_waste(most, None).unwrap();
        assert_eq!(top(&mut ab, 3), top(&mut ba, 3));
        assert_eq!(top(&mut ab, 2), [(b"/0".to_vec(), 4), (b"/2".to_vec(), 4)]);
        assert_eq!(ab.status(), [(Some(200), 50), (Some(404), 50)]);
    }

    #[test]
    fn the_top_is_the_same_when_some_of_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path().to_owned(), 0, 1);
        let key = |target: &[u8]| String::from_utf8_lossy(target).split('?').next().unwrap().to_owned();
        let spilling = Spilling { to: &spill, key: &key };
        let (mut whole, mut parts) = (MatchedTally::default(), MatchedTally::default());
        for log in 0..3u64 {
            let mut part = MatchedTally::default();
            for i in 0..2000u64 {
                let target = format!("/{}?{log}", i * i % 1999).into_bytes();
                whole.add_waste(&target, i % 7);
                part.add_waste(&target, i % 7);
                if i % 500 == 99 {
                    part.spill(&spilling).unwrap();
                }
            }
            parts.merge(&part);
        }
        assert!(spill.spilled().1 >= 12);
        assert_eq!(parts.top_waste(40, Some(&spilling)).unwrap(), whole.top_waste(40, None).unwrap());
    }
}
