//! Values that nobody should read in a report: tokens, keys, passwords, sessions, e-mail addresses.
//!
//! Only values of parameters (query, path parameters, fragment) and what stands before `@` in an authority; not
//! segments of a path. Example: `/login?user=ann&token=s3cret` becomes `/login?user=ann&token=~` and eight hex digits.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::percent::decoded;

/// A name that holds one of these anywhere is a secret's.
const PARTS: [&str; 17] = [
    "token",
    "passw",
    "passphrase",
    "secret",
    "session",
    "sessid",
    "apikey",
    "accesskey",
    "privatekey",
    "authkey",
    "signature",
    "credential",
    "authorization",
    "email",
    "e-mail",
    "e_mail",
    "pwd",
];

/// A name of which one word is one of these is a secret's. Words end at every byte that is no letter or digit, and
/// before a capital behind a small letter.
const WORDS: [&str; 12] =
    ["key", "pass", "pw", "pin", "otp", "sid", "sig", "jwt", "auth", "mail", "bearer", "oauth"];

/// The URL with the values of parameters that look like secrets as `~` and eight hex digits of their hash: equal
/// values stay equal, and the same on every machine. A secret is told by the parameter's name, by a value that looks
/// like an e-mail address, or by a value that holds such a parameter itself (`next=/in%3Ftoken%3D1`). Empty values
/// and values masked before stay. Borrows when nothing was masked.
///
/// ```
/// use crawl_baseline::url::mask_secrets;
/// assert_eq!(mask_secrets("/a?id=7&page=2"), "/a?id=7&page=2");
/// assert!(mask_secrets("/a?id=7&api_key=abc").starts_with("/a?id=7&api_key=~"));
/// ```
#[must_use]
pub fn mask_secrets(url: &str) -> Cow<'_, str> {
    let mut out = Masked { url, copied: 0, out: None };
    let (authority, path) = boundaries(url);
    if let Some(at) = url[authority..path].rfind('@') {
        out.mask(authority, authority + at);
    }
    let bytes = url.as_bytes();
    let mut at = path;
    let mut in_path = true;
    while let Some(found) = bytes[at..].iter().position(|b| matches!(b, b'?' | b'#' | b'&' | b';')) {
        let separator = bytes[at + found];
        // `/a&token=1`, where a `?` was forgotten, is read like `/a;token=1`.
        in_path &= matches!(separator, b';' | b'&');
        at += found + 1;
        let ends: &[u8] = if in_path { b";&/?#" } else { b"&#" };
        let end = bytes[at..].iter().position(|b| ends.contains(b)).map_or(bytes.len(), |n| at + n);
        let piece = &bytes[at..end];
        let Some(equals) = piece.iter().position(|b| *b == b'=') else { continue };
        if is_secret_name(&piece[..equals]) || is_secret_value(&piece[equals + 1..]) {
            out.mask(at + equals + 1, end);
            at = end;
        }
    }
    out.finish()
}

/// A parameter's name with what looks like an e-mail address, or holds a secret itself, masked: `/unsubscribe?ann@example.org`
/// has its value where others have their name.
#[must_use]
pub fn mask_name(name: &str) -> Cow<'_, str> {
    const BEFORE: &str = "/?x=";
    match mask_secrets(&format!("{BEFORE}{name}")) {
        Cow::Owned(masked) => Cow::Owned(masked[BEFORE.len()..].to_owned()),
        Cow::Borrowed(_) => Cow::Borrowed(name),
    }
}

/// Where the authority begins and where the path behind it does; twice 0 when there is no authority.
fn boundaries(url: &str) -> (usize, usize) {
    let Some(colon) = url.find("://") else { return (0, 0) };
    if !url.as_bytes()[..colon].iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')) {
        return (0, 0);
    }
    let authority = colon + 3;
    let length = url[authority..].find(['/', '?', '#']).unwrap_or(url.len() - authority);
    (authority, authority + length)
}

/// The text up to `copied` with what was masked in it.
struct Masked<'a> {
    url: &'a str,
    copied: usize,
    out: Option<String>,
}

impl<'a> Masked<'a> {
    fn mask(&mut self, start: usize, end: usize) {
        let value = &self.url[start..end];
        if value.is_empty() || is_masked(value.as_bytes()) {
            return;
        }
        let out = self.out.get_or_insert_with(String::new);
        out.push_str(&self.url[self.copied..start]);
        // The first eight of the sixteen digits.
        let _ = write!(out, "~{:08x}", twox_hash::XxHash3_64::oneshot(value.as_bytes()) >> 32);
        self.copied = end;
    }

    fn finish(self) -> Cow<'a, str> {
        match self.out {
            None => Cow::Borrowed(self.url),
            Some(mut out) => {
                out.push_str(&self.url[self.copied..]);
                Cow::Owned(out)
            }
        }
    }
}

