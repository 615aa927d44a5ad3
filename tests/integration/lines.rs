//! Lines against a table of cases, and against a slow reading of the well-formed grammar by a regular expression.
//!
//! The expression shares no code with the parser. It knows nothing of repairs and odd prefixes, so it only says what
//! it is sure of.

use std::io::Write as _;

use crawl_baseline::format::client::{self, ClientChoice};
use crawl_baseline::format::request::{self, RequestClass};
use crawl_baseline::format::{Format, Line, Parser, ParserOptions, Record};
use regex::bytes::{Captures, Regex};

/// `~` stands for `[10/Mar/2026:06:25:14 +0000]`, `@` for `192.0.2.10 - - [10/Mar/2026:06:25:14 +0000]`. Then what it
/// is: the format or the reject's reason, the client, the target, the status, the bytes, the user agent (`!`: none, as
/// logged), and the flags.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const RECORDS: &[Case] = &[
    // quotes
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "A \"b\" Bot""#, "combined", "192.0.2.10", "/a", "200", "5", r#"A \"b\" Bot"#, ""),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "A C:\\""#, "combined", "192.0.2.10", "/a", "200", "5", r"A C:\\", ""),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "A C:\""#, "combined", "192.0.2.10", "/a", "200", "5", r"A C:\", "quote_repair"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "A C:\" "203.0.113.9""#, "combined", "192.0.2.10", "/a", "200", "5", r"A C:\", "quote_repair"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "A C:\" 0.005"#, "combined", "192.0.2.10", "/a", "200", "5", r"A C:\", "quote_repair"),
    (r#"@ "GET /a\" 200 5 "-" "Bot""#, "combined", "192.0.2.10", r"/a\", "200", "5", "Bot", "quote_repair"),
    (r#"@ "GET /?q="x" HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", r#"/?q="x""#, "200", "5", "Bot", "quote_repair"),
    (r#"@ "GET /?q=" x y HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", r#"/?q=" x y"#, "200", "5", "Bot", "quote_repair"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "http://x/?q="a b"" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "quote_repair"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "http://x/\" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "quote_repair"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "http://x/ "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "!", "quote_repair no_user_agent_field"),
    (r#""@ "GET /a HTTP/1.1" 200 5 "-" "Bot"""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "quote_repair"),
    (r#""@ "GET /a HTTP/1.1" 200 5""#, "common", "192.0.2.10", "/a", "200", "5", "!", "quote_repair no_user_agent_field"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "" """#, "combined", "192.0.2.10", "/a", "200", "5", "", ""),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "Bot"glued"#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    // a crawler cannot choose the status that is read
    (r#"@ "GET /a\" 200 5 \"-\" \"x HTTP/1.1" 404 9 "-" "Bot""#, "combined", "192.0.2.10", r#"/a\" 200 5 \"-\" \"x"#, "404", "9", "Bot", ""),
    (r#"@ "GET /a HTTP/1.1" 404 9 "-" "x\" 200 5 \"-\" \"Bot""#, "combined", "192.0.2.10", "/a", "404", "9", r#"x\" 200 5 \"-\" \"Bot"#, ""),
    // requests
    (r#"@ "GET /my file.pdf" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/my file.pdf", "200", "5", "Bot", ""),
    (r#"@ "-" 408 - "-" "-""#, "combined", "192.0.2.10", "!", "408", "-", "-", ""),
    (r#"@ "" 400 0 "-" "-""#, "combined", "192.0.2.10", "!", "400", "0", "-", ""),
    (r#"@ "\x16\x03\x01" 400 9 "-" "-""#, "combined", "192.0.2.10", "!", "400", "9", "-", ""),
    (r#"@ "OPTIONS * HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "*", "200", "5", "Bot", ""),
    // status and bytes
    (r#"@ "GET /a HTTP/1.1" 0 0 "-" "Bot""#, "combined", "192.0.2.10", "/a", "0", "0", "Bot", ""),
    (r#"@ "GET /a HTTP/1.1" - - "-" "Bot""#, "combined", "192.0.2.10", "/a", "-", "-", "Bot", ""),
    (r#"@ "GET /a HTTP/1.1" 799 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "799", "5", "Bot", ""),
    (r#"@ "GET /a HTTP/1.1" 200 9223372036854775807 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "9223372036854775807", "Bot", ""),
    (r#"@ "GET /a HTTP/1.1" 200 9223372036854775808 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "-", "Bot", "bytes_overflow"),
    // prefixes
    (r#"2001:db8::7 - - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "2001:db8::7", "/a", "200", "5", "Bot", ""),
    (r#"[2001:db8::7]:4711 - - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "2001:db8::7", "/a", "200", "5", "Bot", ""),
    (r#"192.0.2.10:4711 - - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"::ffff:192.0.2.9 - - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.9", "/a", "200", "5", "Bot", ""),
    (r#"fe80::7%eth0 - - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "fe80::7", "/a", "200", "5", "Bot", ""),
    (r#"unix: - - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "unix:", "/a", "200", "5", "Bot", ""),
    (r#"host7.example.net - - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "host7.example.net", "/a", "200", "5", "Bot", ""),
    (r#"www.example.com @ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "vhost_combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"www.example.com:8443 @ "GET /a HTTP/1.1" 200 5"#, "vhost_common", "192.0.2.10", "/a", "200", "5", "!", "no_user_agent_field"),
    (r#"198.51.100.1:443 @ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "vhost_combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"203.0.113.7, 198.51.100.8 @ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"192.0.2.10 www.example.com - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "ident_looks_like_host"),
    (r#"192.0.2.10 - J. Q. Doe ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"192.0.2.10 - x [01/Jan/2020:00:00:00 +0000] ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"192.0.2.10 - x [y ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"192.0.2.10 - ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "missing_user"),
    (r#"192.0.2.10 ~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "missing_user"),
    // times
    (r#"192.0.2.10 - - [2026-03-10T14:25:14+08:00] "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"192.0.2.10 - - [10/Mar/2026 06:25:14] "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "assumed_zone"),
    (r#"192.0.2.10 - - [10/Mar/2026:06:25:60 +0000] "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "leap_second"),
    (r#"192.0.2.10 - - [10/Mar/2026:06:25:14.250 +0000] "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"192.0.2.10 - - [10/Mar/2199:06:25:14 +0000] "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "future"),
    (r#"192.0.2.10 - - [01/Jan/1970:00:00:09 +0000] "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", "ancient"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "Bot [01/Jan/1970:00:00:00 +0000]""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot [01/Jan/1970:00:00:00 +0000]", ""),
    // framing, blanks, tails
    ("@ \"GET /a HTTP/1.1\" 200 5 \"-\" \"Bot\"\r", "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    ("\0\0@ \"GET /a HTTP/1.1\" 200 5 \"-\" \"Bot\"", "combined", "192.0.2.10", "/a", "200", "5", "Bot", "leading_nul"),
    ("  @\t\"GET /a HTTP/1.1\"  200\t5 \"-\"   \"Bot\"  ", "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"@ "GET /a HTTP/1.1" 200 5 12345 0.012"#, "common", "192.0.2.10", "/a", "200", "5", "!", "no_user_agent_field"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "Bot" rt=0.1 "198.51.100.7, 203.0.113.9""#, "combined", "192.0.2.10", "/a", "200", "5", "Bot", ""),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-""#, "combined", "192.0.2.10", "/a", "200", "5", "!", "no_user_agent_field"),
];

#[rustfmt::skip]
const REJECTS: &[(&str, &str)] = &[
    (r#"192.0.2.10 - - "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "no_time"),
    ("something else", "not_this_format"),
    (r#"{"status": 200}"#, "not_this_format"),
    ("[Tue Mar 10 06:25:14 2026] [core:error] [pid 7] down", "not_this_format"),
    (r#"192.0.2.10 - - [31/Apr/2026:06:25:14 +0000] "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "bad_time"),
    (r#"192.0.2.10 - - [10/Mar/2026:25:00:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "~""#, "bad_time"),
    (r#"192.0.2.10 - - [10/Mai/2026:06:25:14 +0000] "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "bad_time"),
    (r#"~ "GET /a HTTP/1.1" 200 5 "-" "Bot""#, "short_prefix"),
    ("@ GET /a HTTP/1.1 200 5", "no_request_quote"),
    ("@ \u{201c}GET /a HTTP/1.1\u{201d} 200 5", "no_request_quote"),
    ("@", "no_request_quote"),
    (r#"@ "GET /a"#, "unterminated_quote"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "http://x"#, "unterminated_quote"),
    (r#"@ "GET /a HTTP/1.1" 200 5 ""#, "unterminated_quote"),
    (r#""@ ""#, "unterminated_quote"),
    (r#""@ "" "#, "unterminated_quote"),
    (r#"""@ ""#, "unterminated_quote"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" ""#, "unterminated_quote"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "Bot \"x\" y"#, "unterminated_quote"),
    (r#"@ "GET /a HTTP/1.1""#, "bad_status"),
    (r#"@ "GET /a HTTP/1.1" 20"#, "bad_status"),
    (r#"@ "GET /a HTTP/1.1" 2000 5 "-" "Bot""#, "bad_status"),
    (r#"@ "GET /a HTTP/1.1" abc 5 "-" "x\" 200 5 \"-\" \"Bot""#, "bad_status"),
    (r#"@ "GET /a HTTP/1.1" 200"#, "bad_bytes"),
    (r#"@ "GET /a HTTP/1.1" 200 -5 "-" "Bot""#, "bad_bytes"),
    (r#"@ "GET /a HTTP/1.1" 200 5 gzip"#, "unquoted_tail"),
    (r#"@ "GET /a HTTP/1.1" 200 5 www.example.com "-" 200 5"#, "unquoted_tail"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "Bot/1@ "GET /b HTTP/1.1" 200 5 "-" "Bot""#, "torn_line"),
    (r#"@ "GET /a HT@ "GET /b HTTP/1.1" 200 5 "-" "Bot""#, "torn_line"),
    (r#"@ "@ "GET /b HTTP/1.1" 200 5 "-" "Bot""#, "torn_line"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "http@ "GET /b HTTP/1.1" 200 5 "-" "Bot""#, "torn_line"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "Bot" @ "GET /b HTTP/1.1" 200 5 "-" "Bot""#, "torn_line"),
    (r#"@ "GET /a HTTP/1.1" 200 5 "-" "Bot/1@ "GET /b HTTP/1.1" 200 5 "-" "cut"#, "torn_line"),
    (r#"@ "GET /a HTTP/1.1" 200 5@ "GET /b HTTP/1.1" 200 5 "-" "Bot""#, "torn_line"),
    (r#""@ ""GET /a HTTP/1.1"" 200 5 ""-"" ""Bot""""#, "csv_wrapped"),
    (r#"web1,"@ ""GET /a HTTP/1.1"" 200 5""#, "csv_wrapped"),
];

fn expand(text: &str) -> Vec<u8> {
    text.replace('@', "192.0.2.10 - - ~").replace('~', "[10/Mar/2026:06:25:14 +0000]").into_bytes()
}

fn parser() -> Parser {
    Parser::new(ParserOptions { now: Some(1_773_187_200), ..ParserOptions::default() })
}

/// What a line is, once by itself and once from a block of many: both ways must agree.
fn both_ways(line: &[u8]) -> Line<'_> {
    // The answer may borrow from the parser.
    let alone = Box::leak(Box::new(parser())).line(line);
    let block = [line, b"\n", line, b"\n", line].concat();
    let mut seen = 0;
    parser().block(&block, |entry| {
        assert_eq!(format!("{:?}", entry.outcome), format!("{alone:?}"), "{}", line.escape_ascii());
        seen += 1;
    });
    assert_eq!(seen, 3);
    alone
}

fn record(line: &[u8]) -> Record<'_> {
    match both_ways(line) {
        Line::Record(record) => record,
        other => panic!("{}: {other:?}", line.escape_ascii()),
    }
}

#[test]
fn every_case_of_a_record_is_read_as_the_table_says() {
    for (text, format, client, target, status, bytes, user_agent, flags) in RECORDS {
        let line = expand(text);
        let r = record(&line);
        let utf8 = |field: Option<&[u8]>| {
            field.map_or_else(|| "!".to_owned(), |f| String::from_utf8_lossy(f).into_owned())
        };
        let number = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
        let got = [
            r.format.name().to_owned(),
            client::printed(client::chosen(&r, ClientChoice::Peer)).unwrap_or_default(),
            utf8(request::target(r.request)),
            number(r.status.map(u64::from)),
            number(r.bytes),
            utf8(r.user_agent),
            r.flags.names().collect::<Vec<_>>().join(" "),
        ];
        assert_eq!(
            got.each_ref().map(String::as_str),
            [
                *format,
                client,
                target,
                status,
                bytes,
                &user_agent.replace('~', "[10/Mar/2026:06:25:14 +0000]"),
                flags
            ],
            "{text}"
        );
    }
}

#[test]
fn every_case_of_a_reject_has_its_reason() {
    for (text, reason) in REJECTS {
        match both_ways(&expand(text)) {
            Line::Reject(reject) => assert_eq!(reject.reason.name(), *reason, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn the_client_behind_a_list_is_the_nearest_and_the_first_only_when_asked() {
    let line = expand(r#"203.0.113.7, 198.51.100.8 @ "GET / HTTP/1.1" 200 5 "-" "Bot""#);
    let r = record(&line);
    assert_eq!(client::chosen(&r, ClientChoice::Peer), b"192.0.2.10");
    assert_eq!(client::chosen(&r, ClientChoice::FirstXff), b"203.0.113.7");
    assert_eq!(client::chain(&r).expect("a list"), ["203.0.113.7", "198.51.100.8", "192.0.2.10"]);
}

#[test]
fn a_named_format_takes_no_other() {
    let line = expand(r#"www.example.com @ "GET / HTTP/1.1" 200 5 "-" "Bot""#);
    for format in Format::ALL {
        let mut parser = Parser::new(ParserOptions { format: Some(format), ..ParserOptions::default() });
        let read = matches!(parser.line(&line), Line::Record(r) if r.host == Some(b"www.example.com"));
        assert_eq!(read, format == Format::VhostCombined, "{format:?}");
    }
}

/// The well-formed grammar with an address, ident and one word of user, once more and slowly.
fn oracle() -> Regex {
    Regex::new(
        r#"(?-u)^(?:(?P<host>[a-z][a-z0-9.-]*\.[a-z]+)(?::(?P<port>[0-9]{2,4}))? )?(?P<client>[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}) (?P<ident>-|[a-z]+) (?P<user>[^ \t\[\]",\x00-\x1f]+) \[(?P<time>[0-9]{2}/[A-Z][a-z]{2}/20[0-9]{2}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4})\] "(?P<request>(?:[^"\\\[]|\\.)*)" (?P<status>[0-9]{3}|-) (?P<bytes>[0-9]{1,15}|-)(?: "(?P<referer>(?:[^"\\\[]|\\.)*)" "(?P<agent>(?:[^"\\\[]|\\.)*)"(?: (?P<tail>[^"\\\[ ][^"\\\[]*))?)?$"#,
    )
    .expect("an expression")
}

/// What the expression says of a line, in words that can be compared; `None` when it is not sure.
fn oracle_says(oracle: &Regex, line: &[u8]) -> Option<Vec<String>> {
    let found: Captures<'_> = oracle.captures(line)?;
    let of = |name: &str| {
        found.name(name).map_or_else(|| "none".to_owned(), |m| m.as_bytes().escape_ascii().to_string())
    };
    std::str::from_utf8(found.name("client")?.as_bytes()).ok()?.parse::<std::net::Ipv4Addr>().ok()?;
    let time = std::str::from_utf8(found.name("time")?.as_bytes()).ok()?;
    if time.contains(":60 ") {
        return None;
    }
    let epoch = chrono::DateTime::parse_from_str(time, "%d/%b/%Y:%H:%M:%S %z").ok()?.timestamp();
    let dash = |text: String| if text == "-" { "none".to_owned() } else { text };
    let number = |text: String| text.parse::<u64>().map_or(text, |n| n.to_string());
    let tail = found
        .name("tail")
        .map_or_else(String::new, |m| blanks_trimmed(m.as_bytes()).escape_ascii().to_string());
    Some(vec![
        of("host"),
        of("port"),
        of("client"),
        of("ident"),
        of("user"),
        epoch.to_string(),
        of("request"),
        number(dash(of("status"))),
        number(dash(of("bytes"))),
        of("referer"),
        of("agent"),
        tail,
    ])
}

fn blanks_trimmed(text: &[u8]) -> &[u8] {
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let start = text.iter().take_while(|b| blank(b)).count();
    let end = text.len() - text[start..].iter().rev().take_while(|b| blank(b)).count();
    &text[start..end]
}

fn parser_says(r: &Record<'_>) -> Vec<String> {
    let of = |field: Option<&[u8]>| field.map_or_else(|| "none".to_owned(), |f| f.escape_ascii().to_string());
    let number = |n: Option<u64>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
    vec![
        of(r.host),
        number(r.vhost_port.map(u64::from)),
        of(Some(r.client)),
        of(Some(r.ident)),
        of(Some(r.user)),
        r.epoch.to_string(),
        of(Some(r.request)),
        number(r.status.map(u64::from)),
        number(r.bytes),
        of(r.referer),
        of(r.user_agent),
        of(Some(r.tail)),
    ]
}

/// A small generator with a fixed start, so that a failure comes back.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn line(&mut self) -> String {
        let vhost = self.of(&["", "", "www.example.com ", "shop.example.net:443 "]);
        let client = format!("192.0.2.{}", self.below(256));
        let user = self.of(&["-", "-", "jdoe", "user@example.com"]);
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (day, month, year) = (1 + self.below(31), self.of(&months), 2000 + self.below(30));
        let (hour, minute, second) = (self.below(25), self.below(60), self.below(61));
        let zone = self.of(&["+0000", "+0100", "-0330", "-0800", "+1345"]);
        let target = self.of(&["/", "/a?b=c", "/a b", r"/\x22", r#"/\"x\""#, "*", r"/\\"]);
        let method = self.of(&["GET", "POST", "M-SEARCH", "-", r"\x16\x03", ""]);
        let protocol = self.of(&[" HTTP/1.1", " HTTP/2.0", ""]);
        let status = self.of(&["200", "301", "404", "503", "-", "799"]);
        let bytes = self.of(&["-", "0", "512", "000123", "123456789012345"]);
        let rest = match self.below(4) {
            0 => String::new(),
            _ => format!(
                " \"{}\" \"{}\"{}",
                self.of(&["-", "", "https://www.example.com/x", r#"a \"b\""#]),
                self.of(&["-", "", "Mozilla/5.0 (compatible; Bot/1.0)", r"C:\\", "caf\u{e9}"]),
                self.of(&["", "", " 12345", " rt=0.005 urt=0.004"]),
            ),
        };
        format!(
            "{vhost}{client} - {user} [{day:02}/{month}/{year}:{hour:02}:{minute:02}:{second:02} {zone}] \"{method} {target}{protocol}\" {status} {bytes}{rest}"
        )
    }
}

/// How many lines the expression and the parser are compared on: `CRAWL_BASELINE_ORACLE_LINES`, else so many that the
/// tests stay quick.
fn oracle_lines() -> u32 {
    match std::env::var("CRAWL_BASELINE_ORACLE_LINES") {
        Ok(text) => text.parse().expect("CRAWL_BASELINE_ORACLE_LINES is a number of lines"),
        Err(_) => 20_000,
    }
}

/// One to three small changes, now and then one that tears the line.
fn changed(dice: &mut Dice, line: &mut Vec<u8>) {
    for _ in 0..=dice.below(3) {
        let at = dice.below(line.len().max(1));
        match dice.below(20) {
            _ if line.is_empty() => line.push(b'x'),
            0..7 => {
                line[at] =
                    dice.of(&["\"", "\\", " ", "[", "]", "-", "7", "x", ":", "\t", ",", "/"]).as_bytes()[0];
            }
            7..12 => drop(line.remove(at)),
            12..17 => line.insert(at, dice.of(&["\"", "\\", " ", "9", "y", "/"]).as_bytes()[0]),
            17 => line.truncate(at),
            18 => {
                let other = dice.line().into_bytes();
                let from = dice.below(other.len());
                line.truncate(at);
                line.extend_from_slice(&other[from..]);
            }
            _ => {
                let (from, length) = (dice.below(line.len()), dice.below(30));
                let piece = line[from..line.len().min(from + length)].to_vec();
                line.splice(at..at, piece);
            }
        }
    }
}

#[test]
fn where_the_slow_expression_is_sure_the_parser_reads_the_same_fields() {
    let (oracle, mut dice, rounds) = (oracle(), Dice(20_260_310), oracle_lines());
    let (mut sure, mut changed_and_sure, mut surely_none) = (0, 0, 0);
    let (mut alone, mut in_block) = (parser(), parser());
    for round in 0..rounds {
        let mut line = dice.line().into_bytes();
        let is_changed = round % 2 == 1;
        if is_changed {
            changed(&mut dice, &mut line);
        }
        let outcome = alone.line(&line);
        let block = [&line[..], b"\n", &line].concat();
        in_block.block(&block, |entry| assert!(*entry.outcome == outcome, "{}", line.escape_ascii()));
        if let Some(want) = oracle_says(&oracle, &line) {
            sure += 1;
            changed_and_sure += u32::from(is_changed);
            match outcome {
                Line::Record(r) => assert_eq!(parser_says(&r), want, "{}", line.escape_ascii()),
                other => panic!("{}: {other:?}", line.escape_ascii()),
            }
        } else if !line.contains(&b'"') || !line.contains(&b'[') {
            // Whatever else it is: without a stamp or a request it is no record.
            surely_none += 1;
            assert!(!matches!(outcome, Line::Record(_)), "{}", line.escape_ascii());
        }
    }
    // Seen with --nocapture.
    let _ = writeln!(
        std::io::stderr(),
        "of {rounds} lines the expression was sure of {sure}, {changed_and_sure} of them changed; {surely_none} are no records"
    );
    assert!(
        sure > rounds / 2 && changed_and_sure > rounds / 20 && surely_none > rounds / 200,
        "of {rounds} the expression was sure of {sure}, {changed_and_sure} changed; {surely_none} are no records"
    );
}

#[test]
fn requests_of_every_class_are_told_apart() {
    for (raw, class) in [
        (&b"GET / HTTP/1.1"[..], RequestClass::Normal),
        (b"-", RequestClass::Empty),
        (b"\x16\x03", RequestClass::Binary),
        (b"hello", RequestClass::Malformed),
    ] {
        assert_eq!(request::split(raw).class, class);
    }
}
