//! `analyze`, the main job: logs into the history, then baseline, manifest and summary.

mod ceilings;
mod inputs;
mod progress;
mod rejects;
mod verification;
mod view;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};

use super::ceilings::{Ceilings, Rows, keep};
use super::console;
use super::place;
use super::reading::Reading;
use crate::artifact::{ANOTHER_RUN, Artifact, OutputFolder, RunLock};
use crate::baseline::{self, Baseline};
use crate::bot::names::Names;
use crate::cli::{self, AnalyzeArguments};
use crate::config;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::file::write_named;
use crate::history::known;
use crate::history::prune::Pruned;
use crate::history::read::History;
use crate::history::run::{RunInput, RunRow, write_run};
use crate::history::seen::Seen;
use crate::history::settings::Settings;
use crate::ingest::overlap;
use crate::ingest::{self, DEFAULT_HOST, Ingested, Target, Urls};
use crate::manifest::Manifest;
use crate::pipeline::rejects::Spool;
use crate::pipeline::{Pipeline, Progress, View};
use crate::report::{HostCeilings, Summary};
use crate::source::discover::{Discovery, LogFile};
use crate::source::identity::Head;
use crate::tally::spill::{Spill, Spilling};
use crate::url::Rules;

/// More threads than this only wait for each other.
const MAX_THREADS: usize = 256;

/// Runs `analyze`.
///
/// # Errors
/// Usage errors, a signal, and files that cannot be written. What it met on the way is printed and in the status.
pub fn run(arguments: &AnalyzeArguments, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    let mut reading = Reading::new(&arguments.reading)?;
    if arguments.unverified_ips.is_some() {
        reading.verifier.collect_unverified(reading.matcher.catalogue());
    }
    if arguments.threads.is_some_and(|n| !(1..=MAX_THREADS).contains(&n)) {
        return Err(
            Error::usage("--threads", "is out of range").cause(format_args!("expected 1 to {MAX_THREADS}"))
        );
    }
    if !(0.0..=100.0).contains(&arguments.max_reject_share) {
        return Err(Error::usage("--max-reject-share", "is no share in per cent").cause("expected 0 to 100"));
    }
    config::check_categories("--enforce", &arguments.enforce)?;
    if let Some(threads) = arguments.threads {
        // Whatever is done in parallel behind the reading; an error says that it is set already, as in a test.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    let to_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if to_stdout(&arguments.output_json) && to_stdout(&arguments.rejects) {
        return Err(Error::usage("--rejects -", "standard output holds the JSON already")
            .cause("expected one of --output-json and --rejects on it")
            .hint("write one of them to a file"));
    }
    let view = view::of(arguments, &reading)?;
    let output = place::output(arguments.output_dir.as_ref(), &reading.file);
    let lock_path = place::lock_file(arguments.lock_file.as_ref(), &reading.file, &output);
    let signal = || match stop.load(Ordering::Relaxed) {
        0 => None,
        number => i32::try_from(number).ok(),
    };
    let folder = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    // Not /tmp: that is often memory again, and the history is where there is room.
    let folder = folder.unwrap_or_else(|| match arguments.no_history {
        true => output.path().to_owned(),
        false => place::history(arguments.history.as_ref(), &reading.file, &output),
    });
    let threads = threads(arguments);
    let spill =
        Spill::new(folder, reading.file.running.memory_limit(arguments.memory_limit.as_deref())?, threads);
    let _lock = if arguments.history_only {
        None
    } else {
        let Some(lock) = RunLock::take(&lock_path, place::if_locked(arguments.if_locked), signal)? else {
            console::print_note(ANOTHER_RUN);
            return Ok(ExitStatus::Success);
        };
        Some(lock)
    };
    Analyze { arguments, reading: &reading, view, output, threads, spill, started: clock(), stop }.run()
}

fn threads(arguments: &AnalyzeArguments) -> usize {
    arguments.threads.unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_THREADS)
    })
}

fn clock() -> i64 {
    config::now(None).map_or(0, |t| t.timestamp())
}

