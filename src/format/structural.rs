//! The fast path of Combined lines: an index of quotes, newlines and backslashes, made 64 bytes at a time.
//!
//! A parser that looks for the end of one field after the other asks the same bytes again and again and mispredicts a
//! branch per field. Here a window of a block is first turned into the positions of its structural bytes (`"`, `\n`,
//! `\`): one comparison of 64 bytes gives a word with a bit per byte, and the bits that are set are written out as
//! numbers. About seven numbers stand for a line of 250 bytes, and everything that follows works on them.
//!
//! A line whose next seven structural bytes are six quotes and a newline has no escape and no quote too many: its
//! fields are where Combined puts them. [`combined`] then only checks what is between the quotes:
//!
//! ```text
//! client - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 512 "-" "Mozilla/5.0" tail\n
//!                                         0              1         2 3 4           5     6
//! ```
//!
//! - before quote 0 stands `[` 26 bytes `] `, and 26 bytes that are no stamp go to the careful parser;
//! - between 1 and 2 stand a blank, three digits, a blank, digits or `-`, a blank;
//! - between 3 and 4 stands one blank; behind 5 nothing or a blank;
//! - the referer and the user agent do not end in a blank, because that is how a torn line looks.
//!
//! Whatever differs is `None`, which means "the careful parser decides", never "reject". So the fast path decides only
//! lines on which both agree; the tests run every case and random mixtures through both. Reading a line must not
//! depend on where a block or a window ends: a window holds whole lines, and what is cut at its end is indexed again
//! with the next one. A line longer than a window is careful work.
//!
//! The index is safe code. `unsafe` is the call of the AVX2 version, which is only sound on a processor that has AVX2,
//! and the line before asks for it; other machines compare 8 bytes at a time in plain integers. And the call of
//! [`kinds`], whose feature the whole program is compiled for.
//!
//! Figures and how to get them: `benches/parse.rs`.

pub(crate) mod kinds;

use self::kinds::Kinds;
use super::prefix::{self, Prefix};
use super::quote::{is_blank, trim};
use super::record::{Flags, Format, Record, Timing};
use super::timestamp::Stamp;
use super::wrapper;

/// How many bytes are indexed at once: small enough that the second look finds them in the first-level cache.
pub(super) const WINDOW: usize = 32 * 1024;

/// Room behind the last position: positions are written some at a time, wanted or not.
const SLACK: usize = 64;

/// The positions of the structural bytes of a window.
#[derive(Clone)]
pub(super) struct Index {
    positions: Vec<u32>,
    count: usize,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Index({} positions)", self.count)
    }
}

impl Index {
    pub(super) fn new() -> Self {
        Self { positions: Vec::new(), count: 0 }
    }

    /// Replaces the index by that of `window`, at most [`WINDOW`] bytes.
    pub(super) fn fill(&mut self, window: &[u8]) {
        debug_assert!(window.len() <= WINDOW);
        if self.positions.is_empty() {
            self.positions = vec![0; WINDOW + SLACK];
        }
        self.count = index(window, &mut self.positions);
    }

    pub(super) fn positions(&self) -> &[u32] {
        &self.positions[..self.count]
    }
}

#[allow(
    unsafe_code,
    reason = "the one call of a function that needs a processor feature, right behind the question"
)]
fn index(window: &[u8], out: &mut [u32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has the features that the function is compiled for; it has no other requirement.
        return unsafe { avx2::index(window, out) };
    }
    index_portable(window, out)
}

impl Kinds {
    #[allow(
        unsafe_code,
        reason = "the one call of a function that needs SSE2, where all of the program does"
    )]
    #[inline]
    pub(crate) fn of(chunk: &[u8; 16]) -> Self {
        // SAFETY: this line is compiled for processors with SSE2 alone; the function has no other requirement.
        #[cfg(target_feature = "sse2")]
        return unsafe { Self::at_once(chunk) };
        #[cfg(not(target_feature = "sse2"))]
        return Self::one_by_one(chunk);
    }
}

fn index_portable(window: &[u8], out: &mut [u32]) -> usize {
    index_with(window, out, mask_portable)
}

