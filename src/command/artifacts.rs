//! `artifacts list`, `verify` and `prune`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use chrono::NaiveDate;

use super::console;
use super::history::told;
use super::place::Place;
use crate::artifact::{Retention, dated_folders, files, in_use, kept_dates, verify};
use crate::cli::{ArtifactsAction, ArtifactsArguments};
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::history::check::check;
use crate::history::part::date_text;
use crate::history::prune::{self, prune};
use crate::history::read::History;
use crate::report::Escaped;

/// Runs `artifacts`.
///
/// # Errors
/// Usage errors, and what cannot be listed, written or removed.
pub fn run(arguments: &ArtifactsArguments, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    let place = Place::new(&arguments.place)?;
    match arguments.action {
        ArtifactsAction::List => list(&place),
        ArtifactsAction::Verify => verify_all(&place),
        ArtifactsAction::Prune { dry_run, retention_days, weekly_months } => {
            let Some(_lock) = place.lock(stop)? else { return Ok(ExitStatus::Success) };
            let retention = place.file.artifacts.retention(retention_days, weekly_months);
            prune_all(&place, retention, dry_run)
        }
    }
}

fn list(place: &Place) -> Result<ExitStatus, Error> {
    let mut text = String::new();
    // A string takes every text.
    for (date, folder) in dated_folders(&place.output)? {
        let files = files(&folder)?;
        let _ = writeln!(text, "{date}  {} files, {} bytes", files.len(), files.values().sum::<u64>());
        for (name, bytes) in files {
            let _ = writeln!(text, "  {}  {bytes} bytes", Escaped(&name));
        }
    }
    let history = History::open(&place.history)?;
    let rows = history.sources().values();
    let bytes: u64 = rows
        .clone()
        .flat_map(|row| &row.parts)
        .map(|part| (&part.path, part.bytes))
        .collect::<std::collections::BTreeMap<_, _>>()
        .values()
        .sum();
    let dates = history.dates();
    let span = match (dates.first(), dates.last()) {
        (Some(first), Some(last)) => format!(", {} to {}", date_text(*first), date_text(*last)),
        _ => String::new(),
    };
    let folder = place.history.display().to_string();
    let _ = writeln!(
        text,
        "{}  {} sources, {} dates{span}, {bytes} bytes",
        Escaped(&folder),
        rows.count(),
        dates.len()
    );
    console::write_out(text.as_bytes())?;
    Ok(ExitStatus::Success)
}

fn verify_all(place: &Place) -> Result<ExitStatus, Error> {
    let mut text = String::new();
    let mut wrong = 0;
    let folders = dated_folders(&place.output)?;
    for (date, folder) in &folders {
        for (name, cause) in verify(folder)? {
            wrong += 1;
            let _ = writeln!(text, "damaged: {date}/{}: {cause}", Escaped(&name));
        }
    }
    let today = place.now.date_naive();
    let todays = folders.get(&today).map(|folder| files(folder)).transpose()?.unwrap_or_default();
    for kind in ["baseline_", "throttle_manifest_", "checksums.txt"] {
        if !todays.keys().any(|name| name.starts_with(kind)) {
            wrong += 1;
            let _ = writeln!(text, "missing: {today}/{kind}: no run of today has written it");
        }
    }
    let _ = writeln!(text, "{} dated folders", folders.len());
    let checked = check(&History::open(&place.history)?)?;
    wrong += checked.findings.len();
    text.push_str(&told(&checked));
    console::write_out(text.as_bytes())?;
    Ok(if wrong == 0 { ExitStatus::Success } else { ExitStatus::CheckFailed })
}

fn prune_all(place: &Place, retention: Retention, dry_run: bool) -> Result<ExitStatus, Error> {
    let today = place.now.date_naive();
    let mut keep = kept_dates(place.output.path())?;
    let folders = dated_folders(&place.output)?;
    // Of the history, dates are those of records: what is kept of the runs says nothing of them.
    let named = keep.clone();
    keep.extend(in_use(&place.output, &folders)?);
    let mut text = String::new();
    let verb = if dry_run { "would remove" } else { "removed" };

    let dates: BTreeSet<NaiveDate> = folders.keys().copied().collect();
    let mut removed = 0;
    for date in retention.too_old(&dates, today).difference(&keep) {
        let folder = &folders[date];
        if !dry_run {
            std::fs::remove_dir_all(folder)
                .map_err(|e| Error::runtime(folder.display(), "cannot remove").cause(e))?;
        }
        removed += 1;
        let _ = writeln!(text, "{verb} {}", Escaped(&folder.display().to_string()));
    }

    let history = History::open(&place.history)?;
    history.warnings().iter().for_each(console::print_error);
    let dates: BTreeSet<NaiveDate> =
        prune::dates(&place.history)?.into_iter().filter_map(|d| date_text(d).parse().ok()).collect();
    let old: BTreeSet<i32> = retention
        .too_old(&dates, today)
        .difference(&named)
        .map(|date| chrono::Datelike::num_days_from_ce(date) - crate::history::part::EPOCH_DAY)
        .collect();
    let parts = prune(&history, &old, dry_run)?;
    for part in &parts {
        let _ = writeln!(text, "{verb} {}", Escaped(&part.display().to_string()));
    }
    let _ = writeln!(text, "{verb} {removed} dated folders and {} parts of {} dates", parts.len(), old.len());
    console::write_out(text.as_bytes())?;
    Ok(if history.warnings().is_empty() { ExitStatus::Success } else { ExitStatus::Partial })
}
