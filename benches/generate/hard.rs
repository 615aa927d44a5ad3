//! Lines that are hard to read, in turn, with what a careful reader takes each for.
//!
//! Example: `198.51.100.9 - - [10/Mar/2026:06:25:14 +0000] "\x16\x03\x01\x02\x00\x01" 400 157 "-" "-"`, a TLS handshake
//! on a plain port: a record without a User-Agent.

use super::pool::pick_skewed;
use super::{Engine, Layout, NO_USER_AGENT, NOT_LOGGED, PEOPLE, open_line, push_tail};

/// A request that no ordinary client sends, and its answer.
struct Odd {
    request: &'static [u8],
    answer: &'static str,
    status: u16,
    bytes: u64,
    referer: &'static str,
    /// A browser; else `-`.
    browser: bool,
}

const RECORDS: [Odd; 6] = [
    Odd {
        request: br#"GET /search?q=\"blue+shoes\" HTTP/1.1"#,
        answer: "200 812",
        status: 200,
        bytes: 812,
        referer: "-",
        browser: true,
    },
    Odd {
        request: br"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03",
        answer: "400 157",
        status: 400,
        bytes: 157,
        referer: "-",
        browser: false,
    },
    Odd { request: b"-", answer: "408 -", status: 408, bytes: 0, referer: "-", browser: false },
    Odd {
        request: b"GET /caf\xE9 HTTP/1.1",
        answer: "404 548",
        status: 404,
        bytes: 548,
        referer: "-",
        browser: true,
    },
    Odd {
        request: b"GET /a page with blanks HTTP/1.1",
        answer: "200 99",
        status: 200,
        bytes: 99,
        referer: r#"https://search.example/?q=\"tent\""#,
        browser: true,
    },
    Odd {
        request: br"GET /path\\with\\backslashes HTTP/1.1",
        answer: "404 548",
        status: 404,
        bytes: 548,
        referer: "-",
        browser: true,
    },
];

impl Engine<'_> {
    /// Writes the hard line whose turn it is.
    pub(super) fn hard_line(&mut self, turn: u64) {
        match turn % 11 {
            0 => {
                self.buffer.extend_from_slice(if turn.is_multiple_of(2) { b"\n" } else { b"  \n" });
                self.counts.truth.blank += 1;
            }
            1 => {
                self.buffer.extend_from_slice(b"# log rotated\n");
                self.counts.truth.directive += 1;
            }
            2 => {
                // Two writers, one line: the request swallows the second entry.
                self.open("198.51.100.10");
                self.buffer.extend_from_slice(b"GET /products/red-mug-7 HT");
                self.open("198.51.100.11");
                self.buffer.extend_from_slice(b"GET / HTTP/1.1\" 200 512");
                self.close(
                    "-",
                    Some("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
                    turn,
                    200,
                );
                self.reject("torn_line");
            }
            3 => {
                // The disk was full in the middle of a line.
                self.open("198.51.100.12");
                self.buffer.extend_from_slice(b"GET /categories/la\n");
                self.reject("unterminated_quote");
            }
            4 => {
                self.open("198.51.100.13");
                self.buffer.extend_from_slice(b"GET / HTTP/1.1\" 200 5l2");
                self.close(
                    "-",
                    Some("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
                    turn,
                    200,
                );
                self.reject("bad_bytes");
            }
            kind => {
                let odd = &RECORDS[usize::try_from(kind - 5).unwrap_or(0)];
                let browser = pick_skewed(&self.browsers, super::mix(turn)).clone();
                self.open("198.51.100.14");
                self.buffer.extend_from_slice(odd.request);
                self.buffer.extend_from_slice(b"\" ");
                self.buffer.extend_from_slice(odd.answer.as_bytes());
                self.close(odd.referer, odd.browser.then_some(browser.as_str()), turn, odd.status);
                let group = match (self.options.layout, odd.browser) {
                    (Layout::Common, _) => NOT_LOGGED,
                    (_, true) => PEOPLE,
                    (_, false) => NO_USER_AGENT,
                };
                self.counts.record(0, group, odd.status, odd.bytes);
            }
        }
    }

    fn open(&mut self, address: &str) {
        open_line(&mut self.buffer, self.options.layout, &self.hosts[0], address, &self.stamp);
    }

    fn close(&mut self, referer: &str, user_agent: Option<&str>, turn: u64, status: u16) {
        if self.options.layout != Layout::Common {
            for field in [referer, user_agent.unwrap_or("-")] {
                self.buffer.extend_from_slice(b" \"");
                self.buffer.extend_from_slice(field.as_bytes());
                self.buffer.push(b'"');
            }
        }
        if self.options.layout == Layout::NginxRt {
            push_tail(&mut self.buffer, super::mix(turn), status);
        }
        self.buffer.push(b'\n');
    }

    fn reject(&mut self, reason: &'static str) {
        *self.counts.truth.rejects.entry(reason).or_default() += 1;
    }
}
