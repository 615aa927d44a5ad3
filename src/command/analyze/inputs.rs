//! What the run has to say of its inputs, and the baseline's input made from them.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;

use super::super::ceilings::GENERATOR;
use super::super::reading::Reading;
use super::{Analyze, verification};
use crate::baseline::{Input, InputSource, Matched, Warning};
use crate::error::Error;
use crate::format::escape::{printable, unescape};
use crate::format::guess::guess;
use crate::format::{Line, Parser};
use crate::history::known::{Decision, Skip};
use crate::ingest::{Ingested, Urls};
use crate::source::compression::Compression;
use crate::source::discover::Discovery;
use crate::source::stream::Stream;
use crate::tally::matched::MatchedTally;
use crate::tally::spill::Spilling;

/// Logs with fewer lines are not judged by their share of rejects.
const MIN_LINES: u64 = 20;
/// Lines that are looked at for the commonest User-Agents.
const SAMPLE_LINES: usize = 100_000;

/// Remarks on the inputs of a run.
pub(super) struct Remarks<'a> {
    reading: &'a Reading,
    max_reject_share: f64,
    /// What makes the run partial.
    pub(super) errors: Vec<Error>,
    /// What is only said.
    pub(super) warnings: Vec<Warning>,
}

/// What the lines of a log look like of which none was read.
pub(super) fn likely(reading: &Reading, log: &Ingested) -> Option<String> {
    let unread = log.tables.counts.records == 0 && log.tables.counts.rejected() > 0;
    unread.then(|| guess(&log.remarks.rejected, &reading.parser)).flatten()
}

/// The same for a run whose folders hold no log: of the first files that were passed over for their lines.
pub(super) fn likely_of_skipped(reading: &Reading, found: &Discovery) -> Option<String> {
    if !found.logs.is_empty() {
        return None;
    }
    let unknown = found.skipped.iter().filter(|s| s.reason.starts_with("no line of a known format"));
    unknown.take(3).find_map(|skipped| {
        let mut file = File::open(&skipped.path).ok()?;
        let mut head = Vec::new();
        (&mut file).take(Compression::HEAD as u64).read_to_end(&mut head).ok()?;
        let compression = Compression::of(&head);
        let reader: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(head).chain(file));
        let mut stream = Stream::open(reader, compression, reading.parser.max_line_bytes).ok()?;
        let mut buffer = Vec::new();
        let shape = stream.next_block(&mut buffer)?;
        let lines: Vec<&[u8]> =
            buffer[shape.lines_start..shape.lines_end].split(|b| *b == b'\n').take(20).collect();
        guess(&lines, &reading.parser).map(|hint| format!("{}: {hint}", skipped.path.display()))
    })
}

impl<'a> Remarks<'a> {
    pub(super) fn new(found: &Discovery, reading: &'a Reading, max_reject_share: f64) -> Self {
        let gap = |text: &String| {
            Warning::new(
                "rotation_gap",
                text,
                "a rotated log may have been deleted, or is not in this folder",
            )
        };
        Self { reading, max_reject_share, errors: Vec::new(), warnings: found.gaps.iter().map(gap).collect() }
    }

    /// Looks at what was read.
    pub(super) fn look_at(&mut self, logs: &[Ingested]) {
        for log in logs {
            let path = log.log.path.display().to_string();
            if let Some(damage) = &log.damage {
                let error = if damage.at_byte == 0 {
                    Error::partial(&path, "cannot be read")
                        .cause(&damage.cause)
                        .hint("the other logs were read")
                } else {
                    Error::partial(&path, format_args!("cannot be read past byte {}", damage.at_byte))
                        .cause(&damage.cause)
                        .hint("what came before was kept; bytes are counted after decompression")
                };
                self.errors.push(error);
            }
            if let Some(bytes) = log.trailing_garbage {
                let packing = log.compression.name();
                let unit = if packing == "gzip" { "member" } else { "stream" };
                let message =
                    format!("{path}: {bytes} bytes behind the last {packing} {unit} are no {packing}");
                self.warnings.push(Warning::new(
                    "trailing_garbage",
                    message,
                    "all lines before them were kept",
                ));
            }
            self.judge_rejects(log);
            self.judge_place(log, &path);
        }
    }

