//! Verdicts of whole folders of range files.

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Self(folder)
    }

    fn load(&self, catalogue: &Catalogue) -> Result<Verifier, Error> {
        Verifier::load(catalogue, Some(self.0.path()), None)
    }
}

const GOOGLE: &str = r#"{"creationTime": "2026-03-01T10:00:00.000000", "prefixes": [{"ipv4Prefix": "198.51.100.0/27"}, {"ipv6Prefix": "2001:db8:66::/48"}]}"#;

/// 2026-03-01 in days since 1970-01-01.
const FIRST_OF_MARCH: i32 = 20_513;

fn verdict(verifier: &Verifier, catalogue: &Catalogue, bot: &str, client: &str) -> Verification {
    verifier.verdict(&Who::Known(catalogue.find(bot).unwrap()), Some(client.parse().unwrap()))
}

#[test]
fn a_file_speaks_for_the_bots_that_name_it_and_for_no_other() {
    let catalogue = Catalogue::built_in();
    let verifier = Folder::with(&[("googlebot.json", GOOGLE)]).load(&catalogue).unwrap();
    for (bot, client, want) in [
        ("Googlebot", "198.51.100.5", Verification::Verified),
        ("Googlebot", "::ffff:198.51.100.5", Verification::Verified),
        ("Googlebot", "2001:db8:66::5", Verification::Verified),
        ("Googlebot", "192.0.2.1", Verification::Failed),
        ("Googlebot", "2001:db8:67::5", Verification::Failed),
        ("Googlebot-Image", "192.0.2.1", Verification::Failed),
        ("Bingbot", "192.0.2.1", Verification::NotCheckable),
        ("MJ12bot", "198.51.100.5", Verification::NotCheckable),
    ] {
        assert_eq!(verdict(&verifier, &catalogue, bot, client), want, "{bot} {client}");
    }
    let googlebot = Who::Known(catalogue.find("Googlebot").unwrap());
    assert_eq!(verifier.verdict(&googlebot, None), Verification::NotCheckable, "the client is a name");
    let address = Some("192.0.2.1".parse().unwrap());
    for who in [Who::People, Who::Declared("Googlebot".to_owned()), Who::NoUserAgent, Who::OtherClient] {
        assert_eq!(verifier.verdict(&who, address), Verification::NotCheckable);
        assert!(!verifier.can_check(&who));
    }
    assert!(verifier.can_check(&googlebot));
}

#[test]
fn without_any_file_nothing_can_be_checked() {
    let catalogue = Catalogue::built_in();
    let verifier = Verifier::load(&catalogue, None, None).unwrap();
    assert_eq!(verdict(&verifier, &catalogue, "Googlebot", "192.0.2.1"), Verification::NotCheckable);
}

#[test]
fn a_file_that_is_called_like_a_bot_speaks_for_it() {
    let catalogue = Catalogue::built_in();
    let verifier = Folder::with(&[("oh-dear.txt", "192.0.2.0/24\n")]).load(&catalogue).unwrap();
    assert_eq!(verdict(&verifier, &catalogue, "Oh Dear", "192.0.2.9"), Verification::Verified);
    assert_eq!(verdict(&verifier, &catalogue, "Oh Dear", "198.51.100.9"), Verification::Failed);
}

#[test]
fn files_deny_only_what_they_could_hold() {
    let catalogue = Catalogue::built_in();
    let verifier = Folder::with(&[("ips-v4", "192.0.2.0/24\n")]).load(&catalogue).unwrap();
    let bot = "Cloudflare Healthchecks";
    assert_eq!(verdict(&verifier, &catalogue, bot, "198.51.100.1"), Verification::Failed);
    assert_eq!(
        verdict(&verifier, &catalogue, bot, "2001:db8::1"),
        Verification::NotCheckable,
        "no IPv6 file was given"
    );

    let verifier = Folder::with(&[("gptbot.json", "[\"192.0.2.0/24\"]")]).load(&catalogue).unwrap();
    assert_eq!(
        verdict(&verifier, &catalogue, "GPTBot", "2001:db8::1"),
        Verification::Failed,
        "it would be listed"
    );

    let half = [("user-triggered-fetchers.json", "[\"192.0.2.0/24\"]")];
    let both = [half[0], ("user-triggered-fetchers-google.json", "[\"198.51.100.0/24\"]")];
    let bot = "FeedFetcher-Google";
    let verifier = Folder::with(&half).load(&catalogue).unwrap();
    assert_eq!(verdict(&verifier, &catalogue, bot, "192.0.2.1"), Verification::Verified);
    assert_eq!(
        verdict(&verifier, &catalogue, bot, "198.51.100.1"),
        Verification::NotCheckable,
        "the other half is missing"
    );
    let verifier = Folder::with(&both).load(&catalogue).unwrap();
    assert_eq!(verdict(&verifier, &catalogue, bot, "198.51.100.1"), Verification::Verified);
    assert_eq!(verdict(&verifier, &catalogue, bot, "203.0.113.1"), Verification::Failed);
}

