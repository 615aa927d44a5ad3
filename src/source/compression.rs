//! Which compression a file has, by its first bytes and never by its name.
//!
//! Example: `1f 8b 08 ..` is gzip, whatever the file is called; `04 22 4d 18` is lz4, refused by that name.

/// How the bytes of a log are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Plain text.
    None,
    /// RFC 1952, any number of members.
    Gzip,
    /// RFC 8878, any number of frames.
    Zstd,
    /// Any number of streams, one behind the other.
    Bzip2,
    /// The .xz container, any number of streams.
    Xz,
    /// A packing that is known by its first bytes but cannot be read.
    Unsupported(&'static str),
}

impl Compression {
    /// The longest magic number, in bytes.
    pub const HEAD: usize = 8;

    /// Looks at the first bytes of a file (fewer when the file is shorter).
    ///
    /// ```
    /// use crawl_baseline::source::compression::Compression;
    /// assert_eq!(Compression::of(b"\x1f\x8b\x08\x00"), Compression::Gzip);
    /// assert_eq!(Compression::of(b"192.0.2.1 - - ["), Compression::None);
    /// ```
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        match head {
            [0x1F, 0x8B, ..] => Self::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Self::Zstd,
            // A skippable frame may stand before the first zstd frame.
            [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0xFD, b'7', b'z', b'X', b'Z', 0x00, ..] => Self::Xz,
            [0x04, 0x22, 0x4D, 0x18, ..] | [0x02, 0x21, 0x4C, 0x18, ..] => Self::Unsupported("lz4"),
            [0x1F, 0x9D, ..] => Self::Unsupported("compress (.Z)"),
            [0x1F, 0xA0, ..] => Self::Unsupported("compress (.Z, LZH)"),
            [b'L', b'Z', b'I', b'P', ..] => Self::Unsupported("lzip"),
            [0x5D, 0x00, 0x00, _, _, ..] => Self::Unsupported("lzma"),
            [0x89, b'L', b'Z', b'O', ..] => Self::Unsupported("lzop"),
            [0xFF, 0x06, 0x00, 0x00, b's', b'N', b'a', b'P'] => Self::Unsupported("snappy"),
            [b'P', b'K', 0x03 | 0x05, 0x04 | 0x06, ..] => Self::Unsupported("zip"),
            [b'7', b'z', 0xBC, 0xAF, ..] => Self::Unsupported("7z"),
            [b'R', b'a', b'r', b'!', ..] => Self::Unsupported("rar"),
            _ => Self::None,
        }
    }

    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Unsupported(name) => name,
        }
    }
}
