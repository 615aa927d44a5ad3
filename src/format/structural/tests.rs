//! What the words and masks say is what bytes say.

use super::*;
use proptest::prelude::{prop, proptest};

#[test]
fn a_plain_client_has_neither_blank_nor_comma() {
    for (words, want) in [
        (&b"192.0.2.10 - - "[..], Some(&b"192.0.2.10"[..])),
        (b"2001:db8:1234:5678:9abc:def0:1234:5678 - - ", Some(b"2001:db8:1234:5678:9abc:def0:1234:5678")),
        (b"a,b - - ", None),
        (b"a b - - ", None),
        (b" - - ", None),
        (b"a - x ", None),
    ] {
        let mut block = words.to_vec();
        block.extend_from_slice(b"[10/Mar/2026:06:25:14 +0000]");
        assert_eq!(plain_client(words, block.first_chunk(), None), want);
        assert_eq!(plain_client(words, None, None), want);
        assert_eq!(plain_client(words, block.first_chunk(), Some(Format::VhostCombined)), None);
    }
}

#[test]
fn numbers_in_words_are_those_of_the_digits() {
    for (text, want) in [
        (" 200 512 ", Some((Some(200), Some(512)))),
        (" 404 - ", Some((Some(404), None))),
        (" 007 0 ", Some((Some(7), Some(0)))),
        (" 200 12345678 ", Some((Some(200), Some(12_345_678)))),
        (" 200 123456789 ", Some((Some(200), Some(123_456_789)))),
        (" 599 999999999999999999 ", Some((Some(599), Some(999_999_999_999_999_999)))),
        (" 200 9999999999999999999 ", None),
        (" 200  ", None),
        (" 20x 5 ", None),
        (" 2/0 5 ", None),
        (" 2:0 5 ", None),
        ("x200 5 ", None),
        (" 200x5 ", None),
        (" 200 5x", None),
        (" 200 5:1 ", None),
        (" 200 /51 ", None),
        (" 200 \u{b5}1 ", None),
        (" 200 1234567890x ", None),
        (" 2\u{b0} 51 ", None),
    ] {
        let block = format!("\"GET / HTTP/1.1\"{text}\"-\" \"Mozilla/5.0\"");
        let got = numbers(block.as_bytes(), 16, 16 + text.len());
        assert_eq!(got, want, "{text}");
    }
}

#[test]
fn every_byte_is_told_at_every_place_of_sixteen() {
    for byte in 0..=255_u8 {
        for filler in [b'a', 0x7F, 0x80, 0xFF, b',', b'?', b'\0'] {
            for at in 0..16 {
                let mut bytes = [filler; 16];
                bytes[at] = byte;
                assert_eq!(first_odd(&bytes), position(&bytes, |b| b <= b' ' || b == b','));
                assert_eq!(first_mark(&bytes), position(&bytes, |b| matches!(b, b'?' | b'#' | b';')));
            }
        }
    }
    assert_eq!(first_odd(b"192.0.2.10 - - ["), 10);
    assert_eq!(first_mark(b"/a/path?a=1;b=2#"), 7);
}

proptest! {
    #[test]
    fn both_indexes_find_every_structural_byte(
        bytes in prop::collection::vec(prop::sample::select(b"\"\n\\a\x00\xa2\x8a\xdc!#]".to_vec()), 0..300),
    ) {
        let want: Vec<u32> = (0..).zip(&bytes).filter(|(_, b)| matches!(b, b'"' | b'\n' | b'\\')).map(|(at, _)| at).collect();
        let mut out = vec![0; bytes.len() + SLACK];
        let count = index_portable(&bytes, &mut out);
        assert_eq!(out[..count], want);
        let mut index = Index::new();
        index.fill(&bytes);
        assert_eq!(index.positions(), want);
    }
}
