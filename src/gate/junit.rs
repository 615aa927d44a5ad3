//! The verdict as JUnit XML, which most CI servers show as test results: a test case for each check.
//!
//! Findings that break the gate are failures, others are output; a check without data is skipped, or an error where it was
//! asked for. Example: `<testcase classname="crawl-baseline.gate" name="rpm-ceiling"><failure .../></testcase>`

use std::fmt::Write as _;

use super::finding::{Finding, Outcome, Verdict};

/// The document.
#[must_use]
pub fn junit(verdict: &Verdict) -> String {
    let mut cases = String::new();
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for (check, outcome) in &verdict.outcomes {
        tests += 1;
        let (mut body, named) = (String::new(), verdict.named.contains(check));
        match outcome {
            Outcome::Ran { findings, seen } => {
                let breaks: Vec<&Finding> = findings.iter().filter(|f| f.level >= verdict.fail_on).collect();
                if let Some(first) = breaks.first() {
                    failures += 1;
                    let text: Vec<String> = breaks.iter().map(|finding| told(finding)).collect();
                    // A string takes every text.
                    let _ = write!(
                        body,
                        "<failure type=\"{}\" message=\"{}\">{}</failure>",
                        first.level.name(),
                        xml(&told(first)),
                        xml(&text.join("\n"))
                    );
                }
                let rest = findings.iter().filter(|f| f.level < verdict.fail_on);
                let mut lines: Vec<String> =
                    rest.map(|f| format!("{}: {}", f.level.name(), told(f))).collect();
                lines.push(seen.clone());
                let _ = write!(body, "<system-out>{}</system-out>", xml(&lines.join("\n")));
            }
            Outcome::Skipped(why) | Outcome::NoData(why) if named => {
                errors += 1;
                let _ = write!(body, "<error type=\"no_data\" message=\"{}\"/>", xml(why));
            }
            Outcome::Skipped(why) | Outcome::NoData(why) => {
                skipped += 1;
                let _ = write!(body, "<skipped message=\"{}\"/>", xml(why));
            }
        }
        let _ = writeln!(
            cases,
            "    <testcase classname=\"crawl-baseline.gate\" name=\"{check}\">{body}</testcase>"
        );
    }
    // What is told by no check of its own: an input that holds nothing, or no check that ran.
    if errors == 0 && !verdict.without_data().is_empty() {
        (tests, errors) = (tests + 1, errors + 1);
        let why = verdict.without_data().join("; ");
        let _ = writeln!(
            cases,
            "    <testcase classname=\"crawl-baseline.gate\" name=\"data\"><error type=\"no_data\" message=\"{}\"/></testcase>",
            xml(&why)
        );
    }
    let counts =
        format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"crawl-baseline gate\" {counts}>\n{cases}  </testsuite>\n</testsuites>\n"
    )
}

fn told(finding: &Finding) -> String {
    let minute = finding.worst_minute.as_ref().map_or(String::new(), |m| format!(" ({m})"));
    format!("{}: {}{minute}; more: {}", finding.subject, finding.message, finding.more)
}

/// Text for an attribute or an element. Characters that XML 1.0 cannot hold at all, and those that hide or turn text, are
/// written as for a terminal.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split('\n') {
        if !out.is_empty() {
            out.push_str("&#10;");
        }
        for c in crate::report::Escaped(line).to_string().chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&apos;"),
                '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
                c => out.push(c),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_can_end_an_attribute_or_an_element() {
        assert_eq!(xml("<a b=\"c\">&'\u{1}\nx"), "&lt;a b=&quot;c&quot;&gt;&amp;&apos;\\x01&#10;x");
    }
}
