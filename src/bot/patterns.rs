//! `--ua-regex-file`: one regular expression a line, searched in the User-Agent. Only what one of them matches is then
//! a bot of the baseline.
//!
//! Case-sensitive search over bytes, like `grep -E`; `(?i)` is accepted. Blank lines and lines that begin with `#` are
//! skipped, a byte order mark and carriage returns are stripped. How often each was used, the caller counts.
//!
//! Example of a line: `Yandex[A-Za-z]*Bot`

use std::path::Path;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::declared::product_in;
use super::text::is_word;
use crate::error::Error;

/// Patterns of a file, in its order; an index is the position of a pattern among them.
#[derive(Debug, Clone)]
pub struct PatternFile {
    texts: Vec<String>,
    lines: Vec<usize>,
    singles: Vec<Regex>,
    set: RegexSet,
}

impl PatternFile {
    /// Reads and compiles a file.
    ///
    /// # Errors
    ///
    /// [`crate::error::ErrorKind::Usage`] with file and line where a pattern does not compile or is empty (which would
    /// match everything), and where the file cannot be read or holds no pattern.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|e| {
            Error::usage(path.display(), "cannot read the patterns")
                .cause(e)
                .hint("--ua-regex-file takes a file with one regular expression a line")
        })?;
        Self::parse(&path.display().to_string(), &bytes)
    }

    /// The same for bytes in memory; `place` stands in errors.
    ///
    /// # Errors
    ///
    /// As [`PatternFile::read`].
    pub fn parse(place: &str, bytes: &[u8]) -> Result<Self, Error> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let (mut texts, mut lines, mut sources, mut singles) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, line) in (1..).zip(bytes.split(|b| *b == b'\n')) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.trim_ascii().is_empty() || line.starts_with(b"#") {
                continue;
            }
            let place = format!("{place}:{number}");
            let Ok(text) = std::str::from_utf8(line) else {
                return Err(Error::usage(place, "expected a pattern in UTF-8, found other bytes")
                    .hint("write a byte above 0x7F as (?-u:\\xNN)"));
            };
            let (source, regex) = compile(text).map_err(|e| refused(&place, text, &e))?;
            if is_empty(&regex) {
                return Err(Error::usage(
                    place,
                    format!("the pattern `{text}` is empty: it would take every client for a bot"),
                )
                .hint("take the line out, or name what the bots' User-Agents hold"));
            }
            texts.push(text.to_owned());
            lines.push(number);
            sources.push(source);
            singles.push(regex);
        }
        if texts.is_empty() {
            return Err(Error::usage(place, "expected at least one pattern, found none")
                .hint("one regular expression a line; leave --ua-regex-file out to count every bot"));
        }
        let set = RegexSetBuilder::new(&sources)
            .size_limit(SET_LIMIT)
            .dfa_size_limit(SET_LIMIT)
            .build()
            .map_err(|e| Error::usage(place, "the patterns are too large together").cause(e))?;
        Ok(Self { texts, lines, singles, set })
    }

    /// How many there are, at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.texts.len()
    }

    /// The patterns as written.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The line of a pattern, from 1.
    ///
    /// # Panics
    ///
    /// Where `index` is not below [`PatternFile::count`].
    #[must_use]
    pub fn line(&self, index: usize) -> usize {
        self.lines[index]
    }

    /// Whether any pattern matches.
    #[must_use]
    pub fn is_match(&self, user_agent: &[u8]) -> bool {
        self.set.is_match(user_agent)
    }

    /// The indices of all patterns that match, ascending.
    #[must_use]
    pub fn matches(&self, user_agent: &[u8]) -> Vec<usize> {
        self.set.matches(user_agent).into_iter().collect()
    }

    /// The index of the first pattern that matches.
    #[must_use]
    pub fn first_match(&self, user_agent: &[u8]) -> Option<usize> {
        if !self.set.is_match(user_agent) {
            return None;
        }
        self.set.matches(user_agent).into_iter().next()
    }

    /// The product token around the match of the first pattern that matches, without its version: the name of a bot
    /// that neither the catalogue nor the client itself names. `None` where no pattern matches or no token is there.
    #[must_use]
    pub fn product_token_around(&self, user_agent: &[u8]) -> Option<String> {
        let found = self.singles[self.first_match(user_agent)?].find(user_agent)?;
        let before = user_agent[..found.start()].iter().rev().take_while(|b| is_word(**b)).count();
        let after = user_agent[found.end()..].iter().take_while(|b| is_word(**b)).count();
        product_in(&user_agent[found.start() - before..found.end() + after])
    }
}

/// Thousands of patterns fit; a file that does not is a mistake.
const SET_LIMIT: usize = 1 << 27;

/// The pattern over bytes, as `grep` would see them; where it names letters beyond ASCII in classes, over characters.
fn compile(text: &str) -> Result<(String, Regex), regex::Error> {
    let build = |source: String| {
        RegexBuilder::new(&source).size_limit(SET_LIMIT).build().map(|regex| (source, regex))
    };
    build(format!("(?-u){text}")).or_else(|_| build(text.to_owned()))
}

/// An empty pattern in one of its spellings: `()`, `(?i)`, `a|`, `a*`. It finds nothing, and finds it everywhere; `.*`
/// finds something, so somebody meant it.
fn is_empty(regex: &Regex) -> bool {
    regex.find(b"\x01").is_some_and(|found| found.is_empty())
}

