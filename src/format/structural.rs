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
//! The index is nearly all safe code. `unsafe` are the calls of the AVX2 and the AVX-512 version, which are only sound on a
//! processor that has these, and the lines before ask for it; one store of sixteen positions into a slice of sixteen; and
//! the call of [`kinds`], whose feature the whole program is compiled for.
//! Other machines compare 8 bytes at a time in plain integers. AVX-512 compares 64 bytes into a mask in one instruction
//! and packs the positions in another: 60 instructions for a line of 250 bytes, where AVX2 takes 200.
//!
//! Figures and how to get them: `benches/parse.rs`.

pub(crate) mod kinds;

use self::kinds::Kinds;
use super::prefix;
use super::quote::{is_blank, trim};
use super::record::{Format, Record};
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
    reason = "the calls of functions that need a processor feature, right behind the question"
)]
fn index(window: &[u8], out: &mut [u32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vbmi2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has the features that the function is compiled for; it has no other requirement.
        return unsafe { avx512::index(window, out) };
    }
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

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cvtepu8_epi32,
        _mm512_maskz_compress_epi8, _mm512_set_epi8, _mm512_set_epi64, _mm512_set1_epi8, _mm512_set1_epi32,
        _mm512_storeu_si512,
    };

    /// Positions that one store writes.
    const AT_ONCE: usize = 16;

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,popcnt")]
    pub(super) fn index(window: &[u8], out: &mut [u32]) -> usize {
        let (chunks, rest) = window.as_chunks::<64>();
        let (mut count, mut base) = (0, 0_u32);
        for chunk in chunks {
            count += positions(chunk, base, &mut out[count..]);
            base += 64;
        }
        if !rest.is_empty() {
            let mut last = [0; 64];
            last[..rest.len()].copy_from_slice(rest);
            count += positions(&last, base, &mut out[count..]);
        }
        count
    }

    /// Writes the positions of the structural bytes of a chunk that begins at `base`, and gives their number.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,popcnt")]
    fn positions(chunk: &[u8; 64], base: u32, out: &mut [u32]) -> usize {
        let bytes = load(chunk);
        let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
        let mut bits = equal(b'"') | equal(b'\n') | equal(b'\\');
        let found = bits.count_ones() as usize;
        let packed = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(bits, counted()));
        let first = _mm512_add_epi32(_mm512_cvtepu8_epi32(packed), _mm512_set1_epi32(base.cast_signed()));
        store(first, out.first_chunk_mut().expect("there is room behind the last position"));
        if found > AT_ONCE {
            // Rare: a line of quotes. The positions behind the sixteenth, one by one.
            for (number, slot) in out[..found].iter_mut().enumerate() {
                if number >= AT_ONCE {
                    *slot = base + bits.trailing_zeros();
                }
                bits &= bits.wrapping_sub(1);
            }
        }
        found
    }

    #[allow(unsafe_code, reason = "there is no store without a pointer")]
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(positions: __m512i, out: &mut [u32; AT_ONCE]) {
        // SAFETY: 64 bytes are written, without need of alignment, into an array of sixteen times four bytes that is
        // borrowed for writing; every value of them is a `u32`.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), positions) }
    }

    /// One unaligned load after optimisation, without a pointer.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8; 64]) -> __m512i {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| i64::from_le_bytes(words[at]);
        _mm512_set_epi64(word(7), word(6), word(5), word(4), word(3), word(2), word(1), word(0))
    }

    /// The numbers 0 to 63.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn counted() -> __m512i {
        #[rustfmt::skip]
        let numbers = _mm512_set_epi8(
            63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
            47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
            31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
            15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
        );
        numbers
    }
}

/// Where the first byte is that cannot stand in a plain client, a comma or what is not above a blank; 16 when none is. For
/// sixteen bytes the call of a search function would cost more than the search.
#[inline(always)]
fn first_odd(bytes: &[u8; 16]) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        #[allow(unsafe_code, reason = "the call of a function that needs a processor feature")]
        // SAFETY: every x86-64 processor has SSE2; the function has no other requirement.
        unsafe {
            sse2::first_odd(bytes)
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        position(bytes, |b| b <= b' ' || b == b',')
    }
}

