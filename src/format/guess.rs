//! What lines look like that were not read: a hint for a person whose log gave nothing.
//!
//! It decides nothing. Example of its input: `2026/03/10 06:25:14 [error] 7#7: *1 open() failed`, an error log of nginx.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

use super::record::Line;
use super::{Format, Parser, ParserOptions};

/// Shapes, and what to do about each; the first that most lines have counts.
const SHAPES: [(&str, &str); 8] = [
    (
        r"^(\[(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ 0-9]{2} |[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9:]{8} \[)",
        "these are lines of an error log: name the access log",
    ),
    (
        r"^[0-9]{9,10}\.[0-9]{3} +[0-9]+ [^ ]+ [A-Z_]+/[0-9]{3} ",
        "this is Squid's own format, which is not read: write another log with `logformat combined`",
    ),
    (
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t][0-9]{2}:[0-9]{2}:[0-9]{2}[ \t]",
        "these look like lines of w3c without the `#Fields:` line that names their columns: keep the first lines of the file",
    ),
    (
        r#"^\s*\{\s*""#,
        "these are json lines with other keys than those that are known: name them as nginx does (time_iso8601, remote_addr, \
         request, status, body_bytes_sent, http_user_agent)",
    ),
    (
        r#"""(GET|POST|HEAD|PUT) "#,
        "these lines went through a CSV writer, which doubled the quotes: export the text itself",
    ),
    (
        r#""(GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH) [^"]* HTTP/[0-9.]+""#,
        "this is a format of your own: give its string, as --log-format-from /etc/nginx/nginx.conf (or the file with Apache's \
         LogFormat)",
    ),
    (
        r"\b(GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH) (/|https?:)",
        "these lines hold requests in a format of their own: give its string with --log-format or --log-format-from",
    ),
    (
        r"[\x00-\x08\x0e-\x1f]",
        "this is no text: name the log, unpacked or packed with gzip, zstd, bzip2 or xz",
    ),
];

/// What to try with lines that `options` did not read; `None` when nothing is likely.
#[must_use]
pub fn guess<T: AsRef<[u8]>>(lines: &[T], options: &ParserOptions) -> Option<String> {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| {
        // In bytes: a word boundary of Unicode has only the slow engine wherever a byte is not ASCII.
        RegexSetBuilder::new(SHAPES.map(|(shape, _)| shape))
            .unicode(false)
            .build()
            .expect("constants that a test compiles")
    });
    let most = |count: usize| count > 0 && count * 2 >= lines.len();
    if options.format.is_some() || options.layout.is_some() {
        let mut parser = Parser::new(ParserOptions { format: None, layout: None, ..options.clone() });
        let mut formats: BTreeMap<Format, usize> = BTreeMap::new();
        for line in lines {
            if let Line::Record(record) = parser.line(line.as_ref()) {
                *formats.entry(record.format).or_default() += 1;
            }
        }
        if let Some((format, _)) = formats.into_iter().filter(|(_, n)| most(*n)).max_by_key(|(_, n)| *n) {
            let name = format.name();
            return Some(format!(
                "these look like lines of {name}: --log-format {name}, or leave --log-format out"
            ));
        }
    }
    let mut counts = [0; SHAPES.len()];
    for line in lines {
        if let Some(first) = SET.matches(line.as_ref()).into_iter().next() {
            counts[first] += 1;
        }
    }
    counts.iter().zip(SHAPES).find(|(n, _)| most(**n)).map(|(_, (_, hint))| hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_its_hint() {
        let options = ParserOptions::default();
        for (line, part) in [
            ("[Tue Mar 10 06:25:14.123 2026] [core:error] [pid 7] down", "error log"),
            ("2026/03/10 06:25:14 [error] 7#7: *1 open() failed", "error log"),
            ("1773123914.123     45 192.0.2.10 TCP_MISS/200 512 GET http://x/ - DIRECT/- -", "Squid"),
            ("2026-03-10 06:25:14 192.0.2.10 GET /p 200", "#Fields:"),
            (r#"{"when":"now","verb":"GET"}"#, "json"),
            (r#"x ""GET / HTTP/1.1"" 200"#, "CSV"),
            (r#"1773123914 192.0.2.10 "GET / HTTP/1.1" 200"#, "of your own"),
            ("192.0.2.10|GET /p|200", "in a format of their own"),
            ("\u{1}\u{2}\u{3}", "no text"),
        ] {
            let hint = guess(&[line.as_bytes()], &options).unwrap_or_default();
            assert!(hint.contains(part), "{line}: {hint}");
        }
        assert_eq!(guess(&[b"hello"], &options), None);
        assert_eq!(guess::<&[u8]>(&[], &options), None);
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_likely_one() {
        for wrong in Format::named() {
            for right in Format::named().filter(|f| *f != wrong && *f != Format::W3c) {
                let options = ParserOptions { format: Some(wrong), ..ParserOptions::default() };
                let lines: Vec<&[u8]> = right.sample().lines().map(str::as_bytes).collect();
                let hint = guess(&lines, &options).unwrap_or_default();
                assert!(
                    hint.contains(&format!("--log-format {}", right.name())),
                    "{wrong:?} {right:?}: {hint}"
                );
            }
        }
    }
}
