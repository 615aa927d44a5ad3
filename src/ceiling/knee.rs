//! The load at which a host becomes slow: the last bin of load before every higher one takes twice the time.
//!
//! Not the latency of a bot. Example: 120 ms up to 300 requests a minute, 4 ms more for each one above: a knee near 330.

use serde::Serialize;

use super::minute::HostMinute;
use super::rank::{float, nearest_rank};

/// Minutes of one bin; fewer than four bins tell nothing.
const BIN_MINUTES: usize = 30;

/// Whether there is a knee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KneeState {
    /// The log has no latency.
    NoLatency,
    /// Too few minutes have.
    TooThin,
    /// Latency does not double with load.
    NoKnee,
    /// It does.
    Knee,
}

/// The knee of a host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knee {
    /// The largest load below it, requests per minute.
    pub(super) limit: Option<u64>,
    /// Latency at low load, milliseconds.
    pub(super) base_ms: Option<f64>,
    pub(super) state: KneeState,
}

impl Knee {
    /// Reads the minutes with requests of the clean window.
    pub(super) fn of<'h>(loads: impl Iterator<Item = &'h HostMinute>) -> Self {
        let mut points: Vec<(u64, f64)> = loads
            .filter(|h| h.latency_count > 0)
            .map(|h| (h.n, float(h.latency_ms_sum) / float(h.latency_count)))
            .collect();
        points.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let bins = (points.len() / BIN_MINUTES).min(10);
        if bins < 4 {
            let state = if points.is_empty() { KneeState::NoLatency } else { KneeState::TooThin };
            return Self { limit: None, base_ms: None, state };
        }
        let edge = |i: usize| i * points.len() / bins;
        let median = |bin: &[(u64, f64)]| {
            let mut latencies: Vec<f64> = bin.iter().map(|(_, ms)| *ms).collect();
            latencies.sort_unstable_by(f64::total_cmp);
            nearest_rank(&latencies, 50).unwrap_or(0.0)
        };
        let medians: Vec<f64> = (0..bins).map(|i| median(&points[edge(i)..edge(i + 1)])).collect();
        let mut lowest = medians[..bins.div_ceil(3)].to_vec();
        lowest.sort_unstable_by(f64::total_cmp);
        let base = nearest_rank(&lowest, 50).unwrap_or(0.0);
        let slow = medians.iter().rev().take_while(|ms| **ms >= 2.0 * base).count();
        let knee = bins - slow;
        let found = knee >= 1 && knee < bins;
        Self {
            limit: found.then(|| points[edge(knee) - 1].0),
            base_ms: Some(base),
            state: if found { KneeState::Knee } else { KneeState::NoKnee },
        }
    }
}
