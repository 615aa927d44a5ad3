//! `normalize`: a URL list, or what the history holds, made canonical, merged and ranked.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use serde_json::json;

use super::ceilings::GENERATOR;
use super::console;
use super::place::Place;
use crate::artifact::Artifact;
use crate::baseline::Warning;
use crate::cli::NormalizeArguments;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::file::write_named;
use crate::history::part::date_text;
use crate::history::read::History;
use crate::normalize::{
    Collector, Covered, Finishing, Form, Normalized, PriorityRules, finish, from_history, read_list,
};
use crate::url::Rules;

/// Rejects above this share of at least [`MIN_LINES`] lines make the run partial, in per cent.
const MAX_REJECT_SHARE: u64 = 5;
const MIN_LINES: u64 = 20;

/// Runs `normalize`.
///
/// # Errors
/// Usage errors, no URL at all, a signal, and files that cannot be written.
pub fn run(arguments: &NormalizeArguments, stop: &Arc<AtomicUsize>) -> Result<ExitStatus, Error> {
    let place = Place::new(&arguments.place)?;
    let rules = match &arguments.priority_rules_json {
        Some(path) => PriorityRules::read(path)?,
        None => PriorityRules::default(),
    };
    // What goes elsewhere than the dated folder needs no lock.
    let _lock = if arguments.output_json.is_none() {
        let Some(lock) = place.lock(stop)? else { return Ok(ExitStatus::Success) };
        Some(lock)
    } else {
        None
    };
    let mut status = ExitStatus::Success;
    let form = form(arguments);
    let mut collector = Collector::new(form.clone());
    let mut warnings = unused(&form, arguments);
    match &arguments.url_list {
        Some(path) => {
            let damage = read_list(open(path)?, &shown(path), &mut collector, stop)?;
            if let Some(error) = damage {
                console::print_error(&error);
                status = status.and(error.exit());
            }
        }
        None => {
            let history = History::open(&place.history)?;
            history.warnings().iter().for_each(console::print_error);
            let covered = from_history(&history, &mut collector, stop)?;
            covered.warnings.iter().for_each(console::print_error);
            if !history.warnings().is_empty() || !covered.warnings.is_empty() {
                status = status.and(ExitStatus::Partial);
            }
            warnings.push(coverage(&covered));
        }
    }
    let totals = collector.totals();
    if totals.urls == 0 {
        return Err(no_url(arguments, &place, totals.lines));
    }
    if totals.lines >= MIN_LINES && totals.rejected * 100 > totals.lines * MAX_REJECT_SHARE {
        status = status.and(ExitStatus::Partial);
    }
    let finishing = Finishing {
        generated_at: place.now,
        generator: GENERATOR.to_owned(),
        options: options(arguments),
        rules,
        keep_query_values: arguments.keep_query_values,
        warnings,
    };
    let list = finish(collector, finishing);
    let written = write(arguments, &place, &list)?;
    let text = list.summary(&written, width());
    if arguments.output_json.is_none() {
        place.output.dated(place.now).append_log(&text)?;
    }
    if is_standard(arguments.output_json.as_deref()) {
        console::print_text(&text);
    } else {
        console::write_out(text.as_bytes())?;
    }
    Ok(status)
}

fn form(arguments: &NormalizeArguments) -> Form {
    if arguments.seed_compat {
        return Form::Seed { extra: arguments.extra_blacklist.clone(), canonicalize: arguments.canonicalize };
    }
    Form::Canonical(Rules {
        keep: arguments.keep_param.clone(),
        extra: arguments.extra_blacklist.clone(),
        sort: arguments.sort_params,
        strip_trailing_slash: arguments.strip_trailing_slash,
        form_encoded: arguments.form_encoded,
        drop_paging: arguments.drop_paging,
    })
}

/// A name to keep that nothing drops is often misspelt.
fn unused(form: &Form, arguments: &NormalizeArguments) -> Vec<Warning> {
    let Form::Canonical(rules) = form else { return Vec::new() };
    let without = Rules { keep: Vec::new(), ..rules.clone() };
    arguments
        .keep_param
        .iter()
        .filter(|name| !without.drops(name))
        .map(|name| {
            Warning::new(
                "unused_keep_param",
                format!("--keep-param {name}: no list drops it, so it would be kept anyway"),
                "`blacklist` in the output lists what is dropped",
            )
        })
        .collect()
}

