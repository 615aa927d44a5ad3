//! `backtest`: recorded traffic replayed through the ceilings of a manifest. Writes nothing but its own report.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

use super::{console, manifest, place};
use crate::ceiling::judge::{Limits, Machine, Recorded, Whose, judge, smallest};
use crate::cli::{BacktestArguments, MachineName};
use crate::config::{self, File};
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::file::write_named;
use crate::history::ceilings::ALL_BOTS;
use crate::history::read::{History, Wanted};
use crate::manifest::{Algorithm, Entry, Manifest, Minute};
use crate::report::Backtested;
use crate::tally::table::{DayTables, Verification};

/// Everything, as `--json` writes it.
#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    generator: &'a str,
    manifest: String,
    manifest_digest: Option<&'a str>,
    machine: Machine,
    seed: u64,
    window: Window,
    /// What the stamps mean, by the logs that say so: `end` or `start` of the request.
    clocks: BTreeSet<String>,
    entries: &'a [Backtested],
    verdict: &'static str,
}

#[derive(Serialize, Clone, Copy)]
struct Window {
    from: Minute,
    to: Minute,
}

/// Runs `backtest`.
///
/// # Errors
/// Usage errors, a history that cannot be read or holds no second of what was asked for, a file that cannot be written.
pub fn run(arguments: &BacktestArguments) -> Result<ExitStatus, Error> {
    let file = File::read(arguments.config.as_deref())?;
    let output = place::output(arguments.output_dir.as_ref(), &file);
    let path = manifest::place(arguments.manifest.as_ref(), &output);
    let loaded = manifest::load(&path)?;
    let (host, bot) = manifest::names(&loaded, &path, arguments.host.as_deref(), arguments.bot.as_deref())?;
    let folder = place::history(arguments.history.as_ref(), &file, &output);
    let history = History::open(&folder)?;
    for warning in history.warnings() {
        console::print_error(warning);
    }
    let finish_by = match &arguments.finish_by {
        Some(text) => Some(config::time("--finish-by", text)?.timestamp()),
        None => None,
    };
    let entries = entries(&loaded, host, bot);
    let no_data = |what: &str| {
        Error::no_data(folder.display(), what).hint("crawl-baseline analyze LOG... writes the history")
    };
    let Some(window) = window(&loaded, &history, file.policy.clean_window_days) else {
        return Err(no_data("holds no record to replay"));
    };
    let (mut recorded, mut status) = recorded(&history, &entries, window)?;
    let machine = match arguments.machine {
        None => Machine::Manifest,
        Some(MachineName::Token) => Machine::TokenBucket,
        Some(MachineName::Leaky) => Machine::LeakyBucket,
        Some(MachineName::Nginx) => Machine::Nginx,
        Some(MachineName::Sliding) => Machine::SlidingLog,
        Some(MachineName::Fixed) => Machine::FixedWindow,
    };
    let mut done = Vec::new();
    for (host, bot, entry) in &entries {
        // One at a time: arrivals are the larger part of the memory.
        let whose = Whose { host, bot: bot.unwrap_or(ALL_BOTS), seed: arguments.seed };
        let of_host = recorded.get_mut(*host);
        let of_entry = of_host.and_then(|h| h.remove(whose.bot)).unwrap_or_default();
        let limits = limits(entry);
        let judgement = judge(&of_entry, &whose, machine, &limits, is_measured(entry), finish_by);
        done.push(Backtested {
            host: (*host).to_owned(),
            bot: whose.bot.to_owned(),
            counts: entry.apply || arguments.bot.is_some(),
            limits,
            bound_by: entry.evidence.as_ref().map(|e| e.max_requests_per_minute.bound_by.clone()),
            verdict: match &judgement {
                None => "no_traffic",
                Some(j) if j.faults.is_empty() => "accepted",
                Some(_) => "not_accepted",
            },
            smallest_accepted: arguments
                .find
                .then(|| smallest(&of_entry, &whose, machine, &limits, file.policy.burst_seconds))
                .flatten(),
            judgement,
        });
    }
    if done.iter().all(|e| e.judgement.is_none()) {
        return Err(no_data("holds no second of what was asked for"));
    }
    let fails = done.iter().any(|e| e.counts && e.verdict == "not_accepted");
    let clocks = history.sources().values().filter_map(|row| row.entry.clock.clone()).collect();
    let report = Report {
        schema_version: 1,
        generator: super::ceilings::GENERATOR,
        manifest: path.display().to_string(),
        manifest_digest: loaded.digest.as_deref(),
        machine,
        seed: arguments.seed,
        window,
        clocks,
        entries: &done,
        verdict: if fails { "not_accepted" } else { "accepted" },
    };
    write(&report, arguments.json.as_deref())?;
    if fails {
        status = status.and(ExitStatus::CheckFailed);
    }
    Ok(status)
}

/// The entries that were asked for: each host's own, then its bots.
fn entries<'a>(
    manifest: &'a Manifest,
    host: Option<&str>,
    bot: Option<&str>,
) -> Vec<(&'a str, Option<&'a str>, &'a Entry)> {
    let mut all = Vec::new();
    for (name, entry) in manifest.domain_overrides.iter().filter(|(name, _)| host.is_none_or(|h| *name == h))
    {
        if bot.is_none() {
            all.push((name.as_str(), None, entry));
        }
        let bots = entry.bots.iter().filter(|(name, _)| bot.is_none_or(|b| *name == b));
        all.extend(bots.map(|(bot, own)| (name.as_str(), Some(bot.as_str()), own)));
    }
    all
}

