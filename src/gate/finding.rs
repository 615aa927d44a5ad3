//! Findings, what became of each check, and the verdict with its exit status.
//!
//! Example: two findings of which one is an error, with `--fail-on error`: exit 1.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Check;
use crate::exit::ExitStatus;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Note,
    /// Worth looking at.
    Warning,
    /// A limit is broken.
    Error,
}

impl Level {
    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A value or its limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number of something.
    Count(u64),
    /// A share of 1, a ratio or milliseconds, to six decimals.
    Number(f64),
}

impl Figure {
    /// `part / whole`; 0 of nothing.
    pub(super) fn share(part: u64, whole: u64) -> Self {
        Self::number(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
    }

    pub(super) fn number(value: f64) -> Self {
        Self::Number((value * 1e6).round() / 1e6)
    }
}

/// One thing that a check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What it is about: `ExampleBot on www.example.com`, a host, a file.
    pub subject: String,
    /// What was measured: `requests_per_minute`, `share_429`.
    pub measure: &'static str,
    /// How much it is.
    pub value: Figure,
    /// How much it may be.
    pub limit: Figure,
    /// The worst minute, `2026-03-10T06:25Z`, or `minute 12` of a plan; none where there is none.
    pub worst_minute: Option<String>,
    /// One sentence with the figures.
    pub message: String,
    /// What to run to see more.
    pub more: String,
}

/// What became of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It ran.
    Ran {
        /// What it found.
        findings: Vec<Finding>,
        /// What it looked at, in one sentence.
        seen: String,
    },
    /// Its input was not given.
    Skipped(String),
    /// Its input was given and says nothing about it.
    NoData(String),
}

impl Outcome {
    /// The findings; none of a check that did not run.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Ran { findings, .. } => findings,
            _ => &[],
        }
    }
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Each check that was wanted, in the order of [`Check::ALL`].
    pub outcomes: Vec<(Check, Outcome)>,
    /// Inputs that were given and hold nothing, told.
    pub empty: Vec<String>,
    /// The checks that were asked for by name; empty: all.
    pub named: BTreeSet<Check>,
    /// The least level that breaks the gate.
    pub fail_on: Level,
    /// Some of what was given could not be read.
    pub partial: bool,
}

impl Verdict {
    /// 1 when a finding breaks the gate, else 3 when something that was to be looked at had no data, else 4 when some of
    /// it could not be read, else 0.
    #[must_use]
    pub fn status(&self) -> ExitStatus {
        let when = |holds: bool, status: ExitStatus| if holds { status } else { ExitStatus::Success };
        when(self.breaches() > 0, ExitStatus::CheckFailed)
            .and(when(!self.without_data().is_empty(), ExitStatus::NoData))
            .and(when(self.partial, ExitStatus::Partial))
    }

    /// Findings that break the gate.
    #[must_use]
    pub fn breaches(&self) -> usize {
        let all = self.outcomes.iter().flat_map(|(_, outcome)| outcome.findings());
        all.filter(|finding| finding.level >= self.fail_on).count()
    }

    /// Why the gate has not seen what it was to see; empty when it has.
    #[must_use]
    pub fn without_data(&self) -> Vec<String> {
        let mut reasons = self.empty.clone();
        for (check, outcome) in self.outcomes.iter().filter(|(check, _)| self.named.contains(check)) {
            if let Outcome::Skipped(why) | Outcome::NoData(why) = outcome {
                reasons.push(format!("{check}: {why}"));
            }
        }
        if reasons.is_empty() && !self.outcomes.iter().any(|(_, o)| matches!(o, Outcome::Ran { .. })) {
            reasons.push("no check ran: --report, --baseline, --manifest, --normalized and --output-dir name what is looked at".to_owned());
        }
        reasons
    }

    /// `pass`, `breach`, `no_data` or `partial`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.status() {
            ExitStatus::Success => "pass",
            ExitStatus::CheckFailed => "breach",
            ExitStatus::Partial => "partial",
            _ => "no_data",
        }
    }

    /// How many findings there are of a level.
    #[must_use]
    pub fn count(&self, level: Level) -> usize {
        let all = self.outcomes.iter().flat_map(|(_, outcome)| outcome.findings());
        all.filter(|finding| finding.level == level).count()
    }
}
