//! What outgrows memory, in sorted runs in one temporary file without a name.
//!
//! A table that is full writes its entries as one run, in the order of a fixed-seed hash, and begins anew. At the end
//! all runs are read side by side, slice by slice of that hash: whatever belongs together is in one slice, a slice fits
//! into memory, and nothing is approximated. The file has no name, so a killed run leaves nothing behind.
//!
//! Example: a run of `/b`, `/a` and `/c`, whose hashes begin with 0x00, 0x00 and 0xff, has two URLs in slice 0 and one in
//! slice 1,023.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::file::create_folder;

/// Slices of a run, by the first bits of the hash.
pub(crate) const SLICES: usize = 1 << SLICE_BITS;
const SLICE_BITS: u32 = 10;
/// The least that a table may hold before it is written: smaller runs would be all seeks.
const LEAST_SHARE: u64 = 64 << 10;
/// Bytes that are written at once.
const CHUNK: usize = 1 << 20;

/// The slice of a hash.
pub(crate) fn slice_of(hash: u64) -> usize {
    usize::try_from(hash >> (u64::BITS - SLICE_BITS)).unwrap_or(0)
}

/// Where runs go, and what was written so far; one for all threads and logs of a run of the program.
#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    limit_bytes: u64,
    threads: u64,
    file: Mutex<Option<Arc<File>>>,
    length: AtomicU64,
    runs: AtomicU64,
}

/// How a table that outgrows its share is written.
#[derive(Clone, Copy)]
pub struct Spilling<'a> {
    /// Where to.
    pub to: &'a Spill,
    /// The key of a URL without escapes on a site without a name, secrets masked. On any other site it may have an
    /// origin in front, and differs in nothing else.
    pub key: &'a (dyn Fn(&[u8]) -> String + Sync),
}

/// One run: its slices lie behind each other.
#[derive(Debug)]
pub(crate) struct Run {
    offset: u64,
    /// Where each slice ends, from the beginning of the run.
    ends: Box<[u64]>,
}

impl Spill {
    /// Nothing yet. `folder` is created when it is needed; `limit_bytes` is meant for the whole program on so many
    /// threads.
    #[must_use]
    pub fn new(folder: PathBuf, limit_bytes: u64, threads: usize) -> Self {
        Self {
            folder,
            limit_bytes,
            threads: threads.max(1) as u64,
            file: Mutex::new(None),
            length: AtomicU64::new(0),
            runs: AtomicU64::new(0),
        }
    }

    /// Bytes that one table may hold. A thread may hold tables of two logs at once, and what is made of them at the
    /// end takes several times their size.
    pub(crate) fn share(&self) -> usize {
        let share = (self.limit_bytes / (8 * self.threads)).max(LEAST_SHARE);
        usize::try_from(share).unwrap_or(usize::MAX)
    }

    /// Bytes and runs that were written.
    #[must_use]
    pub fn spilled(&self) -> (u64, u64) {
        (self.length.load(Ordering::Relaxed), self.runs.load(Ordering::Relaxed))
    }

    /// Writes one run. `lengths` are the bytes of its slices; `write` puts out exactly so many, through the writer it
    /// gets.
    ///
    /// # Errors
    /// The file cannot be made, or not be written (exit 5).
    pub(crate) fn put(
        &self,
        lengths: &[u64],
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<Run, Error> {
        let mut end = 0;
        let ends: Box<[u64]> = lengths
            .iter()
            .map(|length| {
                end += length;
                end
            })
            .collect();
        let file = self.file()?;
        let offset = self.length.fetch_add(end, Ordering::Relaxed);
        write_at(offset, end, write, |bytes, at| file.write_all_at(bytes, at)).map_err(|e| self.failed(e))?;
        self.runs.fetch_add(1, Ordering::Relaxed);
        Ok(Run { offset, ends })
    }

    /// Reads some slices of a run into `buffer`, behind what it holds.
    ///
    /// # Errors
    /// The file cannot be read (exit 5).
    pub(crate) fn get(&self, run: &Run, slices: &Range<usize>, buffer: &mut Vec<u8>) -> Result<(), Error> {
        let (from, to) = run.bounds(slices);
        if from == to {
            return Ok(());
        }
        let start = buffer.len();
        buffer.resize(start + usize::try_from(to - from).unwrap_or(usize::MAX), 0);
        let file = self.file()?;
        file.read_exact_at(&mut buffer[start..], run.offset + from).map_err(|e| self.failed(e))
    }

    fn file(&self) -> Result<Arc<File>, Error> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*file {
            return Ok(file.clone());
        }
        create_folder(&self.folder)?;
        let new = Arc::new(tempfile::tempfile_in(&self.folder).map_err(|e| self.failed(e))?);
        *file = Some(new.clone());
        Ok(new)
    }

    #[cold]
    fn failed(&self, e: io::Error) -> Error {
        Error::runtime(self.folder.display(), "cannot keep what outgrows memory in a temporary file")
            .cause(e)
            .hint("TMPDIR names another folder for it; a higher --memory-limit writes less")
    }
}

