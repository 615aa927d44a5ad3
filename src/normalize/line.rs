//! What one line of a URL list is: blank, comment, a URL with the time it was fetched, or a reject with its reason.
//!
//! A line is a URL; or a URL, a tab and a time; or a JSON object with `url` and `fetched_at`; or, below a header that
//! names a column `url`, comma-separated fields. Example: `https://example.com/a<TAB>2026-03-10T06:25:14Z`.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate};
use serde::Deserialize;
use serde_json::Value;

/// The longest URL, in bytes. Servers and browsers give up far below.
pub const MAX_URL_BYTES: usize = 16 * 1024;

/// What a line was taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// Nothing but blanks.
    Blank,
    /// Begins with `#`, or is the header of columns.
    Comment,
    /// A URL, and when it was fetched last, in epoch seconds.
    Url(Cow<'a, str>, Option<i64>),
    /// Neither; why.
    Rejected(&'static str),
}

/// Reads the lines of one list, in order.
#[derive(Debug, Default)]
pub struct Lines {
    columns: Option<Columns>,
    begun: bool,
}

/// Where the fields are in lines below a header.
#[derive(Debug, Clone, Copy)]
struct Columns {
    separator: char,
    url: usize,
    fetched_at: Option<usize>,
}

#[derive(Deserialize)]
struct Object {
    url: Option<String>,
    fetched_at: Option<Value>,
}

impl Lines {
    /// What this line is; without its line end.
    pub fn line<'a>(&mut self, raw: &'a [u8]) -> Line<'a> {
        let raw = if self.begun { raw } else { raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw) };
        self.begun = true;
        let Ok(text) = std::str::from_utf8(raw) else { return Line::Rejected("not_utf8") };
        let text = text.trim_matches([' ', '\r', '\n', '\x0B', '\x0C']);
        if text.trim().is_empty() {
            return Line::Blank;
        }
        if text.starts_with('#') {
            return Line::Comment;
        }
        match self.columns {
            None => {
                self.columns =
                    Some(header(text).unwrap_or(Columns { separator: '\t', url: 0, fetched_at: Some(1) }));
                if header(text).is_some() { Line::Comment } else { self.fields(text) }
            }
            Some(_) => self.fields(text),
        }
    }

    fn fields<'a>(&self, text: &'a str) -> Line<'a> {
        if text.starts_with('{') {
            return object(text);
        }
        let columns = self.columns.unwrap_or(Columns { separator: '\t', url: 0, fetched_at: Some(1) });
        let fields: Vec<Cow<'_, str>> = if columns.separator == '\t' {
            text.split('\t').map(Cow::Borrowed).collect()
        } else {
            match comma_separated(text) {
                Some(fields) => fields,
                None => return Line::Rejected("unterminated_quote"),
            }
        };
        let time = columns.fetched_at.and_then(|at| fields.get(at)).map_or(Ok(None), |text| time_of(text));
        match (fields.into_iter().nth(columns.url), time) {
            (_, Err(())) => Line::Rejected("bad_fetched_at"),
            (Some(url), Ok(time)) => url_line(url, time),
            (None, _) => Line::Rejected("no_url"),
        }
    }
}

fn header(text: &str) -> Option<Columns> {
    [',', '\t'].into_iter().find_map(|separator| {
        let names: Vec<String> =
            text.split(separator).map(|name| name.trim().trim_matches('"').to_ascii_lowercase()).collect();
        let url = names.iter().position(|name| name == "url")?;
        Some(Columns { separator, url, fetched_at: names.iter().position(|name| name == "fetched_at") })
    })
}

fn object(text: &str) -> Line<'_> {
    let Ok(object) = serde_json::from_str::<Object>(text) else { return Line::Rejected("bad_json") };
    let time = match object.fetched_at {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => time_of(&text),
        Some(Value::Number(number)) => number.as_i64().ok_or(()).and_then(in_seconds),
        Some(_) => Err(()),
    };
    match (object.url, time) {
        (None, _) => Line::Rejected("no_url"),
        (_, Err(())) => Line::Rejected("bad_fetched_at"),
        (Some(url), Ok(time)) => url_line(Cow::Owned(url), time),
    }
}

fn url_line(url: Cow<'_, str>, fetched_at: Option<i64>) -> Line<'_> {
    let url = match url {
        Cow::Borrowed(url) => Cow::Borrowed(url.trim()),
        Cow::Owned(url) => Cow::Owned(url.trim().to_owned()),
    };
    match refusal(&url) {
        Some(reason) => Line::Rejected(reason),
        None => Line::Url(url, fetched_at),
    }
}

/// Why this is no URL of a page: it is neither absolute with http or https, nor a path.
#[must_use]
pub fn refusal(url: &str) -> Option<&'static str> {
    if url.is_empty() {
        return Some("no_url");
    }
    if url.len() > MAX_URL_BYTES {
        return Some("too_long");
    }
    if url.chars().any(char::is_control) {
        return Some("control_character");
    }
    if url.starts_with('/') {
        return None;
    }
    let Some((scheme, rest)) = url.split_once(':') else { return Some("no_scheme") };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    if !is_scheme || scheme.contains('.') || rest.starts_with(|c: char| c.is_ascii_digit()) {
        // `example.com:80/a` has a port and no scheme.
        return Some("no_scheme");
    }
    if !(scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")) {
        return Some("other_scheme");
    }
    let authority = rest.strip_prefix("//").unwrap_or_default();
    let authority = &authority[..authority.find(['/', '?', '#']).unwrap_or(authority.len())];
    let host = authority.rsplit('@').next().unwrap_or_default();
    (host.is_empty() || host.starts_with(':')).then_some("no_host")
}

