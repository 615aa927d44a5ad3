//! The configuration file, times, spans and zones: what is read and what is refused, with which words.

use super::*;

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_nearest_one() {
    let e = File::parse(
        "[paths]\nlogs = []\n\n[[site]]\nhosts = [\"a\"]\ntimezone = \"UTC\"\n",
        Path::new("c.toml"),
    )
    .unwrap_err();
    assert_eq!(e.exit().code(), 2);
    assert!(
        e.to_string().starts_with("c.toml:6: is no valid configuration: unknown field `timezone`"),
        "{e}"
    );
    assert_eq!(e.remedy(), Some("did you mean `time_zone`?"));
}

#[test]
fn values_out_of_range_are_refused() {
    for (text, what) in [
        ("[[site]]\n", "no `hosts`"),
        ("[[site]]\nhosts=[\"a\"]\ncdn_hit_ratio=80.0\n", "cdn_hit_ratio"),
        ("[[site]]\nhosts=[\"a\"]\ntime_zone=\"Berlin\"\n", "time_zone"),
        ("[[site]]\nhosts=[\"a\"]\noperator_max_rpm=0\n", "operator_max_rpm"),
        ("[[site]]\nhosts=[\"a\"]\nenforce=[\"search-engines\"]\n", "no category"),
        ("[[site]]\nhosts=[\"a\"]\ncrawl_delay_seconds=-1.0\n", "crawl_delay_seconds"),
    ] {
        let e = File::parse(text, Path::new("c.toml")).unwrap_err();
        assert!(e.to_string().contains(what), "{e}");
    }
    for (text, what, hint) in [
        (
            "[policy]\nraise_percnt=5\n",
            "c.toml:2: is no valid configuration: unknown field `raise_percnt`",
            "did you mean `raise_percent`?",
        ),
        (
            "[policy]\nraise_percent=500\n",
            "c.toml: policy.raise_percent: is out of range: expected 0 to 100, found 500",
            "",
        ),
        ("[policy]\nraise_percent=\"5\"\n", "c.toml:2: is no valid configuration: invalid type", "the keys"),
        ("[policy.breaker]\nconsecutiv=5\n", "unknown field `consecutiv`", "`consecutive`"),
        (
            "[[pin]]\nhost=\"a\"\nmax_requests_per_minute=0\n",
            "number 1: max_requests_per_minute is 0",
            "robots.txt",
        ),
        ("[[pin]]\nmax_requests_per_minute=1\n", "number 1: has no `host`", "add host"),
        ("[[pin]]\nhost=\"a\"\n", "number 1: fixes nothing", "add max_requests_per_minute"),
        (
            "[[pin]]\nhost=\"a\"\nrpm=1\n",
            "c.toml:3: is no valid configuration: unknown field `rpm`",
            "the keys",
        ),
        (
            "[[pin]]\nhost=\"a\"\nenforce_burst=1\n[[pin]]\nhost=\"A\"\nbase_delay_ms=9\n",
            "c.toml: [[pin]] number 2: fixes what number 1 fixes",
            "one [[pin]]",
        ),
    ] {
        let e = File::parse(text, Path::new("c.toml")).unwrap_err();
        assert_eq!(e.exit().code(), 2);
        assert!(e.to_string().contains(what), "{e}");
        assert!(e.remedy().unwrap_or_default().contains(hint), "{e:?}");
    }
    let file = File::parse("[[site]]\nhosts=[\"a.example\"]\n", Path::new("c.toml")).unwrap();
    assert!(file.site_of("A.example").is_some());
}

#[test]
fn times_spans_and_zones_are_read_or_refused_with_a_remedy() {
    assert_eq!(time("--since", "2026-03-10").unwrap().timestamp(), 1_773_100_800);
    assert_eq!(time("--since", "2026-03-10T01:00:00+01:00").unwrap().timestamp(), 1_773_100_800);
    assert!(time("--since", "yesterday").unwrap_err().remedy().is_some());
    assert_eq!(span("--last", "24h").unwrap(), 86_400);
    for wrong in ["", "h", "24", "-1h", "24x", "9999999999999999d"] {
        assert_eq!(span("--last", wrong).unwrap_err().exit().code(), 2, "{wrong}");
    }
    assert_eq!(zone_seconds("-0330").unwrap(), -12_600);
    for wrong in ["", "0100", "+1", "+9900", "+0x00", "UTC"] {
        assert_eq!(zone_seconds(wrong).unwrap_err().exit().code(), 2, "{wrong}");
    }
}
