//! The beginning of a log that an older log ends with: those lines were logged once, and are counted where they stand
//! first.
//!
//! A log is read whole at first. When its first lines turn out to be the last ones of an older log ([`Edges`]: of this
//! run, of the history, or the next older one of its rotation set in the same folder, whatever the arguments are), it is
//! read again behind them. So nothing depends on which of the two is read first. The history keeps the length of what
//! was left out and the older source: a grown log keeps both, also when the older one is gone.
//!
//! A block longer than the edges is looked for only between two logs of one rotation set in one folder of which both
//! ends have stamps that leave room for it, and is compared byte by byte, up to 64 MiB. Of two logs the one whose first
//! stamp is earlier is the older. Standard input cannot be read again: what it repeats is counted, and `history check`
//! names it. A log that changes between the two readings is counted whole; the next run sees to it.
//!
//! Example: `access.log.1` ends with 40 lines that `access.log` begins with: 8,412 bytes of `access.log` are not counted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::{Ingested, Urls, ingested, twice};
use crate::error::Error;
use crate::format::Parser;
use crate::history::known::{Decision, Skip, Stream, Write};
use crate::history::read::History;
use crate::history::seen::FileStamp;
use crate::history::source_row::SourceRow;
use crate::pipeline::Pipeline;
use crate::source::compression::Compression;
use crate::source::discover::LogFile;
use crate::source::identity::{Digest, Digester, Head};
use crate::source::rotation::{names_beside, older_in_rotation, rotation_set};
use crate::source::stream::Stream as LogStream;
use crate::tally::edges::{EDGE_BYTES, Edges, line_hash};

/// Bytes of a log in which the end of the older one is looked for.
const LONGEST: u64 = 64 << 20;
/// Places where the older log could end that are compared.
const PLACES: usize = 8;
/// How often it is looked at what became of the logs that were read again.
const ROUNDS: usize = 6;
/// Lines longer than a block do not matter here: bytes are compared.
const MAX_LINE_BYTES: usize = 1 << 20;

/// What an older source holds of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// First bytes that are not counted: whole lines.
    pub bytes: u64,
    /// The older source.
    pub source: String,
    /// The digest of those bytes; `None` where identity proves them, because a beginning of the log was read before.
    digest: Option<Digest>,
}

/// A log that another one may begin with the end of.
struct Older {
    name: String,
    edges: Edges,
    length: u64,
    /// Its place in the run.
    index: Option<usize>,
    path: Option<PathBuf>,
}

/// Reads logs again of which an older source holds the beginning, and says so in each. To be called after
/// [`super::read`] with the same pipeline.
///
/// # Errors
/// A signal, or a fault of the reader.
pub fn settle(
    pipeline: &Pipeline<'_>,
    logs: &mut [Ingested],
    urls: &Urls<'_>,
    history: Option<&History>,
) -> Result<(), Error> {
    let nothing = BTreeMap::new();
    let known = history.map_or(&nothing, History::sources);
    let mut outside = BTreeMap::new();
    let mut changed: BTreeSet<usize> = BTreeSet::new();
    let mut tried: BTreeSet<(usize, u64)> = BTreeSet::new();
    // A log that is read again may have changed by then, so look again.
    for _ in 0..ROUNDS {
        let decisions = decisions(logs, known)?;
        let mut again: Vec<(usize, u64)> = Vec::new();
        for (index, wanted) in wanted(pipeline, logs, &decisions, known, &mut outside) {
            let wanted = wanted.filter(|_| !changed.contains(&index));
            let log = &mut logs[index];
            let bytes = wanted.as_ref().map_or(0, |w| w.bytes);
            let row = match (&log.stream, &log.decision) {
                (None, Decision::Skip(Skip::Same(source))) => known.get(source),
                _ => None,
            };
            let renamed = row
                .is_some_and(|row| row.entry.overlap_source.as_ref() != wanted.as_ref().map(|w| &w.source));
            log.overlap = wanted;
            if (bytes != log.tables.counts.overlap_bytes || renamed)
                && !log.log.is_stdin()
                && tried.insert((index, bytes))
            {
                again.push((index, bytes));
            }
        }
        if again.is_empty() {
            break;
        }
        read_again(pipeline, logs, urls, &again, &mut changed)?;
    }
    for log in logs {
        let counted = log.tables.counts.overlap_bytes;
        log.overlap = log.overlap.take().filter(|overlap| overlap.bytes == counted);
    }
    Ok(())
}

