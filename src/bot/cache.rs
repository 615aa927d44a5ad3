//! What is known of each distinct User-Agent, looked up once per line by a keyed hash: no key bytes are touched.
//!
//! One cache per thread, bounded: when it is full it is emptied, which costs a log of ever new User-Agents one
//! classification a line and nothing else. The key is 128 bits of a hash with a random seed per process, so that
//! nobody can write two strings into a log that share an entry; it decides nothing that is printed.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use twox_hash::XxHash3_128;

/// Entries before the cache is emptied: about 8 MiB.
const MAX_ENTRIES: usize = 1 << 16;

/// A bounded map from User-Agent to `T`.
#[derive(Debug)]
pub struct UserAgentCache<T> {
    seed: u64,
    index: HashTable<(u128, u32)>,
    values: Vec<T>,
}

/// A seed that nobody outside the process knows.
#[must_use]
pub fn random_seed() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

impl<T> UserAgentCache<T> {
    /// An empty cache; threads of one run may share the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, index: HashTable::new(), values: Vec::new() }
    }

    /// The value of a User-Agent as logged, made by `resolve` when it was not seen lately.
    pub fn get(&mut self, user_agent: &[u8], resolve: impl FnOnce(&[u8]) -> T) -> &T {
        let key = XxHash3_128::oneshot_with_seed(self.seed, user_agent);
        let hash = low_half(key);
        if let Some((_, place)) = self.index.find(hash, |(k, _)| *k == key) {
            return &self.values[*place as usize];
        }
        if self.values.len() >= MAX_ENTRIES {
            self.index.clear();
            self.values.clear();
        }
        let place = self.values.len();
        self.values.push(resolve(user_agent));
        // The bound above is far below 2^32.
        self.index
            .insert_unique(hash, (key, u32::try_from(place).unwrap_or(u32::MAX)), |(k, _)| low_half(*k));
        &self.values[place]
    }
}

fn low_half(key: u128) -> u64 {
    u64::try_from(key & u128::from(u64::MAX)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_resolved_once_until_the_bound_and_answers_stay_right_past_it() {
        let mut cache = UserAgentCache::new(random_seed());
        let mut resolved = 0;
        for round in 0..2 {
            for i in 0..1000 {
                let text = format!("agent/{i}");
                let got = cache.get(text.as_bytes(), |t| {
                    resolved += 1;
                    t.to_vec()
                });
                assert_eq!(got, text.as_bytes());
            }
            assert_eq!(resolved, 1000, "round {round}");
        }
        for i in 0..MAX_ENTRIES + 10 {
            let text = format!("other/{i}");
            assert_eq!(cache.get(text.as_bytes(), <[u8]>::to_vec), text.as_bytes());
        }
        assert!(cache.values.len() <= MAX_ENTRIES);
    }
}
