//! The manifest as environment variables of a crawler: `MAX_RPM_THRESHOLD` and `MAX_CONCURRENCY`.
//!
//! Loses everything else: one number for all hours, no burst, no delay, no budgets. Example: `MAX_CONCURRENCY=3`.

use std::fmt::Write as _;

use crate::format::escape::printable;
use crate::manifest::{Entry, Manifest};

/// Which entries, and which of them count.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'a> {
    /// One host; all of them without it.
    pub host: Option<&'a str>,
    /// One bot; all bots together without it.
    pub bot: Option<&'a str>,
    /// Entries that are not to be applied count, too.
    pub force: bool,
}

/// The variables, and how many entries were left out because they are not to be applied.
///
/// One number has to be safe everywhere: of several entries the lowest. Where none is left, what hosts without an entry
/// may do.
#[must_use]
pub fn env(manifest: &Manifest, choice: Choice<'_>) -> (String, usize) {
    let named = |host: &&String| choice.host.is_none_or(|wanted| host.eq_ignore_ascii_case(wanted));
    let chosen: Vec<(&String, &Entry)> = manifest
        .domain_overrides
        .keys()
        .filter(named)
        .filter_map(|host| Some((host, manifest.entry(host, choice.bot)?)))
        .collect();
    let all = chosen.len();
    let used: Vec<&(&String, &Entry)> = chosen.iter().filter(|(_, e)| e.apply || choice.force).collect();
    let skipped = all - used.len();
    let lowest = used.iter().min_by_key(|(_, e)| e.max_requests_per_minute);
    let connections = used.iter().map(|(_, e)| e.max_concurrent_connections).min();
    let default = Entry::of_defaults(&manifest.rate_limiting);
    let rate = lowest.map_or(default.max_requests_per_minute, |(_, e)| e.max_requests_per_minute);
    let whose = match (lowest, used.len()) {
        (None, _) => "no entry is to be applied: what hosts without an entry may do".to_owned(),
        (Some((host, _)), 1) => printable(host.as_bytes()).into_owned(),
        (Some((host, _)), n) => format!("the lowest of {n} hosts, {}", printable(host.as_bytes())),
    };
    let bot = choice.bot.map_or("all bots together".into(), |bot| printable(bot.as_bytes()));
    let mut out = String::new();
    // A string takes every text.
    let _ = writeln!(
        out,
        "# {whose}; {bot}; manifest {}",
        manifest.digest.as_deref().unwrap_or("without digest")
    );
    let _ = writeln!(out, "MAX_RPM_THRESHOLD={rate}");
    let _ = writeln!(out, "MAX_CONCURRENCY={}", connections.unwrap_or(default.max_concurrent_connections));
    (out, skipped)
}