/// How many first bytes of a log with this head an older source holds, as far as the history knows: a guess that saves
/// reading it twice.
#[must_use]
pub(super) fn expected(known: &BTreeMap<String, SourceRow>, head: &[u8]) -> u64 {
    let head = Head::of(head);
    let mut found =
        known.values().filter(|row| row.entry.identity.head == head).map(|r| r.counts.overlap_bytes);
    match (found.next(), found.next()) {
        (Some(bytes), None) => bytes,
        _ => 0,
    }
}

fn read_again(
    pipeline: &Pipeline<'_>,
    logs: &mut [Ingested],
    urls: &Urls<'_>,
    again: &[(usize, u64)],
    changed: &mut BTreeSet<usize>,
) -> Result<(), Error> {
    let files: Vec<LogFile> = again.iter().map(|(index, _)| logs[*index].log.clone()).collect();
    let results = std::sync::Mutex::new(BTreeMap::new());
    let take = |place: usize, count| {
        let mut done = ingested(pipeline, count, urls)?;
        done.stamp = FileStamp::of(&done.log.path).filter(FileStamp::is_settled);
        results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(place, done);
        Ok(())
    };
    pipeline.run(&files, &|place, _| again[place].1, &take)?;
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (place, mut done) in results {
        let (index, bytes) = again[place];
        done.overlap = logs[index].overlap.take();
        // Of the same age as before, so that a file that changed meanwhile is not taken for known.
        done.stamp = done.stamp.filter(|stamp| Some(*stamp) == logs[index].stamp);
        if done.length == 0 && logs[index].length > 0 {
            // It is gone: what was read of it before is kept.
            done.overlap.clone_into(&mut logs[index].overlap);
            changed.insert(index);
            continue;
        }
        let digest = done.overlap.as_ref().and_then(|o| o.digest);
        let prefix = done.stream.as_ref().and_then(|s| s.digests.prefix(bytes));
        if bytes > 0 && digest.is_some() && prefix != digest {
            changed.insert(index);
        }
        logs[index] = done;
    }
    Ok(())
}

/// What each log is, as [`super::store`] will decide it.
fn decisions(logs: &[Ingested], known: &BTreeMap<String, SourceRow>) -> Result<Vec<Decision>, Error> {
    let read: Vec<usize> = (0..logs.len()).filter(|i| logs[*i].stream.is_some()).collect();
    let mut streams: Vec<Stream> = logs.iter().filter_map(|l| l.stream.clone()).collect();
    let of_read = twice::decide_exactly(known, &mut streams, &|i| &logs[read[i]].log)?;
    let mut decisions: Vec<Decision> = logs.iter().map(|l| l.decision.clone()).collect();
    for (index, decision) in read.iter().zip(of_read) {
        decisions[*index] = match decision {
            Decision::Skip(Skip::DuplicateOf(other)) => Decision::Skip(Skip::DuplicateOf(read[other])),
            other => other,
        };
    }
    Ok(decisions)
}

/// The known source that all of a log is in.
fn known_as(decision: &Decision) -> Option<&String> {
    match decision {
        Decision::Write { why: Write::Grown { from, .. }, .. } => Some(from),
        Decision::Write { source, why: Write::Settled, .. } => Some(source),
        Decision::Skip(Skip::Same(source) | Skip::PrefixOf(source, _)) => Some(source),
        _ => None,
    }
}

