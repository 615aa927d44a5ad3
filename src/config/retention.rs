//! `[artifacts]`: how long things stay, for `artifacts prune`. What goes by it, [`crate::artifact::Retention`] decides.
//!
//! ```toml
//! [artifacts]
//! retention_days = 30   # everything this young stays
//! weekly_months = 24    # then the newest of each week
//! ```

use serde::Deserialize;

use crate::artifact::Retention;

/// `[artifacts]`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Artifacts {
    /// As `--retention-days`.
    pub retention_days: Option<u16>,
    /// As `--weekly-months`.
    pub weekly_months: Option<u16>,
}

impl Artifacts {
    /// Flags over the file over the defaults (90 days, 12 months).
    #[must_use]
    pub fn retention(&self, days: Option<u16>, weekly_months: Option<u16>) -> Retention {
        let default = Retention::default();
        Retention {
            days: days.or(self.retention_days).unwrap_or(default.days),
            weekly_months: weekly_months.or(self.weekly_months).unwrap_or(default.weekly_months),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_goes_before_the_file_and_the_file_before_the_default() {
        let of = |days, months| (days, months);
        let told = |r: Retention| of(r.days, r.weekly_months);
        let nothing = Artifacts::default();
        let file: Artifacts = toml::from_str("retention_days = 30\nweekly_months = 24\n").unwrap();
        assert_eq!(told(nothing.retention(None, None)), (90, 12));
        assert_eq!(told(file.retention(None, None)), (30, 24));
        assert_eq!(told(file.retention(Some(7), None)), (7, 24));
        assert_eq!(told(nothing.retention(None, Some(1))), (90, 1));
        assert!(toml::from_str::<Artifacts>("retention_days = -1\n").is_err());
    }
}
