//! What `backtest` says of one entry, in words. Computes nothing.
//!
//! Example of a line: `  shaped    12.3 % wait, p50 none, p95 2.1 s, at most 14.2 s`

use std::fmt::Write as _;

use serde::Serialize;

use super::escaped::Escaped;
use super::summary::number;
use crate::ceiling::judge::{Fault, Judgement, Limits, percent};
use crate::manifest::Second;

/// One entry that was replayed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Backtested {
    /// The host.
    pub host: String,
    /// The bot; `(all-bots)` for all bots of the host together.
    pub bot: String,
    /// Whether its verdict counts: it is to be applied, or was asked for by name.
    pub counts: bool,
    /// What was replayed.
    #[serde(flatten)]
    pub limits: Limits,
    /// The rule that bound the ceiling; `None` when it was written by hand.
    pub bound_by: Option<String>,
    /// `accepted`, `not_accepted`, or `no_traffic`.
    pub verdict: &'static str,
    /// What became of the traffic; `None` without any.
    #[serde(flatten)]
    pub judgement: Option<Judgement>,
    /// With `--find`: the smallest ceiling that would be accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_accepted: Option<u64>,
}

impl Backtested {
    /// The text, with a line feed at its end.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::new();
        // A string takes every text.
        let _ = writeln!(
            out,
            "{}, {}: {} RPM, burst {}, enforce_burst {}{}",
            Escaped(&self.host),
            Escaped(&self.bot),
            self.limits.max_requests_per_minute,
            self.limits.max_burst_capacity,
            self.limits.enforce_burst,
            if self.counts { "" } else { " (not to be applied)" }
        );
        let Some(j) = &self.judgement else {
            out.push_str("  no recorded traffic in the window\n");
            return out;
        };
        let at = |second: i64| Second(second).text().unwrap_or_default();
        let _ = writeln!(
            out,
            "  traffic   {} requests, {} to {}",
            number(wide(j.all.requests)),
            at(j.first_second),
            at(j.last_second)
        );
        let _ = writeln!(
            out,
            "  shaped    {:.1} % wait, p50 {}, p95 {}, at most {}",
            100.0 * j.all.delayed_share,
            wait(j.all.wait_seconds_p50),
            wait(j.all.wait_seconds_p95),
            wait(j.all.wait_seconds_max)
        );
        if j.all.drain_seconds > 60.0 {
            let _ = writeln!(
                out,
                "            it would have run at {} RPM, finishing {} later",
                self.limits.max_requests_per_minute,
                wait(j.all.drain_seconds)
            );
        }
        let _ = writeln!(
            out,
            "  policed   {} refused ({:.2} %); without minutes that had a 429: {} of {} ({:.2} %)",
            number(wide(j.all.refused)),
            percent(j.all.refused, j.all.requests),
            number(wide(j.clean.refused)),
            number(wide(j.clean.requests)),
            percent(j.clean.refused, j.clean.requests)
        );
        let _ = writeln!(
            out,
            "  if placed at the start of their second {:.1} % wait, {} refused; evenly {:.1} %, {}",
            100.0 * j.at_start.delayed_share,
            number(wide(j.at_start.refused)),
            100.0 * j.evenly.delayed_share,
            number(wide(j.evenly.refused))
        );
        if let Some(found) = self.smallest_accepted {
            let _ = writeln!(out, "  smallest  {found} RPM would be accepted");
        }
        let why: Vec<&str> = j
            .faults
            .iter()
            .map(|fault| match fault {
                Fault::TooManyWait => "20 % or more wait, and no measured capacity asks for it",
                Fault::TooManyRefused => "0.5 % or more of the clean traffic is refused",
                Fault::TooLate => "it would finish after --finish-by",
            })
            .collect();
        let _ = match why.as_slice() {
            [] => writeln!(out, "  verdict   accepted"),
            why => writeln!(out, "  verdict   NOT ACCEPTED: {}", why.join("; ")),
        };
        out
    }
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Stamps are whole seconds: a wait below one is no more than that.
fn wait(seconds: f64) -> String {
    match seconds {
        s if s <= 1e-3 => "none".to_owned(),
        s if s < 1.0 => "< 1 s".to_owned(),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
