//! `--host-from-path`: the site of a record out of its request, for one log over sites that differ by their paths.
//!
//! Example: `^/sites/([a-z]+)/` finds `shop` in `/sites/shop/p/1`

use regex::bytes::Regex;

use super::record::Record;
use super::request;

/// A regular expression that finds a site's name in a target as logged: its group `host`, else its first group, else all
/// that it matches.
#[derive(Debug, Clone)]
pub struct PathHost(Regex);

impl PathHost {
    /// Compiles it.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn new(text: &str) -> Result<Self, String> {
        let regex = Regex::new(text).map_err(|e| {
            let text = e.to_string();
            text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        })?;
        if regex.is_match(b"") {
            return Err("it matches nothing at all, and so everything".to_owned());
        }
        Ok(Self(regex))
    }

    /// The expression.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.as_str()
    }

    /// The site; `None` where nothing is found and the record's own host counts.
    #[must_use]
    pub fn of<'a>(&self, record: &Record<'a>) -> Option<&'a [u8]> {
        let found = self.0.captures(request::target(record.request)?)?;
        let name = found.name("host").or_else(|| found.get(1)).or_else(|| found.get(0))?;
        Some(name.as_bytes()).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Line, Parser, ParserOptions};

    #[test]
    fn the_named_group_the_first_or_the_whole_match_is_the_host() {
        let line =
            br#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /sites/shop/p/1 HTTP/1.1" 200 5 "-" "-""#;
        let mut parser = Parser::new(ParserOptions::default());
        let Line::Record(record) = parser.line(line) else { panic!() };
        for (text, want) in [
            ("^/sites/([a-z]+)/", Some("shop")),
            ("^/([a-z]+)/(?P<host>[a-z]+)/", Some("shop")),
            ("^/sites/[a-z]+", Some("/sites/shop")),
            ("^/blogs/([a-z]+)/", None),
            ("^/sites(x)?/", Some("/sites/")),
        ] {
            let host =
                PathHost::new(text).unwrap().of(&record).map(|h| String::from_utf8_lossy(h).into_owned());
            assert_eq!(host.as_deref(), want, "{text}");
        }
        assert!(PathHost::new("(").unwrap_err().contains("unclosed group"));
        assert!(PathHost::new("x*").unwrap_err().contains("everything"));
    }
}
