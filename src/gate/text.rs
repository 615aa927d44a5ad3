//! The verdict for people, one line for each finding and check.
//!
//! Example: `error    rpm-ceiling        www.example.com: 140 requests in a UTC minute, --max-rpm allows 120`

use std::fmt::Write as _;

use super::finding::{Level, Outcome, Verdict};
use crate::report::Escaped;

/// The whole text, its last line the verdict.
#[must_use]
pub fn text(verdict: &Verdict) -> String {
    let mut out = String::new();
    let mut line = |word: &str, check: &str, told: &str| {
        // A string takes every text.
        let _ = writeln!(out, "{word:<8} {check:<17} {}", Escaped(told));
    };
    let (mut ran, mut not) = (0, 0);
    for (check, outcome) in &verdict.outcomes {
        match outcome {
            Outcome::Ran { findings, seen } => {
                ran += 1;
                if findings.is_empty() {
                    line("pass", check.name(), seen);
                }
                for finding in findings {
                    let minute = finding.worst_minute.as_ref().map_or(String::new(), |m| format!(" ({m})"));
                    let told = format!("{}: {}{minute}", finding.subject, finding.message);
                    line(finding.level.name(), check.name(), &told);
                    line("", "", &format!("more: {}", finding.more));
                }
            }
            Outcome::Skipped(why) => {
                not += 1;
                line("skipped", check.name(), why);
            }
            Outcome::NoData(why) => {
                not += 1;
                line("no data", check.name(), why);
            }
        }
    }
    let plural = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let counts =
        [Level::Error, Level::Warning, Level::Note].map(|level| plural(verdict.count(level), level.name()));
    let word = match verdict.word() {
        "no_data" => "no data",
        word => word,
    };
    let _ = writeln!(
        out,
        "{word}: {}; {} ran, {not} did not; fails on {}",
        counts.join(", "),
        plural(ran, "check"),
        verdict.fail_on.name()
    );
    out
}
