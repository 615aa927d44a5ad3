//! `recommend --explain`: prints why the numbers of one entry are what they are, and for each minute that mattered the
//! shell command that counts the same in the log. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File as LogFile;
use std::io::Read as _;

use super::super::ceilings::Ceilings;
use super::super::console;
use crate::bot::{Catalogue, MatchKind};
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::history::read::{History, Wanted};
use crate::history::source_row::SourceRow;
use crate::manifest::{Entry, Manifest, Minute, nearest};
use crate::report::{Counted, CountedLog, Escaped, count_command, explained};
use crate::source::compression::Compression;
use crate::source::stream::Stream;
use crate::tally::table::{DayTables, Verification};

/// Bytes of a log that are looked at for the form of its stamps.
const HEAD_BYTES: usize = 64 << 10;

/// Prints the explanation of `names`: a host, and a bot on it.
///
/// # Errors
/// A host or bot that the manifest does not have (usage), with the nearest; a history that cannot be read.
pub(super) fn run(
    names: &[String],
    manifest: &Manifest,
    ceilings: &Ceilings<'_>,
    history: &History,
) -> Result<ExitStatus, Error> {
    let [host, rest @ ..] = names else { return Err(Error::usage("--explain", "names no host")) };
    let hosts = || manifest.domain_overrides.keys().map(String::as_str);
    let (host, entry) = manifest
        .domain_overrides
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(host))
        .ok_or_else(|| unknown("host", host, hosts()))?;
    let (bot, entry) = match rest.first() {
        None => (None, entry),
        Some(name) => {
            let of_host = entry.bots.iter().find(|(bot, _)| bot.eq_ignore_ascii_case(name));
            let (bot, own) =
                of_host.ok_or_else(|| unknown("bot", name, entry.bots.keys().map(String::as_str)))?;
            (Some(bot.as_str()), own)
        }
    };
    let mut text = explained(host, bot, entry);
    minutes(&mut text, &Question { host, bot, entry, ceilings, history })?;
    console::write_out(text.as_bytes())?;
    Ok(ExitStatus::Success)
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Error {
    let error = Error::usage("--explain", format_args!("{what} {name:?} is unknown"));
    match nearest(name, known.clone()) {
        Some(near) => error.hint(format_args!("did you mean {near}?")),
        None => error.hint(format_args!("there are {}", known.take(20).collect::<Vec<_>>().join(", "))),
    }
}

struct Question<'a> {
    host: &'a str,
    bot: Option<&'a str>,
    entry: &'a Entry,
    ceilings: &'a Ceilings<'a>,
    history: &'a History,
}

fn minutes(out: &mut String, q: &Question<'_>) -> Result<(), Error> {
    let Some(evidence) = &q.entry.evidence else { return Ok(()) };
    let rate = &evidence.max_requests_per_minute;
    if rate.minutes.is_empty() {
        out.push_str("\nNo single minute decided it.\n");
        return Ok(());
    }
    let of_everybody = matches!(rate.rule.as_str(), "host_overload" | "latency_knee");
    let whose = if of_everybody { " of everybody" } else { "" };
    let _ = writeln!(
        out,
        "\nMinutes that mattered (UTC, at most 5), and what counts the same in the log\n  export LC_ALL=C"
    );
    let paths = paths(q.history)?;
    for Minute(minute) in &rate.minutes {
        let date = i32::try_from(minute.div_euclid(1440)).unwrap_or(i32::MAX);
        let wanted = Wanted { minutes: true, bots: true, ..Wanted::default() };
        let (day, _) = q.history.read_day(date, wanted)?;
        let (requests, refused) = counts(&day, q, *minute, of_everybody);
        let text = Minute(*minute).text().unwrap_or_default();
        let plural = if requests == 1 { "" } else { "s" };
        let _ = match refused {
            0 => writeln!(out, "  {text}  {requests} request{plural}{whose}"),
            n => writeln!(out, "  {text}  {requests} request{plural}{whose}, {n} of them refused with 429"),
        };
        let sources: Vec<&SourceRow> =
            q.history.sources().values().filter(|row| covers(row, *minute)).collect();
        let known: Vec<(&SourceRow, &String)> =
            sources.iter().filter_map(|row| Some((*row, paths.get(&row.entry.source)?))).collect();
        if known.len() < sources.len() || known.is_empty() {
            let _ = writeln!(out, "    the history does not know where its log is");
            continue;
        }
        let logs: Vec<CountedLog> = known.iter().map(|(row, path)| log_of(row, path, q, *minute)).collect();
        let hosts: BTreeSet<&str> = day.series.iter().map(|s| s.host.as_str()).collect();
        let host = (hosts.len() > 1).then_some(q.host);
        let tokens = tokens(&day, q, *minute);
        let counted = match (&tokens, q.bot) {
            _ if of_everybody => Counted::Everybody,
            (Some((any, none)), _) => Counted::Tokens { any, none },
            (None, Some(group)) if group.starts_with('(') => {
                out.push_str("    a group of rare bots: no text of a line tells that it is in it\n");
                continue;
            }
            (None, Some(bot)) => Counted::Named(bot),
            (None, None) => Counted::AllBots,
        };
        let _ = writeln!(out, "    {}", Escaped(&count_command(&logs, *minute, host, &counted)));
    }
    Ok(())
}

