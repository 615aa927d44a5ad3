//! `analyze`, the main job: logs into the history, then baseline, manifest and summary.

mod ceilings;
mod inputs;
mod progress;
mod view;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};

use super::console;
use super::reading::Reading;
use crate::artifact::{ANOTHER_RUN, Artifact, IfLocked, OutputFolder, RunLock};
use crate::baseline::{self, Baseline};
use crate::bot::names::Names;
use crate::cli::{self, AnalyzeArguments};
use crate::config;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::file::write_atomically;
use crate::history::known;
use crate::history::read::History;
use crate::history::run::{RunInput, RunRow, write_run};
use crate::history::settings::Settings;
use crate::ingest::{self, DEFAULT_HOST, Ingested, Target, Urls};
use crate::manifest::Manifest;
use crate::pipeline::{Pipeline, Progress, View};
use crate::report::{HostCeilings, Summary};
use crate::source::discover::{Discovery, LogFile};
use crate::source::identity::Head;
use crate::url::Rules;

/// `crawl-baseline 0.1.0`
pub const GENERATOR: &str = concat!("crawl-baseline ", env!("CARGO_PKG_VERSION"));

/// Runs `analyze`.
///
/// # Errors
/// Usage errors, a signal, and files that cannot be written. What it met on the way is printed and in the status.
pub fn run(arguments: &AnalyzeArguments, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    let reading = Reading::new(&arguments.reading)?;
    let view = view::of(arguments, &reading)?;
    let output = OutputFolder::new(
        arguments
            .output_dir
            .clone()
            .or_else(|| reading.file.paths.output_dir.clone())
            .unwrap_or_else(|| PathBuf::from("crawl-artifacts")),
    );
    let lock_path = arguments
        .lock_file
        .clone()
        .or_else(|| reading.file.paths.lock_file.clone())
        .unwrap_or_else(|| output.lock_file());
    let if_locked = match arguments.if_locked {
        cli::IfLocked::Skip => IfLocked::Skip,
        cli::IfLocked::Wait => IfLocked::Wait,
        cli::IfLocked::Fail => IfLocked::Fail,
    };
    let signal = || match stop.load(Ordering::Relaxed) {
        0 => None,
        number => i32::try_from(number).ok(),
    };
    let Some(_lock) = RunLock::take(&lock_path, if_locked, signal)? else {
        console::print_note(ANOTHER_RUN);
        return Ok(ExitStatus::Success);
    };
    Analyze { arguments, reading: &reading, view, output, started: clock(), stop }.run()
}

fn clock() -> i64 {
    config::now(None).map_or(0, |t| t.timestamp())
}

struct Analyze<'a> {
    arguments: &'a AnalyzeArguments,
    reading: &'a Reading,
    view: view::Wanted,
    output: OutputFolder,
    started: i64,
    stop: &'a Arc<AtomicUsize>,
}

