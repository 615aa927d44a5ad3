//! Files that are old and whole or new and whole, whatever happens in between.
//!
//! A file is written under a temporary name in its own folder, flushed to the disk, renamed, and the folder is
//! flushed. Temporaries of runs that died are swept by the next one. Not here: locks, and what the files hold.
//!
//! Example of a temporary: `.manifest.yaml.web1.5f3a90c2.4711.88123456.0.crawl-tmp`, which says final name, host,
//! system start, process, start of the process, and a number.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::error::Error;

/// How every temporary ends.
const SUFFIX: &str = ".crawl-tmp";
/// Temporaries that cannot be shown to be dead are swept at this age.
const FOREIGN_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// File names have at most 255 bytes on every common file system; the parts of a temporary's name stay below.
const LONGEST_NAME: usize = 120;

/// What a closure given to [`write_atomically`] may fail with: `std::io::Error`, an error of a library, or
/// [`Error`], which is passed on as it is.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Writes a file whole or not at all: 0640 (less the umask), never through a symbolic link, on the disk when this
/// returns. Whatever is under the final name is replaced, not followed: a link that somebody put into a shared folder leads
/// nowhere. For what a user has named there is [`write_named`].
///
/// # Errors
///
/// What `write` returned, or what kept the file from being written (exit 5). Then the final name holds what it held
/// before, and the temporary is gone.
pub fn write_atomically<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, Failure>,
) -> Result<T, Error> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str())) else {
        return Err(Error::runtime(path.display(), "cannot write").cause("it is no file name"));
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (temporary, file) = create_temporary(folder, name, path)?;
    let guard = RemoveOnDrop(Some(temporary));
    let failed = |cause: Failure| match cause.downcast::<Error>() {
        Ok(own) => *own,
        Err(cause) => cannot_write(path, &cause),
    };

    let mut writer = BufWriter::with_capacity(64 * 1024, file);
    let value = write(&mut writer).map_err(failed)?;
    let file = writer.into_inner().map_err(|e| cannot_write(path, &e.into_error()))?;
    file.sync_all().map_err(|e| cannot_write(path, &e))?;
    drop(file);
    guard.rename_to(path).map_err(|e| cannot_write(path, &e))?;
    sync_folder(folder)?;
    Ok(value)
}

/// Writes to what a user has named. A device, a pipe or a socket is written to as it is: replaced by a file, `/dev/full` or
/// a named pipe would be gone. Anything else is written as [`write_atomically`] does.
///
/// # Errors
///
/// See [`write_atomically`]; what was sent into a pipe before is sent.
pub fn write_named<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, Failure>,
) -> Result<T, Error> {
    let is_special = fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
    // `/dev/stdout` and `/dev/fd/3` lead to whatever was opened, a plain file too.
    let is_opened = ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder)) && path.is_symlink();
    if !is_special && !is_opened {
        return write_atomically(path, write);
    }
    let file = OpenOptions::new().write(true).open(path).map_err(|e| cannot_write(path, &e))?;
    let mut writer = BufWriter::with_capacity(64 * 1024, file);
    let value = write(&mut writer).map_err(|cause| match cause.downcast::<Error>() {
        Ok(own) => *own,
        Err(cause) => cannot_write(path, &cause),
    })?;
    writer.into_inner().map_err(|e| cannot_write(path, &e.into_error()))?;
    Ok(value)
}

/// Creates a folder and its parents, and flushes each new entry to the disk.
///
/// # Errors
///
/// The folder that cannot be created (exit 5).
pub fn create_folder(path: &Path) -> Result<(), Error> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_folder(parent)?;
    }
    match fs::create_dir(path) {
        Ok(()) => {}
        // Another run was faster.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        Err(e) => return Err(Error::runtime(path.display(), "cannot create this folder").cause(e)),
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent),
        _ => sync_folder(Path::new(".")),
    }
}

/// Removes a file; one that is not there is no error.
///
/// # Errors
///
/// The file that cannot be removed (exit 5).
pub fn remove(path: &Path) -> Result<bool, Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::runtime(path.display(), "cannot remove").cause(e)),
    }
}

/// Removes the temporaries in a folder (not below it) that nobody will finish: those of dead processes of this system
/// since its start, and any other that is older than 24 hours. Returns what was removed. A folder that is not there
/// has none.
///
/// # Errors
///
/// The folder that cannot be listed, or the file that cannot be removed (exit 5).
pub fn sweep_temporaries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::runtime(folder.display(), "cannot list this folder").cause(e)),
    };
    let mut swept = Vec::new();
    for entry in entries {
        let entry =
            entry.map_err(|e| Error::runtime(folder.display(), "cannot list this folder").cause(e))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if !is_temporary(name) {
            continue;
        }
        let age = entry.metadata().ok().and_then(|m| m.modified().ok()).map(age_of);
        if (is_dead(name) || age.is_some_and(|age| age > FOREIGN_AGE)) && remove(&entry.path())? {
            swept.push(entry.path());
        }
    }
    swept.sort();
    Ok(swept)
}

