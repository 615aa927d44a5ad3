//! The dated folders that are there, and whether their files are what was written.
//!
//! Example of a finding: `2026-03-11/baseline_020007.json`: its digest is not the one in checksums.txt.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;

use super::checksums;
use super::output::{CHECKSUMS, LOG, OutputFolder};
use crate::error::Error;
use crate::file::is_temporary;

/// The dated folders of an output folder; links are none.
///
/// # Errors
/// The folder cannot be listed (exit 5). One that is not there has none.
pub fn dated_folders(output: &OutputFolder) -> Result<BTreeMap<NaiveDate, PathBuf>, Error> {
    let root = output.path();
    let cannot = |e: io::Error| Error::runtime(root.display(), "cannot list this folder").cause(e);
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(e) => return Err(cannot(e)),
    };
    let mut folders = BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name();
        let date = name.to_str().and_then(|n| NaiveDate::parse_from_str(n, "%Y-%m-%d").ok());
        if let Some(date) = date.filter(|d| Some(d.to_string().as_str()) == name.to_str())
            && entry.file_type().map_err(cannot)?.is_dir()
        {
            folders.insert(date, entry.path());
        }
    }
    Ok(folders)
}

/// Names and sizes of the files in a folder, by name.
///
/// # Errors
/// The folder cannot be listed (exit 5).
pub fn files(folder: &Path) -> Result<BTreeMap<String, u64>, Error> {
    let cannot = |e: io::Error| Error::runtime(folder.display(), "cannot list this folder").cause(e);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let about = entry.metadata().map_err(cannot)?;
        if about.is_file() && !is_temporary(&name) {
            files.insert(name, about.len());
        }
    }
    Ok(files)
}

/// What is wrong with a dated folder: file and reason.
///
/// # Errors
/// The folder cannot be listed (exit 5).
pub fn verify(folder: &Path) -> Result<Vec<(String, String)>, Error> {
    let mut wrong = Vec::new();
    let digests = checksums::known(&folder.join(CHECKSUMS))?;
    let mut listed: BTreeSet<String> = BTreeSet::new();
    for (name, digest) in digests {
        let shown = name.to_string_lossy().into_owned();
        match checksums::digest(&folder.join(&name)) {
            Ok(found) if found == digest => {}
            Ok(_) => wrong.push((shown.clone(), format!("its digest is not the one in {CHECKSUMS}"))),
            Err(e) => wrong.push((shown.clone(), e.to_string())),
        }
        listed.insert(shown);
    }
    for name in files(folder)?.into_keys() {
        if name != CHECKSUMS && name != LOG && !listed.contains(&name) {
            wrong.push((name, format!("{CHECKSUMS} does not have it: its run was killed, or goes on")));
        }
    }
    Ok(wrong)
}

/// The dates whose folders must stay: that of the newest baseline, and those of the manifests that the newest manifest is a
/// copy of.
///
/// # Errors
/// A folder that cannot be listed (exit 5).
pub fn in_use(
    output: &OutputFolder,
    folders: &BTreeMap<NaiveDate, PathBuf>,
) -> Result<BTreeSet<NaiveDate>, Error> {
    let mut dates = BTreeSet::new();
    let newest: Vec<Vec<u8>> = ["yaml", "json"]
        .iter()
        .filter_map(|kind| fs::read(output.newest_manifest().with_extension(kind)).ok())
        .collect();
    let mut has_baseline = None;
    for (date, folder) in folders {
        for (name, size) in files(folder)? {
            if name.starts_with("baseline_") {
                has_baseline = Some(*date);
            }
            let may_be = name.starts_with("throttle_manifest_")
                && newest.iter().any(|bytes| bytes.len() as u64 == size);
            if may_be && fs::read(folder.join(&name)).is_ok_and(|bytes| newest.contains(&bytes)) {
                dates.insert(*date);
            }
        }
    }
    dates.extend(has_baseline);
    Ok(dates)
}
