//! All that is looked for literally in a User-Agent, in one pass that skips most of it.
//!
//! An automaton of all literals costs one dependent look-up for every byte, and that was 38 % of a run over a log of
//! ever new User-Agents. But names begin where a word begins: twenty places in a browser's string of 110 bytes, found
//! sixteen bytes at a time. There the first bytes choose the few literals that can stand there. The few that may also
//! stand inside a word are looked for together, sixteen bytes or more at once, and only where one is found their
//! automaton runs.
//!
//! The answers are those of the automaton, which `bots test` still uses to tell what was passed over.
//!
//! Example: in `Mozilla/5.0 (compatible; SemrushBot/7~bl)` words begin at `Mozilla`, `5`, `0`, `compatible` ...

use std::sync::OnceLock;

use aho_corasick::automaton::Automaton as _;
use aho_corasick::dfa::DFA;
use aho_corasick::packed::Searcher;
use aho_corasick::{Anchored, MatchKind, StartKind};

use super::declared::{CONTACT_SIGNS, ENDINGS, Signs};
use crate::format::structural::kinds::Kinds;

/// Where a literal counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At the beginning of the string.
    Start,
    /// Where neither letter nor digit stands before it; the literal begins with one.
    Word,
    /// Wherever it stands.
    Anywhere,
}

/// The search, ready to run.
#[derive(Debug)]
pub(super) struct Literals {
    texts: Vec<Vec<u8>>,
    places: Vec<Place>,
    words: Words,
    floating: Floating,
    endings: Endings,
    /// All of them, for explanations; made when the first one is asked for.
    all: OnceLock<DFA>,
}

/// How many bytes are turned into lower case at once.
const WINDOW: usize = 256;

/// The [`Kinds`] of 64 bytes; zeros behind the end.
struct Wide {
    alphanumeric: u64,
    letter: u64,
    last_letter: u64,
    contact: u64,
}

impl Wide {
    #[inline]
    fn of(chunk: &[u8]) -> Self {
        let mut wide = Self { alphanumeric: 0, letter: 0, last_letter: 0, contact: 0 };
        let mut add = |sixteen: &[u8; 16], at: usize| {
            let kinds = Kinds::of(sixteen);
            wide.alphanumeric |= u64::from(kinds.alphanumeric) << at;
            wide.letter |= u64::from(kinds.letter) << at;
            wide.last_letter |= u64::from(kinds.last_letter) << at;
            wide.contact |= u64::from(kinds.contact) << at;
        };
        let (sixteens, rest) = chunk.as_chunks::<16>();
        for (sixteen, at) in sixteens.iter().take(4).zip([0, 16, 32, 48]) {
            add(sixteen, at);
        }
        if !rest.is_empty() {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            add(&last, chunk.len() - rest.len());
        }
        wide
    }
}

impl Literals {
    /// Literals by their numbers: places in the list. None is empty.
    pub(super) fn new(literals: Vec<(Vec<u8>, Place)>) -> Self {
        let (texts, places): (Vec<_>, Vec<_>) = literals.into_iter().unzip();
        let is_word = |n: &usize| {
            let text: &Vec<u8> = &texts[*n];
            places[*n] != Place::Anywhere && text.first().is_some_and(u8::is_ascii_alphanumeric)
        };
        let (words, floating): (Vec<usize>, Vec<usize>) = (0..texts.len()).partition(is_word);
        Self {
            words: Words::new(&texts, &words),
            floating: Floating::new(&texts, floating),
            endings: Endings::new(),
            texts,
            places,
            all: OnceLock::new(),
        }
    }

    /// Every literal where it counts: its number, where it begins and where it ends; in no order. And whether there are
    /// signs of a declaration.
    pub(super) fn each(&self, text: &[u8], seen: &mut impl FnMut(usize, usize, usize)) -> Signs {
        let mut signs = Signs::default();
        // The highest bit of these: what is known of the byte before.
        let (mut alphanumeric, mut may_end) = (0_u64, 0_u64);
        for (chunk, base) in text.chunks(64).zip((0..).step_by(64)) {
            let kinds = Wide::of(chunk);
            for at in Bits(kinds.alphanumeric & !(kinds.alphanumeric << 1 | alphanumeric >> 63)) {
                let at = base + at;
                self.words.each_at(text, at, &self.texts, &mut |number, end| {
                    if at == 0 || self.places[number] != Place::Start {
                        seen(number, at, end);
                    }
                });
            }
            let ends = (kinds.last_letter << 1 | may_end >> 63) & !kinds.letter;
            signs.word = signs.word
                || Bits(ends)
                    .any(|at| text.get(..base + at).is_some_and(|t| self.endings.at_end_of(t).is_some()));
            signs.contact = signs.contact
                || Bits(kinds.contact)
                    .any(|at| CONTACT_SIGNS.iter().any(|s| text[base + at..].starts_with(s.as_bytes())));
            (alphanumeric, may_end) = (kinds.alphanumeric, kinds.last_letter);
        }
        // A run of letters may end with the text.
        signs.word = signs.word || self.endings.at_end_of(text).is_some();
        if self.floating.may_be_in(text) {
            self.floating.each(text, &mut |number, start, end| {
                if start == 0 || self.places[number] != Place::Start {
                    seen(number, start, end);
                }
            });
        }
        signs
    }

