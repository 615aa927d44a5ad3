//! `simulate`: URLs and a manifest to a schedule and a budget report. Nothing is fetched.

mod budget;
mod origin;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use super::console;
use super::place::Place;
use crate::artifact::Artifact;
use crate::cli::simulate::SimulateArguments;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::file::write_named;
use crate::manifest::{self, Known, Manifest};
use crate::report::{Escaped, plan};
use crate::simulate::{
    BudgetReport, Links, Page, Routes, Settings, UrlList, chains_with, changed_pages, digest_of, new_pages,
    simulate,
};
use crate::url::Rules;

/// Open requests to a host where neither the command nor a manifest says how many.
const CONCURRENCY: u64 = 3;

/// Runs `simulate`.
///
/// # Errors
/// What is wrong with flags and files (usage), and files that cannot be written.
pub fn run(arguments: &SimulateArguments, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    if arguments.diff_only && arguments.baseline_urls.is_none() && arguments.changed_routes.is_none() {
        return Err(Error::usage("--diff-only", "needs something to compare with")
            .cause("expected --baseline-urls OLD or --changed-routes FILE"));
    }
    let place = Place::new(&arguments.place)?;
    let Some(_lock) = place.lock(stop)? else { return Ok(ExitStatus::Success) };
    let mut inputs = BTreeMap::new();
    let mut list = UrlList::read(&arguments.urls, arguments.host.as_deref())?;
    inputs.insert("urls".to_owned(), list.digest.clone());
    let now = u64::try_from(place.now.timestamp()).unwrap_or(0);
    list.due_from(Duration::from_secs(now), arguments.warm_up);
    let changed = changes(arguments, &list.pages, &mut inputs)?;
    let pages = changed.as_ref().unwrap_or(&list.pages);

    let manifest = manifest(arguments, &place, &mut inputs)?;
    let hosts: BTreeSet<&str> = pages.iter().map(|page| page.host.as_str()).collect();
    let mut settings = settings(arguments, &place, manifest.as_ref(), &hosts)?;
    let measured = origin::apply(&mut settings, &place.history, manifest.as_ref(), &hosts, &mut inputs)?;
    if let Some(bytes) = arguments.response_bytes {
        settings.response_bytes_mean = Some(bytes);
    }
    let orphans = match &arguments.links {
        Some(path) => {
            let links = Links::read(path)?;
            inputs.insert("links".to_owned(), links.digest.clone());
            let chains = links.orphans(&list.pages, &arguments.root);
            // A site's old orphans are no fault of a change.
            if changed.is_some() { chains_with(chains, pages) } else { chains }
        }
        None => Vec::new(),
    };
    let mut report = BudgetReport { inputs, orphans, ..simulate(pages, &settings)? };
    for (host, of_host) in &mut report.hosts {
        of_host.revisit = measured.revisits.get(host).copied();
    }
    write(arguments, &place, &report)?;
    let status = if measured.partial { ExitStatus::Partial } else { ExitStatus::Success };
    if report.queued > 0 {
        return Ok(status);
    }
    let what =
        if changed.is_some() { "holds no URL that is new or on a changed route" } else { "holds no URL" };
    console::print_error(
        &Error::no_data(arguments.urls.display(), what).hint("nothing is fetched, so nothing can break"),
    );
    Ok(status.and(ExitStatus::NoData))
}

/// The pages that are new or on a changed route; none where neither was asked for.
fn changes(
    arguments: &SimulateArguments,
    pages: &[Page],
    inputs: &mut BTreeMap<String, String>,
) -> Result<Option<Vec<Page>>, Error> {
    let new = match &arguments.baseline_urls {
        Some(path) => {
            let older = UrlList::read(path, arguments.host.as_deref())?;
            inputs.insert("baseline_urls".to_owned(), older.digest);
            let older = older.pages.iter().map(|page| page.url.as_str());
            Some(new_pages(pages, older, &Rules::default()))
        }
        None => None,
    };
    let on_changed = match &arguments.changed_routes {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|e| Error::usage(path.display(), "cannot read these routes").cause(e))?;
            inputs.insert("changed_routes".to_owned(), digest_of(text.as_bytes()));
            let routes = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
            Some(changed_pages(pages, &Routes::parse(routes)?))
        }
        None => None,
    };
    if new.is_none() && on_changed.is_none() {
        return Ok(None);
    }
    let either: BTreeSet<&str> =
        new.iter().chain(&on_changed).flatten().map(|page| page.url.as_str()).collect();
    Ok(Some(pages.iter().filter(|page| either.contains(page.url.as_str())).cloned().collect()))
}

