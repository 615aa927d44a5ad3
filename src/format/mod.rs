//! What a line means. One line in, one [`Line`] out; nothing here knows about files, bots or counts.
//!
//! One file per format over one engine: framing (newlines, byte-order mark, NUL runs, blank lines, directives) is
//! settled in [`Parser`], then the line goes to its format's parser.
//!
//! Example of a line: `192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 512 "-" "Mozilla/5.0"`

mod record;
pub use record::{Flags, Format, Line, Record, Reject, RejectReason, Timing, Wrapper};

pub mod escape;
mod quote;
mod timestamp;
pub mod client;
mod prefix;
pub mod request;
pub mod tail;
pub mod cri;
mod docker;
mod wrapper;
mod combined;
mod draft;
mod names;
mod json;
pub mod w3c;
mod balancer;
pub mod layout;
pub mod latency_field;
pub mod path_host;
pub mod clock;
pub mod guess;
mod sample;
pub(crate) mod structural;
pub(crate) use structural::first_mark;
mod parser;
pub use parser::{Directive, Entry, Parser, ParserOptions};