#[test]
fn a_confirmed_name_verifies_what_the_ranges_do_not_hold_yet() {
    let catalogue = Catalogue::built_in();
    let folder = Folder::with(&[("googlebot.json", GOOGLE)]);
    let names = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        names.path(),
        "192.0.2.7\tcrawl-7.googlebot.com\ttrue\n192.0.2.8\tcrawl-8.googlebot.com\tfalse\n192.0.2.9\t-\t-\n",
    )
    .unwrap();
    let verifier = Verifier::load(&catalogue, Some(folder.0.path()), Some(names.path())).unwrap();
    for (client, want) in [
        ("192.0.2.7", Verification::Verified),
        ("192.0.2.8", Verification::Failed),
        ("192.0.2.9", Verification::Failed),
        ("198.51.100.5", Verification::Verified),
    ] {
        assert_eq!(verdict(&verifier, &catalogue, "Googlebot", client), want, "{client}");
    }
    let verifier = Verifier::load(&catalogue, None, Some(names.path())).unwrap();
    assert_eq!(verdict(&verifier, &catalogue, "Googlebot", "192.0.2.7"), Verification::Verified);
    assert_eq!(verdict(&verifier, &catalogue, "Googlebot", "192.0.2.8"), Verification::Failed);
    assert_eq!(
        verdict(&verifier, &catalogue, "Googlebot", "192.0.2.9"),
        Verification::NotCheckable,
        "no answer"
    );
    assert_eq!(verdict(&verifier, &catalogue, "YandexBot", "192.0.2.7"), Verification::Failed);
    assert_eq!(
        verdict(&verifier, &catalogue, "GPTBot", "192.0.2.7"),
        Verification::NotCheckable,
        "it has no suffix"
    );
}

#[test]
fn ranges_older_than_a_week_are_stale_and_name_their_operators() {
    let catalogue = Catalogue::built_in();
    let verifier = Folder::with(&[("googlebot.json", GOOGLE), ("gptbot.json", "[\"192.0.2.1\"]")])
        .load(&catalogue)
        .unwrap();
    assert_eq!(verifier.files()[0].created_day(), Some(i64::from(FIRST_OF_MARCH)));
    assert_eq!(verifier.stale_files(FIRST_OF_MARCH + 7).count(), 0);
    let stale: Vec<_> = verifier.stale_files(FIRST_OF_MARCH + 8).map(|f| (f.name(), f.operators())).collect();
    assert_eq!(stale, [("googlebot.json", &["Google".to_owned()][..])]);
    let who = |name| Who::Known(catalogue.find(name).unwrap());
    assert!(verifier.has_fresh_ranges(&who("Googlebot"), FIRST_OF_MARCH + 7));
    assert!(!verifier.has_fresh_ranges(&who("Googlebot"), FIRST_OF_MARCH + 8));
    assert!(verifier.has_fresh_ranges(&who("GPTBot"), FIRST_OF_MARCH + 800), "a file without a date");
    assert!(!verifier.has_fresh_ranges(&who("Bingbot"), FIRST_OF_MARCH));
}

#[test]
fn files_that_speak_for_nobody_are_listed_and_clouds_refused() {
    let catalogue = Catalogue::built_in();
    let files = [
        (".hidden.json", "x"),
        ("README.txt", "words"),
        ("googlebot.json", GOOGLE),
        ("googlebot.json.sig", "x"),
        ("own.json", "[]"),
    ];
    let verifier = Folder::with(&files).load(&catalogue).unwrap();
    assert_eq!(verifier.unused_files(), ["README.txt", "own.json"]);
    assert_eq!(verifier.files().len(), 1);
    let e = Folder::with(&[("ip-ranges.json", r#"{"syncToken": "1"}"#)]).load(&catalogue).unwrap_err();
    assert!(e.to_string().contains("ip-ranges.json: the file is refused"), "{e}");
    assert_eq!(
        Verifier::load(&catalogue, Some(Path::new("/no/such/folder")), None).unwrap_err().exit().code(),
        2
    );
}
