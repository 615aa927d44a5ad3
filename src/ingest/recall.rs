//! Logs that need not be read again: their rows come from the history.
//!
//! Example: of a folder with a year of rotated logs, a nightly run opens the two that are new.

use super::claims::PROXY;
use super::{Ingested, Known};
use crate::error::Error;
use crate::format::layout::Clock;
use crate::format::{Flags, Format};
use crate::history::known::{Decision, Proof, Skip};
use crate::history::seen::FileStamp;
use crate::history::source_row::SourceRow;
use crate::pipeline::first_look::Remarks;
use crate::source::discover::LogFile;
use crate::tally::matched::MatchedTally;
use crate::tally::table::{DayTables, SourceTables};

/// The log as it was counted before; `None` when it has to be read.
pub(super) fn recall(log: &LogFile, stamp: FileStamp, known: &Known<'_>) -> Result<Option<Ingested>, Error> {
    let Some(seen) = known.seen.get(&stamp) else { return Ok(None) };
    let row = known.history.sources().get(&seen.source).filter(|row| {
        let entry = &row.entry;
        entry.identity.content == seen.content
            && !entry.live
            && !entry.damaged
            && entry.settings == *known.settings
    });
    let Some(row) = row else { return Ok(None) };
    let Some(days) = known.history.read_source(&seen.source)? else { return Ok(None) };
    let Some(tables) = tables(row, days) else { return Ok(None) };
    let mut matched = MatchedTally::default();
    let mut bot_records = 0;
    for day in &tables.days {
        let is_bot = |series: u32| day.series[series as usize].is_bot();
        // The URL of the rest stands for no URL.
        for row in day.waste.iter().filter(|r| is_bot(r.series) && !r.url_key.starts_with('(')) {
            matched.add_waste(row.url_sample.as_bytes(), row.hits);
        }
        bot_records += day.minutes.iter().filter(|m| is_bot(m.series)).map(|m| m.requests).sum::<u64>();
    }
    Ok(Some(Ingested {
        log: log.clone(),
        compression: seen.compression,
        stream: None,
        length: row.entry.identity.length(),
        stamp: Some(stamp),
        decision: Decision::Skip(Skip::Same(seen.source.clone())),
        edges: row.entry.edges.clone(),
        overlap: None,
        tables,
        filtered: 0,
        window: None,
        grouped: None,
        matched,
        bot_records,
        first_match: Vec::new(),
        every_match: Vec::new(),
        proxy: row.entry.recorded.iter().find(|(name, _)| name == PROXY).map(|(_, why)| why.clone()),
        unverified: Default::default(),
        damage: None,
        trailing_garbage: seen.trailing_garbage,
        remarks: remarks(row),
        rejected: None,
        overflow: row.entry.overflow.clone(),
    }))
}

/// The names of remarks in the history.
pub(super) const EDGE: &str = "edge_log";
pub(super) const PROXY_CLIENTS: &str = "proxy_clients";

fn remarks(row: &SourceRow) -> Remarks {
    let recorded = |name: &str| row.entry.recorded.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    Remarks {
        clock: row.entry.clock.as_deref().and_then(Clock::of_name),
        edge: recorded(EDGE),
        proxy: recorded(PROXY_CLIENTS),
        rejected: Vec::new(),
    }
}

/// `None` when a newer program has written names that this one does not know.
fn tables(row: &SourceRow, days: Vec<DayTables>) -> Option<SourceTables> {
    let format = |name: &String| Format::ALL.into_iter().find(|f| f.name() == name);
    let flag = |name: &String| Flags::NAMES.into_iter().map(|(_, n)| n).find(|n| n == name);
    Some(SourceTables {
        counts: row.counts.clone(),
        formats: row.formats.iter().map(|(f, n)| Some((format(f)?, *n))).collect::<Option<_>>()?,
        flags: row.flags.iter().map(|(f, n)| Some((flag(f)?, *n))).collect::<Option<_>>()?,
        coverage: row.coverage.clone(),
        first_date: row.first_date,
        first_rejected_lines: row.first_rejected_lines.clone(),
        days,
    })
}

/// Keeps each content counted once when some logs were read and others come from the history.
pub(super) fn settle(logs: &mut [Ingested]) {
    for index in 0..logs.len() {
        let (None, Decision::Skip(Skip::Same(source))) = (&logs[index].stream, &logs[index].decision) else {
            continue;
        };
        let source = source.clone();
        let outgrown = logs.iter().position(|other| match &other.decision {
            Decision::Write { source: written, replaces, .. } => {
                *written == source || replaces.contains(&source)
            }
            _ => false,
        });
        if let Some(other) = outgrown {
            let skip = if logs[other].length == logs[index].length {
                Skip::DuplicateOf(other)
            } else {
                Skip::PrefixOfInput(other, Proof::Exact)
            };
            logs[index].decision = Decision::Skip(skip);
            continue;
        }
        for other in (0..logs.len()).filter(|other| *other != index) {
            let skip = match &logs[other].decision {
                Decision::Skip(Skip::Same(same)) if *same == source => Skip::DuplicateOf(index),
                Decision::Skip(Skip::PrefixOf(whole, proof)) if *whole == source => {
                    Skip::PrefixOfInput(index, *proof)
                }
                _ => continue,
            };
            logs[other].decision = Decision::Skip(skip);
        }
    }
}
