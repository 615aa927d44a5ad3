//! Lines of Docker's `json-file` driver: an object around what the program wrote. A long line comes in several.
//!
//! The driver cuts at 16 KiB; only the last part ends in a newline. Other carriers drop that newline from every line, so
//! a text that reads as a whole entry is one. Which parts belong together, [`super::cri`] knows.
//!
//! Example of its input: `{"log":"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] \"GET / HTT","stream":"stdout","time":"2026-03-10T06:25:14Z"}`

use super::json::{Escapes, undo};
use super::quote::is_blank;
use super::{combined, timestamp};

/// How every such line begins.
pub(super) const FRONT: &[u8] = b"{\"log\":\"";

/// Where the driver cuts.
const PART_BYTES: usize = 16 * 1024;

/// One line of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// 0 for standard output, 1 for standard error.
    pub(super) stream: usize,
    /// More of the entry follows.
    pub(super) partial: bool,
    /// What the program wrote, in the escapes of JSON.
    pub(super) content: &'a [u8],
}

/// Reads a line as the driver writes it; `None` for any other.
pub(super) fn split(line: &[u8]) -> Option<Part<'_>> {
    let text = line.strip_prefix(FRONT)?;
    let mut end = 0;
    loop {
        end += memchr::memchr2(b'"', b'\\', text.get(end..)?)?;
        if text[end] == b'"' {
            break;
        }
        end += 2;
    }
    let (content, rest) = text.split_at(end);
    let rest = rest.strip_prefix(b"\",\"stream\":\"std")?;
    let (stream, rest) = match rest.strip_prefix(b"out\",") {
        Some(rest) => (0, rest),
        None => (1, rest.strip_prefix(b"err\",")?),
    };
    if !rest.ends_with(b"}") {
        return None;
    }
    Some(Part { stream, partial: !ends_in_newline(content) && !is_whole(content), content })
}

/// Whether the text ends in the escape of a newline.
fn ends_in_newline(content: &[u8]) -> bool {
    let Some(before) = content.strip_suffix(b"n") else { return false };
    before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}

/// Whether a text without a newline is an entry nevertheless.
fn is_whole(content: &[u8]) -> bool {
    if content.len() >= PART_BYTES {
        return false;
    }
    let mut text = Vec::new();
    undo(content, Escapes::Undo, &mut text);
    match text.last() {
        None => true,
        Some(last) if is_blank(*last) => false,
        Some(b'}') => text[0] == b'{',
        Some(_) => combined::parse(&text, None, |stamp| timestamp::parse(stamp, 0)).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_newline_goes_on_unless_it_is_an_entry() {
        let entry = r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 5"#;
        let read = |log: &str, stream: &str| {
            let line =
                format!("{{\"log\":\"{log}\",\"stream\":\"{stream}\",\"time\":\"2026-03-10T06:25:14Z\"}}");
            split(line.as_bytes()).map(|part| (part.stream, part.partial))
        };
        assert_eq!(read(&format!("{entry}\\n"), "stdout"), Some((0, false)));
        assert_eq!(read(entry, "stderr"), Some((1, false)));
        assert_eq!(read(&format!("{entry} "), "stdout"), Some((0, true)));
        assert_eq!(read(&format!("{entry} \\\"-\\\" \\\"B"), "stdout"), Some((0, true)));
        assert_eq!(read("192.0.2.10 - - [10/", "stdout"), Some((0, true)));
        assert_eq!(read("a\\\\n", "stdout"), Some((0, true)), "a backslash and an n");
        assert_eq!(read("", "stdout"), Some((0, false)));
        assert_eq!(read("{\\\"status\\\":200}", "stdout"), Some((0, false)));
        assert_eq!(read("x", "stdin"), None);
        let long = format!("{} \\\"-\\\" \\\"{}\\\"", entry, "x".repeat(PART_BYTES));
        assert_eq!(read(&long, "stdout"), Some((0, true)), "cut behind a quote");
        for line in
            [&b"{\"log\":\"a"[..], b"{\"log\":\"a\\", b"{\"log\":\"a\",\"stream\":\"stdout\",", b"{}", b""]
        {
            assert_eq!(split(line), None);
        }
    }
}