/// The manifest that was named, or the newest one in the output folder.
fn manifest(
    arguments: &SimulateArguments,
    place: &Place,
    inputs: &mut BTreeMap<String, String>,
) -> Result<Option<Manifest>, Error> {
    let newest = place.output.newest_manifest();
    let path: &Path = match &arguments.manifest {
        Some(path) => path,
        None if newest.is_file() => &newest,
        None => {
            console::print_note(format_args!(
                "no manifest: its defaults apply, 30 requests a minute and host; --manifest names one"
            ));
            return Ok(None);
        }
    };
    let bytes = std::fs::read(path)
        .map_err(|e| Error::usage(path.display(), "cannot read the throttle manifest").cause(e))?;
    let (manifest, warnings) = manifest::parse(&path.display().to_string(), &bytes, &Known::default())?;
    for warning in warnings {
        console::print_note(format_args!("{}: {}", warning.place, warning.message));
    }
    for finding in manifest::lint(&manifest) {
        console::print_note(format_args!("manifest: {}: {}", finding.place, finding.message));
    }
    if let Some(in_use) = arguments.concurrency
        && let Some(finding) = manifest::lint_concurrency(&manifest, in_use)
    {
        console::print_note(format_args!("manifest: {}: {}", finding.place, finding.message));
    }
    inputs.insert("manifest".to_owned(), digest_of(&bytes));
    Ok(Some(manifest))
}

fn settings(
    arguments: &SimulateArguments,
    place: &Place,
    manifest: Option<&Manifest>,
    hosts: &BTreeSet<&str>,
) -> Result<Settings, Error> {
    let defaults = Manifest::default();
    let mut settings = Settings::of_manifest(manifest.unwrap_or(&defaults), hosts.iter().copied())?;
    let unknown: Vec<&str> = hosts
        .iter()
        .copied()
        .filter(|host| manifest.is_some_and(|manifest| !manifest.domain_overrides.contains_key(*host)))
        .collect();
    if let Some(first) = unknown.first() {
        let others =
            if unknown.len() > 1 { format!(" and {} more", unknown.len() - 1) } else { String::new() };
        console::print_note(format_args!(
            "the manifest has no entry for {first}{others}: its rate_limiting applies"
        ));
    }
    settings.minutes = arguments.minutes;
    settings.seed = arguments.seed;
    settings.gateway_concurrency = arguments.gateway_concurrency;
    let concurrency = arguments.concurrency.or_else(|| manifest.is_none().then_some(CONCURRENCY));
    for (host, of_host) in &mut settings.hosts {
        of_host.concurrency = concurrency.or(of_host.concurrency);
        let site = place.file.site_of(host);
        let delay = site.and_then(|site| site.crawl_delay_seconds);
        of_host.crawl_delay = delay.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    }
    budget::apply(&mut settings, &arguments.budget, arguments.retry_reserve, hosts)?;
    Ok(settings)
}

/// Under the lock of the output folder.
fn write(arguments: &SimulateArguments, place: &Place, report: &BudgetReport) -> Result<(), Error> {
    let json = report.to_json()?;
    let mut written = Vec::new();
    let mut dated = place.output.dated(place.now);
    written.push(dated.write(Artifact::BudgetReport, |out| Ok(out.write_all(json.as_bytes())?))?);
    written.push(dated.write_checksums()?);
    let to_stdout = arguments.output.as_deref().is_some_and(|path| path.as_os_str() == "-");
    match &arguments.output {
        Some(path) if !to_stdout => {
            write_named(path, |out| Ok(out.write_all(json.as_bytes())?))?;
            written.push(path.clone());
        }
        _ => {}
    }
    let mut said = if to_stdout { json } else { plan(report) };
    if !to_stdout {
        said.push_str("\nWritten\n");
        for path in written {
            said.push_str(&format!("  {}\n", Escaped(&path.display().to_string())));
        }
    }
    console::write_out(said.as_bytes())?;
    Ok(())
}
