//! The search against a plain one: every literal at every place, one after the other.

use super::*;
use proptest::prelude::{Strategy, any, prop, proptest};

/// What counts, by the words of [`Place`].
fn plainly(literals: &[(Vec<u8>, Place)], text: &[u8]) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    for (number, (literal, place)) in literals.iter().enumerate() {
        for start in 0..=text.len().saturating_sub(literal.len()) {
            let end = start + literal.len();
            let stands = text.get(start..end).is_some_and(|t| t.eq_ignore_ascii_case(literal));
            let counts = match place {
                Place::Start => start == 0,
                Place::Word => start == 0 || !text[start - 1].is_ascii_alphanumeric(),
                Place::Anywhere => true,
            };
            if stands && counts {
                found.push((number, start, end));
            }
        }
    }
    found.sort_unstable();
    found
}

fn signs_plainly(text: &[u8]) -> Signs {
    let lower = text.to_ascii_lowercase();
    let word = ENDINGS.iter().any(|e| {
        memchr::memmem::find_iter(&lower, e.as_bytes())
            .any(|at| !lower.get(at + e.len()).is_some_and(u8::is_ascii_alphabetic))
    });
    let contact = CONTACT_SIGNS.iter().any(|s| memchr::memmem::find(text, s.as_bytes()).is_some());
    Signs { word, contact }
}

fn check(search: &Literals, literals: &[(Vec<u8>, Place)], text: &[u8]) {
    let (mut found, mut everywhere) = (Vec::new(), Vec::new());
    let signs = search.each(text, &mut |number, start, end| found.push((number, start, end)));
    found.sort_unstable();
    let want = plainly(literals, text);
    assert_eq!(found, want, "{:?}", text.escape_ascii().to_string());
    assert_eq!(signs, signs_plainly(text), "{:?}", text.escape_ascii().to_string());
    search.everywhere(text, &mut |number, start, end| everywhere.push((number, start, end)));
    assert!(want.iter().all(|w| everywhere.contains(w)), "{:?}", text.escape_ascii().to_string());
}

/// Bytes at the edges of letters and digits, separators, what folds to the same as a letter, and what is no ASCII.
const ODD: &[u8] = b" /;.-_()+@`[{z]}^~AZaz09:\x00\x40\x7F\x80\xE1\xDF\xFF\n";

/// The literals of [`fixed`], in any case, among odd bytes, words and numbers.
fn texts(literals: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let planted =
        (prop::sample::select(literals), any::<u64>(), 0..3_usize).prop_map(|(mut text, cases, cut)| {
            for (at, byte) in text.iter_mut().enumerate() {
                if cases >> (at % 64) & 1 == 1 {
                    *byte ^= if byte.is_ascii_alphabetic() { 0x20 } else { 0 };
                }
            }
            // Now and then one that is not whole.
            text.truncate(text.len() - cut.saturating_sub(1));
            text
        });
    let words = prop::sample::select(vec![
        "Mozilla/5.0",
        "(KHTML, like Gecko)",
        "Windows NT 10.0",
        "://",
        "@",
        "bot",
        "spider",
        "previews",
        "like ",
        "a",
        "x",
    ])
    .prop_map(|w| w.as_bytes().to_vec());
    let odd = prop::collection::vec(prop::sample::select(ODD), 1..3);
    prop::collection::vec(
        prop::strategy::Union::new_weighted(vec![
            (3, planted.boxed()),
            (3, words.boxed()),
            (3, odd.boxed()),
            (1, prop::collection::vec(any::<u8>(), 0..20).boxed()),
        ]),
        0..8,
    )
    .prop_map(|parts| parts.concat())
}

fn of(literals: &[(&str, Place)]) -> Vec<(Vec<u8>, Place)> {
    literals.iter().map(|(text, place)| (text.as_bytes().to_vec(), *place)).collect()
}

