//! Who links to whom, from a file, and the pages of a list that no link leads to.
//!
//! CSV or TSV with `from` and `to`, or JSON: pairs, or objects with these keys. Example of a line:
//! `https://www.example.com/,https://www.example.com/shop`

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::list::{digest_of, host_of, read_text};
use super::{Chain, Page, orphan_chains};
use crate::error::Error;
use crate::url::Rules;

/// Links of a site.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Links {
    /// From and to, as they stand in the file.
    pub pairs: Vec<(String, String)>,
    /// `sha256:` of the file.
    pub digest: String,
}

impl Links {
    /// Reads links. Lines with a tabulator are TSV, others CSV; quoted fields may hold commas. A first line whose fields
    /// hold no `/` is a header.
    ///
    /// # Errors
    /// A usage error: a file that cannot be read, or a line that is no pair.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = read_text(path)?;
        let place = path.display().to_string();
        let pairs = match text.trim_start().bytes().next() {
            Some(b'[' | b'{') => of_json(&text, &place)?,
            _ => of_lines(&text, &place)?,
        };
        Ok(Self { pairs, digest: digest_of(text.as_bytes()) })
    }

    /// The pages and ends of links that cannot be reached, as chains of URLs as they were written.
    ///
    /// Links are followed from `roots`; without any, from the root page of each host of `pages`, where it is listed or
    /// linked from, else from all of that host's pages. URLs are compared by their canonical keys, http and https alike;
    /// those that begin with `/` are on the host of `pages`, if there is one.
    #[must_use]
    pub fn orphans(&self, pages: &[Page], roots: &[String]) -> Vec<Chain> {
        let hosts: std::collections::BTreeSet<&str> = pages.iter().map(|page| page.host.as_str()).collect();
        let only_host = hosts.first().filter(|_| hosts.len() == 1).copied();
        let key = |url: &str| key_of(url, only_host);
        // The first spelling of each key is the one that is told.
        let mut spelling = BTreeMap::<String, &str>::new();
        let ends = self.pairs.iter().flat_map(|(from, to)| [from.as_str(), to.as_str()]);
        for url in pages.iter().map(|page| page.url.as_str()).chain(ends) {
            spelling.entry(key(url)).or_insert(url);
        }
        let links: Vec<(String, String)> = self.pairs.iter().map(|(from, to)| (key(from), key(to))).collect();
        let page_keys: Vec<String> = pages.iter().map(|page| key(&page.url)).collect();
        let mut root_keys: Vec<String> = roots.iter().map(|root| key(root)).collect();
        if roots.is_empty() {
            for host in hosts {
                let root = format!("{host}/");
                if spelling.contains_key(&root) {
                    root_keys.push(root);
                } else {
                    let of_host = pages.iter().zip(&page_keys).filter(|(page, _)| page.host == host);
                    root_keys.extend(of_host.map(|(_, key)| key.clone()));
                }
            }
        }
        let borrowed: Vec<(&str, &str)> = links.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let root_keys: Vec<&str> = root_keys.iter().map(String::as_str).collect();
        let page_keys: Vec<&str> = page_keys.iter().map(String::as_str).collect();
        let mut chains = orphan_chains(&borrowed, &root_keys, &page_keys);
        for url in chains.iter_mut().flat_map(|chain| &mut chain.urls) {
            if let Some(written) = spelling.get(url) {
                *url = (*written).to_owned();
            }
        }
        chains
    }
}

/// Chains that hold at least one of these pages.
#[must_use]
pub fn chains_with(chains: Vec<Chain>, pages: &[Page]) -> Vec<Chain> {
    let urls: std::collections::BTreeSet<String> = pages.iter().map(|page| key_of(&page.url, None)).collect();
    let holds = |chain: &Chain| chain.urls.iter().any(|url| urls.contains(&key_of(url, None)));
    chains.into_iter().filter(holds).collect()
}

/// A key without its scheme.
fn key_of(url: &str, host: Option<&str>) -> String {
    let absolute = match host {
        Some(host) if url.starts_with('/') && !url.starts_with("//") => format!("https://{host}{url}"),
        _ => url.to_owned(),
    };
    let key = Rules::default().key_of_url(absolute.as_bytes());
    match host_of(&absolute) {
        Some(_) => key.split_once("://").map_or(key.clone(), |(_, rest)| rest.to_owned()),
        None => key,
    }
}

fn of_lines(text: &str, place: &str) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let pair = match line.split_once('\t') {
            Some((from, rest)) => Some((from.to_owned(), rest.split('\t').next().unwrap_or(rest).to_owned())),
            None => of_csv(line),
        };
        let pair =
            pair.filter(|(from, to)| !from.trim().is_empty() && !to.trim().is_empty()).ok_or_else(|| {
                Error::usage(format_args!("{place}:{}", number + 1), "is no link")
                    .cause("expected two URLs with a comma or a tabulator between them")
            })?;
        let is_header = pairs.is_empty() && !pair.0.contains('/') && !pair.1.contains('/');
        if !is_header {
            pairs.push((pair.0.trim().to_owned(), pair.1.trim().to_owned()));
        }
    }
    Ok(pairs)
}

