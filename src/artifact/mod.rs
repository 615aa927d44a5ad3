//! Where a run puts what it found: dated folder, checksums, newest manifest, and the lock that keeps two runs apart.
//! Not what the files hold, and not the history, which needs no lock.
//!
//! Example: a run at 02:00:07 UTC writes `crawl-artifacts/2026-03-11/baseline_020007.json`.

mod checksums;
mod inventory;
mod lock;
mod output;
mod retention;

pub use inventory::{dated_folders, files, in_use, verify};
pub use lock::{ANOTHER_RUN, IfLocked, RunLock};
pub use output::{Artifact, DatedFolder, OutputFolder};
pub use retention::{Retention, kept_dates};
