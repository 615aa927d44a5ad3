//! The table `ceilings`: what was recommended at the end of each window, with its evidence. One part per date of a window's
//! end, replaced by each run of that date.
//!
//! Example: `ceilings/date=2026-03-10/ceilings.parquet`, one row for `www.example.com` and `Googlebot`: 60 requests a minute.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::history::schema::Table;
use crate::history::{batch, part};

/// The bot of the row that holds a host's ceiling for all bots together.
pub const ALL_BOTS: &str = "(all-bots)";

/// One recommendation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CeilingRow {
    /// The site.
    pub host: String,
    /// The bot, or [`ALL_BOTS`].
    pub bot: String,
    /// Requests a minute.
    pub max_requests_per_minute: Option<u64>,
    /// Requests at once.
    pub max_burst_capacity: Option<u64>,
    /// Connections.
    pub max_concurrent_connections: Option<u64>,
    /// Milliseconds between requests.
    pub base_delay_ms: Option<u64>,
    /// Budget.
    pub requests_per_hour: Option<u64>,
    /// Budget.
    pub requests_per_day: Option<u64>,
    /// The rule that bound the rate.
    pub bound_by: String,
    /// The grade of the evidence.
    pub confidence: String,
    /// Whether it is meant to be applied.
    pub apply: bool,
    /// The evidence as JSON, `null` without any.
    pub evidence_json: String,
}

/// Writes the recommendations of a window (its first and last minute since 1970-01-01), under the UTC date of its end.
///
/// # Errors
///
/// The part that cannot be written (exit 5).
pub fn write_ceilings(history: &Path, window: (i64, i64), rows: &[CeilingRow]) -> Result<PathBuf, Error> {
    let date = i32::try_from(window.1.div_euclid(1440)).unwrap_or(0);
    let name = part::PartPath { table: Table::Ceilings, date, name: "ceilings".to_owned() };
    let batch = batch::ceilings(&name.to_string(), window, rows)?;
    part::write(history, &name, None, std::iter::once(Ok(batch)))?;
    Ok(name.below(history))
}
