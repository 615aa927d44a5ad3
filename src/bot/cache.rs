//! What is known of each distinct User-Agent, looked up once per line by a keyed hash: no key bytes are touched.
//!
//! One cache per thread, bounded: when it is full it is emptied, which costs a log of ever new User-Agents one
//! classification a line and nothing else. The key of an entry is 128 bits of a hash with a random secret per process,
//! so that nobody can write two strings into a log that share an entry; it decides nothing that is printed.
//!
//! The hash is NH (Black et al. 1999, UMAC) over words of 64 bits: the sum of `(a + k) * (b + l)` over pairs of words
//! `a b` of the text and of the secret `k l`. Whatever two texts are chosen without knowing the secret, it takes them for
//! the same with a chance of at most 2^-64: where they differ in one word, and the length is one, at most one value of
//! its partner in the secret makes the sums equal. Its cost is one multiplication for 16 bytes, half that of XXH3.

use std::hash::{BuildHasher, DefaultHasher, Hasher};

use hashbrown::HashTable;
use twox_hash::XxHash3_128;

/// Entries before the cache is emptied: about 8 MiB.
const MAX_ENTRIES: usize = 1 << 16;

/// Places of entries that were used lately, in front of the table: a log has some hundred User-Agents, and most lines
/// carry one of the commonest.
const RECENT: usize = 1 << 12;

/// A bounded map from User-Agent to `T`.
#[derive(Debug)]
pub struct UserAgentCache<T> {
    secret: Secret,
    recent: Box<[Entry; RECENT]>,
    index: HashTable<Entry>,
    values: Vec<T>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Key,
    place: u32,
}

impl Entry {
    /// No entry has this place.
    const NONE: Self = Self { key: Key { low: 0, high: 0 }, place: u32::MAX };
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
        Self {
            secret: Secret::new(seed),
            recent: Box::new([Entry::NONE; RECENT]),
            index: HashTable::new(),
            values: Vec::new(),
        }
    }

    /// The value of a User-Agent as logged, made by `resolve` when it was not seen lately.
    #[inline]
    pub fn get(&mut self, user_agent: &[u8], resolve: impl FnOnce(&[u8]) -> T) -> &T {
        let key = self.secret.key(user_agent);
        let slot = key.slot();
        let entry = self.recent[slot];
        let place = if entry.key == key && (entry.place as usize) < self.values.len() {
            entry.place
        } else {
            self.find_or_make(key, slot, user_agent, resolve)
        };
        &self.values[place as usize]
    }

    #[cold]
    #[inline(never)]
    fn find_or_make(
        &mut self,
        key: Key,
        slot: usize,
        user_agent: &[u8],
        resolve: impl FnOnce(&[u8]) -> T,
    ) -> u32 {
        let place = match self.index.find(key.mixed(), |e| e.key == key) {
            Some(entry) => entry.place,
            None => {
                if self.values.len() >= MAX_ENTRIES {
                    self.recent.fill(Entry::NONE);
                    self.index.clear();
                    self.values.clear();
                }
                // The bound above is far below 2^32.
                let place = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
                self.values.push(resolve(user_agent));
                self.index.insert_unique(key.mixed(), Entry { key, place }, |e| e.key.mixed());
                place
            }
        };
        self.recent[slot] = Entry { key, place };
        place
    }
}

/// The hash of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    low: u64,
    high: u64,
}

impl Key {
    fn of(hash: u128) -> Self {
        let half = |shift: u32| u64::try_from(hash >> shift & u128::from(u64::MAX)).unwrap_or(0);
        Self { low: half(0), high: half(64) }
    }

    /// All bits of the key in all bits of the hash: the low bits of sums of products are not evenly spread. That decides
    /// how long a look-up takes, not what it finds.
    #[inline]
    fn mixed(self) -> u64 {
        let folded = Self::of(u128::from(self.low ^ 0x9E37_79B9_7F4A_7C15) * u128::from(self.high | 1));
        folded.low ^ folded.high
    }

    #[inline]
    fn slot(self) -> usize {
        usize::try_from(self.mixed() % RECENT as u64).unwrap_or(0)
    }
}

/// Pairs of 64 bits that nobody outside the process knows.
#[derive(Debug, Clone)]
struct Secret {
    seed: u64,
    length: (u64, u64),
    last: (u64, u64),
    blocks: Box<[(u64, u64); Secret::BLOCKS]>,
}

