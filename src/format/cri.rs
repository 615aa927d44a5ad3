//! Lines of a container runtime: stamp, stream, tag, then what the program wrote. A long line comes in parts.
//!
//! Parts of one entry are tagged `P`, the last one `F`. Lines of the other stream may stand between them. Settled here:
//! which lines belong together, and where a log may be cut so that no entry is cut with it. Both follow from the same
//! rule, and the rule looks at no more than [`REACH`] bytes: *an entry is open at the start of a line when the last line
//! of its stream before it is a part, and begins at most `REACH` bytes before*. Any other line, a blank one too, closes
//! what is open. So whoever reads a log in blocks can find the same borders from either side.
//!
//! Docker's `json-file` driver cuts lines too, see `docker.rs`; its parts follow the same rule.
//!
//! Example of its input: `2026-03-10T06:25:14.123456789Z stdout F 192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET ...`

use super::docker;
use super::json::{Escapes, undo};
use super::record::Wrapper;

/// How far apart the parts of one entry may begin, in bytes. Runtimes cut at 8 or 16 KiB.
pub const REACH: usize = 64 * 1024;

/// The line in front of what the program wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cri<'a> {
    /// 0 for standard output, 1 for standard error.
    pub(super) stream: usize,
    /// More of the entry follows.
    pub(super) partial: bool,
    /// What the program wrote.
    pub(super) content: &'a [u8],
}

/// Reads the front of a line; `None` when no container runtime wrote it.
pub(super) fn split(line: &[u8]) -> Option<Cri<'_>> {
    let rest = behind_stamp(line)?.strip_prefix(b" ")?;
    let (stream, rest) = match rest.strip_prefix(b"stdout ") {
        Some(rest) => (0, rest),
        None => (1, rest.strip_prefix(b"stderr ")?),
    };
    let end = memchr::memchr(b' ', rest).unwrap_or(rest.len());
    let partial = match rest[..end].split(|b| *b == b':').next() {
        Some(b"P") => true,
        Some(b"F") => false,
        _ => return None,
    };
    Some(Cri { stream, partial, content: rest.get(end + 1..).unwrap_or_default() })
}

/// What is behind an RFC 3339 stamp at the start.
pub(super) fn behind_stamp(text: &[u8]) -> Option<&[u8]> {
    let (date, rest) = text.split_at_checked(19)?;
    let shape = b"0000-00-00T00:00:00";
    let fits = date.iter().zip(shape).all(|(b, s)| if *s == b'0' { b.is_ascii_digit() } else { b == s });
    if !fits {
        return None;
    }
    let rest = match rest.strip_prefix(b".") {
        Some(fraction) => &fraction[fraction.iter().take_while(|b| b.is_ascii_digit()).count()..],
        None => rest,
    };
    match rest {
        [b'Z', rest @ ..] => Some(rest),
        [b'+' | b'-', a, b, b':', c, d, rest @ ..] | [b'+' | b'-', a, b, c, d, rest @ ..]
            if [a, b, c, d].iter().all(|x| x.is_ascii_digit()) =>
        {
            Some(rest)
        }
        _ => None,
    }
}

/// A line of either kind of runtime.
struct Part<'a> {
    carrier: Wrapper,
    stream: usize,
    partial: bool,
    content: &'a [u8],
}

fn part(line: &[u8]) -> Option<Part<'_>> {
    if line.first() == Some(&b'{') {
        let docker::Part { stream, partial, content } = docker::split(without_return(line))?;
        return Some(Part { carrier: Wrapper::Docker, stream, partial, content });
    }
    let Cri { stream, partial, content } = split(line)?;
    Some(Part { carrier: Wrapper::Cri, stream, partial, content })
}

