//! The normal form of a widely copied script, restated: for comparing with lists that were made by it. It merges pages
//! that differ (case), parts spellings of one page (`%7E` in a path), and moves repeated parameters together.
//!
//! Example: `https://A.example/P/?b=2&a=1&b=3#x` becomes `https://A.example/p?b=2&b=3&a=1` with `--canonicalize`.

use super::percent::decoded;

/// Names that the script drops, as it spells them; their case counts.
pub const SEED_BLACKLIST: [&str; 16] = [
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_content",
    "utm_term",
    "sid",
    "sessionid",
    "PHPSESSID",
    "jsessionid",
    "sort",
    "order",
    "page",
    "ref",
    "fbclid",
    "gclid",
    "_ga",
];

/// Schemes behind which the script's library writes `//` also without a host.
const WITH_AUTHORITY: [&str; 3] = ["http", "https", "ftp"];

/// What the script makes of one line; empty where it skips the line. `drops` is asked with decoded names.
#[must_use]
pub fn seed_key(line: &str, drops: &dyn Fn(&str) -> bool, canonicalize: bool) -> String {
    let url: String = line.trim().chars().filter(|c| !matches!(c, '\t' | '\r' | '\n')).collect();
    let (scheme, rest) = scheme_of(&url);
    let (authority, rest) = match rest.strip_prefix("//") {
        Some(behind) => behind.split_at(behind.find(['/', '?', '#']).unwrap_or(behind.len())),
        None => ("", rest),
    };
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    // The parameters of the last segment stand apart: they are neither lower-cased nor cut.
    let last = path.rfind('/').map_or(0, |at| at + 1);
    let (path, parameters) = match path[last..].find(';') {
        Some(at) => (&path[..last + at], &path[last + at + 1..]),
        None => (path, ""),
    };
    let mut path =
        if canonicalize { path.to_lowercase().trim_end_matches('/').to_owned() } else { path.to_owned() };
    let mut query = encoded(&grouped(query), drops);
    if canonicalize {
        query.make_ascii_lowercase();
    }
    if !parameters.is_empty() {
        path.push(';');
        path.push_str(parameters);
    }
    let has_authority =
        !authority.is_empty() || (WITH_AUTHORITY.contains(&scheme.as_str()) && !path.starts_with("//"));
    let mut out = String::with_capacity(url.len());
    if !scheme.is_empty() {
        out.push_str(&scheme);
        out.push(':');
    }
    if has_authority {
        out.push_str("//");
        out.push_str(authority);
        if !path.is_empty() && !path.starts_with('/') {
            out.push('/');
        }
    }
    out.push_str(&path);
    if !query.is_empty() {
        out.push('?');
        out.push_str(&query);
    }
    out
}

/// The scheme in lower case, empty when there is none, and what stands behind it.
fn scheme_of(url: &str) -> (String, &str) {
    match url.split_once(':') {
        Some((scheme, rest))
            if scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')) =>
        {
            (scheme.to_ascii_lowercase(), rest)
        }
        _ => (String::new(), url),
    }
}

/// Names and values decoded, values of one name together where it came first; blank ones are lost.
fn grouped(query: &str) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in query.split('&').filter_map(|piece| piece.split_once('=')) {
        if value.is_empty() {
            continue;
        }
        let (name, value) = (plain(name), plain(value));
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => groups.push((name, vec![value])),
        }
    }
    groups
}

fn plain(text: &str) -> String {
    String::from_utf8_lossy(&decoded(text.replace('+', " ").as_bytes())).into_owned()
}

fn encoded(groups: &[(String, Vec<String>)], drops: &dyn Fn(&str) -> bool) -> String {
    let mut out = String::new();
    for (name, values) in groups.iter().filter(|(name, _)| !drops(name)) {
        for value in values {
            if !out.is_empty() {
                out.push('&');
            }
            push_quoted(&mut out, name);
            out.push('=');
            push_quoted(&mut out, value);
        }
    }
    out
}

