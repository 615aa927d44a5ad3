//! Points in time as the manifest writes them: UTC minutes and seconds as text.
//!
//! Not local time. Example: `2026-03-10T23:59Z` is minute 29551679.

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A UTC minute, `floor(epoch / 60)`. Written as `2026-03-10T23:59Z`; with seconds, or any offset, it is read too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute(pub i64);

/// A second of Unix time. Written as `2026-03-11T02:00:07Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Second(pub i64);

impl Minute {
    /// The text; `None` beyond the years that have one (about 262,000).
    #[must_use]
    pub fn text(self) -> Option<String> {
        let at = DateTime::from_timestamp(self.0.checked_mul(60)?, 0)?;
        Some(at.format("%Y-%m-%dT%H:%MZ").to_string())
    }

    /// Reads the text back; `None` when it is no such text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(at) = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%MZ") {
            return Some(Self(at.and_utc().timestamp().div_euclid(60)));
        }
        Second::parse(text).map(Second::minute)
    }

    /// The UTC date, counted in days from 1970-01-01.
    #[must_use]
    pub fn date(self) -> i64 {
        self.0.div_euclid(1440)
    }
}

impl Second {
    /// The text; `None` beyond the years that have one.
    #[must_use]
    pub fn text(self) -> Option<String> {
        Some(DateTime::from_timestamp(self.0, 0)?.format("%Y-%m-%dT%H:%M:%SZ").to_string())
    }

    /// Reads any RFC 3339 text; `None` when it is none. A fraction of a second is dropped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|at| Self(at.timestamp()))
    }

    /// The minute in which it lies.
    #[must_use]
    pub fn minute(self) -> Minute {
        Minute(self.0.div_euclid(60))
    }
}

/// A `YYYY-MM-DD` as days from 1970-01-01; `None` when it is no date.
pub(super) fn date_of(text: &str) -> Option<i64> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    (text.len() == 10).then(|| date.signed_duration_since(NaiveDate::default()).num_days())
}

impl Serialize for Minute {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nothing measured lies beyond the calendar, and writing a manifest must not fail for it.
        serializer.serialize_str(self.text().as_deref().unwrap_or("beyond the calendar"))
    }
}

impl<'de> Deserialize<'de> for Minute {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(format_args!("no UTC minute: `{text}`")))
    }
}

impl Serialize for Second {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nothing measured lies beyond the calendar, and writing a manifest must not fail for it.
        serializer.serialize_str(self.text().as_deref().unwrap_or("beyond the calendar"))
    }
}

impl<'de> Deserialize<'de> for Second {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(format_args!("no RFC 3339 time: `{text}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_and_seconds_have_one_text_and_are_read_back() {
        let minute = Minute(29_469_599);
        assert_eq!(minute.text().as_deref(), Some("2026-01-11T23:59Z"));
        assert_eq!(Minute::parse("2026-01-11T23:59Z"), Some(minute));
        assert_eq!(Minute::parse("2026-01-12T00:59:30+01:00"), Some(minute));
        assert_eq!(Second(60 * minute.0 + 7).text().as_deref(), Some("2026-01-11T23:59:07Z"));
        assert_eq!(Second::parse("2026-01-11T23:59:07Z").map(Second::minute), Some(minute));
        assert_eq!(minute.date(), date_of("2026-01-11").unwrap());
        for wrong in ["", "yesterday", "2026-01-11", "2026-13-11T00:00Z"] {
            assert_eq!(Minute::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Minute(i64::MAX).text(), None);
        assert_eq!(date_of("2026-1-11"), None);
    }
}