/// Whether a file of this name is a temporary of this program, finished by nobody yet.
#[must_use]
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(SUFFIX)
}

fn age_of(modified: SystemTime) -> Duration {
    // A stamp in the future is a file that was just written under another clock.
    SystemTime::now().duration_since(modified).unwrap_or_default()
}

fn cannot_write(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    Error::runtime(path.display(), "cannot write").cause(cause)
}

fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder)
        .and_then(|f| f.sync_all())
        .map_err(|e| Error::runtime(folder.display(), "cannot flush this folder to the disk").cause(e))
}

fn create_temporary(folder: &Path, name: &str, path: &Path) -> Result<(PathBuf, File), Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let process = Process::own();
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let Process { host, system, pid, start } = process;
        let short = cut(name, LONGEST_NAME);
        let temporary = folder.join(format!(".{short}.{host}.{system}.{pid}.{start}.{number}{SUFFIX}"));
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o640)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&temporary);
        match opened {
            Ok(file) => return Ok((temporary, file)),
            // A leftover of a process with our identity, which has died: the next number is free.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(cannot_write(path, &e)),
        }
    }
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Removes the temporary when the write fails or panics.
struct RemoveOnDrop(Option<PathBuf>);

impl RemoveOnDrop {
    fn rename_to(mut self, path: &Path) -> io::Result<()> {
        if let Some(temporary) = &self.0 {
            fs::rename(temporary, path)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        if let Some(temporary) = &self.0 {
            // The failure that led here is the one to report; the next run sweeps what stays.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Who writes a temporary, as far as another run can check whether it still lives.
struct Process {
    host: String,
    /// Hash of the system's start and the process namespace: process numbers of another boot or container mean nothing
    /// here. Empty where the system does not tell.
    system: String,
    pid: u32,
    /// Clock ticks from the system's start to the process's; process numbers are used again.
    start: u64,
}

impl Process {
    fn own() -> &'static Self {
        static OWN: OnceLock<Process> = OnceLock::new();
        OWN.get_or_init(|| {
            let pid = std::process::id();
            let host = fs::read_to_string("/proc/sys/kernel/hostname")
                .ok()
                .or_else(|| std::env::var("HOSTNAME").ok())
                .unwrap_or_else(|| "unknown".to_owned());
            let host: String = host
                .trim()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' })
                .take(40)
                .collect();
            let system = match (
                fs::read("/proc/sys/kernel/random/boot_id"),
                fs::metadata("/proc/self/ns/pid").map(|m| m.ino()),
            ) {
                (Ok(mut boot), Ok(namespace)) => {
                    boot.extend_from_slice(&namespace.to_le_bytes());
                    format!("{:08x}", twox_hash::XxHash3_64::oneshot(&boot) >> 32)
                }
                _ => String::new(),
            };
            Self { host, system, pid, start: start_of(pid).unwrap_or(0) }
        })
    }
}

/// The start of a process in clock ticks since the system's; `None` when there is no such process, or no `/proc`.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command in parentheses may hold anything; the start is field 22, the 20th behind it.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Whether the process that wrote this temporary is known to be dead.
fn is_dead(name: &str) -> bool {
    let own = Process::own();
    if own.system.is_empty() {
        return false;
    }
    let Some(rest) = name.strip_suffix(SUFFIX) else { return false };
    let mut fields = rest.rsplit('.');
    let (_number, start, pid, system, host) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next());
    let (Some(start), Some(pid)) = (start.and_then(|s| s.parse().ok()), pid.and_then(|p| p.parse().ok()))
    else {
        return false;
    };
    system == Some(own.system.as_str()) && host == Some(own.host.as_str()) && start_of(pid) != Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_readable_by_the_group_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "old").unwrap();
        let five = write_atomically(&path, |w| {
            w.write_all(b"new")?;
            Ok(5)
        });
        assert_eq!(five.unwrap(), 5);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777 & !0o640, 0);
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn a_write_that_fails_or_panics_leaves_the_old_file_and_no_temporary() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "old").unwrap();
        let failed = write_atomically(&path, |w| {
            w.write_all(&[b'x'; 200_000])?;
            Err::<(), _>(io::Error::from_raw_os_error(libc::ENOSPC).into())
        })
        .unwrap_err();
        assert_eq!(failed.exit().code(), 5);
        assert!(failed.to_string().starts_with(&format!("{}: cannot write: No space left", path.display())));
        let panicked = std::panic::catch_unwind(|| write_atomically::<()>(&path, |_| panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn an_error_of_our_own_keeps_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let own =
            write_atomically::<()>(&folder.path().join("a"), |_| Err(Error::usage("key", "is odd").into()));
        assert_eq!(own.unwrap_err().to_string(), "key: is odd");
    }

    #[test]
    fn a_symbolic_link_under_the_final_name_is_replaced_and_its_target_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, path) = (folder.path().join("victim"), folder.path().join("a"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &path).unwrap();
        write_atomically(&path, |w| Ok(w.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn a_pipe_that_was_named_is_written_to_and_stays_a_pipe() {
        use std::os::unix::fs::FileTypeExt as _;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write_named(&pipe, |out| Ok(out.write_all(b"through")?)).unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        // Through a link, so that a fault of this function does not cost the machine its device.
        let full = folder.path().join("full");
        symlink("/dev/full", &full).unwrap();
        let said = write_named(&full, |out| Ok(out.write_all(b"x")?)).unwrap_err();
        assert!(
            said.to_string().ends_with("full: cannot write: No space left on device (os error 28)"),
            "{said}"
        );
        assert_eq!(said.exit().code(), 5);
        assert!(full.is_symlink());
        let plain = folder.path().join("plain");
        for text in ["one", "two"] {
            write_named(&plain, |out| Ok(out.write_all(text.as_bytes())?)).unwrap();
            assert_eq!(fs::read_to_string(&plain).unwrap(), text);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/a");
        let e = write_atomically(&path, |_| Ok(())).unwrap_err();
        assert!(e.to_string().starts_with(&path.display().to_string()), "{e}");
        create_folder(path.parent().unwrap()).unwrap();
        write_atomically(&path, |_| Ok(())).unwrap();
    }

    #[test]
    fn only_dead_temporaries_of_this_system_and_old_ones_of_others_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let own = Process::own();
        let name = |host: &str, system: &str, pid: u32, start: u64| {
            format!(".a.parquet.{host}.{system}.{pid}.{start}.0{SUFFIX}")
        };
        let alive = name(&own.host, &own.system, own.pid, own.start);
        let dead = name(&own.host, &own.system, own.pid, own.start + 1);
        let gone = name(&own.host, &own.system, u32::MAX - 1, 1);
        let foreign = name("elsewhere", &own.system, own.pid, own.start + 1);
        let old_boot = name(&own.host, "00000000", own.pid, own.start + 1);
        let old_foreign = name("long-ago", "0", 1, 1);
        for file in [&alive, &dead, &gone, &foreign, &old_boot, &old_foreign] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        for file in ["final.parquet", ".hidden"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let two_days_ago = SystemTime::now() - Duration::from_secs(2 * 86_400);
        for file in [&old_foreign, ".hidden"] {
            File::options()
                .write(true)
                .open(folder.path().join(file))
                .unwrap()
                .set_modified(two_days_ago)
                .unwrap();
        }
        let mut expected: Vec<_> = [dead, gone, old_foreign].iter().map(|n| folder.path().join(n)).collect();
        expected.sort();
        assert_eq!(sweep_temporaries(folder.path()).unwrap(), expected);
        assert!(names(folder.path()).contains(&alive));
        assert_eq!(sweep_temporaries(&folder.path().join("nowhere")).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_write_killed_half_way_leaves_only_a_temporary_that_the_next_run_sweeps() {
        // The child writes half and stops for good; it is this test binary running one test.
        let folder = tempfile::tempdir().unwrap();
        if let Some(target) = std::env::var_os("CRAWL_BASELINE_TEST_HALF_WRITE") {
            let _ = write_atomically::<()>(Path::new(&target), |w| {
                w.write_all(b"half")?;
                w.flush()?;
                println!("half written");
                io::stdout().flush()?;
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
            return;
        }
        let path = folder.path().join("part.parquet");
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "file::tests::a_write_killed_half_way_leaves_only_a_temporary_that_the_next_run_sweeps",
            ])
            .env("CRAWL_BASELINE_TEST_HALF_WRITE", &path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let said = io::BufRead::lines(io::BufReader::new(child.stdout.take().unwrap()))
            .any(|line| line.unwrap().contains("half written"));
        assert!(said);
        assert_eq!(sweep_temporaries(folder.path()).unwrap(), Vec::<PathBuf>::new(), "the writer lives");
        child.kill().unwrap();
        child.wait().unwrap();
        let left = names(folder.path());
        assert!(left.len() == 1 && is_temporary(&left[0]), "{left:?}");
        assert_eq!(sweep_temporaries(folder.path()).unwrap().len(), 1);
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn a_device_that_a_user_names_stays_one_and_a_link_to_it_under_our_own_names_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        // Through links, so that a fault of this function does not cost the machine its devices.
        let link = |name: &str, device: &str| {
            let link = folder.path().join(name);
            symlink(device, &link).unwrap();
            link
        };
        let null = link("null", "/dev/null");
        write_named(&null, |out| Ok(out.write_all(b"x")?)).unwrap();
        assert!(null.is_symlink());
        let e = write_named(&link("full", "/dev/full"), |out| Ok(out.write_all(b"x")?)).unwrap_err();
        assert!(e.exit().code() == 5 && e.to_string().contains("full: cannot write: "), "{e}");
        write_atomically(&null, |out| Ok(out.write_all(b"x")?)).unwrap();
        assert!(!null.is_symlink() && fs::read(&null).unwrap() == b"x");
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
