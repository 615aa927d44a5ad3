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
use crate::format::{Directive, ParserOptions};
use crate::source::compression::Compression;
use crate::source::discover::LogFile;
use crate::source::identity::{BLOCK_BYTES, BlockDigests, Digester, Digests, HEAD_BYTES};
use crate::source::plain::{PlainBlock, PlainFile};
use crate::source::stream::{BlockShape, Damage, Stream};
use crate::tally::GroupBy;
use crate::tally::fold::Tally;
use crate::tally::lines::LineTally;
use crate::tally::matched::MatchedTally;

mod directives;
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
}

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
    /// The file, where blocks of it were mapped, with what is needed to count it again.
    mapped: Option<(Arc<Plain>, Arc<[u64]>)>,
    /// A window lost its file: what was counted is worth nothing.
    torn: bool,
}

/// A block that waits for a thread.
struct ReadyBlock {
    source: usize,
    number: u64,
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
                let checkpoints = (self.pipeline.checkpoints)(&head).into();
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

    /// Standard input may be compressed too.
    fn read_stdin(&self, worker: &mut Worker<'_>, source: usize, max_line_bytes: usize) -> Result<(), Error> {
        let mut head = Vec::new();
        let mut input = std::io::stdin();
        if let Err(e) = (&mut input).take(Compression::HEAD as u64).read_to_end(&mut head) {
            self.damaged(source, Damage { at_byte: 0, cause: e.to_string() });
            return Ok(());
        }
        let compression = Compression::of(&head);
        lock(&self.sources[source].state).compression = Some(compression);
        let reader: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(head).chain(input));
        match Stream::open(reader, compression, max_line_bytes) {
            Ok(stream) => self.read_stream(worker, source, stream),
            Err(e) => {
                self.damaged(source, Damage { at_byte: 0, cause: e.to_string() });
                Ok(())
            }
        }
    }

    fn damaged(&self, source: usize, damage: Damage) {
        let mut state = lock(&self.sources[source].state);
        // The first place counts.
        if state.damage.as_ref().is_none_or(|d| damage.at_byte < d.at_byte) {
            state.damage = Some(damage);
        }
    }

    fn read_stream(&self, worker: &mut Worker<'_>, source: usize, mut stream: Stream) -> Result<(), Error> {
        let mut digester: Option<Digester> = None;
        let mut number = 0;
        let mut deferred = 0;
        let mut directive: Option<Arc<[u8]>> = None;
        loop {
            self.stopped()?;
            let mut buffer = lock(&self.shared).free.pop().unwrap_or_default();
            let Some(shape) = stream.next_block(&mut buffer) else { break };
            let BlockShape { lines_start, mut lines_end, last } = shape;
            self.pipeline.progress.bytes.fetch_add(stream.take_bytes_read(), Ordering::Relaxed);
            if last {
                if self.pipeline.live && stream.damage().is_none() {
                    lines_end = whole_lines(&buffer, lines_start, lines_end);
                }
                deferred = buffer.len() - lines_end;
            }
            let counted = &buffer[..lines_end];
            if !counted.is_empty() {
                digester
                    .get_or_insert_with(|| Digester::new((self.pipeline.checkpoints)(beginning(counted))))
                    .update(counted);
            }
            let named = last_directive(&buffer[lines_start..lines_end]).map(Arc::from);
            let block = ReadyBlock {
                source,
                number,
                buffer,
                lines: (lines_start, lines_end),
                directive: directive.clone(),
            };
            directive = named.or(directive);
            number += 1;
            if lines_start < lines_end {
                self.sources[source].open_blocks.fetch_add(1, Ordering::AcqRel);
                if let Some(block) = self.offer(block) {
                    self.count_ready(worker, block)?;
                }
            } else {
                lock(&self.shared).free.push(block.buffer);
            }
        }
        let mut state = lock(&self.sources[source].state);
        state.trailing_garbage = stream.trailing_garbage();
        state.deferred_bytes = deferred as u64;
        state.live = self.pipeline.live;
        if let Some(damage) = stream.damage() {
            state.damage = Some(damage.clone());
        }
        state.digests = digester.map(Digester::finish);
        Ok(())
    }

    /// Gives a block to a thread that waits; `None` when one does, else the block to be counted here.
    fn offer(&self, block: ReadyBlock) -> Option<ReadyBlock> {
        if self.idle.load(Ordering::Relaxed) == 0 {
            return Some(block);
        }
        let mut shared = lock(&self.shared);
        if shared.ready.len() >= READY_BLOCKS {
            return Some(block);
        }
        shared.ready.push_back(block);
        self.changed.notify_one();
        None
    }

    fn count_ready(&self, worker: &mut Worker<'_>, block: ReadyBlock) -> Result<(), Error> {
        let ReadyBlock { source, number, buffer, lines, directive } = block;
        let mut directive = || directive.as_deref().map(<[u8]>::to_vec);
        self.count(worker, source, number, &buffer[lines.0..lines.1], &mut directive);
        let mut shared = lock(&self.shared);
        if shared.free.len() < READY_BLOCKS {
            shared.free.push(buffer);
        }
        drop(shared);
        self.block_done(source)
    }

    fn count_plain(
        &self,
        worker: &mut Worker<'_>,
        source: usize,
        plain: &Plain,
        checkpoints: &[u64],
        number: u64,
    ) -> Result<(), Error> {
        let longest = self.pipeline.parser.max_line_bytes;
        if let Some((window, block)) = plain.file.map_block(number, longest) {
            self.count_bytes(worker, source, plain, checkpoints, number, (window.bytes(), block));
            if window.is_torn() {
                lock(&self.sources[source].state).torn = true;
            }
            drop(window);
            return self.block_done(source);
        }
        let mut buffer = std::mem::take(&mut worker.buffer);
        match shrunk::read_block(&plain.file, number, longest, &mut buffer) {
            Ok((block, gone)) => {
                if let Some(gone) = gone {
                    self.damaged(source, gone);
                }
                self.count_bytes(worker, source, plain, checkpoints, number, (&buffer, block));
            }
            Err(e) => {
                self.damaged(source, Damage { at_byte: number * BLOCK_BYTES as u64, cause: shorter(&e) })
            }
        }
        worker.buffer = buffer;
        self.block_done(source)
    }

    /// Counts a block of a plain file, however its bytes were fetched.
    fn count_bytes(
        &self,
        worker: &mut Worker<'_>,
        source: usize,
        plain: &Plain,
        checkpoints: &[u64],
        number: u64,
        (bytes, block): (&[u8], PlainBlock),
    ) {
        let Plain { file, directives } = plain;
        let longest = self.pipeline.parser.max_line_bytes;
        let (start, mut end) = block.lines;
        let mut own = block.own;
        let at_end = number + 1 == file.blocks() || block.at_end;
        let grew = at_end && file.file().metadata().is_ok_and(|m| m.len() != file.length());
        let live = at_end && (self.pipeline.live || grew);
        let mut deferred = 0;
        if block.at_end && (live || file.was_cut()) {
            let whole = whole_lines(bytes, start, end);
            deferred = end - whole;
            end = whole;
            own.1 = own.1.min(whole.max(own.0));
        }
        let own = &bytes[own.0..own.1];
        let digests = BlockDigests::of_block(number * BLOCK_BYTES as u64, own, checkpoints);
        {
            let mut state = lock(&self.sources[source].state);
            state.block_digests.push(digests);
            state.deferred_bytes += deferred as u64;
            state.live |= live;
        }
        if start < end {
            let mut directive = || directives.before(number, file, longest);
            self.count(worker, source, number, &bytes[start..end], &mut directive);
        }
        self.pipeline.progress.bytes.fetch_add(own.len() as u64, Ordering::Relaxed);
    }

    /// Gives the blocks of a plain file to all threads.
    fn hand_out(&self, source: usize, file: Arc<Plain>, checkpoints: Arc<[u64]>) {
        let blocks = file.file.blocks();
        if blocks > 0 {
            self.sources[source].open_blocks.fetch_add(blocks, Ordering::AcqRel);
            lock(&self.shared).plain.push_back(PlainQueue { source, file, checkpoints, next: 0, blocks });
            self.changed.notify_all();
        }
    }

    /// Throws away what was counted of a file that changed while it was mapped, and has it read as it is now.
    #[cold]
    fn start_over(&self, source: usize, plain: &Plain, checkpoints: Arc<[u64]>) -> Result<(), Error> {
        let compression = Some(Compression::None);
        *lock(&self.sources[source].state) = SourceState { compression, ..SourceState::default() };
        // As at the opening: one more than there are blocks, until all are handed out.
        self.sources[source].open_blocks.store(1, Ordering::Release);
        match plain.file.read_again() {
            Ok(file) => {
                if file.was_cut() {
                    let cause = shrunk::became_shorter().to_owned();
                    self.damaged(source, Damage { at_byte: file.length(), cause });
                }
                let plain = Arc::new(Plain { file, directives: Directives::default() });
                self.hand_out(source, plain, checkpoints);
            }
            Err(e) => self.damaged(source, Damage { at_byte: 0, cause: e.to_string() }),
        }
        self.block_done(source)
    }

    fn count(
        &self,
        worker: &mut Worker<'_>,
        source: usize,
        number: u64,
        lines: &[u8],
        directive: Directive<'_>,
    ) {
        let mut accumulator =
            lock(&self.sources[source].state).accumulators.pop().unwrap_or_else(|| self.accumulator(source));
        worker.block(&mut accumulator, number, lines, directive);
        lock(&self.sources[source].state).accumulators.push(accumulator);
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
        let damage = state.damage;
        let digests = match state.digests {
            Some(digests) => digests,
            None => contiguous(state.block_digests, &damage)?,
        };
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
            },
        )
    }
}

fn shorter(e: &std::io::Error) -> String {
    if e.kind() == std::io::ErrorKind::UnexpectedEof {
        shrunk::became_shorter().to_owned()
    } else {
        e.to_string()
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