#[cold]
fn refused(place: &str, text: &str, e: &regex::Error) -> Error {
    let message = e.to_string();
    let last = message.lines().last().unwrap_or_default();
    let cause = last.strip_prefix("error: ").unwrap_or(last);
    let construct = ["(?<=", "(?<!", "(?=", "(?!", "(?>"].into_iter().find(|c| text.contains(c));
    let back = text.as_bytes().windows(2).find(|w| w[0] == b'\\' && w[1].is_ascii_digit());
    let (construct, hint) = match (construct, back) {
        (Some(c @ "(?>"), _) => {
            (Some(c.to_owned()), "there are no atomic groups; write a plain group (?:...)")
        }
        (Some(c), _) => (
            Some(c.to_owned()),
            "look-around is not supported: match what must be there; what must not be there cannot be said in a pattern",
        ),
        (None, Some(w)) => (
            Some(String::from_utf8_lossy(w).into_owned()),
            "backreferences are not supported: write the repeated text out",
        ),
        (None, None) if message.contains("size limit") => (None, "use smaller repetition counts"),
        (None, None) => {
            (None, "write a literal special character with a backslash, as in `archive\\.org_bot`")
        }
    };
    let what = match construct {
        Some(c) => format!("the pattern `{text}` does not compile at `{c}`"),
        None => format!("the pattern `{text}` does not compile"),
    };
    Error::usage(place, what).cause(cause).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &[u8]) -> PatternFile {
        PatternFile::parse("patterns.txt", text).unwrap()
    }

    #[test]
    fn comments_blank_lines_marks_and_carriage_returns_are_no_patterns() {
        let file = parsed(b"\xEF\xBB\xBFFooBot\r\n\r\n# comment\n   \n(?i)barbot\n");
        assert_eq!(file.texts(), ["FooBot", "(?i)barbot"]);
        assert_eq!((file.line(0), file.line(1), file.count()), (1, 5, 2));
    }

    #[test]
    fn the_search_is_case_sensitive_and_over_bytes() {
        let file = parsed(b"FooBot\n(?i)barbot\n^a.b$\nFoo|Baz\n[\xc3\xa9]x\n");
        assert_eq!(file.matches(b"x FooBot"), [0, 3]);
        assert_eq!(file.first_match(b"foobot"), None);
        assert_eq!(file.first_match(b"x BARBOT"), Some(1));
        assert_eq!(file.matches(b"a\xffb"), [2], "a dot is any byte");
        assert_eq!(
            file.matches("\u{e9}x".as_bytes()),
            [4],
            "a class of letters beyond ASCII is one of characters"
        );
        assert!(!file.is_match(b""));
    }

    #[test]
    fn a_pattern_that_does_not_compile_is_named_with_line_and_construct() {
        for (text, want, hint) in [
            (
                "ok\nFoo(?=Bot)",
                "patterns.txt:2: the pattern `Foo(?=Bot)` does not compile at `(?=`",
                "look-around",
            ),
            ("(?<!x)Foo", ":1: the pattern `(?<!x)Foo` does not compile at `(?<!`", "look-around"),
            (r"(a)\1", r"does not compile at `\1`", "backreferences"),
            ("(?>a)", "does not compile at `(?>`", "atomic"),
            ("Foo(Bot", "does not compile: unclosed group", "backslash"),
            ("*Bot", "does not compile: repetition operator missing expression", "backslash"),
            ("()", "is empty", "take the line out"),
            ("(?i)", "is empty", "take the line out"),
            ("Foo|", "is empty", "take the line out"),
            ("a*", "is empty", "take the line out"),
            ("# nothing", "expected at least one pattern", "one regular expression a line"),
        ] {
            let e = PatternFile::parse("patterns.txt", text.as_bytes()).unwrap_err();
            assert_eq!(e.exit().code(), 2);
            assert!(e.to_string().contains(want), "{e}");
            assert!(e.remedy().unwrap().contains(hint), "{e}: {:?}", e.remedy());
        }
        assert!(PatternFile::parse("p", b"a\xffb").unwrap_err().to_string().starts_with("p:1: "));
        assert_eq!(PatternFile::read(Path::new("/no/such/file")).unwrap_err().exit().code(), 2);
    }

    #[test]
    fn a_pattern_for_empty_user_agents_is_no_empty_pattern() {
        assert!(parsed(b"^-?$").is_match(b"-"));
        assert!(parsed(b".*").is_match(b"anybody"));
    }

    #[test]
    fn the_product_around_a_match_names_an_unknown_client() {
        let file = parsed(b"Yandex[A-Za-z]*Bot\nzgrab/\n^Mozilla/5\\.0 own\nEmpty ?\n\\(\\)\n");
        for (user_agent, want) in [
            ("x (compatible; YandexFooBot-2.0; y)", Some("YandexFooBot")),
            ("Mozilla/5.0 tool-zgrab/0.x", Some("tool-zgrab")),
            ("Mozilla/5.0 own-client/3", Some("own-client")),
            ("a()b", Some("a")),
            ("() ()", None),
            ("nothing", None),
        ] {
            assert_eq!(file.product_token_around(user_agent.as_bytes()).as_deref(), want, "{user_agent}");
        }
    }
}
