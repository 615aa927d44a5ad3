//! What a client says of itself: a word that ends like a bot's name, else a way to reach whoever runs it.
//!
//! This finds the long tail that no catalogue lists. Words are looked for outside URLs and addresses; phones and apps
//! whose names only sound like bots are taken out. Whether it is a browser is asked afterwards, elsewhere.
//!
//! Example: `AcmeSpider/2.3 (+https://acme.example/spider)` declares `AcmeSpider`.

use super::browser::is_browser_word;
use super::explain::Reason;
use super::literals::Endings;
use super::text::{Piece, Pieces, is_mention, name_of, without_version};

/// The endings, lower case. `linkchecker` and `monitoring` stand beside their shorter forms, because no letter may
/// follow an ending.
pub(super) const ENDINGS: [&str; 14] = [
    "bot",
    "spider",
    "crawler",
    "fetcher",
    "scraper",
    "archiver",
    "indexer",
    "validator",
    "linkcheck",
    "linkchecker",
    "monitor",
    "monitoring",
    "scanner",
    "preview",
];

/// Phones (Cubot, IDbot), a chat library, a vacuum cleaner's app and a document scanner's: what the name ends in says
/// nothing here.
const LOOK_ALIKES: [&str; 5] = ["cubot", "idbot", "hubot", "irobot", "camscanner"];

/// The component that old desktop browsers embed names its maker's site in their own User-Agent.
const LOOK_ALIKE_SITE: &[u8] = b"bsalsa.com";

/// A declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// The name, see [`super::Who::Declared`].
    pub(super) name: String,
    /// Where the word or the contact stands.
    pub(super) at: usize,
    /// What declared it.
    pub(super) by: ClaimBy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClaimBy {
    /// A word with one of [`ENDINGS`].
    Ending(&'static str),
    /// A URL or e-mail address, as written.
    Contact(String),
}

/// What a quick look at the whole string has seen of declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Signs {
    /// One of [`ENDINGS`] that no letter follows.
    pub(super) word: bool,
    /// One of [`CONTACT_SIGNS`].
    pub(super) contact: bool,
}

/// Without one of these there is no URL with a scheme and no e-mail address.
pub(super) const CONTACT_SIGNS: [&str; 2] = ["://", "@"];

/// The search, ready to run.
#[derive(Debug, Clone)]
pub(super) struct Declarations {
    endings: Endings,
}

impl Declarations {
    pub(super) fn new() -> Self {
        Self { endings: Endings::new() }
    }

    /// The declaration of a User-Agent, if it makes one; `passed_over` hears of words that were not taken. `signs` must
    /// not miss any.
    pub(super) fn find(
        &self,
        text: &[u8],
        signs: Signs,
        passed_over: &mut dyn FnMut(usize, &[u8], Reason),
    ) -> Option<Claim> {
        if !signs.word && !signs.contact {
            return None;
        }
        let mut plain: Option<Claim> = None;
        let mut contact: Option<(usize, usize)> = None;
        let mut product: Option<(usize, usize)> = None;
        let (mut depth, mut compatible) = (0_usize, None);
        for piece in Pieces::of(text) {
            match piece {
                Piece::Open => depth += 1,
                Piece::Close => {
                    if compatible == Some(depth) {
                        compatible = None;
                    }
                    depth = depth.saturating_sub(1);
                }
                Piece::Url { start, end } => {
                    let before = start.checked_sub(1).map(|at| text[at]);
                    let marked = matches!(before, Some(b'+' | b'(')) || compatible.is_some();
                    let scheme = text[start..].get(..4).is_some_and(|s| s.eq_ignore_ascii_case(b"http"));
                    if contact.is_none() && marked && scheme {
                        if memchr::memmem::find(&text[start..end], LOOK_ALIKE_SITE).is_some() {
                            passed_over(start, &text[start..end], Reason::LookAlike);
                        } else {
                            contact = Some((start, end));
                        }
                    }
                }
                Piece::Email { start, end } => {
                    contact.get_or_insert((start, end));
                }
                Piece::Word { start, end } => {
                    let word = &text[start..end];
                    if word.eq_ignore_ascii_case(b"compatible") {
                        compatible = Some(depth);
                    }
                    if signs.word
                        && let Some(claim) = self.ending_of(text, start, end, passed_over)
                    {
                        // A bare `crawler` may describe the bot whose name stands further on.
                        if !ENDINGS.iter().any(|e| e.eq_ignore_ascii_case(&claim.name)) {
                            return Some(claim);
                        }
                        plain.get_or_insert(claim);
                    } else if product.is_none()
                        && signs.contact
                        && is_product(text, start, end, depth == 0 || compatible.is_some())
                    {
                        product = Some((start, end));
                    }
                }
            }
        }
        plain.or_else(|| {
            let (start, end) = contact?;
            let contact = &text[start..end];
            let name = product
                .and_then(|(start, end)| name_of(without_version(&text[start..end])))
                .or_else(|| name_of(host_of(contact)))?;
            Some(Claim {
                name,
                at: start,
                by: ClaimBy::Contact(String::from_utf8_lossy(contact).into_owned()),
            })
        })
    }