/// Two fields. Without quotes the comma is the one before the second URL, as a URL may hold commas itself.
fn of_csv(line: &str) -> Option<(String, String)> {
    if let Some(quoted) = line.strip_prefix('"') {
        let end =
            quoted.match_indices('"').map(|(at, _)| at).find(|at| !quoted[at + 1..].starts_with('"'))?;
        let to = quoted[end + 1..].trim_start().strip_prefix(',')?.trim();
        let to = to.strip_prefix('"').and_then(|to| to.strip_suffix('"')).unwrap_or(to);
        return Some((quoted[..end].replace("\"\"", "\""), to.replace("\"\"", "\"")));
    }
    let begins = |rest: &str| {
        ["http://", "https://", "/", "\""].iter().any(|start| rest.trim_start().starts_with(start))
    };
    let commas = || line.match_indices(',').map(|(at, _)| at);
    let at = commas().find(|at| begins(&line[at + 1..])).or_else(|| commas().next())?;
    let to = line[at + 1..].trim();
    let to = to.strip_prefix('"').and_then(|to| to.strip_suffix('"')).unwrap_or(to);
    Some((line[..at].to_owned(), to.to_owned()))
}

fn of_json(text: &str, place: &str) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::new();
    // One document, or one object a line.
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let value = value.map_err(|e| Error::usage(place, "is no list of links").cause(e))?;
        let rows = match &value {
            Value::Object(map) => map.get("links").and_then(Value::as_array),
            Value::Array(rows) => Some(rows),
            _ => None,
        };
        let single = std::slice::from_ref(&value);
        for row in rows.map_or(single, Vec::as_slice) {
            let end =
                |key: &str, index: usize| row.get(key).or_else(|| row.get(index)).and_then(Value::as_str);
            let (Some(from), Some(to)) = (end("from", 0), end("to", 1)) else {
                return Err(Error::usage(place, format_args!("link {} is none", pairs.len() + 1))
                    .cause("expected {\"from\": URL, \"to\": URL} or [URL, URL]"));
            };
            pairs.push((from.to_owned(), to.to_owned()));
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        match text.trim_start().as_bytes()[0] {
            b'[' | b'{' => of_json(text, "l").unwrap(),
            _ => of_lines(text, "l").unwrap(),
        }
    }

    #[test]
    fn every_form_gives_the_same_links() {
        let wanted = vec![("/a,b".to_owned(), "/c".to_owned()), ("/c".to_owned(), "/d,\"e".to_owned())];
        for text in [
            "from,to\n\"/a,b\",/c\n/c,\"/d,\"\"e\"\n",
            "source\ttarget\n/a,b\t/c\tnofollow\n\n# remark\n/c\t/d,\"e\n",
            "/a,b,/c\n/c,/d,\"e",
            r#"[{"from": "/a,b", "to": "/c", "rel": 1}, {"from": "/c", "to": "/d,\"e"}]"#,
            r#"{"links": [["/a,b", "/c"], ["/c", "/d,\"e"]]}"#,
            "{\"from\": \"/a,b\", \"to\": \"/c\"}\n{\"from\": \"/c\", \"to\": \"/d,\\\"e\"}\n",
        ] {
            let found = pairs(text);
            let unescaped: Vec<_> = found.into_iter().map(|(a, b)| (a, b.replace("\"\"", "\""))).collect();
            assert_eq!(unescaped, wanted, "{text}");
        }
        for wrong in ["/a\n", "/a,\n", "[1]", "{\"from\": \"/a\"}"] {
            let error = if wrong.starts_with('/') { of_lines(wrong, "l") } else { of_json(wrong, "l") };
            assert_eq!(error.unwrap_err().exit().code(), 2, "{wrong}");
        }
    }

    #[test]
    fn orphans_are_what_the_root_page_does_not_lead_to_whatever_the_spelling() {
        let page = |path: &str| Page::new(&format!("https://a.example{path}"), "a.example", 1.0);
        let pages = [page("/"), page("/shop"), page("/old"), page("/lost")];
        let links = Links {
            pairs: vec![
                ("http://A.example/".to_owned(), "/shop?utm_source=x".to_owned()),
                ("/old".to_owned(), "https://a.example/older".to_owned()),
            ],
            digest: String::new(),
        };
        let urls =
            |chains: Vec<Chain>| chains.into_iter().map(|chain| chain.urls.join(" ")).collect::<Vec<_>>();
        let found = links.orphans(&pages, &[]);
        assert_eq!(
            urls(found.clone()),
            ["https://a.example/lost", "https://a.example/old https://a.example/older"]
        );
        assert_eq!(urls(chains_with(found, &pages[3..])), ["https://a.example/lost"]);
        let roots = ["https://a.example/".to_owned(), "/old".to_owned()];
        assert_eq!(urls(links.orphans(&pages, &roots)), ["https://a.example/lost"]);
        // Without a root page, what is listed is where a crawl begins.
        assert_eq!(urls(links.orphans(&pages[1..2], &[])).len(), 1);
    }
}
