//! Which files were read to their end before, by what the file system says of them: those need not be read again.
//!
//! A cache and nothing more: it is replaced whole, may be lost at any time, and a line that cannot be read counts for
//! nothing. Whether the history still holds what it names is for the reader to check.
//!
//! Example of a line (device, inode, bytes, modified in ns, source, digest of the content, compression, bytes behind the
//! last gzip member):
//! `64768 1049 2107338 1773100800123456789 5d1f0a3c9be27744 0f1e...c2 gzip -`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::file::write_atomically;
use crate::source::compression::Compression;
use crate::source::identity::Digest;

const FILE: &str = ".seen";
const FIRST_LINE: &str = "crawl-baseline seen 1";
/// A file that was modified less than so many nanoseconds ago may be modified again within the same tick of the clock.
const SETTLED_AFTER_NS: i128 = 60_000_000_000;

/// What a file was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified_ns: i128,
}

impl FileStamp {
    /// Of a regular file (or what a link leads to); `None` for anything else, and for files that cannot be looked at.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified_ns: i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec()),
        })
    }

    /// Whether the file has been left alone for a minute, by the clock of this machine.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let now = chrono::Utc::now();
        let now_ns = i128::from(now.timestamp()) * 1_000_000_000 + i128::from(now.timestamp_subsec_nanos());
        self.modified_ns + SETTLED_AFTER_NS <= now_ns
    }
}

/// What a file held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenLog {
    /// The source whose content it is, to the last byte.
    pub source: String,
    /// The digest of that content.
    pub content: Digest,
    /// How it was packed.
    pub compression: Compression,
    /// Bytes behind the last gzip member.
    pub trailing_garbage: Option<u64>,
}

/// The cache of a history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    files: BTreeMap<FileStamp, SeenLog>,
}

impl Seen {
    /// Where it is.
    #[must_use]
    pub fn path(history: &Path) -> PathBuf {
        history.join(FILE)
    }

    /// Reads the cache; empty when there is none that can be read.
    #[must_use]
    pub fn read(history: &Path) -> Self {
        let text = std::fs::read_to_string(Self::path(history)).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Self::default();
        }
        Self { files: lines.filter_map(parse).collect() }
    }

    /// Replaces the cache of a history.
    ///
    /// # Errors
    /// It cannot be written (exit 5); nothing is lost but time.
    pub fn write(&self, history: &Path) -> Result<(), Error> {
        let mut text = format!("{FIRST_LINE}\n");
        for (stamp, log) in &self.files {
            let FileStamp { device, inode, size, modified_ns } = stamp;
            let SeenLog { source, content, compression, trailing_garbage } = log;
            let garbage = trailing_garbage.map_or_else(|| "-".to_owned(), |n| n.to_string());
            let compression = compression.name();
            // A string takes every text.
            let _ = writeln!(
                text,
                "{device} {inode} {size} {modified_ns} {source} {content} {compression} {garbage}"
            );
        }
        write_atomically(&Self::path(history), |file| Ok(file.write_all(text.as_bytes())?))
    }

    /// What a file with this stamp held.
    #[must_use]
    pub fn get(&self, stamp: &FileStamp) -> Option<&SeenLog> {
        self.files.get(stamp)
    }

    /// Remembers what a file held.
    pub fn insert(&mut self, stamp: FileStamp, log: SeenLog) {
        self.files.insert(stamp, log);
    }

    /// Forgets what is not of use any more.
    pub fn retain(&mut self, keep: impl Fn(&SeenLog) -> bool) {
        self.files.retain(|_, log| keep(log));
    }
}

fn parse(line: &str) -> Option<(FileStamp, SeenLog)> {
    let mut fields = line.split(' ');
    let stamp = FileStamp {
        device: fields.next()?.parse().ok()?,
        inode: fields.next()?.parse().ok()?,
        size: fields.next()?.parse().ok()?,
        modified_ns: fields.next()?.parse().ok()?,
    };
    let source = fields.next().filter(|s| !s.is_empty())?.to_owned();
    let content = Digest::from_hex(fields.next()?)?;
    let compression = fields.next()?;
    let compression =
        [Compression::None, Compression::Gzip, Compression::Zstd, Compression::Bzip2, Compression::Xz]
            .into_iter()
            .find(|c| c.name() == compression)?;
    let trailing_garbage = match fields.next()? {
        "-" => None,
        bytes => Some(bytes.parse().ok()?),
    };
    fields.next().is_none().then_some((stamp, SeenLog { source, content, compression, trailing_garbage }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(source: &str, trailing_garbage: Option<u64>) -> SeenLog {
        SeenLog {
            source: source.to_owned(),
            content: Digest(0xF00),
            compression: Compression::Gzip,
            trailing_garbage,
        }
    }

    #[test]
    fn what_was_remembered_is_read_back_and_lines_that_make_no_sense_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("access.log");
        std::fs::write(&file, "x").unwrap();
        let stamp = FileStamp::of(&file).unwrap();
        assert_eq!((stamp.size, FileStamp::of(folder.path())), (1, None));
        let mut seen = Seen::default();
        seen.insert(stamp, log("5d1f0a3c9be27744", Some(7)));
        seen.insert(FileStamp { size: 9, ..stamp }, log("00ff", None));
        // Whatever packed it.
        let all = [Compression::None, Compression::Zstd, Compression::Bzip2, Compression::Xz];
        for (size, compression) in (10..).zip(all) {
            seen.insert(FileStamp { size, ..stamp }, SeenLog { compression, ..log("00ff", None) });
        }
        seen.write(folder.path()).unwrap();
        assert_eq!(Seen::read(folder.path()), seen);

        let path = Seen::path(folder.path());
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("1 2 3 4 abc 5 gzip -\n1 2 3\n\n1 2 3 4 abc 00 rar -\n");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(Seen::read(folder.path()), seen);
        std::fs::write(&path, text.replace("seen 1", "seen 2")).unwrap();
        assert_eq!(Seen::read(folder.path()), Seen::default());
        std::fs::write(&path, [0xFF, 0xFE]).unwrap();
        assert_eq!(Seen::read(folder.path()), Seen::default());
    }

    #[test]
    fn a_file_is_settled_a_minute_after_it_was_modified() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        std::fs::write(&path, "x").unwrap();
        assert!(!FileStamp::of(&path).unwrap().is_settled());
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let ago = |s| std::time::SystemTime::now() - std::time::Duration::from_secs(s);
        file.set_modified(ago(50)).unwrap();
        assert!(!FileStamp::of(&path).unwrap().is_settled());
        file.set_modified(ago(61)).unwrap();
        assert!(FileStamp::of(&path).unwrap().is_settled());
    }
}
