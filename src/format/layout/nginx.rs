//! nginx `log_format`: variables with a dollar, everything else as it is.
//!
//! Example of its input: `$remote_addr - $remote_user [$time_local] "$request" $status rt=$request_time`

use super::super::names;
use super::{Part, push_text, unescaped};

/// A dollar and a letter.
pub(super) fn is_style(text: &str) -> bool {
    text.as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'$' && (pair[1].is_ascii_alphabetic() || pair[1] == b'{'))
}

pub(super) fn parts(text: &str) -> Result<Vec<Part>, String> {
    let text = unescaped(text);
    let mut parts = Vec::new();
    let mut rest = &text[..];
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'$' {
            let end = memchr::memchr(b'$', rest).unwrap_or(rest.len());
            push_text(&mut parts, &rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let braces = after.first() == Some(&b'{');
        let after = if braces { &after[1..] } else { after };
        let length = after.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        if length == 0 {
            push_text(&mut parts, b"$");
            rest = after;
            continue;
        }
        let (name, behind) = after.split_at(length);
        rest = match behind.strip_prefix(b"}") {
            Some(behind) if braces => behind,
            _ if braces => return Err("expected } behind the name of a variable".to_owned()),
            _ => behind,
        };
        parts.push(Part::Field(names::of_variable(name)));
    }
    Ok(parts)
}
