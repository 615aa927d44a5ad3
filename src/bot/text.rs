//! A User-Agent as words: product tokens, URLs and e-mail addresses; and what surrounds a match.
//!
//! All of it is one pass from left to right with a bounded look at the neighbours: hostile strings cost linear time.
//! What a word means is not decided here.
//!
//! Example: `Foo/1.0 (+http://foo.example/bot)` holds the words `Foo` and `1.0` and one URL.

use std::borrow::Cow;

/// The string without blanks around it, and with `%20` as a blank (phones encode the names of their apps); where a
/// string has no blank at all, with `+` as one (IIS logs). A `+` before a URL stays: it marks a contact.
pub(super) fn readable(user_agent: &[u8]) -> Cow<'_, [u8]> {
    let text = user_agent.trim_ascii();
    let blank = memchr::memchr(b' ', text).is_some();
    let plus = !blank && memchr::memchr(b'+', text).is_some();
    let percent = memchr::memchr(b'%', text).is_some() && memchr::memmem::find(text, b"%20").is_some();
    if !plus && !percent {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if percent && rest.starts_with(b"%20") {
            out.push(b' ');
            rest = &rest[3..];
            continue;
        }
        let kept = byte != b'+' || !plus || after.starts_with(b"http") || after.starts_with(b"www.");
        out.push(if kept { byte } else { b' ' });
        rest = after;
    }
    Cow::Owned(out)
}

/// A piece of a User-Agent, by its byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A run of `[A-Za-z0-9._-]`.
    Word { start: usize, end: usize },
    /// From `http://`, `https://`, `www.` or `host.tld/path` to a blank or a closing character.
    Url { start: usize, end: usize },
    /// `local@domain.tld`.
    Email { start: usize, end: usize },
    /// `(`
    Open,
    /// `)`
    Close,
}

/// All pieces from left to right.
pub(super) struct Pieces<'a> {
    text: &'a [u8],
    at: usize,
    /// The last `@`: behind it nothing needs to be tried as an address.
    last_at_sign: Option<usize>,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self { text, at: 0, last_at_sign: memchr::memrchr(b'@', text) }
    }

    fn url_end(&self, from: usize) -> usize {
        let stop = |b: &u8| {
            b.is_ascii_whitespace()
                || matches!(b, b';' | b',' | b')' | b'(' | b'"' | b'\'' | b'<' | b'>' | b']')
        };
        self.text[from..].iter().position(stop).map_or(self.text.len(), |n| from + n)
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            let start = self.at;
            let byte = *self.text.get(start)?;
            match byte {
                b'(' | b')' => {
                    self.at += 1;
                    return Some(if byte == b'(' { Piece::Open } else { Piece::Close });
                }
                b if is_word(b) => {}
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            let length =
                self.text[start..].iter().position(|b| !is_word(*b)).unwrap_or(self.text.len() - start);
            let end = start + length;
            let (word, rest) = (&self.text[start..end], &self.text[end..]);
            if (word.eq_ignore_ascii_case(b"http") || word.eq_ignore_ascii_case(b"https"))
                && rest.starts_with(b"://")
                || word.get(..4).is_some_and(|w| w.eq_ignore_ascii_case(b"www."))
                || has_host_form(word) && matches!(rest, [b'/', b, ..] if b.is_ascii_alphabetic())
            {
                self.at = self.url_end(end);
                return Some(Piece::Url { start, end: self.at });
            }
            // `+` and `%` belong to local parts, not to words: `rogerbot-crawler+shiny@moz.com`.
            if self.last_at_sign.is_some_and(|at| at >= end)
                && let Some(end) = email_end(self.text, end)
            {
                self.at = end;
                return Some(Piece::Email { start, end });
            }
            self.at = end;
            return Some(Piece::Word { start, end });
        }
    }
}

/// The end of an e-mail address whose local part's first word ends at `end`.
fn email_end(text: &[u8], end: usize) -> Option<usize> {
    let mut at = end;
    // Local parts have at most 64 bytes; the bound keeps strings of `+` linear.
    while matches!(text.get(at), Some(b'+' | b'%')) && at < end + 64 {
        at += 1;
        at += text[at..].iter().take(64).take_while(|b| is_word(**b)).count();
    }
    if text.get(at) != Some(&b'@') {
        return None;
    }
    let domain = &text[at + 1..];
    let length = domain.iter().position(|b| !is_word(*b)).unwrap_or(domain.len());
    // A full stop may close the sentence.
    let domain = domain[..length].strip_suffix(b".").unwrap_or(&domain[..length]);
    has_host_form(domain).then_some(at + 1 + length)
}

/// `name.tld` with a last label of at least two letters and nothing else.
fn has_host_form(word: &[u8]) -> bool {
    memchr::memrchr(b'.', word).is_some_and(|dot| {
        let last = &word[dot + 1..];
        dot > 0 && last.len() >= 2 && last.iter().all(u8::is_ascii_alphabetic)
    })
}

/// A byte of a product token.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

