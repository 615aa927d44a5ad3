//! A list of URLs made canonical: read, keyed, merged, ranked, and written with a report on its parameters.
//!
//! The key is for comparing, never for fetching: every URL stands beside its key as it was given. Nothing is lost:
//! `lines = blank + comments + urls + rejected` and `urls = unique + merged`.
//!
//! Example: three lines `/a`, `/a?utm_source=x` and `/b?page=2` are two unique URLs, `/a` with two merged.

mod collect;
mod document;
mod from_history;
pub mod line;
mod parameter;
mod priority;
mod read;
mod summary;

#[cfg(test)]
mod tests;

pub use collect::{Collector, Form, REJECTS_LISTED, Rejected, Totals};
pub use document::{Finishing, Normalized, Row, SCHEMA_VERSION, finish};
pub use from_history::{Covered, from_history};
pub use parameter::{PARAMETERS_LISTED, ParameterRow};
pub use priority::{PriorityRules, SIBLING_VALUE, Worth};
pub use read::read_list;