/// The source under which a log is counted in the history.
fn name_of(decision: &Decision) -> Option<&String> {
    match decision {
        Decision::Write { source, .. } | Decision::Skip(Skip::Same(source)) => Some(source),
        Decision::Skip(_) => None,
    }
}

/// What an older source holds of each log that counts.
fn wanted(
    pipeline: &Pipeline<'_>,
    logs: &[Ingested],
    decisions: &[Decision],
    known: &BTreeMap<String, SourceRow>,
    outside: &mut BTreeMap<PathBuf, Option<(Head, Edges, u64)>>,
) -> Vec<(usize, Option<Overlap>)> {
    let counted: Vec<usize> = (0..logs.len()).filter(|i| name_of(&decisions[*i]).is_some()).collect();
    let mut older: Vec<Older> = counted
        .iter()
        .map(|index| Older {
            name: name_of(&decisions[*index]).cloned().unwrap_or_default(),
            edges: logs[*index].edges.clone(),
            length: logs[*index].length,
            index: Some(*index),
            path: (!logs[*index].log.is_stdin()).then(|| logs[*index].log.path.clone()),
        })
        .collect();
    let mut taken: BTreeSet<String> = older.iter().map(|o| o.name.clone()).collect();
    for decision in decisions {
        if let Decision::Write { replaces, .. } = decision {
            taken.extend(replaces.iter().cloned());
        }
    }
    older.extend(known.iter().filter(|(name, _)| !taken.contains(*name)).map(|(name, row)| Older {
        name: name.clone(),
        edges: row.entry.edges.clone(),
        length: row.entry.identity.length(),
        index: None,
        path: None,
    }));
    let in_run: BTreeSet<PathBuf> =
        logs.iter().filter_map(|l| std::fs::canonicalize(&l.log.path).ok()).collect();
    let mut beside: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for index in &counted {
        let log = &logs[*index];
        if log.stream.is_none() || log.log.is_stdin() || log.edges.first.is_empty() {
            continue;
        }
        let folder = log.log.path.parent().unwrap_or(Path::new("")).to_path_buf();
        let names = beside.entry(folder).or_insert_with(|| names_beside(&log.log.path));
        let Some(path) = older_in_rotation(&log.log.path, names) else { continue };
        if std::fs::canonicalize(&path).is_ok_and(|path| in_run.contains(&path))
            || outside.contains_key(&path)
        {
            continue;
        }
        outside.insert(path.clone(), look_at(&path, pipeline));
    }
    for (path, found) in outside.iter() {
        let Some((head, edges, length)) = found else { continue };
        // What the history has read of it counts: it may have another name there.
        let same = |o: &&mut Older| o.edges == *edges && o.length == *length;
        match older.iter_mut().find(same) {
            Some(same) => same.path = Some(path.clone()),
            None => older.push(Older {
                name: head.to_string(),
                edges: edges.clone(),
                length: *length,
                index: None,
                path: Some(path.clone()),
            }),
        }
    }
    let mut by_end: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, o) in older.iter().enumerate() {
        if let Some(end) = o.edges.last.last() {
            by_end.entry(*end).or_default().push(place);
        }
    }
    (0..logs.len())
        .filter(|i| name_of(&decisions[*i]).is_some() || known_as(&decisions[*i]).is_some())
        .map(|index| {
            let inherited = inherited(&logs[index], &decisions[index], known);
            let found = find(index, logs, &older, &by_end);
            let best = match (found, inherited) {
                (Some(found), Some(inherited)) if found.bytes < inherited.bytes => Some(inherited),
                (found, inherited) => found.or(inherited),
            };
            (index, best)
        })
        .collect()
}

/// What was left out of the known source that a log is, has grown from, or is the beginning of.
fn inherited(log: &Ingested, decision: &Decision, known: &BTreeMap<String, SourceRow>) -> Option<Overlap> {
    let row = known.get(known_as(decision)?)?;
    let bytes = row.counts.overlap_bytes.min(log.length);
    let source = row.entry.overlap_source.clone()?;
    (bytes > 0).then_some(Overlap { bytes, source, digest: None })
}

