//! What all commands that read logs share: which logs, which bots, which line grammar.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::bot::verify::Verifier;
use crate::bot::{Catalogue, Matcher};
use crate::cli::ReadingArguments;
use crate::config::{self, File};
use crate::error::Error;
use crate::format::client::ClientChoice;
use crate::format::path_host::PathHost;
use crate::format::{Line, Parser, ParserOptions};
use crate::source::discover::{Discovery, discover};

/// The settings of a command that reads logs.
pub struct Reading {
    /// The configuration file.
    pub file: File,
    /// The time of the run.
    pub now: DateTime<Utc>,
    /// Line grammar.
    pub parser: ParserOptions,
    /// Names bots.
    pub matcher: Matcher,
    /// Checks claims.
    pub verifier: Verifier,
    /// Which address is the client.
    pub client: ClientChoice,
    /// Whether the host part of client addresses is zeroed.
    pub mask_clients: bool,
    /// Finds the site in a request.
    pub host_from_path: Option<PathHost>,
    /// Settings that change what is counted, by flag name, as given.
    pub given: Vec<(String, String)>,
    arguments: Vec<(PathBuf, Option<String>)>,
}

impl Reading {
    /// Puts flags, environment and file together.
    ///
    /// # Errors
    /// Whatever is wrong with them (usage).
    pub fn new(arguments: &ReadingArguments) -> Result<Self, Error> {
        let file = File::read(arguments.config.as_deref())?;
        let now = config::now(arguments.now.as_deref())?;
        let parser = config::parser_options(arguments, now)?;
        let catalogue_path = arguments.catalogue.as_ref().or(file.paths.catalogue.as_ref());
        let catalogue = match catalogue_path {
            Some(path) => Catalogue::with_overlay(path)?,
            None => Catalogue::built_in(),
        };
        let ip_ranges = arguments.ip_ranges.as_ref().or(file.paths.ip_ranges.as_ref());
        let rdns = arguments.rdns.as_ref().or(file.paths.rdns.as_ref());
        let verifier =
            Verifier::load(&catalogue, ip_ranges.map(PathBuf::as_path), rdns.map(PathBuf::as_path))?;
        let mut given = Vec::new();
        let mut remember = |name: &str, value: Option<String>| {
            given.extend(value.map(|v| (name.to_owned(), v)));
        };
        remember("catalogue", catalogue_path.map(|p| p.display().to_string()));
        remember("ip-ranges", ip_ranges.map(|p| p.display().to_string()));
        let named = (arguments.log_format != "auto").then(|| arguments.log_format.clone());
        remember("log-format", parser.layout.as_ref().map(|layout| layout.text().to_owned()).or(named));
        remember("assume-zone", (parser.assume_zone_seconds != 0).then(|| arguments.assume_zone.clone()));
        remember("latency-field", arguments.latency_field.clone());
        let client = config::client_choice(arguments)?;
        match client {
            ClientChoice::Peer => {}
            ClientChoice::FirstXff => remember("client", Some("first-xff".to_owned())),
            ClientChoice::LastUntrusted(networks) => {
                remember("client", Some("last-untrusted".to_owned()));
                networks.iter().for_each(|network| remember("trusted-proxy", Some(network.to_string())));
            }
        }
        remember("mask-clients", arguments.mask_clients.then(|| "true".to_owned()));
        let host_from_path = config::host_from_path(arguments)?;
        remember("host-from-path", arguments.host_from_path.clone());
        let mask_clients = arguments.mask_clients;
        let arguments = logs(arguments, &file)?;
        Ok(Self {
            now,
            parser,
            matcher: Matcher::new(Arc::new(catalogue)),
            verifier,
            client,
            mask_clients,
            host_from_path,
            given,
            arguments,
            file,
        })
    }

    /// What is recorded beside the settings: contents that may change without stopping a nightly run.
    pub(super) fn recorded(&self) -> Vec<(String, String)> {
        let ranges = self.verifier.files().iter().map(|file| {
            let created = file.created().and_then(|at| DateTime::from_timestamp(at, 0));
            let created =
                created.map_or_else(|| "-".to_owned(), |at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string());
            ("range-file".to_owned(), format!("{} {:016x} {created}", file.name(), file.hash()))
        });
        std::iter::once(("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())).chain(ranges).collect()
    }

    /// Finds the logs.
    ///
    /// # Errors
    /// A pattern that is not well-formed (usage).
    pub fn discover(&self) -> Result<Discovery, Error> {
        let mut parser = Parser::new(self.parser.clone());
        let mut accepts = |line: &[u8]| match parser.line(line) {
            Line::Record(_) => Some(true),
            Line::Reject(_) => Some(false),
            Line::Blank | Line::Directive => None,
        };
        let mut found = Discovery::default();
        // Logs of one site together, so that each knows the site that it belongs to.
        let mut hosts: Vec<Option<&String>> = self.arguments.iter().map(|(_, host)| host.as_ref()).collect();
        hosts.sort();
        hosts.dedup();
        for host in hosts {
            let paths: Vec<PathBuf> =
                self.arguments.iter().filter(|(_, h)| h.as_ref() == host).map(|(p, _)| p.clone()).collect();
            let mut part = discover(&paths, &mut accepts)?;
            for log in &mut part.logs {
                log.host = host.cloned();
            }
            found.logs.extend(part.logs);
            found.skipped.extend(part.skipped);
            found.unreadable.extend(part.unreadable);
            found.gaps.extend(part.gaps);
        }
        Ok(found)
    }
}

/// What to read, and the site that it belongs to: the arguments, else the configured logs.
fn logs(arguments: &ReadingArguments, file: &File) -> Result<Vec<(PathBuf, Option<String>)>, Error> {
    let typed: Vec<_> = arguments.logs.iter().chain(&arguments.log_dir).map(|p| (p.clone(), None)).collect();
    // A folder from the environment is a default: what was typed goes before it.
    let typed = if arguments.logs.is_empty() {
        typed
    } else {
        arguments.logs.iter().map(|p| (p.clone(), None)).collect()
    };
    if !typed.is_empty() {
        return Ok(typed);
    }
    let mut configured: Vec<_> = file.paths.logs.iter().map(|p| (p.clone(), None)).collect();
    for site in &file.site {
        configured.extend(site.logs.iter().map(|p| (p.clone(), site.hosts.first().cloned())));
    }
    if configured.is_empty() {
        return Err(Error::usage("LOG", "no log was named").hint(
            "name files or folders (crawl-baseline analyze /var/log/nginx), or set CRAWL_LOG_DIR or paths.logs",
        ));
    }
    Ok(configured)
}
