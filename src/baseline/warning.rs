//! What a person should know before trusting the figures, each with its remedy. Warnings never stop a run.
//!
//! Example: `no_latency`: no request says how long it took; log `$request_time`.

use serde::{Deserialize, Serialize};

use super::document::Totals;
use super::input::Input;

/// One remark on the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A stable word, `no_latency`.
    pub code: String,
    /// One sentence with its figures.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl Warning {
    /// A warning.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: hint.into() }
    }
}

/// What the finished figures add to [`warnings`].
pub(super) struct Facts {
    pub requests: u64,
    pub latency_count: u64,
    pub spoofed: Vec<(String, u64)>,
    pub partial_minutes: usize,
    /// Hosts with what multiplies their URLs, in words.
    pub traps: Vec<(String, String)>,
}

/// The run's own warnings, then those that the figures give, in a fixed order.
pub(super) fn warnings(input: &Input<'_>, totals: &Totals, facts: &Facts) -> Vec<Warning> {
    let mut out = input.warnings.clone();
    let mut add = |code: &str, message: String, hint: &str| out.push(Warning::new(code, message, hint));
    damaged(input, &mut add);
    if totals.records == 0 {
        add(
            "no_records",
            format!("no record in {} lines", totals.lines),
            "`crawl-baseline parse LOG` shows what each line was taken for",
        );
    }
    let rejected: u64 = totals.rejects.values().sum();
    if rejected > 0 {
        let reasons: Vec<_> = totals.rejects.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        add(
            "rejects",
            format!("{rejected} of {} lines could not be parsed: {}", totals.lines, reasons.join(", ")),
            "`crawl-baseline parse LOG` shows each line with its reason",
        );
    }
    if totals.out_of_range > 0 {
        add(
            "out_of_range",
            format!(
                "{} records are stamped in the future or before 1995 and are in no figure but the totals",
                totals.out_of_range
            ),
            "check the server's clock; `--now` sets the time of the run for archives",
        );
    }
    let expected = totals.records.saturating_sub(totals.out_of_range);
    if expected != facts.requests {
        add(
            "counts_differ",
            format!("the sources hold {expected} records in range, the figures {} requests", facts.requests),
            "dates that were pruned from the history explain it; else run `crawl-baseline history check`",
        );
    }
    if facts.requests > 0 && totals.bot_records == 0 {
        let common: Vec<_> =
            input.commonest_user_agents.iter().map(|(ua, n)| format!("{n} x {ua}")).collect();
        let common = if common.is_empty() {
            String::new()
        } else {
            format!("; the commonest User-Agents: {}", common.join(" | "))
        };
        add(
            "no_bot_found",
            format!("no bot in {} requests{common}", facts.requests),
            "`crawl-baseline bots test 'USER-AGENT'` explains; `--ua-regex-file` or `--catalogue` name your own",
        );
    }
    if facts.requests > 0 && facts.latency_count == 0 {
        add(
            "no_latency",
            "no request says how long it took: the latency of the origin is unknown".to_owned(),
            "log it: nginx `rt=$request_time`, Apache `%D`",
        );
    }
    if !facts.spoofed.is_empty() {
        let names: Vec<_> = facts.spoofed.iter().map(|(bot, n)| format!("{bot} {n}")).collect();
        add(
            "spoofed",
            format!("requests from addresses that are not the operator's: {}", names.join(", ")),
            "they are the host's load, not the bot's: see `spoofed` of each bot",
        );
    }
    if facts.partial_minutes > 0 {
        add(
            "partial_minutes",
            format!(
                "{} minutes at the end of logs that are still being written are in no percentile",
                facts.partial_minutes
            ),
            "the next run counts them whole",
        );
    }
    for (host, parameters) in &facts.traps {
        add(
            "crawl_trap",
            format!("bots find ever new URLs on {host}: {parameters}"),
            "if these make no other page, keep bots away from them (robots.txt, links without them): see `parameters` in the baseline",
        );
    }
    for overflow in &totals.overflow {
        add(
            "overflow",
            format!(
                "more than {} {}: {} requests are shown as `{}`",
                overflow.limit,
                overflow.cap.replace('_', " "),
                overflow.requests,
                overflow.into
            ),
            "the totals are exact; read the logs of fewer sites at a time",
        );
    }
    out
}

fn damaged(input: &Input<'_>, add: &mut impl FnMut(&str, String, &str)) {
    let mut sources: Vec<_> = input.sources.iter().collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    for source in sources {
        if let Some(damage) = &source.damage {
            add(
                "damaged_input",
                format!("{}: {damage}", source.path),
                "everything before the damage was counted; restore the file and run again",
            );
        }
    }
}
