//! What is counted: records in, rows out. Counts add up in any order to the same rows.

pub mod distinct;
pub mod table;
