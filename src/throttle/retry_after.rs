//! What a server asks for with `Retry-After`, and the wait that keeps to it.
//!
//! RFC 9110, section 10.2.3: seconds, or one of the three forms of an HTTP date; fractions of seconds are taken as
//! well. Example: `Retry-After: Thu, 08 Oct 2026 12:00:00 GMT`.

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};
use serde::{Deserialize, Serialize};

use super::backoff::grown;
use super::random::between;
use super::rate::from_seconds;

/// A `Retry-After` header that was understood.
///
/// ```
/// use crawl_baseline::throttle::RetryAfter;
/// use std::time::Duration;
///
/// let now = Duration::from_secs(1_791_460_770); // 2026-10-08 11:59:30
/// let wait = |value| RetryAfter::parse(value, now).map(|hint| hint.wait(now));
/// assert_eq!(wait("30"), Some(Duration::from_secs(30)));
/// assert_eq!(wait("1.5"), Some(Duration::from_millis(1500)));
/// assert_eq!(wait("Thu, 08 Oct 2026 12:00:00 GMT"), Some(Duration::from_secs(30)));
/// assert_eq!(wait("Wed, 07 Oct 2026 12:00:00 GMT"), Some(Duration::ZERO), "a date in the past");
/// assert_eq!(wait("soon"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfter {
    /// So long after the answer.
    Delay(Duration),
    /// At this time, since the epoch.
    Until(Duration),
}

impl RetryAfter {
    /// Reads the header's value; none when it is neither seconds nor a date. `now` resolves a year of two digits.
    #[must_use]
    pub fn parse(value: &str, now: Duration) -> Option<Self> {
        let value = value.trim();
        if value.is_empty() {
            return None;
        }
        let digits = value.strip_prefix('+').unwrap_or(value);
        let number = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if let Some(negative) = value.strip_prefix('-') {
            return negative
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite())
                .map(|_| Self::Delay(Duration::ZERO));
        }
        if number {
            // More digits than a float holds are infinite: the longest wait, which is what was asked for.
            return digits.parse::<f64>().ok().map(|seconds| Self::Delay(from_seconds(seconds)));
        }
        http_date(value, now).map(Self::Until)
    }

    /// How long that is from `now` on; zero for a time that has passed. For [`Self::Delay`], `now` is not used: it is
    /// meant from the answer on.
    #[must_use]
    pub fn wait(self, now: Duration) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::Until(time) => time.saturating_sub(now),
        }
    }
}

/// An HTTP date as time since the epoch; before it: zero.
///
/// The name of the day is not compared with the date: a server that has one of them wrong still asks for a pause.
fn http_date(value: &str, now: Duration) -> Option<Duration> {
    let (zone_free, offset) = split_zone(value)?;
    let day_free =
        zone_free.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches([',', ' ']);
    let parse = |form: &str| NaiveDateTime::parse_from_str(day_free, form).ok();
    // The order matters: two digits would also be read as the year 26.
    let two_digits = parse("%d-%b-%y %H:%M:%S").or_else(|| parse("%d %b %y %H:%M:%S"));
    let time = match two_digits {
        Some(time) => nearest_century(time, now),
        None => parse("%d %b %Y %H:%M:%S")
            .or_else(|| parse("%d-%b-%Y %H:%M:%S"))
            .or_else(|| parse("%b %e %H:%M:%S %Y"))?,
    };
    let seconds = time.checked_sub_signed(offset)?.and_utc().timestamp();
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// RFC 9110, section 5.6.7: a two-digit year that looks more than 50 years ahead is in the past.
fn nearest_century(time: NaiveDateTime, now: Duration) -> NaiveDateTime {
    let ahead = time.and_utc().timestamp() - i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let century = TimeDelta::days(36_525);
    if ahead > 50 * 31_557_600 {
        time.checked_sub_signed(century).unwrap_or(time)
    } else if ahead < -50 * 31_557_600 {
        time.checked_add_signed(century).unwrap_or(time)
    } else {
        time
    }
}

/// The text without its zone, and the zone's distance from UTC. Only the asctime form has none.
fn split_zone(value: &str) -> Option<(&str, TimeDelta)> {
    let (head, zone) = value.rsplit_once(' ')?;
    if matches!(zone, "GMT" | "UTC" | "UT" | "Z" | "gmt" | "utc") {
        return Some((head.trim_end(), TimeDelta::zero()));
    }
    let sign = match zone.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return Some((value, TimeDelta::zero())),
    };
    let digits = zone.get(1..).filter(|d| d.len() == 4 && d.bytes().all(|b| b.is_ascii_digit()))?;
    let number: i64 = digits.parse().ok()?;
    Some((head.trim_end(), TimeDelta::minutes(sign * (number / 100 * 60 + number % 100))))
}

