//! `recommend`: history to manifest, without reading logs. After `analyze`, with the same `--now`, the same bytes.

mod explain;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::ceilings::{Ceilings, Rows, keep};
use super::console;
use super::place::Place;
use crate::artifact::Artifact;
use crate::bot::Catalogue;
use crate::bot::verify::Verifier;
use crate::cli::{ManifestFormat, RecommendArguments};
use crate::config;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::history::read::History;

/// Runs `recommend`.
///
/// # Errors
/// Usage errors, a history that cannot be read, and files that cannot be written.
pub fn run(arguments: &RecommendArguments, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    config::check_categories("--enforce", &arguments.enforce)?;
    let place = Place::new(&arguments.place)?;
    let paths = &place.file.paths;
    let catalogue = match arguments.catalogue.as_ref().or(paths.catalogue.as_ref()) {
        Some(path) => Catalogue::with_overlay(path)?,
        None => Catalogue::built_in(),
    };
    let ranges = arguments.ip_ranges.as_ref().or(paths.ip_ranges.as_ref());
    let rdns = arguments.rdns.as_ref().or(paths.rdns.as_ref());
    let verifier = Verifier::load(&catalogue, ranges.map(PathBuf::as_path), rdns.map(PathBuf::as_path))?;
    // An explanation writes nothing, so it needs no lock.
    let _lock = if arguments.explain.is_empty() {
        let Some(lock) = place.lock(stop)? else { return Ok(ExitStatus::Success) };
        Some(lock)
    } else {
        None
    };
    let history = History::open(&place.history)?;
    for warning in history.warnings() {
        console::print_error(warning);
    }
    // Ceilings do not fall on partial data, and whether the newest run was partial only its row says.
    let partial = history.runs()?.last().is_some_and(|run| run.exit_code == ExitStatus::Partial.code());
    let ceilings = Ceilings {
        file: &place.file,
        catalogue: &catalogue,
        verifier: &verifier,
        now: place.now,
        enforce: &arguments.enforce,
        seed_defaults: arguments.seed_defaults,
        output: &place.output,
        partial,
    };
    let Some(manifest) = ceilings.manifest(Rows::History(&history))? else {
        return Err(Error::no_data(place.history.display(), "holds no record to recommend from")
            .hint("crawl-baseline analyze LOG... writes the history; the newest manifest stays as it was"));
    };
    if !arguments.explain.is_empty() {
        return explain::run(&arguments.explain, &manifest, &ceilings, &history);
    }
    keep(&history, &manifest)?;
    let (kind, text) = match arguments.manifest_format {
        ManifestFormat::Yaml => (Artifact::Manifest, manifest.to_yaml()),
        ManifestFormat::Json => (Artifact::ManifestJson, manifest.to_json()),
    };
    let mut dated = place.output.dated(place.now);
    let path = dated.write(kind, |out| Ok(out.write_all(text.as_bytes())?))?;
    let checksums = dated.write_checksums()?;
    let newest = place.output.publish(&path)?;
    let mut said = crate::report::recommended(&manifest, super::analyze::width());
    said.push_str("\nWritten\n");
    for path in [&path, &checksums, &newest] {
        said.push_str(&format!("  {}\n", crate::report::Escaped(&path.display().to_string())));
    }
    console::write_out(said.as_bytes())?;
    Ok(ExitStatus::Success)
}
