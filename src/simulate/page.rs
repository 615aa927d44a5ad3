//! What is to be fetched, and in which order.
//!
//! Example: a listing page of value 1 that leads to 40 products has density 40, and goes before a product of value 10.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One URL to be fetched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Page {
    /// The URL; it breaks ties, bytewise.
    pub url: String,
    /// The host that is asked.
    pub host: String,
    /// What the page is worth, with what its siblings already told taken off.
    pub score: f64,
    /// How many pages it opens up; 1 for a page that is fetched for itself.
    pub yields: f64,
    /// Fetched for what it leads to: paid from the prerequisites' reserve where there is one, and no row by itself.
    pub prerequisite: bool,
    /// For how long a fetched page stays fresh.
    pub ttl: Option<Duration>,
    /// When it was fetched last, since the epoch.
    pub fetched_at: Option<Duration>,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            url: String::new(),
            host: String::new(),
            score: 0.0,
            yields: 1.0,
            prerequisite: false,
            ttl: None,
            fetched_at: None,
        }
    }
}

impl Page {
    /// A page that is fetched for itself.
    #[must_use]
    pub fn new(url: &str, host: &str, score: f64) -> Self {
        Self { url: url.to_owned(), host: host.to_owned(), score, ..Self::default() }
    }

    /// Value per request once it is due: `score * yields`.
    ///
    /// ```
    /// use crawl_baseline::simulate::Page;
    /// let listing = Page { yields: 40.0, ..Page::new("https://a.example/list", "a.example", 1.0) };
    /// let product = Page::new("https://a.example/p/1", "a.example", 10.0);
    /// assert!(listing.density() > product.density());
    /// ```
    #[must_use]
    pub fn density(&self) -> f64 {
        self.score * self.yields
    }

    /// From when on it is worth a request: the end of its time to live. Before that its density is 0.
    #[must_use]
    pub fn due_at(&self) -> Duration {
        match (self.fetched_at, self.ttl) {
            (Some(fetched), Some(ttl)) => fetched.saturating_add(ttl),
            _ => Duration::ZERO,
        }
    }
}