impl Run {
    fn bounds(&self, slices: &Range<usize>) -> (u64, u64) {
        let start = slices.start.checked_sub(1).map_or(0, |before| self.ends[before]);
        let end = slices.end.checked_sub(1).map_or(0, |last| self.ends[last]);
        (start, end.max(start))
    }

    /// Bytes of some slices.
    pub(crate) fn bytes(&self, slices: &Range<usize>) -> u64 {
        let (start, end) = self.bounds(slices);
        end - start
    }
}

/// All slices in groups of about so many bytes over all runs, each of one slice at least.
pub(crate) fn grouped(runs: &[&Run], bytes: u64) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut held) = (0, 0);
    for slice in 0..SLICES {
        let more: u64 = runs.iter().map(|run| run.bytes(&(slice..slice + 1))).sum();
        if held > 0 && more > 0 && held + more > bytes {
            groups.push(start..slice);
            (start, held) = (slice, 0);
        }
        held += more;
    }
    if held > 0 {
        groups.push(start..SLICES);
    }
    groups
}

/// Collects what `write` gives into chunks and puts each where it belongs.
fn write_at(
    offset: u64,
    length: u64,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    put: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut chunks = Chunks { held: Vec::with_capacity(CHUNK), at: offset, put };
    write(&mut chunks)?;
    io::Write::flush(&mut chunks)?;
    if chunks.at - offset == length { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

struct Chunks<P> {
    held: Vec<u8>,
    at: u64,
    put: P,
}

impl<P: FnMut(&[u8], u64) -> io::Result<()>> io::Write for Chunks<P> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.len() + bytes.len() > CHUNK {
            self.flush()?;
        }
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        (self.put)(&self.held, self.at)?;
        self.at += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn lengths(of: &[(usize, u64)]) -> Vec<u64> {
        let mut lengths = vec![0; SLICES];
        of.iter().for_each(|(slice, length)| lengths[*slice] = *length);
        lengths
    }

    #[test]
    fn slices_of_several_runs_come_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path().join("not/there"), 1 << 20, 2);
        assert_eq!(spill.spilled(), (0, 0));
        let big = vec![b'x'; 3 * CHUNK + 5];
        let one = spill
            .put(&lengths(&[(0, 2), (7, 3)]), |out| {
                out.write_all(b"ab")?;
                out.write_all(b"cde")
            })
            .unwrap();
        let two = spill.put(&lengths(&[(7, big.len() as u64)]), |out| out.write_all(&big)).unwrap();
        let read = |run: &Run, slices: Range<usize>| {
            let mut buffer = b"!".to_vec();
            spill.get(run, &slices, &mut buffer).unwrap();
            buffer
        };
        assert_eq!(read(&one, 0..1), b"!ab");
        assert_eq!(read(&one, 1..7), b"!");
        assert_eq!(read(&one, 7..SLICES), b"!cde");
        assert_eq!(read(&one, 0..SLICES), b"!abcde");
        assert!(read(&two, 7..8)[1..] == big[..]);
        assert_eq!(spill.spilled(), (5 + big.len() as u64, 2));
        assert_eq!(grouped(&[&one, &two], 4), [0..7, 7..SLICES]);
        assert_eq!(grouped(&[&one], 100).as_slice(), std::slice::from_ref(&(0..SLICES)));
        assert!(grouped(&[], 100).is_empty());
        // Nothing with a name: a killed process leaves nothing behind.
        assert_eq!(std::fs::read_dir(folder.path().join("not/there")).unwrap().count(), 0);
    }

    #[test]
    fn a_full_disk_is_an_error_and_the_place_is_named() {
        let mut left = 2;
        let full = write_at(
            9,
            4 << 20,
            |out| (0..4).try_for_each(|_| out.write_all(&vec![0; CHUNK])),
            |_, _| {
                left -= 1;
                if left < 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
            },
        );
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        let spill = Spill::new(PathBuf::from("/data/history"), 0, 1);
        let error = spill.failed(io::ErrorKind::StorageFull.into());
        assert_eq!(error.exit(), crate::exit::ExitStatus::Runtime);
        assert_eq!(
            error.to_string(),
            "/data/history: cannot keep what outgrows memory in a temporary file: no storage space"
        );
    }

    #[test]
    fn a_run_that_is_shorter_than_was_said_is_no_run() {
        assert!(write_at(0, 5, |out| out.write_all(b"1234"), |_, _| Ok(())).is_err());
        let mut put = Vec::new();
        write_at(
            3,
            4,
            |out| out.write_all(b"1234"),
            |bytes, at| {
                put.push((bytes.to_vec(), at));
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(put, [(b"1234".to_vec(), 3)]);
    }

    #[test]
    fn the_share_falls_with_the_threads_and_has_a_floor() {
        let share = |limit, threads| Spill::new(PathBuf::new(), limit, threads).share();
        assert_eq!((share(256 << 20, 2), share(256 << 20, 4)), (16 << 20, 8 << 20));
        assert_eq!(share(0, 64), 64 << 10);
    }
}