impl Analyze<'_> {
    fn run(&self) -> Result<ExitStatus, Error> {
        let mut status = ExitStatus::Success;
        let found = self.reading.discover()?;
        for error in &found.unreadable {
            console::print_error(error);
            status = status.and(error.exit());
        }
        let history = self.open_history()?;
        let rules = Rules::default();
        let urls = Urls { rules: &rules, keep_query_values: self.arguments.keep_query_values };
        let mut logs = self.read(&found, history.as_ref(), &urls)?;
        self.store(&mut logs, history.as_ref())?;

        let mut remarks = inputs::Remarks::new(&found, self.arguments.max_reject_share);
        remarks.look_at(&logs);
        for error in &remarks.errors {
            console::print_error(error);
            status = status.and(error.exit());
        }
        let input = inputs::baseline_input(self, &found, &logs, &urls, remarks.warnings);
        let mut baseline = baseline::measure(&input);
        if baseline.totals.records == 0 {
            let error = Error::no_data("analyze", "found no record").hint(
                "crawl-baseline parse LOG shows what each line was taken for; the newest manifest stays as it was",
            );
            console::print_error(&error);
            status = status.and(error.exit());
        } else if baseline.totals.bot_records == 0 && self.arguments.fail_on_empty {
            let error =
                Error::no_data("analyze", "found no bot").hint("without --fail-on-empty this is a warning");
            console::print_error(&error);
            status = status.and(error.exit());
        }
        let manifest = if baseline.totals.records == 0 {
            None
        } else {
            ceilings::manifest(self, &logs, history.is_some(), status == ExitStatus::Partial)?
        };
        let ceilings = manifest.as_ref().map(ceilings::shown).unwrap_or_default();
        ceilings::fill_in(&mut baseline, manifest.as_ref());
        let written = self.write(&baseline, manifest.as_ref())?;
        self.record_run(&logs, status)?;
        self.say(&baseline, ceilings, &written)?;
        Ok(status)
    }

    fn history_folder(&self) -> PathBuf {
        self.arguments
            .history
            .clone()
            .or_else(|| self.reading.file.paths.history.clone())
            .unwrap_or_else(|| self.output.history())
    }

    fn open_history(&self) -> Result<Option<History>, Error> {
        if self.arguments.no_history {
            return Ok(None);
        }
        let history = History::open(&self.history_folder())?;
        for warning in history.warnings() {
            console::print_error(warning);
        }
        // What a killed run left behind is of no use to anybody.
        history.tidy()?;
        Ok(Some(history))
    }

    fn default_host(&self) -> String {
        if let Some(host) = &self.arguments.host {
            return host.to_ascii_lowercase();
        }
        match self.reading.file.site.as_slice() {
            [only] => only.hosts.first().map_or(DEFAULT_HOST.to_owned(), |h| h.to_ascii_lowercase()),
            _ => DEFAULT_HOST.to_owned(),
        }
    }

    fn read(
        &self,
        found: &Discovery,
        history: Option<&History>,
        urls: &Urls<'_>,
    ) -> Result<Vec<Ingested>, Error> {
        let view = match self.view.last_seconds {
            None => self.view.view(None),
            Some(span) => {
                if found.logs.iter().any(LogFile::is_stdin) {
                    return Err(Error::usage("--last", "cannot look at standard input twice")
                        .cause("the newest record has to be known before counting")
                        .hint("write it to a file first, or use --since"));
                }
                let newest = self.pass(found, None, history, urls)?.iter().filter_map(newest_of).max();
                self.view.view(newest.map(|newest| newest + 1 - span))
            }
        };
        self.pass(found, view.as_ref(), history, urls)
    }

    fn pass(
        &self,
        found: &Discovery,
        view: Option<&View>,
        history: Option<&History>,
        urls: &Urls<'_>,
    ) -> Result<Vec<Ingested>, Error> {
        let names = Names::default();
        let progress = Progress::default();
        let checkpoints = |head: &[u8]| match history {
            Some(history) => known::checkpoints(history.sources(), Head::of(head)),
            None => Vec::new(),
        };
        let pipeline = Pipeline {
            parser: self.reading.parser.clone(),
            matcher: &self.reading.matcher,
            verifier: &self.reading.verifier,
            names: &names,
            client: self.reading.client,
            default_host: self.default_host(),
            view,
            live: self.arguments.live,
            threads: self.threads(),
            checkpoints: &checkpoints,
            progress: &progress,
            stop: self.stop,
        };
        let total = found.logs.iter().map(|l| l.size).sum();
        progress::shown(&progress, total, !self.arguments.quiet, || {
            ingest::read(&pipeline, &found.logs, urls)
        })
    }

    fn threads(&self) -> usize {
        self.arguments
            .threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
            .max(1)
    }

    fn store(&self, logs: &mut [Ingested], history: Option<&History>) -> Result<(), Error> {
        let folder = self.history_folder();
        let target = history.map(|known| {
            let mut given = self.reading.given.clone();
            given.extend(self.arguments.host.iter().map(|h| ("host".to_owned(), h.clone())));
            Target {
                folder: &folder,
                known,
                settings: Settings::new(given),
                recorded: vec![("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())],
                reclassify: self.arguments.reclassify,
                clock: self.reading.parser.layout.as_ref().map(|layout| layout.clock()),
            }
        });
        ingest::store(logs, target.as_ref())
    }

    /// Writes the baseline and the manifest, the newest manifest last. Each file is whole or not there.
    fn write(&self, baseline: &Baseline, manifest: Option<&Manifest>) -> Result<Vec<PathBuf>, Error> {
        let json = baseline.to_json()?;
        let mut dated = self.output.dated(self.reading.now);
        let mut written = vec![dated.write(Artifact::Baseline, |out| {
            std::io::Write::write_all(out, json.as_bytes())?;
            Ok(())
        })?];
        let mut dated_manifest = None;
        if let Some(manifest) = manifest {
            let (kind, text) = match self.arguments.manifest_format {
                cli::ManifestFormat::Yaml => (Artifact::Manifest, manifest.to_yaml()),
                cli::ManifestFormat::Json => (Artifact::ManifestJson, manifest.to_json()),
            };
            let path = dated.write(kind, |out| {
                std::io::Write::write_all(out, text.as_bytes())?;
                Ok(())
            })?;
            written.push(path.clone());
            dated_manifest = Some(path);
        }
        written.push(dated.write_checksums()?);
        match self.arguments.output_json.as_deref() {
            Some(path) if path == Path::new("-") => {
                console::write_out(json.as_bytes())?;
            }
            Some(path) => {
                write_atomically(path, |out| {
                    std::io::Write::write_all(out, json.as_bytes())?;
                    Ok(())
                })?;
                written.push(path.to_owned());
            }
            None => {}
        }
        if let Some(path) = dated_manifest {
            written.push(self.output.publish(&path)?);
        }
        Ok(written)
    }

    fn record_run(&self, logs: &[Ingested], status: ExitStatus) -> Result<(), Error> {
        if self.arguments.no_history {
            return Ok(());
        }
        let row = RunRow {
            run: RunRow::name(self.started, std::process::id()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect(),
            inputs: logs
                .iter()
                .map(|l| RunInput {
                    path: l.log.path.display().to_string(),
                    source: l.source().map(str::to_owned),
                    outcome: l.outcome().to_owned(),
                })
                .collect(),
            started_at: self.started,
            finished_at: clock(),
            exit_code: status.code(),
        };
        write_run(&self.history_folder(), &row)?;
        Ok(())
    }

    fn say(
        &self,
        baseline: &Baseline,
        ceilings: BTreeMap<String, HostCeilings>,
        written: &[PathBuf],
    ) -> Result<(), Error> {
        let summary = Summary {
            baseline,
            ceilings,
            written: written.iter().map(|p| p.display().to_string()).collect(),
            width: width(),
        };
        let text = summary.render();
        self.output.dated(self.reading.now).append_log(&text)?;
        if self.arguments.quiet {
            return Ok(());
        }
        if self.arguments.output_json.as_deref() == Some(Path::new("-")) {
            // Standard output holds the JSON and nothing else.
            console::print_text(&text);
        } else {
            console::write_out(text.as_bytes())?;
        }
        Ok(())
    }

    fn now(&self) -> DateTime<Utc> {
        self.reading.now
    }
}

fn newest_of(log: &Ingested) -> Option<i64> {
    log.tables.coverage.iter().map(|c| c.last).max()
}

/// Columns of the terminal, 100 where that is unknown.
fn width() -> u16 {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| *c >= 60).unwrap_or(100)
}
