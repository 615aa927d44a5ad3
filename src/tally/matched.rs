//! Requests that matched a pattern, each counted once however many patterns it matched: by status, and the wasted URLs
//! as logged.

use crate::tally::waste::{WasteKey, WasteTable};

/// Counts over any blocks of any sources.
#[derive(Debug, Default)]
pub struct MatchedTally {
    status: Vec<(Option<u16>, u64)>,
    waste: WasteTable,
}

impl MatchedTally {
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
        self.waste.add(WasteKey { date: 0, series: 0, status: 0, target }, hits, 0);
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        for (status, requests) in &other.status {
            self.add_status(*status, *requests);
        }
        for entry in other.waste.entries() {
            self.add_waste(other.waste.text(entry), entry.hits);
        }
    }

    /// Requests by status, in the order of the statuses, `None` first.
    #[must_use]
    pub fn status(&self) -> Vec<(Option<u16>, u64)> {
        let mut status = self.status.clone();
        status.sort_unstable();
        status
    }

    /// The wasted URLs as logged with most hits; ties bytewise.
    #[must_use]
    pub fn top_waste(&self, most: usize) -> Vec<(&[u8], u64)> {
        let mut all: Vec<(&[u8], u64)> =
            self.waste.entries().iter().map(|e| (self.waste.text(e), e.hits)).collect();
        let order = |a: &(&[u8], u64), b: &(&[u8], u64)| b.1.cmp(&a.1).then(a.0.cmp(b.0));
        if all.len() > most && most > 0 {
            all.select_nth_unstable_by(most - 1, order);
            all.truncate(most);
        }
        all.sort_unstable_by(order);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(ab.top_waste(3), ba.top_waste(3));
        assert_eq!(ab.top_waste(2), [(&b"/0"[..], 4), (&b"/2"[..], 4)]);
        assert_eq!(ab.status(), [(Some(200), 50), (Some(404), 50)]);
    }
}