/// Where the first of `?`, `#` and `;` is; 16 when none is.
#[inline(always)]
pub(crate) fn first_mark(bytes: &[u8; 16]) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        #[allow(unsafe_code, reason = "the call of a function that needs a processor feature")]
        // SAFETY: every x86-64 processor has SSE2; the function has no other requirement.
        unsafe {
            sse2::first_mark(bytes)
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        position(bytes, |b| matches!(b, b'?' | b'#' | b';'))
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn position(bytes: &[u8; 16], is_sought: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|b| is_sought(*b)).unwrap_or(bytes.len())
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set_epi64x, _mm_set1_epi8,
    };

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn first_odd(bytes: &[u8; 16]) -> usize {
        let bytes = load(bytes);
        let low = _mm_cmpeq_epi8(bytes, _mm_min_epu8(bytes, all(b' ')));
        first(_mm_or_si128(low, _mm_cmpeq_epi8(bytes, all(b','))))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn first_mark(bytes: &[u8; 16]) -> usize {
        let bytes = load(bytes);
        // `?` and `;` differ in one bit.
        let either = _mm_cmpeq_epi8(_mm_and_si128(bytes, all(!4)), all(b';'));
        first(_mm_or_si128(either, _mm_cmpeq_epi8(bytes, all(b'#'))))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn first(found: __m128i) -> usize {
        (_mm_movemask_epi8(found) | 1 << 16).trailing_zeros() as usize
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn all(byte: u8) -> __m128i {
        _mm_set1_epi8(byte.cast_signed())
    }

    /// One unaligned load after optimisation, without a pointer.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(bytes: &[u8; 16]) -> __m128i {
        let (words, _) = bytes.as_chunks::<8>();
        _mm_set_epi64x(i64::from_le_bytes(words[1]), i64::from_le_bytes(words[0]))
    }
}

/// Who knows what a stamp says. No closure, because the compiler did not put that one into the place of its call.
pub(super) trait Stamps {
    /// The time between the brackets; `None`: the careful parser decides.
    fn stamp(self, text: &[u8; 26]) -> Option<Stamp>;
}

/// Reads the line `block[start..end]` whose structural bytes are `quotes` and the newline at `end` into `record`. `None`:
/// the careful parser decides, and `record` is as it was. The flags that depend on the time of the run are the caller's.
///
/// Into a place of the caller's, because a record is 250 bytes, and returning it copied it twice. `is_plain` says that what
/// is there came from here, from a line with a client and two dashes before its stamp, and was not changed since: then
/// what all such lines share is not written again. It is set for the next line.
#[inline(always)]
pub(super) fn combined<'a>(
    block: &'a [u8],
    (start, end): (usize, usize),
    quotes: [usize; 6],
    format: Option<Format>,
    stamps: impl Stamps,
    record: &mut Record<'a>,
    is_plain: &mut bool,
) -> Option<()> {
    let [q0, q1, q2, q3, q4, q5] = quotes;
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
    let (status, bytes) = numbers(block, q1 + 1, q2)?;
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
    let stamp = stamps.stamp(text)?;
    let front = block.get(start..).and_then(<[u8]>::first_chunk);
    if let Some(client) = plain_client(words, front, format)
        && format.is_none_or(|named| named == Format::Combined)
    {
        if !std::mem::replace(is_plain, true) {
            *record = Record { ident: b"-", user: b"-", ..Record::EMPTY };
        }
        record.client = client;
        record.flags = stamp.flags;
        record.epoch = stamp.epoch;
        record.request = request;
        record.status = status;
        record.bytes = bytes;
        record.referer = Some(referer);
        record.user_agent = Some(user_agent);
        record.tail = tail;
        return Some(());
    }
    with_words(words, format, stamp, record)?;
    *is_plain = false;
    record.request = request;
    record.status = status;
    record.bytes = bytes;
    record.referer = Some(referer);
    record.user_agent = Some(user_agent);
    record.tail = tail;
    Some(())
}