fn is_masked(value: &[u8]) -> bool {
    matches!(value, [b'~', digits @ ..] if digits.len() == 8
        && digits.iter().all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f')))
}

fn is_secret_name(raw: &[u8]) -> bool {
    let name = decoded(raw);
    let lower = name.to_ascii_lowercase();
    PARTS.iter().any(|part| memchr::memmem::find(&lower, part.as_bytes()).is_some())
        || words(&name).any(|word| WORDS.iter().any(|w| word.eq_ignore_ascii_case(w.as_bytes())))
}

fn words(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.chunk_by(|a, b| {
        a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric()
            && !((a.is_ascii_lowercase() || a.is_ascii_digit()) && b.is_ascii_uppercase())
    })
}

fn is_secret_value(raw: &[u8]) -> bool {
    if looks_like_mail(raw) {
        return true;
    }
    let value = decoded(raw);
    looks_like_mail(&value)
        || value.split(|b| matches!(b, b'?' | b'&' | b';' | b'#')).any(|piece| {
            piece.iter().position(|b| *b == b'=').is_some_and(|at| {
                let inner = decoded(&piece[at + 1..]);
                (at > 0
                    && at + 1 < piece.len()
                    && is_secret_name(&piece[..at])
                    && !is_masked(&piece[at + 1..]))
                    || looks_like_mail(&inner)
            })
        })
}

/// `local@domain.tld`, the whole value.
fn looks_like_mail(value: &[u8]) -> bool {
    let Some(at) = value.iter().position(|b| *b == b'@') else { return false };
    let (local, domain) = (&value[..at], &value[at + 1..]);
    let Some(dot) = domain.iter().rposition(|b| *b == b'.') else { return false };
    let tld = &domain[dot + 1..];
    !local.is_empty()
        && local.iter().all(|b| b.is_ascii_alphanumeric() || !b.is_ascii() || b"._%+-' ".contains(b))
        && dot > 0
        && domain[..dot]
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || !b.is_ascii() || matches!(b, b'.' | b'-'))
        && tld.len() >= 2
        && tld.iter().all(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text with every mask as `~~`.
    fn masked(url: &str) -> String {
        let out = mask_secrets(url);
        let mut text = String::new();
        let mut rest = &*out;
        while let Some(at) = rest.find('~') {
            let digits = &rest[at + 1..at + 9];
            assert!(digits.bytes().all(|b| b.is_ascii_hexdigit()), "{out}");
            text.push_str(&rest[..at]);
            text.push_str("~~");
            rest = &rest[at + 9..];
        }
        text + rest
    }

    #[test]
    fn secrets_are_told_by_the_parameters_name() {
        for (url, want) in [
            ("/a?token=abc", "/a?token=~~"),
            ("/a?x=1&access_token=abc&y=2", "/a?x=1&access_token=~~&y=2"),
            ("/a?apiKey=abc&Password=b&pwd=c", "/a?apiKey=~~&Password=~~&pwd=~~"),
            ("/a?user[password]=b&PHPSESSID=c", "/a?user[password]=~~&PHPSESSID=~~"),
            ("/a?user%5Bpass%5D=b&%74oken=c", "/a?user%5Bpass%5D=~~&%74oken=~~"),
            ("/a?signature=q&X-Amz-Credential=r&sig=s", "/a?signature=~~&X-Amz-Credential=~~&sig=~~"),
            ("/a;jsessionid=1F/b;sid=2?q=1", "/a;jsessionid=~~/b;sid=~~?q=1"),
            ("/a&token=abc/b&x=1", "/a&token=~~/b&x=1"),
            ("/cb#access_token=abc&state=1", "/cb#access_token=~~&state=1"),
            ("/a?token=abc;more=1", "/a?token=~~"),
            ("/a?x=1;token=abc", "/a?x=~~"),
            ("http://ann:pw@www.example.com/a?b=c", "http://~~@www.example.com/a?b=c"),
        ] {
            assert_eq!(masked(url), want, "{url}");
        }
    }

    #[test]
    fn mail_addresses_and_nested_addresses_are_told_by_the_value() {
        for (url, want) in [
            ("/u?to=ann@example.org", "/u?to=~~"),
            ("/u?to=ann%2Bnews%40example.org", "/u?to=~~"),
            ("/u?next=/in%3Ftoken%3Dabc", "/u?next=~~"),
            ("/u?next=/in%3Fto%3Dann%2540example.org", "/u?next=~~"),
        ] {
            assert_eq!(masked(url), want, "{url}");
        }
    }

    #[test]
    fn a_name_that_is_a_value_is_masked() {
        for plain in ["q", "token", "filter[x]", "a%20b", ""] {
            assert_eq!(mask_name(plain), plain);
        }
        for secret in ["ann@example.org", "ann%40example.org"] {
            let masked = mask_name(secret);
            assert!(masked.starts_with('~') && masked.len() == 9, "{masked}");
        }
    }

    #[test]
    fn everything_else_stays() {
        for url in [
            "/",
            "*",
            "/a?",
            "/a?token=",
            "/a?token",
            "/author?author=1&keyword=key&monkey=1&tab=x",
            "/a?q=a@b",
            "/npm/pkg@1.2.3?v=1",
            "/token=abc",
            "/a?ts=12:30@home",
            "/mailto:x@y.org",
        ] {
            assert!(matches!(mask_secrets(url), Cow::Borrowed(same) if same == url), "{url}");
        }
    }

    #[test]
    fn equal_values_have_equal_digits_that_never_change() {
        assert_eq!(mask_secrets("/a?token=abc&key=abc"), "/a?token=~78af5f94&key=~78af5f94");
    }

    proptest! {
        #[test]
        fn masking_twice_is_masking_once(url in "[a-z/?&;#=@.:%~ ]{0,40}|/[a-z]{0,3}([?&;#](token|key|to|q)=[a-z0-9@.%~]{0,12}){0,5}") {
            let once = mask_secrets(&url).into_owned();
            prop_assert_eq!(mask_secrets(&once), once.as_str());
        }

        #[test]
        fn no_token_survives(head in "[a-z/]{0,8}", tail in "([&;#][a-z=]{0,6}){0,3}", name in "(token|api_key|password|session_id)") {
            let url = format!("/{head}?a=1&{name}=QQQQ-SECRET{tail}");
            prop_assert!(!mask_secrets(&url).contains("SECRET"));
        }
    }
}
