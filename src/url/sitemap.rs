//! The `loc` entries of a sitemap: as much XML as sitemaps are made of. Nothing is fetched, no document type is read.
//!
//! Example: `<urlset><url><loc>https://a.example/?a=1&amp;b=2</loc></url></urlset>` lists `https://a.example/?a=1&b=2`.

/// What an XML text lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sitemap {
    /// The pages, in their order.
    Pages(Vec<String>),
    /// Other sitemaps.
    Index(Vec<String>),
    /// Nothing: it is no sitemap, or not whole.
    Broken(&'static str),
}

/// Reads a sitemap. Prefixes of names do not matter, but an image's or a video's `loc` is no page.
#[must_use]
pub fn read_sitemap(xml: &str) -> Sitemap {
    let (mut open, mut pages, mut maps) = (Vec::<&str>::new(), Vec::new(), Vec::new());
    let (mut root, mut text, mut rest) = ("", String::new(), xml);
    while let Some(at) = rest.find('<') {
        push_decoded(&mut text, &rest[..at]);
        rest = &rest[at..];
        // Passed over: comments, declarations. Kept: CDATA.
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
        if let Some((begin, end)) = skipped.into_iter().find(|(begin, _)| rest.starts_with(begin)) {
            let Some(length) = rest[begin.len()..].find(end) else {
                return Sitemap::Broken("a part has no end");
            };
            if begin == "<![CDATA[" {
                text.push_str(&rest[begin.len()..begin.len() + length]);
            }
            rest = &rest[begin.len() + length + end.len()..];
            continue;
        }
        let Some(end) = rest.find('>') else { return Sitemap::Broken("it ends inside a tag") };
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(closed) = tag.strip_prefix('/') {
            if open.pop() != Some(closed.trim_end()) {
                return Sitemap::Broken("an element is closed that is not open");
            }
            if let Some((space, "loc")) = Some(split_name(closed.trim_end()))
                && let Some((of_parent, parent)) = open.last().map(|parent| split_name(parent))
                && space == of_parent
            {
                match parent {
                    "url" => pages.push(text.trim().to_owned()),
                    "sitemap" => maps.push(text.trim().to_owned()),
                    _ => {}
                }
            }
        } else {
            let name = tag.split([' ', '\t', '\r', '\n', '/']).next().unwrap_or_default();
            if root.is_empty() {
                root = split_name(name).1;
            }
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        text.clear();
    }
    match root {
        _ if !open.is_empty() => Sitemap::Broken("it ends before its elements do"),
        "urlset" => Sitemap::Pages(pages),
        "sitemapindex" => Sitemap::Index(maps),
        _ => Sitemap::Broken("its root is neither urlset nor sitemapindex"),
    }
}

/// Prefix and local part.
fn split_name(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

/// Appends text with its entities as characters; an unknown one stays as it is.
fn push_decoded(out: &mut String, text: &str) {
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
    let code = match entity {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => entity.strip_prefix('#')?,
    };
    let number = match code.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => code.parse(),
    };
    char::from_u32(number.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_the_locs_of_urls_and_of_nothing_else() {
        let xml = "<?xml version=\"1.0\"?><!DOCTYPE x>\n<s:urlset xmlns:s=\"x\"><!-- <url><loc>no</loc></url> -->\n\
            <s:url ><s:loc>\n https://a.example/?a=1&amp;b=2&#38;&#x43;&; </s:loc><i:image><i:loc>no</i:loc></i:image></s:url>\n\
            <s:url><s:loc><![CDATA[/x?<&>]]></s:loc><s:priority/></s:url></s:urlset>";
        let pages = ["https://a.example/?a=1&b=2&C&;", "/x?<&>"].map(str::to_owned);
        assert_eq!(read_sitemap(xml), Sitemap::Pages(pages.to_vec()));
        let index = "<sitemapindex><sitemap><loc>a.xml</loc></sitemap></sitemapindex>";
        assert_eq!(read_sitemap(index), Sitemap::Index(vec!["a.xml".to_owned()]));
    }

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
    fn what_is_no_whole_sitemap_is_broken() {
        for xml in [
            "",
            "<html/>",
            "<urlset><url>",
            "<urlset></url>",
            "<urlset",
            "<!-- ",
            "<![CDATA[x",
            "</urlset>",
            "&#x110000;",
        ] {
            assert!(matches!(read_sitemap(xml), Sitemap::Broken(_)), "{xml}");
        }
    }
}
