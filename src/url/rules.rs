//! The canonical form of a URL: what makes two targets the same page.
//!
//! RFC 3986, section 6.2.2 and 6.2.3, and the blacklist of parameters. Not more: the case of path and query, reserved
//! characters as codes, trailing slashes, and the order of parameters can make another page, so they stay.
//!
//! Example: `HTTP://Example.COM:80/a/../b;jsessionid=1?utm_source=x&t=%7e#top` has the key `http://example.com/b?t=~`.

use std::borrow::Cow;

use super::blacklist::{DEFAULT_BLACKLIST, PAGING};
use super::parameter::split;
use super::percent::{Unreserved, code, is_allowed, push_canonical};

/// What is dropped and folded beyond RFC 3986. The default is what stored keys are made with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// Parameters that stay although a list below names them; case-insensitive.
    pub keep: Vec<String>,
    /// Parameters that go beside [`DEFAULT_BLACKLIST`]; case-insensitive.
    pub extra: Vec<String>,
    /// Parameters are sorted by name; equal names keep their order.
    pub sort: bool,
    /// Slashes at the end of the path go, the root's excepted.
    pub strip_trailing_slash: bool,
    /// `+` in a query is `%20`.
    pub form_encoded: bool,
    /// `page` goes too.
    pub drop_paging: bool,
}

/// Which host of an absolute target is left out.
#[derive(Clone, Copy)]
enum OwnHost<'a> {
    None,
    Any,
    Is(&'a [u8]),
}

impl Rules {
    /// The names that are dropped under these rules, in the order in which they are looked up.
    #[must_use]
    pub fn blacklist(&self) -> Vec<&str> {
        let paging: &[&str] = if self.drop_paging { &PAGING } else { &[] };
        DEFAULT_BLACKLIST
            .iter()
            .chain(paging)
            .copied()
            .chain(self.extra.iter().map(String::as_str))
            .filter(|name| !self.keep.iter().any(|kept| kept.eq_ignore_ascii_case(name)))
            .collect()
    }

    /// Whether a parameter of this name is dropped.
    #[must_use]
    pub fn drops(&self, name: &str) -> bool {
        let is = |listed: &&str| listed.eq_ignore_ascii_case(name);
        (DEFAULT_BLACKLIST.iter().any(is)
            || (self.drop_paging && PAGING.iter().any(is))
            || self.extra.iter().any(|listed| listed.eq_ignore_ascii_case(name)))
            && !self.keep.iter().any(|kept| kept.eq_ignore_ascii_case(name))
    }

    /// The key of a request's target: printable ASCII, the same for itself.
    ///
    /// `target` is what the request asked for, with the escapes of the log undone. The host of an absolute target
    /// goes unless it differs from `record_host` (with or without port; default ports and case do not count); it
    /// goes also when the record has none. User names in an authority go always. Bytes that no URI may hold
    /// come out percent-coded, so the key of any bytes is a printable text.
    ///
    /// Targets that are neither absolute nor begin with `/` (`*`, `host:443`, garbage) keep their words: only codes
    /// are put in upper case, the fragment goes, and a query is treated like any other.
    ///
    /// ```
    /// use crawl_baseline::url::Rules;
    /// let rules = Rules::default();
    /// assert_eq!(rules.key(b"http://www.example.com/p/1?x=1", Some(b"www.example.com")), "/p/1?x=1");
    /// assert_eq!(rules.key(b"http://other.example.net/p/1", Some(b"www.example.com")), "http://other.example.net/p/1");
    /// ```
    #[must_use]
    pub fn key(&self, target: &[u8], record_host: Option<&[u8]>) -> String {
        self.canonical(target, record_host.map_or(OwnHost::Any, OwnHost::Is))
    }

    /// The key of a URL from a list, where the host always matters: an absolute URL keeps it.
    ///
    /// ```
    /// use crawl_baseline::url::Rules;
    /// assert_eq!(Rules::default().key_of_url(b"HTTP://Example.COM:80/a#x"), "http://example.com/a");
    /// ```
    #[must_use]
    pub fn key_of_url(&self, url: &[u8]) -> String {
        self.canonical(url, OwnHost::None)
    }

