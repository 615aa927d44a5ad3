//! `--filter`: which records the baseline is about, by what they asked, how they were answered and who asked.
//!
//! An expression is a field, one of `=`, `!=`, `~`, `!~`, and a value; of several expressions all must hold. What only
//! the User-Agent decides is decided once per User-Agent. The history never knows of it.
//!
//! Example of its input: `status=5xx`, `url~^/search\?`, `bot!=Googlebot,Bingbot`

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};

use crate::error::Error;
use crate::format::escape::unescape;
use crate::format::{Record, request};

/// Bytes that a compiled expression may take.
const REGEX_LIMIT: usize = 8 << 20;

/// What an expression looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Status,
    Url,
    Method,
    Host,
    UserAgent,
    Bot,
}

impl Field {
    const NAMES: [(&'static str, Self); 6] = [
        ("status", Self::Status),
        ("url", Self::Url),
        ("method", Self::Method),
        ("host", Self::Host),
        ("user-agent", Self::UserAgent),
        ("bot", Self::Bot),
    ];

    /// Whether the User-Agent alone decides.
    fn is_of_asker(self) -> bool {
        matches!(self, Self::UserAgent | Self::Bot)
    }
}

#[derive(Debug, Clone)]
enum Test {
    /// The status is in one of these; `None` is a status that was not logged.
    Status(Vec<Option<(u16, u16)>>),
    /// The text is this one.
    Text(String),
    /// The text is one of these, case ignored.
    Names(Vec<String>),
    /// The expression matches somewhere in the text.
    Regex(Regex),
}

/// One expression.
#[derive(Debug, Clone)]
struct Filter {
    field: Field,
    negated: bool,
    test: Test,
}

/// Expressions that all must hold; none holds always.
#[derive(Debug, Clone, Default)]
pub struct Filters(Vec<Filter>);

impl Filters {
    /// Reads expressions.
    ///
    /// # Errors
    /// The first one that is none (usage), with what was expected.
    pub fn parse<T: AsRef<str>>(expressions: &[T]) -> Result<Self, Error> {
        expressions.iter().map(|text| Filter::parse(text.as_ref())).collect::<Result<_, _>>().map(Self)
    }

    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether what is asked of the User-Agent (as logged, escapes undone) and of the bot's name holds.
    #[must_use]
    pub fn keep_asker(&self, user_agent: Option<&[u8]>, bot: &str) -> bool {
        self.0
            .iter()
            .filter(|f| f.field.is_of_asker())
            .all(|f| f.holds(if f.field == Field::Bot { bot.as_bytes() } else { user_agent.unwrap_or(b"-") }))
    }

    /// Whether what is asked of the record itself holds; `host` is the site that it belongs to.
    #[must_use]
    pub fn keep_record(&self, record: &Record<'_>, host: &[u8]) -> bool {
        self.0.iter().filter(|f| !f.field.is_of_asker()).all(|filter| match filter.field {
            Field::Status => filter.holds_status(record.status),
            Field::Host => filter.holds(&unescape(host)),
            Field::Method => filter.holds(&unescape(request::split(record.request).method.unwrap_or(b"-"))),
            _ => filter.holds(&unescape(request::target(record.request).unwrap_or(b"-"))),
        })
    }
}

impl Filter {
    fn parse(text: &str) -> Result<Self, Error> {
        let place = format!("--filter {text}");
        let Some(at) = text.find(['=', '~', '!']) else {
            return Err(Error::usage(place, "is no filter")
                .cause("expected a field, then =, !=, ~ or !~, then a value; found none of the four")
                .hint("as --filter status=5xx, or --filter 'url~^/search'"));
        };
        let name = text[..at].trim();
        let Some((_, field)) =
            Field::NAMES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(&name.replace('_', "-")))
        else {
            return Err(Error::usage(place, "names no known field").cause(format_args!(
                "expected one of {}; found {name:?}",
                Field::NAMES.map(|f| f.0).join(", ")
            )));
        };
        let rest = &text[at..];
        let (negated, is_regex, value) = match rest.as_bytes() {
            [b'!', b'=', ..] => (true, false, &rest[2..]),
            [b'!', b'~', ..] => (true, true, &rest[2..]),
            [b'=', ..] => (false, false, &rest[1..]),
            [b'~', ..] => (false, true, &rest[1..]),
            _ => {
                return Err(Error::usage(place, "is no filter")
                    .cause(format_args!("expected != or !~ behind {name}; found {rest:?}")));
            }
        };
        if value.is_empty() {
            return Err(Error::usage(place, "has no value")
                .cause(format_args!("expected one behind {text}; found nothing"))
                .hint("what was not logged is -, as in --filter user-agent=-"));
        }
        let test = match field {
            Field::Status if is_regex => {
                return Err(Error::usage(place, "cannot search in a number")
                    .cause(format_args!("expected = or != behind status; found {rest:?}"))
                    .hint("as --filter status=404,5xx or --filter status!=200-399"));
            }
            Field::Status => Test::Status(
                value.split(',').map(|item| statuses(&place, item.trim())).collect::<Result<_, _>>()?,
            ),
            _ if is_regex => Test::Regex(
                RegexBuilder::new(value).size_limit(REGEX_LIMIT).unicode(true).build().map_err(|e| {
                    Error::usage(&place, "is no regular expression")
                        .cause(e.to_string().lines().last().unwrap_or_default().trim_start_matches("error: "))
                        .hint("a literal . ? ( or [ needs a backslash before it; put the whole in single quotes")
                })?,
            ),
            Field::Url | Field::UserAgent => Test::Text(value.to_owned()),
            _ => Test::Names(value.split(',').map(|name| name.trim().to_owned()).collect()),
        };
        Ok(Self { field, negated, test })
    }