/// Writes the positions of the bits of every mask; `out` is [`SLACK`] longer than `window`.
///
/// The first four positions of a mask are written without asking whether there are so many, and those that are not are
/// written over by the next mask: with a branch per bit this function had 10 % of the samples of a profile, without 6 %.
#[inline(always)]
fn index_with(window: &[u8], out: &mut [u32], mask: impl Fn(&[u8; 64]) -> u64) -> usize {
    const AT_ONCE: usize = 4;
    let (chunks, rest) = window.as_chunks::<64>();
    let mut count = 0;
    let mut base = 0_u32;
    let mut write = |mut bits: u64, base: u32| {
        let found = bits.count_ones() as usize;
        let slots = &mut out[count..count + SLACK];
        for slot in &mut slots[..AT_ONCE] {
            *slot = base + bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
        }
        if found > AT_ONCE {
            for slot in &mut slots[AT_ONCE..found] {
                *slot = base + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
        }
        count += found;
    };
    for chunk in chunks {
        write(mask(chunk), base);
        base += 64;
    }
    if !rest.is_empty() {
        let mut last = [0; 64];
        last[..rest.len()].copy_from_slice(rest);
        write(mask(&last), base);
    }
    count
}

/// Eight bytes at a time: a byte that equals the sought one is zero after the xor, and the sum sets the high bit of
/// every byte that is not, without a carry into the next.
fn mask_portable(chunk: &[u8; 64]) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let equal = |word: u64, byte: u8| {
        let differs = word ^ (ONES * u64::from(byte));
        !(((differs & LOW) + LOW) | differs | LOW)
    };
    let mut mask = 0;
    for (shift, eight) in (0..).step_by(8).zip(chunk.as_chunks::<8>().0) {
        let word = u64::from_le_bytes(*eight);
        let found = equal(word, b'"') | equal(word, b'\n') | equal(word, b'\\');
        // Gathers the high bits of eight bytes into one byte.
        mask |= ((found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << shift;
    }
    mask
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set_epi64x,
        _mm256_set1_epi8,
    };

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn index(window: &[u8], out: &mut [u32]) -> usize {
        super::index_with(window, out, |chunk| {
            let (halves, _) = chunk.as_chunks::<32>();
            u64::from(half(&halves[0])) | u64::from(half(&halves[1])) << 32
        })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn half(bytes: &[u8; 32]) -> u32 {
        let bytes = load(bytes);
        let equal = |byte: u8| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed()));
        let found = _mm256_or_si256(_mm256_or_si256(equal(b'"'), equal(b'\n')), equal(b'\\'));
        _mm256_movemask_epi8(found).cast_unsigned()
    }

    /// One unaligned load after optimisation, without a pointer.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 32]) -> __m256i {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| i64::from_le_bytes(words[at]);
        _mm256_set_epi64x(word(3), word(2), word(1), word(0))
    }
}

/// Reads the line `block[start..end]` whose structural bytes are `quotes` and the newline at `end` into `record`. `None`:
/// the careful parser decides, and `record` is as it was. The flags that depend on the time of the run are the caller's.
///
/// Into a place of the caller's, because a record is 250 bytes, and returning it copied it twice.
#[inline(always)]
pub(super) fn combined<'a>(
    block: &'a [u8],
    start: usize,
    quotes: [usize; 6],
    end: usize,
    format: Option<Format>,
    stamp: impl FnOnce(&[u8; 26]) -> Option<Stamp>,
    record: &mut Record<'a>,
) -> Option<()> {
    let [q0, q1, q2, q3, q4, q5] = quotes;
    let line = block.get(start..end)?;
    let head = block.get(start..q0)?;
    let (words, stamp_text) = head.split_last_chunk::<29>()?;
    let first = *words.first()?;
    if first <= b' ' || first == b'#' || first >= 0x7F {
        return None;
    }
    let [b'[', text @ .., b']', b' '] = stamp_text else {
        return None;
    };
    if q4 != q3 + 2 || block[q3 + 1] != b' ' {
        return None;
    }
    let (status, bytes) = numbers(block.get(q1 + 1..q2)?)?;
    let request = block.get(q0 + 1..q1)?;
    let referer = block.get(q2 + 1..q3)?;
    let user_agent = block.get(q4 + 1..q5)?;
    if referer.last().is_some_and(|b| is_blank(*b)) || user_agent.last().is_some_and(|b| is_blank(*b)) {
        return None;
    }
    let tail = block.get(q5 + 1..end)?;
    let tail = match tail {
        [] | [b'\r'] => &tail[..0],
        [b' ' | b'\t', ..] => trim(tail.strip_suffix(b"\r").unwrap_or(tail)),
        _ => return None,
    };
    let stamp = stamp(text)?;
    let front = block.get(start..).and_then(<[u8]>::first_chunk);
    let prefix = match plain_client(words, front, format) {
        Some(client) => Prefix {
            host: None,
            vhost_port: None,
            forwarded: None,
            client,
            ident: &words[words.len() - 4..words.len() - 3],
            user: &words[words.len() - 2..words.len() - 1],
            flags: Flags::empty(),
        },
        None if wrapper::may_lead(words) => return None,
        None => prefix::parse(words, format)?,
    };
    let read_as = if prefix.host.is_some() { Format::VhostCombined } else { Format::Combined };
    if format.is_some_and(|named| named != read_as) {
        return None;
    }
    let mut flags = prefix.flags;
    flags.insert(stamp.flags);
    debug_assert!(!line.is_empty());
    *record = Record {
        format: read_as,
        flags,
        host: prefix.host,
        vhost_port: prefix.vhost_port,
        client: prefix.client,
        forwarded: prefix.forwarded,
        ident: prefix.ident,
        user: prefix.user,
        epoch: stamp.epoch,
        request,
        status,
        bytes,
        referer: Some(referer),
        user_agent: Some(user_agent),
        tail,
        prefix: None,
        timing: Timing::default(),
    };
    Some(())
}

