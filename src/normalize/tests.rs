//! What must hold of every list: nothing is lost, nothing merges that differs, and the report is what counting by hand
//! gives.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::url::Rules;

fn finished(form: Form, list: &str, rules: &str, keep_query_values: bool) -> Normalized {
    let mut collector = Collector::new(form);
    let stop = std::sync::atomic::AtomicUsize::new(0);
    let bytes = std::io::Cursor::new(list.as_bytes().to_vec());
    assert!(read_list(Box::new(bytes), "list", &mut collector, &stop).unwrap().is_none());
    finish(
        collector,
        Finishing {
            generated_at: "2026-03-11T02:00:00Z".parse().unwrap(),
            generator: "crawl-baseline test".to_owned(),
            options: Value::Null,
            rules: PriorityRules::parse(rules, "rules").unwrap(),
            keep_query_values,
            warnings: Vec::new(),
        },
    )
}

fn plain(list: &str) -> Normalized {
    finished(Form::Canonical(Rules::default()), list, "[]", true)
}

fn keys(list: &Normalized) -> Vec<&str> {
    list.rows().map(|row| row.url_key).collect()
}

#[test]
fn every_line_is_counted_and_the_first_url_of_a_key_stands_beside_it() {
    let list = plain(
        "# list\n\nHTTPS://E.example/A?utm_source=x\nhttps://e.example/A\nmailto:x\nhttps://e.example/a#top",
    );
    let t = list.totals;
    assert_eq!((t.lines, t.blank, t.comments, t.urls, t.rejected, t.unique, t.merged), (6, 1, 1, 3, 1, 2, 1));
    let rows: Vec<_> = list.rows().map(|r| (r.url, r.url_key, r.urls_merged)).collect();
    assert_eq!(
        rows,
        [
            ("HTTPS://E.example/A?utm_source=x", "https://e.example/A", 2),
            ("https://e.example/a#top", "https://e.example/a", 1)
        ]
    );
    assert_eq!(list.rejected, [Rejected { line: 5, reason: "other_scheme".to_owned() }]);
    assert_eq!((list.dedup_ratio(), list.dedup_verdict()), (Some(0.6667), "healthy"));
}

#[test]
fn the_order_is_the_score_then_the_url_and_a_rule_says_the_rest() {
    let rules = r#"[{"pattern": "/p/", "score": 9, "ttl_seconds": 60}, {"pattern": "/list", "score": 9, "yields": 40, "prerequisite": true}, {"pattern": "/neg", "score": -1}]"#;
    let list = finished(
        Form::Canonical(Rules::default()),
        "/z\n/neg\n/p/2\t2026-03-10T06:25:14Z\n/list\n/p/1\n/p/2\t2026-03-10T07:25:14Z",
        rules,
        false,
    );
    let rows: Vec<_> = list.rows().collect();
    assert_eq!(
        rows.iter().map(|r| (r.url, r.score)).collect::<Vec<_>>(),
        [("/list", 9), ("/p/1", 9), ("/p/2", 9), ("/z", 0), ("/neg", -1)]
    );
    assert_eq!((rows[0].yields, rows[0].prerequisite, rows[0].ttl_seconds), (Some(40.0), true, None));
    assert_eq!(
        (rows[2].ttl_seconds, rows[2].fetched_at.as_deref()),
        (Some(60), Some("2026-03-10T07:25:14Z"))
    );
}

#[test]
fn pages_in_another_order_are_siblings_where_the_order_is_kept() {
    let list = "/l?sort=b&x=1\n/l?x=1&sort=a\n/l?x=2&sort=a\n/l?x=1";
    assert_eq!(plain(list).rows().count(), 2);
    let kept = Rules { keep: vec!["sort".to_owned()], ..Rules::default() };
    let rules = r#"[{"pattern": "/l\\?sort", "score": 5}, {"pattern": "/l\\?x=1&sort", "score": 4, "sibling_value": 0.5}]"#;
    let list = finished(Form::Canonical(kept), list, rules, false);
    let rows: Vec<_> = list.rows().map(|r| (r.url, r.sibling_value)).collect();
    assert_eq!(
        rows,
        [
            ("/l?sort=b&x=1", None),
            ("/l?x=1&sort=a", Some(0.5)),
            ("/l?x=1", Some(SIBLING_VALUE)),
            ("/l?x=2&sort=a", None)
        ]
    );
}

