//! What is to be fetched, from a file: URLs line by line, a sitemap, or the output of `normalize`; packed or not.
//!
//! A sitemap that lists others is followed into files that lie beside it; nothing is fetched. Example of a line:
//! `https://www.example.com/p/1`

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use chrono::DateTime;
use sha2::{Digest as _, Sha256};

use super::{Normalized, Page};
use crate::error::Error;
use crate::url::{Sitemap, read_sitemap};

/// Largest list, unpacked: a sitemap has at most 50 MB, a list of a million URLs about 100.
const MAX_BYTES: u64 = 512 << 20;
/// An index that lists an index is unusual, a third level is a loop.
const MAX_DEPTH: u8 = 3;

/// A list of pages and the digest of every byte that it was read from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UrlList {
    /// In their order; a URL that stands there twice is one.
    pub pages: Vec<Page>,
    /// `sha256:` and 64 hex digits.
    pub digest: String,
}

impl UrlList {
    /// Reads a list; `host` is that of URLs that begin with `/`.
    ///
    /// A line is a URL; blank ones and those that begin with `#` are left out, and so is what stands behind a blank. The
    /// form is told by the first character: `<` a sitemap, `{` or `[` JSON.
    ///
    /// # Errors
    /// A usage error: a file that cannot be read, a text of none of these forms, a URL that is none, a sitemap that
    /// lists one that is not there.
    pub fn read(path: &Path, host: Option<&str>) -> Result<Self, Error> {
        let mut reader = Reader { host, pages: Vec::new(), hasher: Sha256::new() };
        reader.file(path, 0)?;
        let mut seen = std::collections::HashSet::new();
        let mut pages = reader.pages;
        pages.retain(|page| seen.insert(page.url.clone()));
        Ok(Self { pages, digest: digest_text(reader.hasher) })
    }

    /// Makes times relative to `now` (since the epoch), for a plan whose first minute is minute 0: what is still fresh is
    /// due later, all else at once. `ignored`: everything is due at once.
    pub fn due_from(&mut self, now: Duration, ignored: bool) {
        for page in &mut self.pages {
            let left = page.due_at().saturating_sub(now);
            let fresh = !left.is_zero() && !ignored;
            page.fetched_at = fresh.then_some(Duration::ZERO);
            page.ttl = fresh.then_some(left);
        }
    }
}

/// `sha256:` and 64 hex digits of some bytes.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> String {
    digest_text(Sha256::new_with_prefix(bytes))
}

fn digest_text(hasher: Sha256) -> String {
    let hex: Vec<String> = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{}", hex.concat())
}

struct Reader<'a> {
    host: Option<&'a str>,
    pages: Vec<Page>,
    hasher: Sha256,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, depth: u8) -> Result<(), Error> {
        let text = read_text(path)?;
        self.hasher.update(&text);
        let place = path.display().to_string();
        match text.trim_start().bytes().next() {
            Some(b'<') => self.sitemap(&text, path, depth),
            Some(b'{') => self.normalized(&Normalized::from_json(&text, &place)?, &place),
            Some(b'[') => {
                // The rows alone, as older scripts write them, with `priority`.
                let wrapped = format!("{{\"schema_version\":1,\"urls\":{text}}}");
                self.normalized(&Normalized::from_json(&wrapped, &place)?, &place)
            }
            _ => self.lines(&text, &place),
        }
    }

    fn lines(&mut self, text: &str, place: &str) -> Result<(), Error> {
        for (number, line) in text.lines().enumerate() {
            let Some(url) = line.split_whitespace().next().filter(|url| !url.starts_with('#')) else {
                continue;
            };
            let page =
                self.page(url, 1.0).map_err(|why| no_url(&format!("{place}:{}", number + 1), url, why))?;
            self.pages.push(page);
        }
        Ok(())
    }

    fn sitemap(&mut self, text: &str, path: &Path, depth: u8) -> Result<(), Error> {
        let place = path.display().to_string();
        match read_sitemap(text) {
            Sitemap::Pages(urls) => {
                for url in urls {
                    let page = self.page(&url, 1.0).map_err(|why| no_url(&place, &url, why))?;
                    self.pages.push(page);
                }
                Ok(())
            }
            Sitemap::Index(_) if depth + 1 >= MAX_DEPTH => {
                Err(Error::usage(place, "lists sitemaps that list sitemaps, again and again"))
            }
            Sitemap::Index(maps) => maps.iter().try_for_each(|map| {
                let name = map.split(['?', '#']).next().unwrap_or(map).rsplit('/').next().unwrap_or_default();
                let child = path.with_file_name(name);
                if name.is_empty() || name == ".." || !child.is_file() {
                    return Err(Error::usage(&place, format_args!("lists {map}, which is not here"))
                        .cause(format_args!("expected a file {}", child.display()))
                        .hint("put the sitemaps that it lists beside it; nothing is fetched"));
                }
                self.file(&child, depth + 1)
            }),
            Sitemap::Broken(why) => Err(Error::usage(place, "is no sitemap").cause(why)),
        }
    }

    fn normalized(&mut self, list: &Normalized, place: &str) -> Result<(), Error> {
        for (i, row) in list.urls.iter().enumerate() {
            let at = || format!("{place}: urls[{i}]");
            let fetched_at = row.fetched_at.as_deref().map(|text| {
                DateTime::parse_from_rfc3339(text).map_err(|e| {
                    Error::usage(
                        format_args!("{}.fetched_at", at()),
                        format_args!("cannot read {text:?} as a time"),
                    )
                    .cause(e)
                })
            });
            let fetched_at = fetched_at.transpose()?;
            let page = self
                .page(&row.url, row.score * row.sibling_value.unwrap_or(1.0))
                .map_err(|why| no_url(&at(), &row.url, why))?;
            self.pages.push(Page {
                yields: row.yields.unwrap_or(1.0),
                prerequisite: row.prerequisite,
                ttl: row.ttl_seconds.map(Duration::from_secs),
                fetched_at: fetched_at
                    .map(|time| Duration::from_secs(u64::try_from(time.timestamp()).unwrap_or(0))),
                ..page
            });
        }
        Ok(())
    }

    fn page(&self, url: &str, score: f64) -> Result<Page, &'static str> {
        // What a browser keeps for itself makes no other page.
        let url = url.split('#').next().unwrap_or(url);
        if url.starts_with('/') && !url.starts_with("//") {
            let host = self.host.ok_or("it names no host: --host NAME says which is meant")?;
            return Ok(Page::new(&format!("https://{host}{url}"), &host.to_ascii_lowercase(), score));
        }
        let host = host_of(url).ok_or("expected http://, https:// or /")?;
        Ok(Page::new(url, &host, score))
    }
}

