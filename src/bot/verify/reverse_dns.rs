//! Answers of reverse look-ups that somebody made elsewhere (`--rdns`). No look-up is made here.
//!
//! Example of a line (fields separated by tabs): `198.51.100.5  crawl-198-51-100-5.googlebot.com  true`
//! The third field says whether the name leads back to the address; `-` stands for what the resolver did not answer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

use super::Suffix;
use crate::error::Error;
use crate::tally::table::Verification;

/// Names by address.
#[derive(Debug, Clone, Default)]
pub(super) struct ReverseNames {
    answers: HashMap<IpAddr, Vec<Answer>, foldhash::fast::RandomState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    /// Lower case, no full stop at the end.
    name: String,
    /// Whether the name leads back; `None` where the resolver did not say.
    confirmed: Option<bool>,
}

impl ReverseNames {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|e| {
            Error::usage(path.display(), "cannot read the reverse names")
                .cause(e)
                .hint("--rdns takes a file of lines `ip<TAB>name<TAB>forward_ok`")
        })?;
        Self::parse(&path.display().to_string(), &String::from_utf8_lossy(&text))
    }

    fn parse(place: &str, text: &str) -> Result<Self, Error> {
        let mut names = Self::default();
        let text = text.trim_start_matches('\u{FEFF}');
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |expected: &str, found: &str| {
                Error::usage(
                    format_args!("{place}:{number}"),
                    format_args!("expected {expected}, found `{found}`"),
                )
                .hint("a line is `ip<TAB>name<TAB>forward_ok`; forward_ok is true, false or -")
            };
            let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
            let [address, name, confirmed] = fields[..] else {
                return Err(wrong("three fields separated by tabs", line));
            };
            let address: IpAddr = address.parse().map_err(|_| wrong("an address", address))?;
            let confirmed = match confirmed {
                "true" => Some(true),
                "false" => Some(false),
                "-" => None,
                other => return Err(wrong("true, false or -", other)),
            };
            if name.is_empty() {
                return Err(wrong("a name or -", name));
            }
            if name == "-" {
                continue;
            }
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            names.answers.entry(address.to_canonical()).or_default().push(Answer { name, confirmed });
        }
        Ok(names)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// What the names of an address say about a claim. Of several names one is enough to verify, and only all of them
    /// together deny.
    pub(super) fn verdict(&self, client: IpAddr, suffixes: &[Suffix]) -> Verification {
        if suffixes.is_empty() {
            return Verification::NotCheckable;
        }
        let answers = self.answers.get(&client).map_or(&[][..], Vec::as_slice);
        let verdicts = answers.iter().map(|answer| {
            let Some(suffix) = suffixes.iter().find(|s| is_under(&answer.name, &s.name)) else {
                return Verification::Failed;
            };
            match answer.confirmed {
                Some(true) => Verification::Verified,
                Some(false) if suffix.unconfirmed_denies => Verification::Failed,
                _ => Verification::NotCheckable,
            }
        });
        verdicts
            .max_by_key(|v| match v {
                Verification::Verified => 2,
                Verification::NotCheckable => 1,
                Verification::Failed => 0,
            })
            .unwrap_or(Verification::NotCheckable)
    }
}

/// Whether a name is the suffix or ends in it behind a full stop.
fn is_under(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "192.0.2.67";

    fn verdict(lines: &str, unconfirmed_denies: bool) -> Verification {
        let suffixes = [Suffix { name: "bot.example".to_owned(), unconfirmed_denies }];
        ReverseNames::parse("rdns.tsv", lines).unwrap().verdict(ADDRESS.parse().unwrap(), &suffixes)
    }

    #[test]
    fn only_forward_confirmed_names_on_a_label_boundary_count() {
        for (name, confirmed, want) in [
            ("crawl-67.bot.example", "true", Verification::Verified),
            ("bot.example", "true", Verification::Verified),
            ("CRAWL-67.Bot.Example.", "true", Verification::Verified),
            ("crawl-67.bot.example", "false", Verification::Failed),
            ("crawl-67.bot.example", "-", Verification::NotCheckable),
            ("evilbot.example", "true", Verification::Failed),
            ("bot.example.evil.example", "true", Verification::Failed),
            ("host.other.example", "-", Verification::Failed),
            ("-", "-", Verification::NotCheckable),
        ] {
            assert_eq!(
                verdict(&format!("{ADDRESS}\t{name}\t{confirmed}\r\n"), true),
                want,
                "{name} {confirmed}"
            );
        }
    }

    #[test]
    fn where_forward_records_are_often_missing_an_unconfirmed_name_denies_nobody() {
        assert_eq!(verdict(&format!("{ADDRESS}\ta.bot.example\tfalse"), false), Verification::NotCheckable);
        assert_eq!(verdict(&format!("{ADDRESS}\ta.bot.example\ttrue"), false), Verification::Verified);
        assert_eq!(verdict(&format!("{ADDRESS}\ta.other.example\tfalse"), false), Verification::Failed);
    }

    #[test]
    fn one_of_several_names_is_enough() {
        let lines = format!("# two\n{ADDRESS}\thost.other.example\ttrue\n\n{ADDRESS}\ta.bot.example\ttrue\n");
        assert_eq!(verdict(&lines, true), Verification::Verified);
    }

    #[test]
    fn addresses_without_an_answer_are_not_checkable() {
        assert_eq!(verdict("192.0.2.68\ta.bot.example\ttrue", true), Verification::NotCheckable);
    }

    #[test]
    fn a_line_of_another_form_is_an_error_with_its_number() {
        for (text, want) in [
            ("192.0.2.1\ta.example\ttrue\nx\ta.example\ttrue", "rdns.tsv:2: expected an address, found `x`"),
            ("192.0.2.1 a.example true", "rdns.tsv:1: expected three fields separated by tabs"),
            ("192.0.2.1\ta.example\tyes", "rdns.tsv:1: expected true, false or -, found `yes`"),
            ("192.0.2.1\t\ttrue", "rdns.tsv:1: expected a name or -"),
        ] {
            assert!(
                ReverseNames::parse("rdns.tsv", text).unwrap_err().to_string().starts_with(want),
                "{text}"
            );
        }
    }
}
