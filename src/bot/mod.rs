//! Who asked.

pub mod names;
