//! What a URL is worth to a crawl: the rules file. The first rule whose pattern matches the key from its start counts;
//! without one the score is 0.
//!
//! Example of a file: `[{"pattern": "^https://example\\.com/products/[^?]+$", "score": 100}, {"pattern": ".*", "score": 10}]`

use std::fs;
use std::path::Path;

use regex::Regex;
use serde::Deserialize;

use crate::error::Error;
use crate::manifest::nearest::nearest;

/// What a URL whose siblings were fetched is still worth, where its rule does not say.
pub const SIBLING_VALUE: f64 = 0.05;

/// What a rule says of the URLs that it matches.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Worth {
    /// The value of the page; higher goes first.
    pub score: i64,
    /// For so long a fetched page stays fresh, in seconds.
    pub ttl_seconds: Option<u64>,
    /// How many pages it leads to.
    pub yields: Option<f64>,
    /// Fetched for what it leads to.
    pub prerequisite: bool,
    /// The share of the score that is left when a page with the same content was fetched in another order, 0 to 1.
    pub sibling_value: Option<f64>,
}

/// The rules in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct PriorityRules {
    rules: Vec<(Regex, Worth)>,
}

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    pattern: String,
    score: i64,
    ttl_seconds: Option<u64>,
    yields: Option<f64>,
    #[serde(default)]
    prerequisite: bool,
    sibling_value: Option<f64>,
}

impl PriorityRules {
    /// Reads a rules file.
    ///
    /// # Errors
    /// One that cannot be read, or any text that is no such list (usage), with the rule and the nearest known key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path)
            .map_err(|e| Error::usage(path.display(), "cannot read these priority rules").cause(e))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads the text of a rules file; `place` is the path that errors name.
    ///
    /// # Errors
    /// See [`PriorityRules::read`].
    pub fn parse(text: &str, place: &str) -> Result<Self, Error> {
        let written: Vec<Written> = serde_json::from_str(text).map_err(|e| no_rules(place, &e))?;
        let rules = written
            .into_iter()
            .enumerate()
            .map(|(index, rule)| rule.checked(&format!("{place}: rule {}", index + 1)))
            .collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }

    /// The number of the first rule that matches this key from its start.
    #[must_use]
    pub fn matching(&self, key: &str) -> Option<usize> {
        self.rules.iter().position(|(pattern, _)| pattern.is_match(key))
    }

    /// What the rule of that number says; a score of 0 without one.
    #[must_use]
    pub fn worth(&self, rule: Option<usize>) -> Worth {
        rule.and_then(|number| self.rules.get(number)).map_or_else(Worth::default, |(_, worth)| worth.clone())
    }
}

impl Written {
    fn checked(self, place: &str) -> Result<(Regex, Worth), Error> {
        let pattern = Regex::new(&format!(r"\A(?:{})", self.pattern))
            .map_err(|e| no_pattern(place, &self.pattern, &e))?;
        if let Some(yields) = self.yields
            && !(yields.is_finite() && yields >= 0.0)
        {
            return Err(Error::usage(place, format_args!("yields is {yields}")).cause("expected 0 or more"));
        }
        if let Some(value) = self.sibling_value
            && !(0.0..=1.0).contains(&value)
        {
            return Err(
                Error::usage(place, format_args!("sibling_value is {value}")).cause("expected 0 to 1")
            );
        }
        let worth = Worth {
            score: self.score,
            ttl_seconds: self.ttl_seconds,
            yields: self.yields,
            prerequisite: self.prerequisite,
            sibling_value: self.sibling_value,
        };
        Ok((pattern, worth))
    }
}

fn no_rules(place: &str, cause: &serde_json::Error) -> Error {
    let said = cause.to_string();
    let error = Error::usage(place, "is no list of priority rules").cause(&said);
    let mut quoted = said.split('`').skip(1).step_by(2);
    let wrong = quoted.next().filter(|_| said.starts_with("unknown field"));
    match wrong.and_then(|wrong| nearest(wrong, quoted)) {
        Some(near) => error.hint(format_args!("did you mean `{near}`?")),
        None => error.hint("write [{\"pattern\": \"^https://example\\\\.com/$\", \"score\": 50}, ...]"),
    }
}

