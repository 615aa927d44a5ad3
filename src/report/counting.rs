//! The shell command that counts in the logs what the history says of one minute of one bot.
//!
//! Not the reading of a log: its first lines are given. Example for nginx's own format:
//! `zgrep -ahE '\[10/Mar/2026:06:25:[0-9]{2}(\.[0-9]+)? \+0000' 'access.log' | grep -aiE '..."([^"]*[^[:alnum:]"])?Googlebot' | wc -l`

use std::collections::BTreeSet;

use chrono::{DateTime, FixedOffset, Offset as _, Utc};
use regex::bytes::Regex;

/// How a log writes times, in one zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stamp {
    /// `[10/Mar/2026:06:25:14 +0000]`, seconds east of UTC; without a zone, UTC.
    Common(Option<i32>),
    /// `2026-03-10T06:25:14+00:00`; how the zone is written, and the seconds east of UTC that it means.
    Iso(String, i32),
}

/// A log that holds lines of the minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedLog {
    /// Its path.
    pub path: String,
    /// What reads it: `zgrep`, `zstdgrep`, `bzgrep`, `xzgrep`.
    pub tool: &'static str,
    /// The forms of its stamps; none when they cannot be searched for as text.
    pub stamps: BTreeSet<Stamp>,
    /// The User-Agent is the sixth field, as in Combined.
    pub is_combined: bool,
    /// Lines begin with the virtual host.
    pub has_host: bool,
}

/// Whose lines are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted<'a> {
    /// Everybody's.
    Everybody,
    /// Those whose User-Agent holds one of these, and none of those.
    Tokens {
        /// Any of these ...
        any: &'a [String],
        /// ... and none of these: other bots whose names begin alike.
        none: &'a [String],
    },
    /// This bot's, which no text tells from others: the program has to say.
    Named(&'a str),
    /// Those of all bots, likewise.
    AllBots,
}

impl CountedLog {
    /// What the first bytes of a log show of its stamps. `more` are offsets (seconds east of UTC) that the site's clock
    /// had in that minute: the beginning of a log may have been written before the clock was changed.
    #[must_use]
    pub fn stamps_of(head: &[u8], more: &[i32]) -> BTreeSet<Stamp> {
        let mut found = BTreeSet::new();
        let (Ok(common), Ok(iso)) = (
            Regex::new(r"\[[0-9]{1,2}/[A-Z][a-z]{2}/[0-9]{4}[: ][0-9:]{8}(?:\.[0-9]+)?(?: ([+-][0-9]{4}))?"),
            Regex::new(
                r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T \t][0-9:]{8}(?:[.,][0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?",
            ),
        ) else {
            return found;
        };
        for line in head.split(|b| *b == b'\n').filter(|l| !l.starts_with(b"#")).take(2000) {
            let zone = |m: &regex::bytes::Captures<'_>| {
                m.get(1).map(|z| String::from_utf8_lossy(z.as_bytes()).into_owned())
            };
            if let Some(m) = common.captures(line) {
                found.insert(Stamp::Common(zone(&m).map(|z| seconds_east(&z))));
            } else if let Some(m) = iso.captures(line) {
                let zone = zone(&m).unwrap_or_default();
                let east = seconds_east(&zone);
                found.insert(Stamp::Iso(zone, east));
            }
        }
        let zoned = |s: &Stamp| matches!(s, Stamp::Common(Some(_)));
        if found.iter().any(zoned) {
            found.extend(more.iter().map(|east| Stamp::Common(Some(*east))));
        }
        if found.iter().any(|s| matches!(s, Stamp::Iso(zone, _) if zone.len() == 6)) {
            found.extend(more.iter().map(|east| Stamp::Iso(iso_zone(*east), *east)));
        }
        found
    }
}

