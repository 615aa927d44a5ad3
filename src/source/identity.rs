//! What a log is, whatever it is called: digests of its decompressed bytes.
//!
//! The stream is cut at fixed offsets into *granules*, which are hashed one by one, so that blocks can be digested out
//! of order by several threads and a beginning of the stream has a digest of its own. Not here: which known source a
//! stream is ([`crate::history::known`]).
//!
//! | bytes of the stream | granule |
//! | --- | --- |
//! | up to 1 KiB | 64 B |
//! | up to 16 KiB | 512 B |
//! | up to 1 MiB | 4 KiB |
//! | beyond | 64 KiB |
//!
//! What is exact: the digest of a whole stream, and that of its first *n* bytes when *n* is at most 4,096, is the end
//! of a granule, or was named as a checkpoint before the bytes were seen. What is not: whether a stream is the
//! beginning of one of which only granules are known ([`Granules::begins_with`]): that is verified up to the last
//! whole granule. XXH3 is no cryptographic hash; nobody is kept from building two logs that collide.
//!
//! Example: two reads of `access.log`, one of 300 lines and one a day later of 900, have the same [`Head`], and the
//! second one's [`Digests::prefix`] at the first one's length is the first one's [`Digests::content`].

use std::collections::BTreeMap;
use std::fmt;

use twox_hash::{XxHash3_64, XxHash3_128};

use crate::error::Error;

/// Streams that agree in so many first bytes are candidates for each other.
pub const HEAD_BYTES: usize = 4096;
/// Offsets of blocks for [`BlockDigests::of_block`] are multiples of this: every granule lies in one block.
pub const BLOCK_BYTES: usize = 1 << 20;
/// Two sources with the same head are told apart by the first block of this size in which they differ.
const NAME_BLOCK_BYTES: u64 = 64 * 1024;

/// End of the region and size of its granules.
const LADDER: [(u64, u64); 4] = [(1 << 10, 64), (1 << 14, 512), (1 << 20, 1 << 12), (u64::MAX, 1 << 16)];

/// Number of granules that are whole within the first `length` bytes, and where the last of them ends.
fn whole_granules(length: u64) -> (u64, u64) {
    let (mut count, mut start) = (0, 0);
    for (end, size) in LADDER {
        let within = length.min(end) - start;
        count += within / size;
        if length < end {
            return (count, start + within / size * size);
        }
        start = end;
    }
    (count, start)
}

/// The size of the granule that holds the byte at `offset`.
fn granule_size(offset: u64) -> u64 {
    LADDER.iter().find(|(end, _)| offset < *end).map_or(1 << 16, |(_, size)| *size)
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("there are fewer granules than bytes in memory")
}

/// A 128-bit digest; prints as 32 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub u128);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Digest {
    /// Reads what `Display` wrote; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        (text.len() == 32 && !text.starts_with('+')).then(|| u128::from_str_radix(text, 16).ok().map(Self))?
    }
}

/// The hash of a stream's first 4,096 bytes, or of all of a shorter one; prints as the 16 hex digits that name a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Head(pub u64);

impl Head {
    /// From the beginning of a stream: at least its first [`HEAD_BYTES`] bytes, or all of a shorter one.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Self {
        Self(XxHash3_64::oneshot(&beginning[..beginning.len().min(HEAD_BYTES)]))
    }

    /// Reads what `Display` wrote; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        (text.len() == 16 && !text.starts_with('+')).then(|| u64::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Digests of one block of a stream. Blocks may be digested in any order, by any thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDigests {
    offset: u64,
    length: u64,
    /// Of every granule, a cut one at the end included.
    granules: Vec<u128>,
    /// Length of a beginning of the stream -> digest of its last, cut granule.
    cut: Vec<(u64, u128)>,
    /// The bytes of the block that belong to the head.
    head: Vec<u8>,
}

