//! Reads the history: which sources are in it, and their counts over a window of dates.
//!
//! Only parts that a `sources` row names are read. Whatever is damaged, missing or of another age is said, with the
//! remedy, and the rest is used.
//!
//! Example: `history.read_window(20_520, 20_522, Wanted::all())` is three dates, each the sum over its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

use crate::error::{Error, ErrorKind};
use crate::file;
use crate::history::log_rows;
use crate::history::merge::merge_days;
use crate::history::part::{OpenPart, PartPath, damaged};
use crate::history::rows::{self, SeriesNumbers};
use crate::history::run::RunRow;
use crate::history::schema::Table;
use crate::history::source_row::{PartName, SourceRow};
use crate::history::write::date_folders;
use crate::tally::table::{Coverage, DayTables};

/// Which tables and columns a reader needs; the others are not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a set of columns, not a state")]
pub struct Wanted {
    /// [`DayTables::minutes`], their `seconds` excepted.
    pub minutes: bool,
    /// [`crate::tally::table::MinuteRow::seconds`]: the larger half of `minutes`. Only together with `minutes`.
    pub seconds: bool,
    /// [`DayTables::status`].
    pub status: bool,
    /// [`DayTables::waste`].
    pub waste: bool,
    /// [`DayTables::latency`].
    pub latency: bool,
    /// [`DayTables::params`]; empty where an older version wrote the history.
    pub params: bool,
    /// [`DayTables::bots`].
    pub bots: bool,
}

impl Wanted {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Self {
            minutes: true,
            seconds: true,
            status: true,
            waste: true,
            latency: true,
            params: true,
            bots: true,
        }
    }
}

/// A window of the history.
#[derive(Debug, Default)]
pub struct Window {
    /// Dates with records, ascending, each the sum over its sources.
    pub days: Vec<DayTables>,
    /// First and last stamp of every source and date, ascending by date, then source. The gaps between are for the
    /// reader to judge.
    pub coverage: Vec<(String, Coverage)>,
    /// What could not be used, with remedies; the rest is in `days`.
    pub warnings: Vec<Error>,
}

/// A history that is there, as of the moment it was opened.
#[derive(Debug)]
pub struct History {
    folder: PathBuf,
    sources: BTreeMap<String, SourceRow>,
    replaced: BTreeMap<String, SourceRow>,
    warnings: Vec<Error>,
}

