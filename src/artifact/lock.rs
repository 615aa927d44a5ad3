//! One run at a time for an output folder: an advisory lock on a file that stays where it is. Ends with the process,
//! however it ends.
//!
//! Example: a run from cron and one from a pipeline meet; the second prints `Another crawl gate is running.`

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;
use crate::file::create_folder;

/// What a run says that finds another one.
pub const ANOTHER_RUN: &str = "Another crawl gate is running.";

/// How often a waiting run looks again: short beside a run, long beside the cost of looking.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What to do when another run holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfLocked {
    /// Read and write nothing, exit 0.
    #[default]
    Skip,
    /// Wait for its end.
    Wait,
    /// Exit 5.
    Fail,
}

impl IfLocked {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Skip, Self::Wait, Self::Fail];

    /// What users type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Wait => "wait",
            Self::Fail => "fail",
        }
    }
}

/// The lock, held until it is dropped. The file is never removed: another run may be opening it.
#[derive(Debug)]
pub struct RunLock(#[expect(dead_code, reason = "holds the lock by being open")] File);

impl RunLock {
    /// Takes the lock; `None` when another run holds it and it is to be skipped. The caller then says [`ANOTHER_RUN`].
    ///
    /// `stopped` is asked while waiting: a signal number ends it.
    ///
    /// # Errors
    ///
    /// The lock file that cannot be opened, another run with [`IfLocked::Fail`] (both exit 5), a signal.
    pub fn take(
        path: &Path,
        if_locked: IfLocked,
        stopped: impl Fn() -> Option<i32>,
    ) -> Result<Option<Self>, Error> {
        if let Some(folder) = path.parent() {
            create_folder(folder).map_err(|e| {
                Error::runtime(path.display(), "cannot create the folder of the lock file").cause(e)
            })?;
        }
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o640)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path)
            .map_err(|e| {
                Error::runtime(path.display(), "cannot open the lock file").cause(e).hint(
                    "another user may have created it: run as that user, remove the file while nothing runs, or name \
                     another one with LOCK_FILE",
                )
            })?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self(file))),
                Err(TryLockError::Error(e)) => {
                    return Err(Error::runtime(path.display(), "cannot lock")
                        .cause(e)
                        .hint("name a file on a local disk with LOCK_FILE"));
                }
                Err(TryLockError::WouldBlock) => match if_locked {
                    IfLocked::Skip => return Ok(None),
                    IfLocked::Fail => {
                        return Err(Error::runtime(path.display(), ANOTHER_RUN)
                            .hint("`--if-locked wait` waits for its end"));
                    }
                    IfLocked::Wait => {}
                },
            }
            if let Some(signal) = stopped() {
                return Err(Error::interrupted(signal));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn take(path: &Path, if_locked: IfLocked) -> Result<Option<RunLock>, Error> {
        RunLock::take(path, if_locked, || None)
    }

    #[test]
    fn a_second_run_is_skipped_or_fails_and_the_next_one_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/.lock");
        let held = take(&path, IfLocked::Fail).unwrap().unwrap();
        assert!(take(&path, IfLocked::Skip).unwrap().is_none());
        let error = take(&path, IfLocked::Fail).unwrap_err();
        assert_eq!(
            (error.exit().code(), error.to_string()),
            (5, format!("{}: {ANOTHER_RUN}", path.display()))
        );
        drop(held);
        assert!(take(&path, IfLocked::Skip).unwrap().is_some());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o137, 0);
    }

    #[test]
    fn a_run_that_waits_goes_on_when_the_other_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        let held = take(&path, IfLocked::Skip).unwrap();
        let released = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let lock = take(&path, IfLocked::Wait).unwrap();
                (lock.is_some(), released.load(Ordering::SeqCst))
            });
            std::thread::sleep(LOOK_AGAIN * 2);
            released.store(true, Ordering::SeqCst);
            drop(held);
            assert_eq!(waiting.join().unwrap(), (true, true));
        });
    }

    #[test]
    fn a_signal_ends_the_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        let _held = take(&path, IfLocked::Skip).unwrap();
        let error = RunLock::take(&path, IfLocked::Wait, || Some(15)).unwrap_err();
        assert_eq!(error.exit().code(), 143);
    }

    #[test]
    fn a_lock_file_that_is_a_link_is_refused_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        std::os::unix::fs::symlink(folder.path().join("target"), &path).unwrap();
        let error = take(&path, IfLocked::Skip).unwrap_err();
        assert!(error.remedy().unwrap().contains("LOCK_FILE"));
        assert!(!folder.path().join("target").exists());
    }
}
