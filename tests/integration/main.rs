//! Integration tests.

mod throttle_over_http;
