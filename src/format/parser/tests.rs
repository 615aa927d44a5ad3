//! Both paths agree on any line in blocks of any size, and no line is lost.

use super::*;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

const NOW: i64 = 1_773_187_200;

fn options(format: Option<Format>) -> ParserOptions {
    ParserOptions { now: Some(NOW), max_line_bytes: 900, format, ..ParserOptions::default() }
}

/// Every line by the careful parser alone.
fn careful(bytes: &[u8], options: ParserOptions) -> Vec<String> {
    let mut parser = Parser::new(options);
    parser.begin_source();
    let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
        .into_iter()
        .map(|line| {
            let (outcome, leading_nul) = parser.entry(line, &mut || None);
            print(&Entry { line, outcome: &outcome, leading_nul, number: 0, parts: 1 })
        })
        .collect()
}

/// An entry without its number, which counts from the start of its block.
fn print(entry: &Entry<'_>) -> String {
    format!(
        "{:?} {:?} {} {}",
        entry.line.escape_ascii().to_string(),
        entry.outcome,
        entry.leading_nul,
        entry.parts
    )
}

fn outcomes(bytes: &[u8], read: impl Fn(&Entry<'_>) -> String) -> Vec<String> {
    let mut parser = Parser::new(options(None));
    parser.begin_source();
    let mut seen = Vec::new();
    parser.block(bytes, |entry| seen.push(read(&entry)));
    seen
}

/// The same in blocks of whole lines, at least `size` bytes each.
fn blocks(bytes: &[u8], size: usize, options: ParserOptions) -> Vec<String> {
    let mut parser = Parser::new(options);
    parser.begin_source();
    let mut entries = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let from = size.min(rest.len() - 1);
        let end = memchr::memchr(b'\n', &rest[from..]).map_or(rest.len(), |at| from + at + 1);
        parser.block(&rest[..end], |entry| entries.push(print(&entry)));
        parser.continue_source();
        rest = &rest[end..];
    }
    entries
}

