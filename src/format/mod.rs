//! What a line means. One line in, one [`Line`] out; nothing here knows about files, bots or counts.

mod record;
pub use record::{Flags, Format, Line, Record, Reject, RejectReason};

pub mod escape;
