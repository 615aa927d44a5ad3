//! What the stamp of a line means, as far as the line itself tells: when the request came, or when the answer was sent.
//!
//! A format that one program writes means what that program means. Combined is everybody's: there the fields behind it
//! tell nginx (`rt=0.123`, a time in seconds) from Apache (a whole number of microseconds), and so do the escapes. What
//! is not sure is not said.
//!
//! Example of its input: `192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 5 "-" "Bot/1.0" rt=0.123`

use super::layout::Clock;
use super::record::{Format, Record};
use super::tail;

impl Format {
    /// What the stamps of a format mean that only one program writes.
    #[must_use]
    pub fn clock(self) -> Option<Clock> {
        match self {
            // IIS and CloudFront log a request when it is over; AWS documents the field of ALB so.
            Self::W3c | Self::Alb => Some(Clock::End),
            // Traefik's StartUTC, HAProxy's accept date; AWS documents the fields of ELB and S3 so.
            Self::Traefik | Self::Haproxy | Self::Elb | Self::S3 => Some(Clock::Start),
            _ => None,
        }
    }
}

/// What the stamp of a record means; `line` is the line that it was read from.
#[must_use]
pub fn of(record: &Record<'_>, line: &[u8]) -> Option<Clock> {
    match record.format {
        Format::Json => json(line),
        Format::Combined | Format::VhostCombined | Format::Common | Format::VhostCommon => {
            by_tail(record.tail).or_else(|| by_escapes(record))
        }
        other => other.clock(),
    }
}

fn json(line: &[u8]) -> Option<Clock> {
    let has = |key: &str| memchr::memmem::find(line, key.as_bytes()).is_some();
    if has("\"StartUTC\"") || has("\\\"StartUTC") {
        return Some(Clock::Start);
    }
    // Names of nginx's variables, and of Caddy's log, which is written when the answer is.
    let nginx = ["time_local\"", "time_iso8601\"", "body_bytes_sent\"", "upstream_response_time\""];
    (nginx.iter().any(|key| has(key)) || has("http.log.access")).then_some(Clock::End)
}

fn by_tail(text: &[u8]) -> Option<Clock> {
    let mut fields = tail::fields(text).peekable();
    let starts = |field: &&[u8]| {
        [&b"rt="[..], b"urt=", b"uct=", b"uht=", b"cs="].iter().any(|key| field.starts_with(key))
    };
    if tail::fields(text).any(|field| starts(&field)) {
        return Some(Clock::End);
    }
    let last = fields.by_ref().last()?;
    let whole = last.iter().take_while(|b| b.is_ascii_digit()).count();
    match &last[whole..] {
        // `%D`; fewer digits may be anything.
        [] if whole >= 3 => Some(Clock::Start),
        // `$request_time` has three decimals, always.
        [b'.', decimals @ ..]
            if whole > 0 && decimals.len() == 3 && decimals.iter().all(u8::is_ascii_digit) =>
        {
            Some(Clock::End)
        }
        _ => None,
    }
}

/// nginx writes a quote as `\x22` and a byte as `\xE9`, Apache as `\"` and `\xe9`; neither does the other's, whatever a
/// client sends.
fn by_escapes(record: &Record<'_>) -> Option<Clock> {
    let fields = [record.request, record.referer.unwrap_or_default(), record.user_agent.unwrap_or_default()];
    fields.into_iter().find_map(|field| {
        let at = memchr::memchr(b'\\', field)?;
        match field.get(at + 1..)? {
            [b'"' | b'\\' | b't' | b'n' | b'r', ..] => Some(Clock::Start),
            [b'x', b'2', b'2', ..] => Some(Clock::End),
            // Of bytes beyond ASCII one writes capital letters, the other small ones.
            [b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let letter = [high, low].into_iter().find(|digit| digit.is_ascii_alphabetic())?;
                Some(if letter.is_ascii_uppercase() { Clock::End } else { Clock::Start })
            }
            _ => None,
        }
    })
}

/// Which of the two the records of a log speak for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Votes {
    start: u32,
    end: u32,
}

impl Votes {
    /// Hears one record.
    pub fn hear(&mut self, clock: Option<Clock>) {
        match clock {
            Some(Clock::Start) => self.start += 1,
            Some(Clock::End) => self.end += 1,
            None => {}
        }
    }

    /// What they say where none contradicts.
    #[must_use]
    pub fn verdict(self) -> Option<Clock> {
        match (self.start, self.end) {
            (0, 0) => None,
            (_, 0) => Some(Clock::Start),
            (0, _) => Some(Clock::End),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Line, Parser, ParserOptions};

    fn clock(line: &str) -> Option<Clock> {
        match Parser::new(ParserOptions::default()).line(line.as_bytes()) {
            Line::Record(record) => of(&record, line.as_bytes()),
            other => panic!("{other:?}: {line}"),
        }
    }

    #[test]
    fn what_stands_behind_combined_tells_the_server() {
        let combined = r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 5 "-" "Bot""#;
        for (behind, want) in [
            ("", None),
            (" rt=0.123 urt=0.120", Some(Clock::End)),
            (" cs=HIT", Some(Clock::End)),
            (" \"203.0.113.9\" 0.123", Some(Clock::End)),
            (" 12345", Some(Clock::Start)),
            (" gzip 123456", Some(Clock::Start)),
            (" 12", None),
            (" 12.5", None),
            (" \"203.0.113.9\"", None),
        ] {
            assert_eq!(clock(&format!("{combined}{behind}")), want, "{behind}");
        }
        let common = r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 5"#;
        assert_eq!(clock(common), None);
        assert_eq!(clock(&format!("{common} 12345")), Some(Clock::Start));
    }

    #[test]
    fn escapes_tell_the_server_and_no_client_can_forge_them() {
        let line = |target: &str| {
            format!(r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /{target} HTTP/1.1" 200 5 "-" "Bot""#)
        };
        assert_eq!(clock(&line(r"\x22")), Some(Clock::End));
        assert_eq!(clock(&line(r#"\""#)), Some(Clock::Start));
        // A client that sends `\x22` is logged as `\\x22` by Apache and as `\x5Cx22` by nginx.
        assert_eq!(clock(&line(r"\\x22")), Some(Clock::Start));
        assert_eq!(clock(&line(r"\x5Cx22")), Some(Clock::End));
        assert_eq!(clock(&line(r"\xe9")), Some(Clock::Start));
        assert_eq!(clock(&line(r"\xE9")), Some(Clock::End));
        assert_eq!(clock(&line(r"\x16\x03")), None);
    }

    #[test]
    fn formats_of_one_program_mean_what_it_means_and_votes_must_agree() {
        for format in Format::named() {
            let Some(line) = format.sample().lines().find(|l| !l.starts_with('#')) else { continue };
            if format != Format::W3c {
                assert!(clock(line) == format.clock() || format == Format::Json, "{format:?}");
            }
        }
        let json: Vec<_> = Format::Json.sample().lines().map(clock).collect();
        assert_eq!(json, [Some(Clock::End), Some(Clock::End), Some(Clock::End), Some(Clock::Start), None]);
        let mut votes = Votes::default();
        votes.hear(None);
        assert_eq!(votes.verdict(), None);
        votes.hear(Some(Clock::End));
        assert_eq!(votes.verdict(), Some(Clock::End));
        votes.hear(Some(Clock::Start));
        assert_eq!(votes.verdict(), None);
    }
}
