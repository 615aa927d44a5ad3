//! `[running]`: how a run uses the machine. None of it changes a result.
//!
//! ```toml
//! [running]
//! memory_limit = "512M"
//! ```

use serde::Deserialize;

use crate::error::Error;

/// Memory for what is counted, in bytes, where nobody says otherwise.
const MEMORY_LIMIT: u64 = 256 << 20;
/// With less, runs would be all seeks.
const LEAST_MEMORY_LIMIT: u64 = 16 << 20;

/// `[running]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Running {
    /// As `--memory-limit`.
    pub memory_limit: Option<String>,
}

impl Running {
    /// The limit in bytes: the flag over the file over the default.
    ///
    /// # Errors
    /// No size, or less than 16M (usage).
    pub fn memory_limit(&self, typed: Option<&str>) -> Result<u64, Error> {
        let (place, text) = match (typed, self.memory_limit.as_deref()) {
            (Some(typed), _) => ("--memory-limit", typed),
            (None, Some(text)) => ("running.memory_limit", text),
            (None, None) => return Ok(MEMORY_LIMIT),
        };
        let bytes = size(text).ok_or_else(|| {
            Error::usage(place, format_args!("{text:?} is no size"))
                .cause("expected a number of bytes, or one with K, M or G behind it")
                .hint("256M is the default")
        })?;
        if bytes < LEAST_MEMORY_LIMIT {
            return Err(Error::usage(place, format_args!("{text} is too little"))
                .cause("expected 16M or more")
                .hint("without it the limit is 256M"));
        }
        Ok(bytes)
    }
}

/// A number, or one of `K`, `M`, `G` behind it for powers of 1024, in either case.
fn size(text: &str) -> Option<u64> {
    let unit = text.bytes().last()?.to_ascii_uppercase();
    let shift = match unit {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'0'..=b'9' => 0,
        _ => return None,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_powers_of_1024() {
        assert_eq!(size("16777216"), Some(16 << 20));
        assert_eq!(
            (size("20000K"), size("64m"), size("2G")),
            (Some(20_000 << 10), Some(64 << 20), Some(2 << 30))
        );
        for text in ["", "M", "+5M", "1.5G", "64 M", "64MB", "99999999999G", "\u{e9}"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn a_flag_goes_before_the_file_and_the_file_before_the_default() {
        let nothing = Running::default();
        let file: Running = toml::from_str("memory_limit = \"64M\"\n").unwrap();
        let bytes = |of: &Running, typed| of.memory_limit(typed).unwrap();
        assert_eq!((bytes(&nothing, None), bytes(&file, None)), (256 << 20, 64 << 20));
        assert_eq!(bytes(&file, Some("1G")), 1 << 30);
        let file: Running = toml::from_str("memory_limit = \"64MB\"\n").unwrap();
        assert_eq!(file.memory_limit(None).unwrap_err().place(), "running.memory_limit");
    }
}
