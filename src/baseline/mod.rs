//! What was measured in a window: peaks, percentiles, status, waste, per host and bot. Sums rows of many sources;
//! recommends nothing and reads no log.
//!
//! In: finished rows ([`crate::tally::table::DayTables`]) and what is known of each source ([`Input`]). Out: a
//! [`Baseline`], whose JSON is a contract (`"rpm": {"peak": 17, "peak_minutes": ["2015-05-18T10:05Z"], ...}`).

mod coverage;
mod document;
mod fold;
mod group;
mod input;
mod measure;
mod parameter;
mod rate;
mod warning;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod roll_up_tests;
#[cfg(test)]
mod tests;

pub use coverage::Covered;
pub use document::{
    AllBots, Baseline, Bot, Host, KIND, Latency, Log, Network, Overflow, Parameter, RejectedLine,
    SampleUserAgent, Spoofed, Totals, UserAgents, Verdicts, WasteKey, WasteUrl, Window,
};
pub use input::{Input, InputSource, Matched};
pub use measure::measure;
pub use rate::{Rpm, nearest_rank};
pub use warning::Warning;