/// The command, for `sh`. `minute` is UTC. `host` is the one whose lines are meant where a log holds several.
#[must_use]
pub fn command(logs: &[CountedLog], minute: i64, host: Option<&str>, counted: &Counted<'_>) -> String {
    let is_text = logs.iter().all(|l| !l.stamps.is_empty() && (host.is_none() || l.has_host));
    match counted {
        Counted::Named(bot) => by_parse(logs, minute, host, &[&json("bot", bot)]),
        // Groups that are no bots stand in parentheses.
        Counted::AllBots => by_parse(logs, minute, host, &["\"bot\":\""])
            .replace(" | wc -l", " | grep -vF '\"bot\":\"(' | wc -l"),
        _ if !is_text => by_parse(logs, minute, host, &[]).replace(" | wc -l", &with_tokens(logs, counted)),
        _ => {
            let reads: Vec<String> = logs
                .iter()
                .map(|log| {
                    let patterns: Vec<String> = log.stamps.iter().map(|s| s.pattern(minute)).collect();
                    format!("{} -ahE {} {}", log.tool, quoted(&patterns.join("|")), quoted(&log.path))
                })
                .collect();
            let read = match reads.as_slice() {
                [one] => one.clone(),
                several => format!("{{ {}; }}", several.join("; ")),
            };
            let of_host = host.map_or(String::new(), |host| {
                format!(" | grep -aiE {}", quoted(&format!("^{}(:[0-9]+)?[[:blank:]]", literal(host))))
            });
            format!("{read}{of_host}{}", with_tokens(logs, counted))
        }
    }
}

fn with_tokens(logs: &[CountedLog], counted: &Counted<'_>) -> String {
    let Counted::Tokens { any, none } = counted else { return " | wc -l".to_owned() };
    let joined = |tokens: &[String]| {
        let all: Vec<String> = tokens.iter().map(|t| literal(t)).collect();
        if all.len() == 1 { all.concat() } else { format!("({})", all.join("|")) }
    };
    // Status, bytes, referer, then the User-Agent: a path that names a bot is no bot.
    let before = if logs.iter().all(|l| l.is_combined) {
        "\" [0-9-]+ [0-9-]+ \"[^\"]*\" \"([^\"]*[^[:alnum:]\"])?"
    } else {
        ""
    };
    let mut text = format!(" | grep -aiE {}", quoted(&format!("{before}{}", joined(any))));
    if !none.is_empty() {
        text.push_str(&format!(" | grep -aviE {}", quoted(&format!("{before}{}", joined(none)))));
    }
    text + " | wc -l"
}

/// What the program itself takes the lines for.
fn by_parse(logs: &[CountedLog], minute: i64, host: Option<&str>, texts: &[&str]) -> String {
    let paths: Vec<String> = logs.iter().map(|l| quoted(&l.path)).collect();
    let stamp = at(minute, 0).format("\"time\":\"%Y-%m-%dT%H:%M:").to_string();
    let of_host = host.map(|h| json("host", h));
    let filters = of_host.as_deref().into_iter().chain(texts.iter().copied());
    let filters: String = filters.map(|text| format!(" | grep -F {}", quoted(text))).collect();
    format!("crawl-baseline parse {} | grep -F {}{filters} | wc -l", paths.join(" "), quoted(&stamp))
}

/// A member of an object as `parse` prints it.
fn json(key: &str, value: &str) -> String {
    format!("\"{key}\":{}", serde_json::json!(value))
}

impl Stamp {
    /// An extended regular expression for all stamps of that minute.
    fn pattern(&self, minute: i64) -> String {
        let seconds = "[0-9]{2}([.,][0-9]+)?";
        match self {
            Self::Common(zone) => {
                let east = zone.unwrap_or(0);
                let local = at(minute, east);
                let day = local.format("%d").to_string();
                let day = day.strip_prefix('0').map_or(day.clone(), |d| format!("0?{d}"));
                let zone = zone.map_or(String::new(), |z| format!(" {}", literal(&zone_text(z, ""))));
                format!("\\[{day}/{}{seconds}{zone}", local.format("%b/%Y[: ]%H:%M:"))
            }
            Self::Iso(zone, east) => {
                let local = at(minute, *east);
                format!("{}{seconds}{}", local.format("%Y-%m-%d[T[:blank:]]%H:%M:"), literal(zone))
            }
        }
    }
}

fn at(minute: i64, east: i32) -> DateTime<FixedOffset> {
    let utc = DateTime::<Utc>::from_timestamp(minute.saturating_mul(60), 0).unwrap_or_default();
    utc.with_timezone(&FixedOffset::east_opt(east).unwrap_or_else(|| Utc.fix()))
}

fn iso_zone(east: i32) -> String {
    zone_text(east, ":")
}

fn zone_text(east: i32, between: &str) -> String {
    let sign = if east < 0 { '-' } else { '+' };
    let minutes = east.abs() / 60;
    format!("{sign}{:02}{between}{:02}", minutes / 60, minutes % 60)
}

