//! Any bytes are a URL list in which no line is lost, or a sitemap, or an error; and the seed's form takes any text. The
//! first byte of the input chooses among them. Run: `tests/fuzz/run normalize`.

#![no_main]

use std::io::Cursor;
use std::sync::atomic::AtomicUsize;

use crawl_baseline::normalize::{Collector, Form, read_list};
use crawl_baseline::url::{Rules, read_sitemap, seed_key};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((how, list)) = input.split_first() else { return };
    let form = match how % 4 {
        0 => Form::Canonical(Rules::default()),
        1 => Form::Seed { extra: Vec::new(), canonicalize: *how < 128 },
        2 => return drop(read_sitemap(&String::from_utf8_lossy(list))),
        _ => {
            let text = String::from_utf8_lossy(list);
            return drop(seed_key(&text, &|name| name == "sid", *how < 128));
        }
    };
    let mut collector = Collector::new(form);
    let reader = Box::new(Cursor::new(list.to_vec()));
    if read_list(reader, "list", &mut collector, &AtomicUsize::new(0)).is_ok() {
        let t = collector.totals();
        assert_eq!(t.lines, t.blank + t.comments + t.urls + t.rejected);
        assert_eq!(t.urls, t.unique + t.merged);
    }
});
