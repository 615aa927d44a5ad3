//! The manifest that tonight's ceilings are compared with: the newest one of an earlier UTC date.
//!
//! A second run of a date thus starts from the same manifest as the first and gives the same bytes. Example of a
//! file: `crawl-artifacts/2026-03-10/throttle_manifest_020007.yaml`

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::stamp::date_of;
use super::{Known, Manifest, Minute, Warning, read};
use crate::error::Error;

/// What [`newest_before`] found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Previous {
    /// The manifest and its path.
    pub found: Option<(PathBuf, Manifest)>,
    /// Manifests that could not be read and were passed over, and what reading the found one warned of.
    pub warnings: Vec<Warning>,
}

/// The newest manifest in the dated folders of `out_dir` whose window ends on an earlier UTC date than `window_to`:
/// the one whose window ends last, and of these the one that was written last. A manifest without a window is none
/// of ours. An `out_dir` that does not exist holds none.
///
/// # Errors
/// Exit 5 when a folder cannot be listed. A manifest that cannot be read is a warning: an old damaged file must not
/// stop tonight's run.
pub fn newest_before(out_dir: &Path, window_to: Minute) -> Result<Previous, Error> {
    let mut candidates = Vec::new();
    for (day, folder) in list(out_dir)? {
        if date_of(&day).is_none() || !folder.is_dir() {
            continue;
        }
        for (name, path) in list(&folder)? {
            if let Some(written) = written(&name) {
                candidates.push(Candidate { ends: peek(&path), written: (day.clone(), written), path });
            }
        }
    }
    let mut previous = Previous::default();
    // The head of a file may have lied about its window: what was read whole is put back at its true place.
    let mut whole: Option<(Candidate, Manifest, Vec<Warning>)> = None;
    candidates.sort_by(|a, b| (a.ends, &a.written).cmp(&(b.ends, &b.written)));
    while let Some(candidate) = candidates.pop() {
        // An unknown end (none) sorts first, so it is read last but always read.
        if candidate.ends.is_some_and(|ends| ends.date() >= window_to.date()) {
            continue;
        }
        if let (Some(ends), Some((best, ..))) = (candidate.ends, &whole)
            && (Some(ends), &candidate.written) < (best.ends, &best.written)
        {
            continue;
        }
        match read(&candidate.path, &Known::default()) {
            Ok((manifest, warnings)) => {
                let ends = manifest.window.map(|window| window.to);
                let candidate = Candidate { ends, ..candidate };
                let is_earlier = ends.is_some_and(|ends| ends.date() < window_to.date());
                let is_newer = whole.as_ref().is_none_or(|(best, ..)| {
                    (candidate.ends, &candidate.written) > (best.ends, &best.written)
                });
                if is_earlier && is_newer {
                    whole = Some((candidate, manifest, warnings));
                }
            }
            Err(error) => previous.warnings.push(Warning {
                code: "previous_unreadable",
                place: candidate.path.display().to_string(),
                message: format!("an earlier manifest was passed over: {error}"),
                hint: error.remedy().map(str::to_owned),
            }),
        }
    }
    if let Some((candidate, manifest, warnings)) = whole {
        previous.warnings.extend(warnings);
        previous.found = Some((candidate.path, manifest));
    }
    Ok(previous)
}

struct Candidate {
    ends: Option<Minute>,
    /// Folder, then time and number of the file name.
    written: (String, (u32, u32)),
    path: PathBuf,
}

/// Names and paths of a folder, sorted; none when it does not exist.
fn list(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let cannot =
        |cause: std::io::Error| Error::runtime(folder.display(), "cannot list the folder").cause(cause);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(cannot)?;
        if let Ok(name) = entry.file_name().into_string() {
            names.push((name, entry.path()));
        }
    }
    names.sort();
    Ok(names)
}

/// The time and number of `throttle_manifest_HHMMSS[_N].yaml` or `.json`.
fn written(name: &str) -> Option<(u32, u32)> {
    let stem = name.strip_prefix("throttle_manifest_")?;
    let stem = stem.strip_suffix(".yaml").or_else(|| stem.strip_suffix(".json"))?;
    let (time, number) = stem.split_once('_').unwrap_or((stem, "1"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (time.len() == 6 && is_digits(time) && is_digits(number))
        .then_some((time.parse().ok()?, number.parse().ok()?))
}

/// The end of the window from the first lines, without reading a file of many hosts whole; none when they do not
/// show it.
fn peek(path: &Path) -> Option<Minute> {
    let mut head = Vec::new();
    fs::File::open(path).ok()?.take(4096).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let window = &head[head.find("\nwindow:").or_else(|| head.find("\"window\":"))?..];
    let to = window.split_once(" to:").or_else(|| window.split_once("\"to\":"))?.1;
    let end = to.find([',', '}', '\n'])?;
    Minute::parse(to[..end].trim().trim_matches('"'))
}

#[cfg(test)]
#[path = "previous_tests.rs"]
mod tests;
