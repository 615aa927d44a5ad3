//! Blocks to tallies to one tally per source, on all threads.
//!
//! Threads share one state: blocks that a decompressing thread has no time for, plain files that are being read block
//! by block, and the sources that nobody has opened yet. A thread takes from the first of these that has something.
//! So many compressed files are read one per thread, one compressed file is inflated by one thread and parsed by the
//! others, and a plain file is read by all. Nothing that is counted depends on who took what: tallies add up in any
//! order.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::bot::Matcher;
use crate::bot::cache::random_seed;
use crate::bot::names::Names;
use crate::bot::patterns::PatternFile;
use crate::bot::verify::Verifier;
use crate::error::Error;
use crate::format::client::ClientChoice;
use crate::format::cri::whole_entries;
use crate::format::path_host::PathHost;
use crate::format::w3c::last_directive;
use crate::format::{Directive, Parser, ParserOptions};
use crate::source::compression::Compression;
use crate::source::discover::LogFile;
use crate::source::identity::{BLOCK_BYTES, BlockDigests, Digests, HEAD_BYTES};
use crate::source::plain::PlainFile;
use crate::source::stream::{Damage, Stream};
use crate::tally::GroupBy;
use crate::tally::edges::{EDGE_BYTES, Edges};
use crate::tally::fold::Tally;
use crate::tally::lines::LineTally;
use crate::tally::matched::MatchedTally;
use crate::tally::spill::Spilling;

mod directives;
mod plain;
mod sequential;
use directives::Directives;
pub mod filter;
use filter::Filters;
pub mod first_look;
use first_look::Remarks;
pub mod rejects;
use rejects::{Rejected, Spool};
mod shrunk;
mod worker;
use worker::{Accumulator, Worker};

/// How a run reads and counts; the same for all of its sources.
pub struct Pipeline<'a> {
    /// Line grammar settings.
    pub parser: ParserOptions,
    /// Names bots.
    pub matcher: &'a Matcher,
    /// Checks claims.
    pub verifier: &'a Verifier,
    /// Numbers for names.
    pub names: &'a Names,
    /// Which address is the client.
    pub client: ClientChoice,
    /// Finds the site in a request, before any other way.
    pub host_from_path: Option<&'a PathHost>,
    /// Takes the rejected lines, where they are wanted.
    pub rejects: Option<&'a Spool>,
    /// The site of records without a virtual host, where the log has none of its own.
    pub default_host: String,
    /// What shapes the baseline beside the history; `None` when nothing does.
    pub view: Option<&'a View>,
    /// Every log is still being written, whatever its size says.
    pub live: bool,
    /// Settled plain files are mapped; else they are read like all others.
    pub map: bool,
    /// How what outgrows memory is written; `None` keeps everything in memory.
    pub spilling: Option<Spilling<'a>>,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Lengths of older sources that begin with these first bytes (up to 4,096): their digests will be asked for.
    pub checkpoints: &'a (dyn Fn(&[u8]) -> Vec<u64> + Sync),
    /// Read by whoever shows progress.
    pub progress: &'a Progress,
    /// The number of the signal that came, 0 for none: the run stops within a block.
    pub stop: &'a AtomicUsize,
}

/// What one baseline shows, as far as it is not what the history holds.
#[derive(Debug, Default)]
pub struct View {
    /// Only records at or after this epoch second.
    pub since: Option<i64>,
    /// Only records before this epoch second.
    pub until: Option<i64>,
    /// Only records of which these hold.
    pub filters: Filters,
    /// Only what matches is a bot.
    pub patterns: Option<PatternFile>,
    /// The rows of the baseline.
    pub group_by: GroupBy,
}

impl View {
    fn filters(&self) -> bool {
        self.since.is_some() || self.until.is_some() || !self.filters.is_empty()
    }

    fn keeps(&self, epoch: i64) -> bool {
        self.since.is_none_or(|since| epoch >= since) && self.until.is_none_or(|until| epoch < until)
    }

    fn regroups(&self) -> bool {
        self.patterns.is_some() || self.group_by.needs_lines()
    }
}

