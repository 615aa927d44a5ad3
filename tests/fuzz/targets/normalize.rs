//! Any bytes are a URL list in which no line is lost, or a sitemap, or an error; and the seed's form takes any text.
//! Run: `cargo +nightly fuzz run --fuzz-dir tests/fuzz normalize`.

#![no_main]

use std::io::Cursor;
use std::sync::atomic::AtomicUsize;

use crawl_baseline::normalize::{Collector, Form, read_list};
use crawl_baseline::url::{Rules, read_sitemap, seed_key};

libfuzzer_sys::fuzz_target!(|list: &[u8]| {
    let seed = Form::Seed { extra: Vec::new(), canonicalize: true };
    for form in [Form::Canonical(Rules::default()), seed] {
        let mut collector = Collector::new(form);
        let reader = Box::new(Cursor::new(list.to_vec()));
        if read_list(reader, "list", &mut collector, &AtomicUsize::new(0)).is_ok() {
            let t = collector.totals();
            assert_eq!(t.lines, t.blank + t.comments + t.urls + t.rejected);
            assert_eq!(t.urls, t.unique + t.merged);
        }
    }
    let text = String::from_utf8_lossy(list);
    let _ = read_sitemap(&text);
    let _ = seed_key(&text, &|name| name == "sid", true);
});