impl Secret {
    /// Texts of more than 512 bytes are hashed by XXH3; few are so long.
    const BLOCKS: usize = 32;

    fn new(seed: u64) -> Self {
        let mut count = 0_u64;
        let mut word = || {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(seed);
            hasher.write_u64(count);
            count += 1;
            hasher.finish()
        };
        let mut pair = || (word(), word());
        let (length, last) = (pair(), pair());
        Self { seed, length, last, blocks: Box::new(std::array::from_fn(|_| pair())) }
    }

    #[inline]
    fn key(&self, text: &[u8]) -> Key {
        let (blocks, rest) = text.as_chunks::<16>();
        if blocks.len() > Self::BLOCKS {
            return Key::of(XxHash3_128::oneshot_with_seed(self.seed, text));
        }
        let mut sum = product((text.len() as u64, 0), self.length);
        for (block, secret) in blocks.iter().zip(self.blocks.iter()) {
            sum = sum.wrapping_add(product(words(block), *secret));
        }
        // The last 16 bytes, of which some may have been in a block; a shorter text is filled up, and its length tells.
        let last = match text.last_chunk::<16>() {
            Some(last) => words(last),
            None => {
                let mut last = [0; 16];
                last[..rest.len()].copy_from_slice(rest);
                words(&last)
            }
        };
        Key::of(sum.wrapping_add(product(last, self.last)))
    }
}

#[inline]
fn words(block: &[u8; 16]) -> (u64, u64) {
    let (words, _) = block.as_chunks::<8>();
    (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]))
}

#[inline]
fn product(text: (u64, u64), secret: (u64, u64)) -> u128 {
    u128::from(text.0.wrapping_add(secret.0)) * u128::from(text.1.wrapping_add(secret.1))
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

    #[test]
    fn texts_that_differ_anywhere_or_in_length_alone_have_different_keys() {
        let secret = Secret::new(random_seed());
        let mut seen = std::collections::HashMap::new();
        let mut see = |text: &[u8]| {
            let key = secret.key(text);
            if let Some(other) = seen.insert((key.low, key.high), text.to_vec()) {
                assert_eq!(other, text);
            }
        };
        for length in (0..70).chain([127, 128, 129, 255, 256, 496, 511, 512, 513, 527, 528, 529, 600]) {
            // Zeros are what short texts are filled up with.
            for fill in [0, b'a', 0xFF] {
                let mut text = vec![fill; length];
                see(&text);
                for at in 0..length {
                    text[at] ^= 1;
                    see(&text);
                    text[at] ^= 1;
                }
            }
        }
        // Words that change places, and the same change in two words.
        for (one, other) in
            [("aaaaaaaabbbbbbbb", "bbbbbbbbaaaaaaaa"), ("aaaaaaaaaaaaaaaa", "baaaaaaabaaaaaaa")]
        {
            for (before, behind) in [("", ""), ("", "0123456789abcdef0"), ("0123456789abcdef", "z")] {
                see(format!("{before}{one}{behind}").as_bytes());
                see(format!("{before}{other}{behind}").as_bytes());
            }
        }
        assert_ne!(Secret::new(1).key(b"Acme/1.0"), Secret::new(2).key(b"Acme/1.0"));
    }

    #[test]
    fn keys_of_like_texts_are_spread_over_the_slots() {
        let secret = Secret::new(1);
        let slots: std::collections::HashSet<usize> =
            (0..RECENT).map(|n| secret.key(format!("Mozilla/5.0 Chrome/{n}.0").as_bytes()).slot()).collect();
        // As many as at random: 1 - 1/e of the slots, 2,589.
        assert!((2_450..2_730).contains(&slots.len()), "{}", slots.len());
    }

    #[test]
    fn entries_that_share_a_slot_keep_their_own_values() {
        let mut cache = UserAgentCache::new(3);
        let texts: Vec<String> = (0..3 * RECENT).map(|n| format!("agent/{n}")).collect();
        let mut resolved = 0;
        for _ in 0..2 {
            for text in &texts {
                let got = cache.get(text.as_bytes(), |t| {
                    resolved += 1;
                    t.to_vec()
                });
                assert_eq!(got, text.as_bytes());
            }
        }
        assert_eq!(resolved, texts.len());
    }
}