/// Literals that share beginnings, hold one another, or begin with what is no letter.
fn fixed() -> Vec<(Vec<u8>, Place)> {
    of(&[
        ("Googlebot", Place::Word),
        ("Googlebot-Image", Place::Word),
        ("bot-Image", Place::Word),
        ("Chrome-Lighthouse", Place::Word),
        ("Windows", Place::Word),
        ("0a0a0", Place::Word),
        ("curl/", Place::Start),
        ("(compat", Place::Start),
        ("Google", Place::Start),
        ("daum", Place::Anywhere),
        ("daumoa", Place::Anywhere),
        ("y!j-", Place::Anywhere),
        ("aaaaaa", Place::Anywhere),
        ("feedly.com/", Place::Anywhere),
        ("@z[`{", Place::Anywhere),
    ])
}

proptest! {
    #[test]
    fn all_that_counts_is_found_and_nothing_else(
        text in texts(fixed().into_iter().map(|(text, _)| text).collect()),
    ) {
        let literals = fixed();
        check(&Literals::new(literals.clone()), &literals, &text);
    }

    #[test]
    fn literals_of_any_length_and_bytes_are_found(
        literals in prop::collection::vec(
            (
                prop::collection::vec(prop::sample::select(b"ab0 /.@:\xE1".to_vec()), 1..12),
                prop::sample::select(vec![Place::Start, Place::Word, Place::Anywhere]),
            ),
            0..9,
        ),
        text in prop::collection::vec(prop::sample::select(b"abAB0 /.@:\xE1\xC1".to_vec()), 0..60),
    ) {
        let literals: Vec<_> = literals
            .into_iter()
            .filter(|(text, place)| *place != Place::Word || text[0].is_ascii_alphanumeric())
            .collect();
        check(&Literals::new(literals.clone()), &literals, &text);
    }

    #[test]
    fn the_last_ending_of_a_word_is_that_of_a_plain_search(
        word in "([a-zA-Z0-9._-]|[bB][oO]t|spider|linkcheck(er)?|monitor(ing)?|preview){0,12}",
    ) {
        let lower = word.to_ascii_lowercase();
        let want = (0..=lower.len()).rev().find_map(|end| {
            let ending = ENDINGS.into_iter().find(|e| lower[..end].ends_with(e))?;
            (!lower[end..].starts_with(|c: char| c.is_ascii_alphabetic())).then_some((ending, end))
        });
        assert_eq!(Endings::new().last_in(word.as_bytes()), want);
    }
}

#[test]
fn literals_are_found_at_every_place_of_a_chunk() {
    let literals = fixed();
    let search = Literals::new(literals.clone());
    for (text, _) in &literals {
        for before in (0..40).chain(240..260) {
            for filler in [" ", "x", "=", "\u{e1}"] {
                for behind in ["", "y", " y", ": //@"] {
                    let mut line = filler.repeat(before).into_bytes();
                    line.extend_from_slice(text);
                    line.extend_from_slice(behind.as_bytes());
                    check(&search, &literals, &line);
                }
            }
        }
    }
}

#[test]
fn a_short_literal_that_may_stand_anywhere_is_found_too() {
    let literals = of(&[("+", Place::Anywhere), ("ab", Place::Anywhere), ("x", Place::Word)]);
    let search = Literals::new(literals.clone());
    for text in ["", "+", "a+b", "xab", "x", "ax x", "ab"] {
        check(&search, &literals, text.as_bytes());
    }
}

#[test]
fn no_ending_is_the_end_of_another_one() {
    for one in ENDINGS {
        let last = one.as_bytes().last().unwrap();
        assert!(crate::format::structural::kinds::LAST_LETTERS.contains(last), "{one}");
        assert!(one.len() >= 3 && one.bytes().all(|b| b.is_ascii_lowercase()));
        assert_eq!(ENDINGS.iter().filter(|other| other.ends_with(one)).count(), 1, "{one}");
    }
}
