//! Integration tests.

mod lines;
