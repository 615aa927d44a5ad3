//! What a log carrier puts in front of a line: syslog of both kinds, and what a container runtime and the commands that
//! print its logs write.
//!
//! Nothing is taken from it: the entry has a stamp of its own. Docker's JSON around a line is [`super::json`]'s.
//!
//! Example of its input: `Mar 10 06:25:14 web01 nginx[712]: 192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET ...`

use super::client::address;
use super::quote::{skip_blanks, word_end};
use super::record::Wrapper;
use super::{cri, json, timestamp};

/// What is behind the carrier's front, or `None` where there is none. `own_format`: the lines have a format of their own,
/// which may begin as what a command prints does.
pub(super) fn unwrap(line: &[u8], own_format: bool) -> Option<(Wrapper, &[u8])> {
    if !may_lead(line) {
        return None;
    }
    if let Some(line) = cri::split(line) {
        return Some((Wrapper::Cri, line.content));
    }
    match syslog(line) {
        Some(inner) => Some((Wrapper::Syslog, inner)),
        None if own_format => None,
        None => printed(line),
    }
}

/// How far a bar is looked for that stands behind the name of a service.
const LONGEST_NAME: usize = 64;

/// `docker logs -t` puts a stamp before the line, `docker compose logs` the service and a bar, `kubectl logs --prefix`
/// pod and container. Only what has an entry behind it is one of these.
fn printed(line: &[u8]) -> Option<(Wrapper, &[u8])> {
    let mut inner = line;
    let mut carrier = Wrapper::Docker;
    if line.starts_with(POD) {
        let end = memchr::memmem::find(line, b"] ")?;
        (carrier, inner) = (Wrapper::Cri, &line[end + 2..]);
    } else if let (name, rest) = next_word(line)
        && name.len() < LONGEST_NAME
        && address(name).is_none()
        && let Some(rest) = rest.trim_ascii_start().strip_prefix(b"|")
    {
        inner = rest;
    }
    let inner = inner.trim_ascii_start();
    // A stamp is a word: `2026-03-10T06:25:14Zcrawler.example - -` is a client with a strange name.
    let inner = match cri::behind_stamp(inner) {
        Some(behind) if behind.starts_with(b" ") => behind.trim_ascii_start(),
        _ => inner,
    };
    let is_entry = inner.len() < line.len() && (json::leads(inner) || timestamp::locate(inner).is_ok());
    is_entry.then_some((carrier, inner))
}

const POD: &[u8] = b"[pod/";

/// A first look at few bytes: no line for which this is false has a front.
#[inline]
pub(super) fn may_lead(line: &[u8]) -> bool {
    match line {
        [b'<', b'0'..=b'9', ..] => true,
        [a, b, c, b' ', ..] => month(&[*a, *b, *c]),
        [_, _, _, _, b'-', _, _, b'-', _, _, b'T', ..] if line[0].is_ascii_digit() => true,
        _ => line.starts_with(POD) || memchr::memchr(b'|', &line[..line.len().min(LONGEST_NAME)]).is_some(),
    }
}

fn month(name: &[u8; 3]) -> bool {
    let names =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    names.contains(&name)
}

fn syslog(line: &[u8]) -> Option<&[u8]> {
    let (priority, rest) = priority(line);
    if priority && let Some(rest) = rest.strip_prefix(b"1 ") {
        return rfc5424(rest);
    }
    match behind_time(rest) {
        Some(rest) => tag(rest, 2),
        None if priority => tag(rest, 1),
        None => None,
    }
}

/// Takes `<134>` off the front.
fn priority(line: &[u8]) -> (bool, &[u8]) {
    if let Some(rest) = line.strip_prefix(b"<") {
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if (1..=3).contains(&digits) && rest.get(digits) == Some(&b'>') {
            return (true, &rest[digits + 1..]);
        }
    }
    (false, line)
}

/// `Mar 10 06:25:14 `, `Mar  9 2026 06:25:14 `, or an RFC 3339 stamp.
fn behind_time(text: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = cri::behind_stamp(text) {
        return rest.strip_prefix(b" ");
    }
    let (name, rest) = text.split_first_chunk::<3>()?;
    if !month(name) {
        return None;
    }
    let (day, rest) = next_word(rest);
    if day.is_empty() || day.len() > 2 || !day.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let (mut time, mut rest) = next_word(rest);
    if time.len() == 4 && time.iter().all(u8::is_ascii_digit) {
        (time, rest) = next_word(rest);
    }
    let clock = matches!(time, [a, b, b':', c, d, b':', e, f, tail @ ..]
        if [a, b, c, d, e, f].iter().all(|x| x.is_ascii_digit()) && matches!(tail.first(), None | Some(b'.' | b':')));
    clock.then_some(&rest[skip_blanks(rest, 0)..])
}

