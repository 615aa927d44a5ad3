//! `--latency-field`: which of the fields behind the user agent says how long a request took, and in what.
//!
//! Bare numbers name nothing, so a person must. Example of its input: `1:us`, the first field, in microseconds (Apache
//! `%D`); `-1:s`, the last one, in seconds (nginx `$request_time`).

use super::draft::{Unit, duration_us};
use super::record::Record;
use super::tail;

/// Position and unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyField {
    /// From 0.
    position: usize,
    from_end: bool,
    unit: Unit,
}

impl LatencyField {
    /// Reads `POSITION:UNIT`.
    ///
    /// # Errors
    /// What was expected and found, in a sentence.
    pub fn new(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected POSITION:UNIT with a unit of s, ms, us or ns; found {text:?}");
        let (position, unit) = text.split_once(':').ok_or_else(wrong)?;
        let (from_end, digits) = position.strip_prefix('-').map_or((false, position), |rest| (true, rest));
        let number: usize = digits.parse().map_err(|_| wrong())?;
        if !(1..=1000).contains(&number) || digits.starts_with('+') {
            return Err(format!(
                "expected a position of 1 (the first field behind the User-Agent) to 1000, or -1 (the last) to -1000; found {position}"
            ));
        }
        let unit = match unit {
            "s" => Unit::Seconds,
            "ms" => Unit::Millis,
            "us" => Unit::Micros,
            "ns" => Unit::Nanos,
            _ => return Err(wrong()),
        };
        Ok(Self { position: number - 1, from_end, unit })
    }

    /// Notes the latency of a record that has such a field with a number in it.
    pub(super) fn name(self, record: &mut Record<'_>) {
        let mut fields = tail::fields(record.tail);
        let field = if self.from_end {
            tail::fields(record.tail).count().checked_sub(self.position + 1).and_then(|at| fields.nth(at))
        } else {
            fields.nth(self.position)
        };
        let value = field.map(|field| field.rsplit(|b| *b == b'=').next().unwrap_or(field));
        if let Some(latency) = value.map(tail::without_quotes).and_then(|value| duration_us(value, self.unit))
        {
            record.timing.latency_us = Some(latency);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Line, Parser, ParserOptions};

    fn latency(field: &str, behind: &str) -> Option<u64> {
        let line = format!("192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 5{behind}\n");
        let latency_field = Some(LatencyField::new(field).unwrap());
        let mut parser = Parser::new(ParserOptions { latency_field, ..ParserOptions::default() });
        let mut found = None;
        // By the fast path where it is one.
        parser.block(line.repeat(2).as_bytes(), |entry| {
            let Line::Record(record) = entry.outcome else { panic!("{line}") };
            found = record.latency_us();
        });
        found
    }

    #[test]
    fn a_field_of_the_tail_is_the_latency_in_its_unit() {
        for (field, behind, want) in [
            ("1:us", r#" "-" "Bot" 12345"#, Some(12_345)),
            ("1:us", " 12345", Some(12_345)),
            ("2:ms", r#" "-" "Bot" gzip 12"#, Some(12_000)),
            ("-1:s", r#" "-" "Bot" "a b" 0.250"#, Some(250_000)),
            ("-2:s", r#" "-" "Bot" 0.250 -"#, Some(250_000)),
            ("1:s", r#" "-" "Bot" "0.120, 0.003""#, Some(3_000)),
            ("2:ms", r#" "-" "Bot" x took="17""#, Some(17_000)),
            ("1:ns", r#" "-" "Bot" 5000"#, Some(5)),
            ("3:us", r#" "-" "Bot" 1 2"#, None),
            ("-3:us", r#" "-" "Bot" 1 2"#, None),
            ("1:us", r#" "-" "Bot" -"#, None),
            ("1:us", r#" "-" "Bot""#, None),
            // What says itself what it is stays where the field says nothing.
            ("1:us", r#" "-" "Bot" - rt=0.5"#, Some(500_000)),
        ] {
            assert_eq!(latency(field, behind), want, "{field} {behind}");
        }
    }

    #[test]
    fn what_is_no_position_or_unit_is_refused() {
        for text in ["", "1", "us", "0:us", "1:min", "x:us", "--1:us", "+1:us", "1001:us", "1:", ":us"] {
            assert!(LatencyField::new(text).unwrap_err().starts_with("expected "), "{text}");
        }
    }
}
