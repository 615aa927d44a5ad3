//! The history: a folder of parquet parts that are replaced, never appended to, so that nothing is counted twice.
//!
//! A part belongs to one source and one UTC date: `minutes/date=2026-03-10/5d1f0a3c9be27744.parquet`. The part of the
//! table `sources` is written last and names its siblings; what nothing names does not exist. Totals are sums over
//! parts.

mod batch;
pub mod ceilings;
pub mod check;
pub mod compact;
pub mod known;
mod log_rows;
pub mod merge;
pub mod part;
pub mod prune;
pub mod read;
mod rows;
pub mod run;
pub mod schema;
pub mod seen;
pub mod settings;
pub mod source_row;
pub mod write;

#[cfg(test)]
mod pruning_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod upkeep_tests;