#[test]
fn secrets_are_masked_after_keys_were_compared_and_it_is_said() {
    let list =
        finished(Form::Canonical(Rules::default()), "/a?token=one\n/a?token=two\n/a?token=one", "[]", false);
    let rows: Vec<_> = list.rows().map(|r| (r.url.to_owned(), r.url_key.to_owned(), r.urls_merged)).collect();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|(url, key, _)| url == key && url.starts_with("/a?token=~")), "{rows:?}");
    let mut text = Vec::new();
    list.write_json(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("one") && text.contains("cannot be fetched as printed"), "{text}");
    assert_eq!(
        keys(&finished(Form::Canonical(Rules::default()), "/a?token=one", "[]", true)),
        ["/a?token=one"]
    );
}

#[test]
fn the_report_says_what_each_parameter_makes() {
    let mut list = String::new();
    for page in 0..10 {
        for color in ["red", "blue", "green"] {
            list.push_str(&format!("/p/{page}?color={color}&utm_source={page}\n"));
        }
        list.push_str(&format!("/p/{page}?color=red&utm_source=mail\n/p/{page}?id={page}&id=2\n"));
    }
    let list = plain(&list);
    let rows: Vec<_> = list
        .parameters
        .iter()
        .map(|p| (p.name.as_str(), p.hits, p.distinct_values, p.urls_merged_without))
        .collect();
    assert_eq!(rows, [("color", 40, 3, 20), ("utm_source", 40, 11, 10), ("id", 10, 10, 0)]);
}

#[test]
fn many_names_are_cut_by_hits_and_said() {
    let mut list = String::new();
    for n in 0..PARAMETERS_LISTED + 5 {
        list.push_str(&format!("/{n}?p{n}=1&common=1\n"));
    }
    let list = plain(&list);
    assert_eq!((list.parameters.len(), list.parameters[0].name.as_str()), (PARAMETERS_LISTED, "common"));
    assert!(list.warnings.iter().any(|w| w.code == "overflow" && w.message.contains("6 are not listed")));
}

#[test]
fn the_document_has_the_promised_keys_and_each_url_is_a_line() {
    let list = finished(Form::Canonical(Rules::default()), "/a?x=1\n/b\nnone", "[]", false);
    let mut text = Vec::new();
    list.write_json(&mut text).unwrap();
    let json: Value = serde_json::from_slice(&text).unwrap();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        names(&json),
        "schema_version generated_at generator blacklist options totals dedup_ratio dedup_verdict urls parameters rejected warnings"
    );
    assert_eq!(names(&json["totals"]), "lines blank comments urls rejected unique merged");
    assert_eq!(
        names(&json["urls"][0]),
        "url url_key score urls_merged ttl_seconds yields prerequisite sibling_value fetched_at"
    );
    assert_eq!(names(&json["parameters"][0]), "name hits distinct_values urls_merged_without");
    assert_eq!(json["rejected"][0], serde_json::json!({"line": 3, "reason": "no_scheme"}));
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().any(|line| line.starts_with("    {\"url\":\"/b\"")), "{text}");
    // An empty list of a kind is one.
    let mut text = Vec::new();
    plain("/a").write_json(&mut text).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap()["rejected"], serde_json::json!([]));
}