impl History {
    /// Reads all `sources` rows. A folder that is not there is an empty history.
    ///
    /// # Errors
    ///
    /// The folder cannot be listed (exit 5), or a newer program wrote a part of it (exit 2). A damaged row is a warning.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let mut history = Self {
            folder: folder.to_owned(),
            sources: BTreeMap::new(),
            replaced: BTreeMap::new(),
            warnings: Vec::new(),
        };
        for folder in date_folders(folder, Table::Sources)?.into_values() {
            for path in parts_in(&folder)? {
                match read_sources(path) {
                    Ok(rows) => rows.into_iter().for_each(|row| history.take(row)),
                    Err(e) if e.kind() == ErrorKind::Usage => return Err(e),
                    Err(e) => history.warnings.push(e),
                }
            }
        }
        let replaced: BTreeSet<String> =
            history.sources.values().flat_map(|row| row.entry.replaces.iter().cloned()).collect();
        for name in replaced {
            if let Some(row) = history.sources.remove(&name) {
                history.replaced.insert(name, row);
            }
        }
        Ok(history)
    }

    /// Two rows of one name: a run that moved it to another date was killed before it removed the old one. The longer
    /// is the younger.
    fn take(&mut self, row: SourceRow) {
        let rank =
            |row: &SourceRow| (row.entry.identity.length(), row.first_date, row.entry.identity.content);
        match self.sources.get(&row.entry.source) {
            Some(known) if rank(known) >= rank(&row) => {}
            _ => {
                self.sources.insert(row.entry.source.clone(), row);
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The sources by name, without those that another one replaces.
    #[must_use]
    pub fn sources(&self) -> &BTreeMap<String, SourceRow> {
        &self.sources
    }

    /// Sources that another one has outgrown and whose parts are still there.
    #[must_use]
    pub fn replaced(&self) -> &BTreeMap<String, SourceRow> {
        &self.replaced
    }

    /// `sources` parts that could not be read, with remedies.
    #[must_use]
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// Dates with parts, ascending.
    #[must_use]
    pub fn dates(&self) -> BTreeSet<i32> {
        self.sources.values().flat_map(|row| row.held_coverage().into_iter().map(|c| c.date)).collect()
    }

    /// Finishes what a killed run left undone: temporaries, and parts of sources that were replaced. Returns what was
    /// removed.
    ///
    /// # Errors
    ///
    /// What cannot be listed or removed (exit 5).
    pub fn tidy(&self) -> Result<Vec<PathBuf>, Error> {
        // Of the caches beside the tables, too.
        let mut removed = file::sweep_temporaries(&self.folder)?;
        for table in Table::ALL {
            for folder in date_folders(&self.folder, table)?.into_values() {
                removed.extend(file::sweep_temporaries(&folder)?);
            }
        }
        for row in self
            .sources
            .values()
            .filter(|row| row.entry.replaces.iter().any(|r| self.replaced.contains_key(r)))
        {
            removed.extend(crate::history::write::remove_unnamed(&self.folder, row)?);
        }
        removed.sort();
        Ok(removed)
    }

    /// Reads the dates from `first` to `last`, both included (days since 1970-01-01). A long window is better read by
    /// [`History::read_day`]: a date of 60 bots is about 20 MB in memory.
    ///
    /// # Errors
    ///
    /// A newer program wrote a part (exit 2).
    pub fn read_window(&self, first: i32, last: i32, wanted: Wanted) -> Result<Window, Error> {
        let mut window = Window { coverage: self.coverage(first, last), ..Window::default() };
        for date in self.dates().range(first..=last.max(first)).filter(|d| **d <= last) {
            let (day, mut warnings) = self.read_day(*date, wanted)?;
            window.days.push(day);
            window.warnings.append(&mut warnings);
        }
        Ok(window)
    }

    /// First and last stamp of every source and date of a window, ascending by date, then source.
    #[must_use]
    pub fn coverage(&self, first: i32, last: i32) -> Vec<(String, Coverage)> {
        let mut all: Vec<(String, Coverage)> = self
            .sources
            .iter()
            .flat_map(|(name, row)| row.held_coverage().into_iter().map(|c| (name.clone(), c)))
            .filter(|(_, c)| (first..=last).contains(&c.date))
            .collect();
        all.sort_by(|a, b| (a.1.date, &a.0).cmp(&(b.1.date, &b.0)));
        all
    }

    /// One date, summed over its sources, and what could not be used of it.
    ///
    /// # Errors
    ///
    /// A newer program wrote a part (exit 2).
    pub fn read_day(&self, date: i32, wanted: Wanted) -> Result<(DayTables, Vec<Error>), Error> {
        let mut warnings = Vec::new();
        let mut days = Vec::new();
        for row in self.sources.values() {
            let mut parts = Vec::new();
            for named in &row.parts {
                match PartPath::parse(&named.path) {
                    Some(part) if part.date == date => parts.push((part.table, named)),
                    Some(_) => {}
                    None => warnings.push(
                        Error::partial(
                            self.folder.display(),
                            format_args!("cannot use the row of source {}", row.entry.source),
                        )
                        .cause(format_args!("it names `{}`, which is no part", named.path))
                        .hint("analyze its log again"),
                    ),
                }
            }
            if !parts.is_empty() {
                days.push(self.read_source_day(row, date, &parts, wanted, &mut warnings)?);
            }
        }
        let mut day = merge_days(days);
        day.date = date;
        Ok((day, warnings))
    }

    /// All dates of one source, as they were counted. `None` when the history does not hold all of it: a part is gone,
    /// damaged, pruned or of another age.
    ///
    /// # Errors
    ///
    /// A newer program wrote a part (exit 2).
    pub fn read_source(&self, name: &str) -> Result<Option<Vec<DayTables>>, Error> {
        let Some(row) = self.sources.get(name).filter(|row| row.held_coverage() == row.coverage) else {
            return Ok(None);
        };
        let mut warnings = Vec::new();
        let mut days = Vec::new();
        for Coverage { date, .. } in &row.coverage {
            let of_date = |named: &&PartName| PartPath::parse(&named.path).is_some_and(|p| p.date == *date);
            let parts: Vec<(Table, &PartName)> = row
                .parts
                .iter()
                .filter(of_date)
                .filter_map(|named| Some((PartPath::parse(&named.path)?.table, named)))
                .collect();
            let day = self.read_source_day(row, *date, &parts, Wanted::all(), &mut warnings)?;
            if !warnings.is_empty() {
                return Ok(None);
            }
            // Sorted, whatever order the series were met in.
            days.push(DayTables { date: *date, ..merge_days(vec![day]) });
        }
        Ok(Some(days))
    }

    /// The rows of one source, date and table; `None` when the part cannot be used.
    pub(super) fn read_own(
        &self,
        row: &SourceRow,
        date: i32,
        table: Table,
    ) -> Result<Option<DayTables>, Error> {
        let of_date =
            |path: &PartPath| path.date == date && (path.table == table || path.table == Table::Bots);
        let parts: Vec<(Table, &PartName)> = row
            .parts
            .iter()
            .filter_map(|named| Some((PartPath::parse(&named.path).filter(of_date)?.table, named)))
            .collect();
        let wanted = Wanted {
            minutes: table == Table::Minutes,
            seconds: table == Table::Minutes,
            status: table == Table::Status,
            waste: table == Table::Waste,
            latency: table == Table::Latency,
            params: table == Table::Params,
            bots: table == Table::Bots,
        };
        let mut warnings = Vec::new();
        let day = self.read_source_day(row, date, &parts, wanted, &mut warnings)?;
        Ok(warnings.is_empty().then_some(day))
    }

    /// Whether every part that the row of a source names is there with the very bytes that were written. What was never
    /// in the history is not whole.
    #[must_use]
    pub fn is_whole(&self, name: &str) -> bool {
        self.sources.get(name).is_some_and(|row| {
            row.parts
                .iter()
                .all(|named| OpenPart::read(self.folder.join(&named.path)).is_ok_and(|part| part.is(named)))
        })
    }

    fn read_source_day(
        &self,
        row: &SourceRow,
        date: i32,
        parts: &[(Table, &PartName)],
        wanted: Wanted,
        warnings: &mut Vec<Error>,
    ) -> Result<DayTables, Error> {
        let source = row.entry.source.as_str();
        let mut day = DayTables { date, ..DayTables::default() };
        let mut numbers = SeriesNumbers::default();
        for (table, named) in parts {
            let roll_ups_only = ["source", "host", "bot", "family", "operator", "category", "verification"];
            let columns = match table {
                Table::Minutes if wanted.minutes => rows::minute_columns(wanted.seconds),
                Table::Status if wanted.status => Vec::new(),
                Table::Waste if wanted.waste => Vec::new(),
                Table::Latency if wanted.latency => Vec::new(),
                Table::Params if wanted.params => Vec::new(),
                Table::Bots if wanted.bots => Vec::new(),
                // `status` and `waste` do not repeat whose bot it is.
                Table::Bots if !wanted.minutes && (wanted.status || wanted.waste || wanted.latency) => {
                    roll_ups_only.to_vec()
                }
                _ => continue,
            };
            let path = self.folder.join(&named.path);
            let read = read_part(path.clone(), named, row, &columns, warnings)?;
            let Some(batches) = read else { continue };
            // A part that turns out to be damaged half way must not leave half of its rows.
            let before = (
                day.minutes.len(),
                day.status.len(),
                day.waste.len(),
                day.bots.len(),
                day.latency.len(),
                day.params.len(),
            );
            let fits = batches.iter().try_for_each(|batch| match table {
                Table::Minutes => {
                    rows::minutes(batch, source, wanted.seconds, &mut numbers, &mut day.minutes)
                }
                Table::Status => rows::status(batch, source, &mut numbers, &mut day.status),
                Table::Waste => rows::waste(batch, source, &mut numbers, &mut day.waste),
                Table::Latency => rows::latency(batch, source, &mut numbers, &mut day.latency),
                Table::Params => rows::params(batch, source, &mut day.params),
                Table::Bots if wanted.bots => rows::bots(batch, source, &mut numbers, &mut day.bots),
                _ => rows::roll_ups(batch, source, &mut numbers),
            });
            if let Err(misfit) = fits {
                day.minutes.truncate(before.0);
                day.status.truncate(before.1);
                day.waste.truncate(before.2);
                day.bots.truncate(before.3);
                day.latency.truncate(before.4);
                day.params.truncate(before.5);
                warnings.push(damaged(&path, &misfit));
            }
        }
        day.series = numbers.series;
        Ok(day)
    }

    /// All runs, by start.
    ///
    /// # Errors
    ///
    /// The folder cannot be listed (exit 5), or a newer program wrote a part (exit 2). Damaged parts are left out.
    pub fn runs(&self) -> Result<Vec<RunRow>, Error> {
        let mut runs = Vec::new();
        for folder in date_folders(&self.folder, Table::Runs)?.into_values() {
            for path in parts_in(&folder)? {
                let read = OpenPart::read(path).and_then(|part| {
                    let batches = part.batches(&[])?;
                    all_rows(&part, &batches, log_rows::runs)
                });
                match read {
                    Ok(rows) => runs.extend(rows),
                    Err(e) if e.kind() == ErrorKind::Usage => return Err(e),
                    // Nothing is computed from this table.
                    Err(_) => {}
                }
            }
        }
        runs.sort_by(|a, b| (a.started_at, &a.run).cmp(&(b.started_at, &b.run)));
        Ok(runs)
    }
}

fn all_rows<T>(
    part: &OpenPart,
    batches: &[RecordBatch],
    rows: fn(&RecordBatch) -> Result<Vec<T>, String>,
) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    for batch in batches {
        all.extend(rows(batch).map_err(|misfit| damaged(part.path(), &misfit))?);
    }
    Ok(all)
}

fn read_sources(path: PathBuf) -> Result<Vec<SourceRow>, Error> {
    let part = OpenPart::read(path)?;
    all_rows(&part, &part.batches(&[])?, log_rows::sources)
}

/// The rows of a part that a `sources` row names; `None` when it cannot be used, which is then among the warnings.
fn read_part(
    path: PathBuf,
    named: &PartName,
    row: &SourceRow,
    columns: &[&str],
    warnings: &mut Vec<Error>,
) -> Result<Option<Vec<RecordBatch>>, Error> {
    let part = match OpenPart::read(path) {
        Ok(part) => part,
        Err(e) if e.kind() == ErrorKind::Usage => return Err(e),
        Err(e) => {
            warnings.push(match e.remedy() {
                Some(_) => e,
                None => e.hint("analyze its log again; the rest of the history was used"),
            });
            return Ok(None);
        }
    };
    if !part.is(named) {
        // A joined part holds several sources and is never written over: other bytes are damage.
        if part.content().is_none_or(|content| content == row.entry.identity.content) {
            warnings.push(damaged(part.path(), &"its bytes are not those that were written"));
            return Ok(None);
        }
        // Whole, and never more than once: all rows of this source and date are in this one part.
        warnings.push(
            Error::partial(part.path().display(), "is of another age than the row of its source")
                .cause("a run that replaced it did not finish, or has not yet")
                .hint("analyze its log again; the part was used as it is"),
        );
    }
    match part.batches(columns) {
        Ok(batches) => Ok(Some(batches)),
        Err(e) => {
            warnings.push(e);
            Ok(None)
        }
    }
}

/// The parts in a folder of one date, ascending by name; temporaries and other files are none.
pub(super) fn parts_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let cannot = |e: std::io::Error| Error::runtime(folder.display(), "cannot list this folder").cause(e);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|n| n.ends_with(".parquet") && !n.starts_with('.')) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
