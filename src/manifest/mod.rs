//! The throttle manifest: types, reading, writing, lint.
//!
//! It says what each crawler may ask of each host, in the keys of a crawler's rate-limiting file (`rate_limiting`,
//! `domain_overrides`), with budgets and evidence beside them. How the numbers are found is [`crate::ceiling`]'s; how
//! other programs say them is not told here.
//!
//! Example of a line of it: `"www.example.com": {max_requests_per_minute: 76, base_delay_ms: 790}`

mod canonical;
mod evidence;
mod fill;
mod lint;
pub(crate) mod nearest;
mod node;
mod previous;
mod read;
#[cfg(test)]
mod sample;
pub(crate) mod shape;
mod stamp;
mod types;
mod yaml;

pub use evidence::{Candidate, Capacity, ConnectionEvidence, Evidence, Inputs, NotUsed, RateEvidence};
pub use lint::{Finding, Severity, lint, lint_concurrency};
pub use nearest::nearest;
pub use previous::{Previous, newest_before};
pub use read::{Known, Warning, parse, read};
pub use stamp::{Minute, Second};
pub use types::{
    Action, AdaptiveDelay, Algorithm, Breaker, Budgets, Entry, Grade, Manifest, RateLimiting, SCHEMA_VERSION,
    Schedule, ScheduleKind, Scope, Scopes, Window,
};
