//! The literals that a regular expression cannot match without, so that it is tried only where one of them stands.
//!
//! Conservative: where nothing certain can be said there is no answer, and the expression is tried everywhere.
//!
//! Example: `(?i)\bfeedly(bot)?/\d|feedly\.com/f` needs `feedly` or `feedly.com/f`, whatever the case.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Shorter literals stand everywhere and save nothing.
const SHORTEST: usize = 3;

/// At most so many alternatives; an expression with more is tried everywhere.
const MOST: usize = 64;

/// Literals of which every match holds at least one, whatever the case; `None` where there are no such.
pub(super) fn literals(expression: &str) -> Option<Vec<Vec<u8>>> {
    let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(expression).ok()?;
    let mut found = of(&hir)?;
    found.sort();
    found.dedup();
    (found.len() <= MOST && found.iter().all(|l| l.len() >= SHORTEST)).then_some(found)
}

/// Expressions are parsed with a limit on nesting, so the recursion is bounded.
fn of(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => None,
        HirKind::Literal(_) | HirKind::Class(_) => Some(vec![letters(hir)?]),
        HirKind::Capture(group) => of(&group.sub),
        HirKind::Repetition(repeated) => {
            if repeated.min > 0 {
                of(&repeated.sub)
            } else {
                None
            }
        }
        HirKind::Alternation(branches) => {
            let each: Option<Vec<_>> = branches.iter().map(of).collect();
            Some(each?.concat())
        }
        HirKind::Concat(parts) => {
            // Neighbouring letters are one literal; any part's requirement is the whole's.
            let mut best: Option<Vec<Vec<u8>>> = None;
            let mut run: Vec<u8> = Vec::new();
            for part in parts {
                if let Some(more) = letters(part) {
                    run.extend(more);
                    continue;
                }
                better(&mut best, Some(vec![std::mem::take(&mut run)]));
                better(&mut best, of(part));
            }
            better(&mut best, Some(vec![run]));
            best
        }
    }
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
fn better(best: &mut Option<Vec<Vec<u8>>>, other: Option<Vec<Vec<u8>>>) {
    let shortest = |literals: &Vec<Vec<u8>>| literals.iter().map(Vec::len).min().unwrap_or(0);
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
            let found = literals(expression);
            if expression.contains("{2,}") {
                // How a repetition is written inside does not matter, only that what it needs is found.
                assert!(found.is_some_and(|f| f.iter().all(|l| l.starts_with(b"acme"))), "{expression}");
            } else {
                assert_eq!(found, want, "{expression}");
            }
        }
    }

    #[test]
    fn every_built_in_expression_needs_a_literal_and_its_sample_holds_one() {
        for row in super::super::Catalogue::built_in().rows() {
            if row.kind == super::super::MatchKind::Regex {
                let needed = literals(&row.token).unwrap_or_else(|| panic!("{} needs no literal", row.token));
                let sample = row.sample.to_ascii_lowercase();
                let holds = |l: &Vec<u8>| memchr::memmem::find(sample.as_bytes(), l).is_some();
                assert!(needed.iter().any(holds), "{}: {needed:?}", row.token);
            }
        }
    }
}
