//! How long things stay: everything for some days, then the newest of each week for some months, and always what somebody
//! named. Only dates; what has them is removed elsewhere.
//!
//! Example of a `keep.txt`: `2026-03-10  # before the relaunch`

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{Datelike as _, Days, Months, NaiveDate};

use crate::error::Error;

/// The file in the output folder that names what stays.
const KEEP: &str = "keep.txt";

/// How long things stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Everything this young stays, in days.
    pub days: u16,
    /// The newest of each ISO week stays this long, in months.
    pub weekly_months: u16,
}

impl Default for Retention {
    fn default() -> Self {
        Self { days: 90, weekly_months: 12 }
    }
}

impl Retention {
    /// Those of `dates` that are too old.
    ///
    /// ```
    /// use std::collections::BTreeSet;
    /// use crawl_baseline::artifact::Retention;
    /// let day = |d: u32| chrono::NaiveDate::from_ymd_opt(2026, 1, d).unwrap();
    /// let today = chrono::NaiveDate::from_ymd_opt(2026, 7, 1).unwrap();
    /// // 5 January was a Monday: of that week the newest, the 7th, stays.
    /// let dates: BTreeSet<_> = [4, 5, 6, 7].map(day).into();
    /// assert_eq!(Retention::default().too_old(&dates, today), [5, 6].map(day).into());
    /// ```
    #[must_use]
    pub fn too_old(&self, dates: &BTreeSet<NaiveDate>, today: NaiveDate) -> BTreeSet<NaiveDate> {
        let young = today.checked_sub_days(Days::new(self.days.into())).unwrap_or(NaiveDate::MIN);
        let weekly =
            today.checked_sub_months(Months::new(self.weekly_months.into())).unwrap_or(NaiveDate::MIN);
        let mut newest: BTreeMap<(i32, u32), NaiveDate> = BTreeMap::new();
        for date in dates {
            let week = date.iso_week();
            // Ascending: the last one of a week stays in.
            newest.insert((week.year(), week.week()), *date);
        }
        let snapshots: BTreeSet<NaiveDate> = newest.into_values().filter(|d| *d >= weekly).collect();
        dates.iter().filter(|d| **d < young && !snapshots.contains(d)).copied().collect()
    }
}

/// The dates that `keep.txt` in the output folder names: one a line, alone or as the beginning of a path
/// (`2026-03-10/baseline_020007.json`); `#` begins a comment. Without the file, none.
///
/// # Errors
/// A line that is none of these (exit 2): what somebody wanted to keep must not go because of a typing error. A file that
/// cannot be read (exit 5).
pub fn kept_dates(output: &Path) -> Result<BTreeSet<NaiveDate>, Error> {
    let path = output.join(KEEP);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(e) => return Err(Error::runtime(path.display(), "cannot read").cause(e)),
    };
    let mut dates = BTreeSet::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let first = line.trim_start_matches("./").split('/').next().unwrap_or_default();
        let date = NaiveDate::parse_from_str(first, "%Y-%m-%d").map_err(|_| {
            Error::usage(format_args!("{}:{}", path.display(), number + 1), "names no date")
                .cause(format_args!(
                    "expected a date as 2026-03-10 or a path that begins with one, found `{line}`"
                ))
                .hint("nothing was removed")
        })?;
        dates.insert(date);
    }
    Ok(dates)
}