fn coverage(covered: &Covered) -> Warning {
    let dates = covered.dates.map_or_else(
        || "no date".to_owned(),
        |(first, last)| format!("{} to {}", date_text(first), date_text(last)),
    );
    let beyond = match covered.requests_beyond {
        0 => String::new(),
        n => format!("; {n} requests for URLs beyond the thousand of a bot, host and date are not in it"),
    };
    Warning::new(
        "coverage",
        format!(
            "these are the URLs that bots were answered 4xx or 5xx for, of {dates}{beyond}; URLs that were answered well are not in the history, values that were masked stay so, and the scheme is taken to be https"
        ),
        "for a list of pages give the sitemap or a crawl's list with --url-list; the parameters of all that bots fetched are in the baseline (`parameters`) and the table `params`",
    )
}

fn no_url(arguments: &NormalizeArguments, place: &Place, lines: u64) -> Error {
    match &arguments.url_list {
        Some(path) => Error::no_data(shown(path), format_args!("holds no URL in {lines} lines"))
            .hint("a URL a line, beginning with http://, https:// or /; nothing was written"),
        None => Error::no_data(place.history.display(), "holds no URL")
            .hint("only URLs that bots were answered 4xx or 5xx for are in a history; `crawl-baseline analyze LOG...` writes one"),
    }
}

fn options(arguments: &NormalizeArguments) -> serde_json::Value {
    json!({
        "url_list": arguments.url_list.as_ref().map(|path| path.display().to_string()),
        "from_history": arguments.from_history,
        "extra_blacklist": arguments.extra_blacklist,
        "keep_param": arguments.keep_param,
        "priority_rules_json": arguments.priority_rules_json.as_ref().map(|path| path.display().to_string()),
        "canonicalize": arguments.canonicalize,
        "sort_params": arguments.sort_params,
        "strip_trailing_slash": arguments.strip_trailing_slash,
        "drop_paging": arguments.drop_paging,
        "form_encoded": arguments.form_encoded,
        "seed_compat": arguments.seed_compat,
        "keep_query_values": arguments.keep_query_values,
    })
}

fn is_standard(path: Option<&Path>) -> bool {
    path == Some(Path::new("-"))
}

fn shown(path: &Path) -> String {
    if is_standard(Some(path)) { "standard input".to_owned() } else { path.display().to_string() }
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>, Error> {
    if is_standard(Some(path)) {
        return Ok(Box::new(io::stdin()));
    }
    let cannot =
        |e: &dyn std::fmt::Display| Error::usage(path.display(), "cannot read this URL list").cause(e);
    let file = File::open(path).map_err(|e| cannot(&e))?;
    if file.metadata().map_err(|e| cannot(&e))?.is_dir() {
        return Err(cannot(&"it is a folder")
            .hint("give one file, or pipe several: cat *.txt | crawl-baseline normalize --url-list -"));
    }
    Ok(Box::new(file))
}

/// Writes the JSON where it is wanted, and returns the files.
fn write(arguments: &NormalizeArguments, place: &Place, list: &Normalized) -> Result<Vec<String>, Error> {
    let paths = match arguments.output_json.as_deref() {
        path if is_standard(path) => {
            let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
            match list.write_json(&mut out).and_then(|()| out.flush()) {
                Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                    return Err(Error::runtime("standard output", "cannot write").cause(e));
                }
                _ => Vec::new(),
            }
        }
        Some(path) => {
            write_named(path, |out| Ok(list.write_json(out)?))?;
            vec![path.to_owned()]
        }
        None => {
            place.output.tidy()?;
            let mut dated = place.output.dated(place.now);
            let path = dated.write(Artifact::NormalizedUrls, |out| Ok(list.write_json(out)?))?;
            vec![path, dated.write_checksums()?]
        }
    };
    Ok(paths.iter().map(|path| path.display().to_string()).collect())
}

/// Columns of the terminal, 100 where that is unknown.
fn width() -> u16 {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| *c >= 60).unwrap_or(100)
}
