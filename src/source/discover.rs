//! Which files are the logs that the arguments mean: files, folders, patterns and `-`.
//!
//! A file that is named is always read. In a folder a file is a log when its first 64 KiB (decompressed) hold at least
//! one line that a known format accepts and at least half of the complete lines do; the others are listed with the
//! reason. Two names of one file are read once.
//!
//! Example: `/var/log/nginx` finds `access.log`, `access.log.1` and `access.log.2.gz`, and passes `error.log` over.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::source::compression::Compression;
use crate::source::stream::{BLOCK_BYTES, Stream};

/// Decompressed bytes that decide whether a file in a folder is a log.
const SNIFF_BYTES: usize = 64 * 1024;

/// Longest run of NUL bytes that is looked behind.
const LONGEST_HOLE: u64 = 1 << 30;

/// One log to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Where it is; `-` is standard input.
    pub path: PathBuf,
    /// Bytes on disk when it was found; 0 for standard input.
    pub size: u64,
    /// The site of its records without a virtual host, where it has one of its own.
    pub host: Option<String>,
}

impl LogFile {
    /// Whether this is standard input.
    #[must_use]
    pub fn is_stdin(&self) -> bool {
        self.path.as_os_str() == "-"
    }
}

/// A file that is not read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// The reason, as printed.
    pub reason: String,
}

/// What the arguments mean.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The logs, sorted by path, standard input first.
    pub logs: Vec<LogFile>,
    /// What a folder holds that is no log, and second names of one file.
    pub skipped: Vec<Skipped>,
    /// What could not be opened; the rest is read.
    pub unreadable: Vec<Error>,
    /// Gaps in rotation sets, as printed.
    pub gaps: Vec<String>,
}

/// Finds the logs.
///
/// `accepts` tells of one line (without `\n`) whether a known format takes it: `Some(true)`, `Some(false)`, or `None`
/// for lines that say nothing (blank, directive).
///
/// # Errors
/// A pattern that is not well-formed (usage).
pub fn discover(
    arguments: &[PathBuf],
    accepts: &mut dyn FnMut(&[u8]) -> Option<bool>,
) -> Result<Discovery, Error> {
    let mut found = Discovery::default();
    let mut named: Vec<(PathBuf, bool)> = Vec::new();
    for argument in arguments {
        if argument.as_os_str() == "-" {
            if !found.logs.iter().any(LogFile::is_stdin) {
                found.logs.push(LogFile { path: argument.clone(), size: 0, host: None });
            }
        } else if fs::symlink_metadata(argument).is_ok() {
            named.push((argument.clone(), false));
        } else if let Some(pattern) = argument.to_str().filter(|t| t.contains(['*', '?', '['])) {
            expand(pattern, &mut named, &mut found)?;
        } else {
            found.unreadable.push(
                Error::partial(argument.display(), "cannot open")
                    .cause("no such file or folder")
                    .hint("give log files, folders, quoted patterns, or - for standard input"),
            );
        }
    }
    let mut files: Vec<(PathBuf, bool)> = Vec::new();
    for (path, _) in named {
        if path.is_dir() { walk(&path, &mut files, &mut found) } else { files.push((path, false)) }
    }
    files.sort();
    files.dedup_by(|a, b| a.0 == b.0);
    keep_each_file_once(files, &mut found, accepts);
    found.gaps = rotation_gaps(&found.logs);
    Ok(found)
}

fn expand(pattern: &str, named: &mut Vec<(PathBuf, bool)>, found: &mut Discovery) -> Result<(), Error> {
    let paths = glob::glob(pattern).map_err(|e| {
        Error::usage(pattern, "cannot be read as a pattern")
            .cause(e.msg)
            .hint("quote names that hold * ? or [ as [*] [?] [[]")
    })?;
    let before = named.len();
    for path in paths {
        match path {
            Ok(path) => named.push((path, false)),
            Err(e) => {
                found.unreadable.push(Error::partial(e.path().display(), "cannot look into").cause(e.error()))
            }
        }
    }
    if named.len() == before {
        found.unreadable.push(
            Error::partial(pattern, "cannot open")
                .cause("no file matches")
                .hint("check the pattern and its quotes"),
        );
    }
    Ok(())
}