fn push_quoted(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            // A string takes every text.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(line: &str, canonicalize: bool) -> String {
        seed_key(line, &|name| SEED_BLACKLIST.contains(&name), canonicalize)
    }

    /// What the script gives for these lines under Python 3.11 to 3.13, without and with `--canonicalize`.
    #[test]
    fn keys_are_those_of_the_script() {
        for (line, plain, canonical) in CASES {
            assert_eq!(
                (key(line, false).as_str(), key(line, true).as_str()),
                (*plain, *canonical),
                "{line:?}"
            );
        }
    }

    #[rustfmt::skip]
    const CASES: &[(&str, &str, &str)] = &[
        ("https://A.example/P/?b=2&a=1&b=3#x", "https://A.example/P/?b=2&b=3&a=1", "https://A.example/p?b=2&b=3&a=1"),
        ("HTTP://Example.COM:80/a#x", "http://Example.COM:80/a", "http://Example.COM:80/a"),
        ("/list?page=2", "/list", "/list"),
        ("/a?t=1&t=2", "/a?t=1&t=2", "/a?t=1&t=2"),
        ("/a?utm_source=x&id=1", "/a?id=1", "/a?id=1"),
        ("/a/./b/../c", "/a/./b/../c", "/a/./b/../c"),
        ("https://e.example/?Sort=1&sort=2&page=3", "https://e.example/?Sort=1", "https://e.example?sort=1"),
        ("https://e.example/A/?q=a+b&x=%7e%2f&y=&z", "https://e.example/A/?q=a+b&x=~%2F", "https://e.example/a?q=a+b&x=~%2f"),
        ("/P;jsessionid=1?Q=V", "/P;jsessionid=1?Q=V", "/p;jsessionid=1?q=v"),
        ("/P;V=1/Q;W=2/", "/P;V=1/Q;W=2/", "/p;v=1/q;w=2"),
        ("#top", "", ""),
        ("", "", ""),
        ("  https://e.example/a  ", "https://e.example/a", "https://e.example/a"),
        ("https://e.example", "https://e.example", "https://e.example"),
        ("https://e.example/", "https://e.example/", "https://e.example"),
        ("https://e.example?x=1", "https://e.example?x=1", "https://e.example?x=1"),
        ("mailto:a@b.example", "mailto:a@b.example", "mailto:a@b.example"),
        ("https:path/x", "https:///path/x", "https:///path/x"),
        ("/a?x=%C3%A9&y=%FF", "/a?x=%C3%A9&y=%EF%BF%BD", "/a?x=%c3%a9&y=%ef%bf%bd"),
        ("/cafÉ/?é=É", "/cafÉ/?%C3%A9=%C3%89", "/café?%c3%a9=%c3%89"),
        ("//host/P/?a=1", "//host/P/?a=1", "//host/p?a=1"),
        ("/a?b=1&&c=2&", "/a?b=1&c=2", "/a?b=1&c=2"),
        ("/a?b=1;c=2", "/a?b=1%3Bc%3D2", "/a?b=1%3bc%3d2"),
        ("http:///p", "http:///p", "http:///p"),
        ("example.com:80/x", "example.com:80/x", "example.com:80/x"),
        ("/a?PHPSESSID=1&phpsessid=2", "/a?phpsessid=2", "/a?phpsessid=2"),
        ("/a?b=%26&c=%3D", "/a?b=%26&c=%3D", "/a?b=%26&c=%3d"),
        ("/a?x=1?y=2#z?w", "/a?x=1%3Fy%3D2", "/a?x=1%3fy%3d2"),
        ("http://u:p@H.example/X//", "http://u:p@H.example/X//", "http://u:p@H.example/x"),
        ("/a/;p", "/a/;p", "/a;p"),
        ("urn:x:y?a=B", "urn:x:y?a=B", "urn:x:y?a=b"),
    ];
}
