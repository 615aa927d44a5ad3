//! The stamp of an entry: found by its shape, turned into seconds since 1970.
//!
//! Accepts `D/Mon/YYYY:HH:MM:SS[.frac] [+hhmm]` (a blank instead of the first colon too) and ISO 8601. It does not
//! decide whether a stamp is plausible; that needs the time of the run.
//!
//! Example of its input: `10/Mar/2026:06:25:14 +0000`

use super::record::Flags;

/// Longest text between the brackets that is looked at.
const LONGEST: usize = 48;

/// A stamp that is a real date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub(super) epoch: i64,
    /// [`Flags::LEAP_SECOND`], [`Flags::ASSUMED_ZONE`].
    pub(super) flags: Flags,
}

/// Where a stamp stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Position of `[`.
    pub(super) open: usize,
    /// Position of `]`.
    pub(super) close: usize,
    /// Position of the quote behind it.
    pub(super) quote: usize,
}

/// Why no stamp was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// There is a stamp, but no quote behind it.
    Quote,
    /// There is something that wants to be a stamp and is none.
    Date,
    /// Nothing of the kind.
    Stamp,
}

/// The first bracket that looks like a time and is followed by blanks and a quote.
pub(super) fn locate(line: &[u8]) -> Result<Place, Missing> {
    let mut unquoted: Option<(usize, &[u8])> = None;
    for open in memchr::memchr_iter(b'[', line) {
        let Some(close) = closing_bracket(line, open) else {
            if unquoted.is_none() && is_date_shape(&line[open + 1..]) {
                unquoted = Some((open, &[]));
            }
            continue;
        };
        let text = &line[open + 1..close];
        // A nearer bracket is looked at in its turn: `x [y [10/Mar/2026:06:25:14 +0000]`.
        if memchr::memchr(b'[', text).is_some() || !resembles_time(text) {
            continue;
        }
        // A stamp behind the first quote belongs to a field, not to the entry.
        if unquoted.is_some_and(|(end, _)| memchr::memchr(b'"', &line[end..open]).is_some()) {
            break;
        }
        if let Some(quote) = quote_behind(line, close) {
            return Ok(Place { open, close, quote });
        }
        if unquoted.is_none() {
            unquoted = Some((close, text));
        }
    }
    Err(match unquoted {
        None => Missing::Stamp,
        Some((_, text)) if parse(text, 0).is_some() => Missing::Quote,
        Some((_, text)) if text.is_empty() || is_date_shape(text) => Missing::Date,
        Some(_) => Missing::Stamp,
    })
}

/// The next stamp at or behind `from` that blanks and a quote follow, with a real date.
pub(super) fn next_entry(line: &[u8], from: usize) -> Option<Place> {
    memchr::memchr_iter(b'[', &line[from..]).find_map(|at| {
        let open = from + at;
        if !line.get(open + 1)?.is_ascii_digit() {
            return None;
        }
        let close = closing_bracket(line, open)?;
        let quote = quote_behind(line, close)?;
        parse(&line[open + 1..close], 0)?;
        Some(Place { open, close, quote })
    })
}

fn closing_bracket(line: &[u8], open: usize) -> Option<usize> {
    let end = line.len().min(open + 2 + LONGEST);
    memchr::memchr(b']', &line[open + 1..end]).map(|at| open + 1 + at)
}

fn quote_behind(line: &[u8], close: usize) -> Option<usize> {
    let rest = &line[close + 1..];
    let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    (blanks > 0 && rest.get(blanks) == Some(&b'"')).then(|| close + 1 + blanks)
}

/// Six digits and a separator: something that was meant as a time.
fn resembles_time(text: &[u8]) -> bool {
    text.iter().filter(|b| b.is_ascii_digit()).count() >= 6 && text.iter().any(|b| matches!(b, b':' | b'/'))
}

/// Begins like `10/` or `2026-`.
fn is_date_shape(text: &[u8]) -> bool {
    matches!(text, [b'0'..=b'9', b'/', ..] | [b'0'..=b'9', b'0'..=b'9', b'/', ..])
        || matches!(text, [a, b, c, d, b'-', ..] if [a, b, c, d].iter().all(|x| x.is_ascii_digit()))
}

