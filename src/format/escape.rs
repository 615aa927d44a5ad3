//! Escapes of quoted fields, undone and made printable.
//!
//! Writers escape `"` and `\` with a backslash (Apache) or as `\xHH` (nginx); control bytes as `\xHH`, `\t`, `\n` ...
//! Example: `\x22Alpha\x22` is `"Alpha"`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The field with its escapes undone: `\"`, `\\`, `\xHH`, `\t`, `\n`, `\r`, `\b`, `\f`, `\v`. An unknown escape stays
/// as it is, and so does a lone backslash at the end. Borrows when there is no backslash.
#[must_use]
pub fn unescape(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', field) else {
        return Cow::Borrowed(field);
    };
    let mut out = Vec::with_capacity(field.len());
    out.extend_from_slice(&field[..first]);
    let mut rest = &field[first..];
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'\\' {
            out.push(byte);
            rest = after;
            continue;
        }
        let (decoded, used) = match after {
            [b'x', high, low, ..] => match (hex(*high), hex(*low)) {
                (Some(h), Some(l)) => (Some(h << 4 | l), 3),
                _ => (None, 0),
            },
            [c @ (b'"' | b'\\'), ..] => (Some(*c), 1),
            [b't', ..] => (Some(b'\t'), 1),
            [b'n', ..] => (Some(b'\n'), 1),
            [b'r', ..] => (Some(b'\r'), 1),
            [b'b', ..] => (Some(0x08), 1),
            [b'f', ..] => (Some(0x0C), 1),
            [b'v', ..] => (Some(0x0B), 1),
            _ => (None, 0),
        };
        out.push(decoded.unwrap_or(b'\\'));
        rest = &after[used..];
    }
    Cow::Owned(out)
}

fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Bytes as valid UTF-8 text: control bytes (below 0x20, and 0x7F) and bytes that are not UTF-8 as `\xNN` in upper
/// case, a backslash as itself.
#[must_use]
pub fn printable(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !bytes.iter().any(|b| *b < 0x20 || *b == 0x7F)
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c < ' ' || c == '\x7F' {
                let _ = write!(out, "\\x{:02X}", u32::from(c));
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_apache_and_nginx_are_undone() {
        for (field, want) in [
            (r#"a \"b\""#, r#"a "b""#),
            (r"\x22A\x22", "\"A\""),
            (r"C:\\", r"C:\"),
            (r"a\tb", "a\tb"),
            (r"\xZZ \q \", r"\xZZ \q \"),
        ] {
            assert_eq!(unescape(field.as_bytes()).as_ref(), want.as_bytes(), "{field}");
        }
    }

    #[test]
    fn what_is_no_utf_8_or_a_control_byte_prints_as_hex() {
        assert_eq!(printable(b"Bad\xff\xfeBot\x00\x7f\xc3\xa9\\"), "Bad\\xFF\\xFEBot\\x00\\x7F\u{e9}\\");
    }
}
