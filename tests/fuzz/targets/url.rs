//! The key of any bytes is printable ASCII and its own key, and masking a key once is enough.
//! Run: `tests/fuzz/run url`.

#![no_main]

use crawl_baseline::url::{Rules, mask_secrets};

libfuzzer_sys::fuzz_target!(|target: &[u8]| {
    let rules = Rules::default();
    for key in [rules.key(target, Some(b"www.example.com")), rules.key_of_url(target)] {
        assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key:?}");
        let masked = mask_secrets(&key);
        assert_eq!(mask_secrets(&masked), masked);
    }
    let key = rules.key_of_url(target);
    assert_eq!(rules.key_of_url(key.as_bytes()), key);
});