/// The longest beginning of a log that an older one ends with.
fn find(
    index: usize,
    logs: &[Ingested],
    older: &[Older],
    by_end: &HashMap<u64, Vec<usize>>,
) -> Option<Overlap> {
    let log = &logs[index];
    if log.log.is_stdin() {
        return None;
    }
    let ends: BTreeSet<usize> =
        log.edges.first.iter().filter_map(|line| by_end.get(line)).flatten().copied().collect();
    let mut best: Option<Overlap> = None;
    let mut keep = |found: Overlap| {
        let rank = |o: &Overlap| (o.bytes, std::cmp::Reverse(o.source.clone()));
        if best.as_ref().is_none_or(|b| rank(&found) > rank(b)) {
            best = Some(found);
        }
    };
    for place in ends {
        let o = &older[place];
        if o.index == Some(index) || !log.edges.comes_after(&o.edges) {
            continue;
        }
        if let Some(lines) = log.edges.shared_with(&o.edges)
            && let Some((bytes, digest)) = first_lines(&log.log, &log.edges.first[..lines])
            && bytes < o.length
        {
            keep(Overlap { bytes, source: o.name.clone(), digest: Some(digest) });
        }
    }
    let mut long: Vec<&Older> =
        older.iter().filter(|o| o.index != Some(index) && may_be_long(log, o, logs)).collect();
    long.sort_by(|a, b| a.name.cmp(&b.name));
    for o in long {
        if let Some((bytes, digest)) = long_overlap(&log.log, o) {
            keep(Overlap { bytes, source: o.name.clone(), digest: Some(digest) });
        }
    }
    best
}

/// Whether the end of the older log may stand in the newer one behind the lines that the edges hold.
fn may_be_long(log: &Ingested, older: &Older, logs: &[Ingested]) -> bool {
    let Some(path) = &older.path else { return false };
    let read_now = log.stream.is_some() || older.index.is_some_and(|i| logs[i].stream.is_some());
    let (Some(end), Some(first_since), Some(last_since)) =
        (older.edges.last.last(), log.edges.first_since, older.edges.last_since)
    else {
        return false;
    };
    read_now
        && first_since <= last_since
        && log.edges.comes_after(&older.edges)
        && !log.edges.first.contains(end)
        && older.edges.end_is_telling()
        && rotation_set(path) == rotation_set(&log.log.path)
}

/// The length and the digest of the first lines of a log, when these are still there.
fn first_lines(log: &LogFile, lines: &[u64]) -> Option<(u64, Digest)> {
    let mut content = Content::open(&log.path)?;
    let mut digester = Digester::new(Vec::new());
    let mut bytes = 0;
    for expected in lines {
        let line = content.line()?;
        if line_hash(line) != *expected {
            return None;
        }
        digester.update(line);
        let length = line.len();
        bytes += length as u64;
        content.skip(length);
    }
    Some((bytes, digester.finish().content()))
}

/// The longest beginning of a log, of more lines than the edges hold, that another one ends with.
fn long_overlap(log: &LogFile, older: &Older) -> Option<(u64, Digest)> {
    let end = older.edges.last.last()?;
    let mut places = Vec::new();
    let mut content = Content::open(&log.path)?;
    let mut bytes = 0;
    while bytes < LONGEST && places.len() < PLACES {
        let Some(line) = content.line() else { break };
        let length = line.len();
        bytes += length as u64;
        if line_hash(line) == *end {
            places.push(bytes);
        }
        content.skip(length);
    }
    let path = older.path.as_ref()?;
    places
        .into_iter()
        .rev()
        .filter(|bytes| *bytes < older.length)
        .find_map(|bytes| Some((bytes, same_bytes(&log.path, path, older.length, bytes)?)))
}

