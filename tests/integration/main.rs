//! The tests that run the built program, all in one binary: linking it once is minutes cheaper than linking it often.

#![allow(missing_docs, reason = "test names are sentences")]

mod analyze;
mod bots;
mod backtest;
mod case;
mod command;
mod explain;
mod export;
mod formats;
mod gate;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "../../benches/generate/generator.rs"]
mod generator;
mod generator_truth;
mod help;
mod input;
mod lines;
mod lock;
mod memory;
mod oracle;
mod overlap;
mod planted;
mod properties;
mod nights;
mod normalize;
mod older_history;
mod random_tables;
#[path = "../../benches/generate/samples.rs"]
mod samples;
mod seed_script;
mod signal;
mod simulate;
mod throttle_over_http;
mod upkeep;
mod workflow;
