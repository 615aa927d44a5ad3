//! Browsers and phones' own HTTP stacks, by what they write about themselves. Asked last, when nothing declared a bot.
//!
//! Example: `Dalvik/2.1.0 (Linux; U; Android 9; Portal Build/PKQ1.191225.001)`

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind};

/// Names at the beginning that nothing but a letter may follow differently: `Opera/9.80`, `Links (2.2; ...)`.
const WHOLE: [&str; 18] = [
    "Mozilla", "Opera", "Dalvik", "Links", "Lynx", "ELinks", "w3m", "UCWEB", "Android", "iPhone", "iPad",
    "LG", "LGE", "MOT", "SEC", "ZTE", "HTC", "SIE",
];

/// Phone brands at the beginning that run into the model: `NokiaN70`, `SonyEricssonK750i`.
const BRAND: [&str; 7] = ["Nokia", "SonyEricsson", "SAMSUNG", "BlackBerry", "DoCoMo", "J-PHONE", "KDDI"];

/// Words that only browsers, their engines and phones' HTTP stacks carry, anywhere.
const MARKS: [&str; 12] = [
    "AppleWebKit",
    "Gecko",
    "MSIE",
    "Trident",
    "CFNetwork",
    "Darwin",
    "iOS",
    "iPhone",
    "iPad",
    "Android",
    "Dalvik",
    "Build/",
];

/// The words of browsers, platforms and devices that name no product of their own; lower case, sorted.
const WORDS: [&str; 65] = [
    "android",
    "applewebkit",
    "arm64",
    "build",
    "chrome",
    "chromium",
    "compatible",
    "cpu",
    "crios",
    "cros",
    "dalvik",
    "edg",
    "edga",
    "edge",
    "edgios",
    "firefox",
    "fxios",
    "gecko",
    "headlesschrome",
    "i586",
    "i686",
    "intel",
    "ios",
    "ipad",
    "iphone",
    "khtml",
    "konqueror",
    "like",
    "linux",
    "linux-gnu",
    "mac",
    "macintosh",
    "mobile",
    "mozilla",
    "mozilla-compatible",
    "msie",
    "net",
    "net4.0c",
    "net4.0e",
    "nt",
    "opera",
    "opr",
    "os",
    "ppc",
    "presto",
    "rv",
    "safari",
    "seamonkey",
    "tablet",
    "trident",
    "u",
    "ubuntu",
    "unknown",
    "version",
    "vivaldi",
    "webkit",
    "win32",
    "win64",
    "windows",
    "wow64",
    "wv",
    "x",
    "x11",
    "x64",
    "x86_64",
];

/// The test, ready to run.
#[derive(Debug, Clone)]
pub(super) struct Browsers {
    marks: AhoCorasick,
}

impl Browsers {
    pub(super) fn new() -> Self {
        let marks = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(MARKS)
            .expect("twelve short words fit into an automaton");
        Self { marks }
    }

    /// The word that shows a browser: at the beginning, else anywhere.
    pub(super) fn mark(&self, text: &[u8]) -> Option<&'static str> {
        let whole = WHOLE.into_iter().find(|w| {
            text.strip_prefix(w.as_bytes())
                .is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphabetic))
        });
        whole.or_else(|| BRAND.into_iter().find(|b| text.starts_with(b.as_bytes()))).or_else(|| {
            let found = self.marks.find(Input::new(text).anchored(Anchored::No))?;
            Some(MARKS[found.pattern().as_usize()])
        })
    }
}

/// Whether a word names no product of its own: a browser, an engine, a platform.
pub(super) fn is_browser_word(word: &[u8]) -> bool {
    // The longest one has 18 bytes; longer words need no copy in lower case.
    let mut lower = [0_u8; 18];
    let Some(lower) = lower.get_mut(..word.len()) else { return false };
    for (to, from) in lower.iter_mut().zip(word) {
        *to = from.to_ascii_lowercase();
    }
    let lower: &[u8] = lower;
    WORDS.binary_search_by(|w| w.as_bytes().cmp(lower)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted_and_fit() {
        assert!(WORDS.is_sorted());
        assert!(WORDS.iter().all(|w| w.len() <= 18 && is_browser_word(w.as_bytes())));
        assert!(is_browser_word(b"AppleWebKit"));
        assert!(!is_browser_word(b"AcmeSpider"));
    }

    #[test]
    fn browsers_are_told_by_beginning_or_mark() {
        let browsers = Browsers::new();
        for (text, want) in [
            ("Mozilla/5.0", Some("Mozilla")),
            ("Opera", Some("Opera")),
            ("Operator/1.0", None),
            ("Links (2.2; Linux)", Some("Links")),
            ("LinksTool/1", None),
            ("LG-GS290/V100", Some("LG")),
            ("LGTM-client/1.0", None),
            ("NokiaN70/1.0", Some("Nokia")),
            ("KDDI-HI31 UP.Browser/6.2", Some("KDDI")),
            ("Chatter/12.8 CFNetwork/1121.2.2 Darwin/19.3.0", Some("CFNetwork")),
            ("ShopApp/3 (android 13)", None),
            ("ShopApp/3.1 build 77", None),
            ("Tool (Portal Build/PKQ1)", Some("Build/")),
            ("", None),
        ] {
            assert_eq!(browsers.mark(text.as_bytes()), want, "{text}");
        }
    }
}