/// Reads the text between the brackets. `assume_zone_seconds` is the offset east of UTC of stamps without a zone.
pub(super) fn parse(text: &[u8], assume_zone_seconds: i32) -> Option<Stamp> {
    let mut cursor = Cursor(text);
    let (year, month, day) = if text.get(4) == Some(&b'-') {
        let year = cursor.number(4)?;
        cursor.byte(b"-")?;
        let month = cursor.number(2)?;
        cursor.byte(b"-")?;
        let day = cursor.number(2)?;
        cursor.byte(b"Tt ")?;
        (year, month, day)
    } else {
        let day = if text.get(1) == Some(&b'/') { cursor.number(1)? } else { cursor.number(2)? };
        cursor.byte(b"/")?;
        let month = cursor.month()?;
        cursor.byte(b"/")?;
        let year = cursor.number(4)?;
        cursor.byte(b": ")?;
        (year, month, day)
    };
    let hour = cursor.number(2)?;
    cursor.byte(b":")?;
    let minute = cursor.number(2)?;
    cursor.byte(b":")?;
    let mut second = cursor.number(2)?;
    if cursor.byte(b".,").is_some() {
        cursor.digits()?;
    }
    let mut flags = Flags::empty();
    if second == 60 {
        second = 59;
        flags.insert(Flags::LEAP_SECOND);
    }
    if !(1..=12).contains(&month)
        || day < 1
        || day > days_in_month(year, month)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let zone = match cursor.zone()? {
        Some(seconds) => seconds,
        None => {
            flags.insert(Flags::ASSUMED_ZONE);
            i64::from(assume_zone_seconds)
        }
    };
    let epoch = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - zone;
    Some(Stamp { epoch, flags })
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (head, rest) = self.0.split_at_checked(digits)?;
        let mut value = 0;
        for byte in head {
            if !byte.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i64::from(byte - b'0');
        }
        self.0 = rest;
        Some(value)
    }

    fn byte(&mut self, one_of: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        one_of.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    fn digits(&mut self) -> Option<()> {
        let count = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        self.0 = &self.0[count..];
        (count > 0).then_some(())
    }

    fn month(&mut self) -> Option<i64> {
        let (name, rest) = self.0.split_at_checked(3)?;
        let at = (1_i64..).zip(MONTHS).find(|(_, month)| name.eq_ignore_ascii_case(*month))?.0;
        self.0 = rest;
        Some(at)
    }

    /// `Some(None)`: no zone, the text ends. `None`: something that is no zone.
    fn zone(&mut self) -> Option<Option<i64>> {
        while self.byte(b" \t").is_some() {}
        if self.0.is_empty() {
            return Some(None);
        }
        if self.byte(b"Zz").is_some() {
            return self.0.is_empty().then_some(Some(0));
        }
        let sign = if self.byte(b"+-")? == b'-' { -1 } else { 1 };
        let hours = self.number(2)?;
        let minutes = if self.0.is_empty() {
            0
        } else {
            let _ = self.byte(b":");
            self.number(2)?
        };
        (self.0.is_empty() && hours < 24 && minutes < 60)
            .then_some(Some(sign * (hours * 3_600 + minutes * 60)))
    }
}

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, by counting from March so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(text: &str) -> Option<i64> {
        parse(text.as_bytes(), 0).map(|s| s.epoch)
    }

    #[test]
    fn every_day_of_four_hundred_years_agrees_with_the_calendar_library() {
        let mut day = chrono::NaiveDate::from_ymd_opt(1900, 1, 1).expect("a date");
        for _ in 0..146_097 {
            let text = day.format("%d/%b/%Y:01:02:03 +0000").to_string();
            let want = day.and_hms_opt(1, 2, 3).expect("a time").and_utc().timestamp();
            assert_eq!(epoch(&text), Some(want), "{text}");
            day = day.succ_opt().expect("a next day");
        }
    }

    #[test]
    fn the_forms_of_a_stamp_mean_the_same_instant() {
        for text in [
            "10/Mar/2026:06:25:14 +0000",
            "10/mar/2026 06:25:14 +0000",
            "10/Mar/2026:06:25:14.123 +0000",
            "10/Mar/2026:14:25:14 +0800",
            "10/Mar/2026:02:55:14 -0330",
            "2026-03-10T06:25:14Z",
            "2026-03-10T14:25:14.5+08:00",
            "2026-03-10 07:25:14 +01",
        ] {
            assert_eq!(epoch(text), Some(1_773_123_914), "{text}");
        }
        assert_eq!(epoch("1/Jan/1970:00:00:00 +0000"), Some(0));
    }

    #[test]
    fn what_is_no_real_date_is_none() {
        for text in [
            "31/Feb/2026:06:25:14 +0000",
            "29/Feb/2025:06:25:14 +0000",
            "00/Mar/2026:06:25:14 +0000",
            "10/Mrz/2026:06:25:14 +0000",
            "10/Mar/2026:24:00:00 +0000",
            "10/Mar/2026:06:60:00 +0000",
            "10/Mar/2026:06:25:61 +0000",
            "10/Mar/2026:06:25 +0000",
            "10/Mar/2026:06:25:14 +2500",
            "10/Mar/2026:06:25:14 CET",
            "2026-13-10T06:25:14Z",
            "",
        ] {
            assert_eq!(epoch(text), None, "{text}");
        }
    }

    #[test]
    fn a_stamp_without_zone_takes_the_assumed_one_and_second_sixty_is_the_last() {
        let stamp = parse(b"31/Dec/2016:23:59:60", 3_600).expect("a stamp");
        assert_eq!(stamp.epoch, 1_483_228_799 - 3_600);
        assert!(stamp.flags.contains(Flags::ASSUMED_ZONE) && stamp.flags.contains(Flags::LEAP_SECOND));
    }

    #[test]
    fn the_stamp_is_the_one_that_a_quote_follows() {
        let line = br#"192.0.2.1 - x [01/Jan/2020:00:00:00 +0000] y [10/Mar/2026:06:25:14 +0000] "GET"#;
        let place = locate(line).expect("a stamp");
        assert_eq!(&line[place.open + 1..place.close], b"10/Mar/2026:06:25:14 +0000");
        assert_eq!(locate(b"192.0.2.1 - - [10/Mar/2026:06:25:14 +0000] GET"), Err(Missing::Quote));
        assert_eq!(locate(b"192.0.2.1 - - [10/Mrz/2026:06:25:14 +0000] GET"), Err(Missing::Date));
        assert_eq!(locate(b"[Tue Mar 10 06:25:14 2026] [error] down"), Err(Missing::Stamp));
    }
}
