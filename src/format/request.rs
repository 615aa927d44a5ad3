//! The request line between its quotes: method, target, protocol, and what to call it when it is none.
//!
//! A request that is no request is still load. Everything borrows the raw bytes; escapes stay in place.
//!
//! Example of its input: `GET /my file.pdf HTTP/1.1`

use super::escape::unescape;

/// What a request line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestClass {
    /// A method and a target.
    Normal,
    /// `-` or nothing.
    Empty,
    /// The first byte is below 0x20 or above 0x7E, escaped or not.
    Binary,
    /// Anything else.
    Malformed,
}

impl RequestClass {
    /// The name that users see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Empty => "empty",
            Self::Binary => "binary",
            Self::Malformed => "malformed",
        }
    }
}

/// The form of a target, RFC 9112 section 3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestForm {
    /// `/path?query`, and a query alone.
    Origin,
    /// `http://host/path`.
    Absolute,
    /// `host:port`, of CONNECT.
    Authority,
    /// `*`.
    Asterisk,
}

impl RequestForm {
    /// The name that users see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Origin => "origin",
            Self::Absolute => "absolute",
            Self::Authority => "authority",
            Self::Asterisk => "asterisk",
        }
    }
}

/// A request line in its parts. Only [`RequestClass::Normal`] has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// What it is.
    pub class: RequestClass,
    /// The method as logged.
    pub method: Option<&'a [u8]>,
    /// The target as logged, blanks inside kept.
    pub target: Option<&'a [u8]>,
    /// The protocol as logged; `None` when there is none.
    pub protocol: Option<&'a [u8]>,
    /// The form of the target.
    pub form: Option<RequestForm>,
}

impl Request<'_> {
    const fn none(class: RequestClass) -> Self {
        Self { class, method: None, target: None, protocol: None, form: None }
    }
}

/// Splits the raw request line.
///
/// ```
/// use crawl_baseline::format::request::{split, RequestClass};
/// let request = split(b"GET /my file.pdf HTTP/1.1");
/// assert_eq!((request.class, request.target), (RequestClass::Normal, Some(&b"/my file.pdf"[..])));
/// ```
#[must_use]
pub fn split(raw: &[u8]) -> Request<'_> {
    if raw.first().is_some_and(|first| is_binary(*first)) {
        return Request::none(RequestClass::Binary);
    }
    let text = trim(raw);
    if text.is_empty() || text == b"-" {
        return Request::none(RequestClass::Empty);
    }
    if starts_with_escaped_binary(text) {
        return Request::none(RequestClass::Binary);
    }
    words(text).unwrap_or(Request::none(RequestClass::Malformed))
}

/// The target alone: the same answer as [`split`], cheap for the ordinary `GET /path HTTP/1.1`.
#[must_use]
pub fn target(raw: &[u8]) -> Option<&[u8]> {
    // `GET /... HTTP/x.y` with single blanks; whatever differs takes the long way.
    if let Some((front, rest)) = raw.split_first_chunk::<4>()
        && front == b"GET "
        && let Some((target, protocol)) = rest.split_last_chunk::<9>()
        && target.first() == Some(&b'/')
        && is_http(protocol)
        && !matches!(target.last(), Some(b' ' | b'\t' | b'\\'))
    {
        return Some(target);
    }
    split(raw).target
}

/// Whether this is ` HTTP/`, a digit, a dot and a digit: one comparison for all but the digits.
#[inline(always)]
fn is_http(text: &[u8; 9]) -> bool {
    const SHAPE: u64 = u64::from_le_bytes(*b" HTTP/0.");
    let [front @ .., minor] = *text;
    let differs = u64::from_le_bytes(front) ^ SHAPE;
    let major = differs >> 48;
    differs & !(0xFF << 48) == 0 && major <= 9 && minor.is_ascii_digit()
}