/// All regular files below a folder, hidden ones excepted; the second member says that they must look like a log.
fn walk(folder: &Path, files: &mut Vec<(PathBuf, bool)>, found: &mut Discovery) {
    let hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    for entry in walkdir::WalkDir::new(folder)
        .follow_links(true)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|e| e.depth() == 0 || !hidden(e.file_name()))
    {
        match entry {
            Ok(entry) if entry.file_type().is_file() => files.push((entry.into_path(), true)),
            Ok(_) => {}
            Err(e) => {
                let place = e.path().unwrap_or(folder).display().to_string();
                found.unreadable.push(Error::partial(place, "cannot look into").cause(e));
            }
        }
    }
}

fn keep_each_file_once(
    files: Vec<(PathBuf, bool)>,
    found: &mut Discovery,
    accepts: &mut dyn FnMut(&[u8]) -> Option<bool>,
) {
    let mut seen: HashMap<(u64, u64), PathBuf> = HashMap::new();
    // Real files before links, so that the name that is kept is the file's own.
    let (links, real): (Vec<_>, Vec<_>) = files.into_iter().partition(|(p, _)| p.is_symlink());
    for (path, must_look_like_a_log) in real.into_iter().chain(links) {
        let metadata = match fs::metadata(&path) {
            Ok(m) => m,
            Err(e) => {
                found.unreadable.push(Error::partial(path.display(), "cannot open").cause(e));
                continue;
            }
        };
        let key = (metadata.dev(), metadata.ino());
        if let Some(first) = seen.get(&key) {
            found.skipped.push(Skipped { reason: format!("the same file as {}", first.display()), path });
            continue;
        }
        if must_look_like_a_log {
            match looks_like_a_log(&path, metadata.len(), accepts) {
                Ok(None) => {}
                Ok(Some(reason)) => {
                    found.skipped.push(Skipped { path, reason });
                    continue;
                }
                Err(e) => {
                    found.unreadable.push(Error::partial(path.display(), "cannot open").cause(e));
                    continue;
                }
            }
        }
        seen.insert(key, path.clone());
        found.logs.push(LogFile { path, size: metadata.len(), host: None });
    }
    found.logs.sort_by(|a, b| (!a.is_stdin(), &a.path).cmp(&(!b.is_stdin(), &b.path)));
    found.skipped.sort_by(|a, b| a.path.cmp(&b.path));
}

/// `None` when it does, else the reason why not.
fn looks_like_a_log(
    path: &Path,
    size: u64,
    accepts: &mut dyn FnMut(&[u8]) -> Option<bool>,
) -> std::io::Result<Option<String>> {
    let file = File::open(path)?;
    let mut head = vec![0; SNIFF_BYTES];
    let n = read_up_to(&file, &mut head, 0)?;
    head.truncate(n);
    let (text, whole) = match Compression::of(&head) {
        Compression::None => {
            let at = behind_hole(&file, &mut head)?;
            let whole = size <= at + head.len() as u64;
            (head, whole)
        }
        Compression::Unsupported(name) => {
            return Ok(Some(format!("{name} compression is not supported")));
        }
        packed => {
            let mut stream = Stream::open(Box::new(file), packed, SNIFF_BYTES)?;
            let mut buffer = Vec::new();
            let mut shape = stream.next_block(&mut buffer);
            for _ in 0..LONGEST_HOLE / BLOCK_BYTES as u64 {
                if !shape.is_some_and(|shape| shape.lines_end == 0 && !shape.last) {
                    break;
                }
                shape = stream.next_block(&mut buffer);
            }
            let whole = shape.is_none_or(|shape| shape.last);
            let whole = whole && buffer.len() <= SNIFF_BYTES;
            buffer.truncate(SNIFF_BYTES);
            if let (true, Some(damage)) = (buffer.is_empty(), stream.damage()) {
                return Err(std::io::Error::other(damage.cause.clone()));
            }
            (buffer, whole)
        }
    };
    if text.is_empty() {
        return Ok(Some("empty".to_owned()));
    }
    let complete =
        if whole { text.len() } else { memchr::memrchr(b'\n', &text).map_or(text.len(), |i| i + 1) };
    let (mut accepted, mut refused) = (0u64, 0u64);
    for line in text[..complete].split_inclusive(|b| *b == b'\n') {
        match accepts(line.strip_suffix(b"\n").unwrap_or(line)) {
            Some(true) => accepted += 1,
            Some(false) => refused += 1,
            None => {}
        }
    }
    Ok(if accepted == 0 {
        Some("no line of a known format in its first 64 KiB".to_owned())
    } else if accepted < refused {
        Some(format!(
            "only {accepted} of {} lines in its first 64 KiB are of a known format",
            accepted + refused
        ))
    } else {
        None
    })
}