/// What is behind `host program[712]: `; the word that ends in a colon is among the first `within`.
fn tag(text: &[u8], within: usize) -> Option<&[u8]> {
    let mut rest = text;
    for _ in 0..within {
        let (word, behind) = next_word(rest);
        if word.len() > 1 && word.ends_with(b":") {
            return Some(&behind[skip_blanks(behind, 0)..]);
        }
        rest = behind;
    }
    None
}

/// `2026-03-10T06:25:14.003Z web01 nginx 712 - [id key="value"] message`, the version before it taken off.
fn rfc5424(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    for _ in 0..5 {
        let (word, behind) = next_word(rest);
        if word.is_empty() {
            return None;
        }
        rest = behind;
    }
    rest = &rest[skip_blanks(rest, 0)..];
    if let Some(behind) = rest.strip_prefix(b"-") {
        rest = behind;
    } else {
        while let Some(element) = rest.strip_prefix(b"[") {
            rest = &element[element_end(element)? + 1..];
        }
    }
    let rest = match rest {
        [] => rest,
        [b' ', rest @ ..] => rest,
        _ => return None,
    };
    Some(rest.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(rest))
}

/// Position of the `]` outside quotes.
fn element_end(text: &[u8]) -> Option<usize> {
    let (mut quoted, mut at) = (false, 0);
    loop {
        match text.get(at)? {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b']' if !quoted => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

/// The next word, and what is behind it.
fn next_word(text: &[u8]) -> (&[u8], &[u8]) {
    let start = skip_blanks(text, 0);
    let end = word_end(text, start);
    (&text[start..end], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_front_is_taken_off() {
        for text in [
            "Mar 10 06:25:14 web01 nginx[712]: @",
            "Mar  9 06:25:14 web01 nginx: @",
            "Mar 10 2026 06:25:14 web01 nginx: @",
            "<190>Mar 10 06:25:14 web01 nginx: @",
            "<190>Mar 10 06:25:14 nginx: @",
            "<190>nginx: @",
            "<13>2026-03-10T06:25:14.003+01:00 web01 nginx: @",
            "2026-03-10T06:25:14.003+01:00 web01 nginx[7]: @",
            "<134>1 2026-03-10T06:25:14.003Z web01 nginx 712 - - @",
            "<134>1 - - - - - - @",
            r#"<134>1 2026-03-10T06:25:14Z web01 nginx 712 ID47 [a b="x] \"y"][c] @"#,
            "<134>1 2026-03-10T06:25:14Z web01 nginx 712 - - \u{feff}@",
        ] {
            assert_eq!(unwrap(text.as_bytes(), false), Some((Wrapper::Syslog, &b"@"[..])), "{text}");
        }
        let cri = "2026-03-10T06:25:14.123456789Z stdout F @";
        assert_eq!(unwrap(cri.as_bytes(), true), Some((Wrapper::Cri, &b"@"[..])));
    }

    #[test]
    fn what_the_commands_of_container_runtimes_print_is_taken_off() {
        let entry = r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 5"#;
        for (front, carrier) in [
            ("2026-03-10T06:25:14.123456789Z ", Wrapper::Docker),
            ("web-1  | ", Wrapper::Docker),
            ("shop_web_1 |", Wrapper::Docker),
            ("web-1  | 2026-03-10T06:25:14.123456789Z ", Wrapper::Docker),
            ("[pod/web-7d4b9c-x2x/nginx] ", Wrapper::Cri),
            ("[pod/web-7d4b9c-x2x/nginx] 2026-03-10T06:25:14.123456789Z ", Wrapper::Cri),
        ] {
            for entry in [entry, r#"{"status":200}"#] {
                let line = format!("{front}{entry}");
                assert_eq!(unwrap(line.as_bytes(), false), Some((carrier, entry.as_bytes())), "{line}");
                assert_eq!(unwrap(line.as_bytes(), true), None, "{line}");
            }
        }
        for text in [
            "web-1  | listening on 80",
            "[pod/web/nginx] 2026/03/10 06:25:14 [notice] 1#1: start worker processes",
            r#"192.0.2.10 | www.example.com [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 5"#,
            r#"192.0.2.10 - a | b [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 5"#,
            r#"192.0.2.10|[10/Mar/2026:06:25:14 +0000]|"GET / HTTP/1.1"|200"#,
        ] {
            assert_eq!(unwrap(text.as_bytes(), false), None, "{text}");
        }
    }

    #[test]
    fn an_entry_without_a_front_stays_whole() {
        for text in [
            "192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 5",
            "Mar - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 5",
            "Mar 10 06:25:14 [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 5",
            "2026-03-10T06:25:14.186641Z my-lb 192.0.2.10:2817 198.51.100.1:80",
            "2026-03-10 06:25:14 192.0.2.10 GET /",
            "2026-03-10T06:25:14.0Zcrawler.example - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 5",
            "<script> - - [10/Mar/2026",
            "",
        ] {
            assert_eq!(unwrap(text.as_bytes(), false), None, "{text}");
        }
    }
}
