//! Who asked.

pub mod cache;
pub mod names;
