//! The settings that change what a part holds: with others, the same log gives other parts.
//!
//! Kept in the `sources` row: which were given, and their values. Contents of range files and the built-in catalogue
//! are recorded beside them and compared with nothing: refreshed ranges or an upgrade must not stop a nightly run.
//!
//! Example: `--host www.example.com --mask-clients` is `host=www.example.com, mask-clients=true`.

use crate::error::Error;

/// The flags (without dashes) that change what a part holds.
pub const NAMES: [&str; 10] = [
    "host",
    "host-from-path",
    "catalogue",
    "ip-ranges",
    "log-format",
    "assume-zone",
    "latency-field",
    "client",
    "trusted-proxy",
    "mask-clients",
];

/// Settings that were given, by name; several values of one setting in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// From what was given, in any order of names.
    #[must_use]
    pub fn new(mut given: Vec<(String, String)>) -> Self {
        given.sort_by(|a, b| a.0.cmp(&b.0));
        Self(given)
    }

    /// Name and value, ordered by name.
    #[must_use]
    pub fn given(&self) -> &[(String, String)] {
        &self.0
    }

    fn say(&self) -> String {
        if self.0.is_empty() {
            return "no setting".to_owned();
        }
        self.0.iter().map(|(name, value)| format!("--{name} {value}")).collect::<Vec<_>>().join(" ")
    }

    /// Compares the settings of this run with those that a source was read with. `true` when the source has to be read
    /// again because they differ and `reclassify` allows it.
    ///
    /// # Errors
    ///
    /// They differ and nobody asked to reclassify (exit 2).
    pub fn differ_from(&self, stored: &Self, log: &str, reclassify: bool) -> Result<bool, Error> {
        if self == stored {
            return Ok(false);
        }
        if reclassify {
            return Ok(true);
        }
        Err(Error::usage(log, "is in the history under other settings")
            .cause(format_args!("it was read with {}, now given: {}", stored.say(), self.say()))
            .hint("give the same settings, --reclassify to replace what is stored, or another output folder"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_settings_for_a_known_source_are_a_usage_error_unless_it_is_to_be_reclassified() {
        let set = |pairs: &[(&str, &str)]| {
            Settings::new(pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect())
        };
        let stored = set(&[("host", "a"), ("ip-ranges", "x.json"), ("ip-ranges", "y.json")]);
        let same = set(&[("ip-ranges", "x.json"), ("host", "a"), ("ip-ranges", "y.json")]);
        assert!(!same.differ_from(&stored, "access.log", false).unwrap());
        let e = set(&[]).differ_from(&stored, "access.log", false).unwrap_err();
        assert_eq!(e.exit().code(), 2);
        assert_eq!(
            e.to_string(),
            "access.log: is in the history under other settings: it was read with --host a --ip-ranges x.json \
             --ip-ranges y.json, now given: no setting"
        );
        assert!(e.remedy().unwrap().contains("--reclassify"));
        assert!(set(&[]).differ_from(&stored, "access.log", true).unwrap());
    }
}
