//! URLs in, unique ones out: every URL is counted under its key, and nothing else of it is kept but the first one with
//! that key.
//!
//! Memory grows with the unique URLs (their text and about 60 bytes each), not with the lines.
//! Example: `/a?utm_source=x` and `/a?utm_source=y` are one entry with the key `/a` and two URLs merged.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::line::Line;
use super::parameter::Parameters;
use crate::url::{Rules, SEED_BLACKLIST, seed_key};

/// Rejected lines that are listed; all are counted.
pub const REJECTS_LISTED: usize = 1_000;

/// How keys are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// The canonical form.
    Canonical(Rules),
    /// That of the seed's script.
    Seed {
        /// Names that are dropped beside the script's own.
        extra: Vec<String>,
        /// `--canonicalize` of the script.
        canonicalize: bool,
    },
}

impl Form {
    /// The key of a URL; empty where it has none.
    #[must_use]
    pub fn key(&self, url: &str) -> String {
        match self {
            Self::Canonical(rules) => rules.key_of_url(url.as_bytes()),
            Self::Seed { canonicalize, .. } => seed_key(url, &|name| self.drops(name), *canonicalize),
        }
    }

    /// Whether a parameter of this name is dropped.
    #[must_use]
    pub fn drops(&self, name: &str) -> bool {
        match self {
            Self::Canonical(rules) => rules.drops(name),
            Self::Seed { extra, .. } => SEED_BLACKLIST.contains(&name) || extra.iter().any(|e| e == name),
        }
    }

    /// The names that are dropped.
    #[must_use]
    pub fn blacklist(&self) -> Vec<String> {
        match self {
            Self::Canonical(rules) => rules.blacklist().into_iter().map(str::to_owned).collect(),
            Self::Seed { extra, .. } => {
                SEED_BLACKLIST.iter().map(|name| (*name).to_owned()).chain(extra.iter().cloned()).collect()
            }
        }
    }
}

/// `lines = blank + comments + urls + rejected`, and `urls = unique + merged`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Totals {
    /// All lines; of a sitemap its `loc` entries, of a history its URLs.
    pub lines: u64,
    /// Nothing but blanks.
    pub blank: u64,
    /// Begin with `#`, and the header of columns.
    pub comments: u64,
    /// URLs.
    pub urls: u64,
    /// Neither.
    pub rejected: u64,
    /// Different keys.
    pub unique: u64,
    /// URLs whose key another one before had.
    pub merged: u64,
}

/// A line that is no URL.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Rejected {
    /// From 1.
    pub line: u64,
    /// Why, in a word.
    pub reason: String,
}

/// A unique URL.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) url: Range<usize>,
    pub(super) key: Range<usize>,
    pub(super) merged: u64,
    pub(super) fetched_at: Option<i64>,
    /// Whether the first URL may hold what has to be masked; its key holds nothing else.
    pub(super) may_hold_secret: bool,
}

/// Everything that was read so far.
pub struct Collector {
    pub(super) form: Form,
    pub(super) totals: Totals,
    pub(super) entries: Vec<Entry>,
    pub(super) texts: Vec<u8>,
    pub(super) rejected: Vec<Rejected>,
    /// All of them, by reason.
    pub(super) reasons: BTreeMap<String, u64>,
    pub(super) parameters: Parameters,
    index: HashTable<u32>,
    state: RandomState,
}

impl Collector {
    /// Nothing yet.
    #[must_use]
    pub fn new(form: Form) -> Self {
        Self {
            form,
            totals: Totals::default(),
            entries: Vec::new(),
            texts: Vec::new(),
            rejected: Vec::new(),
            reasons: BTreeMap::new(),
            parameters: Parameters::default(),
            index: HashTable::new(),
            state: RandomState::default(),
        }
    }

    /// How keys are made.
    #[must_use]
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The figures so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Counts one line.
    pub fn add(&mut self, line: &Line<'_>) {
        self.totals.lines += 1;
        match line {
            Line::Blank => self.totals.blank += 1,
            Line::Comment => self.totals.comments += 1,
            Line::Rejected(reason) => self.reject(reason),
            Line::Url(url, fetched_at) => self.url(url, *fetched_at),
        }
    }

    fn reject(&mut self, reason: &str) {
        self.totals.rejected += 1;
        *self.reasons.entry(reason.to_owned()).or_default() += 1;
        if self.rejected.len() < REJECTS_LISTED {
            self.rejected.push(Rejected { line: self.totals.lines, reason: reason.to_owned() });
        }
    }

    fn url(&mut self, url: &str, fetched_at: Option<i64>) {
        let key = self.form.key(url);
        if key.is_empty() {
            self.reject("empty_key");
            return;
        }
        self.totals.urls += 1;
        let number = self.entry(url, &key, fetched_at);
        let may_hold_secret = self.parameters.add(url, number, &self.form);
        self.entries[number as usize].may_hold_secret |= may_hold_secret;
    }

    /// # Panics
    /// Past four thousand million unique URLs.
    fn entry(&mut self, url: &str, key: &str, fetched_at: Option<i64>) -> u32 {
        let hash = self.state.hash_one(key.as_bytes());
        let (entries, texts) = (&self.entries, &self.texts);
        let found =
            self.index.find(hash, |n| texts[entries[*n as usize].key.clone()] == *key.as_bytes()).copied();
        if let Some(number) = found {
            let entry = &mut self.entries[number as usize];
            entry.merged += 1;
            entry.fetched_at = entry.fetched_at.max(fetched_at);
            self.totals.merged += 1;
            return number;
        }
        let number = u32::try_from(self.entries.len()).expect("memory ends before 2^32 unique URLs do");
        self.totals.unique += 1;
        let url_at = self.push(url);
        let key_at = if url == key { url_at.clone() } else { self.push(key) };
        self.entries.push(Entry { url: url_at, key: key_at, merged: 1, fetched_at, may_hold_secret: false });
        let (entries, texts, state) = (&self.entries, &self.texts, &self.state);
        self.index.insert_unique(hash, number, |n| state.hash_one(&texts[entries[*n as usize].key.clone()]));
        number
    }

    pub(super) fn push(&mut self, text: &str) -> Range<usize> {
        let start = self.texts.len();
        self.texts.extend_from_slice(text.as_bytes());
        start..self.texts.len()
    }
}

/// A text of the arena: only whole strings were put into it.
pub(super) fn text_of<'a>(texts: &'a [u8], at: &Range<usize>) -> &'a str {
    std::str::from_utf8(&texts[at.clone()]).unwrap_or_default()
}
