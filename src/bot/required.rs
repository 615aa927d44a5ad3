//! The literals that a regular expression cannot match without, so that it is tried only where one of them stands.
//!
//! Conservative: where nothing certain can be said there is no answer, and the expression is tried everywhere.
//!
//! Example: `(?i)\bfeedly(bot)?/\d|feedly\.com/f` needs `feedly` or `feedly.com/f`, whatever the case.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Shorter literals stand everywhere and save nothing.
const SHORTEST: usize = 3;

/// At most so many alternatives; an expression with more is tried everywhere.
const MOST: usize = 64;

/// A literal that is needed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Required {
    /// In lower case.
    pub(super) text: Vec<u8>,
    /// It begins with a letter or digit, and behind neither: the expression has `\b` or `^` before it.
    pub(super) begins_a_word: bool,
}

/// Literals of which every match holds at least one, whatever the case; `None` where there are no such.
pub(super) fn literals(expression: &str) -> Option<Vec<Required>> {
    let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(expression).ok()?;
    let mut found = of(&hir, false)?;
    found.sort();
    found.dedup();
    (found.len() <= MOST && found.iter().all(|l| l.text.len() >= SHORTEST)).then_some(found)
}

/// Expressions are parsed with a limit on nesting, so the recursion is bounded. `at_edge`: what matches begins at the
/// beginning of the text or at the edge of a word.
fn of(hir: &Hir, at_edge: bool) -> Option<Vec<Required>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => None,
        HirKind::Literal(_) | HirKind::Class(_) => Some(vec![required(letters(hir)?, at_edge)]),
        HirKind::Capture(group) => of(&group.sub, at_edge),
        HirKind::Repetition(repeated) => {
            if repeated.min > 0 {
                of(&repeated.sub, at_edge)
            } else {
                None
            }
        }
        HirKind::Alternation(branches) => {
            let each: Option<Vec<_>> = branches.iter().map(|branch| of(branch, at_edge)).collect();
            Some(each?.concat())
        }
        HirKind::Concat(parts) => {
            // Neighbouring letters are one literal; any part's requirement is the whole's.
            let mut best: Option<Vec<Required>> = None;
            let mut run: Vec<u8> = Vec::new();
            let (mut edge, mut run_at_edge) = (at_edge, false);
            for part in parts {
                if let Some(more) = letters(part) {
                    if run.is_empty() {
                        run_at_edge = edge;
                    }
                    run.extend(more);
                } else {
                    better(&mut best, Some(vec![required(std::mem::take(&mut run), run_at_edge)]));
                    better(&mut best, of(part, edge));
                }
                edge = is_edge(part);
            }
            better(&mut best, Some(vec![required(run, run_at_edge)]));
            best
        }
    }
}

/// Before a letter or digit, all of these say that neither stands on the left.
fn is_edge(hir: &Hir) -> bool {
    matches!(
        hir.kind(),
        HirKind::Look(Look::Start | Look::StartLF | Look::StartCRLF | Look::WordAscii | Look::WordStartAscii)
    )
}

fn required(text: Vec<u8>, at_edge: bool) -> Required {
    let begins_a_word = at_edge && text.first().is_some_and(u8::is_ascii_alphanumeric);
    Required { text, begins_a_word }
}

/// The bytes of a literal, or the one letter of a class that holds both its cases; in lower case.
fn letters(hir: &Hir) -> Option<Vec<u8>> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(literal.0.to_ascii_lowercase()),
        HirKind::Class(Class::Bytes(class)) => {
            let bytes: Vec<u8> = class.iter().flat_map(|r| r.start()..=r.end()).take(3).collect();
            let first = bytes.first()?.to_ascii_lowercase();
            bytes.iter().all(|b| b.to_ascii_lowercase() == first).then(|| vec![first])
        }
        _ => None,
    }
}

/// Keeps the requirement whose shortest literal is longer.
fn better(best: &mut Option<Vec<Required>>, other: Option<Vec<Required>>) {
    let shortest = |literals: &Vec<Required>| literals.iter().map(|l| l.text.len()).min().unwrap_or(0);
    if let Some(other) = other
        && best.as_ref().is_none_or(|b| shortest(b) < shortest(&other))
    {
        *best = Some(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_certain_literals_are_found() {
        for (expression, want) in [
            (
                r"(?i)\bfeedly(bot|app)?/\d|feedly\.com/(fetcher|f\.html)",
                Some(&["feedly", "feedly.com/"][..]),
            ),
            (r"^(undici|node)$", Some(&["node", "undici"])),
            (r"Google[ -]Favicon", Some(&["favicon"])),
            (r"(?i)better ?(uptime|stack)", Some(&["better"])),
            (r"\bFoo-[A-Z][a-z]+", Some(&["foo-"])),
            (r"(Acme){2,}", Some(&["acmeacme"])),
            (r"(Acme[a-z]){2,}", Some(&["acme"])),
            (r"Ac?me\d", None),
            (r"Acme|\d+", None),
            (r"[A-Z]{8}", None),
            (r".*", None),
            (r"(", None),
        ] {
            let want = want.map(|w| w.iter().map(|l| l.as_bytes().to_vec()).collect::<Vec<_>>());
            let found = literals(expression).map(|f| f.into_iter().map(|l| l.text).collect::<Vec<_>>());
            if expression.contains("{2,}") {
                // How a repetition is written inside does not matter, only that what it needs is found.
                assert!(found.is_some_and(|f| f.iter().all(|l| l.starts_with(b"acme"))), "{expression}");
            } else {
                assert_eq!(found, want, "{expression}");
            }
        }
    }

    #[test]
    fn a_literal_begins_a_word_where_the_expression_says_so() {
        for (expression, want) in [
            (r"\bfoobar", &[true][..]),
            (r"(?i)\bfoobar|xbarfoo", &[true, false]),
            (r"^(foobar|other)$", &[true, true]),
            (r"^(x?foobar)", &[false]),
            (r"(\bfoobar)+", &[true]),
            (r"\b(foobar)+", &[true]),
            (r"\b/foobar", &[false]),
            (r"\b.foobar", &[false]),
            (r"\bx+foobar", &[false]),
            (r"\Bfoobar", &[false]),
            (r"foobar\b", &[false]),
            (r"foobar", &[false]),
        ] {
            let found: Vec<bool> = literals(expression).unwrap().iter().map(|l| l.begins_a_word).collect();
            assert_eq!(found, want, "{expression}");
        }
    }

    #[test]
    fn every_built_in_expression_needs_a_literal_and_its_sample_holds_one() {
        for row in super::super::Catalogue::built_in().rows() {
            if row.kind == super::super::MatchKind::Regex {
                let needed = literals(&row.token).unwrap_or_else(|| panic!("{} needs no literal", row.token));
                let sample = row.sample.to_ascii_lowercase();
                let holds = |l: &Required| memchr::memmem::find(sample.as_bytes(), &l.text).is_some();
                assert!(needed.iter().any(holds), "{}: {needed:?}", row.token);
            }
        }
    }
}
