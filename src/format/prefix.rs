//! The words before the stamp: virtual host, X-Forwarded-For list, client, ident, user.
//!
//! Which word is which is decided by what is an address; quotes and the stamp are found elsewhere.
//!
//! Example of its input: `www.example.com:443 203.0.113.7, 198.51.100.8 192.0.2.10 - Jane Q Doe`

use super::client::{address, port};
use super::quote::{self, skip_blanks, trim, word_end};
use super::record::{Flags, Format};

/// The words before the stamp, as logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix<'a> {
    pub(super) host: Option<&'a [u8]>,
    pub(super) vhost_port: Option<u16>,
    pub(super) forwarded: Option<&'a [u8]>,
    pub(super) client: &'a [u8],
    pub(super) ident: &'a [u8],
    pub(super) user: &'a [u8],
    pub(super) flags: Flags,
}

/// Reads the text before the stamp; `None` when there is no word, or no virtual host where a named format wants one. With
/// a named format the virtual host is there or not as the format says; without, the words decide.
pub(super) fn parse(text: &[u8], format: Option<Format>) -> Option<Prefix<'_>> {
    let mut rest = trim(text);
    if rest.is_empty() {
        return None;
    }
    let (mut host, mut vhost_port) = (None, None);
    let vhost = match format {
        None => leads_with_vhost(rest),
        Some(Format::VhostCombined | Format::VhostCommon) => true,
        Some(_) => false,
    };
    if vhost {
        let (word, behind) = first_word(rest);
        let (name, number) = split_port(word);
        (host, vhost_port) = (Some(name), number);
        rest = behind;
    }
    let (forwarded, rest) = forwarded_list(rest);
    let (client, rest) = first_word(rest);
    if client.is_empty() {
        return None;
    }
    let (ident, user) = first_word(rest);
    let mut flags = Flags::empty();
    if user.is_empty() {
        // `192.0.2.10 - -` is a client, whatever the format that somebody named.
        if client == b"-" && vhost_port.is_none() && host.is_some_and(|host| address(host).is_some()) {
            return None;
        }
        flags.insert(Flags::MISSING_USER);
    }
    if is_host_name(ident) {
        flags.insert(Flags::IDENT_LOOKS_LIKE_HOST);
    }
    Some(Prefix { host, vhost_port, forwarded, client, ident, user, flags })
}

/// The first word, and what is behind it and the blanks.
fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = word_end(text, 0);
    (&text[..end], &text[skip_blanks(text, end)..])
}

/// The first word is the virtual host when it is no address and has a port or is followed by an address; an address
/// with a port is it only when an address follows.
fn leads_with_vhost(text: &[u8]) -> bool {
    let (first, rest) = first_word(text);
    if first.contains(&b',') || first.starts_with(b"\"") {
        return false;
    }
    let (second, rest) = first_word(rest);
    let address_follows = address(second.strip_suffix(b",").unwrap_or(second)).is_some()
        || (second.contains(&b',') && address(&second[..comma(second)]).is_some())
        || second.starts_with(b"\"");
    match address(first) {
        Some(_) => has_port(first) && address_follows,
        // Not `name:port - -`: a client with its port, and no virtual host.
        None => address_follows || (has_port(first) && (second != b"-" || word_end(rest, 0) < rest.len())),
    }
}

fn comma(word: &[u8]) -> usize {
    memchr::memchr(b',', word).unwrap_or(word.len())
}

fn has_port(word: &[u8]) -> bool {
    split_port(word).1.is_some()
}

/// `name:443` and `[2001:db8::1]:443` in two; a bare IPv6 address has no port.
pub(super) fn split_port(word: &[u8]) -> (&[u8], Option<u16>) {
    let Some(colon) = memchr::memrchr(b':', word) else {
        return (word, None);
    };
    let name = &word[..colon];
    if name.contains(&b':') && !name.ends_with(b"]") {
        return (word, None);
    }
    match port(&word[colon + 1..]) {
        Some(number) => (name, Some(number)),
        None => (word, None),
    }
}

/// Takes an X-Forwarded-For list off the front: words that end in a comma and one more, one word with commas, or one
/// in quotes. A single address is a list when another one follows. Without a client behind it the last entry is the
/// client.
fn forwarded_list(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if text.starts_with(b"\"")
        && let Some(end) = quote::closing(text, 1)
    {
        return (Some(&text[1..end]), &text[skip_blanks(text, end + 1)..]);
    }
    let mut at = 0;
    let mut last = 0;
    loop {
        let end = word_end(text, at);
        last = if end > at { at } else { last };
        let word = &text[at..end];
        at = skip_blanks(text, end);
        let more = word.ends_with(b",") || text[at..].starts_with(b",");
        if !more || at >= text.len() {
            break;
        }
    }
    let listed = last > 0 || text[..word_end(text, 0)].contains(&b',');
    let (next, after) = first_word(&text[at..]);
    if address(next).is_some() {
        // One address is a list only where all of client, ident and user are behind it.
        let single =
            !listed && address(&text[..word_end(text, 0)]).is_some() && word_end(after, 0) < after.len();
        if listed || single {
            return (Some(trim(&text[..at])), &text[at..]);
        }
        return (None, text);
    }
    if !listed {
        return (None, text);
    }
    // The list stands where the client belongs: its last entry is the nearest address.
    let word = &text[last..];
    let split = memchr::memrchr(b',', &word[..word_end(word, 0)]).map_or(last, |comma| last + comma + 1);
    let list = trim(&text[..split]);
    (Some(list.strip_suffix(b",").unwrap_or(list)), &text[split..])
}