/// Counters that grow while a run works.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes on disk that were read.
    pub bytes: AtomicU64,
    /// Lines that were counted.
    pub lines: AtomicU64,
    /// Sources that are done.
    pub sources: AtomicU64,
}

/// Everything counted of one source.
#[derive(Debug)]
pub struct SourceCount {
    /// The log.
    pub log: LogFile,
    /// How it was packed.
    pub compression: Compression,
    /// Digests of the decompressed bytes that were counted.
    pub digests: Digests,
    /// Lines by kind.
    pub lines: LineTally,
    /// All hits, for the history.
    pub all: Tally,
    /// The hits of the window that was asked for; `None` when that is all.
    pub window: Option<Tally>,
    /// The hits of the window under the names that were asked for; `None` when those are the bots' names.
    pub grouped: Option<Tally>,
    /// The hits that matched a pattern, where only those count as bots.
    pub matched: Option<MatchedTally>,
    /// What its beginning tells of it.
    pub remarks: Remarks,
    /// Its rejected lines, where they were wanted.
    pub rejected: Option<Rejected>,
    /// Where reading ended before the end.
    pub damage: Option<Damage>,
    /// Bytes behind the last gzip member.
    pub trailing_garbage: Option<u64>,
    /// Still being written while it was read.
    pub live: bool,
    /// Bytes of an unterminated last line that is not counted.
    pub deferred_bytes: u64,
    /// First bytes that were not counted because an older source holds them.
    pub overlap_bytes: u64,
    /// The lines at both ends of all of it, the overlap included.
    pub edges: Edges,
}

/// How many first bytes of a log an older source holds: whole lines, which are digested and not counted. Asked with the
/// log's place in the run and its first bytes (up to 4,096).
pub type Overlap<'a> = &'a (dyn Fn(usize, &[u8]) -> u64 + Sync);

/// One open source and what was counted of it so far.
struct Source {
    log: LogFile,
    state: Mutex<SourceState>,
    /// Blocks that are not counted yet, plus one while more may come.
    open_blocks: AtomicU64,
}

#[derive(Default)]
struct SourceState {
    compression: Option<Compression>,
    accumulators: Vec<Accumulator>,
    block_digests: Vec<BlockDigests>,
    digests: Option<Digests>,
    damage: Option<Damage>,
    trailing_garbage: Option<u64>,
    live: bool,
    deferred_bytes: u64,
    overlap_bytes: u64,
    /// The first and last bytes of a stream.
    ends: (Vec<u8>, Vec<u8>),
    /// A plain file, to look at its ends.
    plain: Option<Arc<Plain>>,
    /// NUL bytes that no block holds.
    hole_bytes: u64,
    /// The file, where blocks of it were mapped, with what is needed to count it again.
    mapped: Option<(Arc<Plain>, Arc<[u64]>)>,
    /// A window lost its file: what was counted is worth nothing.
    torn: bool,
}

/// A block that waits for a thread.
struct ReadyBlock {
    source: usize,
    number: u64,
    /// Where its lines begin in the source.
    offset: u64,
    buffer: Vec<u8>,
    lines: (usize, usize),
    /// The `#Fields:` line in force where it begins.
    directive: Option<Arc<[u8]>>,
}

/// A plain file, and the columns that its W3C lines are read by.
struct Plain {
    file: PlainFile,
    directives: Directives,
}

/// A plain file with blocks that nobody has taken yet.
struct PlainQueue {
    source: usize,
    file: Arc<Plain>,
    checkpoints: Arc<[u64]>,
    next: u64,
    blocks: u64,
}

struct Shared {
    ready: VecDeque<ReadyBlock>,
    plain: VecDeque<PlainQueue>,
    unopened: VecDeque<usize>,
    free: Vec<Vec<u8>>,
    producers: usize,
    failed: Option<Error>,
}

/// Blocks that may wait: enough to keep the others busy while one inflates.
const READY_BLOCKS: usize = 8;

struct Run<'a> {
    pipeline: &'a Pipeline<'a>,
    sources: Vec<Source>,
    shared: Mutex<Shared>,
    changed: Condvar,
    idle: AtomicUsize,
    overlap: Overlap<'a>,
    finished: &'a (dyn Fn(usize, SourceCount) -> Result<(), Error> + Sync),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Work {
    Block(ReadyBlock),
    Plain(usize, Arc<Plain>, Arc<[u64]>, u64),
    Open(usize),
    Nothing,
}