/// `+0100`, `-03:30`, `Z`, nothing.
fn seconds_east(zone: &str) -> i32 {
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let (Some(hours), Some(minutes)) = (digits.get(..2), digits.get(2..4)) else { return 0 };
    let east = hours.parse::<i32>().unwrap_or(0) * 3600 + minutes.parse::<i32>().unwrap_or(0) * 60;
    if zone.starts_with('-') { -east } else { east }
}

/// The text as an extended regular expression that matches it and nothing else.
fn literal(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\^$.|?*+()[]{}".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// One word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-10T00:25Z.
    const MINUTE: i64 = 29_551_705;

    fn log(head: &str) -> CountedLog {
        CountedLog {
            path: "it's.log".to_owned(),
            tool: "zgrep",
            stamps: CountedLog::stamps_of(head.as_bytes(), &[3600]),
            is_combined: true,
            has_host: false,
        }
    }

    #[test]
    fn stamps_are_taken_from_the_first_lines_with_their_zones() {
        for (head, want) in [
            (
                "a - - [10/Mar/2026:06:25:14 +0200] \"GET",
                vec![Stamp::Common(Some(3600)), Stamp::Common(Some(7200))],
            ),
            ("h [10/Mar/2026:06:25:14.123] http", vec![Stamp::Common(None)]),
            ("{\"t\":\"2026-03-10T06:25:14Z\"}", vec![Stamp::Iso("Z".to_owned(), 0)]),
            (
                "x 2026-03-10T06:25:14-03:30 y",
                vec![Stamp::Iso("+01:00".to_owned(), 3600), Stamp::Iso("-03:30".to_owned(), -12_600)],
            ),
            ("#Date: 2026-03-10 06:25:14\n2026-03-10\t06:25:14\tGET", vec![Stamp::Iso(String::new(), 0)]),
            ("{\"ts\":1773123914.5}", vec![]),
        ] {
            assert_eq!(CountedLog::stamps_of(head.as_bytes(), &[3600]).into_iter().collect::<Vec<_>>(), want);
        }
    }

    #[test]
    fn a_minute_is_written_as_the_log_writes_it() {
        for (stamp, minute, want) in [
            (Stamp::Common(Some(0)), MINUTE, r"\[10/Mar/2026[: ]00:25:[0-9]{2}([.,][0-9]+)? \+0000"),
            (Stamp::Common(Some(-5400)), MINUTE, r"\[0?9/Mar/2026[: ]22:55:[0-9]{2}([.,][0-9]+)? -0130"),
            (Stamp::Common(None), MINUTE, r"\[10/Mar/2026[: ]00:25:[0-9]{2}([.,][0-9]+)?"),
            (
                Stamp::Iso("+01:00".to_owned(), 3600),
                MINUTE,
                r"2026-03-10[T[:blank:]]01:25:[0-9]{2}([.,][0-9]+)?\+01:00",
            ),
        ] {
            assert_eq!(stamp.pattern(minute), want);
        }
    }

    #[test]
    fn names_and_paths_are_quoted_for_the_expression_and_for_the_shell() {
        let any = ["a.b'c".to_owned()];
        let logs = [log("a - - [10/Mar/2026:06:25:14 +0000] \"GET")];
        let text = command(&logs, MINUTE, None, &Counted::Tokens { any: &any, none: &[] });
        assert!(text.contains("'it'\\''s.log'") && text.contains("a\\.b'\\''c'"), "{text}");
        let everybody = command(&logs, MINUTE, None, &Counted::Everybody);
        assert!(everybody.starts_with("zgrep -ahE '") && everybody.ends_with(".log' | wc -l"), "{everybody}");
    }

    #[test]
    fn what_text_cannot_tell_is_counted_by_the_program() {
        let logs = [log("{\"ts\":1773123914.5}")];
        let text = command(&logs, MINUTE, None, &Counted::Everybody);
        assert!(
            text.starts_with("crawl-baseline parse 'it'\\''s.log' | grep -F '\"time\":\"2026-03-"),
            "{text}"
        );
        let text = command(&logs, MINUTE, Some("h"), &Counted::Named("(other-declared)"));
        assert!(
            text.ends_with("| grep -F '\"host\":\"h\"' | grep -F '\"bot\":\"(other-declared)\"' | wc -l"),
            "{text}"
        );
    }
}
