//! What is counted: records in, rows out. Counts add up in any order to the same rows.

pub mod distinct;
pub mod table;
pub mod hit;
pub mod waste;
pub mod lines;
pub mod fold;
pub mod finish;