fn no_url(place: &str, url: &str, why: &str) -> Error {
    let url: String = url.chars().take(200).collect();
    Error::usage(place, format_args!("{url:?} is no URL of a page")).cause(why)
}

/// The host of an absolute URL of http or https, in lower case, without user and default port.
pub(super) fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let default = match scheme.to_ascii_lowercase().as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority).to_ascii_lowercase();
    let host = host.strip_suffix(default).unwrap_or(&host);
    (!host.is_empty()).then(|| host.to_owned())
}

/// The text of a file, gzip unpacked; `-` is standard input.
pub(super) fn read_text(path: &Path) -> Result<String, Error> {
    let cannot = |e: &dyn std::fmt::Display| Error::usage(path.display(), "cannot read this list").cause(e);
    let mut bytes = Vec::new();
    let mut read = |from: &mut dyn std::io::Read| from.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if path.as_os_str() == "-" {
        read(&mut std::io::stdin().lock()).map_err(|e| cannot(&e))?;
    } else {
        let mut file = std::fs::File::open(path).map_err(|e| cannot(&e))?;
        read(&mut file).map_err(|e| cannot(&e))?;
    }
    if bytes.starts_with(&[0x1F, 0x8B]) {
        let mut unpacked = Vec::new();
        let packed = flate2::read::MultiGzDecoder::new(bytes.as_slice());
        packed.take(MAX_BYTES + 1).read_to_end(&mut unpacked).map_err(|e| cannot(&e))?;
        bytes = unpacked;
    }
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(cannot(&format_args!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|e| cannot(&e))?;
    Ok(text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_the_one_that_is_asked() {
        for (url, host) in [
            ("https://A.example/x", Some("a.example")),
            ("http://a.example:80?x=1", Some("a.example")),
            ("https://a.example:8443#x", Some("a.example:8443")),
            ("https://user:p@a.example:443/", Some("a.example")),
            ("http://[2001:db8::1]:80/", Some("[2001:db8::1]")),
            ("ftp://a.example/", None),
            ("https:///x", None),
            ("mailto:a@b.example", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn times_become_relative_to_the_first_minute() {
        let s = Duration::from_secs;
        let page = |ttl, fetched| Page {
            ttl: Some(s(ttl)),
            fetched_at: Some(s(fetched)),
            ..Page::new("u", "h", 1.0)
        };
        let mut list = UrlList {
            pages: vec![page(60, 990), page(60, 940), Page::new("v", "h", 1.0)],
            ..UrlList::default()
        };
        let due = |list: &UrlList| list.pages.iter().map(Page::due_at).collect::<Vec<_>>();
        let mut warm = list.clone();
        list.due_from(s(1000), false);
        assert_eq!(due(&list), [s(50), s(0), s(0)]);
        warm.due_from(s(1000), true);
        assert_eq!(due(&warm), [s(0), s(0), s(0)]);
    }
}
