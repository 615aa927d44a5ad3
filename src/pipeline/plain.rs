//! Plain files: blocks that any thread may take, mapped or read, and a file that changed under its windows.
//!
//! Example: `access.log.1` of 40 MB, 39 blocks for two threads; somebody cuts it after the tenth, and it is counted again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::worker::Worker;
use super::{Directives, Plain, PlainQueue, Run, SourceState, lock, shrunk, whole_lines};
use crate::error::Error;
use crate::source::compression::Compression;
use crate::source::identity::{BLOCK_BYTES, BlockDigests};
use crate::source::plain::PlainBlock;
use crate::source::stream::Damage;

impl Run<'_> {
    pub(super) fn count_plain(
        &self,
        worker: &mut Worker<'_>,
        source: usize,
        plain: &Plain,
        checkpoints: &[u64],
        number: u64,
    ) -> Result<(), Error> {
        let longest = self.pipeline.parser.max_line_bytes;
        if let Some((window, block)) = plain.file.map_block(number, longest) {
            self.count_bytes(worker, source, plain, checkpoints, number, (window.bytes(), block))?;
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
                self.count_bytes(worker, source, plain, checkpoints, number, (&buffer, block))?;
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
    ) -> Result<(), Error> {
        let Plain { file, directives } = plain;
        let longest = self.pipeline.parser.max_line_bytes;
        let (start, mut end) = block.lines;
        let mut own = block.own;
        let at_end = number + 1 == file.blocks() || block.at_end;
        let grew = at_end && file.file().metadata().is_ok_and(|m| m.len() != file.length());
        let live = at_end && (self.pipeline.live || grew);
        let (mut deferred, mut hole) = (0, block.hole);
        if block.at_end && (live || file.was_cut()) {
            let whole = whole_lines(bytes, start, end);
            deferred = (end - whole) as u64;
            if deferred > 0 {
                deferred += std::mem::take(&mut hole);
            }
            end = whole;
            own.1 = own.1.min(whole.max(own.0));
        }
        let own = &bytes[own.0..own.1];
        let digests = BlockDigests::of_block(number * BLOCK_BYTES as u64, own, checkpoints);
        {
            let mut state = lock(&self.sources[source].state);
            state.block_digests.push(digests);
            state.deferred_bytes += deferred;
            state.hole_bytes += hole;
            state.live |= live;
        }
        if start < end {
            let mut directive = || directives.before(number, file, longest);
            let offset = number * BLOCK_BYTES as u64 + (start - block.own.0) as u64;
            self.count(worker, source, (number, offset), &bytes[start..end], &mut directive)?;
        }
        self.pipeline.progress.bytes.fetch_add(own.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Gives the blocks of a plain file to all threads.
    pub(super) fn hand_out(&self, source: usize, file: Arc<Plain>, checkpoints: Arc<[u64]>) {
        let blocks = file.file.blocks();
        if blocks > 0 {
            lock(&self.sources[source].state).plain = Some(Arc::clone(&file));
            self.sources[source].open_blocks.fetch_add(blocks, Ordering::AcqRel);
            lock(&self.shared).plain.push_back(PlainQueue { source, file, checkpoints, next: 0, blocks });
            self.changed.notify_all();
        }
    }

    /// Throws away what was counted of a file that changed while it was mapped, and has it read as it is now.
    #[cold]
    pub(super) fn start_over(
        &self,
        source: usize,
        plain: &Plain,
        checkpoints: Arc<[u64]>,
    ) -> Result<(), Error> {
        let compression = Some(Compression::None);
        {
            let mut state = lock(&self.sources[source].state);
            let overlap_bytes = state.overlap_bytes;
            *state = SourceState { compression, overlap_bytes, ..SourceState::default() };
        }
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
}

fn shorter(e: &std::io::Error) -> String {
    if e.kind() == std::io::ErrorKind::UnexpectedEof {
        shrunk::became_shorter().to_owned()
    } else {
        e.to_string()
    }
}
