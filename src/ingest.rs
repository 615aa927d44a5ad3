//! Logs into the history: read, count, decide what is new, write the parts. The first of the two calls that `analyze`
//! is made of.
//!
//! Nothing is counted twice: identity is decided for all logs of a run at once, by content ([`crate::history::known`]).
//! Example: `access.log.1` that was read as `access.log` yesterday is the same source, whatever it is called.

mod claims;
pub mod overlap;
mod recall;
mod twice;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::bot::names::{
    KNOWN, NO_USER_AGENT, Names, OTHER_CLIENT, OTHER_DECLARED, PEOPLE, USER_AGENT_NOT_LOGGED,
};
use crate::bot::{BotId, Catalogue};
use crate::error::Error;
use crate::format::escape::printable;
use crate::history::compact::take_apart;
use crate::history::known::{Decision, Skip, Stream, Write};
use crate::history::prune::Pruned;
use crate::history::read::History;
use crate::history::seen::{FileStamp, Seen, SeenLog};
use crate::history::settings::Settings;
use crate::history::source_row::{Identity, SourceEntry};
use crate::history::write::write_source;
use crate::pipeline::first_look::Remarks;
use crate::pipeline::rejects::Rejected;
use crate::pipeline::{Pipeline, SourceCount};
use crate::source::compression::Compression;
use crate::source::discover::LogFile;
use crate::source::stream::Damage;
use crate::tally::edges::Edges;
use crate::tally::finish::{Finish, Finished, Named, finish};
use crate::tally::fold::Tally;
use crate::tally::matched::MatchedTally;
use crate::tally::table::{Coverage, DayTables, LineCounts, SourceTables};
use overlap::Overlap;

use crate::url::{Rules, mask_secrets};

/// The site of records that do not say theirs.
pub const DEFAULT_HOST: &str = "(default)";

/// Variants of a bot by number, see [`crate::tally::hit::Asker::variant`].
pub const VARIANTS: [&str; 3] = ["", "smartphone", "desktop"];

/// What is known of one log after it was read.
#[derive(Debug)]
pub struct Ingested {
    /// The log.
    pub log: LogFile,
    /// How it was packed.
    pub compression: Compression,
    /// The identity of what counts; `None` when it was not read, because the history already has all of it.
    pub stream: Option<Stream>,
    /// Decompressed bytes of its content.
    pub length: u64,
    /// What the file was when reading began, where that says something.
    pub stamp: Option<FileStamp>,
    /// What was done with it.
    pub decision: Decision,
    /// The lines at both its ends.
    pub edges: Edges,
    /// What of it is in an older source, and not counted.
    pub overlap: Option<Overlap>,
    /// Everything that was counted; nothing is filtered here.
    pub tables: SourceTables,
    /// Records that a filter left out.
    pub filtered: u64,
    /// The rows and coverage of the window that was asked for, where that is not all.
    pub window: Option<(Vec<DayTables>, Vec<Coverage>)>,
    /// The rows under the names that were asked for, where those are not the bots'.
    pub grouped: Option<Vec<DayTables>>,
    /// What counts as a bot's in the baseline.
    pub matched: MatchedTally,
    /// Records of bots in the baseline.
    pub bot_records: u64,
    /// Records by the first pattern that they match.
    pub first_match: Vec<u64>,
    /// Records by every pattern that they match.
    pub every_match: Vec<u64>,
    /// Why no claim in it was checked: it holds the addresses of a proxy.
    pub proxy: Option<String>,
    /// Requests by address and bot that a reverse name could prove, where that was asked for; and those of addresses
    /// past the cap.
    pub unverified: (BTreeMap<(IpAddr, String), u64>, u64),
    /// Where reading ended before the end.
    pub damage: Option<Damage>,
    /// Bytes behind the last gzip member.
    pub trailing_garbage: Option<u64>,
    /// What its beginning tells of it.
    pub remarks: Remarks,
    /// Its rejected lines, where they were wanted.
    pub rejected: Option<Rejected>,
    /// What did not fit under the caps.
    pub overflow: Vec<String>,
}

impl Ingested {
    /// The rows that the baseline is about.
    #[must_use]
    pub fn days(&self) -> &[DayTables] {
        self.window.as_ref().map_or(&self.tables.days, |(days, _)| days)
    }

