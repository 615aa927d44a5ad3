//! Quotes and blanks: where a quoted field ends, escape state kept.
//!
//! Example of its input: `Bot \"Alpha\" C:\\" 12`, which ends at its last quote.

/// Position of the first quote at or behind `from` that no backslash escapes.
pub(super) fn closing(line: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Every quote at or behind `from`, and whether it is escaped.
pub(super) fn all(line: &[u8], from: usize) -> impl Iterator<Item = (usize, bool)> {
    let mut at = from;
    std::iter::from_fn(move || {
        loop {
            at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
            if line[at] == b'"' {
                at += 1;
                return Some((at - 1, false));
            }
            at += 2;
            if line.get(at - 1) == Some(&b'"') {
                return Some((at - 1, true));
            }
        }
    })
}

/// The first position at or behind `from` that is no blank.
pub(super) fn skip_blanks(line: &[u8], from: usize) -> usize {
    line.get(from..)
        .map_or(line.len(), |rest| from + rest.iter().position(|b| !is_blank(*b)).unwrap_or(rest.len()))
}

/// The first position at or behind `from` that is a blank, or the end.
pub(super) fn word_end(line: &[u8], from: usize) -> usize {
    line.get(from..)
        .map_or(line.len(), |rest| from + rest.iter().position(|b| is_blank(*b)).unwrap_or(rest.len()))
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Blanks taken off both ends.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let start = skip_blanks(text, 0);
    let end = text.iter().rposition(|b| !is_blank(*b)).map_or(start, |at| at + 1);
    &text[start..end]
}
