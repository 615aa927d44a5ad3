//! Log text made harmless for a terminal. Not for HTML, CSV or YAML: those need other rules.
//!
//! Example: a User-Agent with an escape sequence, `\u{1b}[2J`, prints as `\x1B[2J` and clears no screen.

use std::fmt::{self, Write as _};

/// Text that a terminal shows as it is: no control byte, no escape sequence, no mark that turns the direction of
/// writing or hides, no line break.
///
/// Bytes below 0x80 print as `\xNN`, the rest as `\u{NNNN}`; a backslash stays as it is.
///
/// ```
/// use crawl_baseline::report::Escaped;
/// assert_eq!(Escaped("Bot\u{1b}[31m\r\n\u{9b}2J\u{202e}x").to_string(), r"Bot\x1B[31m\x0D\x0A\u{9B}2J\u{202E}x");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\0'..='\x1F' | '\x7F' => write!(f, "\\x{:02X}", u32::from(c))?,
                _ if is_unsafe(c) => write!(f, "\\u{{{:X}}}", u32::from(c))?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

impl Escaped<'_> {
    /// The escaped text, cut to this many characters; `...` stands for what is cut.
    #[must_use]
    pub fn shortened(self, width: usize) -> String {
        let text = self.to_string();
        if text.chars().count() <= width {
            return text;
        }
        let mut cut: String = text.chars().take(width.saturating_sub(3)).collect();
        cut.push_str("...");
        cut
    }
}

/// C1 controls (one of them, U+009B, begins an escape sequence on its own), and the format characters that hide or turn
/// text.
fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9F}' | '\u{AD}' | '\u{61C}' | '\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_of_any_language_stays_as_it_is() {
        for text in
            ["Googlebot/2.1 (+http://www.google.com/bot.html)", "\u{30dc}\u{30c3}\u{30c8} \u{e9}", r"a\x1B"]
        {
            assert_eq!(Escaped(text).to_string(), text);
        }
    }

    #[test]
    fn a_cut_never_splits_the_text_inside_a_character_and_says_that_it_cut() {
        assert_eq!(Escaped("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}").shortened(4), "\u{e9}...");
        assert_eq!(Escaped("abcd").shortened(4), "abcd");
    }

    proptest! {
        #[test]
        fn nothing_that_steers_a_terminal_survives(text in any::<String>()) {
            let shown = Escaped(&text).to_string();
            prop_assert!(!shown.chars().any(|c| c.is_control() || is_unsafe(c)));
        }
    }
}