struct Analyze<'a> {
    arguments: &'a AnalyzeArguments,
    reading: &'a Reading,
    view: view::Wanted,
    output: OutputFolder,
    threads: usize,
    spill: Spill,
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
        let seen = history.as_ref().map(|h| Seen::read(h.folder())).unwrap_or_default();
        let spool = self.arguments.rejects.as_ref().map(|_| Spool::new(self.reading.mask_clients));
        let mut logs = self.read(&found, history.as_ref().map(|h| (h, &seen)), &urls, spool.as_ref())?;
        self.store(&mut logs, history.as_ref())?;
        if let (Some(path), Some(spool)) = (&self.arguments.rejects, &spool) {
            rejects::write(path, spool, &logs)?;
        }
        self.remember(&logs, &seen)?;

        let mut remarks = inputs::Remarks::new(&found, self.reading, self.arguments.max_reject_share);
        remarks.look_at(&logs);
        for error in &remarks.errors {
            console::print_error(error);
            status = status.and(error.exit());
        }
        if self.arguments.history_only {
            if logs.iter().all(|l| l.tables.counts.records == 0) {
                let error = Error::no_data("analyze", "found no record")
                    .hint("crawl-baseline parse LOG shows what each line was taken for");
                console::print_error(&error);
                status = status.and(error.exit());
            }
            self.record_run(&logs, status)?;
            return Ok(status);
        }
        let key = |target: &[u8]| urls.key_anywhere(target);
        let spilling = Spilling { to: &self.spill, key: &key };
        let input = inputs::baseline_input(self, &found, &logs, &urls, &spilling, remarks.warnings)?;
        // Both look at the same rows and neither at the other's result: on two threads they take the time of one.
        let has_records =
            input.sources.iter().filter(|s| s.duplicate_of.is_none()).any(|s| s.counts.records > 0);
        let partial = status == ExitStatus::Partial;
        let (mut baseline, manifest) = rayon::join(
            || baseline::measure(&input),
            || if has_records { self.recommend(&logs, partial) } else { Ok(None) },
        );
        if baseline.totals.records == 0 {
            let what = match baseline.totals.filtered {
                0 => "found no record".to_owned(),
                n if self.arguments.filter.is_empty() => {
                    format!("found no record in the window: {n} are outside of it")
                }
                n => format!("found no record that the filters keep: {n} were left out"),
            };
            let guessed = logs
                .iter()
                .find_map(|log| inputs::likely(self.reading, log))
                .or_else(|| inputs::likely_of_skipped(self.reading, &found));
            let hint = guessed.unwrap_or_else(|| {
                "crawl-baseline parse LOG shows what each line was taken for; the newest manifest stays as it was"
                    .to_owned()
            });
            let error = Error::no_data(named(&found), what).hint(hint);
            console::print_error(&error);
            status = status.and(error.exit());
        } else if baseline.totals.bot_records == 0 && self.arguments.fail_on_empty {
            let error =
                Error::no_data("analyze", "found no bot").hint("without --fail-on-empty this is a warning");
            console::print_error(&error);
            status = status.and(error.exit());
        }
        let manifest = manifest?;
        let mut ceilings = manifest.as_ref().map(HostCeilings::of).unwrap_or_default();
        if !ceilings::by_bot(&baseline) {
            // Rows have other names than the manifest's.
            ceilings.values_mut().for_each(|host| host.bots.clear());
        }
        ceilings::fill_in(&mut baseline, manifest.as_ref());
        let mut written = self.write(&baseline, manifest.as_ref())?;
        if let Some(path) = &self.arguments.unverified_ips {
            let counted: Vec<&Ingested> = logs.iter().filter(|l| l.duplicate_of().is_none()).collect();
            verification::write_unverified(path, &counted)?;
            written.push(path.clone());
        }
        self.record_run(&logs, status)?;
        self.say(&baseline, ceilings, &written)?;
        // The process ends now, and to give back row by row what the system takes at once is 2 % of the time of 1 GB.
        std::mem::forget(logs);
        Ok(status)
    }

    /// Makes the manifest of this run; `None` when the window holds no record.
    fn recommend(&self, logs: &[Ingested], partial: bool) -> Result<Option<Manifest>, Error> {
        let recommended = Ceilings {
            file: &self.reading.file,
            catalogue: self.reading.matcher.catalogue(),
            verifier: &self.reading.verifier,
            now: self.now(),
            enforce: &self.arguments.enforce,
            seed_defaults: self.arguments.seed_defaults,
            output: &self.output,
            partial,
        };
        if self.arguments.no_history {
            let counted: Vec<&Ingested> = logs.iter().filter(|l| l.duplicate_of().is_none()).collect();
            return recommended.manifest(Rows::Run(&counted));
        }
        let history = History::open(&self.history_folder())?;
        let manifest = recommended.manifest(Rows::History(&history))?;
        if let Some(manifest) = &manifest {
            keep(&history, manifest)?;
        }
        Ok(manifest)
    }

    fn history_folder(&self) -> PathBuf {
        place::history(self.arguments.history.as_ref(), &self.reading.file, &self.output)
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
        history: Option<(&History, &Seen)>,
        urls: &Urls<'_>,
        rejects: Option<&Spool>,
    ) -> Result<Vec<Ingested>, Error> {
        let view = match self.view.last_seconds {
            None => self.view.view(None),
            Some(span) => {
                if found.logs.iter().any(LogFile::is_stdin) {
                    return Err(Error::usage("--last", "cannot look at standard input twice")
                        .cause("the newest record has to be known before counting")
                        .hint("write it to a file first, or use --since"));
                }
                let newest = self.pass(found, None, history, urls, None)?.iter().filter_map(newest_of).max();
                self.view.view(newest.map(|newest| newest + 1 - span))
            }
        };
        self.pass(found, view.as_ref(), history, urls, rejects)
    }

    fn pass(
        &self,
        found: &Discovery,
        view: Option<&View>,
        history: Option<(&History, &Seen)>,
        urls: &Urls<'_>,
        rejects: Option<&Spool>,
    ) -> Result<Vec<Ingested>, Error> {
        let names = Names::default();
        let progress = Progress::default();
        let checkpoints = |head: &[u8]| match history {
            Some((history, _)) => known::checkpoints(history.sources(), Head::of(head)),
            None => Vec::new(),
        };
        let key = |target: &[u8]| urls.key_anywhere(target);
        let pipeline = Pipeline {
            parser: self.reading.parser.clone(),
            matcher: &self.reading.matcher,
            verifier: &self.reading.verifier,
            names: &names,
            client: self.reading.client,
            host_from_path: self.reading.host_from_path.as_ref(),
            rejects,
            default_host: self.default_host(),
            view,
            live: self.arguments.live,
            map: !self.arguments.no_mmap,
            spilling: Some(Spilling { to: &self.spill, key: &key }),
            threads: self.threads,
            checkpoints: &checkpoints,
            progress: &progress,
            stop: self.stop,
        };
        let settings = self.settings();
        // What shapes the baseline below the grain of the history needs the lines; so does a log that goes on growing.
        let recalls = view.is_none()
            && self.view.last_seconds.is_none()
            && !self.arguments.live
            && !self.arguments.reclassify
            && self.arguments.unverified_ips.is_none()
            && rejects.is_none();
        let known = history.filter(|_| recalls).map(|(history, seen)| ingest::Known {
            history,
            seen,
            settings: &settings,
        });
        let total = found.logs.iter().map(|l| l.size).sum();
        progress::shown(&progress, total, !self.arguments.quiet, || {
            let mut logs = ingest::read(&pipeline, &found.logs, urls, known.as_ref())?;
            overlap::settle(&pipeline, &mut logs, urls, history.map(|(history, _)| history))?;
            Ok(logs)
        })
    }

    fn store(&self, logs: &mut [Ingested], history: Option<&History>) -> Result<(), Error> {
        let folder = self.history_folder();
        let pruned = Pruned::read(&folder)?;
        let target = history.map(|known| Target {
            folder: &folder,
            known,
            pruned: &pruned,
            settings: self.settings(),
            recorded: self.reading.recorded(),
            reclassify: self.arguments.reclassify,
        });
        ingest::store(logs, target.as_ref())
    }

    /// The settings that change what a part holds.
    fn settings(&self) -> Settings {
        let mut given = self.reading.given.clone();
        given.extend(self.arguments.host.iter().map(|h| ("host".to_owned(), h.clone())));
        Settings::new(given)
    }

    /// The next run need not read these logs again. Without the cache it would, and that is all.
    fn remember(&self, logs: &[Ingested], seen: &Seen) -> Result<(), Error> {
        if self.arguments.no_history || logs.iter().all(|l| l.stamp.is_none() || l.stream.is_none()) {
            return Ok(());
        }
        if let Err(error) = ingest::remember(logs, seen, &History::open(&self.history_folder())?) {
            console::print_error(&error);
        }
        Ok(())
    }

    /// Writes the baseline and the manifest, the newest manifest last. Each file is whole or not there.
    fn write(&self, baseline: &Baseline, manifest: Option<&Manifest>) -> Result<Vec<PathBuf>, Error> {
        let json = baseline.to_json()?;
        self.output.tidy()?;
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
                write_named(path, |out| {
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
            spilled: self.spill.spilled(),
            width: width(),
        };
        let text = summary.render();
        self.output.dated(self.reading.now).append_log(&text)?;
        if self.arguments.quiet {
            return Ok(());
        }
        let to_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        if to_stdout(&self.arguments.output_json) || to_stdout(&self.arguments.rejects) {
            // Standard output holds the data and nothing else.
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

/// The logs of the run, for a message about all of them.
fn named(found: &Discovery) -> String {
    let names: Vec<String> = found.logs.iter().take(3).map(|l| l.path.display().to_string()).collect();
    match found.logs.len() {
        0 => "analyze".to_owned(),
        n if n > names.len() => format!("{} and {} more", names.join(", "), n - names.len()),
        _ => names.join(", "),
    }
}

fn newest_of(log: &Ingested) -> Option<i64> {
    log.tables.coverage.iter().map(|c| c.last).max()
}

/// Columns of the terminal, 100 where that is unknown.
pub(super) fn width() -> u16 {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| *c >= 60).unwrap_or(100)
}