    fn holds(&self, text: &[u8]) -> bool {
        let found = match &self.test {
            Test::Status(_) => false,
            Test::Text(wanted) => wanted.as_bytes() == text,
            Test::Names(wanted) => wanted.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(text)),
            Test::Regex(regex) => regex.is_match(text),
        };
        found != self.negated
    }

    fn holds_status(&self, status: Option<u16>) -> bool {
        let Test::Status(wanted) = &self.test else { return false };
        let found = wanted.iter().any(|range| match (range, status) {
            (None, None) => true,
            (Some((low, high)), Some(status)) => (low..=high).contains(&&status),
            _ => false,
        });
        found != self.negated
    }
}

/// `404`, `5xx`, `400-499` or `-`.
fn statuses(place: &dyn fmt::Display, item: &str) -> Result<Option<(u16, u16)>, Error> {
    let number = |text: &str| text.parse::<u16>().ok().filter(|n| *n < 1000 && !text.starts_with('+'));
    let range = match item.as_bytes() {
        [b'-'] => return Ok(None),
        [class @ b'0'..=b'9', b'x' | b'X', b'x' | b'X'] => {
            let first = u16::from(class - b'0') * 100;
            Some((first, first + 99))
        }
        _ => match item.split_once('-') {
            Some((low, high)) => number(low).zip(number(high)).filter(|(low, high)| low <= high),
            None => number(item).map(|n| (n, n)),
        },
    };
    range.map(Some).ok_or_else(|| {
        Error::usage(place, "names no status")
            .cause(format_args!("expected 404, 5xx, 400-499 or -; found {item:?}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Line, Parser, ParserOptions};

    fn keeps(expressions: &[&str], line: &str, bot: &str) -> bool {
        let filters = Filters::parse(expressions).unwrap();
        let mut parser = Parser::new(ParserOptions::default());
        let Line::Record(record) = parser.line(line.as_bytes()) else { panic!("{line}") };
        let user_agent = record.user_agent.map(unescape);
        filters.keep_asker(user_agent.as_deref(), bot)
            && filters.keep_record(&record, record.host.unwrap_or(b"shop.example"))
    }

    #[test]
    fn each_field_and_operator_says_what_it_keeps() {
        let line = r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /search?q=\"a\" HTTP/1.1" 503 5 "-" "ExampleBot/1.0 (x)""#;
        for (expression, want) in [
            ("status=503", true),
            ("status=5xx", true),
            ("status=404,500-599", true),
            ("status=4xx", false),
            ("status!=5XX", false),
            ("status=-", false),
            ("url~^/search\\?", true),
            ("url~\"a\"$", true),
            ("url!~search", false),
            ("url=/search", false),
            ("url=/search?q=\"a\"", true),
            ("method=get", true),
            ("method=POST, HEAD", false),
            ("host=SHOP.example", true),
            ("host~\\.example$", true),
            ("user-agent~Bot/[0-9]", true),
            ("user_agent~bot", false),
            ("User-Agent~(?i)bot", true),
            ("user-agent=ExampleBot/1.0 (x)", true),
            ("bot=examplebot", true),
            ("bot!=Googlebot,ExampleBot", false),
            ("bot~^Ex", true),
        ] {
            assert_eq!(keeps(&[expression], line, "ExampleBot"), want, "{expression}");
        }
        assert!(keeps(&["status=5xx", "bot=ExampleBot"], line, "ExampleBot"));
        assert!(!keeps(&["status=5xx", "bot=GPTBot"], line, "ExampleBot"));
        assert!(keeps(&[], line, "ExampleBot"));
    }

    #[test]
    fn what_was_not_logged_is_a_dash() {
        let line = r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "-" - -"#;
        for expression in ["status=-", "url=-", "method=-", "user-agent=-", "status!=200", "url!~/"] {
            assert!(keeps(&[expression], line, "(user-agent-not-logged)"), "{expression}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused_with_expected_and_found() {
        for (text, part) in [
            ("", "found none of the four"),
            ("status", "found none of the four"),
            ("stats=5xx", "found \"stats\""),
            ("=5", "found \"\""),
            ("status!5xx", "expected != or !~"),
            ("status=", "has no value"),
            ("status=5x", "found \"5x\""),
            ("status=abc", "found \"abc\""),
            ("status=1000", "found \"1000\""),
            ("status=+20", "found \"+20\""),
            ("status=500-400", "found \"500-400\""),
            ("status~5..", "cannot search in a number"),
            ("url~(", "unclosed group"),
        ] {
            let e = Filters::parse(&[text]).unwrap_err();
            assert_eq!(e.exit().code(), 2, "{text}");
            assert!(e.to_string().contains(part), "{text}: {e}");
            assert!(e.place().starts_with("--filter"), "{e}");
        }
    }
}