/// How a try failed, as far as the wait depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// 429 or 503: the server has asked for a pause, perhaps with a header.
    Limited(Option<RetryAfter>),
    /// A time-out, a broken connection, 502, 504.
    Failed,
}

/// The waits of one request that is tried several times. The default is base 2 s, at most 60 s, 5 s for a refusal
/// without a usable header, 4 tries, never less than 0.5 s.
///
/// ```
/// use crawl_baseline::throttle::{Cooldown, Refusal, RetryAfter};
/// use std::time::Duration;
///
/// let s = Duration::from_secs;
/// let policy = Cooldown::default();
/// let hint = Refusal::Limited(Some(RetryAfter::Delay(s(30))));
/// // 30 s, times 1.5 for each try before: between 30 and 45 s, never less than the server said.
/// assert_eq!(policy.wait(s(0), 1, hint, 0.0), Some(s(30)));
/// assert_eq!(policy.wait(s(0), 1, hint, 0.5), Some(Duration::from_millis(37_500)));
/// assert_eq!(policy.wait(s(0), 3, hint, 0.5), None, "the fourth try was the last");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cooldown {
    /// Upper end of the wait after the first failure without a hint.
    pub base: Duration,
    /// The longest wait, unless the server asks for a longer one.
    pub max: Duration,
    /// What a refusal without a usable header counts as: `default_cooldown_seconds`.
    pub default_hint: Duration,
    /// Tries of one request, the first included.
    pub tries: u32,
    /// The shortest wait.
    pub floor: Duration,
    /// How much wider the spread above a hint is after each further try.
    pub multiplier: f64,
}

impl Default for Cooldown {
    fn default() -> Self {
        Self {
            base: Duration::from_secs(2),
            max: Duration::from_secs(60),
            default_hint: Duration::from_secs(5),
            tries: 4,
            floor: Duration::from_millis(500),
            multiplier: 1.5,
        }
    }
}