/// The digest of the first `bytes` of one log, when they are the last of another one of so many bytes, and begin a line
/// there.
fn same_bytes(begins: &Path, ends: &Path, length: u64, bytes: u64) -> Option<Digest> {
    let mut begins = Content::open(begins)?;
    let mut ends = Content::open(ends)?;
    ends.pass(length - bytes - 1)?;
    ends.fill()?;
    if ends.rest()[0] != b'\n' {
        return None;
    }
    ends.skip(1);
    let mut digester = Digester::new(Vec::new());
    let mut left = usize::try_from(bytes).ok()?;
    while left > 0 {
        let size = begins.fill()?.min(ends.fill()?).min(left);
        if begins.rest()[..size] != ends.rest()[..size] {
            return None;
        }
        digester.update(&begins.rest()[..size]);
        begins.skip(size);
        ends.skip(size);
        left -= size;
    }
    Some(digester.finish().content())
}

/// A log of the rotation set that is not part of this run: its head, edges and length.
fn look_at(path: &Path, pipeline: &Pipeline<'_>) -> Option<(Head, Edges, u64)> {
    let mut parser = Parser::new(pipeline.parser.clone());
    let file = File::open(path).ok()?;
    let mut beginning = vec![0; EDGE_BYTES];
    let read = file.read_at(&mut beginning, 0).ok()?;
    beginning.truncate(read);
    let (mut end, mut length);
    if Compression::of(&beginning) == Compression::None {
        length = file.metadata().ok()?.len();
        let from = length.saturating_sub(EDGE_BYTES as u64 + 1);
        end = vec![0; usize::try_from(length - from).ok()?];
        file.read_exact_at(&mut end, from).ok()?;
    } else {
        let mut content = Content::open(path)?;
        (beginning, end, length) = (Vec::new(), Vec::new(), 0);
        while let Some(size) = content.fill() {
            let piece = content.rest();
            let wanted = (EDGE_BYTES - beginning.len()).min(size);
            beginning.extend_from_slice(&piece[..wanted]);
            end.extend_from_slice(piece);
            end.drain(..end.len().saturating_sub(EDGE_BYTES + 1));
            length += size as u64;
            content.skip(size);
        }
    }
    let whole = end.len() as u64 == length;
    Some((Head::of(&beginning), Edges::of(&beginning, &end, whole, &mut parser), length))
}

/// The decompressed bytes of a file, in order.
struct Content {
    stream: LogStream,
    block: Vec<u8>,
    held: Vec<u8>,
    at: usize,
}

impl Content {
    fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut head = [0; Compression::HEAD];
        let read = file.read_at(&mut head, 0).ok()?;
        let stream = LogStream::open(Box::new(file), Compression::of(&head[..read]), MAX_LINE_BYTES).ok()?;
        Some(Self { stream, block: Vec::new(), held: Vec::new(), at: 0 })
    }

    /// What was read and not passed.
    fn rest(&self) -> &[u8] {
        &self.held[self.at..]
    }

    /// Reads on; `None` at the end.
    fn more(&mut self) -> Option<()> {
        let shape = self.stream.next_block(&mut self.block)?;
        self.held.drain(..self.at);
        self.at = 0;
        self.held.extend_from_slice(&self.block[..shape.lines_end]);
        Some(())
    }

    /// Sees to it that something is there, and how much; `None` at the end.
    fn fill(&mut self) -> Option<usize> {
        while self.rest().is_empty() {
            self.more()?;
        }
        Some(self.rest().len())
    }

    /// The next line, which is not passed; `None` when no whole one is left.
    fn line(&mut self) -> Option<&[u8]> {
        loop {
            match memchr::memchr(b'\n', self.rest()) {
                Some(end) => return Some(&self.held[self.at..=self.at + end]),
                None => self.more()?,
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        let mut left = bytes;
        while left > 0 {
            let size = self.fill()?.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.skip(size);
            left -= size as u64;
        }
        Some(())
    }
}
