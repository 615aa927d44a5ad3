//! Sources that only one thread can read: standard input and compressed files. Blocks that it has no time for go to
//! threads that wait.
//!
//! Example: one `.gz`, inflated by one thread and parsed by the other.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::worker::Worker;
use super::{READY_BLOCKS, ReadyBlock, Run, beginning, lock, whole_lines};
use crate::error::Error;
use crate::format::w3c::last_directive;
use crate::source::compression::Compression;
use crate::source::identity::Digester;
use crate::source::stream::{BlockShape, Damage, Stream};
use crate::tally::edges::EDGE_BYTES;

impl Run<'_> {
    /// Standard input may be compressed too.
    pub(super) fn read_stdin(
        &self,
        worker: &mut Worker<'_>,
        source: usize,
        max_line_bytes: usize,
    ) -> Result<(), Error> {
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

    pub(super) fn read_stream(
        &self,
        worker: &mut Worker<'_>,
        source: usize,
        mut stream: Stream,
    ) -> Result<(), Error> {
        let mut digester: Option<Digester> = None;
        let mut number = 0;
        let mut offset = 0;
        let mut ends = (Vec::new(), Vec::new());
        let (mut deferred, mut hole) = (0, 0);
        let mut directive: Option<Arc<[u8]>> = None;
        loop {
            self.stopped()?;
            let mut buffer = lock(&self.shared).free.pop().unwrap_or_default();
            let Some(shape) = stream.next_block(&mut buffer) else { break };
            let BlockShape { lines_start, mut lines_end, mut counted_end, last } = shape;
            self.pipeline.progress.bytes.fetch_add(stream.take_bytes_read(), Ordering::Relaxed);
            if last {
                if self.pipeline.live && stream.damage().is_none() {
                    lines_end = whole_lines(&buffer, lines_start, lines_end);
                    counted_end = lines_end;
                }
                deferred = buffer.len() - lines_end;
            }
            hole += (counted_end - lines_end) as u64;
            let counted = &buffer[..counted_end];
            if !counted.is_empty() {
                digester
                    .get_or_insert_with(|| Digester::new(self.checkpoints(source, beginning(counted))))
                    .update(counted);
                keep_ends(&mut ends, counted);
            }
            let lines_offset = offset + lines_start as u64;
            offset += counted_end as u64;
            let named = last_directive(&buffer[lines_start..lines_end]).map(Arc::from);
            let block = ReadyBlock {
                source,
                number,
                offset: lines_offset,
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
        state.hole_bytes = hole;
        state.live = self.pipeline.live;
        if let Some(damage) = stream.damage() {
            state.damage = Some(damage.clone());
        }
        state.ends = ends;
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

    pub(super) fn count_ready(&self, worker: &mut Worker<'_>, block: ReadyBlock) -> Result<(), Error> {
        let ReadyBlock { source, number, offset, buffer, lines, directive } = block;
        let mut directive = || directive.as_deref().map(<[u8]>::to_vec);
        self.count(worker, source, (number, offset), &buffer[lines.0..lines.1], &mut directive)?;
        let mut shared = lock(&self.shared);
        if shared.free.len() < READY_BLOCKS {
            shared.free.push(buffer);
        }
        drop(shared);
        self.block_done(source)
    }
}

/// Keeps the first and the last bytes of what arrives in pieces.
fn keep_ends((first, last): &mut (Vec<u8>, Vec<u8>), piece: &[u8]) {
    let wanted = (EDGE_BYTES - first.len()).min(piece.len());
    first.extend_from_slice(&piece[..wanted]);
    let kept = last.len().min((EDGE_BYTES + 1).saturating_sub(piece.len()));
    last.drain(..last.len() - kept);
    // One byte more than is looked at says that something stands before it.
    last.extend_from_slice(&piece[piece.len() - piece.len().min(EDGE_BYTES + 1)..]);
}
