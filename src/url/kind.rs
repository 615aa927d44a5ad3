//! Static files, told by the extension of the path: they have another capacity than pages.
//!
//! Not by what was answered. Example: `/assets/app.min.js?v=3` is static, `/download?file=a.js` is not.

/// Lower case, at most five bytes, sorted. Documents that servers render or that crawlers index (html, xml, txt, json,
/// php ...) are not among them.
const EXTENSIONS: [&[u8]; 49] = [
    b"7z", b"aac", b"apk", b"avi", b"avif", b"bmp", b"br", b"bz2", b"css", b"dmg", b"eot", b"exe", b"flac",
    b"gif", b"gz", b"ico", b"iso", b"jpeg", b"jpg", b"js", b"m4a", b"m4v", b"map", b"mjs", b"mov", b"mp3",
    b"mp4", b"mpeg", b"mpg", b"ogg", b"ogv", b"otf", b"pdf", b"png", b"rar", b"svg", b"tar", b"tgz", b"tif",
    b"tiff", b"ttf", b"wasm", b"wav", b"webm", b"webp", b"woff", b"woff2", b"xz", b"zip",
];

/// Whether the last segment of the target's path ends in the extension of a static file, whatever its case. Path
/// parameters, query and fragment do not count. Does not allocate: it is asked on every line.
#[must_use]
pub fn is_static(target: &[u8]) -> bool {
    // Most targets are a path alone: then an extension can only stand in the last bytes.
    if !has_more_than_a_path(target) {
        let end = &target[target.len().saturating_sub(LONGEST + 1)..];
        return match end.iter().rposition(|b| *b == b'.') {
            Some(dot) => is_extension(&end[dot + 1..]),
            None => false,
        };
    }
    let path = &target[..memchr::memchr2(b'?', b'#', target).unwrap_or(target.len())];
    let name = &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..];
    let name = &name[..memchr::memchr(b';', name).unwrap_or(name.len())];
    memchr::memrchr(b'.', name).is_some_and(|dot| is_extension(&name[dot + 1..]))
}

/// Whether a query, a fragment or a path parameter begins somewhere. Arrays of fixed length and no way out early, because
/// the compiler turns those into comparisons of 16 bytes at once, inline; a search function costs a call on every line.
#[inline]
fn has_more_than_a_path(target: &[u8]) -> bool {
    const PIECE: usize = 16;
    let mut found = [0_u8; PIECE];
    let mut look = |piece: &[u8; PIECE]| {
        for (found, b) in found.iter_mut().zip(piece) {
            *found |= u8::from(*b == b'?') | u8::from(*b == b'#') | u8::from(*b == b';');
        }
    };
    target.as_chunks::<PIECE>().0.iter().for_each(&mut look);
    // The rest overlaps what was looked at, where there is enough.
    match target.last_chunk::<PIECE>() {
        Some(last) => look(last),
        None => return target.iter().any(|b| matches!(b, b'?' | b'#' | b';')),
    }
    u128::from_ne_bytes(found) != 0
}

/// A slash is in none of them, so what stands behind a dot of a folder's name is none.
fn is_extension(text: &[u8]) -> bool {
    text.len() <= LONGEST && PACKED.contains(&packed(text))
}

/// No extension is longer.
const LONGEST: usize = 5;

/// [`EXTENSIONS`] as numbers: comparing them needs no loop over bytes.
const PACKED: [u64; EXTENSIONS.len()] = {
    let mut numbers = [0; EXTENSIONS.len()];
    let mut i = 0;
    while i < EXTENSIONS.len() {
        numbers[i] = packed(EXTENSIONS[i]);
        i += 1;
    }
    numbers
};

/// The bytes in lower case, the first one highest.
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
