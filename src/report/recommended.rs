//! What `recommend` says: per host and bot what was observed, the ceiling, why, and what to do. Computes nothing.
//!
//! Example of a line: `Googlebot          64  9,990      76 demand_headroom B     advise: search engine`

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::advice::{Ceiling, HostCeilings, SEARCH_ENGINES};
use super::escaped::Escaped;
use super::summary::{number, wrapped};
use crate::manifest::{Entry, Manifest};

/// Hosts that are listed, those of which most is known first.
const HOSTS_LISTED: usize = 10;
/// Bots that are listed for each, those of which most is known first.
const BOTS_LISTED: usize = 20;
/// Most characters of a name.
const NAME_WIDTH: usize = 40;

/// The tables, with a line feed at the end. `width`: columns of the terminal.
#[must_use]
pub fn recommended(manifest: &Manifest, width: u16) -> String {
    let mut out = String::new();
    if let Some(window) = manifest.window {
        let text = |minute: crate::manifest::Minute| minute.text().unwrap_or_default();
        let _ = writeln!(
            out,
            "Window  {} to {}, {} minutes covered",
            text(window.from),
            text(window.to),
            number(window.minutes_covered)
        );
    }
    let mut hosts: Vec<(&String, &Entry)> = manifest.domain_overrides.iter().collect();
    hosts.sort_by(|a, b| minutes(b.1).cmp(&minutes(a.1)).then(a.0.cmp(b.0)));
    for (host, entry) in hosts.iter().take(HOSTS_LISTED) {
        let _ = writeln!(out, "\nHost    {}", Escaped(host).shortened(100));
        out.push_str(&table(entry));
        more(&mut out, entry.bots.len(), BOTS_LISTED, "bots");
    }
    more(&mut out, hosts.len(), HOSTS_LISTED, "hosts");
    if HostCeilings::of(manifest).values().any(HostCeilings::advises) {
        out.push('\n');
        wrapped(&mut out, usize::from(width.max(60)), "", SEARCH_ENGINES);
    }
    out
}

fn table(host: &Entry) -> String {
    let mut bots: Vec<(&String, &Entry)> = host.bots.iter().collect();
    bots.sort_by(|a, b| minutes(b.1).cmp(&minutes(a.1)).then(a.0.cmp(b.0)));
    let mut table = Table::new();
    table.force_no_tty().load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["Bot", "Observed RPM", "Minutes", "Ceiling", "Bound by", "Conf.", "What to do"]);
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    let all = ("(all bots together)".to_owned(), host);
    let named = bots.into_iter().take(BOTS_LISTED).map(|(name, entry)| (name.clone(), entry));
    for (name, entry) in std::iter::once(all).chain(named) {
        let ceiling = Ceiling::of(entry);
        let evidence = entry.evidence.as_ref();
        let observed = evidence.and_then(|e| e.demand).map_or_else(|| "-".to_owned(), number);
        table.add_row(vec![
            Cell::new(Escaped(&name).shortened(NAME_WIDTH)),
            right(observed),
            right(minutes(entry).map_or_else(|| "-".to_owned(), number)),
            right(number(ceiling.requests_per_minute)),
            Cell::new(Escaped(&ceiling.bound_by).shortened(NAME_WIDTH)),
            Cell::new(ceiling.confidence),
            Cell::new(ceiling.advice),
        ]);
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

/// Clean minutes that the entry rests on.
fn minutes(entry: &Entry) -> Option<u64> {
    Some(entry.evidence.as_ref()?.max_requests_per_minute.inputs.clean_minutes)
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn more(out: &mut String, all: usize, listed: usize, what: &str) {
    if all > listed {
        let _ = writeln!(out, "  and {} more {what}", all - listed);
    }
}
