//! Every rule of the canonical form with a case, and the properties that must hold of all targets.

use proptest::prelude::*;

use super::*;

fn key(target: &str) -> String {
    Rules::default().key(target.as_bytes(), Some(b"www.example.com"))
}

fn key_under(rules: &Rules, target: &str) -> String {
    rules.key(target.as_bytes(), None)
}

#[test]
fn the_host_of_an_absolute_target_goes_unless_it_is_another() {
    for (target, want) in [
        ("http://www.example.com/p/1?x=1", "/p/1?x=1"),
        ("https://WWW.Example.COM:443/p/1?x=1", "/p/1?x=1"),
        ("http://ann:pw@www.example.com/p", "/p"),
        ("http://www.example.com", "/"),
        ("http://www.example.com?x=1", "/?x=1"),
        ("http://www.example.com//evil.example.net/x", "//evil.example.net/x"),
        ("http://other.example.net/p/1", "http://other.example.net/p/1"),
        ("http://www.example.com:8080/p", "http://www.example.com:8080/p"),
        ("HTTPS://Other.Example.NET:0443", "https://other.example.net/"),
        ("http://other.example.net:0081/P", "http://other.example.net:81/P"),
        ("http://[2001:DB8::1]:80/p", "http://[2001:db8::1]/p"),
        ("http://[2001:DB8::1]/p", "http://[2001:db8::1]/p"),
    ] {
        assert_eq!(key(target), want, "{target}");
    }
    let rules = Rules::default();
    assert_eq!(rules.key(b"http://any.example.net/p", None), "/p");
    assert_eq!(rules.key(b"http://shop.example.com:8080/p", Some(b"Shop.Example.com:8080")), "/p");
    assert_eq!(rules.key(b"https://shop.example.com/p", Some(b"shop.example.com:443")), "/p");
    assert_eq!(rules.key(b"/p", Some(b"shop.example.com")), "/p");
}

#[test]
fn a_url_from_a_list_keeps_its_host() {
    let rules = Rules::default();
    assert_eq!(rules.key_of_url(b"HTTP://Example.COM:80/a#x"), "http://example.com/a");
    assert_eq!(rules.key_of_url(b"/a#x"), "/a");
}

#[test]
fn path_and_query_keep_their_case_and_their_trailing_slash() {
    assert_eq!(key("/Path/UPPER/?Q=Value"), "/Path/UPPER/?Q=Value");
    assert_ne!(key("/a/"), key("/a"));
}

#[test]
fn the_fragment_goes() {
    assert_eq!(key("/a#top?x=1"), "/a");
    assert_eq!(key("/a?x=1#top"), "/a?x=1");
    assert_eq!(key("/a%23b"), "/a%23b");
}

#[test]
fn dot_segments_are_resolved_also_when_they_are_coded() {
    for (target, want) in [
        ("/a/./b/../c", "/a/c"),
        ("/a/%2e%2E/b", "/b"),
        ("/..", "/"),
        ("/.", "/"),
        ("/a/..", "/"),
        ("/a/b/..", "/a/"),
        ("/a/b/.", "/a/b/"),
        ("/../../a", "/a"),
        ("/a//../b", "/a/b"),
        ("//a//b", "//a//b"),
        ("/.well-known/x", "/.well-known/x"),
        ("/a..b/...", "/a..b/..."),
        ("/..;jsessionid=1/a", "/a"),
        ("/a?x=/../y", "/a?x=/../y"),
    ] {
        assert_eq!(key(target), want, "{target}");
    }
}

#[test]
fn percent_codes_have_one_spelling() {
    assert_eq!(key("/%7euser%2fx/%e4%41"), "/~user%2Fx/%E4A");
    assert_eq!(key("/a?q=%7e%3d&%74=1"), "/a?q=~%3D&t=1");
    assert_ne!(key("/a%2Fb"), key("/a/b"));
}

#[test]
fn bytes_that_no_url_may_hold_come_out_as_codes() {
    let rules = Rules::default();
    assert_eq!(rules.key(b"/caf\xc3\xa9/\xff\x00 x", None), "/caf%C3%A9/%FF%00%20x");
    assert_eq!(rules.key(b"/<script>\"&{}|", None), "/%3Cscript%3E%22&%7B%7D%7C");
    assert_eq!(rules.key(b"\x16\x03\x01", None), "%16%03%01");
}