impl Cooldown {
    /// The wait before the next try; none when there is no further one. `failures` is how many tries failed before
    /// this one, `draw` is in `[0, 1)`.
    ///
    /// A positive `Retry-After` wins: the wait is never shorter than it says. Without one, the default hint is a guess
    /// of this side, and half of it is the lower end.
    #[must_use]
    pub fn wait(&self, now: Duration, failures: u32, refusal: Refusal, draw: f64) -> Option<Duration> {
        if failures.saturating_add(1) >= self.tries {
            return None;
        }
        let asked = match refusal {
            Refusal::Limited(hint) => hint.map(|hint| hint.wait(now)).filter(|wait| !wait.is_zero()),
            Refusal::Failed => None,
        };
        let (low, high) = match (refusal, asked) {
            (_, Some(asked)) => {
                let low = asked.max(self.floor);
                (low.as_secs_f64(), grown(low, self.multiplier, failures, self.max))
            }
            (Refusal::Limited(_), None) => {
                let low = (self.default_hint / 2).max(self.floor);
                (low.as_secs_f64(), grown(self.default_hint, self.multiplier, failures, self.max))
            }
            (Refusal::Failed, None) => (self.floor.as_secs_f64(), grown(self.base, 2.0, failures, self.max)),
        };
        let wait = from_seconds(between(low, high.max(low), draw));
        // Seconds as a float lose the last nanoseconds of a long hint; the server's word does not.
        Some(asked.map_or(wait, |asked| wait.max(asked)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};

    /// 2026-10-08 11:59:30 UTC, a Thursday.
    const NOW: Duration = Duration::from_secs(1_791_460_770);

    #[test]
    fn both_forms_of_the_header_are_read() {
        let half_minute = Some(Duration::from_secs(30));
        for (value, wait) in [
            ("30", half_minute),
            (" 30 ", half_minute),
            ("30.000", half_minute),
            ("0.25", Some(Duration::from_millis(250))),
            (".5", Some(Duration::from_millis(500))),
            ("0", Some(Duration::ZERO)),
            ("-5", Some(Duration::ZERO)),
            ("99999999999999999999999", Some(Duration::MAX)),
            ("Thu, 08 Oct 2026 12:00:00 GMT", half_minute),
            ("Thu, 8 Oct 2026 12:00:00 GMT", half_minute),
            ("Fri, 08 Oct 2026 12:00:00 GMT", half_minute),
            ("08 Oct 2026 12:00:00 UTC", half_minute),
            ("Thu, 08 Oct 2026 12:00:00 +0000", half_minute),
            ("Thu, 08 Oct 2026 14:00:00 +0200", half_minute),
            ("Thu, 08 Oct 2026 07:00:00 -0500", half_minute),
            ("Thursday, 08-Oct-26 12:00:00 GMT", half_minute),
            ("Thu Oct  8 12:00:00 2026", half_minute),
            ("Thu, 08 Oct 2026 11:59:29 GMT", Some(Duration::ZERO)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(Duration::ZERO)),
            ("Thu, 01 Jan 1950 00:00:00 GMT", Some(Duration::ZERO)),
            ("", None),
            ("soon", None),
            ("1.2.3", None),
            ("1e3", None),
            ("inf", None),
            ("NaN", None),
            ("-x", None),
            ("Thu, 32 Oct 2026 12:00:00 GMT", None),
            ("Thu, 08 Oct 2026", None),
            ("Thu, 08 Oct 2026 12:00:00 +€€", None),
        ] {
            assert_eq!(RetryAfter::parse(value, NOW).map(|hint| hint.wait(NOW)), wait, "{value:?}");
        }
    }

    #[test]
    fn the_policy_keeps_to_the_hint_and_else_to_its_own_numbers() {
        let policy = Cooldown::default();
        let s = Duration::from_secs_f64;
        let limited = |seconds: f64| Refusal::Limited(Some(RetryAfter::Delay(s(seconds))));
        for (failures, refusal, draw, wait) in [
            (0, limited(30.0), 0.9, Some(30.0)),
            (2, limited(30.0), 0.0, Some(30.0)),
            (2, limited(30.0), 0.5, Some(45.0)),     // up to 60, not 67.5
            (2, limited(3600.0), 0.5, Some(3600.0)), // longer than the policy's own longest
            (0, limited(0.1), 0.5, Some(0.5)),       // the floor
            (0, limited(0.0), 0.0, Some(2.5)),       // no delay at all: as without a header
            (0, Refusal::Limited(None), 0.0, Some(2.5)),
            (0, Refusal::Limited(None), 0.5, Some(3.75)),
            (1, Refusal::Limited(None), 0.5, Some(5.0)),
            (0, Refusal::Failed, 0.0, Some(0.5)),
            (0, Refusal::Failed, 0.5, Some(1.25)),
            (2, Refusal::Failed, 0.5, Some(4.25)),
            (3, Refusal::Failed, 0.5, None),
        ] {
            assert_eq!(
                policy.wait(NOW, failures, refusal, draw),
                wait.map(s),
                "{failures} {refusal:?} {draw}"
            );
        }
        let date = RetryAfter::parse("Thu, 08 Oct 2026 12:00:00 GMT", NOW);
        assert_eq!(policy.wait(NOW, 0, Refusal::Limited(date), 0.7), Some(s(30.0)));
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(value in any::<String>()) {
            let _ = RetryAfter::parse(&value, NOW);
        }

        #[test]
        fn no_wait_is_shorter_than_a_positive_hint(nanos in 1_u64.., failures in 0_u32..3, draw in 0.0..1.0_f64) {
            let asked = Duration::from_nanos(nanos);
            let wait = Cooldown::default().wait(NOW, failures, Refusal::Limited(Some(RetryAfter::Delay(asked))), draw);
            prop_assert!(wait.unwrap() >= asked);
        }
    }
}
