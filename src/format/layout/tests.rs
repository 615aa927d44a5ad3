//! What lines of a format string become.

use super::*;
use crate::format::{Flags, Line, Parser, ParserOptions};

const COMBINED: &str = r#"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""#;

fn layout(text: &str) -> Layout {
    Layout::compile(text).expect("a format string").expect("a layout")
}

/// client, host, user, request, status, bytes, user agent, latency, cached, flags; or the reason.
fn read(format: &str, line: &str) -> String {
    let options =
        ParserOptions { layout: Some(std::sync::Arc::new(layout(format))), ..ParserOptions::default() };
    let line = line.replace('~', "10/Mar/2026:06:25:14 +0000");
    match Parser::new(options).line(line.as_bytes()) {
        Line::Record(r) => {
            assert_eq!((r.epoch, r.format), (1_773_123_914, Format::Custom));
            let of = |field: Option<&[u8]>| field.map_or("~".to_owned(), |f| f.escape_ascii().to_string());
            let flags: Vec<_> = r.flags.names().filter(|f| *f != "no_user_agent_field").collect();
            format!(
                "{} {} {} {} {:?} {:?} {} {:?} {} {flags:?}",
                of(Some(r.client)),
                of(r.host),
                of(Some(r.user)),
                of(Some(r.request)),
                r.status,
                r.bytes,
                of(r.user_agent),
                r.latency_us(),
                r.is_cached(),
            )
        }
        Line::Reject(reject) => reject.reason.name().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn combined_with_something_behind_is_read_by_the_engine_of_combined() {
    for (text, want) in [
        (COMBINED.to_owned(), Some(Format::Combined)),
        (format!("{COMBINED} %D \\\"%{{X-Forwarded-For}}i\\\""), Some(Format::Combined)),
        (format!("%v:%p {COMBINED}"), Some(Format::VhostCombined)),
        (r#"%h %l %u %t "%r" %>s %b %D"#.to_owned(), Some(Format::Common)),
        (r#"%h %l %u %t "%r" %>s %b "%{X}i""#.to_owned(), None),
        (r#"%h %l %u %t "%r" %>s %b "%{User-Agent}i""#.to_owned(), None),
        (r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" rt=$request_time urt="$upstream_response_time""#.to_owned(), Some(Format::Combined)),
        (r#"$time_iso8601 $remote_addr $request"#.to_owned(), None),
    ] {
        assert_eq!(layout(&text).engine(), want, "{text}");
    }
}

#[test]
fn latency_host_and_cache_come_from_the_fields_that_name_them() {
    let nginx = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
    let line = r#"192.0.2.10 - - [~] "GET / HTTP/1.1" 200 5 "-" "Bot/1.0""#;
    let want = |host: &str, latency: &str, cached: bool| {
        format!("192.0.2.10 {host} - GET / HTTP/1.1 Some(200) Some(5) Bot/1.0 {latency} {cached} []")
    };
    for (behind, values, host, latency, cached) in [
        (" $request_time", " 0.120", "~", "Some(120000)", false),
        (" \"$upstream_response_time\"", " \"0.120, 0.003\"", "~", "Some(3000)", false),
        (
            " $request_time $upstream_response_time $upstream_cache_status",
            " 0.120 - HIT",
            "~",
            "Some(120000)",
            true,
        ),
        (
            " \"$host\" t=$request_time",
            " \"www.example.com\" t=0.5",
            "www.example.com",
            "Some(500000)",
            false,
        ),
        (" $request_time", "", "~", "None", false),
        (" $pipe", " 0.120", "~", "None", false),
    ] {
        assert_eq!(
            read(&format!("{nginx}{behind}"), &format!("{line}{values}")),
            want(host, latency, cached),
            "{behind}"
        );
    }
    for (behind, values, latency) in [
        (" %D", " 123000", "Some(123000)"),
        (" %T", " 2", "Some(2000000)"),
        (" %{ms}T", " 7", "Some(7000)"),
        (" %T/%D", " 0/5", "Some(5)"),
    ] {
        assert_eq!(
            read(&format!("{COMBINED}{behind}"), &format!("{line}{values}")),
            want("~", latency, false),
            "{behind}"
        );
    }
    assert_eq!((layout(nginx).clock(), layout(COMBINED).clock()), (Clock::End, Clock::Start));
}

#[test]
fn any_other_string_is_read_by_its_texts() {
    let format = r#"[$time_local] $remote_addr|$host|$remote_user|"$request"|$status|$request_time|"$http_user_agent""#;
    let read = |line: &str| read(format, line);
    let want = |user: &str, agent: &str, flags: &str| {
        format!(
            "192.0.2.10 www.example.com {user} GET / HTTP/1.1 Some(200) None {agent} Some(20000) false {flags}"
        )
    };
    assert_eq!(
        read(r#"[~] 192.0.2.10|www.example.com|-|"GET / HTTP/1.1"|200|0.020|"Bot/1.0""#),
        want("-", "Bot/1.0", "[]")
    );
    assert_eq!(
        read(r#"[~] 192.0.2.10|www.example.com|a|b|"GET / HTTP/1.1"|200|0.020|"Bot \"x\"""#),
        want("a|b", r#"Bot \\\"x\\\""#, "[]")
    );
    assert_eq!(
        read(r#"[~] 192.0.2.10|www.example.com|-|"GET / HTTP/1.1"|200|0.020|"Bot "x"""#),
        want("-", r#"Bot \"x\""#, r#"["quote_repair"]"#)
    );
    assert_eq!(
        read(r#"[~] 192.0.2.10|www.example.com|-|"GET / HTTP/1.1"|2OO|0.020|"Bot""#),
        "not_this_format"
    );
    assert_eq!(read(r#"192.0.2.10 - - [~] "GET / HTTP/1.1" 200 5 "-" "Bot""#), "not_this_format");
    assert_eq!(
        read(r#"[~] 192.0.2.10|a|-|"GET / HTTP/1.1"|200|0.020|"Bot[~] "GET"#.replace('~', "10/Mar/2026:06:25:14 +0000").as_str()),
        "not_this_format"
    );
}

#[test]
fn method_and_path_are_put_together() {
    let got = read("%t %m %U%q x %>s %a", "[~] GET /p/1?x=1 x 200 192.0.2.10");
    assert_eq!(got, "192.0.2.10 ~ - GET /p/1?x=1 Some(200) None ~ None false []");
    let got = read(
        "[$time_local] $request_method $uri$is_args$args $status $remote_addr",
        "[~] GET /p 200 192.0.2.10",
    );
    assert_eq!(got, "192.0.2.10 ~ - GET /p Some(200) None ~ None false []");
}

#[test]
fn a_path_needs_nothing_before_it() {
    let format = r#"$remote_addr [$time_local] "$request_method $scheme://$host$request_uri $server_protocol" $status"#;
    assert_eq!(
        read(format, r#"192.0.2.10 [~] "GET https://www.example.com:8443/p/1?x=1 HTTP/2.0" 200"#),
        "192.0.2.10 www.example.com - GET /p/1?x=1 HTTP/2.0 Some(200) None ~ None false []"
    );
    assert_eq!(
        read(format, r#"192.0.2.10 [~] "GET https://www.example.com HTTP/2.0" 200"#),
        "not_this_format"
    );
    assert_eq!(
        read("%t %h %V%U%q %>s", "[~] 192.0.2.10 www.example.com/p/1?x=1 200"),
        "192.0.2.10 www.example.com -  /p/1?x=1 Some(200) None ~ None false []"
    );
}

#[test]
fn a_stamp_in_pieces_is_one_stamp() {
    for (time, value) in [
        ("[%{%d/%b/%Y:%H:%M:%S}t.%{msec_frac}t %{%z}t]", "[10/Mar/2026:07:25:14.123 +0100]"),
        ("[%{%Y-%m-%dT%H:%M:%S}t.%{usec_frac}t%{%z}t]", "[2026-03-10T01:25:14.123456-0500]"),
        ("%{%F}t %{%T}t %{%z}t", "2026-03-10 11:55:14 +0530"),
        ("%{%F %T %z}t", "2026-03-10 11:55:14 +0530"),
        ("%{begin:%F}tT%{begin:%T}t%{begin:%z}t", "2026-03-10T06:25:14+0000"),
        ("%{sec}t %{msec_frac}t", "1773123914 123"),
        ("%{%s}t.%{usec_frac}t", "1773123914.123456"),
    ] {
        let (format, line) = (format!("{time} %h %m %U%q %>s"), format!("{value} 192.0.2.10 GET /p/1 200"));
        assert_eq!(
            read(&format, &line),
            "192.0.2.10 ~ - GET /p/1 Some(200) None ~ None false []",
            "{time} {value}"
        );
    }
    // Two stamps stay two, and a fraction far away belongs to none.
    assert_eq!(
        read(
            "%{begin:%F %T}t %{end:%F %T}t %h %U %>s",
            "2026-03-10 06:25:14 2026-03-10 06:25:19 192.0.2.10 /p 200"
        ),
        "192.0.2.10 ~ -  /p Some(200) None ~ None false [\"assumed_zone\"]"
    );
    assert_eq!(
        read("%t %h %U %>s %{msec_frac}t", "[~] 192.0.2.10 /p 200 123"),
        "192.0.2.10 ~ -  /p Some(200) None ~ None false []"
    );
}

#[test]
fn strings_that_cannot_work_are_refused_with_the_reason() {
    let refused = |text: &str| Layout::compile(text).expect("a format string").expect_err("refused");
    assert!(refused("$remote_addr $request").contains("time"));
    assert!(refused("$time_local $status").contains("request"));
    assert!(refused("$time_local$request").contains("between"));
    assert!(refused("%t %{x").contains('}'));
    assert!(Layout::compile("combined").is_none());
    assert!(Flags::empty().is_empty());
}
