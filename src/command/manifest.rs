//! What the commands that load a manifest share: where it is, reading it strictly, what is odd about it, its age.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::console;
use crate::artifact::OutputFolder;
use crate::error::Error;
use crate::manifest::{self, Known, Manifest, nearest};

/// The manifest that was named, else the newest one of the output folder.
pub(super) fn place(named: Option<&PathBuf>, output: &OutputFolder) -> PathBuf {
    let newest = |extension: &str| output.path().join(format!("throttle_manifest.{extension}"));
    match named {
        Some(path) => path.clone(),
        None if !newest("yaml").exists() && newest("json").exists() => newest("json"),
        None => newest("yaml"),
    }
}

/// Reads a manifest. What it warns of, and what the lint finds, is printed.
///
/// # Errors
/// What cannot be read or understood (usage).
pub(super) fn load(path: &Path) -> Result<Manifest, Error> {
    let (manifest, warnings) = manifest::read(path, &Known::default())?;
    for warning in &warnings {
        print(&warning.place, &warning.message, warning.hint.as_deref());
    }
    for finding in manifest::lint(&manifest) {
        print(&format!("{}: {}", path.display(), finding.place), &finding.message, finding.hint.as_deref());
    }
    Ok(manifest)
}

fn print(place: &str, message: &str, hint: Option<&str>) {
    console::print_note(format_args!("{place}: {message}"));
    if let Some(hint) = hint {
        console::print_text(&format!("hint: {}\n", crate::report::Escaped(hint)));
    }
}

/// Refuses a manifest that was made more than `days` before `now`. One without a date was written by hand: it has no age.
///
/// # Errors
/// Its age (usage).
pub(super) fn check_age(
    path: &Path,
    manifest: &Manifest,
    now: DateTime<Utc>,
    days: u16,
) -> Result<(), Error> {
    let Some(made) = manifest.generated_at else { return Ok(()) };
    let age = now.timestamp() - made.0;
    if age <= i64::from(days) * 86_400 {
        return Ok(());
    }
    Err(Error::usage(path.display(), "is stale")
        .cause(format_args!(
            "made {} days ago ({}), at most {days} are allowed",
            age / 86_400,
            made.text().unwrap_or_default()
        ))
        .hint("crawl-baseline recommend makes a new one; --max-age-days allows more, --allow-stale any"))
}

/// The manifest's own spelling of a host and of a bot that were asked for.
///
/// # Errors
/// One that no entry is for (usage), with the nearest.
pub(super) fn names<'a>(
    manifest: &'a Manifest,
    path: &Path,
    host: Option<&str>,
    bot: Option<&str>,
) -> Result<(Option<&'a str>, Option<&'a str>), Error> {
    let hosts = || manifest.domain_overrides.keys().map(String::as_str);
    let host = host.map(|name| one_of("--host", name, path, hosts())).transpose()?;
    let entries = || manifest.domain_overrides.iter().filter(|(name, _)| host.is_none_or(|h| *name == h));
    let bots = || entries().flat_map(|(_, entry)| entry.bots.keys().map(String::as_str));
    let bot = bot.map(|name| one_of("--bot", name, path, bots())).transpose()?;
    Ok((host, bot))
}

fn one_of<'a>(
    flag: &str,
    name: &str,
    path: &Path,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<&'a str, Error> {
    if let Some(found) = known.clone().find(|k| k.eq_ignore_ascii_case(name)) {
        return Ok(found);
    }
    let error = Error::usage(flag, format_args!("{name:?} is not in {}", path.display()));
    Err(match nearest(name, known.clone()) {
        Some(near) => error.hint(format_args!("did you mean {near}?")),
        None => {
            let mut all: Vec<&str> = known.take(20).collect();
            all.dedup();
            error.hint(format_args!(
                "it has {}",
                if all.is_empty() { "none".to_owned() } else { all.join(", ") }
            ))
        }
    })
}
