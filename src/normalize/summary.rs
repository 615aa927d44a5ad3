//! The summary of `normalize`: one screen for a person.
//!
//! Example of a line: `Unique  620,000, ratio 0.62 (healthy: 0.5 to 0.8); 380,000 merged`.

use std::fmt::Write as _;

use super::document::Normalized;
use crate::report::Escaped;
use crate::report::summary::{number, wrapped};

/// Rows of each table that are shown.
const SHOWN: usize = 10;

impl Normalized {
    /// The text, with a line feed at its end. `written` are the files, `width` the columns of the terminal.
    #[must_use]
    pub fn summary(&self, written: &[String], width: u16) -> String {
        let width = usize::from(width.max(60));
        let t = &self.totals;
        let mut out = String::new();
        let equation = format!(
            "{} = {} blank + {} comments + {} URLs + {} rejected",
            number(t.lines),
            number(t.blank),
            number(t.comments),
            number(t.urls),
            number(t.rejected)
        );
        wrapped(&mut out, width, "Lines   ", &equation);
        let ratio = self.dedup_ratio().map_or_else(|| "-".to_owned(), |r| r.to_string());
        let verdict = match self.dedup_verdict() {
            "healthy" => "healthy: 0.5 to 0.8",
            "above_healthy" => "above the usual 0.5 to 0.8",
            "under_normalised" => "above 0.95: hardly any merged",
            "over_normalised" => "below the usual 0.5 to 0.8",
            other => other,
        };
        let unique = format!("{}, ratio {ratio} ({verdict}); {} merged", number(t.unique), number(t.merged));
        wrapped(&mut out, width, "Unique  ", &unique);
        wrapped(&mut out, width, "Dropped ", &Escaped(&self.blacklist.join(" ")).to_string());
        self.show_parameters(&mut out, width);
        out.push_str("\nURLs by priority\n");
        for row in self.rows().take(SHOWN) {
            let url = Escaped(row.url).shortened(width.saturating_sub(14));
            // A string takes every text.
            let _ = writeln!(out, "  {:>10}  {url}", row.score);
        }
        more(&mut out, usize::try_from(t.unique).unwrap_or(usize::MAX), "URLs");
        if !self.warnings.is_empty() {
            out.push_str("\nWarnings\n");
        }
        for warning in &self.warnings {
            wrapped(&mut out, width, "  ", &format!("{}: {}", warning.code, Escaped(&warning.message)));
            wrapped(&mut out, width, "    hint: ", &Escaped(&warning.hint).to_string());
        }
        if !written.is_empty() {
            out.push_str("\nWritten\n");
        }
        for path in written {
            let _ = writeln!(out, "  {}", Escaped(path));
        }
        out
    }

    fn show_parameters(&self, out: &mut String, width: usize) {
        if self.parameters.is_empty() {
            return;
        }
        let blacklisted = |name: &str| self.blacklist.iter().any(|listed| listed.eq_ignore_ascii_case(name));
        let name_width = width.saturating_sub(52).clamp(16, 40);
        let _ = writeln!(
            out,
            "\n{:name_width$} {:>11} {:>11} {:>12}",
            "Parameter", "URLs", "Values", "Makes URLs"
        );
        for p in self.parameters.iter().take(SHOWN) {
            let name = Escaped(&p.name).shortened(name_width);
            let dropped = if blacklisted(&p.name) { "  dropped" } else { "" };
            let _ = writeln!(
                out,
                "{name:name_width$} {:>11} {:>11} {:>12}{dropped}",
                number(p.hits),
                number(p.distinct_values),
                number(p.urls_merged_without)
            );
        }
        more(out, self.parameters.len(), "parameters");
    }
}

fn more(out: &mut String, all: usize, what: &str) {
    if all > SHOWN {
        let _ = writeln!(out, "  and {} more {what}", number((all - SHOWN) as u64));
    }
}
