//! Which parameters multiply URLs: for each name its URLs, its different values, and how many keys it alone makes.
//!
//! A kept parameter: so many unique URLs would merge if it were dropped too. A dropped one: so many would not have
//! merged if it had been kept. Both with all else as it is. Example: `color` with 3 values on 10 pages, and nothing else
//! that differs, is in 30 unique URLs of which 20 would merge.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use serde::Serialize;

use super::collect::{Entry, Form, text_of};
use crate::tally::distinct::stable_hash;
use crate::url::{canonical_text, mask_secrets, parameters};

/// Names that are reported.
pub const PARAMETERS_LISTED: usize = 1_000;
/// Names of one URL that are looked at: more stand in no honest URL, and each costs a pass over it.
const NAMES_OF_A_URL: usize = 64;
/// Pairs are joined when so many have been added.
const JOIN_AFTER: usize = 1 << 20;

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParameterRow {
    /// In the spelling of keys.
    pub name: String,
    /// URLs of the input that have it.
    pub hits: u64,
    /// Different values in them.
    pub distinct_values: u64,
    /// Unique URLs that it alone makes.
    pub urls_merged_without: u64,
}

#[derive(Debug, Default)]
struct Name {
    text: String,
    dropped: bool,
    /// Its values look like secrets by its name.
    is_secret: bool,
    hits: u64,
    /// The URL it was last seen in, from 1: one URL is one hit.
    last_url: u64,
}

/// What is known of the parameters of all URLs so far.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    names: Vec<Name>,
    /// By the name as it stands in the URL.
    by_spelling: HashMap<Vec<u8>, u32, RandomState>,
    by_text: HashMap<String, u32, RandomState>,
    /// (name, hash of the value).
    values: Joined<(u32, u64)>,
    /// (dropped name, entry, hash of where and what it was) -> URLs.
    dropped: Joined<(u32, u32, u64)>,
    urls: u64,
}

/// Keys with counts, joined now and then so that memory follows the different ones.
#[derive(Debug)]
struct Joined<K> {
    counts: Vec<(K, u64)>,
    joined: usize,
}

impl<K> Default for Joined<K> {
    fn default() -> Self {
        Self { counts: Vec::new(), joined: 0 }
    }
}

impl<K: Ord + Copy> Joined<K> {
    fn add(&mut self, key: K) {
        self.counts.push((key, 1));
        if self.counts.len() > 2 * self.joined + JOIN_AFTER {
            self.join();
        }
    }

    fn join(&mut self) {
        self.counts.sort_unstable_by_key(|(key, _)| *key);
        self.counts.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        self.joined = self.counts.len();
    }
}

impl Parameters {
    /// Counts the parameters of one URL whose key is that of the entry. Says whether there may be a secret in it: masking
    /// costs more than all the rest, and most URLs have none.
    pub(super) fn add(&mut self, url: &str, entry: u32, form: &Form) -> bool {
        self.urls += 1;
        let path = &url[..url.find('?').unwrap_or(url.len())];
        let mut may_hold_secret = url.contains(['@', ';', '%', '#']) || path.contains('&');
        // Where a dropped parameter stood, and what it was: what it would have made of the key.
        let mut lost: Vec<(u32, u64)> = Vec::new();
        let mut kept = 0_u64;
        for (spelling, value) in parameters(url.as_bytes()) {
            let number = self.number(spelling, form);
            let name = &mut self.names[number as usize];
            may_hold_secret |= name.is_secret || value.iter().any(|b| matches!(b, b'=' | b'?'));
            let value = value_hash(value);
            if name.last_url != self.urls {
                name.last_url = self.urls;
                name.hits += 1;
            }
            let dropped = name.dropped;
            self.values.add((number, value));
            if dropped {
                let here = stable_hash(&[kept.to_le_bytes(), value.to_le_bytes()].concat());
                if let Some((_, seen)) = lost.iter_mut().find(|(known, _)| *known == number) {
                    *seen = stable_hash(&[seen.to_le_bytes(), here.to_le_bytes()].concat());
                } else if lost.len() < NAMES_OF_A_URL {
                    lost.push((number, here));
                }
            } else if !is_sorted(form) {
                kept += 1;
            }
        }
        for (number, seen) in lost {
            self.dropped.add((number, entry, seen));
        }
        may_hold_secret
    }