/// Whether the match at `start..end` only mentions a name: `like X`, `like-X`, `X-like`, `Following X`.
pub(super) fn is_mention(text: &[u8], start: usize, end: usize) -> bool {
    let tail = &text[end..];
    if tail.get(..5).is_some_and(|t| t.eq_ignore_ascii_case(b"-like"))
        && !tail.get(5).is_some_and(u8::is_ascii_alphanumeric)
    {
        return true;
    }
    let head = &text[..start];
    let Some((&separator, _)) = head.split_last() else { return false };
    let before = match separator {
        b'-' => &head[..head.len() - 1],
        // Two or three blanks happen; the bound keeps strings of blanks linear.
        b' ' | b'+' => {
            let blanks = head.iter().rev().take(4).take_while(|b| matches!(b, b' ' | b'+')).count();
            &head[..head.len() - blanks]
        }
        _ => return false,
    };
    let ends_with = |word: &[u8]| {
        let at = before.len().wrapping_sub(word.len());
        before.get(at..).is_some_and(|w| w.eq_ignore_ascii_case(word))
            && !(at > 0 && before[at - 1].is_ascii_alphanumeric())
    };
    ends_with(b"like") || separator != b'-' && ends_with(b"following")
}

/// Where the version in a word begins: `-2.1`, `_v3`, `.4` behind letters, or the end of the word.
pub(super) fn without_version(word: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(step) = word[at..].iter().position(|b| matches!(b, b'.' | b'_' | b'-')) {
        let separator = at + step;
        let after = word[separator + 1..].strip_prefix(b"v").unwrap_or(&word[separator + 1..]);
        if after.first().is_some_and(u8::is_ascii_digit) {
            // `X-7Bot` goes on with letters: that is a name.
            let number = after.iter().position(|b| !b.is_ascii_digit() && *b != b'.').unwrap_or(after.len());
            if !after.get(number).is_some_and(u8::is_ascii_alphabetic) {
                return &word[..separator];
            }
        }
        at = separator + 1;
    }
    word
}

/// A name as outputs carry it: no separators around it, at most 64 bytes of `[A-Za-z0-9._-]`; `None` without a letter.
pub(super) fn name_of(word: &[u8]) -> Option<String> {
    let separator = |b: &u8| matches!(b, b'.' | b'_' | b'-');
    let start = word.iter().position(|b| !separator(b))?;
    let word = &word[start..word.len().min(start + 64)];
    let end = word.iter().rposition(|b| !separator(b))?;
    let word = &word[..=end];
    (word.iter().any(u8::is_ascii_alphabetic) && word.iter().all(|b| is_word(*b)))
        .then(|| String::from_utf8_lossy(word).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        Pieces::of(text.as_bytes())
            .filter_map(|p| match p {
                Piece::Word { start, end } => Some(&text[start..end]),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn urls_and_addresses_are_no_words() {
        assert_eq!(words("Foo/1.0 (+http://foo.example/bot; x)"), ["Foo", "1.0", "x"]);
        assert_eq!(words("a (see www.foo.example/crawler.htm) b"), ["a", "see", "b"]);
        assert_eq!(words("a HTTPS://foo.example b"), ["a", "b"]);
        assert_eq!(words("+foo.example/gptbot a"), ["a"]);
        assert_eq!(words("crawl+shiny@foo.example, a"), ["a"]);
        assert_eq!(words("x spider-feedback@foo.example) a"), ["x", "a"]);
        assert_eq!(words("android@101.0.4951.41"), ["android", "101.0.4951.41"]);
        assert_eq!(words("en_IR@calendar=gregorian"), ["en_IR", "calendar", "gregorian"]);
        assert_eq!(words("acmebot.com/1.0"), ["acmebot.com", "1.0"]);
    }

    #[test]
    fn mentions_are_told_by_their_neighbours() {
        for (text, name, want) in [
            ("X (like Googlebot)", "Googlebot", true),
            ("X; LIKE  Googlebot/2", "Googlebot", true),
            ("X+like+Googlebot", "Googlebot", true),
            ("X like-Googlebot", "Googlebot", true),
            ("Googlebot-like X", "Googlebot", true),
            ("Daumoa (Following Googlebot)", "Googlebot", true),
            ("Googlebot-likeable", "Googlebot", false),
            ("unlike Googlebot", "Googlebot", false),
            ("(KHTML, like Gecko) Googlebot", "Googlebot", false),
            ("Googlebot", "Googlebot", false),
            ("like", "like", false),
        ] {
            let start = text.find(name).unwrap();
            assert_eq!(is_mention(text.as_bytes(), start, start + name.len()), want, "{text}");
        }
    }

    #[test]
    fn blanks_that_writers_encode_are_blanks_again() {
        for (logged, want) in [
            ("  curl/8.0 ", "curl/8.0"),
            ("Safari%20Technology%20Preview/1 X", "Safari Technology Preview/1 X"),
            (
                "Mozilla/5.0+(compatible;+Foo/2.0;++http://foo.example)",
                "Mozilla/5.0 (compatible; Foo/2.0; +http://foo.example)",
            ),
            ("a+b c", "a+b c"),
            ("100%", "100%"),
        ] {
            assert_eq!(readable(logged.as_bytes()).as_ref(), want.as_bytes());
        }
    }

    #[test]
    fn names_lose_their_version_and_stay_short() {
        for (word, want) in [
            ("Foo-2.1", "Foo"),
            ("Foo_v3", "Foo"),
            ("Foo.4", "Foo"),
            ("W3C-7Bot", "W3C-7Bot"),
            ("Foo-Bar", "Foo-Bar"),
            ("a2b", "a2b"),
        ] {
            assert_eq!(without_version(word.as_bytes()), want.as_bytes());
        }
        assert_eq!(name_of(b"-_Foo.-").as_deref(), Some("Foo"));
        assert_eq!(name_of(b"2.0"), None);
        assert_eq!(name_of(b"..."), None);
        assert_eq!(name_of("x".repeat(90).as_bytes()).unwrap().len(), 64);
    }
}
