//! Lines of each format, as they are documented; a test reads them.
//!
//! Example: the sample of Combined is
//! `192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /p/1 HTTP/1.1" 200 512 "-" "ExampleBot/1.0"`

use super::record::Format;

impl Format {
    /// A log of this format: lines that belong together, each but directives a record. Empty for the server's own
    /// string, which looks as its owner wished.
    #[must_use]
    pub fn sample(self) -> &'static str {
        match self {
            Self::Combined => {
                r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /p/1 HTTP/1.1" 200 512 "-" "ExampleBot/1.0""#
            }
            Self::Common => r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /p/1 HTTP/1.1" 200 512"#,
            Self::VhostCombined => {
                r#"www.example.com:443 192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /p/1 HTTP/1.1" 200 512 "-" "ExampleBot/1.0""#
            }
            Self::VhostCommon => {
                r#"www.example.com:443 192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /p/1 HTTP/1.1" 200 512"#
            }
            Self::Json => JSON,
            Self::W3c => W3C,
            Self::Traefik => {
                r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /p/1 HTTP/1.1" 200 512 "-" "ExampleBot/1.0" 7 "shop@docker" "http://198.51.100.1:8080" 123ms"#
            }
            Self::Haproxy => {
                r#"192.0.2.10:51812 [10/Mar/2026:06:25:14.655] http-in~ static/srv1 10/0/30/69/123 200 512 - - ---- 1/1/1/1/0 0/0 {ExampleBot/1.0} {} "GET /p/1 HTTP/1.1""#
            }
            Self::Alb => {
                r#"h2 2026-03-10T06:25:14.186641Z app/example-lb/50dc6c495c0c9188 192.0.2.10:2817 198.51.100.1:80 0.000 0.123 0.000 200 200 34 512 "GET https://www.example.com:443/p/1 HTTP/2.0" "ExampleBot/1.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 - "Root=1-58337262-36d228ad5d99923122bbe354" "www.example.com" "-" 0 2026-03-10T06:25:14.063000Z "forward" "-" "-" "198.51.100.1:80" "200" "-" "-""#
            }
            Self::Elb => {
                r#"2026-03-10T06:25:14.945958Z example-lb 192.0.2.10:2817 198.51.100.1:80 0.000 0.123 0.000 200 200 0 512 "GET https://www.example.com:443/p/1 HTTP/1.1" "ExampleBot/1.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2"#
            }
            Self::S3 => {
                r#"79a59df900b949e5 www.example.com [10/Mar/2026:06:25:14 +0000] 192.0.2.10 - 3E57427F3EXAMPLE WEBSITE.GET.OBJECT p/1 "GET /p/1 HTTP/1.1" 200 - 512 512 123 10 "-" "ExampleBot/1.0" -"#
            }
            Self::Custom => "",
        }
    }
}