#[test]
fn the_ratio_is_judged_and_what_would_help_is_named() {
    let warning = |list: &str| plain(list).warnings.into_iter().find(|w| w.code == "dedup_ratio");
    let trap: String = (0..100).map(|n| format!("/a?session_no={n}\n")).collect();
    let said = warning(&trap).unwrap();
    assert!(
        said.message.contains("made by: session_no") && said.hint.contains("--extra-blacklist"),
        "{said:?}"
    );
    let clean: String = (0..100).map(|n| format!("/{n}\n")).collect();
    assert!(warning(&clean).unwrap().message.contains("no single parameter"));
    let over: String = (0..100).map(|n| format!("/{}?sort={n}\n", n % 10)).collect();
    assert!(warning(&over).unwrap().hint.contains("--keep-param"));
    let repeats: String = (0..100).map(|n| format!("/{}\n", n % 10)).collect();
    assert!(warning(&repeats).unwrap().message.contains("the list repeats URLs"));
    let healthy: String = (0..100).map(|n| format!("/{}\n", n % 60)).collect();
    assert_eq!(warning(&healthy), None);
    assert_eq!(warning("/a\n/b\n"), None, "too few to judge");
    let verdict = |unique: u64| {
        let list: String = (0..100).map(|n| format!("/{}\n", n % unique)).collect();
        plain(&list).dedup_verdict()
    };
    let verdicts = [49, 50, 80, 81, 95, 96].map(verdict);
    assert_eq!(
        verdicts,
        ["over_normalised", "healthy", "healthy", "above_healthy", "above_healthy", "under_normalised"]
    );
}

#[test]
fn the_seeds_form_merges_orders_and_ranks_as_the_script_does() {
    let form = Form::Seed { extra: vec!["color".to_owned()], canonicalize: true };
    let rules = r#"[{"pattern": "^https://e\\.example/b", "score": 5}, {"pattern": ".*", "score": 1}]"#;
    let list = "https://e.example/Z/\nhttps://e.example/A?page=2\n\nhttps://e.example/z#x\n#c\nhttps://e.example/B/?color=red&Q=1";
    let list = finished(form, list, rules, true);
    let rows: Vec<_> = list.rows().map(|r| (r.url_key, r.score, r.urls_merged)).collect();
    // Equal scores keep the order of the list.
    assert_eq!(
        rows,
        [("https://e.example/b?q=1", 5, 1), ("https://e.example/z", 1, 2), ("https://e.example/a", 1, 1)]
    );
    assert_eq!((list.totals.lines, list.totals.blank, list.totals.comments), (6, 1, 1));
    assert_eq!(list.blacklist.len(), 17);
}

#[test]
fn a_sitemap_is_a_list_and_an_index_is_refused() {
    let list = plain(
        "<?xml version='1.0'?>\n<urlset><url><loc>https://e.example/?a=1&amp;b=2</loc></url><url><loc>x</loc></url></urlset>\n",
    );
    assert_eq!(keys(&list), ["https://e.example/?a=1&b=2"]);
    assert_eq!((list.totals.lines, list.totals.rejected), (2, 1));
    for (xml, says) in [
        ("<sitemapindex><sitemap><loc>/s</loc></sitemap></sitemapindex>", "an index"),
        ("<html/>", "its root"),
    ] {
        let mut collector = Collector::new(Form::Canonical(Rules::default()));
        let stop = std::sync::atomic::AtomicUsize::new(0);
        let error = read_list(Box::new(xml.as_bytes()), "s.xml", &mut collector, &stop).unwrap_err();
        assert!(error.to_string().contains(says) && error.exit().code() == 2, "{error}");
    }
}

/// Lists with few names and values, so that much merges.
fn any_list() -> impl Strategy<Value = Vec<String>> {
    let parameter = (
        prop::sample::select(vec!["id", "color", "utm_source", "sort", "%69d", "SID"]),
        prop::sample::select(vec!["1", "2", "a", "%61", "A", ""]),
    );
    let url = (
        prop::sample::select(vec!["/a", "/A", "/a%2Fb", "/a/b", "/c/../a"]),
        prop::collection::vec(parameter, 0..4),
    );
    let url = url.prop_map(|(path, parameters)| {
        let query: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
    });
    prop::collection::vec(url, 1..40)
}

fn unique(rules: &Rules, urls: &[String]) -> usize {
    urls.iter().map(|url| rules.key_of_url(url.as_bytes())).collect::<BTreeSet<_>>().len()
}