    fn canonical(&self, target: &[u8], own: OwnHost<'_>) -> String {
        if is_canonical_path(target)
            && (!self.strip_trailing_slash || !target.ends_with(b"/"))
            && let Ok(path) = std::str::from_utf8(target)
        {
            return path.to_owned();
        }
        let (path, query) = split(target);
        let mut out = String::with_capacity(target.len() + 8);
        match absolute(path) {
            Some(url) => {
                if !url.is_on(own) {
                    url.push_origin(&mut out);
                }
                self.push_path(&mut out, if url.path.is_empty() { b"/" } else { url.path });
            }
            None if path.starts_with(b"/") => self.push_path(&mut out, path),
            None => {
                push_canonical(&mut out, path, Unreserved::Keep);
                if is_authority(path) {
                    out.make_ascii_lowercase();
                }
            }
        }
        if let Some(query) = query {
            self.push_query(&mut out, query);
        }
        out
    }

    /// `path` begins with a slash.
    fn push_path(&self, out: &mut String, path: &[u8]) {
        let mut canonical = String::with_capacity(path.len());
        push_canonical(&mut canonical, path, Unreserved::Decode);
        let path =
            if self.drops("jsessionid") { without_session(&canonical) } else { Cow::Borrowed(&*canonical) };
        let start = out.len();
        push_without_dots(out, &path);
        if self.strip_trailing_slash {
            let kept = out[start..].trim_end_matches('/').len().max(1);
            out.truncate(start + kept);
        }
    }

    fn push_query(&self, out: &mut String, query: &[u8]) {
        let mut pieces = Vec::new();
        for piece in query.split(|b| *b == b'&').filter(|piece| !piece.is_empty()) {
            let mut text = String::with_capacity(piece.len());
            push_canonical(&mut text, piece, Unreserved::Decode);
            if self.form_encoded {
                text = text.replace('+', "%20");
            }
            if !self.drops(name_of(&text)) {
                pieces.push(text);
            }
        }
        if self.sort {
            pieces.sort_by(|a, b| name_of(a).cmp(name_of(b)));
        }
        for (i, piece) in pieces.iter().enumerate() {
            out.push(if i == 0 { '?' } else { '&' });
            out.push_str(piece);
        }
    }
}

fn name_of(piece: &str) -> &str {
    piece.split_once('=').map_or(piece, |(name, _)| name)
}

/// Whether this is a path that is its own key: most of a log. Never true of another; not true of all that are.
fn is_canonical_path(target: &[u8]) -> bool {
    target.starts_with(b"/")
        && target.iter().all(|b| is_allowed(*b) && !matches!(b, b'?' | b'#' | b';'))
        && memchr::memmem::find(target, b"/.").is_none()
}

/// The path without `;jsessionid=...`, in any segment.
fn without_session(path: &str) -> Cow<'_, str> {
    const NAME: &str = ";jsessionid=";
    let begins = |at: usize| {
        path.as_bytes()[at..].get(..NAME.len()).is_some_and(|s| s.eq_ignore_ascii_case(NAME.as_bytes()))
    };
    if !path.bytes().enumerate().any(|(at, b)| b == b';' && begins(at)) {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len());
    let mut at = 0;
    while let Some(found) = path[at..].find(';') {
        let semicolon = at + found;
        out.push_str(&path[at..semicolon]);
        at = semicolon + 1;
        if begins(semicolon) {
            at = path[at..].find(['/', ';']).map_or(path.len(), |n| at + n);
        } else {
            out.push(';');
        }
    }
    out.push_str(&path[at..]);
    Cow::Owned(out)
}

/// RFC 3986, section 5.2.4, for a path that begins with a slash.
fn push_without_dots(out: &mut String, path: &str) {
    let start = out.len();
    let mut segments = path[1..].split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => {
                let parent = out[start..].rfind('/').unwrap_or(0);
                out.truncate(start + parent);
            }
            _ => {
                out.push('/');
                out.push_str(segment);
                continue;
            }
        }
        if is_last {
            out.push('/');
        }
    }
    if out.len() == start {
        out.push('/');
    }
}

