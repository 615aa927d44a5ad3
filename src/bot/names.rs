//! Numbers for names, shared by all threads, so that a row key is two words and not a text.
//!
//! Example: 0 is `(people)`, 16 + n is row n of the catalogue, the rest are self-declared names and the texts of a
//! grouping that was asked for.

use std::hash::BuildHasher as _;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// `(people)`
pub const PEOPLE: u32 = 0;
/// `(other-client)`
pub const OTHER_CLIENT: u32 = 1;
/// `(no-user-agent)`
pub const NO_USER_AGENT: u32 = 2;
/// `(user-agent-not-logged)`
pub const USER_AGENT_NOT_LOGGED: u32 = 3;
/// `(other-declared)`
pub const OTHER_DECLARED: u32 = 4;
/// The first number of the catalogue.
pub const KNOWN: u32 = 16;
/// The first number of names that were met in the logs.
pub const MET: u32 = 1 << 24;

/// The table of names that were met. Numbers depend on the order of reading and never reach an output.
#[derive(Debug, Default)]
pub struct Names {
    met: Mutex<Met>,
}

/// Each text once: there may be a million of them.
#[derive(Debug, Default)]
struct Met {
    hasher: RandomState,
    /// Indices into `ends`.
    by_name: HashTable<u32>,
    /// Where each name ends in `texts`; it begins where the one before ends.
    ends: Vec<usize>,
    texts: String,
}

impl Names {
    /// The number of a name that is no row of the catalogue.
    ///
    /// # Panics
    /// Past four thousand million names.
    pub fn number(&self, name: &str) -> u32 {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let Met { hasher, by_name, ends, texts } = &mut *met;
        let hash = hasher.hash_one(name);
        if let Some(known) = by_name.find(hash, |index| texts[place(ends, *index as usize)] == *name) {
            return MET + known;
        }
        let index = u32::try_from(ends.len()).expect("memory ends before 2^32 names do");
        texts.push_str(name);
        ends.push(texts.len());
        by_name.insert_unique(hash, index, |index| hasher.hash_one(&texts[place(ends, *index as usize)]));
        MET + index
    }

    /// The name behind a number that [`Names::number`] gave.
    #[must_use]
    pub fn name(&self, number: u32) -> Option<String> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(number.checked_sub(MET)?).ok()?;
        (index < met.ends.len()).then(|| met.texts[place(&met.ends, index)].to_owned())
    }
}

fn place(ends: &[usize], index: usize) -> Range<usize> {
    index.checked_sub(1).map_or(0, |before| ends[before])..ends[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_and_is_found_by_it() {
        let names = Names::default();
        let (a, b) = (names.number("AcmeBot"), names.number("OtherBot"));
        assert_eq!((names.number("AcmeBot"), a == b), (a, false));
        assert_eq!(names.name(b).as_deref(), Some("OtherBot"));
        assert_eq!(names.name(PEOPLE), None);
        assert_eq!(names.name(b + 1), None);
        let many: Vec<u32> = (0..5000).map(|i| names.number(&format!("bot-{i}"))).collect();
        for (i, number) in many.iter().enumerate() {
            assert_eq!(names.name(*number), Some(format!("bot-{i}")));
            assert_eq!(names.number(&format!("bot-{i}")), *number);
        }
        assert_eq!(names.name(a).as_deref(), Some("AcmeBot"));
        assert_eq!(names.name(names.number("")).as_deref(), Some(""));
    }
}
