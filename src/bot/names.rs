//! Numbers for names, shared by all threads, so that a row key is two words and not a text.
//!
//! Example: 0 is `(people)`, 16 + n is row n of the catalogue, the rest are self-declared names and the texts of a
//! grouping that was asked for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// `(people)`
pub const PEOPLE: u32 = 0;
/// `(other-client)`
pub const OTHER_CLIENT: u32 = 1;
/// `(no-user-agent)`
pub const NO_USER_AGENT: u32 = 2;
/// `(user-agent-not-logged)`
pub const USER_AGENT_NOT_LOGGED: u32 = 3;
/// The first number of the catalogue.
pub const KNOWN: u32 = 16;
/// The first number of names that were met in the logs.
const MET: u32 = 1 << 24;

/// The table of names that were met. Numbers depend on the order of reading and never reach an output.
#[derive(Debug, Default)]
pub struct Names {
    met: Mutex<Met>,
}

#[derive(Debug, Default)]
struct Met {
    by_name: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl Names {
    /// The number of a name that is no row of the catalogue.
    ///
    /// # Panics
    /// Past four thousand million names.
    pub fn number(&self, name: &str) -> u32 {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = met.by_name.get(name) {
            return *number;
        }
        let number = MET + u32::try_from(met.names.len()).expect("memory ends before 2^32 names do");
        met.names.push(name.into());
        met.by_name.insert(name.into(), number);
        number
    }

    /// The name behind a number that [`Names::number`] gave.
    #[must_use]
    pub fn name(&self, number: u32) -> Option<String> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(number.checked_sub(MET)?).ok()?;
        met.names.get(index).map(ToString::to_string)
    }
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
    }
}
