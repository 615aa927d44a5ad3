//! The text of `checksums.txt`, as `sha256sum -c` reads it. Does not judge what no longer fits.
//!
//! Example of a line: 64 hex digits, two blanks, `baseline_020007.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::output::{CHECKSUMS, LOG};
use crate::error::Error;
use crate::file::is_temporary;

/// One line for each file of the folder, by name. A digest that the present `checksums.txt` has stays, unless the file
/// is among those `written` by this run; so does the line of a file that is gone.
pub(super) fn text(folder: &Path, written: &BTreeSet<OsString>) -> Result<Vec<u8>, Error> {
    let cannot_list = |e: io::Error| Error::runtime(folder.display(), "cannot list this folder").cause(e);
    let mut lines = known(&folder.join(CHECKSUMS))?;
    for entry in fs::read_dir(folder).map_err(cannot_list)? {
        let entry = entry.map_err(cannot_list)?;
        let name = entry.file_name();
        let regular = entry.file_type().map_err(cannot_list)?.is_file();
        if !regular || name == CHECKSUMS || name == LOG || name.to_str().is_some_and(is_temporary) {
            continue;
        }
        if written.contains(&name) || !lines.contains_key(&name) {
            let path = entry.path();
            let digest = digest(&path).map_err(|e| Error::runtime(path.display(), "cannot read").cause(e))?;
            lines.insert(name, digest);
        }
    }
    let mut text = Vec::new();
    for (name, digest) in lines {
        let (escaped, was_escaped) = escape(&name);
        if was_escaped {
            text.push(b'\\');
        }
        text.extend_from_slice(digest.as_bytes());
        text.extend_from_slice(b"  ");
        text.extend_from_slice(&escaped);
        text.push(b'\n');
    }
    Ok(text)
}

/// The present lines; what is no line of this form is left out and its file digested anew.
pub(super) fn known(path: &Path) -> Result<BTreeMap<OsString, String>, Error> {
    // Somebody else's link is replaced, not believed.
    let bytes = match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {
            fs::read(path).map_err(|e| Error::runtime(path.display(), "cannot read").cause(e))?
        }
        _ => return Ok(BTreeMap::new()),
    };
    Ok(bytes.split(|b| *b == b'\n').filter_map(parse).collect())
}

fn parse(line: &[u8]) -> Option<(OsString, String)> {
    let (line, escaped) = match line.strip_prefix(b"\\") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    let (digest, name) = line.split_at_checked(64)?;
    let name = name.strip_prefix(b"  ")?;
    if name.is_empty() || !digest.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b)) {
        return None;
    }
    let name = if escaped { unescape(name)? } else { name.to_vec() };
    Some((OsString::from_vec(name), String::from_utf8(digest.to_vec()).ok()?))
}

pub(super) fn digest(path: &Path) -> io::Result<String> {
    let mut file: File =
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hasher.update(&buffer[..n]),
        }
    }
    Ok(hasher.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// As coreutils do: a name with a line break or a backslash has them escaped, and its line begins with a backslash.
fn escape(name: &OsStr) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(name.len());
    for byte in name.as_bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            other => out.push(*other),
        }
    }
    let was_escaped = out.len() != name.len();
    (out, was_escaped)
}

fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            other => *other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_line_breaks_cannot_forge_a_line() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a\nb\\c"), "").unwrap();
        let first = text(folder.path(), &BTreeSet::new()).unwrap();
        assert_eq!(
            String::from_utf8(first.clone()).unwrap(),
            "\\e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\\nb\\\\c\n"
        );
        // Read back it is the same name, whose digest stays.
        fs::write(folder.path().join(CHECKSUMS), &first).unwrap();
        fs::write(folder.path().join("a\nb\\c"), "changed").unwrap();
        assert_eq!(text(folder.path(), &BTreeSet::new()).unwrap(), first);
    }

    #[test]
    fn a_file_that_is_gone_stays_named() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("{}  gone.json\n", "0".repeat(64));
        fs::write(folder.path().join(CHECKSUMS), &line).unwrap();
        assert_eq!(text(folder.path(), &BTreeSet::new()).unwrap(), line.as_bytes());
    }

    #[test]
    fn lines_of_another_form_links_and_temporaries_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(CHECKSUMS), "not a digest  x\n\nXYZ\n").unwrap();
        fs::write(folder.path().join(".x.host.1.2.3.4.crawl-tmp"), "").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link")).unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        assert_eq!(text(folder.path(), &BTreeSet::new()).unwrap(), b"");
    }
}