#[test]
fn repeated_and_blank_parameters_stay_in_their_order() {
    assert_eq!(key("/a?t=1&t=2"), "/a?t=1&t=2");
    assert_eq!(key("/a?b=&a&b=1&="), "/a?b=&a&b=1&=");
    assert_eq!(key("/a?&&b=1&"), "/a?b=1");
    assert_eq!(key("/a?"), "/a");
}

#[test]
fn tracking_sessions_sort_orders_and_application_state_go_whatever_their_case() {
    assert_eq!(key("/a?utm_source=x&id=1"), "/a?id=1");
    assert_eq!(key("/a?id=1&UTM_Medium=x&phpsessid=2&%73ort=up"), "/a?id=1");
    for name in DEFAULT_BLACKLIST {
        assert_eq!(key(&format!("/a?{name}=1")), "/a", "{name}");
    }
}

#[test]
fn facets_and_paging_stay_until_they_are_asked_to_go() {
    assert_eq!(key("/list?color=blue&page=2"), "/list?color=blue&page=2");
    let rules = Rules { drop_paging: true, ..Rules::default() };
    assert_eq!(key_under(&rules, "/list?color=blue&Page=2"), "/list?color=blue");
}

#[test]
fn kept_names_win_over_every_list() {
    let rules = Rules {
        keep: vec!["SORT".into(), "page".into(), "jsessionid".into()],
        extra: vec!["Color".into()],
        drop_paging: true,
        ..Rules::default()
    };
    assert_eq!(
        key_under(&rules, "/a;jsessionid=1?sort=up&page=2&color=blue&order=1"),
        "/a;jsessionid=1?sort=up&page=2"
    );
    let list = rules.blacklist();
    assert!(list.contains(&"Color") && !list.contains(&"sort") && !list.contains(&"page"));
    assert!(list.iter().all(|name| rules.drops(name)));
}

#[test]
fn session_path_parameters_go_and_others_stay() {
    for (target, want) in [
        ("/a;jsessionid=1F.node1?x=1", "/a?x=1"),
        ("/a;JSESSIONID=1/b", "/a/b"),
        ("/a;v=1;jsessionid=2;w=3", "/a;v=1;w=3"),
        ("/a;jsessionid", "/a;jsessionid"),
        ("/a;v=1", "/a;v=1"),
    ] {
        assert_eq!(key(target), want, "{target}");
    }
}

#[test]
fn options_sort_strip_and_fold_plus_signs() {
    let sort = Rules { sort: true, ..Rules::default() };
    assert_eq!(key_under(&sort, "/a?b=2&a=9&b=1&a=1"), "/a?a=9&a=1&b=2&b=1");
    let strip = Rules { strip_trailing_slash: true, ..Rules::default() };
    assert_eq!(key_under(&strip, "/a//?x=1/"), "/a?x=1/");
    assert_eq!(key_under(&strip, "/a/"), "/a");
    assert_eq!(key_under(&strip, "//"), "/");
    assert_eq!(strip.key_of_url(b"http://example.com/"), "http://example.com/");
    let form = Rules { form_encoded: true, ..Rules::default() };
    assert_eq!(key_under(&form, "/a+b?q=c+d"), "/a+b?q=c%20d");
    assert_eq!(key("/a?q=c+d"), "/a?q=c+d");
}

#[test]
fn targets_that_are_no_path_keep_their_words() {
    for (target, want) in [
        ("*", "*"),
        ("Www.Example.com:443", "www.example.com:443"),
        ("wp-login.php?x=1#y", "wp-login.php?x=1"),
        ("h%74tp://x/", "h%74tp://x/"),
        ("", ""),
        ("?sort=1", ""),
    ] {
        assert_eq!(key(target), want, "{target}");
    }
}

