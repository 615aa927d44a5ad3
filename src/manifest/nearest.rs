//! The known name that a misspelt one is nearest to.
//!
//! Example: `googelbot` is nearest to `Googlebot`.

/// The known name with the fewest edits (insert, delete, replace, swap neighbours; case does not count), the first
/// of equals. None when more than a third of the characters, and more than one, would have to change.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.to_lowercase().chars().take(64).collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let letters: Vec<char> = candidate.to_lowercase().chars().take(64).collect();
        let allowed = (wanted.len().max(letters.len()) / 3).max(1);
        let edits = edits(&wanted, &letters);
        if edits <= allowed && best.is_none_or(|(fewest, _)| edits < fewest) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_name_finds_the_one_that_was_meant() {
        let known = ["Googlebot", "Google-Extended", "bingbot", "max_retries", "max_concurrency"];
        for (name, want) in [
            ("googelbot", Some("Googlebot")),
            ("BINGBOT", Some("bingbot")),
            ("max_retry", Some("max_retries")),
            ("maxconcurrency", Some("max_concurrency")),
            ("something else", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
    }

    #[test]
    fn the_first_of_equally_near_names_is_given() {
        assert_eq!(nearest("bat", ["cat", "bar"]), Some("cat"));
    }
}
