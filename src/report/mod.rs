//! What a person reads after a run: the summary on the terminal. Returns text; nothing here prints.
//!
//! Log text is hostile: everything that comes from a log passes through [`Escaped`] on its way to a terminal.
//! Example of what it gives: `Lines  10,000 = 0 blank + 0 directive + 0 filtered + 9,999 records + 1 rejects`.

mod escaped;
mod plan;
mod summary;

pub use escaped::Escaped;
pub use plan::plan;
pub use summary::{Ceiling, HostCeilings, Summary};
