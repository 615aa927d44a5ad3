//! The summary of `analyze`: one screen for a person, from a finished baseline. Measures nothing.
//!
//! Plain text without colours, so that a terminal, a mail of cron and a log file show the same.
//! Example of a line: `Googlebot  543  17  9  0  3.1 %  20 demand_headroom B  advise: search engine`

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::advice::{Ceiling, HostCeilings, SEARCH_ENGINES};
use super::escaped::Escaped;
use crate::baseline::{Baseline, Bot, Host, Log, Totals, WasteUrl};

/// Bots that are listed for each host.
const BOTS_LISTED: usize = 20;
/// Hosts that are listed, the largest first.
const HOSTS_LISTED: usize = 10;
/// Inputs of one kind that are listed.
const INPUTS_LISTED: usize = 10;
/// Spoofed bots of a host that are listed.
const SPOOFED_LISTED: usize = 5;
/// Networks of each that are listed.
const NETWORKS_LISTED: usize = 3;
/// Wasted URLs that are listed.
const URLS_LISTED: usize = 10;
/// Most characters of a bot's name and of a host's.
const NAME_WIDTH: usize = 60;
/// Characters of the columns beside the name ...
const FIGURES: usize = 42;
/// ... and with those of the ceiling. The longest rule has 24 letters, the longest advice 21.
const FIGURES_AND_CEILINGS: usize = 101;

/// Everything that the summary shows.
#[derive(Debug)]
pub struct Summary<'a> {
    /// What was measured.
    pub baseline: &'a Baseline,
    /// What is recommended, by host; empty without a manifest.
    pub ceilings: BTreeMap<String, HostCeilings>,
    /// Files that were written, in the order of writing.
    pub written: Vec<String>,
    /// Bytes and runs of what outgrew memory; 0 where nothing did.
    pub spilled: (u64, u64),
    /// Columns of the terminal; text is wrapped at this, at least 60.
    pub width: u16,
}

impl Summary<'_> {
    /// The text, with a line feed at its end.
    #[must_use]
    pub fn render(&self) -> String {
        let width = usize::from(self.width.max(60));
        let b = self.baseline;
        let mut out = String::new();
        line(&mut out, &window(b));
        wrapped(&mut out, width, "Lines   ", &equation(&b.totals));
        if let Some(beside) = beside_the_equation(&b.totals) {
            wrapped(&mut out, width, "        ", &beside);
        }
        inputs(&mut out, width, &b.inputs);
        if let (bytes @ 1.., runs) = self.spilled {
            wrapped(&mut out, width, "Memory  ", &spilled(bytes, runs));
        }
        self.hosts(&mut out, width);
        top_waste(&mut out, width, &b.top_waste_urls);
        self.warnings(&mut out, width);
        if !self.written.is_empty() {
            line(&mut out, "\nWritten");
            for path in &self.written {
                line(&mut out, &format!("  {}", Escaped(path)));
            }
        }
        out
    }

    fn hosts(&self, out: &mut String, width: usize) {
        let mut hosts: Vec<_> = self.baseline.hosts.iter().collect();
        hosts.sort_by(|a, b| b.1.requests.cmp(&a.1.requests).then(a.0.cmp(b.0)));
        let none = HostCeilings::default();
        for (name, host) in hosts.iter().take(HOSTS_LISTED) {
            let ceilings = self.ceilings.get(*name).unwrap_or(&none);
            line(out, "");
            wrapped(out, width, "Host    ", &host_text(name, host, ceilings.all_bots.as_ref()));
            if host.bots.is_empty() {
                line(out, "        no bot");
            } else {
                line(out, &bot_table(host, ceilings, width, row_name(&self.baseline.group_by)));
            }
            more(out, host.bots.len(), BOTS_LISTED, "bots");
            spoofed(out, width, host);
        }
        more(out, hosts.len(), HOSTS_LISTED, "hosts");
        let shown = || hosts.iter().take(HOSTS_LISTED).filter_map(|(name, _)| self.ceilings.get(*name));
        if shown().any(HostCeilings::advises) {
            line(out, "");
            wrapped(out, width, "", SEARCH_ENGINES);
        }
    }

    fn warnings(&self, out: &mut String, width: usize) {
        if !self.baseline.warnings.is_empty() {
            line(out, "\nWarnings");
        }
        for warning in &self.baseline.warnings {
            wrapped(out, width, "  ", &format!("{}: {}", Escaped(&warning.code), Escaped(&warning.message)));
            if !warning.hint.is_empty() {
                wrapped(out, width, "    hint: ", &Escaped(&warning.hint).to_string());
            }
        }
    }
}

fn window(b: &Baseline) -> String {
    match (&b.window.first, &b.window.last) {
        (Some(first), Some(last)) => format!(
            "Window  {} to {}, {} covered",
            Escaped(first),
            Escaped(last),
            counted(b.window.minutes_covered, "minute")
        ),
        _ => "Window  no record".to_owned(),
    }
}