fn words(text: &[u8]) -> Option<Request<'_>> {
    let method_end = text.iter().position(|b| !is_token(*b))?;
    let (method, rest) = text.split_at(method_end);
    let gap = separator_at_start(rest);
    if method.is_empty() || gap == 0 {
        return None;
    }
    let rest = &rest[gap..];
    let (target, protocol) = split_protocol(rest);
    let form = match target {
        [b'/', ..] => Some(RequestForm::Origin),
        _ if protocol.is_none() => return None,
        [b'?', ..] => Some(RequestForm::Origin),
        [b'*'] => Some(RequestForm::Asterisk),
        [b'*', ..] => None,
        _ if has_scheme(target) => Some(RequestForm::Absolute),
        _ if method == b"CONNECT" && is_authority(target) => Some(RequestForm::Authority),
        _ => return None,
    };
    Some(Request { class: RequestClass::Normal, method: Some(method), target: Some(target), protocol, form })
}

/// Takes the protocol off the end. A tab that the writer escaped separates too.
fn split_protocol(rest: &[u8]) -> (&[u8], Option<&[u8]>) {
    let word = rest.iter().rposition(|b| is_blank(*b)).map_or(0, |at| at + 1);
    if word > 0 && is_protocol(&rest[word..]) {
        return (trim_end(&rest[..word]), Some(&rest[word..]));
    }
    for (escape, length) in [(&b"\\t"[..], 2), (&b"\\x09"[..], 4)] {
        if let Some(at) = memchr::memmem::rfind(rest, escape)
            && at > 0
            && is_protocol(&rest[at + length..])
        {
            return (trim_end(&rest[..at]), Some(&rest[at + length..]));
        }
    }
    (rest, None)
}

/// How many bytes at the start are blanks, tabs or escaped tabs.
fn separator_at_start(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match &text[at..] {
            [b' ' | b'\t', ..] => at += 1,
            [b'\\', b't', ..] => at += 2,
            [b'\\', b'x', b'0', b'9', ..] => at += 4,
            _ => return at,
        }
    }
}

/// `HTTP/1.1`, `HTTP/2`, in any case; another name only in capitals and with a full version, because
/// `file/2` may be the end of a path with blanks.
fn is_protocol(word: &[u8]) -> bool {
    let Some(slash) = memchr::memchr(b'/', word) else {
        return false;
    };
    let (name, version) = (&word[..slash], &word[slash + 1..]);
    let whole = version.iter().take_while(|b| b.is_ascii_digit()).count();
    let dotted = matches!(&version[whole..], [b'.', rest @ ..] if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit));
    if whole == 0 {
        return false;
    }
    if name.eq_ignore_ascii_case(b"HTTP") {
        return dotted || whole == version.len();
    }
    dotted && !name.is_empty() && name.iter().all(u8::is_ascii_uppercase)
}

fn has_scheme(target: &[u8]) -> bool {
    let name =
        target.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')).count();
    name > 0 && target[0].is_ascii_alphabetic() && target[name..].starts_with(b"://")
}

fn is_authority(target: &[u8]) -> bool {
    !target.is_empty()
        && target.iter().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'[' | b']' | b'%' | b'@')
        })
}

/// A token of RFC 9110.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_binary(byte: u8) -> bool {
    !(0x20..=0x7E).contains(&byte)
}

fn starts_with_escaped_binary(text: &[u8]) -> bool {
    text[0] == b'\\' && unescape(&text[..text.len().min(4)]).first().is_some_and(|b| is_binary(*b))
}

fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().take_while(|b| is_blank(**b)).count();
    trim_end(&text[start..])
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| !is_blank(*b)).map_or(0, |at| at + 1);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, proptest};

    fn parts(raw: &str) -> (&'static str, Option<&str>, Option<&str>, Option<&str>, Option<&'static str>) {
        let r = split(raw.as_bytes());
        let text = |part: Option<&'static [u8]>| part;
        let _ = text;
        let utf8 = |part: Option<&'_ [u8]>| part.map(|p| std::str::from_utf8(p).expect("UTF-8").to_owned());
        let leak = |part: Option<String>| part.map(|p| &*Box::leak(p.into_boxed_str()));
        (
            r.class.name(),
            leak(utf8(r.method)),
            leak(utf8(r.target)),
            leak(utf8(r.protocol)),
            r.form.map(RequestForm::name),
        )
    }

    #[test]
    fn requests_split_into_their_parts() {
        for (raw, method, target, protocol, form) in [
            ("GET / HTTP/1.1", "GET", "/", Some("HTTP/1.1"), "origin"),
            ("GET /a b.pdf HTTP/2.0", "GET", "/a b.pdf", Some("HTTP/2.0"), "origin"),
            ("GET /a b.pdf", "GET", "/a b.pdf", None, "origin"),
            ("GET /dir file/2", "GET", "/dir file/2", None, "origin"),
            ("GET  /a  HTTP/1.1 ", "GET", "/a", Some("HTTP/1.1"), "origin"),
            ("GET\t/a\tHTTP/1.1", "GET", "/a", Some("HTTP/1.1"), "origin"),
            (r"GET\t/a\tHTTP/1.1", "GET", "/a", Some("HTTP/1.1"), "origin"),
            (r"GET /a\tb HTTP/1.1", "GET", r"/a\tb", Some("HTTP/1.1"), "origin"),
            ("GET ?a=1 HTTP/1.1", "GET", "?a=1", Some("HTTP/1.1"), "origin"),
            ("get /a http/1.0", "get", "/a", Some("http/1.0"), "origin"),
            ("GET /a HTTPS/1.1", "GET", "/a", Some("HTTPS/1.1"), "origin"),
            ("GET /a HTTP/3", "GET", "/a", Some("HTTP/3"), "origin"),
            ("OPTIONS * HTTP/1.1", "OPTIONS", "*", Some("HTTP/1.1"), "asterisk"),
            (
                "GET http://www.example.com/ HTTP/1.1",
                "GET",
                "http://www.example.com/",
                Some("HTTP/1.1"),
                "absolute",
            ),
            (
                "CONNECT www.example.com:443 HTTP/1.1",
                "CONNECT",
                "www.example.com:443",
                Some("HTTP/1.1"),
                "authority",
            ),
            ("M-SEARCH /x HTTP/1.1", "M-SEARCH", "/x", Some("HTTP/1.1"), "origin"),
        ] {
            assert_eq!(parts(raw), ("normal", Some(method), Some(target), protocol, Some(form)), "{raw}");
        }
    }

    #[test]
    fn requests_that_are_none_have_a_class_and_no_parts() {
        for (raw, class) in [
            ("", "empty"),
            ("-", "empty"),
            (r"\x16\x03\x01", "binary"),
            ("\u{16}\u{3}", "binary"),
            (r"\n", "binary"),
            ("\u{e9}", "binary"),
            ("\u{7f}x", "binary"),
            ("quit", "malformed"),
            ("Foo Bar", "malformed"),
            (r"PROBE_192.0.2.77_443\x0A", "malformed"),
            ("GET ?a=1", "malformed"),
            ("GET *", "malformed"),
            ("GET www.example.com:443 HTTP/1.1", "malformed"),
            ("/ HTTP/1.1", "malformed"),
            (r#"\"GET / HTTP/1.1"#, "malformed"),
        ] {
            assert_eq!(parts(raw), (class, None, None, None, None), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn the_short_way_to_the_target_gives_the_same_answer(
            raw in prop::collection::vec(prop::sample::select(b"GET /a?\\t* HTTP/1.1x09\t\"".to_vec()), 0..40),
            wild in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            assert_eq!(target(&raw), split(&raw).target);
            assert_eq!(target(&wild), split(&wild).target);
            let whole = [b"GET /", &raw[..], b" HTTP/1.1"].concat();
            assert_eq!(target(&whole), split(&whole).target);
        }
    }
}