/// Epoch seconds up to the year 9999: beyond are milliseconds that somebody took for seconds.
fn in_seconds(epoch: i64) -> Result<Option<i64>, ()> {
    const END: i64 = 253_402_300_800;
    (0..END).contains(&epoch).then_some(Some(epoch)).ok_or(())
}

/// RFC 3339, a date (its midnight, UTC), or epoch seconds; none for an empty field.
fn time_of(text: &str) -> Result<Option<i64>, ()> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().map_err(drop).and_then(in_seconds);
    }
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Ok(Some(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp()));
    }
    DateTime::parse_from_rfc3339(text).map(|time| Some(time.timestamp())).map_err(drop)
}

/// Fields of one line of RFC 4180; none when a quote has no end.
fn comma_separated(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            match rest.split_once(',') {
                Some((field, behind)) => {
                    fields.push(Cow::Borrowed(field));
                    rest = behind;
                    continue;
                }
                None => {
                    fields.push(Cow::Borrowed(rest));
                    return Some(fields);
                }
            }
        };
        let mut field = String::new();
        let mut behind = quoted;
        loop {
            let (part, after) = behind.split_once('"')?;
            field.push_str(part);
            behind = after;
            match behind.strip_prefix('"') {
                Some(after) => {
                    field.push('"');
                    behind = after;
                }
                None => break,
            }
        }
        fields.push(Cow::Owned(field));
        match behind.split_once(',') {
            Some((_, after)) => rest = after,
            None => return Some(fields),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: i64 = 1_773_123_914;

    fn read(list: &str) -> Vec<Line<'static>> {
        let mut lines = Lines::default();
        list.split('\n')
            .map(|line| match lines.line(line.as_bytes()) {
                Line::Url(url, time) => Line::Url(Cow::Owned(url.into_owned()), time),
                Line::Rejected(reason) => Line::Rejected(reason),
                Line::Blank => Line::Blank,
                Line::Comment => Line::Comment,
            })
            .collect()
    }

    fn url(url: &str, time: Option<i64>) -> Line<'static> {
        Line::Url(Cow::Owned(url.to_owned()), time)
    }

    #[test]
    fn a_line_is_a_url_and_blank_ones_and_comments_are_told() {
        let got = read("\u{feff}https://e.example/a\r\n\n  \t \n# no\n  /path?x=1  \n/a b");
        let want = [
            url("https://e.example/a", None),
            Line::Blank,
            Line::Blank,
            Line::Comment,
            url("/path?x=1", None),
            url("/a b", None),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn the_time_stands_behind_a_tab_or_in_an_object_or_in_its_column() {
        let got = read(
            "/a\t2026-03-10T06:25:14Z\n/b\t1773123914\n/c\t2026-03-10\n/d\t\n/e\tyesterday\n/e\t1773123914000\n{\"url\": \"/f\", \"fetched_at\": \"2026-03-10T07:25:14+01:00\", \"more\": 1}\n{\"url\": \"/g\", \"fetched_at\": 1773123914}\n{\"u\": \"/h\"}\n{\"url\"",
        );
        let want = [
            url("/a", Some(TIME)),
            url("/b", Some(TIME)),
            url("/c", Some(TIME - 6 * 3600 - 25 * 60 - 14)),
            url("/d", None),
            Line::Rejected("bad_fetched_at"),
            Line::Rejected("bad_fetched_at"),
            url("/f", Some(TIME)),
            url("/g", Some(TIME)),
            Line::Rejected("no_url"),
            Line::Rejected("bad_json"),
        ];
        assert_eq!(got, want);
        let got = read(
            "# exported\nfetched_at,Depth,\"URL\"\n2026-03-10T06:25:14Z,3,\"/a?x=1,2\"\"\"\n,1,/b\n,1\n,\"1,/c",
        );
        let want = [
            Line::Comment,
            Line::Comment,
            url("/a?x=1,2\"", Some(TIME)),
            url("/b", None),
            Line::Rejected("no_url"),
            Line::Rejected("unterminated_quote"),
        ];
        assert_eq!(got, want);
        assert_eq!(
            read("url\tfetched_at\n/a,b\t2026-03-10T06:25:14Z"),
            [Line::Comment, url("/a,b", Some(TIME))]
        );
        // Without a header a comma is part of the URL.
        assert_eq!(read("/a,2026-03-10"), [url("/a,2026-03-10", None)]);
    }

    #[test]
    fn what_is_no_url_of_a_page_is_rejected_with_its_reason() {
        for (text, reason) in [
            ("example.com/a", "no_scheme"),
            ("example.com:80/a", "no_scheme"),
            ("localhost:80/a", "no_scheme"),
            ("*", "no_scheme"),
            ("mailto:a@b.example", "other_scheme"),
            ("javascript:void(0)", "other_scheme"),
            ("ftp://e.example/a", "other_scheme"),
            ("http:///a", "no_host"),
            ("http://:80/a", "no_host"),
            ("https:/a", "no_host"),
            ("https://e.example/\u{7}", "control_character"),
        ] {
            assert_eq!(refusal(text), Some(reason), "{text}");
        }
        assert_eq!(refusal(&format!("/{}", "a".repeat(MAX_URL_BYTES))), Some("too_long"));
        assert_eq!(read("ok\u{0}").len(), 1);
        assert_eq!(Lines::default().line(b"/\xff"), Line::Rejected("not_utf8"));
        for fine in ["HTTP://E.example", "https://u:p@e.example:80/a", "http://[::1]/", "/", "//e.example/a"]
        {
            assert_eq!(refusal(fine), None, "{fine}");
        }
    }
}