    /// Whether this is the log of an origin, with the addresses of clients.
    fn judge_place(&mut self, log: &Ingested, path: &str) {
        if let Some(edge) = &log.remarks.edge {
            self.warnings.push(Warning::new(
                "edge_log",
                format!("{path}: looks like a log of {edge}'s edge: it holds what its cache answered, and not what the origin saw"),
                "measure at the origin; ceilings from an edge log are too high by what the cache answers",
            ));
        }
        // Where claims could be checked, those have told it with figures.
        if let Some(proxy) = log.remarks.proxy.as_ref().filter(|_| log.proxy.is_none()) {
            self.warnings.push(Warning::new(
                "proxy_addresses",
                format!("{path}: holds the addresses of a proxy instead of the clients': {proxy}"),
                "log the client (nginx real_ip, Apache mod_remoteip), or an X-Forwarded-For list in front and --client \
                 last-untrusted --trusted-proxy CIDR; until then no bot's address can be checked",
            ));
        }
    }

    fn judge_rejects(&mut self, log: &Ingested) {
        let counts = &log.tables.counts;
        let rejected = counts.rejected();
        // Counts of lines are far below 2^53.
        let share = rejected as f64 * 100.0 / counts.lines.max(1) as f64;
        if counts.lines < MIN_LINES || share <= self.max_reject_share {
            return;
        }
        let reasons: Vec<String> = counts.rejects.iter().map(|(r, n)| format!("{n} {}", r.name())).collect();
        let first: Vec<String> =
            log.tables.first_rejected_lines.iter().take(5).map(|(line, _)| line.to_string()).collect();
        self.errors.push(
            Error::partial(
                log.log.path.display(),
                format_args!("{rejected} of {} lines are rejected ({share:.1} %)", counts.lines),
            )
            .cause(format_args!("{}; first at line {}", reasons.join(", "), first.join(", ")))
            .hint(likely(self.reading, log).unwrap_or_else(|| {
                "crawl-baseline parse LOG shows each line with its reason; --max-reject-share sets the limit"
                    .to_owned()
            })),
        );
    }
}

/// Unused patterns that are named.
const PATTERNS_NAMED: usize = 20;

/// Puts the baseline's input together.
pub(super) fn baseline_input<'a>(
    analyze: &Analyze<'_>,
    found: &Discovery,
    logs: &'a [Ingested],
    urls: &Urls<'_>,
    spilling: &Spilling<'_>,
    mut warnings: Vec<Warning>,
) -> Result<Input<'a>, Error> {
    let counted: Vec<&Ingested> = logs.iter().filter(|l| l.duplicate_of().is_none()).collect();
    let mut matched = MatchedTally::default();
    for log in &counted {
        matched.merge(&log.matched);
    }
    let top_waste = matched.top_waste(40, Some(spilling))?;
    warnings.extend(verification::warnings(&analyze.reading.verifier, &counted));
    let regrouped = analyze.view.patterns.is_some() || analyze.view.group_by.needs_lines();
    let bot_records: u64 = counted.iter().map(|l| l.bot_records).sum();
    let first_match_requests = analyze.view.patterns.as_ref().map(|patterns| {
        let mut by_pattern: BTreeMap<String, u64> = BTreeMap::new();
        for log in &counted {
            for (text, n) in patterns.texts().iter().zip(&log.first_match).filter(|(_, n)| **n > 0) {
                *by_pattern.entry(text.clone()).or_default() += n;
            }
        }
        warnings.extend(unused_patterns(analyze, &counted));
        by_pattern
    });
    let mut sources: Vec<InputSource> = logs.iter().map(|log| input_source(log, logs)).collect();
    sources.extend(found.skipped.iter().map(|s| InputSource {
        path: s.path.display().to_string(),
        compression: "none".to_owned(),
        clock: "unknown".to_owned(),
        skipped: Some(s.reason.clone()),
        ..InputSource::default()
    }));
    sources.extend(found.unreadable.iter().map(|e| InputSource {
        path: e.place().to_owned(),
        compression: "none".to_owned(),
        clock: "unknown".to_owned(),
        damage: Some(e.to_string()),
        ..InputSource::default()
    }));
    Ok(Input {
        generated_at: analyze.now(),
        generator: GENERATOR.to_owned(),
        analysis_window_min: analyze.arguments.time_window_min,
        group_by: analyze.view.group_by,
        sources,
        days: counted.iter().flat_map(|l| l.days()).collect(),
        grouped: regrouped.then(|| counted.iter().flat_map(|l| l.grouped.iter().flatten()).collect()),
        matched: regrouped.then(|| Matched {
            bot_records,
            status: matched
                .status()
                .into_iter()
                .map(|(s, n)| (s.map_or_else(|| "-".to_owned(), |s| s.to_string()), n))
                .collect(),
        }),
        include_other: analyze.arguments.include_other,
        first_match_requests,
        top_waste: Some(top_waste.into_iter().map(|(url, n)| (urls.sample(&url), n)).collect()),
        commonest_user_agents: if bot_records == 0 { commonest(analyze, logs) } else { Vec::new() },
        warnings,
    })
}

