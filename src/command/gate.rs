//! `gate`: reads what was given, runs the checks, prints the verdict. Writes nothing and takes no lock.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{console, place};
use crate::baseline::{self, Baseline};
use crate::bot::Catalogue;
use crate::cli::gate::{FailOn, GateArguments, GateFormat};
use crate::config::{self, File, nearest};
use crate::error::{Error, ErrorKind};
use crate::exit::ExitStatus;
use crate::gate::{
    Artifacts, Check, Given, Inputs, Level, Refusals, github, json, junit, refusals_before, run as judge,
    text,
};
use crate::history::read::History;
use crate::json::text_of;
use crate::manifest::{self, Known, Manifest};
use crate::simulate::{BudgetReport, NORMALIZED_KIND, Normalized, REPORT_KIND};

/// Kinds of files that can be asked for with `--artifacts`.
const ARTIFACTS: [&str; 5] = ["baseline", "throttle_manifest", "normalized_urls", "budget_report", "report"];

/// Runs `gate`.
///
/// # Errors
/// What is wrong with flags and files (usage), and folders that cannot be listed.
pub fn run(arguments: &GateArguments) -> Result<ExitStatus, Error> {
    if let Some(name) = &arguments.explain {
        let check = check_named("--explain", name)?;
        console::write_out(format!("{check}\n\n{}\n", check.explain()).as_bytes())?;
        return Ok(ExitStatus::Success);
    }
    let named: Vec<Check> =
        arguments.checks.iter().map(|name| check_named("--checks", name.trim())).collect::<Result<_, _>>()?;
    if let Some(wrong) = arguments.artifacts.iter().find(|kind| !ARTIFACTS.contains(&kind.as_str())) {
        let error = Error::usage("--artifacts", format_args!("{wrong:?} is no kind of file"));
        return Err(match nearest(wrong, ARTIFACTS.into_iter()) {
            Some(near) => error.hint(format_args!("did you mean {near}?")),
            None => error.hint(format_args!("one of {}", ARTIFACTS.join(", "))),
        });
    }
    let file = File::read(arguments.config.as_deref())?;
    let now = config::now(arguments.now.as_deref())?;
    // A pipeline sets the variable for other commands: the folder is looked at when it is asked for, not because of it.
    let from_environment =
        std::env::var_os("CRAWL_OUTPUT_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let typed = arguments.output_dir.as_ref().or(from_environment.as_ref());
    let output = place::output(typed, &file);
    let history = place::history(arguments.history.as_ref(), &file, &output);

    let report = given(arguments.report.as_deref(), REPORT_KIND, read_report)?;
    let baseline = given(arguments.baseline.as_deref(), baseline::KIND, read_baseline)?;
    let normalized = given(arguments.normalized.as_deref(), NORMALIZED_KIND, Normalized::from_json)?;
    let (refusals, partial) = refusals(baseline.as_ref(), &history)?;
    let manifest = match &arguments.manifest {
        Some(path) => {
            let catalogue = match arguments.catalogue.as_ref().or(file.paths.catalogue.as_ref()) {
                Some(path) => Catalogue::with_overlay(path)?,
                None => Catalogue::built_in(),
            };
            let names = Names { catalogue: &catalogue, file: &file, refusals: refusals.as_ref() };
            Some(names.manifest(path, report.as_ref(), baseline.as_ref())?)
        }
        None => None,
    };
    let wants_folder = [Check::Checksums, Check::ArtifactsPresent].iter().any(|check| named.contains(check));
    let looks = wants_folder || (arguments.output_dir.is_some() && named.is_empty());
    let artifacts = looks.then(|| Artifacts::of(&output, now, &arguments.artifacts)).transpose()?;

    let inputs = Inputs {
        report: report.as_ref(),
        baseline: baseline.as_ref(),
        manifest: manifest.as_ref(),
        normalized: normalized.as_ref(),
        artifacts: artifacts.as_ref(),
        refusals: refusals.as_ref(),
        max_rpm: arguments.max_rpm,
        concurrency: arguments.concurrency,
        max_age_days: Some(arguments.max_age_days),
        partial,
        now: now.timestamp(),
    };
    let fail_on = match arguments.fail_on {
        FailOn::Error => Level::Error,
        FailOn::Warning => Level::Warning,
        FailOn::Note => Level::Note,
    };
    let verdict = judge(&inputs, &named, fail_on);
    let told = match arguments.format {
        GateFormat::Text => text(&verdict),
        GateFormat::Json => json(&verdict)?,
        GateFormat::Github => github(&verdict),
        GateFormat::Junit => junit(&verdict),
    };
    console::write_out(told.as_bytes())?;
    for reason in verdict.without_data() {
        console::print_error(
            &Error::no_data("gate", "has not seen what it was to see")
                .cause(reason)
                .hint("a gate that saw nothing has not passed; --explain CHECK says what a check needs"),
        );
    }
    Ok(verdict.status())
}

fn check_named(flag: &str, name: &str) -> Result<Check, Error> {
    Check::named(name).ok_or_else(|| {
        let error = Error::usage(flag, format_args!("{name:?} is no check"));
        match nearest(name, Check::ALL.into_iter().map(Check::name)) {
            Some(near) => error.hint(format_args!("did you mean {near}?")),
            None => error.hint(format_args!("one of {}", Check::ALL.map(Check::name).join(", "))),
        }
    })
}

fn given<T>(
    path: Option<&Path>,
    kind: crate::json::Kind,
    read: impl Fn(&str, &str) -> Result<T, Error>,
) -> Result<Option<Given<T>>, Error> {
    let Some(path) = path else { return Ok(None) };
    let place = path.display().to_string();
    let value = read(&text_of(path, kind)?, &place)?;
    Ok(Some(Given { place, value }))
}

fn read_report(text: &str, place: &str) -> Result<BudgetReport, Error> {
    BudgetReport::from_json(text, place).map_err(|error| swapped(error, text, "rpm_by_bot", "--baseline"))
}

fn read_baseline(text: &str, place: &str) -> Result<Baseline, Error> {
    Baseline::from_json(text, place)
        .map_err(|error| swapped(error, text, "requests_per_delivered_row", "--report"))
}

/// The one document given as the other is a common slip.
fn swapped(error: Error, text: &str, key: &str, flag: &str) -> Error {
    let document = serde_json::from_str::<serde_json::Value>(text);
    if document.is_ok_and(|document| document.get(key).is_some()) {
        return error.hint(format_args!("this looks like the other document: give it with {flag}"));
    }
    error
}

/// What the history says of the dates before a baseline, and whether some of it could not be read; none without a
/// baseline or its first record.
fn refusals(baseline: Option<&Given<Baseline>>, folder: &Path) -> Result<(Option<Refusals>, bool), Error> {
    let Some(first) = baseline.and_then(|given| given.value.window.first.as_deref()) else {
        return Ok((None, false));
    };
    let first = config::time("window.first of the baseline", first)?;
    let date = i32::try_from(first.timestamp().div_euclid(86_400)).unwrap_or(i32::MAX);
    let history = History::open(folder)?;
    let (refusals, warnings) = refusals_before(&history, date)?;
    history.warnings().iter().chain(&warnings).for_each(console::print_error);
    Ok((Some(refusals), !history.warnings().is_empty() || !warnings.is_empty()))
}

/// The names that a manifest may use.
struct Names<'a> {
    catalogue: &'a Catalogue,
    file: &'a File,
    refusals: Option<&'a Refusals>,
}