/// Where the text in `head` begins, which is read again behind the hole when the file begins with one: what wrote the log
/// went on at its old place after somebody emptied the file.
fn behind_hole(file: &File, head: &mut Vec<u8>) -> std::io::Result<u64> {
    let mut at = 0;
    while !head.is_empty() && at < LONGEST_HOLE && head.iter().all(|byte| *byte == 0) {
        at += head.len() as u64;
        let n = read_up_to(file, head, at)?;
        head.truncate(n);
    }
    Ok(at)
}

fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            // A pipe or device has no positions: read it from here, once.
            Err(e) if e.raw_os_error() == Some(libc::ESPIPE) => {
                filled += (&mut &*file).read(&mut buffer[filled..])?;
                break;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// Numbers missing between the lowest and the highest of `name`, `name.1`, `name.2.gz` ...
///
/// A set that begins at 1 because the live file is elsewhere has no gap; dated names have no order to miss.
fn rotation_gaps(logs: &[LogFile]) -> Vec<String> {
    let mut sets: std::collections::BTreeMap<PathBuf, Vec<u32>> = std::collections::BTreeMap::new();
    for log in logs.iter().filter(|l| !l.is_stdin()) {
        let (base, number) = rotation_number(&log.path);
        sets.entry(base).or_default().push(number);
    }
    let mut gaps = Vec::new();
    for (base, mut numbers) in sets {
        numbers.sort_unstable();
        numbers.dedup();
        let missing: Vec<String> = numbers
            .windows(2)
            .flat_map(|pair| pair[0] + 1..pair[1])
            .take(20)
            .map(|n| n.to_string())
            .collect();
        if !missing.is_empty() {
            gaps.push(format!("{}: the rotation set has a gap at {}", base.display(), missing.join(", ")));
        }
    }
    gaps
}

/// `access.log.2.gz` is (`access.log`, 2); a name without a number is (itself, 0). Numbers above 9999 are dates.
fn rotation_number(path: &Path) -> (PathBuf, u32) {
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
        return (path.to_path_buf(), 0);
    };
    let bare = [".gz", ".zst", ".bz2", ".xz"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
    match bare.rsplit_once('.') {
        Some((base, digits)) if digits.len() <= 4 && !base.is_empty() => match digits.parse() {
            Ok(number) => (path.with_file_name(base), number),
            Err(_) => (path.with_file_name(bare), 0),
        },
        _ => (path.with_file_name(bare), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discover_in(dir: &Path) -> Discovery {
        discover(&[dir.to_path_buf()], &mut |line| Some(line.starts_with(b"ok"))).unwrap()
    }

    fn names(logs: &[LogFile]) -> Vec<String> {
        logs.iter().map(|l| l.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_folder_gives_its_logs_and_says_why_not_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("access.log", "ok 1\nok 2\n"),
            ("access.log.1", "ok\nbad\n"),
            ("error.log", "bad\nbad\nok\n"),
            ("readme", "bad\n"),
            ("empty", ""),
            ("hole", format!("{}ok 1\nok 2\n", "\0".repeat(3 * SNIFF_BYTES + 7)).as_str()),
            ("zeros", "\0".repeat(SNIFF_BYTES).as_str()),
            (".hidden", "ok\n"),
        ] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        std::os::unix::fs::symlink(dir.path().join("access.log"), dir.path().join("a-link")).unwrap();
        let found = discover_in(dir.path());
        assert_eq!(names(&found.logs), ["access.log", "access.log.1", "hole"]);
        let reasons: Vec<&str> = found.skipped.iter().map(|s| s.reason.split(' ').next().unwrap()).collect();
        assert_eq!(reasons, ["the", "empty", "only", "no", "empty"]);
        assert!(found.gaps.is_empty());
    }

    #[test]
    fn a_missing_number_of_a_rotation_set_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["access.log", "access.log.2.gz", "access.log.5", "other.log.3", "dated.log.20260310"] {
            fs::write(dir.path().join(name), "ok\n").unwrap();
        }
        let found = discover_in(dir.path());
        assert_eq!(found.gaps.len(), 1);
        assert!(
            found.gaps[0].ends_with("access.log: the rotation set has a gap at 1, 3, 4"),
            "{:?}",
            found.gaps
        );
    }

    #[test]
    fn a_pattern_without_a_match_and_a_missing_file_are_told_and_stop_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.log"), "ok\n").unwrap();
        let arguments = [dir.path().join("*.log"), dir.path().join("*.nothing"), dir.path().join("missing")];
        let found = discover(&arguments, &mut |_| Some(true)).unwrap();
        assert_eq!((found.logs.len(), found.unreadable.len()), (1, 2));
    }
}
