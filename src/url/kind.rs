//! Static files, told by the extension of the path: they have another capacity than pages.
//!
//! Not by what was answered. Example: `/assets/app.min.js?v=3` is static, `/download?file=a.js` is not.

use crate::format;

/// Lower case, at most five bytes, sorted. Documents that servers render or that crawlers index (html, xml, txt, json,
/// php ...) are not among them.
const EXTENSIONS: [&[u8]; 49] = [
    b"7z", b"aac", b"apk", b"avi", b"avif", b"bmp", b"br", b"bz2", b"css", b"dmg", b"eot", b"exe", b"flac",
    b"gif", b"gz", b"ico", b"iso", b"jpeg", b"jpg", b"js", b"m4a", b"m4v", b"map", b"mjs", b"mov", b"mp3",
    b"mp4", b"mpeg", b"mpg", b"ogg", b"ogv", b"otf", b"pdf", b"png", b"rar", b"svg", b"tar", b"tgz", b"tif",
    b"tiff", b"ttf", b"wasm", b"wav", b"webm", b"webp", b"woff", b"woff2", b"xz", b"zip",
];

const ONES: u64 = 0x0101_0101_0101_0101;

/// Whether the last segment of the target's path ends in the extension of a static file, whatever its case. Path
/// parameters, query and fragment do not count. Does not allocate: it is asked on every line.
#[must_use]
#[inline]
pub fn is_static(target: &[u8]) -> bool {
    // An extension can only stand in the last bytes of the path, unless a parameter of the path is behind it.
    if target.len() >= PIECE {
        let end = first_mark(target).unwrap_or(target.len());
        if target.get(end) != Some(&b';')
            && let Some(last) = target[..end].last_chunk()
        {
            return ends_in_extension(u64::from_be_bytes(*last));
        }
    }
    target != b"/" && is_static_slow(target)
}

#[inline(never)]
fn is_static_slow(target: &[u8]) -> bool {
    let path = &target[..memchr::memchr2(b'?', b'#', target).unwrap_or(target.len())];
    let name = &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..];
    let name = &name[..memchr::memchr(b';', name).unwrap_or(name.len())];
    let dot = memchr::memrchr(b'.', name);
    dot.is_some_and(|dot| name.len() - dot <= LONGEST + 1 && is_extension(packed(&name[dot + 1..])))
}

const PIECE: usize = 16;

/// Where a query, a fragment or a path parameter begins, in a text of at least [`PIECE`] bytes: most are so short that
/// the call of a search function would cost more than the search.
#[inline(always)]
fn first_mark(target: &[u8]) -> Option<usize> {
    let mut at = 0;
    for piece in target.as_chunks::<PIECE>().0 {
        let found = format::first_mark(piece);
        if found < PIECE {
            return Some(at + found);
        }
        at += PIECE;
    }
    // The rest overlaps what was looked at.
    let found = format::first_mark(target.last_chunk()?);
    (found < PIECE).then(|| target.len() - PIECE + found)
}

/// Whether the last eight bytes of a path, the last one lowest, end in a dot and an extension. A slash is in no extension,
/// so what stands behind a dot of a folder's name is none.
#[inline(always)]
fn ends_in_extension(end: u64) -> bool {
    let differs = end ^ (ONES * 0x2E);
    // The lowest set bit is exact: a borrow comes only from a byte below that is a dot itself.
    let dots = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
    let bits = dots.trailing_zeros() & !7;
    // No dot at all gives 64, and a dot at the very end 0.
    if bits == 0 || bits as usize > 8 * LONGEST {
        return false;
    }
    let text = end & ((1 << bits) - 1);
    is_extension(lower(text))
}

/// Capital letters of ASCII become small ones: adding sets the high bit of what is `A` or more, and of what is more than `Z`.
#[inline(always)]
fn lower(text: u64) -> u64 {
    let seven = text & !(ONES << 7);
    let from_a = seven + ONES * (0x80 - 0x41);
    let past_z = seven + ONES * (0x7F - 0x5A);
    text | ((from_a ^ past_z) & !text & (ONES << 7)) >> 2
}

