//! The key of any bytes is printable ASCII and its own key, and masking a key once is enough. The first byte of the
//! input chooses what is dropped and folded. Run: `tests/fuzz/run url`.

#![no_main]

use crawl_baseline::url::{Rules, mask_secrets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((how, target)) = input.split_first() else { return };
    let has = |bit: u8| how & bit != 0;
    let rules = Rules {
        sort: has(1),
        strip_trailing_slash: has(2),
        form_encoded: has(4),
        drop_paging: has(8),
        ..Rules::default()
    };
    let own_host = has(64);
    let key = if own_host { rules.key(target, Some(b"www.example.com")) } else { rules.key_of_url(target) };
    assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key:?}");
    if own_host || has(128) {
        let masked = mask_secrets(&key);
        assert_eq!(mask_secrets(&masked), masked);
    } else {
        assert_eq!(rules.key_of_url(key.as_bytes()), key);
    }
});
