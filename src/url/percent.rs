//! Percent codes in one spelling: RFC 3986, section 6.2.2.
//!
//! Not form encoding (`+`), save on request. Example: `%7euser%2f\xE9` becomes `~user%2F%E9`.

/// What becomes of codes of unreserved characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreserved {
    /// `%41` becomes `A`.
    Decode,
    /// `%41` stays.
    Keep,
}

/// Appends `bytes` in the canonical spelling: codes in upper case, codes of unreserved characters as
/// [`Unreserved`] says, every byte that no URI may hold (control, blank, `"<>\^` and the like, not ASCII) as its
/// code. Reserved characters and their codes stay apart (`/` and `%2F` are two things).
///
/// A `%` that begins no code stays. A code right behind it is then not decoded where its digit would complete a
/// code, as in `%%34%31`: else the result would read differently the second time.
pub(super) fn push_canonical(out: &mut String, bytes: &[u8], unreserved: Unreserved) {
    // How many output characters ago a lone `%` stood; 2 when it no longer matters.
    let mut since_lone = 2_u8;
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            match code(after) {
                Some(value) => {
                    rest = &after[2..];
                    let completes = since_lone < 2 && value.is_ascii_hexdigit();
                    if unreserved == Unreserved::Decode && is_unreserved(value) && !completes {
                        out.push(char::from(value));
                    } else {
                        push_code(out, value);
                    }
                    since_lone = 2;
                }
                None => {
                    out.push('%');
                    since_lone = 0;
                }
            }
            continue;
        }
        if is_allowed(byte) {
            out.push(char::from(byte));
        } else {
            push_code(out, byte);
        }
        since_lone = if since_lone == 0 && byte.is_ascii_hexdigit() { 1 } else { 2 };
    }
}

/// The byte that the code at the start of `digits` stands for.
pub(super) fn code(digits: &[u8]) -> Option<u8> {
    match digits {
        [high, low, ..] => Some(nibble(*high)? << 4 | nibble(*low)?),
        _ => None,
    }
}

/// The text with every code decoded once. Not for keys: for looking into a value.
pub(super) fn decoded(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match code(after) {
            Some(value) if byte == b'%' => {
                out.push(value);
                rest = &after[2..];
            }
            _ => out.push(byte),
        }
    }
    out
}

fn push_code(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Bytes that stay as they are: unreserved, and the reserved ones of RFC 3986, section 2.2.
pub(super) fn is_allowed(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(
            byte,
            b':' | b'/'
                | b'?'
                | b'#'
                | b'['
                | b']'
                | b'@'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(bytes: &[u8]) -> String {
        let mut out = String::new();
        push_canonical(&mut out, bytes, Unreserved::Decode);
        out
    }

    #[test]
    fn codes_have_one_spelling_and_reserved_characters_keep_theirs() {
        assert_eq!(canonical(b"%7euser%2f%2F/"), "~user%2F%2F/");
        assert_eq!(canonical("caf\u{e9} \"x\"".as_bytes()), "caf%C3%A9%20%22x%22");
        assert_eq!(canonical(b"\x00\x7f\xff[]{}"), "%00%7F%FF[]%7B%7D");
    }

    #[test]
    fn a_lone_percent_sign_stays_and_never_gets_a_digit_from_a_code() {
        assert_eq!(canonical(b"100%"), "100%");
        assert_eq!(canonical(b"%zz"), "%zz");
        assert_eq!(canonical(b"%%34%31"), "%%341");
        assert_eq!(canonical(b"%a%34"), "%a%34");
        for hostile in [&b"%%34%31"[..], b"%a%34", b"%%%34%31", b"%%25%34%31"] {
            let once = canonical(hostile);
            assert_eq!(canonical(once.as_bytes()), once);
        }
    }
}