    fn number(&mut self, spelling: &[u8], form: &Form) -> u32 {
        if let Some(number) = self.by_spelling.get(spelling) {
            return *number;
        }
        let mut text = canonical_text(spelling);
        if let Form::Canonical(rules) = form
            && rules.form_encoded
        {
            text = text.replace('+', "%20");
        }
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let number = *self.by_text.entry(text.clone()).or_insert(next);
        if number == next {
            let dropped = form.drops(&text);
            let is_secret = mask_secrets(&format!("/?{text}=x")).ends_with(|last| last != 'x');
            self.names.push(Name { text, dropped, is_secret, ..Name::default() });
        }
        self.by_spelling.insert(spelling.to_vec(), number);
        number
    }

    /// The report: what makes most URLs first, then most hits, then by name; and how many names are not in it.
    pub(super) fn finish(mut self, entries: &[Entry], texts: &[u8]) -> (Vec<ParameterRow>, usize) {
        self.values.join();
        let mut distinct = vec![0_u64; self.names.len()];
        for ((name, _), _) in &self.values.counts {
            distinct[*name as usize] += 1;
        }
        self.values = Joined::default();
        let mut made = vec![0_u64; self.names.len()];
        self.count_dropped(entries, &mut made);
        self.dropped = Joined::default();
        self.count_kept(entries, texts, &mut made);
        let mut rows: Vec<ParameterRow> = self
            .names
            .into_iter()
            .zip(distinct.into_iter().zip(made))
            .map(|(name, (distinct_values, urls_merged_without))| ParameterRow {
                name: name.text,
                hits: name.hits,
                distinct_values,
                urls_merged_without,
            })
            .collect();
        rows.sort_by(|a, b| {
            (b.urls_merged_without, b.hits)
                .cmp(&(a.urls_merged_without, a.hits))
                .then_with(|| a.name.cmp(&b.name))
        });
        let beyond = rows.len().saturating_sub(PARAMETERS_LISTED);
        rows.truncate(PARAMETERS_LISTED);
        (rows, beyond)
    }

    /// Each entry would be as many as it has different forms of the parameter, none being one of them.
    fn count_dropped(&mut self, entries: &[Entry], made: &mut [u64]) {
        self.dropped.join();
        for of_entry in self.dropped.counts.chunk_by(|a, b| (a.0.0, a.0.1) == (b.0.0, b.0.1)) {
            let (name, entry, _) = of_entry[0].0;
            let urls: u64 = of_entry.iter().map(|(_, n)| n).sum();
            let without = u64::from(urls < entries[entry as usize].merged);
            made[name as usize] += of_entry.len() as u64 - 1 + without;
        }
    }

    /// Keys that become one, or one that is there, when the parameter is left out.
    fn count_kept(&self, entries: &[Entry], texts: &[u8], made: &mut [u64]) {
        let mut keys: HashSet<u64, RandomState> = HashSet::default();
        keys.extend(entries.iter().map(|e| stable_hash(&texts[e.key.clone()])));
        let mut left: Vec<(u32, u64)> = Vec::new();
        let mut shorter = String::new();
        for entry in entries {
            let Some((path, query)) = text_of(texts, &entry.key).split_once('?') else { continue };
            let mut names: Vec<&str> = query.split('&').map(name_of).collect();
            names.sort_unstable();
            names.dedup();
            names.truncate(NAMES_OF_A_URL);
            for name in names {
                let Some(number) = self.by_text.get(name) else { continue };
                shorter.clear();
                shorter.push_str(path);
                for (i, piece) in query.split('&').filter(|piece| name_of(piece) != name).enumerate() {
                    shorter.push(if i == 0 { '?' } else { '&' });
                    shorter.push_str(piece);
                }
                left.push((*number, stable_hash(shorter.as_bytes())));
            }
        }
        left.sort_unstable();
        for of_name in left.chunk_by(|a, b| a.0 == b.0) {
            let remaining =
                of_name.chunk_by(|a, b| a.1 == b.1).filter(|same| !keys.contains(&same[0].1)).count();
            made[of_name[0].0 as usize] += (of_name.len() - remaining) as u64;
        }
    }
}

/// Of the value in the spelling of keys. Most have no code in them.
fn value_hash(value: &[u8]) -> u64 {
    if value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')) {
        stable_hash(value)
    } else {
        stable_hash(canonical_text(value).as_bytes())
    }
}

fn is_sorted(form: &Form) -> bool {
    matches!(form, Form::Canonical(rules) if rules.sort) || matches!(form, Form::Seed { .. })
}

fn name_of(piece: &str) -> &str {
    piece.split_once('=').map_or(piece, |(name, _)| name)
}
