//! Which `#Fields:` line is in force where a block of a plain file begins.
//!
//! Threads read the blocks of a file in any order, and W3C lines mean nothing without the directive before them, which
//! may stand any number of blocks earlier. Whoever meets such a line looks for it from the block before towards the
//! start of the file, and what was found is kept: every block is looked through once at most, and only in files that
//! have lines of this kind. The answer is that of reading the file from its start.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::format::w3c::last_directive;
use crate::source::plain::PlainFile;

/// Answers for the blocks of one file.
#[derive(Debug, Default)]
pub(super) struct Directives {
    known: Mutex<BTreeMap<u64, Option<Vec<u8>>>>,
}

impl Directives {
    /// The directive in force where block `number` begins. A block that cannot be read has none: reading it for its
    /// lines tells the damage.
    pub(super) fn before(&self, number: u64, file: &PlainFile, longest: usize) -> Option<Vec<u8>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = Vec::new();
        let mut found = None;
        let mut reached = 0;
        for block in (0..number).rev() {
            if let Some(answer) = known.get(&(block + 1)) {
                found.clone_from(answer);
                reached = block + 1;
                break;
            }
            if let Ok(shape) = file.read_block(block, longest, &mut buffer)
                && let Some(line) = last_directive(&buffer[shape.lines.0..shape.lines.1])
            {
                found = Some(line.to_vec());
                reached = block + 1;
                break;
            }
        }
        for block in reached.max(1)..=number {
            known.insert(block, found.clone());
        }
        found
    }
}