    /// The claim of one word: up to its last ending that no letter follows.
    fn ending_of(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        passed_over: &mut dyn FnMut(usize, &[u8], Reason),
    ) -> Option<Claim> {
        let word = &text[start..end];
        let (ending, last) = self.endings.last_in(word)?;
        // `crawler.example.com` is an address; `acmebot.com/1.0` is a product.
        let address = word.get(last) == Some(&b'.')
            && word[last + 1..].iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'.' | b'-'))
            && word.len() > last + 1
            && text.get(end) != Some(&b'/');
        if address {
            passed_over(start, word, Reason::Address);
            return None;
        }
        let token = &word[..last];
        if token.iter().filter(|b| b.is_ascii_alphabetic()).count() < 4 {
            passed_over(start, token, Reason::TooShort);
            return None;
        }
        if is_mention(text, start, start + last) {
            passed_over(start, token, Reason::Mention);
            return None;
        }
        let name = name_of(token)?;
        if LOOK_ALIKES.iter().any(|l| l.eq_ignore_ascii_case(&name)) || is_browser_release(text, start, &name)
        {
            passed_over(start, token, Reason::LookAlike);
            return None;
        }
        Some(Claim { name, at: start, by: ClaimBy::Ending(ending) })
    }
}

/// `Safari Technology Preview`, `Android Developer Preview`: a browser or system before its release.
fn is_browser_release(text: &[u8], start: usize, name: &str) -> bool {
    name.eq_ignore_ascii_case("preview")
        && [&b"technology "[..], b"developer "].iter().any(|before| {
            start >= before.len() && text[start - before.len()..start].eq_ignore_ascii_case(before)
        })
}

/// Whether a word names a product that no browser uses. `open` tells of words outside parentheses or behind
/// `compatible`; within others (platforms, devices) only `name/1.0` counts.
fn is_product(text: &[u8], start: usize, end: usize, open: bool) -> bool {
    let word = &text[start..end];
    let versioned = text.get(end) == Some(&b'/')
        && text[end + 1..]
            .strip_prefix(b"v")
            .unwrap_or(&text[end + 1..])
            .first()
            .is_some_and(u8::is_ascii_digit);
    let is_version = start > 0 && text[start - 1] == b'/'
        || matches!(word, [b'v' | b'V', b, ..] if b.is_ascii_digit())
        || !word.iter().any(u8::is_ascii_alphabetic);
    (open || versioned) && !is_version && !is_browser_word(word) && !is_mention(text, start, end)
}

/// The host of a URL, the domain of an e-mail address.
fn host_of(contact: &[u8]) -> &[u8] {
    let from = match memchr::memchr(b'@', contact) {
        Some(at) => at + 1,
        None => memchr::memmem::find(contact, b"://").map_or(0, |at| at + 3),
    };
    let host = &contact[from..];
    let end = host.iter().position(|b| matches!(b, b'/' | b':' | b'?' | b'#')).unwrap_or(host.len());
    &host[..end]
}