impl Pipeline<'_> {
    /// Reads all logs. `finished` is called once per log, by the thread that counted its last block, with the log's
    /// place in `logs`.
    ///
    /// A log that cannot be opened is told as damage at byte 0, and the rest is read.
    ///
    /// # Errors
    /// What `finished` returned, or that a signal came.
    pub fn run(
        &self,
        logs: &[LogFile],
        overlap: Overlap<'_>,
        finished: &(dyn Fn(usize, SourceCount) -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let mut order: Vec<(bool, std::cmp::Reverse<u64>, usize)> = logs
            .iter()
            .enumerate()
            .map(|(i, log)| (!is_sequential(log), std::cmp::Reverse(log.size), i))
            .collect();
        // Sequential sources first, the largest of each first: the last thread to finish then has little left.
        order.sort();
        let run = Run {
            pipeline: self,
            sources: logs
                .iter()
                .map(|log| Source {
                    log: log.clone(),
                    state: Mutex::new(SourceState::default()),
                    open_blocks: AtomicU64::new(1),
                })
                .collect(),
            shared: Mutex::new(Shared {
                ready: VecDeque::new(),
                plain: VecDeque::new(),
                unopened: order.into_iter().map(|(_, _, i)| i).collect(),
                free: Vec::new(),
                producers: 0,
                failed: None,
            }),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            overlap,
            finished,
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.max(1))
            .thread_name(|i| format!("parser-{i}"))
            .build()
            .map_err(|e| Error::runtime("threads", "cannot start them").cause(e).hint("try --threads 1"))?;
        let seed = random_seed();
        pool.broadcast(|_| run.work(seed));
        let failed = lock(&run.shared).failed.take();
        match failed {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Whether only one thread can read it.
fn is_sequential(log: &LogFile) -> bool {
    let mut head = [0; Compression::HEAD];
    log.is_stdin()
        || File::open(&log.path)
            .and_then(|mut f| f.read(&mut head))
            .is_ok_and(|n| Compression::of(&head[..n]) != Compression::None)
}

impl Run<'_> {
    fn work(&self, seed: u64) {
        let mut worker = Worker::new(self.pipeline, seed);
        loop {
            if let Err(error) = self.stopped() {
                self.fail(error);
            }
            let result = match self.next_work() {
                Work::Block(block) => self.count_ready(&mut worker, block),
                Work::Plain(source, file, checkpoints, number) => {
                    self.count_plain(&mut worker, source, &file, &checkpoints, number)
                }
                Work::Open(source) => self.open(&mut worker, source),
                Work::Nothing => return,
            };
            if let Err(error) = result {
                self.fail(error);
            }
        }
    }

    fn stopped(&self) -> Result<(), Error> {
        match self.pipeline.stop.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Error::interrupted(i32::try_from(signal).unwrap_or(0))),
        }
    }

    #[cold]
    fn fail(&self, error: Error) {
        let mut shared = lock(&self.shared);
        shared.failed.get_or_insert(error);
        self.changed.notify_all();
    }

    fn next_work(&self) -> Work {
        let mut shared = lock(&self.shared);
        loop {
            if shared.failed.is_some() {
                return Work::Nothing;
            }
            if let Some(block) = shared.ready.pop_front() {
                return Work::Block(block);
            }
            if let Some(queue) = shared.plain.front_mut() {
                let work =
                    Work::Plain(queue.source, queue.file.clone(), queue.checkpoints.clone(), queue.next);
                queue.next += 1;
                if queue.next == queue.blocks {
                    shared.plain.pop_front();
                }
                return work;
            }
            if let Some(source) = shared.unopened.pop_front() {
                shared.producers += 1;
                return Work::Open(source);
            }
            if shared.producers == 0 {
                self.changed.notify_all();
                return Work::Nothing;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Opens a source: a plain file is handed to all threads, anything else is read to its end here.
    fn open(&self, worker: &mut Worker<'_>, source: usize) -> Result<(), Error> {
        let result = self.open_and_read(worker, source);
        lock(&self.shared).producers -= 1;
        self.changed.notify_all();
        result?;
        self.block_done(source)
    }

    fn open_and_read(&self, worker: &mut Worker<'_>, source: usize) -> Result<(), Error> {
        let log = &self.sources[source].log;
        let max_line_bytes = self.pipeline.parser.max_line_bytes;
        if log.is_stdin() {
            return self.read_stdin(worker, source, max_line_bytes);
        }
        let opened = File::open(&log.path).and_then(|file| file.metadata().map(|m| (file, m)));
        let (file, metadata) = match opened {
            Ok(opened) => opened,
            Err(e) => {
                self.damaged(source, Damage { at_byte: 0, cause: e.to_string() });
                return Ok(());
            }
        };
        let mut head = vec![0; HEAD_BYTES];
        let plain_file = metadata.is_file();
        let read = if plain_file { std::os::unix::fs::FileExt::read_at(&file, &mut head, 0) } else { Ok(0) };
        match read {
            Ok(n) => head.truncate(n),
            Err(e) => {
                self.damaged(source, Damage { at_byte: 0, cause: e.to_string() });
                return Ok(());
            }
        }
        let compression = Compression::of(&head);
        lock(&self.sources[source].state).compression = Some(compression);
        match compression {
            Compression::None if plain_file => {
                let plain = if self.pipeline.map && !self.pipeline.live {
                    PlainFile::mapped(file, metadata.len())
                } else {
                    PlainFile::new(file, metadata.len())
                };
                let checkpoints = self.checkpoints(source, &head).into();
                let plain = Arc::new(Plain { file: plain, directives: Directives::default() });
                if plain.file.is_mapped() {
                    lock(&self.sources[source].state).mapped =
                        Some((plain.clone(), Arc::clone(&checkpoints)));
                }
                self.hand_out(source, plain, checkpoints);
                Ok(())
            }
            Compression::Unsupported(name) => {
                let cause = format!("{name} compression is not supported");
                self.damaged(source, Damage { at_byte: 0, cause });
                Ok(())
            }
            _ => match Stream::open(Box::new(file), compression, max_line_bytes) {
                Ok(stream) => self.read_stream(worker, source, stream),
                Err(e) => {
                    self.damaged(source, Damage { at_byte: 0, cause: e.to_string() });
                    Ok(())
                }
            },
        }
    }

    /// The lengths at which digests will be asked for, with that of the overlap, which is remembered.
    fn checkpoints(&self, source: usize, head: &[u8]) -> Vec<u64> {
        let overlap = (self.overlap)(source, head);
        lock(&self.sources[source].state).overlap_bytes = overlap;
        let mut lengths = (self.pipeline.checkpoints)(head);
        lengths.extend((overlap > 0).then_some(overlap));
        lengths
    }

    fn damaged(&self, source: usize, damage: Damage) {
        let mut state = lock(&self.sources[source].state);
        // The first place counts.
        if state.damage.as_ref().is_none_or(|d| damage.at_byte < d.at_byte) {
            state.damage = Some(damage);
        }
    }

    /// Counts the lines of a block that begin at byte `offset` of the source, without those of the overlap.
    fn count(
        &self,
        worker: &mut Worker<'_>,
        source: usize,
        (number, offset): (u64, u64),
        lines: &[u8],
        directive: Directive<'_>,
    ) -> Result<(), Error> {
        let (overlap, accumulator) = {
            let mut state = lock(&self.sources[source].state);
            (state.overlap_bytes, state.accumulators.pop())
        };
        let mut accumulator = accumulator.unwrap_or_else(|| self.accumulator(source));
        let end = offset + lines.len() as u64;
        let cut = usize::try_from(overlap.clamp(offset, end) - offset).unwrap_or(lines.len());
        let (before, lines) = lines.split_at(cut);
        let overlapped = memchr::memchr_iter(b'\n', before).count() as u64;
        let first = offset <= overlap && overlap < end;
        let mut named = || last_directive(before).map(<[u8]>::to_vec).or_else(&mut *directive);
        worker.block(&mut accumulator, (number, overlapped, first), lines, &mut named);
        let result = self.pipeline.spilling.as_ref().map_or(Ok(()), |s| accumulator.spill_if_full(s));
        lock(&self.sources[source].state).accumulators.push(accumulator);
        result
    }

    fn accumulator(&self, source: usize) -> Accumulator {
        let own = self.sources[source].log.host.as_deref();
        Accumulator::new(self.pipeline, own.unwrap_or(&self.pipeline.default_host).as_bytes())
    }

    /// One block (or the opening) of a source is done; the last one puts the source together.
    fn block_done(&self, source: usize) -> Result<(), Error> {
        if self.sources[source].open_blocks.fetch_sub(1, Ordering::AcqRel) > 1 {
            return Ok(());
        }
        let state = std::mem::take(&mut *lock(&self.sources[source].state));
        if let Some((plain, checkpoints)) = state.mapped
            && (state.torn || plain.file.has_changed())
        {
            return self.start_over(source, &plain, checkpoints);
        }
        let mut accumulators = state.accumulators.into_iter();
        let mut whole = accumulators.next().unwrap_or_else(|| self.accumulator(source));
        for other in accumulators {
            whole.merge(other);
        }
        whole.lines.skip_nul(state.hole_bytes);
        let damage = state.damage;
        let digests = match state.digests {
            Some(digests) => digests,
            None => contiguous(state.block_digests, &damage)?,
        };
        let overlap_bytes = state.overlap_bytes.min(digests.length());
        let edges = self.edges(&digests, state.plain.as_deref(), state.ends);
        self.pipeline.progress.sources.fetch_add(1, Ordering::Relaxed);
        (self.finished)(
            source,
            SourceCount {
                log: self.sources[source].log.clone(),
                compression: state.compression.unwrap_or(Compression::None),
                digests,
                lines: whole.lines,
                all: whole.all,
                window: whole.window,
                grouped: whole.grouped,
                matched: whole.matched,
                remarks: whole.first_look.remarks(),
                rejected: whole.rejected,
                damage,
                trailing_garbage: state.trailing_garbage,
                live: state.live,
                deferred_bytes: state.deferred_bytes,
                overlap_bytes,
                edges,
            },
        )
    }
}

impl Run<'_> {
    /// The lines at both ends of a source. None of a plain file that is not any more what was digested.
    fn edges(&self, digests: &Digests, plain: Option<&Plain>, ends: (Vec<u8>, Vec<u8>)) -> Edges {
        let length = digests.length();
        let mut parser = Parser::new(self.pipeline.parser.clone());
        let Some(plain) = plain else {
            let whole = ends.1.len() as u64 == length;
            return Edges::of(&ends.0, &ends.1, whole, &mut parser);
        };
        let read = |from: u64, to: u64| {
            let mut bytes = vec![0; usize::try_from(to - from).ok()?];
            plain.file.file().read_exact_at(&mut bytes, from).ok()?;
            digests.holds(from, &bytes).then_some(bytes)
        };
        // From the beginning of a granule, so that every byte can be compared with what was digested.
        let granule = 64 * 1024;
        let from = length.saturating_sub(EDGE_BYTES as u64) / granule * granule;
        let (beginning, end) = (read(0, length.min(EDGE_BYTES as u64)), read(from, length));
        match (beginning, end) {
            (Some(beginning), Some(end)) => Edges::of(&beginning, &end, from == 0, &mut parser),
            _ => Edges::default(),
        }
    }
}

/// The digests of the blocks up to the first one that could not be read, or that begins inside a deferred line.
fn contiguous(mut blocks: Vec<BlockDigests>, damage: &Option<Damage>) -> Result<Digests, Error> {
    if let Some(damage) = damage {
        blocks.retain(|b| b.offset() < damage.at_byte);
    }
    blocks.sort_by_key(BlockDigests::offset);
    let cut = blocks.iter().position(|b| b.length() < BLOCK_BYTES as u64).map_or(blocks.len(), |i| i + 1);
    blocks.truncate(cut);
    Digests::combine(blocks)
}

/// The end of the last whole entry of `buffer[start..end]`.
fn whole_lines(buffer: &[u8], start: usize, end: usize) -> usize {
    start + whole_entries(&buffer[start..end])
}

fn beginning(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(HEAD_BYTES)]
}
