//! The built-in rows as a whole, overlays, and what is wrong with rows.

use std::collections::BTreeSet;
use std::io::Write as _;

use super::*;

fn overlay(text: &str) -> Result<Catalogue, Error> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    Catalogue::with_overlay(file.path())
}

const ROW: &str = "word\tAcmeBot\tAcmeBot\tAcme\tAcme Inc\tseo\tfile:acme.json+acme-v6.json rdns:acme.example\tAcmeBot/1.0\n";

#[test]
fn the_built_in_rows_are_read_and_every_name_is_unique() {
    let catalogue = Catalogue::built_in();
    assert!(catalogue.rows().len() >= 414, "{} rows", catalogue.rows().len());
    assert_eq!(catalogue.rows().len(), catalogue.bots().len(), "one row per bot");
    let names: BTreeSet<String> = catalogue.bots().iter().map(|b| b.name.to_ascii_lowercase()).collect();
    assert_eq!(names.len(), catalogue.bots().len());
    for row in catalogue.rows().iter().filter(|r| r.kind == MatchKind::Regex) {
        assert!(row_regex(&row.token).is_ok(), "line {}: {}", row.line, row.token);
    }
    let used: BTreeSet<&str> = catalogue.bots().iter().map(|b| b.category).collect();
    assert_eq!(used.len(), CATEGORIES.len(), "every category has a bot");
}

#[test]
fn the_catalogue_stays_small() {
    assert!(BUILT_IN.len() < 256 * 1024, "{} bytes", BUILT_IN.len());
}

#[test]
fn rows_of_a_user_stand_in_front() {
    let catalogue = overlay(&format!("# mine\r\n\n{ROW}")).unwrap();
    assert_eq!(catalogue.rows()[0].token, "AcmeBot");
    assert_eq!(catalogue.rows()[0].line, 3);
    let info = catalogue.info(catalogue.find("acmebot").unwrap());
    assert_eq!((info.operator.as_str(), info.category), ("Acme Inc", "seo"));
    assert_eq!(
        info.methods,
        [
            Method::Files(vec!["acme.json".to_owned(), "acme-v6.json".to_owned()]),
            Method::ReverseDns("acme.example".to_owned())
        ]
    );
    assert!(catalogue.find("Googlebot").is_some());
}

#[test]
fn a_row_of_a_user_may_name_a_built_in_bot_and_speaks_for_it() {
    let catalogue = overlay("word\tOurProbe\tGooglebot\tGooglebot\tMe\tother\t-\tOurProbe/1\n").unwrap();
    let id = catalogue.find("Googlebot").unwrap();
    assert_eq!(catalogue.info(id).operator, "Me");
    assert_eq!(
        catalogue.rows_of(id).map(|r| r.token.as_str()).collect::<Vec<_>>(),
        ["OurProbe", "Googlebot"]
    );
}

#[test]
fn a_row_that_is_not_as_expected_is_named_with_its_line() {
    for (row, place, want) in [
        ("word\tA\tA\n", ":1", "expected 8 fields separated by tabs, found 3"),
        (&ROW.replace("word", "substr"), ":1", "expected word, start or regex, found `substr`"),
        (&ROW.replace("\tAcmeBot\tAcmeBot", "\t\tAcmeBot"), ":1", "expected a token and a sample"),
        (&ROW.replace("\tAcme\t", "\tAc(me)\t"), ":1", "family: expected words"),
        (&ROW.replace("Acme Inc", ""), ":1", "operator: expected a name or -"),
        (&ROW.replace("seo", "soe"), ":1", "category: expected one of the sixteen, found `soe`"),
        (&ROW.replace("rdns:acme.example", "rdns:.acme.example"), ":1", "found `rdns:.acme.example`"),
        (&ROW.replace("file:", "files:"), ":1", "found `files:acme.json+acme-v6.json`"),
        (&ROW.replace("word\tAcmeBot", "regex\tA(?=cme)"), ":1", "look-around"),
        (&format!("{ROW}{}", ROW.replace("seo", "feed")), ":2", "`AcmeBot` has another row"),
    ] {
        let e = overlay(row).unwrap_err();
        assert_eq!(e.kind(), crate::error::ErrorKind::Usage);
        assert!(e.to_string().contains(want), "{e}");
        assert!(e.to_string().contains(&format!("{place}: ")), "{e}");
        assert!(e.remedy().is_some());
    }
    assert!(overlay("# nothing\n").unwrap_err().to_string().contains("at least one row"));
    assert!(Catalogue::with_overlay(Path::new("/no/such/catalogue.tsv")).is_err());
}

#[test]
fn a_misspelt_name_finds_its_nearest() {
    let catalogue = Catalogue::built_in();
    assert_eq!(catalogue.nearest("Googelbot"), Some("Googlebot"));
    assert_eq!(catalogue.nearest("gptbo"), Some("GPTBot"));
    assert_eq!(catalogue.nearest("something else entirely"), None);
}