proptest! {
    #[test]
    fn the_report_is_what_dropping_each_parameter_in_turn_gives(urls in any_list(), sort in any::<bool>()) {
        let rules = Rules { sort, ..Rules::default() };
        let list = finished(Form::Canonical(rules.clone()), &urls.join("\n"), "[]", true);
        let now = unique(&rules, &urls);
        prop_assert_eq!(list.totals.unique, now as u64);
        for row in &list.parameters {
            let name = row.name.clone();
            let makes = if rules.drops(&name) {
                unique(&Rules { keep: vec![name.clone()], ..rules.clone() }, &urls) - now
            } else {
                now - unique(&Rules { extra: vec![name.clone()], ..rules.clone() }, &urls)
            };
            prop_assert_eq!(row.urls_merged_without, makes as u64, "{}", name);
            let has = |url: &&String| crate::url::parameters(url.as_bytes()).any(|(n, _)| crate::url::canonical_text(n) == name);
            prop_assert_eq!(row.hits, urls.iter().filter(has).count() as u64);
        }
    }

    #[test]
    fn nothing_is_lost_whatever_the_lines_are(lines in prop::collection::vec("[ -~\\t]{0,20}|/[a-z?=&]{0,8}|#.{0,5}|\\{.{0,9}", 1..40)) {
        // The first line keeps the list from beginning like a sitemap.
        let list = plain(&format!("#\n{}\n", lines.join("\n")));
        let t = list.totals;
        prop_assert_eq!(t.lines, lines.len() as u64 + 1);
        prop_assert_eq!(t.lines, t.blank + t.comments + t.urls + t.rejected);
        prop_assert_eq!(t.urls, t.unique + t.merged);
        prop_assert_eq!(list.rows().map(|r| r.urls_merged).sum::<u64>(), t.urls);
        prop_assert_eq!(list.rows().count() as u64, t.unique);
    }

    /// Another case of the path, another code for a slash, another value of a kept parameter, another order: other pages.
    #[test]
    fn nothing_merges_that_differs(path in "/[a-z]{1,4}", value in "[a-z]{1,4}", utm in "[a-z]{0,3}") {
        let page = format!("https://e.example{path}/x?id={value}&t=1&utm_source={utm}");
        let (upper, host) = (path.to_uppercase(), "https://e.example");
        let others = [
            format!("{host}{upper}/x?id={value}&t=1"),
            format!("{host}{path}%2Fx?id={value}&t=1"),
            format!("{host}{path}/x/?id={value}&t=1"),
            format!("{host}{path}/x?id={value}&t=2"),
            format!("{host}{path}/x?t=1&id={value}"),
            format!("{host}{path}/x?ID={value}&t=1"),
            format!("{host}{path}/x?id={value}&t=1&t=1"),
            format!("http://e.example{path}/x?id={value}&t=1"),
        ];
        let list = plain(&format!("{page}\n{}", others.join("\n")));
        prop_assert_eq!(list.totals.unique, 9);
        let same = plain(&format!("{page}\n{host}:443{path}/./x?id={value}&utm_source=z&t=1#top"));
        prop_assert_eq!(same.totals.unique, 1);
    }

    /// Normalising what was normalised changes nothing.
    #[test]
    fn a_list_of_keys_is_its_own_list(urls in any_list()) {
        let first = plain(&urls.join("\n"));
        let again = plain(&keys(&first).join("\n"));
        prop_assert_eq!(again.totals.merged, 0);
        prop_assert!(again.rows().all(|row| row.url == row.url_key));
        let sorted = |list: &Normalized| keys(list).iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        prop_assert_eq!(sorted(&again), sorted(&first));
    }

    /// Looking at names first must not let a secret through.
    #[test]
    fn what_is_printed_is_masked_as_every_url_is(urls in prop::collection::vec("(https://([a-z]:[a-z]@)?e\\.example)?/[a-z;&@]{0,3}([?&;#](token|key|to|q|%6bey|a b)(=[a-z0-9@.%~=?/]{0,12})?){0,4}", 1..9)) {
        let list = finished(Form::Canonical(Rules::default()), &urls.join("\n"), "[]", false);
        for row in list.rows() {
            prop_assert_eq!(crate::url::mask_secrets(row.url), row.url);
            prop_assert_eq!(crate::url::mask_secrets(row.url_key), row.url_key);
        }
    }
}