    /// The coverage that the baseline is about.
    #[must_use]
    pub fn coverage(&self) -> &[Coverage] {
        self.window.as_ref().map_or(&self.tables.coverage, |(_, coverage)| coverage)
    }

    /// Lines by kind, as the baseline counts them.
    #[must_use]
    pub fn counts(&self) -> LineCounts {
        let mut counts = self.tables.counts.clone();
        counts.records -= self.filtered;
        counts.filtered = self.filtered;
        counts
    }

    /// The log of this run that holds all of it and is counted instead.
    #[must_use]
    pub fn duplicate_of(&self) -> Option<usize> {
        match &self.decision {
            Decision::Skip(Skip::DuplicateOf(other) | Skip::PrefixOfInput(other, _)) => Some(*other),
            _ => None,
        }
    }

    /// The name of its source in the history.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        match &self.decision {
            Decision::Write { source, .. } => Some(source),
            Decision::Skip(Skip::Same(source) | Skip::PrefixOf(source, _)) => Some(source),
            Decision::Skip(_) => None,
        }
    }

    /// Whether it was still being written.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.stream.as_ref().is_some_and(|s| s.live)
    }

    /// What was done with it, in a word.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match &self.decision {
            Decision::Skip(Skip::Same(_)) if self.stream.is_none() => "unchanged",
            Decision::Write { why: Write::New, .. } => "new",
            Decision::Write { why: Write::Grown { .. }, .. } => "grown",
            Decision::Write { why: Write::Settled, .. } => "settled",
            Decision::Skip(Skip::Empty) if self.damage.is_some() => "unreadable",
            Decision::Skip(Skip::Empty) => "empty",
            Decision::Skip(Skip::Same(_)) => "same",
            Decision::Skip(Skip::PrefixOf(..)) => "prefix",
            Decision::Skip(Skip::DuplicateOf(_)) => "duplicate",
            Decision::Skip(Skip::PrefixOfInput(..)) => "prefix",
        }
    }
}

/// How URLs are keyed and printed.
pub struct Urls<'a> {
    /// The canonical form.
    pub rules: &'a Rules,
    /// Values that look like secrets stay as logged.
    pub keep_query_values: bool,
}

impl Urls<'_> {
    /// The key of a URL without escapes on a site without a name.
    #[must_use]
    pub fn key_anywhere(&self, target: &[u8]) -> String {
        self.masked(self.rules.key(target, None))
    }

    fn key(&self, target: &[u8], host: &str) -> String {
        let own = (host != DEFAULT_HOST).then_some(host.as_bytes());
        self.masked(self.rules.key(target, own))
    }

    /// A URL as logged, printable, secrets masked.
    #[must_use]
    pub fn sample(&self, target: &[u8]) -> String {
        self.masked(printable(target).into_owned())
    }

    fn masked(&self, url: String) -> String {
        if self.keep_query_values { url } else { mask_secrets(&url).into_owned() }
    }
}

/// What may be taken from the history instead of reading it again.
pub struct Known<'a> {
    /// The history.
    pub history: &'a History,
    /// Which files were read before.
    pub seen: &'a Seen,
    /// What counts only if it was counted under the same settings.
    pub settings: &'a Settings,
}

