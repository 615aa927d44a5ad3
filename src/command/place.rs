//! Where everything is: output folder, history and lock, by flags over the configuration file over defaults.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};

use super::console;
use crate::artifact::{ANOTHER_RUN, IfLocked, OutputFolder, RunLock};
use crate::cli::{self, PlaceArguments};
use crate::config::{self, File};
use crate::error::Error;

/// The output folder.
pub(super) fn output(typed: Option<&PathBuf>, file: &File) -> OutputFolder {
    let configured = typed.or(file.paths.output_dir.as_ref());
    OutputFolder::new(configured.cloned().unwrap_or_else(|| PathBuf::from("crawl-artifacts")))
}

/// The history.
pub(super) fn history(typed: Option<&PathBuf>, file: &File, output: &OutputFolder) -> PathBuf {
    typed.or(file.paths.history.as_ref()).cloned().unwrap_or_else(|| output.history())
}

/// The lock.
pub(super) fn lock_file(typed: Option<&PathBuf>, file: &File, output: &OutputFolder) -> PathBuf {
    typed.or(file.paths.lock_file.as_ref()).cloned().unwrap_or_else(|| output.lock_file())
}

/// What to do when another run holds it.
pub(super) fn if_locked(typed: cli::IfLocked) -> IfLocked {
    match typed {
        cli::IfLocked::Skip => IfLocked::Skip,
        cli::IfLocked::Wait => IfLocked::Wait,
        cli::IfLocked::Fail => IfLocked::Fail,
    }
}

/// What the commands that read no logs work on.
pub(super) struct Place {
    /// The configuration.
    pub(super) file: File,
    /// The time of the run.
    pub(super) now: DateTime<Utc>,
    /// The output folder.
    pub(super) output: OutputFolder,
    /// The history.
    pub(super) history: PathBuf,
    lock: PathBuf,
    if_locked: IfLocked,
}

impl Place {
    /// Puts flags and file together.
    ///
    /// # Errors
    /// Whatever is wrong with them (usage).
    pub(super) fn new(arguments: &PlaceArguments) -> Result<Self, Error> {
        let file = File::read(arguments.config.as_deref())?;
        let now = config::now(arguments.now.as_deref())?;
        let output = output(arguments.output_dir.as_ref(), &file);
        let history = history(arguments.history.as_ref(), &file, &output);
        let lock = lock_file(arguments.lock_file.as_ref(), &file, &output);
        Ok(Self { file, now, output, history, lock, if_locked: if_locked(arguments.if_locked) })
    }

    /// Takes the lock; `None` when another run holds it, which is said.
    ///
    /// # Errors
    /// See [`RunLock::take`].
    pub(super) fn lock(&self, stop: &Arc<AtomicUsize>) -> Result<Option<RunLock>, Error> {
        let signal = || match stop.load(Ordering::Relaxed) {
            0 => None,
            number => i32::try_from(number).ok(),
        };
        let lock = RunLock::take(&self.lock, self.if_locked, signal)?;
        if lock.is_none() {
            console::print_note(ANOTHER_RUN);
        }
        Ok(lock)
    }
}
