//! Undoing escapes never grows a field, is finished after one pass where no backslash is left, and what is printed is
//! free of control characters. Run: `tests/fuzz/run escape`.

#![no_main]

use crawl_baseline::format::escape::{printable, unescape};

libfuzzer_sys::fuzz_target!(|field: &[u8]| {
    let plain = unescape(field);
    assert!(plain.len() <= field.len());
    if !plain.contains(&b'\\') {
        assert_eq!(unescape(&plain), plain);
    }
    for text in [printable(field), printable(&plain)] {
        assert!(!text.bytes().any(|byte| byte < 0x20 || byte == 0x7F));
    }
});