/// nginx, nginx with its own escapes, Caddy, Traefik, and names as others use them.
const JSON: &str = r#"{"time_iso8601":"2026-03-10T06:25:14+00:00","remote_addr":"192.0.2.10","host":"www.example.com","request":"GET /p/1 HTTP/1.1","status":200,"body_bytes_sent":512,"request_time":0.123,"http_user_agent":"ExampleBot/1.0"}
{"time":"10/Mar/2026:06:25:14 +0000","remote_addr":"192.0.2.10","request":"GET /p/1 HTTP/1.1","status":"200","bytes_sent":512,"upstream_response_time":-,"request_time":0.123,"http_user_agent":"ExampleBot\x2F1.0"}
{"level":"info","ts":1773123914.25,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.10","remote_port":"64985","proto":"HTTP/1.1","method":"GET","host":"www.example.com","uri":"/p/1","headers":{"User-Agent":["ExampleBot/1.0"]}},"duration":0.123,"size":512,"status":200,"resp_headers":{"Server":["Caddy"]}}
{"ClientAddr":"192.0.2.10:51812","ClientHost":"192.0.2.10","DownstreamContentSize":512,"DownstreamStatus":200,"Duration":123000000,"RequestHost":"www.example.com","RequestMethod":"GET","RequestPath":"/p/1","RequestProtocol":"HTTP/1.1","StartUTC":"2026-03-10T06:25:14.25Z","request_User-Agent":"ExampleBot/1.0","time":"2026-03-10T07:25:14+01:00"}
{"@timestamp":"2026-03-10T06:25:14.250Z","source":{"ip":"192.0.2.10"},"http":{"request":{"method":"GET"},"response":{"status_code":200,"body":{"bytes":512}}},"url":{"original":"/p/1"},"protocol":"HTTP/1.1","user_agent":{"original":"ExampleBot/1.0"},"event":{"duration":123000000}}"#;

/// IIS, then CloudFront.
const W3C: &str = "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs-version cs(User-Agent) cs(Referer) sc-status sc-bytes time-taken
2026-03-10 06:25:14 198.51.100.1 GET /p/1 - 443 - 192.0.2.10 HTTP/1.1 ExampleBot/1.0 - 200 512 123
#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query x-host-header cs-protocol-version time-taken
2026-03-10\t06:25:14\tFRA2\t512\t192.0.2.10\tGET\td111111abcdef8.cloudfront.net\t/p/1\t200\t-\tExampleBot/1.0\t-\twww.example.com\tHTTP/1.1\t0.123";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::escape::unescape;
    use crate::format::{Line, Parser, ParserOptions, Wrapper, client, request};

    fn check(line: &[u8], want: Format, prefix: Option<Wrapper>, parser: &mut Parser) {
        match parser.line(line) {
            Line::Directive => {}
            Line::Record(r) => {
                let text = line.escape_ascii();
                assert_eq!((r.format, r.epoch, r.prefix), (want, 1_773_123_914, prefix), "{text}");
                assert_eq!(client::printed(r.client).as_deref(), Some("192.0.2.10"), "{text}");
                let request = request::split(r.request);
                assert!(request.target.is_some_and(|t| t.ends_with(b"/p/1")), "{text}");
                assert!(request.protocol.is_some(), "{text}");
                assert_eq!((r.status, r.bytes), (Some(200), Some(512)), "{text}");
                let without = matches!(want, Format::Common | Format::VhostCommon | Format::Haproxy);
                let user_agent = r.user_agent.map(|t| unescape(t).into_owned());
                assert_eq!(user_agent.as_deref(), (!without).then_some(&b"ExampleBot/1.0"[..]), "{text}");
                let plain = [Format::Combined, Format::Common, Format::VhostCombined, Format::VhostCommon]
                    .contains(&want);
                assert_eq!(r.latency_us(), (!plain).then_some(123_000), "{text}");
            }
            other => panic!("{other:?}: {}", line.escape_ascii()),
        }
    }

    #[test]
    fn every_format_reads_its_sample_by_name_and_by_its_shape() {
        for format in Format::named() {
            assert!(!format.sample().is_empty());
            for named in [None, Some(format)] {
                let mut parser = Parser::new(ParserOptions { format: named, ..ParserOptions::default() });
                for line in format.sample().lines() {
                    check(line.as_bytes(), format, None, &mut parser);
                }
            }
        }
    }

    #[test]
    fn a_named_format_reads_no_sample_of_another() {
        // Between a client and a virtual host only the name decides, and Traefik's lines are Combined.
        let alike = |f: Format| {
            matches!(
                f,
                Format::Combined
                    | Format::Common
                    | Format::VhostCombined
                    | Format::VhostCommon
                    | Format::Traefik
            )
        };
        for named in Format::named() {
            for format in Format::named().filter(|f| *f != named && !(alike(named) && alike(*f))) {
                let mut parser =
                    Parser::new(ParserOptions { format: Some(named), ..ParserOptions::default() });
                for line in format.sample().lines() {
                    assert!(!matches!(parser.line(line.as_bytes()), Line::Record(_)), "{named:?} {line}");
                }
            }
        }
    }

    #[test]
    fn samples_are_read_behind_every_carrier() {
        for format in Format::named().filter(|format| *format != Format::W3c) {
            for line in format.sample().lines() {
                let quoted = serde_json::to_string(&format!("{line}\n")).unwrap();
                for (text, prefix) in [
                    (format!("<134>Mar 10 06:25:14 web01 app[7]: {line}"), Wrapper::Syslog),
                    (format!("<134>1 2026-03-10T06:25:14Z web01 app 7 - - {line}"), Wrapper::Syslog),
                    (format!("2026-03-10T06:25:14.1Z stdout F {line}"), Wrapper::Cri),
                    (
                        format!(r#"{{"log":{quoted},"stream":"stdout","time":"2026-03-10T06:25:14.1Z"}}"#),
                        Wrapper::Docker,
                    ),
                ] {
                    check(text.as_bytes(), format, Some(prefix), &mut Parser::new(ParserOptions::default()));
                }
            }
        }
    }

    #[test]
    fn parts_of_a_container_runtime_are_one_line_wherever_they_are_cut() {
        let line = Format::Combined.sample();
        for cut in 0..line.len() {
            let (a, b) = line.split_at(cut);
            let front = "2026-03-10T06:25:14.1Z stdout";
            let block = format!(
                "{front} P {a}\n2026-03-10T06:25:14Z stderr F # note\n{front} F {b}\n{front} F {line}\n"
            );
            let mut seen = Vec::new();
            let count = Parser::new(ParserOptions::default()).block(block.as_bytes(), |entry| {
                let kind =
                    matches!(entry.outcome, Line::Record(r) if r.user_agent == Some(b"ExampleBot/1.0"));
                seen.push((entry.number, entry.parts, kind));
            });
            assert_eq!((count, &seen[..]), (4, &[(0, 2, true), (1, 1, false), (3, 1, true)][..]), "{cut}");
        }
    }
}