/// Reads all logs and counts them; decides and writes nothing. One entry per log, in the order of the logs. Files that
/// were read before, and of which the history still has everything, are not opened.
///
/// # Errors
/// A signal, or a fault of the reader.
pub fn read(
    pipeline: &Pipeline<'_>,
    logs: &[LogFile],
    urls: &Urls<'_>,
    known: Option<&Known<'_>>,
) -> Result<Vec<Ingested>, Error> {
    let stamps: Vec<Option<FileStamp>> = logs
        .iter()
        .map(|log| FileStamp::of(&log.path).filter(|stamp| stamp.is_settled() && !log.is_stdin()))
        .collect();
    let mut entries: Vec<Option<Ingested>> = Vec::with_capacity(logs.len());
    for (log, stamp) in logs.iter().zip(&stamps) {
        entries.push(match (known, stamp) {
            (Some(known), Some(stamp)) => recall::recall(log, *stamp, known)?,
            _ => None,
        });
    }
    let unread: Vec<usize> = (0..logs.len()).filter(|i| entries[*i].is_none()).collect();
    let to_read: Vec<LogFile> = unread.iter().map(|i| logs[*i].clone()).collect();
    let slots = Mutex::new(entries);
    let kept = AtomicUsize::new(0);
    let take = |index: usize, count: SourceCount| {
        let mut done = ingested(pipeline, count, urls)?;
        if let Some(spilling) = &pipeline.spilling {
            // Kept until the baseline is made, as those of all other logs.
            let kept = kept.fetch_add(done.matched.bytes(), Ordering::Relaxed) + done.matched.bytes();
            if kept > spilling.to.share() {
                done.matched.spill(spilling)?;
            }
        }
        let index = unread[index];
        done.stamp = stamps[index];
        slots.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(done);
        Ok(())
    };
    let expected = |place: usize, head: &[u8]| match known {
        Some(known) if !to_read[place].is_stdin() => overlap::expected(known.history.sources(), head),
        _ => 0,
    };
    pipeline.run(&to_read, &expected, &take)?;
    let slots = slots.into_inner().unwrap_or_else(PoisonError::into_inner);
    slots
        .into_iter()
        .map(|slot| {
            slot.ok_or_else(|| {
                Error::runtime("reading", "a log was left out").hint("this is a fault of the program")
            })
        })
        .collect()
}

fn ingested(pipeline: &Pipeline<'_>, mut count: SourceCount, urls: &Urls<'_>) -> Result<Ingested, Error> {
    let (proxy, unverified) = claims::judge(pipeline, &mut count);
    let lines = count.lines.finish();
    let mut remarks = count.remarks;
    // A string is one server's: it says what its stamps mean.
    if let Some(layout) = &pipeline.parser.layout {
        remarks.clock = Some(layout.clock());
    }
    let spilling = pipeline.spilling.as_ref();
    let name = |who| pipeline.names.name(who).unwrap_or_default();
    for tally in std::iter::once(&mut count.all).chain(&mut count.window) {
        tally.count_aside(&name, spilling)?;
        tally.settle(spilling)?;
    }
    // Without patterns, what counts as a bot's follows from the rows.
    let matched =
        count.matched.unwrap_or_else(|| MatchedTally::of_bots(count.window.as_ref().unwrap_or(&count.all)));
    let newest = count.all.newest();
    let finished = |tally: Tally, caps: bool| {
        let mut finished = finish(
            tally,
            &Finish {
                name: &|who| named(pipeline.matcher.catalogue(), pipeline.names, who),
                url_key: &|target, host| urls.key(target, host),
                url_sample: &|target| urls.sample(target),
                caps,
                spilling,
            },
        )?;
        if count.live {
            mark_partial(&mut finished.days, newest);
        }
        Ok(finished)
    };
    let Finished { days, coverage, overflow } = finished(count.all, true)?;
    let window = count.window.map(|tally| finished(tally, true)).transpose()?;
    let grouped = count.grouped.map(|tally| finished(tally, false)).transpose()?;
    let mut counts = lines.counts;
    counts.deferred_bytes = count.deferred_bytes;
    counts.overlap_bytes = count.overlap_bytes;
    Ok(Ingested {
        log: count.log,
        compression: count.compression,
        length: count.digests.length(),
        stream: Some(Stream { digests: count.digests, live: count.live, damaged: count.damage.is_some() }),
        stamp: None,
        decision: Decision::Skip(Skip::Empty),
        edges: count.edges,
        overlap: None,
        tables: SourceTables {
            counts,
            formats: lines.formats,
            flags: lines.flags,
            coverage,
            first_date: lines.first_date,
            first_rejected_lines: lines.first_rejected_lines,
            days,
        },
        filtered: lines.filtered,
        window: window.map(|f| (f.days, f.coverage)),
        grouped: grouped.map(|f| f.days),
        matched,
        bot_records: lines.bot_records,
        first_match: lines.first_match,
        every_match: lines.every_match,
        proxy,
        unverified,
        damage: count.damage,
        trailing_garbage: count.trailing_garbage,
        remarks,
        rejected: count.rejected,
        overflow,
    })
}