impl Names<'_> {
    fn manifest(
        &self,
        path: &Path,
        report: Option<&Given<BudgetReport>>,
        baseline: Option<&Given<Baseline>>,
    ) -> Result<Given<Manifest>, Error> {
        let mut bots: BTreeSet<&str> = self.catalogue.bots().iter().map(|bot| bot.name.as_str()).collect();
        bots.insert("(other-declared)");
        let mut hosts: BTreeSet<&str> = BTreeSet::new();
        if let Some(refusals) = self.refusals {
            bots.extend(refusals.bots.iter().map(String::as_str));
            hosts.extend(refusals.hosts.keys().map(String::as_str));
        }
        for (host, of_host) in baseline.iter().flat_map(|given| &given.value.hosts) {
            hosts.insert(host);
            bots.extend(of_host.bots.keys().map(String::as_str));
        }
        // A plan or a configuration tells of some hosts and is no list of all: it adds names, it makes none unknown.
        let is_list = !hosts.is_empty();
        hosts.extend(report.iter().flat_map(|given| given.value.hosts.keys()).map(String::as_str));
        hosts.extend(self.file.site.iter().flat_map(|site| &site.hosts).map(String::as_str));
        let (bots, hosts): (Vec<&str>, Vec<&str>) = (bots.into_iter().collect(), hosts.into_iter().collect());
        let known = Known { bots: Some(&bots), hosts: is_list.then_some(hosts.as_slice()) };
        let (manifest, warnings) = manifest::read(path, &known).map_err(|error| self.explained(error))?;
        for warning in warnings {
            console::print_note(format_args!("{}: {}", warning.place, warning.message));
        }
        for finding in manifest::lint(&manifest) {
            console::print_note(format_args!("manifest: {}: {}", finding.place, finding.message));
        }
        Ok(Given { place: path.display().to_string(), value: manifest })
    }

    /// A host that nothing near is known of needs a word on where the known ones come from.
    fn explained(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::Usage
            && error.remedy().is_none()
            && error.to_string().contains("unknown host")
        {
            return error
                .hint("known are the hosts of the baseline, the report, the history and the configuration");
        }
        error
    }
}
