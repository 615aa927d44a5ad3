//! Which files are one log that was rotated, by their names, and which of them is the next older one.
//!
//! Example: `access.log`, `access.log.1`, `access.log.2.gz` are a set, and so are `access.log`, `access.log-20260310.gz`
//! and `access.log-20260309.gz`.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// How old a member of a set is: the younger comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Age {
    /// The file that the server writes.
    Live,
    /// 1 is the youngest.
    Number(u32),
    /// The digits of a date, and of a time behind it.
    Date(Reverse<String>),
}

/// The folder and the name that all members of a rotation set share: the file that the server writes.
#[must_use]
pub fn rotation_set(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(member(&name).0)
}

/// The next older member of the set among the `names` of the files in its folder; `None` when there is none.
#[must_use]
pub fn older_in_rotation(path: &Path, names: &[String]) -> Option<PathBuf> {
    let (base, age) = member(path.file_name()?.to_str()?);
    let older =
        names.iter().filter(|other| other.starts_with(base.split(['-', '.']).next().unwrap_or_default()));
    let older = older.filter_map(|other| {
        let (other_base, other_age) = member(other);
        (other_base == base && other_age > age).then_some((other_age, other))
    });
    older.min().map(|(_, name)| path.with_file_name(name))
}

/// The names of all that is in the folder of a file, hidden files excepted; none where it cannot be listed.
#[must_use]
pub fn names_beside(path: &Path) -> Vec<String> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|n| !n.starts_with('.')).collect()
}

/// The name of the set and the age in it.
fn member(name: &str) -> (String, Age) {
    let bare = [".gz", ".zst", ".bz2", ".xz"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
    if let Some((base, digits)) = bare.rsplit_once('.')
        && !base.is_empty()
        && digits.len() <= 4
        && digits.bytes().all(|b| b.is_ascii_digit())
        && let Ok(number) = digits.parse()
    {
        return (base.to_owned(), Age::Number(number));
    }
    // `-20260310`, `-2026-03-10`, `.2026031006`, also before an extension.
    let is_part = |b: u8| b.is_ascii_digit() || b == b'-' || b == b'_';
    let bytes = bare.as_bytes();
    let mut end = bytes.len();
    while let Some(last) = bytes[..end].iter().rposition(u8::is_ascii_digit) {
        let start = bytes[..last].iter().rposition(|b| !is_part(*b)).map_or(0, |i| i + 1);
        let digits: String = bare[start..=last].chars().filter(char::is_ascii_digit).collect();
        let separated = matches!(bytes[start], b'-' | b'_') || (start > 0 && bytes[start - 1] == b'.');
        if digits.len() >= 8 && separated && start > 0 {
            let front = bare[..start].strip_suffix('.').unwrap_or(&bare[..start]);
            return (format!("{front}{}", &bare[last + 1..]), Age::Date(Reverse(digits)));
        }
        end = start;
    }
    (bare.to_owned(), Age::Live)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_set_are_known_and_ordered() {
        let number = |base: &str, n| (base.to_owned(), Age::Number(n));
        let date = |base: &str, digits: &str| (base.to_owned(), Age::Date(Reverse(digits.to_owned())));
        assert_eq!(member("access.log"), ("access.log".to_owned(), Age::Live));
        assert_eq!(member("access.log.2.gz"), number("access.log", 2));
        assert_eq!(member("access.log-20260310.gz"), date("access.log", "20260310"));
        assert_eq!(member("access.log-2026-03-10"), date("access.log", "20260310"));
        assert_eq!(member("access.log.20260310"), date("access.log", "20260310"));
        assert_eq!(member("access-2026031006.log.zst"), date("access.log", "2026031006"));
        assert_eq!(member("20260310"), ("20260310".to_owned(), Age::Live));
        assert_eq!(member("web-01.log"), ("web-01.log".to_owned(), Age::Live));
        assert!(member("a.log-20260310").1 < member("a.log-20260309").1);
        assert_eq!(rotation_set(Path::new("/x/a.log.1")), Path::new("/x/a.log"));
    }

    #[test]
    fn the_next_older_file_is_found_in_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in
            ["a.log", "a.log.1", "a.log.2.gz", "a.log.10.gz", "b.log", "b.log-20260310", "b.log-20260309.gz"]
        {
            std::fs::write(at(name), "x").unwrap();
        }
        for (of, older) in [
            ("a.log", Some("a.log.1")),
            ("a.log.1", Some("a.log.2.gz")),
            ("a.log.2.gz", Some("a.log.10.gz")),
            ("a.log.10.gz", None),
            ("b.log", Some("b.log-20260310")),
            ("b.log-20260310", Some("b.log-20260309.gz")),
            ("c.log", None),
        ] {
            assert_eq!(older_in_rotation(&at(of), &names_beside(&at(of))), older.map(at), "{of}");
        }
        assert_eq!(names_beside(Path::new("no-such-folder/a.log")), Vec::<String>::new());
    }
}