/// The last minute of a log that is still being written is not over.
fn mark_partial(days: &mut [DayTables], newest: Option<i64>) {
    let Some(last) = newest.map(|epoch| epoch.div_euclid(60)) else { return };
    for row in days.iter_mut().flat_map(|d| &mut d.minutes).filter(|m| m.minute == last) {
        row.partial = true;
    }
}

/// What a number stands for.
fn named(catalogue: &Catalogue, names: &Names, who: u32) -> Named {
    let group = |name: &str| Named { bot: name.to_owned(), family: name.to_owned(), ..Named::default() };
    match who {
        PEOPLE => group("(people)"),
        OTHER_CLIENT => group("(other-client)"),
        NO_USER_AGENT => group("(no-user-agent)"),
        USER_AGENT_NOT_LOGGED => group("(user-agent-not-logged)"),
        OTHER_DECLARED => Named { category: "declared".to_owned(), ..group("(other-declared)") },
        _ => match names.name(who) {
            Some(name) => Named { category: "declared".to_owned(), ..group(&name) },
            None => {
                let info = catalogue.info(BotId(who - KNOWN));
                Named {
                    bot: info.name.clone(),
                    family: info.family.clone(),
                    operator: info.operator.clone(),
                    category: info.category.to_string(),
                    variants: VARIANTS.map(str::to_owned).to_vec(),
                }
            }
        },
    }
}

/// How the history is written.
pub struct Target<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// What it held before this run.
    pub known: &'a History,
    /// Settings that change what a part holds.
    pub settings: Settings,
    /// What is recorded beside them.
    pub recorded: Vec<(String, String)>,
    /// What was taken out of it and must not come back.
    pub pruned: &'a Pruned,
    /// Whether a source may be counted again under other settings.
    pub reclassify: bool,
}

/// Decides what each log is, and writes the parts of what is new. Without a target, logs are only compared with each
/// other.
///
/// # Errors
/// Other settings for a known source (usage), before anything is written; a part that cannot be written.
pub fn store(logs: &mut [Ingested], target: Option<&Target<'_>>) -> Result<(), Error> {
    let nothing = BTreeMap::new();
    let known = target.map_or(&nothing, |t| t.known.sources());
    let read: Vec<usize> = (0..logs.len()).filter(|i| logs[*i].stream.is_some()).collect();
    let mut streams: Vec<Stream> = logs.iter().filter_map(|l| l.stream.clone()).collect();
    let decisions = twice::decide_exactly(known, &mut streams, &|i| &logs[read[i]].log)?;
    for ((index, decision), stream) in read.iter().zip(decisions).zip(streams) {
        let log = &mut logs[*index];
        log.stream = Some(stream);
        log.decision = match decision {
            Decision::Skip(Skip::DuplicateOf(other)) => Decision::Skip(Skip::DuplicateOf(read[other])),
            Decision::Skip(Skip::PrefixOfInput(other, proof)) => {
                Decision::Skip(Skip::PrefixOfInput(read[other], proof))
            }
            other => other,
        };
    }
    if let Some(target) = target {
        for log in logs.iter_mut().filter(|l| l.stream.is_some()) {
            let mut decision = log.decision.clone();
            settle_settings(log, &mut decision, target)?;
            settle_damage(&mut decision, target);
            settle_overlap(log, &mut decision, target);
            settle_pruned(log, &mut decision, target);
            log.decision = decision;
        }
    }
    recall::settle(logs);
    let Some(target) = target else { return Ok(()) };
    take_apart(target.known, &replaced(logs))?;
    for log in logs.iter() {
        let Decision::Write { source, replaces, .. } = &log.decision else { continue };
        let Some(stream) = &log.stream else { continue };
        let entry = SourceEntry {
            source: source.clone(),
            identity: Identity::from(&stream.digests),
            settings: target.settings.clone(),
            recorded: claims::recorded(&target.recorded, log),
            replaces: replaces.clone(),
            clock: log.remarks.clock.map(|clock| clock.name().to_owned()),
            live: stream.live,
            damaged: stream.damaged,
            overlap_source: log.overlap.as_ref().map(|overlap| overlap.source.clone()),
            edges: log.edges.clone(),
            overflow: log.overflow.clone(),
        };
        let without = target.pruned.dates(source);
        write_source(target.folder, entry, &log.tables, &without)?;
    }
    Ok(())
}

