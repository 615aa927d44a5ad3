//! Counting distinct texts in bounded memory: a HyperLogLog sketch whose bytes are stable.
//!
//! Not exact (standard error 1.04 / sqrt(2048) = 2.3 %), but mergeable in any order with the same bytes as result.
//! Flajolet et al. 2007, with linear counting for small numbers.
//!
//! Most sketches see a few texts: a bot has one or two User-Agents. Those keep the registers that are set in a list, so
//! that a hundred thousand series take what they hold and not 2 KiB for each sketch. Example: three texts are three
//! numbers of 32 bits, and 2,048 bytes when stored.

use std::borrow::Cow;

/// Registers of a sketch.
const REGISTERS: usize = 2048;
const INDEX_BITS: u32 = 11;
/// Registers that are kept as a list: an eighth of the memory of all.
const FEW: usize = 64;

/// The hash that sketches and samples use: stable over runs, machines and versions.
#[must_use]
#[inline]
pub fn stable_hash(text: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(text)
}

/// A sketch of a set of hashes: 2,048 registers of one byte. The same set is always held in the same form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distinct {
    registers: Registers,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Registers {
    /// Those that are not 0, if at most [`FEW`] are: index and rank ([`entry`]), ascending, no index twice.
    Few(Vec<u32>),
    All(Box<[u8; REGISTERS]>),
}

impl Default for Distinct {
    fn default() -> Self {
        Self { registers: Registers::Few(Vec::new()) }
    }
}

/// A register in a list.
fn entry(index: usize, rank: u8) -> u32 {
    u32::try_from(index).unwrap_or(0) << 8 | u32::from(rank)
}

/// Index and rank of a register in a list.
fn of_entry(entry: u32) -> (usize, u8) {
    ((entry >> 8) as usize % REGISTERS, entry.to_le_bytes()[0])
}

impl Distinct {
    /// Adds a text by its [`stable_hash`].
    #[inline(always)]
    pub fn insert(&mut self, hash: u64) {
        let index = usize::try_from(hash >> (64 - INDEX_BITS)).unwrap_or(0);
        // The position of the first 1 in the remaining 53 bits, from 1; 54 when there is none.
        let rank =
            u8::try_from(((hash << INDEX_BITS) | (1 << (INDEX_BITS - 1))).leading_zeros() + 1).unwrap_or(54);
        match &mut self.registers {
            // Most texts are not the first with their rank: a look without a write leaves the line of the cache clean.
            Registers::All(registers) if registers[index] >= rank => {}
            Registers::All(registers) => registers[index] = rank,
            Registers::Few(_) => self.raise_few(index, rank),
        }
    }

    /// Raises one register to `rank` at least.
    fn raise(&mut self, index: usize, rank: u8) {
        match &mut self.registers {
            Registers::All(registers) => registers[index] = registers[index].max(rank),
            Registers::Few(_) => self.raise_few(index, rank),
        }
    }

    #[inline(never)]
    fn raise_few(&mut self, index: usize, rank: u8) {
        let Registers::Few(few) = &mut self.registers else { return };
        let at = few.partition_point(|e| *e < entry(index, 0));
        if let Some(known) = few.get_mut(at).filter(|known| of_entry(**known).0 == index) {
            *known = (*known).max(entry(index, rank));
        } else if few.len() < FEW {
            few.insert(at, entry(index, rank));
        } else {
            let mut all = spread(few);
            all[index] = rank;
            self.registers = Registers::All(Box::new(all));
        }
    }