fn input_source(log: &Ingested, logs: &[Ingested]) -> InputSource {
    let duplicate = log.duplicate_of().and_then(|i| logs.get(i)).map(|l| l.log.path.display().to_string());
    InputSource {
        path: log.log.path.display().to_string(),
        source: log.source().map(str::to_owned),
        compression: log.compression.name().to_owned(),
        formats: log.tables.formats.clone(),
        clock: log.remarks.clock.map_or("unknown", |clock| clock.name()).to_owned(),
        bytes_read: if log.stream.is_some() { log.length } else { 0 },
        counts: log.counts(),
        first_rejected_lines: log.tables.first_rejected_lines.clone(),
        damage: log.damage.as_ref().map(|d| format!("at byte {}: {}", d.at_byte, d.cause)),
        read: duplicate.is_none()
            && log.stream.is_some()
            && !(matches!(log.decision, Decision::Skip(Skip::Empty)) && log.damage.is_some()),
        duplicate_of: duplicate,
        skipped: None,
        coverage: log.coverage().to_vec(),
    }
}

/// Patterns that matched nothing are often misspelt.
fn unused_patterns(analyze: &Analyze<'_>, counted: &[&Ingested]) -> Option<Warning> {
    let patterns = analyze.view.patterns.as_ref()?;
    let used = |index: usize| counted.iter().any(|l| l.every_match.get(index).is_some_and(|n| *n > 0));
    let unused: Vec<String> = (0..patterns.count())
        .filter(|index| !used(*index))
        .map(|index| format!("{} (line {})", patterns.texts()[index], patterns.line(index)))
        .collect();
    let more = match unused.len().checked_sub(PATTERNS_NAMED) {
        Some(n @ 1..) => format!("  and {n} more"),
        _ => String::new(),
    };
    (!unused.is_empty()).then(|| {
        Warning::new(
            "unused_patterns",
            format!(
                "{} of {} patterns matched nothing: {}{more}",
                unused.len(),
                patterns.count(),
                unused[..unused.len().min(PATTERNS_NAMED)].join("  ")
            ),
            "patterns are searched case-sensitively; (?i) in front ignores case",
        )
    })
}

/// The commonest User-Agents among the first lines of the logs, with their requests.
fn commonest(analyze: &Analyze<'_>, logs: &[Ingested]) -> Vec<(String, u64)> {
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut left = SAMPLE_LINES;
    for log in logs.iter().filter(|l| !l.log.is_stdin()) {
        let Ok(file) = File::open(&log.log.path) else { continue };
        let reader: Box<dyn Read + Send> = Box::new(file);
        let Ok(mut stream) = Stream::open(reader, log.compression, analyze.reading.parser.max_line_bytes)
        else {
            continue;
        };
        let mut parser = Parser::new(analyze.reading.parser.clone());
        let mut buffer = Vec::new();
        while left > 0
            && let Some(shape) = stream.next_block(&mut buffer)
        {
            parser.block(&buffer[shape.lines_start..shape.lines_end], |entry| {
                if let (Line::Record(record), true) = (entry.outcome, left > 0) {
                    left -= 1;
                    if let Some(user_agent) = record.user_agent {
                        *counts.entry(user_agent.to_vec()).or_default() += 1;
                    }
                }
            });
        }
    }
    let mut all: Vec<(String, u64)> =
        counts.into_iter().map(|(text, n)| (printable(&unescape(&text)).into_owned(), n)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.truncate(10);
    all
}
