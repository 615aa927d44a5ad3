//! The layout of the output folder, by the run's UTC time.
//!
//! Example of a dated folder: `2026-03-11/` with `baseline_020007.json`, `throttle_manifest_020007.yaml`,
//! `checksums.txt`; beside it `throttle_manifest.yaml`, a copy of the newest one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::checksums;
use crate::error::Error;
use crate::file::{Failure, create_folder, sweep_temporaries, write_atomically};

/// What the run said, appended to by every run of the day and therefore without a checksum.
pub(super) const LOG: &str = "crawl-baseline.log";
/// The digests of the dated folder's files.
pub(super) const CHECKSUMS: &str = "checksums.txt";
const NEWEST_MANIFEST: &str = "throttle_manifest";

/// A kind of file in a dated folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Artifact {
    /// What was measured.
    Baseline,
    /// What is recommended, as YAML.
    Manifest,
    /// The same as JSON.
    ManifestJson,
    /// The HTML page.
    Report,
    /// From `normalize`.
    NormalizedUrls,
    /// From `simulate`.
    BudgetReport,
}

impl Artifact {
    /// Before and behind the time in the file's name.
    fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Baseline => ("baseline", "json"),
            Self::Manifest => ("throttle_manifest", "yaml"),
            Self::ManifestJson => ("throttle_manifest", "json"),
            Self::Report => ("report", "html"),
            Self::NormalizedUrls => ("normalized_urls", "json"),
            Self::BudgetReport => ("budget_report", "json"),
        }
    }
}

/// The folder of `--output-dir` or `CRAWL_OUTPUT_DIR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFolder {
    root: PathBuf,
}

impl OutputFolder {
    /// A folder that need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The parquet dataset.
    #[must_use]
    pub fn history(&self) -> PathBuf {
        self.root.join("history")
    }

    /// The lock of this folder, where `LOCK_FILE` names no other.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.root.join(".crawl-baseline.lock")
    }

    /// The newest manifest, whether it exists or not.
    #[must_use]
    pub fn newest_manifest(&self) -> PathBuf {
        self.root.join(format!("{NEWEST_MANIFEST}.yaml"))
    }

    /// The folder of a run that began at `now`; created when the first file is written.
    #[must_use]
    pub fn dated(&self, now: DateTime<Utc>) -> DatedFolder {
        DatedFolder {
            path: self.root.join(now.format("%Y-%m-%d").to_string()),
            time: now.format("%H%M%S").to_string(),
            written: BTreeSet::new(),
        }
    }

    /// Removes the temporaries that killed runs have left in this folder and the dated ones. To be called under its lock.
    ///
    /// # Errors
    ///
    /// What cannot be listed or removed (exit 5).
    pub fn tidy(&self) -> Result<(), Error> {
        sweep_temporaries(&self.root)?;
        for folder in super::dated_folders(self)?.into_values() {
            sweep_temporaries(&folder)?;
        }
        Ok(())
    }

    /// Replaces the newest manifest by a copy of this one, and returns its path. The last step of a run: whoever loads
    /// it must find everything else in place.
    ///
    /// # Errors
    ///
    /// The file that cannot be read or written (exit 5); the newest manifest is then the old one.
    pub fn publish(&self, manifest: &Path) -> Result<PathBuf, Error> {
        let bytes = fs::read(manifest)
            .map_err(|e| Error::runtime(manifest.display(), "cannot read what was just written").cause(e))?;
        let extension = manifest.extension().and_then(|e| e.to_str()).unwrap_or("yaml");
        let newest = self.root.join(format!("{NEWEST_MANIFEST}.{extension}"));
        write_atomically(&newest, |file| Ok(file.write_all(&bytes)?))?;
        Ok(newest)
    }
}

/// One UTC date's files. To be used under the lock of the output folder.
#[derive(Debug)]
pub struct DatedFolder {
    path: PathBuf,
    time: String,
    /// Names of this run.
    written: BTreeSet<OsString>,
}

impl DatedFolder {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whole or not at all, and returns its path. A second one of the same kind and second gets `_2`.
    ///
    /// # Errors
    ///
    /// What `write` returned, or what kept the file from being written (exit 5).
    pub fn write(
        &mut self,
        artifact: Artifact,
        write: impl FnOnce(&mut BufWriter<fs::File>) -> Result<(), Failure>,
    ) -> Result<PathBuf, Error> {
        self.create()?;
        let (stem, extension) = artifact.name();
        let time = &self.time;
        let mut name = format!("{stem}_{time}.{extension}");
        let mut number = 1_u64;
        // A symbolic link that leads nowhere is a taken name too.
        while self.path.join(&name).symlink_metadata().is_ok() {
            number += 1;
            name = format!("{stem}_{time}_{number}.{extension}");
        }
        let path = self.path.join(&name);
        write_atomically(&path, write)?;
        self.written.insert(name.into());
        Ok(path)
    }

