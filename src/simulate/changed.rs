//! Which pages a change touches: new ones, and those of changed routes.
//!
//! Example: the route `/products/:id` stands for `/products/17`, not for `/products/17/reviews`.

use std::collections::BTreeSet;

use glob::{MatchOptions, Pattern};

use super::Page;
use crate::error::Error;
use crate::url::Rules;

/// The pages that are not in an older list, compared by their canonical keys.
///
/// ```
/// use crawl_baseline::simulate::{Page, new_pages};
/// use crawl_baseline::url::Rules;
///
/// let page = |url| Page::new(url, "a.example", 1.0);
/// let pages = [page("https://a.example/new"), page("https://a.example/old?utm_source=x")];
/// let new = new_pages(&pages, ["https://a.example/old"], &Rules::default());
/// assert_eq!(new, [page("https://a.example/new")]);
/// ```
#[must_use]
pub fn new_pages<'a>(pages: &[Page], older: impl IntoIterator<Item = &'a str>, rules: &Rules) -> Vec<Page> {
    // A record's host that no URL has keeps the hosts of all URLs in their keys.
    let key = |url: &str| rules.key(url.as_bytes(), Some(b""));
    let older: BTreeSet<String> = older.into_iter().map(key).collect();
    pages.iter().filter(|page| !older.contains(&key(&page.url))).cloned().collect()
}

/// Routes of a site as its code names them.
#[derive(Debug, Clone)]
pub struct Routes(Vec<Pattern>);

impl Routes {
    /// One route each: a path in which `*` is one segment or a part of it, `**` any number of segments, and `:name`,
    /// `{name}` and `[name]` are one segment. Blank ones are left out.
    ///
    /// # Errors
    ///
    /// A usage error names the route that is no pattern.
    ///
    /// ```
    /// use crawl_baseline::simulate::Routes;
    /// let routes = Routes::parse(["/products/:id", "/blog/**"])?;
    /// assert!(routes.matches("https://a.example/products/17?color=red"));
    /// assert!(!routes.matches("https://a.example/products/17/reviews"));
    /// assert!(routes.matches("/blog/2026/10/08"));
    /// # Ok::<(), crawl_baseline::error::Error>(())
    /// ```
    pub fn parse<'a>(routes: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        let mut patterns = Vec::new();
        for route in routes.into_iter().map(str::trim).filter(|route| !route.is_empty()) {
            let segments: Vec<&str> =
                route.split('/').map(|s| if is_parameter(s) { "*" } else { s }).collect();
            let pattern = Pattern::new(&segments.join("/")).map_err(|e| {
                Error::usage(format_args!("route {route}"), "cannot be understood")
                    .cause(e)
                    .hint("a route is a path such as /products/:id or /blog/**")
            })?;
            patterns.push(pattern);
        }
        Ok(Self(patterns))
    }

    /// Whether one of them stands for the path of a URL.
    #[must_use]
    pub fn matches(&self, url: &str) -> bool {
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        let path = path(url);
        self.0.iter().any(|pattern| pattern.matches_with(path, options))
    }
}

/// The pages of changed routes.
#[must_use]
pub fn changed_pages(pages: &[Page], routes: &Routes) -> Vec<Page> {
    pages.iter().filter(|page| routes.matches(&page.url)).cloned().collect()
}

fn is_parameter(segment: &str) -> bool {
    let bracketed = |open, close| segment.starts_with(open) && segment.ends_with(close) && segment.len() > 2;
    (segment.starts_with(':') && segment.len() > 1) || bracketed('{', '}') || bracketed('[', ']')
}

/// The path of a URL or of a target, without query and fragment.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    rest.split(['?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_match_whole_paths() {
        for (route, url, matches) in [
            ("/", "https://a.example", true),
            ("/", "https://a.example/?x=1", true),
            ("/", "https://a.example/a", false),
            ("/a/[slug]", "/a/b#top", true),
            ("/a/[slug]", "/a", false),
            ("/a/{id}/c", "/a/b/c", true),
            ("/a/*.html", "/a/b.html", true),
            ("/a/*.html", "/a/b/c.html", false),
            ("/a/**", "/a/b/c.html", true),
            ("/A", "/a", false),
        ] {
            assert_eq!(Routes::parse([route]).unwrap().matches(url), matches, "{route} {url}");
        }
        let error = Routes::parse(["/a/***"]).unwrap_err();
        assert!(error.to_string().starts_with("route /a/***: "), "{error}");
    }

    #[test]
    fn other_hosts_and_other_paths_are_new() {
        let page = |url| Page::new(url, "h", 1.0);
        let pages = [page("https://a.example/x"), page("https://b.example/x"), page("https://a.example/X")];
        let new = new_pages(&pages, ["https://a.example/x"], &Rules::default());
        assert_eq!(new, pages[1..]);
    }
}
