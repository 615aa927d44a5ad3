//! Which of sixteen bytes are letters, and which digits: sixteen comparisons at once where the processor has them.
//!
//! Example: of `curl/8.0 (a:b@c)` the letters are 0, 1, 2, 3, 10, 12 and 14.

/// What words end in that are the ends of bots' names: crawler, bot, linkcheck, monitoring, preview.
pub(crate) const LAST_LETTERS: [u8; 5] = *b"gkrtw";

/// A bit for each of sixteen bytes, the first one the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// ASCII letters and digits.
    pub(crate) alphanumeric: u32,
    /// ASCII letters.
    pub(crate) letter: u32,
    /// Letters of [`LAST_LETTERS`], whatever the case.
    pub(crate) last_letter: u32,
    /// What a scheme ends with, and what an e-mail address holds: `:` and `@`.
    pub(crate) contact: u32,
}

impl Kinds {
    #[cfg(any(test, not(target_feature = "sse2")))]
    pub(super) fn one_by_one(chunk: &[u8; 16]) -> Self {
        let mask = |is: fn(&u8) -> bool| {
            chunk.iter().enumerate().fold(0, |mask, (at, byte)| mask | u32::from(is(byte)) << at)
        };
        Self {
            alphanumeric: mask(u8::is_ascii_alphanumeric),
            letter: mask(u8::is_ascii_alphabetic),
            last_letter: mask(|b| LAST_LETTERS.contains(&b.to_ascii_lowercase())),
            contact: mask(|b| matches!(b, b':' | b'@')),
        }
    }

    #[cfg(target_feature = "sse2")]
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn at_once(chunk: &[u8; 16]) -> Self {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
            _mm_sub_epi8,
        };
        let (words, _) = chunk.as_chunks::<8>();
        let bytes = _mm_set_epi64x(i64::from_le_bytes(words[1]), i64::from_le_bytes(words[0]));
        let all = |byte: u8| _mm_set1_epi8(byte.cast_signed());
        // Those that are less than so far above the first one.
        let within = |bytes, first: u8, count: u8| {
            let above = _mm_sub_epi8(bytes, all(first));
            _mm_cmpeq_epi8(_mm_min_epu8(above, all(count - 1)), above)
        };
        let mask = |bytes| _mm_movemask_epi8(bytes).cast_unsigned();
        // Upper case to lower; nothing but a letter becomes one.
        let lower = _mm_or_si128(bytes, all(0x20));
        let letter = within(lower, b'a', 26);
        let [g, k, r, t, w] = LAST_LETTERS.map(|letter| _mm_cmpeq_epi8(lower, all(letter)));
        let last_letter = _mm_or_si128(_mm_or_si128(_mm_or_si128(g, k), _mm_or_si128(r, t)), w);
        let digit = within(bytes, b'0', 10);
        let contact = _mm_or_si128(_mm_cmpeq_epi8(bytes, all(b':')), _mm_cmpeq_epi8(bytes, all(b'@')));
        Self {
            alphanumeric: mask(_mm_or_si128(letter, digit)),
            letter: mask(letter),
            last_letter: mask(last_letter),
            contact: mask(contact),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, proptest};

    #[test]
    fn every_byte_is_of_its_kind() {
        assert_eq!(Kinds::of(b"curl/8.0 (a:b@c)").letter, 0b101_0100_0000_1111);
        for first in (0..=u8::MAX).step_by(16) {
            let chunk = std::array::from_fn(|at| first + u8::try_from(at).unwrap());
            assert_eq!(Kinds::of(&chunk), Kinds::one_by_one(&chunk), "from {first:#x}");
        }
    }

    proptest! {
        #[test]
        fn all_at_once_is_one_by_one(chunk in any::<[u8; 16]>()) {
            assert_eq!(Kinds::of(&chunk), Kinds::one_by_one(&chunk));
        }
    }
}