/// Remembers which files need not be read again. To be called after [`store`].
///
/// # Errors
/// The cache cannot be written: the next run reads more than it must, and nothing else.
pub fn remember(logs: &[Ingested], seen: &Seen, history: &History) -> Result<(), Error> {
    let mut now = seen.clone();
    now.retain(|log| {
        history.sources().get(&log.source).is_some_and(|row| row.entry.identity.content == log.content)
    });
    for log in logs {
        // A file that changed under the reader is another one.
        let Some(stamp) = log.stamp.filter(|stamp| FileStamp::of(&log.log.path) == Some(*stamp)) else {
            continue;
        };
        let Some(stream) = log.stream.as_ref().filter(|s| !s.live && !s.damaged) else { continue };
        let original = match log.decision {
            Decision::Skip(Skip::DuplicateOf(other)) => &logs[other],
            _ => log,
        };
        let content = stream.digests.content();
        if let Decision::Write { source, .. } | Decision::Skip(Skip::Same(source)) = &original.decision
            && history.sources().get(source).is_some_and(|row| row.entry.identity.content == content)
        {
            now.insert(
                stamp,
                SeenLog {
                    source: source.clone(),
                    content,
                    compression: log.compression,
                    trailing_garbage: log.trailing_garbage,
                },
            );
        }
    }
    if now == *seen { Ok(()) } else { now.write(history.folder()) }
}

/// The sources whose parts will be written over or removed.
fn replaced(logs: &[Ingested]) -> BTreeSet<String> {
    logs.iter()
        .filter_map(|log| match &log.decision {
            Decision::Write { source, replaces, .. } => {
                Some(std::iter::once(source).chain(replaces).cloned())
            }
            Decision::Skip(_) => None,
        })
        .flatten()
        .collect()
}

/// An old log that was pruned does not come back.
fn settle_pruned(log: &Ingested, decision: &mut Decision, target: &Target<'_>) {
    if let (Decision::Write { why: Write::New, .. }, Some(stream)) = (&*decision, &log.stream)
        && let Some(source) = target.pruned.gone(stream.digests.length(), stream.digests.content())
    {
        *decision = Decision::Skip(Skip::Same(source.to_owned()));
    }
}

/// A source whose parts are not all there any more is written again.
fn settle_damage(decision: &mut Decision, target: &Target<'_>) {
    if let Decision::Skip(Skip::Same(source)) = &*decision
        && !target.known.is_whole(source)
        && let Some(row) = target.known.sources().get(source)
    {
        *decision = Decision::Write {
            source: source.clone(),
            replaces: row.entry.replaces.clone(),
            why: Write::Settled,
        };
    }
}

/// A source of which another beginning is known by now to be in an older one is written again.
fn settle_overlap(log: &Ingested, decision: &mut Decision, target: &Target<'_>) {
    if let (Decision::Skip(Skip::Same(source)), Some(overlap)) = (&*decision, &log.overlap)
        && let Some(row) = target.known.sources().get(source)
        && (row.counts.overlap_bytes != overlap.bytes
            || row.entry.overlap_source.as_ref() != Some(&overlap.source))
    {
        *decision = Decision::Write {
            source: source.clone(),
            replaces: row.entry.replaces.clone(),
            why: Write::Settled,
        };
    }
}

/// A source that is known must have been counted under the same settings, or be counted again.
fn settle_settings(log: &Ingested, decision: &mut Decision, target: &Target<'_>) -> Result<(), Error> {
    let sources = target.known.sources();
    let known = match &*decision {
        Decision::Write { why: Write::Grown { from, .. }, .. } => sources.get(from),
        Decision::Write { source, why: Write::Settled, .. } => sources.get(source),
        Decision::Skip(Skip::Same(source) | Skip::PrefixOf(source, _)) => sources.get(source),
        _ => None,
    };
    let Some(row) = known else { return Ok(()) };
    let place = log.log.path.display().to_string();
    let differs =
        target.settings.differ_from(&row.entry.settings, &place, target.reclassify)? || target.reclassify;
    if differs && let Decision::Skip(Skip::Same(source)) = &*decision {
        *decision = Decision::Write {
            source: source.clone(),
            replaces: row.entry.replaces.clone(),
            why: Write::Settled,
        };
    }
    Ok(())
}