impl Part<'_> {
    /// Adds what the program wrote.
    fn append_to(&self, text: &mut Vec<u8>) {
        match self.carrier {
            Wrapper::Docker => undo(self.content, Escapes::Undo, text),
            _ => text.extend_from_slice(self.content),
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether a line with this front may have parts.
#[inline]
pub(super) fn may_join(line: &[u8]) -> bool {
    line.first().is_some_and(u8::is_ascii_digit) || line.starts_with(docker::FRONT)
}

/// Whether the text begins with what may be a line of a container runtime.
#[must_use]
pub fn leads(text: &[u8]) -> bool {
    split(&text[..text.len().min(128)]).is_some() || text.starts_with(docker::FRONT)
}

/// Whether an entry is open behind `before`, which ends in a newline and begins at a line that is known to begin an
/// entry, or holds more than [`REACH`] bytes.
#[must_use]
pub fn is_open(before: &[u8]) -> bool {
    let first = match before.len().checked_sub(REACH + 1) {
        // Only lines whose beginning is in reach are looked at.
        Some(far) => match memchr::memchr(b'\n', &before[far..]) {
            Some(at) => far + at + 1,
            None => return false,
        },
        None => 0,
    };
    let mut seen = [false; 2];
    let mut end = before.len();
    while end > first && seen != [true; 2] {
        let start = memchr::memrchr(b'\n', &before[first..end - 1]).map_or(first, |at| first + at + 1);
        let Some(line) = part(&before[start..end - 1]) else {
            return false;
        };
        if !std::mem::replace(&mut seen[line.stream], true) && line.partial {
            return true;
        }
        end = start;
    }
    false
}

/// The end of the last whole entry of `lines`, which begin at the start of an entry: behind a newline, and nothing open.
#[must_use]
pub fn whole_entries(lines: &[u8]) -> usize {
    let mut end = memchr::memrchr(b'\n', lines).map_or(0, |at| at + 1);
    while end > 0 && is_open(&lines[..end]) {
        end = memchr::memrchr(b'\n', &lines[..end - 1]).map_or(0, |at| at + 1);
    }
    end
}

/// The entry that begins with the part at `start` of a block.
pub(super) struct Joined {
    /// Where its other parts begin.
    pub(super) others: Vec<usize>,
    /// Whether it grew longer than a line may be.
    pub(super) too_long: bool,
    /// Whose parts they are.
    pub(super) carrier: Wrapper,
}

/// Puts the content of all parts into `text`, without the `\r` of each.
pub(super) fn join(block: &[u8], start: usize, longest: usize, text: &mut Vec<u8>) -> Option<Joined> {
    let line = |start: usize| {
        let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |at| start + at);
        (without_return(&block[start..end]), end + 1)
    };
    let (first, mut at) = line(start);
    let first = part(first).filter(|line| line.partial)?;
    text.clear();
    first.append_to(text);
    let mut joined = Joined { others: Vec::new(), too_long: false, carrier: first.carrier };
    let mut last = start;
    while at < block.len() && at - last <= REACH {
        let (next_line, next) = line(at);
        let Some(part) = part(next_line) else { break };
        if part.stream == first.stream {
            let length = text.len();
            part.append_to(text);
            if text.len() > longest {
                text.truncate(length);
                joined.too_long = true;
            }
            joined.others.push(at);
            last = at;
            if !part.partial {
                break;
            }
        }
        at = next;
    }
    if joined.carrier == Wrapper::Docker {
        if joined.others.is_empty() {
            // Nothing to join: the line is read as any other.
            return None;
        }
        if text.ends_with(b"\n") {
            text.pop();
        }
        text.truncate(without_return(text).len());
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, proptest};

    #[test]
    fn the_front_of_a_runtime_line_is_read_and_nothing_else_is_taken_for_one() {
        let read = |text: &'static str| split(text.as_bytes()).map(|c| (c.stream, c.partial, c.content));
        assert_eq!(read("2026-03-10T06:25:14.123456789Z stdout F a b"), Some((0, false, &b"a b"[..])));
        assert_eq!(read("2026-03-10T07:25:14+01:00 stderr P x"), Some((1, true, &b"x"[..])));
        assert_eq!(read("2026-03-10T06:25:14Z stdout P:tag x"), Some((0, true, &b"x"[..])));
        assert_eq!(read("2026-03-10T06:25:14Z stdout F"), Some((0, false, &b""[..])));
        for text in [
            "2026-03-10 06:25:14Z stdout F x",
            "2026-03-10T06:25:14 stdout F x",
            "2026-03-10T06:25:14Z stdin F x",
            "2026-03-10T06:25:14Z stdout X x",
            "192.0.2.10 - - [",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    fn lines(kinds: &[usize]) -> Vec<String> {
        let front = ["stdout P", "stdout F", "stderr P", "stderr F"];
        let line = |kind: &usize| match front.get(*kind) {
            Some(front) => format!("2026-03-10T06:25:14Z {front} x\n"),
            None => "other\n".to_owned(),
        };
        kinds.iter().map(line).collect()
    }

    proptest! {
        #[test]
        fn an_entry_is_open_exactly_where_joining_would_go_on(kinds in prop::collection::vec(0_usize..5, 0..12)) {
            let lines = lines(&kinds);
            let text = lines.concat().into_bytes();
            let mut starts: Vec<usize> = lines.iter().scan(0, |at, l| { *at += l.len(); Some(*at - l.len()) }).collect();
            starts.push(text.len());
            // Every border that lies between two parts of one entry is open, and what is open is between parts or
            // behind the last line.
            let mut inside = vec![false; starts.len()];
            let mut taken = std::collections::BTreeSet::new();
            for (i, start) in starts[..lines.len()].iter().enumerate() {
                if taken.contains(start) { continue; }
                if let Some(joined) = join(&text, *start, 1000, &mut Vec::new())
                    && let Some(last) = joined.others.last()
                {
                    let last = starts.iter().position(|s| s == last).unwrap();
                    inside[i + 1..=last].fill(true);
                    taken.extend(joined.others);
                }
            }
            for (i, start) in starts.iter().enumerate() {
                if inside[i] {
                    assert!(is_open(&text[..*start]), "{i} of {kinds:?}");
                }
            }
            let end = whole_entries(&text);
            assert!(!is_open(&text[..end]) && !inside[starts.iter().position(|s| *s == end).unwrap()]);
        }
    }

    #[test]
    fn what_lies_too_far_back_is_not_open() {
        let mut text = lines(&[0]).concat().into_bytes();
        while text.len() <= REACH {
            assert!(is_open(&text));
            text.extend_from_slice(lines(&[3])[0].as_bytes());
        }
        assert!(!is_open(&text));
        assert_eq!(join(&text, 0, 1000, &mut Vec::new()).unwrap().others, Vec::<usize>::new());
    }
}
