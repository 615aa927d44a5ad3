//! The parameters of a query, one after the other, as logged.
//!
//! Not what they mean: an escape stays an escape, a repeated name comes twice. Example: `/a?t=1&t=2&blank=&flag#x`
//! has `t=1`, `t=2`, `blank=` and `flag`.

use super::percent::{Unreserved, push_canonical};

/// The (name, value) pairs of a target's query, in their order; made by [`parameters`].
#[derive(Debug, Clone)]
pub struct Parameters<'a> {
    rest: Option<&'a [u8]>,
}

/// The parameters of the target's query. A name without `=` has an empty value; empty pieces (`&&`) are no
/// parameters; the fragment is not looked at.
///
/// ```
/// let pairs: Vec<_> = crawl_baseline::url::parameters(b"/a?t=1&flag&t=2#x=3").collect();
/// assert_eq!(pairs, [(&b"t"[..], &b"1"[..]), (b"flag", b""), (b"t", b"2")]);
/// ```
#[must_use]
pub fn parameters(target: &[u8]) -> Parameters<'_> {
    Parameters { rest: split(target).1 }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let query = self.rest?;
            let piece = match memchr::memchr(b'&', query) {
                Some(at) => {
                    self.rest = Some(&query[at + 1..]);
                    &query[..at]
                }
                None => {
                    self.rest = None;
                    query
                }
            };
            if !piece.is_empty() {
                return Some(match memchr::memchr(b'=', piece) {
                    Some(at) => (&piece[..at], &piece[at + 1..]),
                    None => (piece, &[]),
                });
            }
        }
    }
}

/// A parameter's name or value in the spelling that keys have: printable ASCII, percent codes in upper case.
#[must_use]
pub fn canonical_text(name_or_value: &[u8]) -> String {
    let mut out = String::with_capacity(name_or_value.len());
    push_canonical(&mut out, name_or_value, Unreserved::Decode);
    out
}

/// What stands before the query, and the query, both without the fragment.
pub(super) fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    let target = &target[..memchr::memchr(b'#', target).unwrap_or(target.len())];
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(target: &[u8]) -> Vec<(&[u8], &[u8])> {
        parameters(target).collect()
    }

    #[test]
    fn a_target_without_query_has_no_parameter() {
        assert!(pairs(b"/a").is_empty());
        assert!(pairs(b"/a?").is_empty());
        assert!(pairs(b"/a#x?b=1").is_empty());
    }

    #[test]
    fn repeated_blank_and_nameless_parameters_are_given_in_order() {
        let want: [(&[u8], &[u8]); 5] =
            [(b"a", b"1"), (b"a", b""), (b"", b"x"), (b"b", b"c=d"), (b"e", b"?")];
        assert_eq!(pairs(b"/p?a=1&a=&&=x&b=c=d&e=?"), want);
    }

    #[test]
    fn a_name_prints_in_one_spelling() {
        assert_eq!(canonical_text(b"%66ilter%5bx%5d\xff"), "filter%5Bx%5D%FF");
    }
}
