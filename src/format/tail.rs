//! The fields behind the user agent: whatever an operator appended to the format.
//!
//! Bare numbers mean nothing without a format that names them; `rt=`, `urt=` and `cs=` pairs name themselves.
//!
//! Example of its input: `rt=0.123 urt="0.120, 0.003" cs=HIT "198.51.100.7"`

/// The fields of a tail: split at blanks outside quotes, the quotes of whole fields removed.
pub fn fields(tail: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = tail;
    std::iter::from_fn(move || {
        let start = rest.iter().take_while(|b| is_blank(**b)).count();
        rest = &rest[start..];
        if rest.is_empty() {
            return None;
        }
        let end = field_end(rest);
        let (field, after) = rest.split_at(end);
        rest = after;
        Some(without_quotes(field))
    })
}

/// How long the request took in microseconds: `rt=` in seconds, else `urt=`; of a list its last number, `-` is absent.
#[must_use]
pub fn latency_us(tail: &[u8]) -> Option<u64> {
    // Most tails have neither key.
    memchr::memmem::find(tail, b"rt=")?;
    let of = |key: &str| value(tail, key).and_then(last_seconds);
    of("rt").or_else(|| of("urt"))
}

/// Whether the answer came from a cache, by `cs=`.
#[must_use]
pub fn cached(tail: &[u8]) -> bool {
    value(tail, "cs").is_some_and(|state| {
        [&b"HIT"[..], b"STALE", b"REVALIDATED", b"UPDATING"].iter().any(|s| state.eq_ignore_ascii_case(s))
    })
}

/// The value of the first `key=value` field, its quotes removed.
fn value<'a>(tail: &'a [u8], key: &str) -> Option<&'a [u8]> {
    fields(tail).find_map(|field| field.strip_prefix(key.as_bytes())?.strip_prefix(b"=")).map(without_quotes)
}

/// The last number of `0.120, 0.003 : 0.001` in microseconds.
fn last_seconds(list: &[u8]) -> Option<u64> {
    list.rsplit(|byte| matches!(byte, b',' | b':' | b' ' | b'\t'))
        .filter(|item| !item.is_empty())
        .find_map(seconds)
}

/// Decimal seconds as microseconds, digits beyond the sixth dropped.
pub(super) fn seconds(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &text[..0]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut micros = 0_u64;
    for byte in whole {
        micros = micros.checked_mul(10)?.checked_add(u64::from(digit(*byte)?))?;
    }
    for at in 0..6 {
        let next = fraction.get(at).map_or(Some(0), |byte| digit(*byte))?;
        micros = micros.checked_mul(10)?.checked_add(u64::from(next))?;
    }
    fraction.iter().all(u8::is_ascii_digit).then_some(micros)
}

fn digit(byte: u8) -> Option<u8> {
    byte.is_ascii_digit().then(|| byte - b'0')
}

/// Position of the first blank outside quotes.
fn field_end(text: &[u8]) -> usize {
    let mut quoted = false;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b' ' | b'\t' if !quoted => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

pub(super) fn without_quotes(field: &[u8]) -> &[u8] {
    match field.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")) {
        Some(inner) if super::quote::closing(field, 1) == Some(field.len() - 1) => inner,
        _ => field,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(tail: &str) -> Vec<String> {
        fields(tail.as_bytes()).map(|f| String::from_utf8_lossy(f).into_owned()).collect()
    }

    #[test]
    fn fields_are_split_at_blanks_outside_quotes() {
        assert_eq!(
            split(r#" "198.51.100.7, 203.0.113.9"  12345 - "#),
            ["198.51.100.7, 203.0.113.9", "12345", "-"]
        );
        assert_eq!(
            split(r#"rt=0.005 uct="0.000, 0.1" "a \" b""#),
            ["rt=0.005", "uct=\"0.000, 0.1\"", r#"a \" b"#]
        );
        assert_eq!(split(r#""open end"#), [r#""open end"#]);
        assert_eq!(split(r#""a""b""#), [r#""a""b""#]);
    }

    #[test]
    fn latency_is_the_request_time_or_the_last_upstream_time() {
        for (tail, want) in [
            ("rt=0.005 urt=0.004", Some(5_000)),
            ("urt=\"0.120, 0.003\" x", Some(3_000)),
            ("urt=\"0.120 : 0.004\"", Some(4_000)),
            ("rt=- urt=0.004", Some(4_000)),
            ("urt=0.004 rt=1", Some(1_000_000)),
            ("rt=\"0.1234567\"", Some(123_456)),
            ("urt=\"0.120, -\"", Some(120_000)),
            ("rt=- urt=-", None),
            ("rt=5ms", None),
            ("xrt=5", None),
            ("0.005", None),
            ("rt=99999999999999999999", None),
        ] {
            assert_eq!(latency_us(tail.as_bytes()), want, "{tail}");
        }
    }

    #[test]
    fn answers_from_a_cache_are_known_by_their_state() {
        for state in ["cs=HIT", "cs=stale", "x cs=\"UPDATING\"", "cs=REVALIDATED"] {
            assert!(cached(state.as_bytes()), "{state}");
        }
        for state in ["cs=MISS", "cs=BYPASS", "cs=-", "HIT", "acs=HIT", ""] {
            assert!(!cached(state.as_bytes()), "{state}");
        }
    }
}
