//! How each host answers: its latency from the history, its limit and capacity from the manifest's evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::console;
use crate::error::Error;
use crate::history::read::{History, Wanted};
use crate::manifest::Manifest;
use crate::simulate::{MeasuredHosts, OriginLimit, OriginModel, Settings, digest_of};
use crate::throttle::Revisit;

/// Dates of the history that are looked at, back from the newest.
const DATES: usize = 28;

/// What the history adds to a plan.
#[derive(Default)]
pub(super) struct Measured {
    /// How often each host's pages are worth a visit.
    pub(super) revisits: BTreeMap<String, Revisit>,
    /// Some of it could not be read.
    pub(super) partial: bool,
}

/// Puts the origin models into the settings.
pub(super) fn apply(
    settings: &mut Settings,
    folder: &Path,
    manifest: Option<&Manifest>,
    hosts: &BTreeSet<&str>,
    inputs: &mut BTreeMap<String, String>,
) -> Result<Measured, Error> {
    if hosts.is_empty() {
        return Ok(Measured::default());
    }
    let history = History::open(folder)?;
    history.warnings().iter().for_each(console::print_error);
    let mut partial = !history.warnings().is_empty();
    let mut measured = MeasuredHosts::of(hosts.iter().copied());
    let wanted = Wanted { minutes: true, bots: true, ..Wanted::default() };
    for date in history.dates().into_iter().rev().take(DATES) {
        let (day, warnings) = history.read_day(date, wanted)?;
        warnings.iter().for_each(console::print_error);
        partial |= !warnings.is_empty();
        measured.add(&day);
    }
    settings.response_bytes_mean = measured.response_bytes_mean();
    let seen: BTreeMap<&str, _> = measured.iter().collect();
    for (host, of_host) in &mut settings.hosts {
        let measured = seen.get(host.as_str());
        let background = measured.map_or(0, |host| host.background_per_minute());
        let evidence = manifest.and_then(|m| m.entry(host, None)).and_then(|entry| entry.evidence.as_ref());
        // Only what stands: a single 429 is no limit.
        let refused = evidence.filter(|e| matches!(e.c429_state.as_str(), "established" | "provisional"));
        let limit = refused.and_then(|evidence| evidence.c429).filter(|rpm| *rpm > 0);
        let capacity = evidence.and_then(|evidence| evidence.max_requests_per_minute.inputs.host_capacity);
        of_host.origin = OriginModel {
            latency: measured.map(|host| host.latency()).unwrap_or_default(),
            // What others use of the capacity is not there for us.
            capacity_per_minute: capacity.map(|capacity| capacity.saturating_sub(background).max(1)),
            limit: limit.map(|rpm| OriginLimit { requests_per_minute: rpm, burst: rpm.div_ceil(6) }),
            background_per_minute: background,
            ..OriginModel::default()
        };
    }
    if !seen.is_empty() {
        let models: BTreeMap<&String, &OriginModel> =
            settings.hosts.iter().map(|(host, of_host)| (host, &of_host.origin)).collect();
        let text = serde_json::to_string(&models)
            .map_err(|e| Error::runtime("origin model", "cannot be written as JSON").cause(e))?;
        inputs.insert("history".to_owned(), digest_of(text.as_bytes()));
    }
    let revisits = seen.iter().filter_map(|(host, measured)| Some(((*host).to_owned(), measured.revisit()?)));
    Ok(Measured { revisits: revisits.collect(), partial })
}
