//! The `loc` entries of a sitemap. Only so much XML as sitemaps need: elements, text, CDATA, comments, the five named
//! entities and numeric ones. Nothing is fetched, no entity is expanded twice, no document type is looked at.
//!
//! Example: `<urlset><url><loc>https://example.com/?a=1&amp;b=2</loc></url></urlset>` holds `https://example.com/?a=1&b=2`.

/// What an XML text holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sitemap {
    /// The texts of `url/loc`, in their order, blanks around them removed.
    Pages(Vec<String>),
    /// It lists other sitemaps.
    Index(Vec<String>),
    /// It is no sitemap, or ends in the middle; the reason.
    Broken(&'static str),
}

/// Reads a sitemap. Elements are told by their local names, so a prefix does not matter; the `loc` of an image or a
/// video within a page is none.
#[must_use]
pub fn read_sitemap(xml: &str) -> Sitemap {
    let mut open: Vec<&str> = Vec::new();
    let (mut pages, mut maps) = (Vec::new(), Vec::new());
    let mut root = None;
    let mut text = String::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        push_plain(&mut text, &rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix("<!--") {
            let Some(end) = behind.find("-->") else { return Sitemap::Broken("a comment has no end") };
            rest = &behind[end + 3..];
        } else if let Some(behind) = rest.strip_prefix("<![CDATA[") {
            let Some(end) = behind.find("]]>") else { return Sitemap::Broken("a CDATA section has no end") };
            text.push_str(&behind[..end]);
            rest = &behind[end + 3..];
        } else {
            let Some(end) = rest.find('>') else { return Sitemap::Broken("it ends inside a tag") };
            let tag = &rest[1..end];
            rest = &rest[end + 1..];
            if tag.starts_with(['?', '!']) {
                continue;
            }
            if tag.starts_with('/') {
                if let [.., parent, name] = open.as_slice()
                    && (*name == "loc" || name.ends_with(":loc"))
                    && prefix(name) == prefix(parent)
                {
                    match local(parent) {
                        "url" => pages.push(text.trim().to_owned()),
                        "sitemap" => maps.push(text.trim().to_owned()),
                        _ => {}
                    }
                }
                if open.pop().is_none() {
                    return Sitemap::Broken("an element is closed that was not opened");
                }
            } else {
                let name = tag.split([' ', '\t', '\r', '\n', '/']).next().unwrap_or_default();
                root = root.or(Some(local(name)));
                if !tag.ends_with('/') {
                    open.push(name);
                }
            }
            text.clear();
        }
    }
    match root {
        _ if !open.is_empty() => Sitemap::Broken("it ends before its elements do"),
        Some("urlset") => Sitemap::Pages(pages),
        Some("sitemapindex") => Sitemap::Index(maps),
        _ => Sitemap::Broken("its root is neither urlset nor sitemapindex"),
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn prefix(name: &str) -> &str {
    name.rsplit_once(':').map_or("", |(prefix, _)| prefix)
}

/// Appends text with its entities as characters; an unknown one stays as it is.
fn push_plain(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest.find(';').filter(|end| *end <= 10).map(|end| &rest[1..end]);
        match entity.and_then(|name| Some((character(name)?, name.len()))) {
            Some((c, length)) => {
                out.push(c);
                rest = &rest[length + 2..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let digits = entity.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_the_locs_of_urls_with_entities_undone() {
        let xml = r#"<?xml version="1.0"?><!-- <url><loc>no</loc></url> -->
            <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="x">
              <url><loc> https://e.example/?a=1&amp;b=%26&#38;&#x43; </loc><lastmod>2026-03-10</lastmod>
                <image:image><image:loc>https://e.example/i.png</image:loc></image:image></url>
              <url><loc><![CDATA[https://e.example/?c=1&d=2]]></loc><priority/></url>
              <url><loc>https://e.example/&unknown;&</loc></url><url><loc/></url>
            </urlset>"#;
        let pages =
            ["https://e.example/?a=1&b=%26&C", "https://e.example/?c=1&d=2", "https://e.example/&unknown;&"];
        assert_eq!(read_sitemap(xml), Sitemap::Pages(pages.map(str::to_owned).to_vec()));
        let prefixed = "<s:urlset xmlns:s='x'><s:url><s:loc>/a</s:loc></s:url></s:urlset>";
        assert_eq!(read_sitemap(prefixed), Sitemap::Pages(vec!["/a".to_owned()]));
    }

    #[test]
    fn an_index_is_told_from_a_list_of_pages_and_broken_text_from_both() {
        let index = "<sitemapindex><sitemap><loc>/s1.xml</loc></sitemap></sitemapindex>";
        assert_eq!(read_sitemap(index), Sitemap::Index(vec!["/s1.xml".to_owned()]));
        for broken in
            ["", "<html></html>", "<urlset><url>", "<urlset", "<!-- x", "<a><![CDATA[x", "</urlset>"]
        {
            assert!(matches!(read_sitemap(broken), Sitemap::Broken(_)), "{broken}");
        }
    }
}
