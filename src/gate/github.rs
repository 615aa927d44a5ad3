//! The verdict as workflow commands, which GitHub shows as annotations of the run.
//!
//! Example: `::error title=rpm-ceiling::www.example.com: 140 requests in a UTC minute, --max-rpm allows 120`

use std::fmt::Write as _;

use super::finding::{Level, Verdict};
use crate::report::Escaped;

/// One command a finding and for what had no data, then the verdict as plain text.
#[must_use]
pub fn github(verdict: &Verdict) -> String {
    let mut out = String::new();
    let mut command = |kind: &str, title: &str, told: &str| {
        // A string takes every text.
        let _ = writeln!(out, "::{kind} title={}::{}", property(title), data(told));
    };
    for (check, outcome) in &verdict.outcomes {
        for finding in outcome.findings() {
            let kind = match finding.level {
                Level::Error => "error",
                Level::Warning => "warning",
                Level::Note => "notice",
            };
            let minute = finding.worst_minute.as_ref().map_or(String::new(), |m| format!(" ({m})"));
            command(kind, check.name(), &format!("{}: {}{minute}", finding.subject, finding.message));
        }
    }
    for reason in verdict.without_data() {
        command("error", "no data", &reason);
    }
    let _ = writeln!(
        out,
        "crawl-baseline gate: {}, {} errors, {} warnings, {} notes",
        verdict.word(),
        verdict.count(Level::Error),
        verdict.count(Level::Warning),
        verdict.count(Level::Note)
    );
    out
}

/// The text behind `::`: what would end the line or begin an escape is written as a code.
fn data(text: &str) -> String {
    Escaped(text).to_string().replace('%', "%25")
}

/// A property: commas and colons separate them.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_text_can_neither_end_a_command_nor_begin_one() {
        assert_eq!(data("90 %\n::error::x\r"), "90 %25\\x0A::error::x\\x0D");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