/// The client of `client - - `, which is how most lines begin. `front` is the same place of the block and more behind.
#[inline(always)]
fn plain_client<'a>(words: &'a [u8], front: Option<&[u8; 16]>, format: Option<Format>) -> Option<&'a [u8]> {
    let client = words.strip_suffix(b" - - ")?;
    let plain = !client.is_empty()
        && client.len() <= 64
        && match front {
            // Most addresses are no longer: two comparisons of eight bytes at once.
            Some(front) if client.len() <= 16 => first_odd(front) >= client.len(),
            _ => client.iter().all(|b| *b > b' ' && *b != b','),
        }
        && !matches!(format, Some(Format::VhostCombined | Format::VhostCommon));
    plain.then_some(client)
}

/// How many bytes stand before the first one that is a comma or not above a blank.
#[inline(always)]
fn first_odd(bytes: &[u8; 16]) -> usize {
    const ONES: u128 = u128::from_le_bytes([1; 16]);
    const HIGH: u128 = ONES << 7;
    let word = u128::from_le_bytes(*bytes);
    // The lowest bit of each is exact: a borrow or a carry comes only from a byte below that is found itself.
    let below = word.wrapping_sub(ONES * 0x21) & !word & HIGH;
    let differs = word ^ (ONES * 0x2C);
    let comma = differs.wrapping_sub(ONES) & !differs & HIGH;
    (below | comma).trailing_zeros() as usize / 8
}

/// ` 200 512 `: three digits, then up to 18 digits or `-`.
#[inline(always)]
fn numbers(text: &[u8]) -> Option<(Option<u16>, Option<u64>)> {
    let [b' ', a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', b' ', rest @ .., b' '] = text else {
        return None;
    };
    let status = u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0');
    if rest == b"-" {
        return Some((Some(status), None));
    }
    if rest.is_empty() || rest.len() > 18 {
        return None;
    }
    let mut bytes = 0_u64;
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        bytes = bytes * 10 + u64::from(digit);
    }
    Some((Some(status), Some(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, proptest};

    #[test]
    fn the_first_byte_that_ends_a_plain_client_is_found_wherever_it_stands() {
        for odd in [b' ', b',', 0, 0x1F, b'\t'] {
            for filler in [b'!', b'-', b'~', 0x7F, 0x80, 0xFF, b'.'] {
                for at in 0..=16 {
                    let mut bytes = [filler; 16];
                    bytes[at.min(15)..].fill(odd);
                    if at == 16 {
                        bytes[15] = filler;
                    }
                    assert_eq!(first_odd(&bytes), at, "{bytes:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn both_indexes_find_every_structural_byte(
            bytes in prop::collection::vec(prop::sample::select(b"\"\n\\a\x00\xa2\x8a\xdc!#]".to_vec()), 0..300),
        ) {
            let want: Vec<u32> = (0..).zip(&bytes).filter(|(_, b)| matches!(b, b'"' | b'\n' | b'\\')).map(|(at, _)| at).collect();
            let mut out = vec![0; bytes.len() + SLACK];
            let count = index_portable(&bytes, &mut out);
            assert_eq!(out[..count], want);
            let mut index = Index::new();
            index.fill(&bytes);
            assert_eq!(index.positions(), want);
        }
    }
}