    /// Every place where a literal stands, those that do not count too; of kind [`Place::Start`] only at the beginning.
    pub(super) fn everywhere(&self, text: &[u8], seen: &mut impl FnMut(usize, usize, usize)) {
        let all = self.all.get_or_init(|| automaton(&self.texts));
        each_of(all, text, &mut |number, start, end| {
            if start == 0 || self.places[number] != Place::Start {
                seen(number, start, end);
            }
        });
    }
}

fn automaton(literals: &[Vec<u8>]) -> DFA {
    DFA::builder()
        .match_kind(MatchKind::Standard)
        .ascii_case_insensitive(true)
        .start_kind(StartKind::Unanchored)
        .build(literals)
        .expect("tokens of a catalogue fit into an automaton")
}

fn each_of(dfa: &DFA, text: &[u8], seen: &mut impl FnMut(usize, usize, usize)) {
    let mut state = dfa.start_state(Anchored::No).expect("the automaton was built for unanchored searches");
    for (at, &byte) in text.iter().enumerate() {
        state = dfa.next_state(Anchored::No, state, byte);
        if dfa.is_special(state) && dfa.is_match(state) {
            for index in 0..dfa.match_len(state) {
                let pattern = dfa.match_pattern(state, index);
                seen(pattern.as_usize(), at + 1 - dfa.pattern_len(pattern), at + 1);
            }
        }
    }
}

/// Letters of both cases as one, some other bytes too: what looks alike is compared again.
const FOLD: u64 = 0x2020_2020_2020_2020;

/// The eight bytes from a place on, folded; zeros behind the end.
#[inline]
fn eight(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    let word = match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    word | FOLD
}

/// The lowest bytes of a word.
fn lowest(bytes: usize) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}

/// Literals that begin a word, by their first bytes.
#[derive(Debug)]
struct Words {
    /// The bytes of which each literal has at least so many.
    prefix: u64,
    /// By the hash of the prefix: 0, or one more than the place of the first candidate.
    first: Box<[u16; Words::SLOTS]>,
    candidates: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    key: u64,
    mask: u64,
    number: usize,
    /// No further one has this hash.
    is_last: bool,
}

impl Words {
    const SLOTS: usize = 4096;
    /// Five bytes are what the shortest names have; they tell most words of browsers from all names.
    const LONGEST_PREFIX: usize = 5;

    fn new(texts: &[Vec<u8>], numbers: &[usize]) -> Self {
        let shortest = numbers.iter().map(|n| texts[*n].len()).min().unwrap_or(1);
        let prefix = lowest(shortest.min(Self::LONGEST_PREFIX));
        let mut by_slot: Vec<(usize, usize)> =
            numbers.iter().map(|n| (Self::slot(eight(&texts[*n], 0) & prefix), *n)).collect();
        by_slot.sort_unstable();
        let mut first = Box::new([0; Self::SLOTS]);
        let mut candidates = Vec::new();
        for (place, (slot, number)) in by_slot.iter().enumerate() {
            let mask = lowest(texts[*number].len());
            candidates.push(Candidate {
                key: eight(&texts[*number], 0) & mask,
                mask,
                number: *number,
                is_last: by_slot.get(place + 1).is_none_or(|(next, _)| next != slot),
            });
            if first[*slot] == 0 {
                first[*slot] = u16::try_from(place + 1).expect("a catalogue has fewer names");
            }
        }
        Self { prefix, first, candidates }
    }

    #[inline]
    fn slot(prefix: u64) -> usize {
        usize::try_from(prefix.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52).unwrap_or(0)
    }

