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
    let path = &target[..memchr::memchr2(b'?', b'#', target).unwrap_or(target.len())];
    let name = &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..];
    let name = &name[..memchr::memchr(b';', name).unwrap_or(name.len())];
    let Some(dot) = memchr::memrchr(b'.', name) else { return false };
    let extension = &name[dot + 1..];
    let mut lower = [0_u8; 5];
    let Some(lower) = lower.get_mut(..extension.len()) else { return false };
    lower.copy_from_slice(extension);
    lower.make_ascii_lowercase();
    EXTENSIONS.binary_search(&&*lower).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_lower_case_and_fits_the_buffer() {
        assert!(EXTENSIONS.is_sorted());
        assert!(EXTENSIONS.iter().all(|e| e.len() <= 5 && **e == e.to_ascii_lowercase()));
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
