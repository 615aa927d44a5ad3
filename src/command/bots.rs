//! `bots list`, `bots show`, `bots test`: what the catalogue holds, and why a User-Agent got its name.
//!
//! Example: `crawl-baseline bots test 'Mozilla/5.0 (compatible; Googlebot/2.1)' --client 198.51.100.5 --ip-ranges ranges`

mod list;
mod show;
mod test;

use std::path::PathBuf;

use super::console;
use crate::bot::Catalogue;
use crate::cli::{BotsAction, BotsArguments};
use crate::config::{self, File};
use crate::error::Error;
use crate::exit::ExitStatus;

/// Runs `bots`.
///
/// # Errors
/// Usage errors, an unknown bot or category, and standard output that cannot be written.
pub fn run(arguments: &BotsArguments) -> Result<ExitStatus, Error> {
    let file = File::read(arguments.config.as_deref())?;
    let catalogue = match arguments.catalogue.as_ref().or(file.paths.catalogue.as_ref()) {
        Some(path) => Catalogue::with_overlay(path)?,
        None => Catalogue::built_in(),
    };
    match &arguments.action {
        BotsAction::List { format, category } => {
            config::check_categories("--category", category.as_slice())?;
            console::write_out(list::text(&catalogue, *format, category.as_deref())?.as_bytes())?;
            Ok(ExitStatus::Success)
        }
        BotsAction::Show { name, format } => {
            let bot = catalogue.find(name).ok_or_else(|| unknown(&catalogue, name))?;
            console::write_out(show::text(&catalogue, bot, *format)?.as_bytes())?;
            Ok(ExitStatus::Success)
        }
        BotsAction::Test { user_agents, client, ip_ranges, rdns, format } => {
            let or = |typed: &Option<PathBuf>, configured: &Option<PathBuf>| -> Option<PathBuf> {
                typed.as_ref().or(configured.as_ref()).cloned()
            };
            let asked = test::Asked {
                client: *client,
                ip_ranges: or(ip_ranges, &file.paths.ip_ranges),
                rdns: or(rdns, &file.paths.rdns),
                format: *format,
            };
            test::run(catalogue, user_agents, &asked)
        }
    }
}

fn unknown(catalogue: &Catalogue, name: &str) -> Error {
    let error = Error::usage("bots show", format_args!("no bot is called {name:?}"));
    match catalogue.nearest(name) {
        Some(near) => error.hint(format_args!("did you mean {near:?}?")),
        None => {
            error.hint("crawl-baseline bots list shows all; bots test 'USER-AGENT' finds out who a string is")
        }
    }
}

/// How a claim can be checked, as the catalogue spells it; empty where it cannot.
fn methods(catalogue: &Catalogue, bot: crate::bot::BotId) -> Vec<String> {
    catalogue.info(bot).methods.iter().map(ToString::to_string).collect()
}

fn as_json<T: serde::Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|e| Error::runtime("bots", "cannot be written as JSON").cause(e))
}