impl BlockDigests {
    /// Digests the bytes at `offset` of the decompressed stream.
    ///
    /// `checkpoints` are lengths of beginnings of the whole stream (ascending or not, in this block or not) whose digest
    /// will be asked for; a handful costs nothing, each one costs at most one more granule.
    ///
    /// # Panics
    ///
    /// When `offset` is no multiple of [`BLOCK_BYTES`].
    #[must_use]
    pub fn of_block(offset: u64, bytes: &[u8], checkpoints: &[u64]) -> Self {
        assert_eq!(offset % BLOCK_BYTES as u64, 0, "blocks begin at multiples of 1 MiB");
        let mut digests = Self::empty_at(offset, bytes.len().div_ceil(1 << 16));
        let mut rest = bytes;
        while !rest.is_empty() {
            let size = index(granule_size(offset + digests.length)).min(rest.len());
            let (granule, after) = rest.split_at(size);
            digests.push(granule, checkpoints);
            rest = after;
        }
        digests
    }

    /// Where the block begins in the decompressed stream.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the block.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    fn empty_at(offset: u64, capacity: usize) -> Self {
        Self { offset, length: 0, granules: Vec::with_capacity(capacity), cut: Vec::new(), head: Vec::new() }
    }

    /// Adds the next granule: whole, or the last of the stream.
    fn push(&mut self, granule: &[u8], checkpoints: &[u64]) {
        let start = self.offset + self.length;
        if start < HEAD_BYTES as u64 {
            self.head.extend_from_slice(granule);
        }
        let end = start + granule.len() as u64;
        for checkpoint in checkpoints.iter().filter(|c| (start + 1..end).contains(c)) {
            self.cut.push((*checkpoint, XxHash3_128::oneshot(&granule[..index(checkpoint - start)])));
        }
        self.granules.push(XxHash3_128::oneshot(granule));
        self.length = end - self.offset;
    }
}

/// Digests a stream that arrives in order, in chunks of any size.
#[derive(Debug)]
pub struct Digester {
    blocks: BlockDigests,
    /// The beginning of a granule whose end has not arrived.
    pending: Vec<u8>,
    checkpoints: Vec<u64>,
}

impl Digester {
    /// For a stream of which nothing was read yet. `checkpoints` as in [`BlockDigests::of_block`].
    #[must_use]
    pub fn new(checkpoints: Vec<u64>) -> Self {
        Self { blocks: BlockDigests::empty_at(0, 0), pending: Vec::new(), checkpoints }
    }

    /// Takes the next bytes of the decompressed stream.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let size = index(granule_size(self.blocks.length));
            if self.pending.is_empty() && bytes.len() >= size {
                let (granule, after) = bytes.split_at(size);
                self.blocks.push(granule, &self.checkpoints);
                bytes = after;
                continue;
            }
            let (taken, after) = bytes.split_at(bytes.len().min(size - self.pending.len()));
            self.pending.extend_from_slice(taken);
            bytes = after;
            if self.pending.len() == size {
                self.blocks.push(&self.pending, &self.checkpoints);
                self.pending.clear();
            }
        }
    }

    /// The digests of what arrived.
    #[must_use]
    pub fn finish(mut self) -> Digests {
        if !self.pending.is_empty() {
            self.blocks.push(&self.pending, &self.checkpoints);
        }
        Digests::from_one(self.blocks)
    }
}

/// Everything that is known of the content of a stream that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    length: u64,
    granules: Vec<u128>,
    cut: BTreeMap<u64, u128>,
    head: Vec<u8>,
}

impl Digests {
    fn from_one(block: BlockDigests) -> Self {
        let mut head = block.head;
        head.truncate(HEAD_BYTES);
        Self { length: block.length, granules: block.granules, cut: block.cut.into_iter().collect(), head }
    }

    /// Puts the blocks of one stream together, in whatever order they come.
    ///
    /// # Errors
    ///
    /// A hole, an overlap, or a block in the middle that is no multiple of [`BLOCK_BYTES`] (exit 5): a fault of the
    /// reader, and its counts cannot be trusted either.
    pub fn combine(mut blocks: Vec<BlockDigests>) -> Result<Self, Error> {
        blocks.sort_by_key(|b| b.offset);
        let mut whole = BlockDigests::empty_at(0, blocks.iter().map(|b| b.granules.len()).sum());
        for block in blocks {
            if block.offset != whole.length {
                return Err(Error::runtime("digest of a log", "cannot put its blocks together").cause(
                    format_args!("a block begins at byte {}, expected {}", block.offset, whole.length),
                ));
            }
            whole.length += block.length;
            whole.granules.extend(block.granules);
            whole.cut.extend(block.cut);
            whole.head.extend(block.head);
        }
        Ok(Self::from_one(whole))
    }