/// The parts of `scheme://user@host:port/path`.
struct Absolute<'a> {
    scheme: &'a [u8],
    host: &'a [u8],
    port: Port<'a>,
    path: &'a [u8],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Port<'a> {
    /// None was given, or the scheme's own.
    Default,
    Number(u16),
    /// What stands behind the colon is no port.
    Text(&'a [u8]),
}

fn absolute(target: &[u8]) -> Option<Absolute<'_>> {
    let colon = memchr::memmem::find(target, b"://")?;
    let scheme = &target[..colon];
    if !scheme.first()?.is_ascii_alphabetic()
        || !scheme.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    {
        return None;
    }
    let rest = &target[colon + 3..];
    let (authority, path) = rest.split_at(memchr::memchr(b'/', rest).unwrap_or(rest.len()));
    let authority = &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..];
    let (host, port) = host_and_port(authority, scheme);
    Some(Absolute { scheme, host, port, path })
}

fn host_and_port<'a>(authority: &'a [u8], scheme: &[u8]) -> (&'a [u8], Port<'a>) {
    let colon = match memchr::memrchr(b':', authority) {
        // In `[::1]` the last colon belongs to the address.
        Some(at) if !authority[at..].contains(&b']') => at,
        _ => return (authority, Port::Default),
    };
    let (host, port) = (&authority[..colon], &authority[colon + 1..]);
    if host.contains(&b':') && !(host.starts_with(b"[") && host.ends_with(b"]")) {
        // `a:1:80` is no authority. Without its last port it would become one, and read differently.
        return (authority, Port::Default);
    }
    if port.is_empty() {
        return (host, Port::Default);
    }
    let number = std::str::from_utf8(port)
        .ok()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|text| text.parse().ok());
    match number {
        Some(number) if default_port(scheme) == Some(number) => (host, Port::Default),
        Some(number) => (host, Port::Number(number)),
        None => (host, Port::Text(port)),
    }
}

fn default_port(scheme: &[u8]) -> Option<u16> {
    match scheme.to_ascii_lowercase().as_slice() {
        b"http" | b"ws" => Some(80),
        b"https" | b"wss" => Some(443),
        b"ftp" => Some(21),
        _ => None,
    }
}

impl Absolute<'_> {
    fn is_on(&self, own: OwnHost<'_>) -> bool {
        match own {
            OwnHost::None => false,
            OwnHost::Any => true,
            OwnHost::Is(record) => {
                let (host, port) = host_and_port(record, self.scheme);
                host.eq_ignore_ascii_case(self.host) && port == self.port
            }
        }
    }

    fn push_origin(&self, out: &mut String) {
        push_lower(out, self.scheme);
        out.push_str("://");
        push_lower(out, self.host);
        match self.port {
            Port::Default => {}
            Port::Number(number) => {
                out.push(':');
                out.push_str(&number.to_string());
            }
            Port::Text(text) => {
                out.push(':');
                push_lower(out, text);
            }
        }
    }
}

/// Lower case but for the digits of codes; nothing is decoded.
fn push_lower(out: &mut String, bytes: &[u8]) {
    push_canonical(out, &lower_outside_codes(bytes), Unreserved::Keep);
}

fn lower_outside_codes(bytes: &[u8]) -> Vec<u8> {
    let mut lower = bytes.to_ascii_lowercase();
    for at in 0..lower.len() {
        if lower[at] == b'%' && code(&lower[at + 1..]).is_some() {
            lower[at + 1..at + 3].make_ascii_uppercase();
        }
    }
    lower
}

/// `host:port`, as CONNECT has it.
fn is_authority(target: &[u8]) -> bool {
    memchr::memrchr(b':', target).is_some_and(|colon| {
        let port = &target[colon + 1..];
        colon > 0
            && (1..=5).contains(&port.len())
            && port.iter().all(u8::is_ascii_digit)
            && target[..colon].iter().all(|b| b.is_ascii_alphanumeric() || b"-._[]:".contains(b))
    })
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