/// Lines near the border between the fast path and the careful one.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let of = |choices: &'static [&'static str]| prop::sample::select(choices.to_vec());
    let parts = (
        of(&[
            "192.0.2.1 - - ",
            "192.0.2.1 - -  ",
            "2001:db8::5 - - ",
            "www.example.com 192.0.2.1 - jd ",
            "a:80 192.0.2.1 - - ",
            " - - ",
            "203.0.113.7, 192.0.2.1 - - ",
            "192.0.2.1,x - - ",
            "#x - - ",
            "\u{feff}y - - ",
            "a [b - - ",
            "192.0.2.1 - ",
            "",
            "\0\x00192.0.2.1 - - ",
            "192.0.2.1 shop.example.com - ",
        ]),
        of(&[
            "10/Mar/2026:06:25:14 +0000",
            "10/Mar/2026:06:25:15 +0000",
            "10/Mar/2026:06:25:60 +0000",
            "10/Mar/2026:06:25:61 +0000",
            "10/Mar/2026:06:25:14 +0100",
            "2026-03-10 06:25:14 +01:00",
            "2026-03-10T06:25:14.123456",
            "10/Mar/1990:06:25:14 +0000",
            "10/Mar/2099:06:25:14 +0000",
            "31/Feb/2026:06:25:14 +0000",
            "1/Mar/2026:06:25:14.5+0000",
            "10/Mar/2026:06:25:14",
            "-",
        ]),
        of(&[
            "GET / HTTP/1.1",
            "-",
            "",
            "GET /[10/Mar/2026:06:25:14 +0000] ",
            "GET /\\\" HTTP/1.1",
            "GET /\"x HTTP/1.1",
            "GET /\\x22 x",
        ]),
        of(&[
            " 200 512 ",
            " 200 - ",
            " - - ",
            " 0 0 ",
            "  200 512 ",
            " 200 12k ",
            " 2OO 5 ",
            " 200 99999999999999999999 ",
            " 200 9223372036854775807 ",
            " 200 512",
            " 999 000000000000000001 ",
        ]),
        of(&[
            "\"-\" ",
            "\"\" ",
            "\"http://www.example.com/ \" ",
            "\"-\"",
            "\"x\\\\\" ",
            "",
            "\"x [10/Mar/2026:06:25:14 +0000] \" ",
        ]),
        of(&[
            "\"Mozilla/5.0 (x)\"",
            "\"\"",
            "\"-\"",
            "\"a \\\"b\\\" c\"",
            "\"a \"b\" c\"",
            "\"C:\\\"",
            "\"open",
            "",
            "\"x192.0.2.2 - - [10/Mar/2026:06:25:14 +0000] \"",
            "\"x\" ",
            "\"x\"y",
        ]),
        of(&[
            "",
            " 12345",
            " \"198.51.100.7\"",
            " rt=0.1 cs=HIT",
            "\r",
            " x\r",
            "  ",
            "\t-",
            "\r\r",
            "\"",
            " [10/Mar/2026:06:25:14 +0000] \"x\"",
        ]),
    );
    let mixed = parts.prop_map(|(prefix, stamp, request, numbers, referer, agent, tail)| {
        format!("{prefix}[{stamp}] \"{request}\"{numbers}{referer}{agent}{tail}").into_bytes()
    });
    let plain = (0_u32..60, any::<u16>()).prop_map(|(second, bytes)| {
        format!("192.0.2.9 - - [10/Mar/2026:06:25:{second:02} +0000] \"GET /{bytes} HTTP/1.1\" 200 {bytes} \"-\" \"Bot/{bytes}\"").into_bytes()
    });
    let odd = of(&["", "  ", "\r", "\0\0\0", "# note", "{\"a\": 1}", "\u{feff}", "\"", "\\\"", "x"])
        .prop_map(|text| text.as_bytes().to_vec());
    let wild = prop::collection::vec(prop::sample::select(b"\"\\[] :/-0159aJ\0\r,".to_vec()), 0..120);
    let mutated =
        (mixed.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut line, at, byte)| {
            let at = at.index(line.len());
            line[at] = if byte == b'\n' { b' ' } else { byte };
            line
        });
    let long = Just(vec![b'x'; 1_000]);
    prop_oneof![6 => mixed, 4 => plain, 3 => mutated, 1 => odd, 2 => wild, 1 => long]
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1_500))]

    #[test]
    fn blocks_of_any_size_give_exactly_what_the_careful_parser_gives(
        lines in prop::collection::vec(line(), 0..24),
        size in 0_usize..2_000,
        terminated in any::<bool>(),
        format in prop::sample::select(vec![None, Some(Format::Combined), Some(Format::VhostCombined), Some(Format::Common)]),
    ) {
        let mut bytes = lines.join(&b'\n');
        if terminated {
            bytes.push(b'\n');
        }
        assert_eq!(blocks(&bytes, size, options(format)), careful(&bytes, options(format)));
    }

    #[test]
    fn any_bytes_are_lines_each_of_one_kind_and_no_byte_is_lost(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'"'), Just(b'['), Just(0)], 0..600),
        size in 0_usize..200,
    ) {
        let entries = blocks(&bytes, size, options(None));
        assert_eq!(entries, careful(&bytes, options(None)));
        let ends = bytes.iter().filter(|b| **b == b'\n').count();
        let open = usize::from(bytes.last().is_some_and(|b| *b != b'\n'));
        assert_eq!(entries.len(), ends + open);
        let mut length = 0;
        Parser::new(options(None)).block(&bytes, |e| length += e.line.len());
        assert_eq!(length + ends, bytes.len());
    }
}