/// Requests of the minute, and those of them that were refused.
fn counts(day: &DayTables, q: &Question<'_>, minute: i64, of_everybody: bool) -> (u64, u64) {
    let mut sum = (0, 0);
    for row in day.minutes.iter().filter(|r| r.minute == minute) {
        let Some(series) = usize::try_from(row.series).ok().and_then(|i| day.series.get(i)) else { continue };
        let speaks = series.is_bot()
            && series.verification != Verification::Failed
            && q.bot.is_none_or(|bot| series.bot == bot);
        if series.host == q.host && (of_everybody || speaks) {
            sum = (sum.0 + row.requests, sum.1 + row.code(429));
        }
    }
    sum
}

fn covers(row: &SourceRow, minute: i64) -> bool {
    row.held_coverage().iter().any(|c| (c.first.div_euclid(60)..=c.last.div_euclid(60)).contains(&minute))
}

/// Where each source was when it was last given to a run.
fn paths(history: &History) -> Result<BTreeMap<String, String>, Error> {
    let mut paths = BTreeMap::new();
    for run in history.runs()? {
        for input in run.inputs {
            if let Some(source) =
                input.source.filter(|_| input.outcome != "duplicate" && input.outcome != "prefix")
            {
                paths.insert(source, input.path);
            }
        }
    }
    Ok(paths)
}

fn log_of(row: &SourceRow, path: &str, q: &Question<'_>, minute: i64) -> CountedLog {
    let zone = q.ceilings.site_of(q.host).time_zone;
    let east = i32::try_from(zone.offset_minutes(minute) * 60).unwrap_or(0);
    let head = head_of(path);
    let stamps = match &head {
        Some((_, bytes)) => CountedLog::stamps_of(bytes, &[east]),
        // Gone by now: what nginx and Apache write.
        None => CountedLog::stamps_of(b"[01/Jan/2026:00:00:00 +0000]", &[east]),
    };
    let of = |name: &str| row.formats.keys().all(|f| f == name || f.ends_with("common"));
    CountedLog {
        path: path.to_owned(),
        tool: match head.as_ref().map(|(packed, _)| packed.name()) {
            Some("zstd") => "zstdgrep",
            Some("bzip2") => "bzgrep",
            Some("xz") => "xzgrep",
            _ => "zgrep",
        },
        stamps,
        is_combined: of("combined") || of("vhost_combined"),
        has_host: row.formats.keys().all(|f| f.starts_with("vhost_")),
    }
}

/// The compression and the first bytes of a log; `None` when it cannot be read.
fn head_of(path: &str) -> Option<(Compression, Vec<u8>)> {
    let mut head = Vec::new();
    LogFile::open(path).ok()?.take(HEAD_BYTES as u64).read_to_end(&mut head).ok()?;
    let packed = Compression::of(&head);
    if !matches!(packed, Compression::None) {
        let mut stream = Stream::open(Box::new(LogFile::open(path).ok()?), packed, HEAD_BYTES).ok()?;
        head.clear();
        stream.next_block(&mut head);
        head.truncate(HEAD_BYTES);
    }
    Some((packed, head))
}

/// What a User-Agent of the bots in question holds, and what those hold that are somebody else's. `None` when texts do
/// not tell.
fn tokens(day: &DayTables, q: &Question<'_>, minute: i64) -> Option<(Vec<String>, Vec<String>)> {
    let mut any = BTreeSet::new();
    let catalogue = q.ceilings.catalogue;
    let mut rows = BTreeSet::new();
    let seen: BTreeSet<u32> = day.minutes.iter().filter(|r| r.minute == minute).map(|r| r.series).collect();
    for row in day.bots.iter().filter(|r| seen.contains(&r.series)) {
        let series = day.series.get(usize::try_from(row.series).ok()?)?;
        let is_meant = series.is_bot()
            && series.host == q.host
            && series.verification != Verification::Failed
            && q.bot.is_none_or(|bot| series.bot == bot);
        if !is_meant {
            continue;
        }
        // A group has no text of its own.
        if series.bot.starts_with('(') {
            return None;
        }
        match catalogue.find(&series.bot) {
            None => {
                any.insert(series.bot.clone());
            }
            Some(_) => {
                for (sample, _) in &row.samples {
                    let index = row_of(catalogue, &series.bot, sample)?;
                    any.insert(catalogue.rows()[index].token.clone());
                    rows.insert(index);
                }
            }
        }
    }
    let ours = |index: usize| q.bot.is_none() || rows.contains(&index);
    let last = rows.iter().max().copied().unwrap_or(usize::MAX);
    let mut none = BTreeSet::new();
    for (index, row) in catalogue.rows().iter().enumerate().take_while(|(index, _)| *index < last) {
        let holds = |token: &String| {
            row.token.len() > token.len()
                && row.token.to_ascii_lowercase().contains(&token.to_ascii_lowercase())
        };
        let other = q.bot.is_some_and(|bot| catalogue.info(row.bot).name != bot);
        if other && !ours(index) && row.kind != MatchKind::Regex && any.iter().any(holds) {
            none.insert(row.token.clone());
        }
    }
    (!any.is_empty()).then(|| (any.into_iter().collect(), none.into_iter().collect()))
}

/// The row by which the catalogue knows this User-Agent as that bot; `None` when it is no plain text.
fn row_of(catalogue: &Catalogue, bot: &str, sample: &str) -> Option<usize> {
    let sample = sample.to_ascii_lowercase();
    catalogue.rows().iter().position(|row| {
        catalogue.info(row.bot).name == bot
            && row.kind != MatchKind::Regex
            && sample.contains(&row.token.to_ascii_lowercase())
    })
}