fn limits(entry: &Entry) -> Limits {
    Limits {
        max_requests_per_minute: entry.max_requests_per_minute,
        max_burst_capacity: match entry.algorithm {
            Algorithm::LeakyBucket => 1,
            Algorithm::TokenBucket => entry.max_burst_capacity,
        },
        enforce_burst: entry.enforce_burst,
    }
}

/// Whether a limit that was seen set the ceiling.
fn is_measured(entry: &Entry) -> bool {
    let capacity = |rule: &str| matches!(rule, "429_onset" | "host_overload" | "latency_knee");
    entry.evidence.as_ref().is_some_and(|e| {
        let rate = &e.max_requests_per_minute;
        capacity(&rate.bound_by) || capacity(&rate.rule)
    })
}

/// The days that the manifest's numbers rest on, or the last ones of the history.
fn window(manifest: &Manifest, history: &History, days: i64) -> Option<Window> {
    let dates = history.dates();
    let (first, last) = (i64::from(*dates.first()?) * 1440, i64::from(*dates.last()?) * 1440 + 1439);
    let to = manifest.window.map_or(last, |w| w.to.0);
    let from = manifest.window.map_or(first, |w| w.from.0).max(to - days * 1440 + 1);
    Some(Window { from: Minute(from), to: Minute(to) })
}

/// By host and bot; all bots of a host together are [`ALL_BOTS`].
type ByBot = BTreeMap<String, BTreeMap<String, Recorded>>;

/// The seconds of the entries, and whether everything could be read.
fn recorded(
    history: &History,
    entries: &[(&str, Option<&str>, &Entry)],
    window: Window,
) -> Result<(ByBot, ExitStatus), Error> {
    let mut all = ByBot::new();
    for (host, bot, _) in entries {
        let of_host = all.entry((*host).to_owned()).or_default();
        of_host.insert(bot.unwrap_or(ALL_BOTS).to_owned(), Recorded::default());
    }
    let mut status = ExitStatus::Success;
    let date = |minute: i64| i32::try_from(minute.div_euclid(1440)).unwrap_or(i32::MAX);
    let dates = history.dates();
    for day in dates.range(date(window.from.0)..=date(window.to.0).max(date(window.from.0))) {
        let wanted = Wanted { minutes: true, seconds: true, ..Wanted::default() };
        let (day, warnings) = history.read_day(*day, wanted)?;
        for warning in &warnings {
            console::print_error(warning);
            status = status.and(warning.exit());
        }
        add_day(&mut all, &day, window);
    }
    all.values_mut().flat_map(BTreeMap::values_mut).for_each(Recorded::sort);
    Ok((all, status))
}

fn add_day(all: &mut ByBot, day: &DayTables, window: Window) {
    // Rows that may speak for the bot; those whose claim failed are somebody else's.
    let speaks: Vec<bool> =
        day.series.iter().map(|s| s.is_bot() && s.verification != Verification::Failed).collect();
    for row in &day.minutes {
        let Some(at) = usize::try_from(row.series).ok().filter(|at| speaks.get(*at) == Some(&true)) else {
            continue;
        };
        if row.partial || row.minute < window.from.0 || row.minute > window.to.0 {
            continue;
        }
        let series = &day.series[at];
        let throttled = row.code(429) > 0;
        let Some(of_host) = all.get_mut(&series.host) else { continue };
        for bot in [series.bot.as_str(), ALL_BOTS] {
            let Some(recorded) = of_host.get_mut(bot) else { continue };
            recorded.seconds.extend(row.seconds.iter().map(|(second, n)| {
                (row.minute * 60 + i64::from(*second), u32::try_from(*n).unwrap_or(u32::MAX), throttled)
            }));
        }
    }
}

fn write(report: &Report<'_>, json: Option<&Path>) -> Result<(), Error> {
    let mut text = String::new();
    for entry in report.entries {
        text.push_str(&entry.render());
        text.push('\n');
    }
    let clocks: Vec<&str> = report.clocks.iter().map(String::as_str).collect();
    let clocks = if clocks.is_empty() { "start or end".to_owned() } else { clocks.join(" and ") };
    text.push_str(&format!(
        "Stamps are the {clocks} of requests, to the second: places inside it are random. Waits are an upper bound (a\n\
         real client slows down); a schedule is replayed at its lowest slot.\nVerdict: {}\n",
        report.verdict.replace('_', " ")
    ));
    let Some(path) = json else {
        console::write_out(text.as_bytes())?;
        return Ok(());
    };
    let mut bytes = serde_json::to_vec_pretty(report)
        .map_err(|e| Error::runtime("backtest", "cannot write its report as JSON").cause(e))?;
    bytes.push(b'\n');
    if path.as_os_str() == "-" {
        console::print_text(&text);
        console::write_out(&bytes)?;
    } else {
        write_named(path, |out| Ok(out.write_all(&bytes)?))?;
        console::write_out(text.as_bytes())?;
    }
    Ok(())
}
