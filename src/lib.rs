//! Reads the access logs of an origin server, measures how fast every bot crawls, and recommends request ceilings.
//!
//! The modules in the order of the data: bytes, lines, records, who, counts, history, baseline, ceilings, manifest, exports.
//! A module uses only those above it. Nothing but [`command`] prints.

pub mod error;
pub mod exit;
pub mod file;
pub mod format;
pub mod json;
pub mod source;
pub mod url;
pub mod bot;
pub mod tally;
pub mod pipeline;
pub mod history;
pub mod ingest;
pub mod baseline;
pub mod throttle;
pub mod manifest;
pub mod ceiling;
pub mod export;
pub mod simulate;
pub mod report;
pub mod normalize;
pub mod artifact;
pub mod gate;
pub mod cli;
pub mod config;
pub mod command;