fn no_pattern(place: &str, pattern: &str, cause: &regex::Error) -> Error {
    let said = cause.to_string();
    // The error repeats the pattern and points into it; its last line says why.
    let why = said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let error = Error::usage(place, format_args!("the pattern {pattern:?} cannot be used")).cause(&why);
    if why.contains("look-around") {
        error.hint(
            "look-arounds do not exist here: put a rule for the exceptions before this one; the first that matches counts",
        )
    } else if why.contains("backreferences") {
        error.hint("backreferences do not exist here: write out what may be repeated")
    } else {
        error.hint("the syntax is that of https://docs.rs/regex; backslashes are doubled in JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (String, String) {
        let error = PriorityRules::parse(text, "rules.json").expect_err(text);
        assert_eq!(error.exit().code(), 2);
        (error.to_string(), error.remedy().unwrap_or_default().to_owned())
    }

    #[test]
    fn the_first_rule_that_matches_from_the_start_counts_and_none_is_0() {
        let text = r#"[
            {"pattern": "^https://example\\.com/products/[^?]+$", "score": 100, "ttl_seconds": 3600},
            {"pattern": "https://example\\.com/list", "score": 1, "yields": 40, "prerequisite": true},
            {"pattern": "/list|/a", "score": 7, "sibling_value": 0.5}
        ]"#;
        let rules = PriorityRules::parse(text, "rules.json").unwrap();
        for (key, want) in [
            ("https://example.com/products/1", Some(0)),
            ("https://example.com/products/1?x=1", None),
            ("https://example.com/list?page=2", Some(1)),
            ("/list", Some(2)),
            ("/x/a", None),
            ("", None),
        ] {
            assert_eq!(rules.matching(key), want, "{key}");
        }
        assert_eq!(rules.worth(None), Worth::default());
        assert_eq!(rules.worth(Some(0)).ttl_seconds, Some(3600));
        let hub = rules.worth(Some(1));
        assert_eq!((hub.score, hub.yields, hub.prerequisite), (1, Some(40.0), true));
        assert_eq!(rules.worth(Some(2)).sibling_value, Some(0.5));
        assert_eq!(PriorityRules::parse("[]", "x").unwrap().matching("/"), None);
    }

    #[test]
    fn a_misspelt_key_names_the_nearest_one() {
        let (said, hint) = refused(r#"[{"pattern": ".*", "score": 1, "ttl_secs": 5}]"#);
        assert!(
            said.starts_with("rules.json: is no list of priority rules: unknown field `ttl_secs`"),
            "{said}"
        );
        assert_eq!(hint, "did you mean `ttl_seconds`?");
        let (said, _) = refused(r#"[{"pattern": ".*"}]"#);
        assert!(said.contains("missing field `score`"), "{said}");
        refused(r#"{"pattern": ".*", "score": 1}"#);
        refused(r#"[{"pattern": ".*", "score": 1.5}]"#);
    }

    #[test]
    fn what_python_can_and_this_cannot_is_refused_with_a_way_out() {
        for (pattern, why, way) in [
            ("(?!/admin)/", "look-around", "a rule for the exceptions"),
            ("(?<=x)y", "look-around", "a rule for the exceptions"),
            (r"(a)\\1", "backreferences", "write out"),
            ("(", "unclosed group", "backslashes"),
        ] {
            let text =
                format!(r#"[{{"pattern": ".*", "score": 0}}, {{"pattern": "{pattern}", "score": 1}}]"#);
            let (said, hint) = refused(&text);
            assert!(said.starts_with("rules.json: rule 2: the pattern ") && said.contains(why), "{said}");
            assert!(hint.contains(way), "{hint}");
        }
    }

    #[test]
    fn shares_and_yields_out_of_range_are_refused() {
        for (key, value) in [("sibling_value", "1.5"), ("sibling_value", "-0.1"), ("yields", "-1")] {
            let (said, _) = refused(&format!(r#"[{{"pattern": ".*", "score": 0, "{key}": {value}}}]"#));
            assert!(said.starts_with(&format!("rules.json: rule 1: {key} is ")), "{said}");
        }
    }
}