/// What stands before the stamp, where that is more than a client and two dashes.
#[inline(never)]
fn with_words<'a>(
    words: &'a [u8],
    format: Option<Format>,
    stamp: Stamp,
    record: &mut Record<'a>,
) -> Option<()> {
    if wrapper::may_lead(words) {
        return None;
    }
    let prefix = prefix::parse(words, format)?;
    let read_as = if prefix.host.is_some() { Format::VhostCombined } else { Format::Combined };
    if format.is_some_and(|named| named != read_as) {
        return None;
    }
    let mut flags = prefix.flags;
    flags.insert(stamp.flags);
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
        ..Record::EMPTY
    };
    Some(())
}

/// The client of `client - - `, which is how most lines begin. `front` is the same place of the block and more behind.
#[inline(always)]
fn plain_client<'a>(words: &'a [u8], front: Option<&[u8; 16]>, format: Option<Format>) -> Option<&'a [u8]> {
    let (client, behind) = words.split_last_chunk::<5>()?;
    let plain = behind == b" - - "
        && !client.is_empty()
        && client.len() <= 64
        && match front {
            // Most addresses are no longer: two comparisons of sixteen bytes at once.
            Some(front) if client.len() <= 16 => first_odd(front) >= client.len(),
            _ => client.iter().all(|b| *b > b' ' && *b != b','),
        }
        && !matches!(format, Some(Format::VhostCombined | Format::VhostCommon));
    plain.then_some(client)
}

/// ` 200 512 ` in `block[from..to]`: three digits, then up to 18 digits or `-`. Eight bytes at once where there are no
/// more than eight digits: in such a word a byte is a digit when it is below 10 after the xor with `0`, and adding 0x76 sets
/// the high bit of every byte that is not (a carry comes only from a byte that is none, and that is found anyway).
#[inline(always)]
fn numbers(block: &[u8], from: usize, to: usize) -> Option<(Option<u16>, Option<u64>)> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const DIGITS: u64 = 0x3030_3030_3030_3030;
    let digits = to.checked_sub(from)?.checked_sub(6)?;
    let front = u64::from_le_bytes(*block.get(from..)?.first_chunk()?);
    let front = (front ^ 0x20_3030_3020) & 0xFF_FFFF_FFFF;
    if (front.wrapping_add(0x7F_7676_767F) | front) & HIGH != 0 {
        return None;
    }
    let digit = |at: u32| (front >> (8 * at) & 0xF) as u16;
    let status = digit(1) * 100 + digit(2) * 10 + digit(3);
    let (text, blank) = block.get(from + 5..to)?.split_at_checked(digits)?;
    if blank != b" " {
        return None;
    }
    if text == b"-" {
        return Some((Some(status), None));
    }
    let bytes = match digits {
        1..=8 => {
            let word = u64::from_le_bytes(*block.get(..to - 1)?.last_chunk()?);
            // What stands before the digits becomes zeros before them.
            let word = (word ^ DIGITS) & (u64::MAX << (64 - 8 * digits));
            if (word.wrapping_add(0x7676_7676_7676_7676) | word) & HIGH != 0 {
                return None;
            }
            decimal(word)
        }
        9..=18 => {
            let mut bytes = 0_u64;
            for byte in text {
                let digit = byte.wrapping_sub(b'0');
                if digit > 9 {
                    return None;
                }
                bytes = bytes * 10 + u64::from(digit);
            }
            bytes
        }
        _ => return None,
    };
    Some((Some(status), Some(bytes)))
}

/// The number of eight decimal digits, the first one in the lowest byte: pairs, then fours, then all in three
/// multiplications.
#[inline(always)]
fn decimal(digits: u64) -> u64 {
    const LOW: u64 = 0x0000_00FF_0000_00FF;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let upper = (pairs & LOW).wrapping_mul(0x000F_4240_0000_0064);
    let lower = (pairs >> 16 & LOW).wrapping_mul(0x0000_2710_0000_0001);
    upper.wrapping_add(lower) >> 32
}

#[cfg(test)]
mod tests;
