//! Tests of whole recommendations: tables from closed formulas in, every number out.

mod examples;
mod golden;
mod input;
mod manifest;
mod nights;
mod pin;
mod properties;
mod table;