    /// Bytes of the decompressed stream.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The hash of the first 4,096 bytes.
    #[must_use]
    pub fn head(&self) -> Head {
        Head::of(&self.head)
    }

    /// The digest of all bytes.
    #[must_use]
    pub fn content(&self) -> Digest {
        let (whole, end) = whole_granules(self.length);
        let cut = (end < self.length).then(|| self.granules[index(whole)]);
        self.digest_of(self.length, whole, cut)
    }

    /// The digest that the first `length` bytes have as a stream of their own. `None` when the stream is shorter, or
    /// when the end is inside a granule beyond the head and was not named as a checkpoint.
    #[must_use]
    pub fn prefix(&self, length: u64) -> Option<Digest> {
        if length == self.length {
            return Some(self.content());
        }
        if length > self.length {
            return None;
        }
        let (whole, end) = whole_granules(length);
        let cut = if end == length {
            None
        } else if let Some(bytes) = self.head.get(index(end)..index(length.min(1 << 20))) {
            Some(XxHash3_128::oneshot(bytes))
        } else {
            Some(*self.cut.get(&length)?)
        };
        Some(self.digest_of(length, whole, cut))
    }

    /// Whether the bytes at `offset`, where a granule begins, are those that were digested: every granule that lies in
    /// them whole, and the cut one at the end of the stream. Bytes of a granule that reaches behind them are not compared.
    #[must_use]
    pub fn holds(&self, offset: u64, bytes: &[u8]) -> bool {
        let (mut number, start) = whole_granules(offset);
        let (mut at, mut rest) = (offset, bytes);
        if start != offset {
            return false;
        }
        while !rest.is_empty() {
            let size = index(granule_size(at)).min(index(self.length.saturating_sub(at)));
            if size == 0 {
                return false;
            }
            let Some((granule, after)) = rest.split_at_checked(size) else { return true };
            if self.granules.get(index(number)) != Some(&XxHash3_128::oneshot(granule)) {
                return false;
            }
            (number, at, rest) = (number + 1, at + size as u64, after);
        }
        true
    }

    /// Takes over what a second look at the first bytes of this stream has shown: afterwards [`Digests::prefix`] knows
    /// their length. `false` when it knew it before, or when `beginning` is not the beginning of this stream.
    pub fn learn(&mut self, beginning: &Self) -> bool {
        let (whole, end) = whole_granules(beginning.length);
        let whole = index(whole);
        let fits = beginning.length < self.length
            && self.granules.get(..whole) == beginning.granules.get(..whole)
            && end < beginning.length;
        fits && self.prefix(beginning.length).is_none()
            && self.cut.insert(beginning.length, beginning.granules[whole]).is_none()
    }

    fn digest_of(&self, length: u64, whole: u64, cut: Option<u128>) -> Digest {
        let whole = &self.granules[..index(whole)];
        let mut bytes: Vec<u8> = whole.iter().chain(&cut).flat_map(|hash| hash.to_le_bytes()).collect();
        bytes.extend_from_slice(&length.to_le_bytes());
        Digest(XxHash3_128::oneshot(&bytes))
    }

    /// What the history keeps, 8 bytes a granule.
    #[must_use]
    pub fn granules(&self) -> Granules {
        Granules { length: self.length, hashes: self.granules.iter().map(|g| low_half(*g)).collect() }
    }
}

fn low_half(digest: u128) -> u64 {
    let bytes = digest.to_le_bytes();
    u64::from_le_bytes(std::array::from_fn(|i| bytes[i]))
}

/// The granule hashes of a stream: all that remains of a known one beside its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granules {
    length: u64,
    hashes: Vec<u64>,
}

impl Granules {
    /// Reads stored hashes back; `None` when there are not as many as a stream of this length has.
    #[must_use]
    pub fn from_bytes(length: u64, bytes: &[u8]) -> Option<Self> {
        let (whole, end) = whole_granules(length);
        let (hashes, rest) = bytes.as_chunks::<8>();
        let expected = whole + u64::from(end < length);
        (rest.is_empty() && hashes.len() as u64 == expected)
            .then(|| Self { length, hashes: hashes.iter().map(|h| u64::from_le_bytes(*h)).collect() })
    }

