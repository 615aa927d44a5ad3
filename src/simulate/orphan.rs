//! Pages that no link leads to from the sitemap.
//!
//! Example: the sitemap has `/`, and `/old` links to `/older`, but nothing links to `/old`: one chain of two orphans.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Orphans that lead from one to the next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Chain {
    /// URLs; each one but the first is linked from the one before it.
    pub urls: Vec<String>,
}

/// The orphans among `pages` and both ends of `links`: what cannot be reached from `roots` (the sitemap's URLs), as
/// chains. Every orphan is in exactly one chain; a chain begins at an orphan that nothing links to, or in a ring at
/// the bytewise first. URLs are compared as they are: pass canonical keys.
///
/// ```
/// use crawl_baseline::simulate::orphan_chains;
/// let links = [("/", "/shop"), ("/old", "/older"), ("/older", "/shop")];
/// let chains = orphan_chains(&links, &["/"], &["/shop", "/lost"]);
/// let urls: Vec<Vec<String>> = chains.into_iter().map(|chain| chain.urls).collect();
/// assert_eq!(urls, [vec!["/lost".to_owned()], vec!["/old".to_owned(), "/older".to_owned()]]);
/// ```
#[must_use]
pub fn orphan_chains(links: &[(&str, &str)], roots: &[&str], pages: &[&str]) -> Vec<Chain> {
    let mut targets = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (from, to) in links {
        targets.entry(from).or_default().insert(to);
        targets.entry(to).or_default();
    }
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = roots.to_vec();
    while let Some(url) = open.pop() {
        if reached.insert(url) {
            open.extend(targets.get(url).into_iter().flatten());
        }
    }
    let mut left: BTreeSet<&str> = targets.keys().chain(pages).copied().collect();
    left.retain(|url| !reached.contains(url));
    // Heads first: orphans that no other orphan links to. What then remains are rings.
    let linked: BTreeSet<&str> = left
        .iter()
        .flat_map(|url| targets.get(url).into_iter().flatten().filter(move |to| *to != url))
        .copied()
        .collect();
    let heads: Vec<&str> = left.iter().filter(|url| !linked.contains(*url)).copied().collect();
    let mut chains: Vec<Chain> =
        heads.into_iter().filter_map(|head| chain(head, &targets, &mut left)).collect();
    while let Some(first) = left.first().copied() {
        chains.extend(chain(first, &targets, &mut left));
    }
    chains.sort();
    chains
}

/// Follows links from `head` through what is left, and takes it.
fn chain<'a>(
    head: &'a str,
    targets: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    left: &mut BTreeSet<&'a str>,
) -> Option<Chain> {
    let mut urls = Vec::new();
    let mut at = Some(head).filter(|head| left.contains(head));
    while let Some(url) = at {
        left.remove(url);
        urls.push(url.to_owned());
        at = targets.get(url).into_iter().flatten().find(|to| left.contains(*to)).copied();
    }
    (!urls.is_empty()).then_some(Chain { urls })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    fn urls(links: &[(&str, &str)], roots: &[&str], pages: &[&str]) -> Vec<Vec<String>> {
        orphan_chains(links, roots, pages).into_iter().map(|chain| chain.urls).collect()
    }

    #[test]
    fn rings_forks_and_links_to_oneself_are_chains_too() {
        assert_eq!(urls(&[("b", "c"), ("c", "b")], &[], &[]), [["b", "c"]]);
        assert_eq!(urls(&[("x", "x")], &["/"], &[]), [["x"]]);
        let fork = urls(&[("a", "b"), ("a", "c"), ("c", "d")], &["/"], &[]);
        assert_eq!(fork, [vec!["a", "b"], vec!["c", "d"]]);
        assert_eq!(urls(&[("/", "a"), ("a", "b")], &["/"], &["b"]), Vec::<Vec<String>>::new());
    }

    proptest! {
        #[test]
        fn every_orphan_is_in_exactly_one_chain(
            links in prop::collection::vec((0_usize..12, 0_usize..12), 0..30),
            roots in prop::collection::vec(0_usize..12, 0..3),
        ) {
            const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
            let named: Vec<(&str, &str)> = links.iter().map(|(a, b)| (NAMES[*a], NAMES[*b])).collect();
            let roots: Vec<&str> = roots.iter().map(|r| NAMES[*r]).collect();
            // Reachability by squaring, the slow way.
            let mut reached: BTreeSet<&str> = roots.iter().copied().collect();
            for _ in 0..12 {
                for (from, to) in &named { if reached.contains(from) { reached.insert(to); } }
            }
            let expected: Vec<&str> = NAMES.into_iter().filter(|n| !reached.contains(n)).collect();
            let chains = orphan_chains(&named, &roots, &NAMES);
            let mut found: Vec<&str> = chains.iter().flat_map(|c| c.urls.iter().map(String::as_str)).collect();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
            for chain in &chains {
                for pair in chain.urls.windows(2) {
                    prop_assert!(named.contains(&(pair[0].as_str(), pair[1].as_str())));
                }
            }
        }
    }
}
