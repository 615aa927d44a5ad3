//! What a person reads after a run: the summary on the terminal. Returns text; nothing here prints.
//!
//! Log text is hostile: everything that comes from a log passes through [`Escaped`] on its way to a terminal.
//! Example of what it gives: `Lines  10,000 = 0 blank + 0 directive + 0 filtered + 9,999 records + 1 rejects`.

mod advice;
mod backtested;
mod counting;
mod escaped;
mod explained;
mod plan;
mod recommended;
pub(crate) mod summary;

pub use advice::{Ceiling, HostCeilings};
pub use backtested::Backtested;
pub use counting::{Counted, CountedLog, Stamp, command as count_command};
pub use escaped::Escaped;
pub use explained::explained;
pub use plan::plan;
pub use recommended::recommended;
pub use summary::Summary;