    #[inline]
    fn each_at(&self, text: &[u8], at: usize, texts: &[Vec<u8>], seen: &mut impl FnMut(usize, usize)) {
        let word = eight(text, at);
        let Some(mut place) = self.first[Self::slot(word & self.prefix)].checked_sub(1).map(usize::from)
        else {
            return;
        };
        loop {
            let candidate = &self.candidates[place];
            if (word ^ candidate.key) & candidate.mask == 0 {
                let literal = &texts[candidate.number];
                let end = at + literal.len();
                if text.get(at..end).is_some_and(|t| t.eq_ignore_ascii_case(literal)) {
                    seen(candidate.number, end);
                }
            }
            if candidate.is_last {
                return;
            }
            place += 1;
        }
    }
}

/// Literals that may stand inside a word.
#[derive(Debug)]
struct Floating {
    /// Looks at sixteen or more bytes at once; `None` where the processor cannot, or a literal is too short.
    at_once: Option<Searcher>,
    longest: usize,
    numbers: Vec<usize>,
    automaton: DFA,
}

impl Floating {
    fn new(texts: &[Vec<u8>], numbers: Vec<usize>) -> Self {
        let own: Vec<Vec<u8>> = numbers.iter().map(|n| texts[*n].to_ascii_lowercase()).collect();
        let longest = own.iter().map(Vec::len).max().unwrap_or(0);
        let fits = longest <= WINDOW / 2 && own.iter().all(|l| l.len() >= 3);
        let at_once = if fits { Searcher::new(&own) } else { None };
        Self { at_once, longest, automaton: automaton(&own), numbers }
    }

    /// Whether one of them may be in the text; false is certain.
    #[inline]
    fn may_be_in(&self, text: &[u8]) -> bool {
        if self.numbers.is_empty() {
            return false;
        }
        let Some(at_once) = &self.at_once else { return true };
        let mut rest = text;
        loop {
            let mut lower = [0; WINDOW];
            let length = rest.len().min(WINDOW);
            let lower = &mut lower[..length];
            lower.copy_from_slice(&rest[..length]);
            lower.make_ascii_lowercase();
            if at_once.find(&*lower).is_some() {
                return true;
            }
            if rest.len() <= WINDOW {
                return false;
            }
            // What is cut at the end of a window begins in the next one.
            rest = &rest[WINDOW + 1 - self.longest..];
        }
    }

    #[cold]
    fn each(&self, text: &[u8], seen: &mut impl FnMut(usize, usize, usize)) {
        each_of(&self.automaton, text, &mut |index, start, end| seen(self.numbers[index], start, end));
    }
}

/// The endings of declared names, by their last three letters.
#[derive(Debug, Clone)]
pub(super) struct Endings {
    /// A bit for each of 64 hashes.
    known: u64,
}

impl Endings {
    pub(super) fn new() -> Self {
        Self { known: ENDINGS.iter().fold(0, |known, e| known | 1 << Self::hash(e.as_bytes())) }
    }

    #[inline]
    fn hash(text: &[u8]) -> u32 {
        let last =
            text.last_chunk::<3>().map_or(0, |[a, b, c]| u32::from_le_bytes([*a, *b, *c, 0]) | 0x20_2020);
        last.wrapping_mul(0x9E37_79B1) >> 26
    }

    /// The one that a text ends in, whatever the case. None is the end of another one.
    #[inline]
    fn at_end_of(&self, text: &[u8]) -> Option<&'static str> {
        if self.known >> Self::hash(text) & 1 == 0 {
            return None;
        }
        ENDINGS.into_iter().find(|e| {
            text.len().checked_sub(e.len()).is_some_and(|at| text[at..].eq_ignore_ascii_case(e.as_bytes()))
        })
    }

    /// The last one in a word that no letter follows, and where it ends.
    pub(super) fn last_in(&self, word: &[u8]) -> Option<(&'static str, usize)> {
        let mut follows = false;
        for (at, byte) in word.iter().enumerate().rev() {
            let letter = byte.is_ascii_alphabetic();
            if letter
                && !follows
                && let Some(ending) = self.at_end_of(&word[..=at])
            {
                return Some((ending, at + 1));
            }
            follows = letter;
        }
        None
    }
}

/// The places of the bits that are set.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        (self.0 != 0).then(|| {
            let at = self.0.trailing_zeros() as usize;
            self.0 &= self.0.wrapping_sub(1);
            at
        })
    }
}

#[cfg(test)]
mod tests;