#[inline(always)]
fn is_extension(packed: u64) -> bool {
    packed != 0 && TABLE[slot(packed)] == packed
}

/// No extension is longer.
const LONGEST: usize = 5;

/// [`EXTENSIONS`] as numbers, each in the slot that its hash names: one look tells.
const TABLE: [u64; SLOTS] = {
    let mut table = [0; SLOTS];
    let mut i = 0;
    while i < EXTENSIONS.len() {
        let number = packed(EXTENSIONS[i]);
        assert!(table[slot(number)] == 0, "two extensions in one slot: another FACTOR is needed");
        table[slot(number)] = number;
        i += 1;
    }
    table
};
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 9;
/// An odd number found by trying that puts each extension into a slot of its own.
const FACTOR: u64 = 0x1E2F_EB89_414C_343D;

#[inline(always)]
const fn slot(packed: u64) -> usize {
    (packed.wrapping_mul(FACTOR) >> (64 - SLOT_BITS)) as usize
}

/// The bytes in lower case, the last one lowest.
const fn packed(extension: &[u8]) -> u64 {
    let mut number = 0;
    let mut i = 0;
    while i < extension.len() {
        // `as` and not `from`: traits cannot be called here. Widening loses nothing.
        number = number << 8 | extension[i].to_ascii_lowercase() as u64;
        i += 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_lower_case_and_short() {
        assert!(EXTENSIONS.is_sorted());
        assert!(EXTENSIONS.iter().all(|e| (1..=LONGEST).contains(&e.len()) && **e == e.to_ascii_lowercase()));
    }

    #[test]
    fn looking_at_words_tells_the_same_as_looking_at_bytes() {
        let plain = |target: &[u8]| {
            let path = target.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default();
            let name = path.rsplit(|b| *b == b'/').next().unwrap_or_default();
            let name = name.split(|b| *b == b';').next().unwrap_or_default();
            match name.iter().rposition(|b| *b == b'.') {
                Some(dot) => EXTENSIONS.contains(&name[dot + 1..].to_ascii_lowercase().as_slice()),
                None => false,
            }
        };
        let ends: Vec<&[u8]> = EXTENSIONS
            .into_iter()
            .chain([
                b"JS".as_slice(),
                b"Woff2",
                b"",
                b".",
                b"html",
                b"mp\x13",
                b"mp\xB3",
                b"j[",
                b"webpx",
                b"P\0NG",
            ])
            .collect();
        for end in ends {
            for front in
                ["/", "/a/long/path/to/something/else", "", "/v1.2/x", "/a.b/", "/x;y/", "/a?", "/q#"]
            {
                for middle in [".", "", "..", "\u{e9}.", "x.", "/.", ".js."] {
                    for behind in ["", "?a=b.css", ";v=1", "#x", "/", "."] {
                        let mut target = front.as_bytes().to_vec();
                        target.extend_from_slice(middle.as_bytes());
                        target.extend_from_slice(end);
                        target.extend_from_slice(behind.as_bytes());
                        assert_eq!(
                            is_static(&target),
                            plain(&target),
                            "{:?}",
                            String::from_utf8_lossy(&target)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn files_are_told_by_the_extension_of_the_last_segment() {
        for target in [
            "/a.css",
            "/assets/app.min.JS?v=3",
            "/font.woff2#iefix",
            "/a.png;jsessionid=1",
            "http://www.example.com/i/x.JpEg",
            "/backup.zip",
            "x.js",
        ] {
            assert!(is_static(target.as_bytes()), "{target}");
        }
        for target in [
            "/",
            "",
            "*",
            "/download?file=a.js",
            "/app.js/edit",
            "/css",
            "/feed.xml",
            "/page.html",
            "/a.cssx",
            "/a.",
            "/robots.txt",
            "/index.php#a.css",
        ] {
            assert!(!is_static(target.as_bytes()), "{target}");
        }
    }
}