    /// The stored form: little-endian, 8 bytes a granule, the cut one at the end included.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.hashes.iter().flat_map(|h| h.to_le_bytes()).collect()
    }

    /// Bytes of the stream.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether this longer stream begins with the shorter `other`, as far as its whole granules tell: the number of
    /// bytes that were compared. `None` when they differ, or when `other` has no whole granule (64 bytes).
    ///
    /// Up to 63 bytes at the end of `other` are taken on trust within 1 KiB, 511 within 16 KiB, 4,095 within 1 MiB, and
    /// 65,535 beyond.
    #[must_use]
    pub fn begins_with(&self, other: &Self) -> Option<u64> {
        if other.length > self.length {
            return None;
        }
        let (whole, end) = whole_granules(other.length);
        let whole = index(whole);
        (whole > 0 && self.hashes[..whole] == other.hashes[..whole]).then_some(end)
    }

    /// The hash of this stream's first 64 KiB block in which it differs from `other`; `None` when there is none within
    /// the shorter of both.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<u64> {
        let mut start = 0;
        loop {
            let end = start + NAME_BLOCK_BYTES;
            let (mine, theirs) = (self.within(start, end), other.within(start, end));
            if mine.is_empty() || theirs.is_empty() {
                return None;
            }
            if mine != theirs {
                let bytes: Vec<u8> = mine.iter().flat_map(|h| h.to_le_bytes()).collect();
                return Some(XxHash3_64::oneshot(&bytes));
            }
            start = end;
        }
    }

    /// The hashes of the granules of a 64 KiB block, a cut one included.
    fn within(&self, start: u64, end: u64) -> &[u64] {
        let from = index(whole_granules(start).0).min(self.hashes.len());
        let to = index(whole_granules(end).0).min(self.hashes.len());
        &self.hashes[from..to]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes without repetition, the same for the same seed.
    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(length + 8);
        let mut i = seed;
        while out.len() < length {
            out.extend_from_slice(&XxHash3_64::oneshot_with_seed(seed, &i.to_le_bytes()).to_le_bytes());
            i = i.wrapping_add(1);
        }
        out.truncate(length);
        out
    }

    fn digests(bytes: &[u8]) -> Digests {
        let mut d = Digester::new(Vec::new());
        d.update(bytes);
        d.finish()
    }

    #[test]
    fn bytes_that_were_digested_are_known_again() {
        let bytes = noise(3, (2 << 20) + 777);
        let all = digests(&bytes);
        for from in [0, 64, 1024, 16 * 1024, 1 << 20, 2 << 20] {
            assert!(all.holds(from as u64, &bytes[from..]), "{from}");
            let mut other = bytes[from..].to_vec();
            *other.last_mut().unwrap() ^= 1;
            assert!(!all.holds(from as u64, &other), "the cut granule at the end, {from}");
            assert!(!all.holds(from as u64, &[&bytes[from..], b"x"].concat()), "longer, {from}");
            assert!(
                all.holds(from as u64, &other[..other.len().saturating_sub(800)]),
                "whole granules only, {from}"
            );
        }
        assert!(!all.holds(7, &bytes[7..]), "no granule begins there");
    }

    const LENGTHS: [usize; 14] =
        [0, 1, 63, 64, 65, 1000, 4095, 4096, 4097, 16_384, 70_000, 1 << 20, (1 << 20) + 1, 3_300_000];

    #[test]
    fn the_digest_of_a_beginning_is_the_digest_of_that_beginning_as_a_stream() {
        let bytes = noise(1, 3_300_001);
        for length in LENGTHS {
            let alone = digests(&bytes[..length]);
            let mut longer = Digester::new(vec![length as u64]);
            longer.update(&bytes);
            assert_eq!(longer.finish().prefix(length as u64), Some(alone.content()), "{length}");
            assert_eq!(alone.prefix(length as u64 + 1), None);
            assert_eq!(alone.granules().to_bytes().len() % 8, 0);
            assert_eq!(
                Granules::from_bytes(length as u64, &alone.granules().to_bytes()),
                Some(alone.granules()),
                "{length}"
            );
        }
    }

    #[test]
    fn a_beginning_that_is_no_checkpoint_has_a_digest_only_where_it_is_exact() {
        let all = digests(&noise(2, 2_000_000));
        for (length, known) in [(100, true), (4095, true), (4097, false), (8192, true), (1_200_000, false)] {
            assert_eq!(all.prefix(length).is_some(), known, "{length}");
        }
    }

    #[test]
    fn one_changed_byte_changes_the_digest_and_the_block_name_and_ends_the_common_beginning() {
        let bytes = noise(3, 300_000);
        let whole = digests(&bytes);
        for at in [0, 5000, 65_536, 140_000, 299_999] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            let other = digests(&other);
            assert_ne!(other.content(), whole.content());
            assert_eq!(other.head() == whole.head(), at >= HEAD_BYTES);
            let (a, b) = (whole.granules(), other.granules());
            let names = (a.first_difference(&b).unwrap(), b.first_difference(&a).unwrap());
            assert_ne!(names.0, names.1);
            assert_eq!(b.begins_with(&digests(&bytes[..at]).granules()).is_some(), at >= 64);
            // The last granule is cut: a change there is beyond what granules can tell.
            assert_eq!(a.begins_with(&b), (at >= 299_008).then_some(299_008), "{at}");
        }
        assert_eq!(whole.granules().first_difference(&whole.granules()), None);
    }

    #[test]
    fn too_few_or_too_many_stored_hashes_are_refused() {
        let granules = digests(&noise(4, 5000)).granules();
        let mut bytes = granules.to_bytes();
        assert!(Granules::from_bytes(5000, &bytes).is_some());
        assert!(Granules::from_bytes(50_000, &bytes).is_none());
        bytes.push(0);
        assert!(Granules::from_bytes(5000, &bytes).is_none());
        assert!(Granules::from_bytes(5000, &[]).is_none());
    }

    #[test]
    fn a_missing_block_is_an_error_and_no_digest() {
        let bytes = noise(5, 3 * BLOCK_BYTES);
        let block = |i: usize| {
            BlockDigests::of_block(
                (i * BLOCK_BYTES) as u64,
                &bytes[i * BLOCK_BYTES..(i + 1) * BLOCK_BYTES],
                &[],
            )
        };
        let e = Digests::combine(vec![block(2), block(0)]).unwrap_err();
        assert!(e.to_string().contains("begins at byte 2097152, expected 1048576"), "{e}");
    }

    #[test]
    fn hex_forms_read_back_and_nothing_else_does() {
        let (digest, head) = (Digest(7), Head(u64::MAX));
        assert_eq!(Digest::from_hex(&digest.to_string()), Some(digest));
        assert_eq!(Head::from_hex(&head.to_string()), Some(head));
        for bad in ["", "+00000000000000f", "zzzzzzzzzzzzzzzz", "0"] {
            assert_eq!(Head::from_hex(bad), None, "{bad}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn any_chunking_and_any_order_of_blocks_give_the_same_digests(
            length in prop_oneof![0..9000_usize, 60_000..70_000_usize, 1_000_000..2_500_000_usize],
            chunk in 1..200_000_usize,
            checkpoints in prop::collection::vec(0..2_500_000_u64, 0..4),
            reverse: bool,
        ) {
            let bytes = noise(6, length);
            let mut streamed = Digester::new(checkpoints.clone());
            for piece in bytes.chunks(chunk) {
                streamed.update(piece);
            }
            let mut blocks: Vec<_> = bytes
                .chunks(BLOCK_BYTES)
                .enumerate()
                .map(|(i, b)| BlockDigests::of_block((i * BLOCK_BYTES) as u64, b, &checkpoints))
                .collect();
            if reverse {
                blocks.reverse();
            }
            let streamed = streamed.finish();
            prop_assert_eq!(&streamed, &Digests::combine(blocks).unwrap());
            prop_assert_eq!(streamed.head(), Head::of(&bytes));
            for c in checkpoints.into_iter().filter(|c| *c <= length as u64) {
                prop_assert_eq!(streamed.prefix(c).unwrap(), digests(&bytes[..usize::try_from(c).unwrap()]).content());
            }
        }
    }
}
