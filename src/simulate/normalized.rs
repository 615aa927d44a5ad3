//! The output of `normalize`: unique URLs by priority, with what a plan needs to know of each.
//!
//! Not how they are made. Example: `{"url": "https://a.example/p/1", "score": 100, "urls_merged": 3, "ttl_seconds": 3600}`

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::json;

/// What messages call a list of `normalize`.
pub const NORMALIZED_KIND: json::Kind = json::Kind {
    name: "list of normalized URLs",
    hint: "`crawl-baseline normalize` writes one",
    schema_version: 1,
};

/// The document, as far as a plan and the gate use it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Normalized {
    /// 1.
    pub schema_version: u64,
    /// Unique URLs.
    pub urls: Vec<NormalizedUrl>,
}

/// One unique URL.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NormalizedUrl {
    /// To be fetched.
    pub url: String,
    /// What it is compared by; empty: the URL's own.
    pub url_key: String,
    /// What it is worth; `priority` in older lists.
    #[serde(alias = "priority")]
    pub score: f64,
    /// URLs of the input that are this one, itself included.
    pub urls_merged: Option<u64>,
    /// For how long a fetched page stays fresh.
    pub ttl_seconds: Option<u64>,
    /// How many pages it opens up.
    pub yields: Option<f64>,
    /// Fetched for what it leads to.
    pub prerequisite: bool,
    /// The share of its score that is left, where a URL before shows the same in another order.
    pub sibling_value: Option<f64>,
    /// When it was fetched last, RFC 3339.
    pub fetched_at: Option<String>,
}

impl Normalized {
    /// Reads the document; `place` is the path that errors name. Keys that are not known are ignored.
    ///
    /// # Errors
    /// A usage error when the text is no such document, with the line and the key.
    pub fn from_json(text: &str, place: &str) -> Result<Self, Error> {
        json::read(text, place, NORMALIZED_KIND)
    }

    /// Unique URLs and those that were given.
    #[must_use]
    pub fn unique_and_given(&self) -> (u64, u64) {
        let unique = u64::try_from(self.urls.len()).unwrap_or(u64::MAX);
        (unique, self.urls.iter().map(|url| url.urls_merged.unwrap_or(1).max(1)).sum())
    }
}