#[test]
fn lines_across_the_end_of_a_window_are_read_whole() {
    let line = br#"192.0.2.9 - - [10/Mar/2026:06:25:14 +0000] "GET /a HTTP/1.1" 200 5 "-" "Bot/1.0""#;
    let mut bytes = Vec::new();
    for extra in 0..2_000 {
        bytes.extend_from_slice(line);
        bytes.extend(std::iter::repeat_n(b' ', extra % 7));
        bytes.push(b'\n');
    }
    assert!(bytes.len() > 4 * WINDOW);
    bytes.extend(std::iter::repeat_n(b'"', 3 * WINDOW));
    bytes.extend_from_slice(b"\n# end\n");
    bytes.extend_from_slice(line);
    let entries = blocks(&bytes, usize::MAX, options(None));
    assert_eq!(entries, careful(&bytes, options(None)));
    assert_eq!(entries.iter().filter(|e| e.contains(" Record(")).count(), 2_001);
    assert!(entries[2_000].contains("TooLong"));
}

#[test]
fn the_byte_order_mark_is_dropped_at_the_start_of_a_source_only() {
    let line = "\u{feff}# x\n\u{feff}# x\n".as_bytes();
    let outcomes = outcomes(line, |e| format!("{:?}", e.outcome));
    assert_eq!(outcomes[0], "Directive");
    assert!(outcomes[1].starts_with("Reject"));
}

#[test]
fn runs_of_nul_are_counted_and_a_line_of_nothing_else_is_blank() {
    let bytes = b"\0\0\0\n\0\0# x\n\0";
    let seen = outcomes(bytes, |e| format!("{:?} {}", e.outcome, e.leading_nul));
    assert_eq!(seen, ["Blank 3", "Directive 2", "Blank 1"]);
}

#[test]
fn the_port_behind_a_long_address_is_no_part_of_it() {
    for (line, client) in [
        (
            r#"2001:db8::1:3331 [10/Mar/2026:06:25:14.655] web be/s1 0/0/3/6/9 200 27 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1""#,
            &b"2001:db8::1"[..],
        ),
        (
            r#"192.0.2.1:3331 [10/Mar/2026:06:25:14.655] web be/s1 0/0/3/6/9 200 27 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1""#,
            b"192.0.2.1",
        ),
        (
            r#"2026-03-10T06:25:14.000117Z old-lb 2001:db8::1:5122 - -1 -1 -1 504 0 0 0 "GET http://www.example.com:80/ HTTP/1.1" "x" - -"#,
            b"2001:db8::1",
        ),
        (
            r#"2026-03-10T06:25:14.000117Z old-lb [2001:db8::1]:5122 - -1 -1 -1 504 0 0 0 "- http://www.example.com:80- - " "x" - -"#,
            b"[2001:db8::1]",
        ),
    ] {
        let mut parser = Parser::new(ParserOptions::default());
        let Line::Record(record) = parser.line(line.as_bytes()) else { panic!("{line}") };
        assert_eq!(record.client, client, "{line}");
        assert!(record.host.is_none_or(|host| host == b"www.example.com"), "{line}");
    }
}

#[test]
fn durations_of_envoy_are_milliseconds() {
    for (line, want) in [
        (
            r#"{"start_time":"2026-03-10T06:25:14.123Z","method":"GET","path":"/a","response_code":200,"response_flags":"-","duration":12,"downstream_remote_address":"192.0.2.1:5"}"#,
            12_000,
        ),
        (
            r#"{"ts":"2026-03-10T06:25:14Z","method":"GET","path":"/a","status":200,"duration":12,"remote_ip":"192.0.2.1"}"#,
            12_000_000,
        ),
        (
            r#"{"timestamp":"2026-03-10T06:25:14Z","httpRequest":{"requestMethod":"GET","requestUrl":"/a","status":200,"latency":"0.012s","remoteIp":"192.0.2.1"}}"#,
            12_000,
        ),
    ] {
        let mut parser = Parser::new(ParserOptions::default());
        let Line::Record(record) = parser.line(line.as_bytes()) else { panic!("{line}") };
        assert_eq!(record.latency_us(), Some(want), "{line}");
    }
}