/// `lines = blank + directive + filtered + records + rejects`, with the numbers of this run.
fn equation(t: &Totals) -> String {
    let rejected: u64 = t.rejects.values().sum();
    let sum = t.blank + t.directive + t.filtered + t.records + rejected;
    let sign = if sum == t.lines { "=" } else { "IS NOT" };
    let mut text = format!(
        "{} {sign} {} blank + {} directive + {} filtered + {} records + {} rejects",
        number(t.lines),
        number(t.blank),
        number(t.directive),
        number(t.filtered),
        number(t.records),
        number(rejected),
    );
    if rejected > 0 {
        let reasons: Vec<_> =
            t.rejects.iter().map(|(r, n)| format!("{} {}", Escaped(r), number(*n))).collect();
        let _ = write!(text, " ({})", reasons.join(", "));
    }
    text
}

fn beside_the_equation(t: &Totals) -> Option<String> {
    let terms: Vec<_> = [
        (t.bot_records, "records of bots"),
        (t.out_of_range, "records out of range"),
        (t.joined_lines, "joined lines"),
        (t.deferred_bytes, "bytes deferred"),
        (t.overlap_bytes, "bytes already in an older log"),
        (t.nul_bytes_skipped, "NUL bytes skipped"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{} {what}", number(n)))
    .collect();
    (!terms.is_empty()).then(|| terms.join(", "))
}

fn spilled(bytes: u64, runs: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1 << 20);
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    let size = format!("{}.{} MiB", tenths / 10, tenths % 10);
    format!("past --memory-limit, {size} in {runs} of a temporary file; nothing is lost by it")
}

fn inputs(out: &mut String, width: usize, logs: &[Log]) {
    type Kind = (&'static str, fn(&Log) -> bool, fn(&Log) -> String);
    let kinds: [Kind; 5] = [
        (
            "read",
            |l| l.read && l.damage.is_none() && l.skipped.is_none() && l.duplicate_of.is_none(),
            what_was_read,
        ),
        (
            "from the history",
            |l| !l.read && l.damage.is_none() && l.skipped.is_none() && l.duplicate_of.is_none(),
            what_was_read,
        ),
        (
            "damaged",
            |l| l.damage.is_some() && l.skipped.is_none() && l.duplicate_of.is_none(),
            |l| format!("{}; {}", what_was_read(l), Escaped(l.damage.as_deref().unwrap_or_default())),
        ),
        (
            "duplicate",
            |l| l.duplicate_of.is_some() && l.skipped.is_none(),
            |l| format!("same content as {}", Escaped(l.duplicate_of.as_deref().unwrap_or_default())),
        ),
        (
            "skipped",
            |l| l.skipped.is_some(),
            |l| Escaped(l.skipped.as_deref().unwrap_or_default()).to_string(),
        ),
    ];
    if !logs.is_empty() {
        line(out, "\nInputs");
    }
    for (kind, belongs, text) in kinds {
        let of_kind: Vec<&Log> = logs.iter().filter(|l| belongs(l)).collect();
        for log in of_kind.iter().take(INPUTS_LISTED) {
            wrapped(out, width, &format!("  {kind}: "), &format!("{}: {}", Escaped(&log.path), text(log)));
        }
        more(out, of_kind.len(), INPUTS_LISTED, kind);
    }
}

fn what_was_read(log: &Log) -> String {
    let mut parts = vec![counted(log.records, "record")];
    let rejected: u64 = log.rejects.values().sum();
    if rejected > 0 {
        parts.push(counted(rejected, "reject"));
    }
    let formats: Vec<_> = log.formats.iter().map(|(f, n)| (*n, f)).collect();
    match formats.as_slice() {
        [] => {}
        [(_, format)] => parts.push(Escaped(format).to_string()),
        several => {
            parts.extend(several.iter().map(|(n, format)| format!("{} {}", number(*n), Escaped(format))))
        }
    }
    if !log.compression.is_empty() && log.compression != "none" {
        parts.push(Escaped(&log.compression).to_string());
    }
    parts.join(", ")
}

fn host_text(name: &str, host: &Host, ceiling: Option<&Ceiling>) -> String {
    let mut text = format!(
        "{}: {}, peak {} RPM, p95 {} over active minutes, everybody included",
        Escaped(name).shortened(100),
        counted(host.requests, "request"),
        number(host.rpm.peak),
        optional(host.rpm.p95_active),
    );
    if let Some(c) = ceiling {
        let _ = write!(
            text,
            "; ceiling for all bots together {} RPM, bound by {}, confidence {}; {}",
            number(c.requests_per_minute),
            Escaped(&c.bound_by),
            Escaped(&c.confidence),
            c.advice
        );
    }
    text
}

/// Who was claimed from elsewhere, the most requests first, and from which networks.
fn spoofed(out: &mut String, width: usize, host: &Host) {
    let mut all: Vec<_> =
        host.bots.iter().filter_map(|(name, b)| Some((name, b, b.spoofed.as_ref()?))).collect();
    all.sort_by(|a, b| b.2.requests.cmp(&a.2.requests).then(a.0.cmp(b.0)));
    for (name, bot, spoofed) in all.iter().take(SPOOFED_LISTED) {
        let mut networks: Vec<String> = spoofed
            .failing_prefixes
            .iter()
            .take(NETWORKS_LISTED)
            .map(|n| format!("{} {}", Escaped(&n.prefix), number(n.requests)))
            .collect();
        if spoofed.failing_prefixes.len() > networks.len() {
            networks.push("...".to_owned());
        }
        let text = format!(
            "{}: {} of {} ({:.1} %) are not from its addresses, peak {} RPM: {}",
            Escaped(name).shortened(NAME_WIDTH),
            number(spoofed.requests),
            counted(bot.requests, "request"),
            spoofed.share * 100.0,
            number(spoofed.rpm.peak),
            networks.join(", ")
        );
        wrapped(out, width, "Spoofed ", &text);
    }
    more(out, all.len(), SPOOFED_LISTED, "spoofed bots");
}

/// What a row of the bot table is.
fn row_name(group_by: &str) -> &'static str {
    match group_by {
        "user-agent" => "User-Agent",
        "pattern" => "Pattern",
        "family" => "Family",
        "operator" => "Operator",
        "category" => "Category",
        _ => "Bot",
    }
}

fn bot_table(host: &Host, ceilings: &HostCeilings, width: usize, what: &str) -> String {
    let mut bots: Vec<(&String, &Bot)> = host.bots.iter().collect();
    bots.sort_by(|a, b| b.1.requests.cmp(&a.1.requests).then(a.0.cmp(b.0)));
    let with_ceilings = bots.iter().any(|(name, _)| ceilings.bots.contains_key(*name));
    let mut header = vec![what, "Requests", "Peak RPM", "p95 RPM", "429s", "Wasted"];
    if with_ceilings {
        header.extend(["Ceiling", "Bound by", "Conf.", "What to do"]);
    }
    let mut table = Table::new();
    // No lines and no wrapping: a row of a bot is a row of text, in a mail as on a terminal. What is left beside the
    // other columns is the name's.
    let others = if with_ceilings { FIGURES_AND_CEILINGS } else { FIGURES };
    let name_width = width.saturating_sub(others).clamp(20, NAME_WIDTH);
    table.force_no_tty().load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    for (name, bot) in bots.into_iter().take(BOTS_LISTED) {
        let mut row = vec![
            Cell::new(Escaped(name).shortened(name_width)),
            right(number(bot.requests)),
            right(number(bot.rpm.peak)),
            right(optional(bot.rpm.p95_active)),
            right(number(bot.status.get("429").copied().unwrap_or(0))),
            right(format!("{:.1} %", bot.waste_share * 100.0)),
        ];
        if with_ceilings {
            match ceilings.bots.get(name) {
                Some(c) => row.extend([
                    right(number(c.requests_per_minute)),
                    Cell::new(Escaped(&c.bound_by).shortened(NAME_WIDTH)),
                    Cell::new(Escaped(&c.confidence).shortened(8)),
                    Cell::new(c.advice),
                ]),
                None => row.extend([right("-".to_owned()), Cell::new("-"), Cell::new("-"), Cell::new("-")]),
            }
        }
        table.add_row(row);
    }
    table.trim_fmt()
}

fn top_waste(out: &mut String, width: usize, urls: &[WasteUrl]) {
    if urls.is_empty() {
        return;
    }
    line(out, "\nURLs that bots were answered 4xx or 5xx for");
    for url in urls.iter().take(URLS_LISTED) {
        let hits = number(url.error_hits);
        line(out, &format!("  {hits:>10}  {}", Escaped(&url.url).shortened(width.saturating_sub(14))));
    }
    more(out, urls.len(), URLS_LISTED, "in the baseline");
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn more(out: &mut String, all: usize, listed: usize, what: &str) {
    if all > listed {
        line(out, &format!("  and {} more {what}", all - listed));
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Words of `text` behind `lead`, further lines as deep as the lead. A word longer than the line stays whole: it may be
/// a path that somebody copies.
pub(crate) fn wrapped(out: &mut String, width: usize, lead: &str, text: &str) {
    let indent = lead.chars().count();
    let mut column = indent;
    let mut begins = true;
    out.push_str(lead);
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let length = word.chars().count();
        if !begins && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            (column, begins) = (indent, true);
        }
        if !begins {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        begins = false;
    }
    out.push('\n');
}

fn optional(n: Option<u64>) -> String {
    n.map_or_else(|| "-".to_owned(), number)
}

/// `1 record`, `9,999 records`.
fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", number(n), if n == 1 { "" } else { "s" })
}

/// Digits in groups of three.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
