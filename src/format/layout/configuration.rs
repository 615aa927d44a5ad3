//! Format strings out of a server's configuration file.
//!
//! Both servers' files are read for one directive each; everything else in them is left alone, and included files are
//! not followed.
//!
//! Example of its input: `log_format main '$remote_addr - $remote_user [$time_local] ' '"$request" $status';`

/// The names and strings of all formats that a file defines, in order.
#[must_use]
pub fn formats(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut words = Words { rest: text, line_start: true };
    while let Some(word) = words.next() {
        if !word.first {
            continue;
        }
        if word.text == "log_format" {
            let name = words.next().map(|w| w.text).unwrap_or_default();
            let mut string = String::new();
            while let Some(part) = words.next().filter(|w| w.text != ";" || w.quoted) {
                if part.quoted || !part.text.starts_with("escape=") {
                    string.push_str(&part.text);
                }
            }
            found.push((name, string));
        } else if word.text.eq_ignore_ascii_case("LogFormat") {
            let string = words.next().map(|w| w.text).unwrap_or_default();
            // Without a name it is what later directives fall back to.
            let name = words.next_on_line().map_or_else(|| "(unnamed)".to_owned(), |w| w.text);
            found.push((name, string));
        }
    }
    found
}

struct Word {
    text: String,
    quoted: bool,
    /// Begins a directive.
    first: bool,
}

struct Words<'a> {
    rest: &'a str,
    line_start: bool,
}

impl Words<'_> {
    fn next(&mut self) -> Option<Word> {
        self.skip(true);
        self.word()
    }

    fn next_on_line(&mut self) -> Option<Word> {
        self.skip(false);
        if self.rest.starts_with('\n') { None } else { self.word() }
    }

    fn skip(&mut self, lines: bool) {
        loop {
            if let Some(rest) = self.rest.strip_prefix("\\\n").or_else(|| self.rest.strip_prefix("\\\r\n")) {
                self.rest = rest;
            } else if self.rest.starts_with('#') {
                self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
            } else if let Some(rest) = self.rest.strip_prefix('\n') {
                if !lines {
                    return;
                }
                self.rest = rest;
                self.line_start = true;
            } else if self.rest.starts_with([' ', '\t', '\r']) {
                self.rest = &self.rest[1..];
            } else {
                return;
            }
        }
    }

    fn word(&mut self) -> Option<Word> {
        let first = self.line_start;
        let start = self.rest.chars().next()?;
        if matches!(start, ';' | '{' | '}') {
            self.rest = &self.rest[1..];
            self.line_start = true;
            return Some(Word { text: start.to_string(), quoted: false, first: false });
        }
        self.line_start = false;
        let quoted = matches!(start, '"' | '\'');
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(usize::from(quoted));
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                // Apache goes on in the next line, in quotes too.
                '\\' if self.rest[at + 1..].starts_with('\n') => {
                    chars.next();
                }
                '\\' if self.rest[at + 1..].starts_with("\r\n") => {
                    chars.nth(1);
                }
                '\\' => {
                    // The format's own escapes are undone when it is compiled; here only the quote's end matters.
                    text.push('\\');
                    text.extend(chars.next().map(|(_, c)| c));
                }
                _ if quoted && c == start => {
                    end = at + 1;
                    break;
                }
                ';' | '{' | '}' | ' ' | '\t' | '\r' | '\n' if !quoted => {
                    end = at;
                    break;
                }
                _ => text.push(c),
            }
        }
        self.rest = &self.rest[end..];
        Some(Word { text, quoted, first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_both_servers_are_found_whole() {
        let nginx = "http {\n  # log_format no 'x';\n  log_format main escape=json '$remote_addr [$time_local] '\n \
                     '\"$request\" it\\'s; ' $status;\n  access_log /var/log/x.log main;\n}\n";
        assert_eq!(
            formats(nginx),
            [("main".to_owned(), "$remote_addr [$time_local] \"$request\" it\\'s; $status".to_owned())]
        );
        let cut = "LogFormat \"%h %t \\\n\\\"%r\\\" \\\r\n%>s\" \\\n cut\n";
        assert_eq!(
            formats(&format!("\u{feff}{cut}")),
            [("cut".to_owned(), "%h %t \\\"%r\\\" %>s".to_owned())]
        );
        let apache = "LogLevel warn\nLogFormat \"%h %t \\\"%r\\\" %>s\" short\nlogformat \"%t %r\"\nCustomLog x short\n";
        assert_eq!(
            formats(apache),
            [
                ("short".to_owned(), "%h %t \\\"%r\\\" %>s".to_owned()),
                ("(unnamed)".to_owned(), "%t %r".to_owned())
            ]
        );
    }
}