    /// Writes `checksums.txt` whole, for every file of the folder, and returns its path. Files of earlier runs keep the
    /// digest that they were written with: damage must not be sworn to.
    ///
    /// # Errors
    ///
    /// The file that cannot be read or written (exit 5).
    pub fn write_checksums(&self) -> Result<PathBuf, Error> {
        self.create()?;
        let path = self.path.join(CHECKSUMS);
        let text = checksums::text(&self.path, &self.written)?;
        write_atomically(&path, |file| Ok(file.write_all(&text)?))?;
        Ok(path)
    }

    /// Appends what the run said to `crawl-baseline.log`.
    ///
    /// # Errors
    ///
    /// The file that cannot be written, a symbolic link among them (exit 5).
    pub fn append_log(&self, text: &str) -> Result<(), Error> {
        self.create()?;
        let path = self.path.join(LOG);
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o640)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|e| Error::runtime(path.display(), "cannot write").cause(e))
    }

    fn create(&self) -> Result<(), Error> {
        if self.path.is_symlink() {
            return Err(Error::runtime(self.path.display(), "cannot write into this folder")
                .cause("it is a symbolic link")
                .hint("remove the link: in a shared folder it could lead anywhere"));
        }
        create_folder(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::process::Command;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn put(dated: &mut DatedFolder, artifact: Artifact, text: &str) -> PathBuf {
        dated.write(artifact, |file| Ok(file.write_all(text.as_bytes())?)).unwrap()
    }

    fn checks(folder: &Path) -> bool {
        Command::new("sha256sum")
            .args(["--check", "--strict", "--status", CHECKSUMS])
            .current_dir(folder)
            .status()
            .expect("sha256sum is part of every GNU system")
            .success()
    }

    #[test]
    fn names_are_the_runs_utc_date_and_time() {
        let root = tempfile::tempdir().unwrap();
        let output = OutputFolder::new(root.path().join("new"));
        let mut dated = output.dated(at("2026-03-11T01:00:07+02:00"));
        let names: Vec<_> = [
            Artifact::Baseline,
            Artifact::Manifest,
            Artifact::ManifestJson,
            Artifact::Report,
            Artifact::NormalizedUrls,
            Artifact::BudgetReport,
        ]
        .map(|a| put(&mut dated, a, "x").strip_prefix(output.path()).unwrap().display().to_string())
        .into();
        assert_eq!(
            names,
            [
                "2026-03-10/baseline_230007.json",
                "2026-03-10/throttle_manifest_230007.yaml",
                "2026-03-10/throttle_manifest_230007.json",
                "2026-03-10/report_230007.html",
                "2026-03-10/normalized_urls_230007.json",
                "2026-03-10/budget_report_230007.json",
            ]
        );
    }

    #[test]
    fn files_of_the_same_second_are_numbered_and_none_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let output = OutputFolder::new(root.path());
        let now = at("2026-03-11T02:00:07Z");
        let first = put(&mut output.dated(now), Artifact::Baseline, "1");
        symlink("nowhere", first.with_file_name("baseline_020007_2.json")).unwrap();
        let third = put(&mut output.dated(now), Artifact::Baseline, "3");
        assert!(third.ends_with("baseline_020007_3.json"), "{}", third.display());
        assert_eq!((fs::read(first).unwrap(), fs::read(third).unwrap()), (b"1".to_vec(), b"3".to_vec()));
    }

    #[test]
    fn the_checksums_are_what_sha256sum_checks() {
        let root = tempfile::tempdir().unwrap();
        let mut dated = OutputFolder::new(root.path()).dated(at("2026-03-11T02:00:07Z"));
        put(&mut dated, Artifact::Manifest, "abc");
        put(&mut dated, Artifact::Baseline, "");
        dated.append_log("said\n").unwrap();
        let path = dated.write_checksums().unwrap();
        // The digests of "" and "abc" are those of FIPS 180-2.
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  baseline_020007.json\n\
             ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  throttle_manifest_020007.yaml\n"
        );
        assert!(checks(dated.path()));
        dated.append_log("said more\n").unwrap();
        assert!(checks(dated.path()), "a log that grows breaks nothing");
        fs::write(dated.path().join("baseline_020007.json"), "x").unwrap();
        assert!(!checks(dated.path()));
    }

    #[test]
    fn a_later_run_adds_its_files_and_does_not_swear_to_damage() {
        let root = tempfile::tempdir().unwrap();
        let output = OutputFolder::new(root.path());
        let mut morning = output.dated(at("2026-03-11T02:00:07Z"));
        let damaged = put(&mut morning, Artifact::Baseline, "good");
        morning.write_checksums().unwrap();
        let mut noon = output.dated(at("2026-03-11T12:00:00Z"));
        put(&mut noon, Artifact::Baseline, "later");
        noon.write_checksums().unwrap();
        assert!(checks(noon.path()));
        fs::write(&damaged, "evil").unwrap();
        let mut evening = output.dated(at("2026-03-11T20:00:00Z"));
        put(&mut evening, Artifact::Baseline, "last");
        evening.write_checksums().unwrap();
        assert!(!checks(evening.path()));
        fs::write(&damaged, "good").unwrap();
        assert!(checks(evening.path()));
    }

    #[test]
    fn a_file_written_again_after_it_was_removed_has_its_new_digest() {
        let root = tempfile::tempdir().unwrap();
        let output = OutputFolder::new(root.path());
        let now = at("2026-03-11T02:00:07Z");
        for text in ["one", "two"] {
            let mut dated = output.dated(now);
            let path = put(&mut dated, Artifact::Baseline, text);
            dated.write_checksums().unwrap();
            assert!(checks(dated.path()));
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn the_newest_manifest_is_a_copy_that_replaces_even_a_link() {
        let root = tempfile::tempdir().unwrap();
        let output = OutputFolder::new(root.path());
        let target = root.path().join("precious");
        fs::write(&target, "precious").unwrap();
        symlink(&target, output.newest_manifest()).unwrap();
        let mut dated = output.dated(at("2026-03-11T02:00:07Z"));
        let manifest = put(&mut dated, Artifact::Manifest, "ceilings");
        assert_eq!(output.publish(&manifest).unwrap(), output.newest_manifest());
        assert_eq!(fs::read_to_string(output.newest_manifest()).unwrap(), "ceilings");
        assert!(!output.newest_manifest().is_symlink());
        assert_eq!(fs::read_to_string(target).unwrap(), "precious");
        let json = put(&mut dated, Artifact::ManifestJson, "{}");
        assert!(output.publish(&json).unwrap().ends_with("throttle_manifest.json"));
    }

    #[test]
    fn nothing_is_written_through_a_symbolic_link() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let output = OutputFolder::new(root.path());
        symlink(elsewhere.path(), root.path().join("2026-03-11")).unwrap();
        let mut linked = output.dated(at("2026-03-11T02:00:07Z"));
        let error = linked.write(Artifact::Baseline, |_| Ok(())).unwrap_err();
        assert_eq!(error.exit().code(), 5);
        assert!(
            error.to_string().ends_with("cannot write into this folder: it is a symbolic link"),
            "{error}"
        );
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);

        let mut dated = output.dated(at("2026-03-12T02:00:07Z"));
        put(&mut dated, Artifact::Baseline, "x");
        let target = elsewhere.path().join("target");
        symlink(&target, dated.path().join(LOG)).unwrap();
        symlink(&target, dated.path().join(CHECKSUMS)).unwrap();
        assert!(dated.append_log("said").is_err());
        dated.write_checksums().unwrap();
        assert!(!target.exists());
    }

    #[test]
    fn files_are_for_the_owner_and_the_group() {
        let root = tempfile::tempdir().unwrap();
        let mut dated = OutputFolder::new(root.path()).dated(at("2026-03-11T02:00:07Z"));
        put(&mut dated, Artifact::Baseline, "x");
        dated.append_log("said").unwrap();
        dated.write_checksums().unwrap();
        for entry in fs::read_dir(dated.path()).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o137, 0, "{mode:o}");
        }
    }

    #[test]
    fn a_write_that_fails_leaves_no_file() {
        let root = tempfile::tempdir().unwrap();
        let mut dated = OutputFolder::new(root.path()).dated(at("2026-03-11T02:00:07Z"));
        let full = dated.write(Artifact::Baseline, |file| {
            file.write_all(b"half")?;
            Err("disk full".into())
        });
        assert_eq!(full.unwrap_err().exit().code(), 5);
        assert_eq!(fs::read_dir(dated.path()).unwrap().count(), 0);
    }
}