/// The first product token in a stretch of a User-Agent, without its version; browsers' own names only where there is
/// nothing else.
pub(super) fn product_in(stretch: &[u8]) -> Option<String> {
    let mut fallback = None;
    for piece in Pieces::of(stretch) {
        let Piece::Word { start, end } = piece else { continue };
        let Some(name) = name_of(without_version(&stretch[start..end])) else { continue };
        if is_product(stretch, start, end, true) {
            return Some(name);
        }
        fallback.get_or_insert(name);
    }
    fallback
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(text: &str) -> Option<String> {
        let signs = Signs { word: true, contact: true };
        Declarations::new().find(text.as_bytes(), signs, &mut |_, _, _| {}).map(|c| c.name)
    }

    #[test]
    fn a_word_that_ends_like_a_bot_is_its_name_without_version() {
        for (text, want) in [
            ("AcmeSpider/2.3 (+https://acme.example/spider)", "AcmeSpider"),
            ("TheCCBot/2.0 (+https://theccbot.example/)", "TheCCBot"),
            ("Mozilla/5.0 (compatible; acme_bot-2.1; x)", "acme_bot"),
            ("Mozilla/5.0 (compatible; acmebot0.5.0; x)", "acmebot"),
            ("Mozilla/5.0 (X11; Linux) Gecko/1 Firefox/67.0 SITEMONITORING/7", "SITEMONITORING"),
            ("acme-linkcheck/1", "acme-linkcheck"),
            ("Acme LinkChecker", "LinkChecker"),
            ("Acme Web Crawler (AcmeBot)", "AcmeBot"),
            ("Acme Web Crawler", "Crawler"),
            ("a-bot", "a-bot"),
            ("bot (crawler)", "crawler"),
            ("acmebot.com/1.0", "acmebot"),
            ("Foo-Bot-Fetcher-Mobile", "Foo-Bot-Fetcher"),
            ("Bad\u{e9}FooBot", "FooBot"),
        ] {
            assert_eq!(claimed(text).as_deref(), Some(want), "{text}");
        }
        assert_eq!(claimed(&format!("{}Bot", "x".repeat(100))).unwrap().len(), 64);
    }

    #[test]
    fn a_letter_behind_or_three_letters_declare_nothing() {
        for text in
            ["bot", "a bot 60", "bots", "Botany/1", "robots.txt", "previewer/2", "2.0bot", "Subbotica/1"]
        {
            assert_eq!(claimed(text), None, "{text}");
        }
    }

    #[test]
    fn urls_addresses_and_mentions_declare_nothing_by_their_words() {
        for text in [
            "Foo/1.0 (see http://foo.example/crawler)",
            "Foo/1.0 www.bigspider.example",
            "Foo/1.0 crawler.example.com",
            "Foo/1.0 (like FooBot)",
            "Foo/1.0 FooBot-like",
            "Mozilla/5.0 (Windows; U) AppleWebKit/527+ Browser/1.7 http://www.browser.example",
            "Mozilla/5.0 (Linux; Android 12) Chrome/101 Safari/537.36 (Acme android@101.0.4951.41)",
            "Gram 330 (iPhone14,3; en_IR@calendar=gregorian)",
        ] {
            assert_eq!(claimed(text), None, "{text}");
        }
    }

    #[test]
    fn look_alikes_are_people() {
        for text in [
            "Mozilla/5.0 (Linux; Android 9; CUBOT_X18 Build/1)",
            "Mozilla/5.0 (Linux; Android 9; CUBOT NOTE 20)",
            "Mozilla/5.0 (Linux; Android 6.0; IDbot553 Build/1)",
            "Mozilla/5.0 (Linux; Android 7.0; M bot 60 Build/1)",
            "Mozilla/5.0 (Linux; Android 5.1; POWER BOT Build/1)",
            "Mozilla/5.0 (Linux; htc_botdugls)",
            "Hubot/2.0",
            "iRobot/7.1.3 CFNetwork/1410 Darwin/22",
            "Mozilla/5.0 Chrome/1 CamScanner/4.8",
            "Safari Technology Preview/12603 CFNetwork/807",
            "Mozilla/4.0 (compatible; MSIE 8.0; Embedded Web Browser from: http://bsalsa.com/; x)",
        ] {
            assert_eq!(claimed(text), None, "{text}");
        }
    }

    #[test]
    fn a_contact_declares_the_first_product_that_no_browser_uses() {
        for (text, want) in [
            ("Acme/1.0 (+http://acme.example)", "Acme"),
            ("Acme Reader v2 (http://acme.example)", "Acme"),
            ("Mozilla/5.0 (compatible; Acme-Read; http://acme.example)", "Acme-Read"),
            (
                "Mozilla/5.0 (Linux; Android 7.0; SM-G930V Build/NRD) AppleWebKit/537 (KHTML, like Gecko) Mobile Safari/1 (compatible; Acme; +https://acme.example)",
                "Acme",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/1 Safari/537.36 (+https://what.acme.example/x)",
                "what.acme.example",
            ),
            ("Acme-2.0 ops+web@acme.example", "Acme"),
            ("Mozilla/5.0 ops@acme.example", "acme.example"),
        ] {
            assert_eq!(claimed(text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn the_product_in_a_stretch_is_preferred_to_browsers_names() {
        assert_eq!(product_in(b"Mozilla/5.0 zgrab/0.x").as_deref(), Some("zgrab"));
        assert_eq!(product_in(b"Mozilla/5.0").as_deref(), Some("Mozilla"));
        assert_eq!(product_in(b"(); 1.0"), None);
    }
}