    /// Adds all that the other sketch has seen.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.registers, &other.registers) {
            (_, Registers::Few(few)) => few.iter().map(|e| of_entry(*e)).for_each(|(i, r)| self.raise(i, r)),
            (Registers::All(registers), Registers::All(others)) => {
                for (a, b) in registers.iter_mut().zip(others.iter()) {
                    *a = (*a).max(*b);
                }
            }
            (Registers::Few(_), Registers::All(_)) => {
                let few = std::mem::replace(self, other.clone());
                self.merge(&few);
            }
        }
    }

    /// The estimated number of distinct texts, rounded.
    #[must_use]
    pub fn estimate(&self) -> u64 {
        let registers = self.as_bytes();
        if registers.is_empty() {
            return 0;
        }
        let m = 2048.0_f64;
        let sum: f64 = registers.iter().map(|r| 2.0_f64.powi(-i32::from(*r))).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let empty: f64 = registers.iter().map(|r| if *r == 0 { 1.0 } else { 0.0 }).sum();
        let estimate = if raw <= 2.5 * m && empty > 0.0 { m * (m / empty).ln() } else { raw };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and below 2^64 for any registers"
        )]
        let rounded = estimate.round() as u64;
        rounded
    }

    /// The registers as stored: no byte when nothing was inserted, else 2,048.
    #[must_use]
    pub fn as_bytes(&self) -> Cow<'_, [u8]> {
        match &self.registers {
            Registers::Few(few) if few.is_empty() => Cow::Borrowed(&[]),
            Registers::Few(few) => Cow::Owned(spread(few).to_vec()),
            Registers::All(registers) => Cow::Borrowed(&registers[..]),
        }
    }

    /// Reads stored registers back; `None` when they are not of this form.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let registers: [u8; REGISTERS] = bytes.try_into().ok()?;
        if registers.iter().any(|rank| *rank > 54) {
            return None;
        }
        let set = || (0..).zip(&registers).filter(|(_, rank)| **rank > 0).map(|(i, rank)| entry(i, *rank));
        let registers = match set().count() {
            0..=FEW => Registers::Few(set().collect()),
            _ => Registers::All(Box::new(registers)),
        };
        Some(Self { registers })
    }
}

fn spread(few: &[u32]) -> [u8; REGISTERS] {
    let mut all = [0; REGISTERS];
    for (index, rank) in few.iter().map(|e| of_entry(*e)) {
        all[index] = rank;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(numbers: std::ops::Range<u32>) -> Distinct {
        let mut d = Distinct::default();
        for i in numbers {
            d.insert(stable_hash(&i.to_le_bytes()));
        }
        d
    }

    #[test]
    fn estimates_within_three_standard_errors() {
        for n in [0, 1, 10, 60, 70, 1000, 100_000] {
            let got = f64::from(u32::try_from(sketch(0..n).estimate()).unwrap());
            assert!((got - f64::from(n)).abs() <= f64::from(n) * 0.07 + 0.5, "{n}: {got}");
        }
    }

    #[test]
    fn a_merge_in_any_order_equals_one_sketch_of_all() {
        // Lists, all registers, and what becomes one from two lists.
        for (a, b) in [(0..500, 300..900), (0..20, 10..30), (0..50, 40..90), (0..40, 30..900), (0..0, 0..3)] {
            let all = sketch(a.start.min(b.start)..a.end.max(b.end));
            let (a, b) = (sketch(a), sketch(b));
            let (mut ab, mut ba) = (a.clone(), b.clone());
            ab.merge(&b);
            ba.merge(&a);
            assert_eq!(ab, ba);
            assert_eq!(ab, all);
            assert_eq!(Distinct::from_bytes(&ab.as_bytes()), Some(ab));
        }
    }

    #[test]
    fn the_bytes_are_the_registers_however_they_are_held() {
        let mut want = vec![0u8; REGISTERS];
        let mut d = Distinct::default();
        assert_eq!(d.as_bytes().as_ref(), b"");
        for i in 0..200u32 {
            let hash = stable_hash(&i.to_le_bytes());
            let index = usize::try_from(hash >> 53).unwrap();
            want[index] = want[index].max(u8::try_from((hash << 11).leading_zeros() + 1).unwrap());
            d.insert(hash);
            d.insert(hash);
            assert_eq!(d.as_bytes().as_ref(), want, "{i}");
            let set = want.iter().filter(|r| **r > 0).count();
            assert_eq!(matches!(d.registers, Registers::All(_)), set > FEW);
        }
        d.insert(0);
        assert_eq!(d.as_bytes()[0], 54);
        assert_eq!(Distinct::from_bytes(&[55; REGISTERS]), None);
        assert_eq!(Distinct::from_bytes(&[1; REGISTERS - 1]), None);
    }
}