/// Targets made of the pieces that the rules look at, and of arbitrary bytes.
fn hostile_target() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        &b"/"[..],
        b".",
        b"..",
        b"%2e",
        b"%2F",
        b"%2f",
        b"%41",
        b"%34",
        b"%31",
        b"%",
        b"%a",
        b"4",
        b"1",
        b"a",
        b"A",
        b";",
        b";jsessionid=",
        b";JSESSIONID=1",
        b"?",
        b"&",
        b"=",
        b"#",
        b"utm_source",
        b"page",
        b"sort",
        b"+",
        b" ",
        b"http://",
        b"HTTP://Ex.COM:80",
        b"https://ex.com:443",
        b"://",
        b":",
        b":80",
        b"@",
        b"[::1]",
        b"\x00",
        b"\xc3\xa9",
        b"\xff",
        b"\"",
        b"\\",
        b"%C3%A9",
        b"%25",
        b"%3A",
        b"%40",
        b"ex.com",
    ]);
    prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat())
}

fn any_rules() -> impl Strategy<Value = Rules> {
    any::<[bool; 5]>().prop_map(|[sort, strip_trailing_slash, form_encoded, drop_paging, lists]| Rules {
        keep: if lists { vec!["sort".into()] } else { Vec::new() },
        extra: if lists { vec!["a".into()] } else { Vec::new() },
        sort,
        strip_trailing_slash,
        form_encoded,
        drop_paging,
    })
}

/// What a page is, apart from how its address is spelled.
type Page = (Vec<&'static str>, Vec<(&'static str, &'static str)>);

fn any_page() -> impl Strategy<Value = Page> {
    let segment =
        prop::sample::select(vec!["a", "A", "a%2Fb", "a/b", "a%2fb", "", "b", "%E4", "~x", "a;v=1"]);
    let parameter = (
        prop::sample::select(vec!["id", "ID", "page", "color"]),
        prop::sample::select(vec!["1", "2", "a", "A", "", "x%2Fy", "x/y", "+"]),
    );
    (prop::collection::vec(segment, 1..4), prop::collection::vec(parameter, 0..4))
}

fn spell(page: &Page, noise: u8) -> String {
    let has = |bit: u8| noise & (1 << bit) != 0;
    let mut url = String::new();
    if has(0) {
        url.push_str(if has(1) { "http://www.example.com:80" } else { "https://WWW.example.com" });
    }
    for segment in &page.0 {
        url.push('/');
        if has(2) {
            url.push_str("x/../");
        }
        url.push_str(segment);
        if has(3) {
            url.push_str(";jsessionid=7");
        }
    }
    let mut separator = '?';
    for (name, value) in &page.1 {
        if has(4) {
            url.push(separator);
            url.push_str("utm_source=n&UTM_TERM=");
            separator = '&';
        }
        url.push(separator);
        url.push_str(&format!("{name}={value}"));
        separator = '&';
    }
    if has(5) {
        url.push_str("#f");
    }
    if has(6) { url.replace("%2F", "%2f").replace('~', "%7e").replace("%E4", "%e4") } else { url }
}

proptest! {
    #[test]
    fn the_key_of_a_key_is_the_key(target in hostile_target(), rules in any_rules(), host in prop::option::of("ex\\.com(:80)?|[a:]{0,3}")) {
        let host = host.as_deref().map(str::as_bytes);
        let once = rules.key(&target, host);
        prop_assert!(once.bytes().all(|b| b.is_ascii_graphic()), "{once:?}");
        prop_assert_eq!(rules.key(once.as_bytes(), host), once.clone());
        let listed = rules.key_of_url(&target);
        prop_assert_eq!(rules.key_of_url(listed.as_bytes()), listed);
    }

    #[test]
    fn any_bytes_have_a_printable_key(target in prop::collection::vec(any::<u8>(), 0..40)) {
        let key = Rules::default().key(&target, None);
        prop_assert!(key.bytes().all(|b| b.is_ascii_graphic()), "{key:?}");
        prop_assert_eq!(Rules::default().key(key.as_bytes(), None), key);
    }

    /// Another case, `%2F`, segment or kept parameter is another page; another spelling is none.
    #[test]
    fn two_targets_share_a_key_exactly_when_they_are_one_page(a in any_page(), b in any_page(), x in any::<u8>(), y in any::<u8>()) {
        // `a/b` is two segments, and the two spellings of a code are one.
        let identity = |page: &Page| (page.0.join("/").replace("%2f", "%2F"), page.1.clone());
        prop_assert_eq!(key(&spell(&a, x)) == key(&spell(&b, y)), identity(&a) == identity(&b));
        prop_assert_eq!(key(&spell(&a, x)), key(&spell(&a, y)));
    }
}
