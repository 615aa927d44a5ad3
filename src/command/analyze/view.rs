//! What the flags say of the baseline: window, patterns, grouping.

use super::super::reading::Reading;
use crate::bot::patterns::PatternFile;
use crate::cli::{self, AnalyzeArguments};
use crate::config;
use crate::error::Error;
use crate::pipeline::View;
use crate::pipeline::filter::Filters;
use crate::tally::GroupBy;

/// What was asked for, before the newest record is known.
pub(super) struct Wanted {
    since: Option<i64>,
    until: Option<i64>,
    /// Counted back from the newest record.
    pub(super) last_seconds: Option<i64>,
    filters: Filters,
    pub(super) patterns: Option<PatternFile>,
    pub(super) group_by: GroupBy,
}

/// Reads the flags.
///
/// # Errors
/// A time, span or pattern that cannot be read, or a grouping that needs patterns (usage).
pub(super) fn of(arguments: &AnalyzeArguments, reading: &Reading) -> Result<Wanted, Error> {
    let time = |flag: &str, text: &Option<String>| {
        text.as_deref().map(|t| config::time(flag, t)).transpose().map(|t| t.map(|t| t.timestamp()))
    };
    let patterns = arguments
        .ua_regex_file
        .as_ref()
        .or(reading.file.paths.ua_regex_file.as_ref())
        .map(|path| PatternFile::read(path))
        .transpose()?;
    let group_by = match arguments.group_by {
        cli::GroupBy::Bot => GroupBy::Bot,
        cli::GroupBy::UserAgent => GroupBy::UserAgent,
        cli::GroupBy::Pattern => GroupBy::Pattern,
        cli::GroupBy::Family => GroupBy::Family,
        cli::GroupBy::Operator => GroupBy::Operator,
        cli::GroupBy::Category => GroupBy::Category,
    };
    if group_by == GroupBy::Pattern && patterns.is_none() {
        return Err(Error::usage("--group-by pattern", "needs patterns").hint("add --ua-regex-file FILE"));
    }
    let mut last_seconds = arguments.last.as_deref().map(|s| config::span("--last", s)).transpose()?;
    if arguments.window_filter {
        let minutes = i64::try_from(arguments.time_window_min).ok().filter(|m| (1..=5_000_000).contains(m));
        last_seconds = Some(minutes.map(|m| m * 60).ok_or_else(|| {
            Error::usage(
                "--time-window-min",
                format_args!("{} minutes is no window", arguments.time_window_min),
            )
            .cause("expected 1 to 5000000 with --window-filter")
        })?);
    }
    let (since, until) = (time("--since", &arguments.since)?, time("--until", &arguments.until)?);
    if let (Some(since), Some(until)) = (since, until)
        && since >= until
    {
        return Err(Error::usage("--until", "is not after --since").hint("the window would be empty"));
    }
    let filters = Filters::parse(&arguments.filter)?;
    Ok(Wanted { since, until, last_seconds, filters, patterns, group_by })
}

impl Wanted {
    /// The view for the pipeline, `None` where the baseline is just what the history holds.
    pub(super) fn view(&self, since: Option<i64>) -> Option<View> {
        let since = since.or(self.since);
        let whole = since.is_none() && self.until.is_none() && self.filters.is_empty();
        let plain = whole && self.patterns.is_none();
        (!plain || self.group_by.needs_lines()).then(|| View {
            since,
            until: self.until,
            filters: self.filters.clone(),
            patterns: self.patterns.clone(),
            group_by: self.group_by,
        })
    }
}