/// A name with a dot and a letter, perhaps with a port.
fn is_host_name(ident: &[u8]) -> bool {
    let (name, _) = split_port(ident);
    name.len() > 2
        && name.iter().any(u8::is_ascii_alphabetic)
        && name[1..name.len() - 1].contains(&b'.')
        && name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// host, port, list, client, ident, user
    fn words(text: &str) -> Vec<String> {
        let p = parse(text.as_bytes(), None).expect("a prefix");
        let s = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        let port = p.vhost_port.map_or_else(|| "~".to_owned(), |n| n.to_string());
        let opt = |o: Option<&[u8]>| o.map_or_else(|| "~".to_owned(), s);
        vec![opt(p.host), port, opt(p.forwarded), s(p.client), s(p.ident), s(p.user)]
    }

    #[test]
    fn every_word_finds_its_place() {
        for (text, want) in [
            ("192.0.2.1 - -", ["~", "~", "~", "192.0.2.1", "-", "-"]),
            ("192.0.2.1 - Jane Q Doe", ["~", "~", "~", "192.0.2.1", "-", "Jane Q Doe"]),
            ("192.0.2.1", ["~", "~", "~", "192.0.2.1", "", ""]),
            ("192.0.2.1 -", ["~", "~", "~", "192.0.2.1", "-", ""]),
            ("crawl.example.net - -", ["~", "~", "~", "crawl.example.net", "-", "-"]),
            ("crawl.example.net:5094 - -", ["~", "~", "~", "crawl.example.net:5094", "-", "-"]),
            ("- - -", ["~", "~", "~", "-", "-", "-"]),
            ("unix: - -", ["~", "~", "~", "unix:", "-", "-"]),
            ("192.0.2.1:80 - -", ["~", "~", "~", "192.0.2.1:80", "-", "-"]),
            ("www.example.com 192.0.2.1 - -", ["www.example.com", "~", "~", "192.0.2.1", "-", "-"]),
            ("www.example.com:443 192.0.2.1 - -", ["www.example.com", "443", "~", "192.0.2.1", "-", "-"]),
            (
                "www.example.com:443 crawl.example.net - -",
                ["www.example.com", "443", "~", "crawl.example.net", "-", "-"],
            ),
            ("www.example.com:443 - - -", ["www.example.com", "443", "~", "-", "-", "-"]),
            ("198.51.100.1:443 192.0.2.1 - -", ["198.51.100.1", "443", "~", "192.0.2.1", "-", "-"]),
            ("[2001:db8::1]:443 2001:db8::9 - -", ["[2001:db8::1]", "443", "~", "2001:db8::9", "-", "-"]),
            (
                "203.0.113.7, 198.51.100.8 192.0.2.1 - -",
                ["~", "~", "203.0.113.7, 198.51.100.8", "192.0.2.1", "-", "-"],
            ),
            (
                "203.0.113.7,198.51.100.8 192.0.2.1 - -",
                ["~", "~", "203.0.113.7,198.51.100.8", "192.0.2.1", "-", "-"],
            ),
            (
                "203.0.113.7 , 198.51.100.8 192.0.2.1 - -",
                ["~", "~", "203.0.113.7 , 198.51.100.8", "192.0.2.1", "-", "-"],
            ),
            ("203.0.113.7 192.0.2.1 - -", ["~", "~", "203.0.113.7", "192.0.2.1", "-", "-"]),
            ("203.0.113.7, 198.51.100.8 - -", ["~", "~", "203.0.113.7", "198.51.100.8", "-", "-"]),
            ("203.0.113.7,198.51.100.8 - -", ["~", "~", "203.0.113.7", "198.51.100.8", "-", "-"]),
            (
                "\"203.0.113.7, 198.51.100.8\" 192.0.2.1 - -",
                ["~", "~", "203.0.113.7, 198.51.100.8", "192.0.2.1", "-", "-"],
            ),
            (
                "www.example.com 203.0.113.7, 198.51.100.8 192.0.2.1 - -",
                ["www.example.com", "~", "203.0.113.7, 198.51.100.8", "192.0.2.1", "-", "-"],
            ),
        ] {
            assert_eq!(words(text), want, "{text}");
        }
        assert_eq!(parse(b"  ", None), None);
    }

    #[test]
    fn a_client_is_not_taken_for_the_virtual_host_of_a_named_format() {
        let read = |text: &str| parse(text.as_bytes(), Some(Format::VhostCombined)).is_some();
        assert!(!read("192.0.2.1 - -") && !read("2001:db8::9 - jdoe"));
        assert!(
            read("198.51.100.1 192.0.2.1 - -") && read("198.51.100.1:443 - -") && read("www.example.com - -")
        );
    }

    #[test]
    fn a_name_where_ident_belongs_is_flagged() {
        let flagged = |text: &str| {
            parse(text.as_bytes(), None).is_some_and(|p| p.flags.contains(Flags::IDENT_LOOKS_LIKE_HOST))
        };
        assert!(flagged("192.0.2.1 shop.example.com -"));
        assert!(!flagged("192.0.2.1 - shop.example.com"));
        assert!(!flagged("192.0.2.1 jdoe -"));
    }
}
