//! Every rule with strings of its own, and the catalogue against itself.

use super::*;

fn matcher() -> Matcher {
    Matcher::new(Arc::new(Catalogue::built_in()))
}

fn bot(matcher: &Matcher, user_agent: &str) -> Option<String> {
    matcher.classify(Some(user_agent.as_bytes())).bot_name(matcher.catalogue()).map(str::to_owned)
}

/// Strings of people: each kind holds something that a careless list takes for a bot.
const PEOPLE: &[&str] = &[
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1",
    // Phones whose model sounds like a bot.
    "Mozilla/5.0 (Linux; Android 11; CUBOT_P50) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/99.0.0.0 Mobile Safari/537.36",
    "Dalvik/2.1.0 (Linux; U; Android 10; CUBOT KINGKONG 5 Build/QP1A)",
    "Mozilla/5.0 (Linux; Android 7.0; M bot 54 Build/NRD90M; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/60.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 8.0; IDbot53 Build/O) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/70.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 5.1; Power Bot Build/L) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/58.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 5.1; Titan Cosmos Vortex Build/L) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/58.0 Mobile Safari/537.36",
    // In-app browsers of companies that also run bots.
    "Mozilla/5.0 (iPhone; CPU iPhone OS 16_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBDV/iPhone12,1;FBSN/iOS]",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 16_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 16_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.27",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 16_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/20C65 Twitter for iPhone/9.41",
    "Mozilla/5.0 (Linux; Android 12) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/110.0 Mobile DuckDuckGo/5 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/116.0 YaBrowser/23.9.0 (beta) Yowser/2.5 Safari/537.36",
    "Mozilla/5.0 (Linux; Android 9; X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0 Mobile Safari/537.36 YandexSearch/9.20",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 12_0 like Mac OS X) AppleWebKit/605 (KHTML, like Gecko) Mobile/16A baiduboxapp/11.0 (Baidu; P2 12.0)",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 NAVER(inapp; search; 2000; 12.4)",
    "Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) discord/1.0.9 Chrome/108.0 Electron/22.3 Safari/537.36",
    "Mozilla/5.0 (Linux; Android 11; KFTR) AppleWebKit/537.36 (KHTML, like Gecko) Silk/120.4 like Chrome/120.0 Safari/537.36",
    "Mozilla/5.0 (Linux; Android 13; Pixel 7; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/115.0 Mobile Safari/537.36 BytedanceWebview/d8a21c6",
    "Mozilla/5.0 (Linux; Android 13; Pixel 7; wv) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/115.0 Mobile Safari/537.36 CamScanner/6.1",
    "Mozilla/5.0 (Linux; Android 13; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/115.0 Mobile Safari/537.36 (Grove android@115.0.5790.166)",
    // Stacks, text browsers, old phones.
    "Chatter/12.8.0.1 CFNetwork/1121.2.2 Darwin/19.3.0",
    "Safari%20Technology%20Preview/18619.1 CFNetwork/1490 Darwin/23.2.0 (x86_64)",
    "iRobot/8.0.1 CFNetwork/1474 Darwin/23.0.0",
    "Lynx/2.9.0dev.12 libwww-FM/2.14 SSL-MM/1.4.1 OpenSSL/3.0.11",
    "Links (2.28; Linux 6.1.0-13-amd64 x86_64; GNU C 12.2; text)",
    "w3m/0.5.3+git20230121",
    "Opera/9.80 (J2ME/MIDP; Opera Mini/7.1.32052/191.273; U; en) Presto/2.12.423 Version/12.16",
    "UCWEB/2.0 (MIDP-2.0; U; Adr 5.1; en-US) U2/1.0.0 UCBrowser/11.0",
    "NokiaN95/11.0.026; Series60/3.1 Profile/MIDP-2.0 Configuration/CLDC-1.1",
    "SonyEricssonK800i/R1KG Browser/NetFront/3.3 Profile/MIDP-2.0",
    // Add-ons and old desktop browsers.
    "Mozilla/5.0 (Windows NT 6.1; rv:22.0) Gecko/20100101 Firefox/22.0 AlexaToolbar/amznf-3.0",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; SLCC2; .NET CLR 2.0.50727; .NET4.0C)",
    "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1; Embedded Web Browser from: http://bsalsa.com/; .NET CLR 2.0)",
    "Mozilla/5.0 (Windows; U; Windows NT 5.1; en) AppleWebKit/527+ (KHTML, like Gecko) Small Browser/1.7 http://www.browser.example",
    "Mozilla/5.0 (X11; U; Linux x86_64; en-US; rv:1.9.1.3) Gecko/20090914 Slackware/13.0 Firefox/3.5.3",
];

#[test]
fn every_sample_resolves_to_its_own_row() {
    let matcher = matcher();
    for (index, row) in matcher.catalogue().rows().iter().enumerate() {
        let found = matcher.look(&readable(row.sample.as_bytes())).row.map(|(r, _, _)| r);
        assert_eq!(found, Some(index), "line {}: {}", row.line, row.sample);
    }
}

#[test]
fn people_are_no_bots() {
    let matcher = matcher();
    for user_agent in PEOPLE {
        assert_eq!(matcher.classify(Some(user_agent.as_bytes())), Who::People, "{user_agent}");
    }
}

#[test]
fn groups_that_are_no_bots() {
    let matcher = matcher();
    assert_eq!(matcher.classify(None), Who::UserAgentNotLogged);
    for (user_agent, want) in [
        ("", Who::NoUserAgent),
        ("-", Who::NoUserAgent),
        ("  ", Who::NoUserAgent),
        ("ShopApp/3.1 build 77", Who::OtherClient),
        ("bot", Who::OtherClient),
        ("--", Who::OtherClient),
        ("AcmeSpider/2.3 (+https://acme.example/spider)", Who::Declared("AcmeSpider".to_owned())),
    ] {
        assert_eq!(matcher.classify(Some(user_agent.as_bytes())), want, "{user_agent}");
    }
}

#[test]
fn a_declared_name_of_the_catalogue_is_that_bot() {
    let matcher = matcher();
    let curl = Who::Known(matcher.catalogue().find("curl").unwrap());
    assert_eq!(matcher.classify(Some(b"(curl/8.0; +http://acme.example)")), curl);
    assert_eq!(matcher.called("AcmeBot".to_owned()), Who::Declared("AcmeBot".to_owned()));
}

#[test]
fn the_first_row_wins_wherever_it_stands_in_the_string() {
    let matcher = matcher();
    for (user_agent, want) in [
        ("Mozilla/5.0 (compatible; adidxbot/2.0; +http://www.bing.com/bingbot.htm)", "AdIdxBot"),
        ("Mozilla/5.0 (compatible; bingbot/2.0; x) adidxbot", "AdIdxBot"),
        (
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html) https://deepcrawl.com/bot",
            "Lumar",
        ),
        ("http.rb/5.1.1 (Mastodon/4.2.0; +https://social.example/)", "Mastodon"),
        (
            "Mozilla/5.0 (X11) HeadlessChrome/120 Safari/537.36 Prerender (+https://render.example)",
            "Prerender",
        ),
        ("Acme-HttpClient; okhttp/4.9", "(other-client)"),
        ("okhttp/4.9", "okhttp"),
        ("GOOGLEBOT/2.1", "Googlebot"),
    ] {
        assert_eq!(bot(&matcher, user_agent).as_deref(), Some(want), "{user_agent}");
    }
}

#[test]
fn a_letter_or_digit_on_the_left_makes_another_word() {
    let matcher = matcher();
    for (user_agent, want) in [
        ("IonCrawl (https://example.org/)", "IonCrawl"),
        ("TheCCBot/2.0 (+https://theccbot.example/)", "TheCCBot"),
        ("9CCBot/2.0", "9CCBot"),
        ("_CCBot/2.0", "CCBot"),
        ("\u{e9}CCBot/2.0", "CCBot"),
    ] {
        assert_eq!(bot(&matcher, user_agent).as_deref(), Some(want), "{user_agent}");
    }
}

#[test]
fn a_mention_names_nobody() {
    let matcher = matcher();
    for (user_agent, want) in [
        ("Mozilla/5.0 (compatible; SemrushBot/7~bl; like Googlebot/2.1)", Some("SemrushBot")),
        ("Mozilla/5.0 (compatible; AcmeBot/1; like DotBot/1.0)", Some("AcmeBot")),
        ("Mozilla/5.0 (compatible; AcmeBot/1; Googlebot-like)", Some("AcmeBot")),
        ("AcmeRobot (Following Mediapartners-Google)", Some("AcmeRobot")),
        ("Mozilla/5.0 (X11; Linux) Gecko/1 Firefox/1 like Googlebot", None),
        ("like DotBot, DotBot/1.0", Some("DotBot")),
    ] {
        assert_eq!(bot(&matcher, user_agent).as_deref(), want, "{user_agent}");
    }
}

#[test]
fn strings_whose_blanks_were_written_as_plus_signs_are_read() {
    let matcher = matcher();
    for (user_agent, want) in [
        (
            "Mozilla/5.0+(compatible;+Yahoo!+Slurp;+http://help.yahoo.com/help/us/ysearch/slurp)",
            "Yahoo! Slurp",
        ),
        ("Mozilla/5.0+(compatible;+AcmeSpider/2;++http://acme.example/)", "AcmeSpider"),
        ("Mozilla/5.0+(compatible;+Acme/2;+like+Googlebot;++http://acme.example/)", "Acme"),
    ] {
        assert_eq!(bot(&matcher, user_agent).as_deref(), Some(want), "{user_agent}");
    }
}

#[test]
fn purposes_of_one_operator_stay_apart() {
    let matcher = matcher();
    let names: Vec<_> =
        ["GPTBot/1.3", "OAI-SearchBot/1.3", "ChatGPT-User/1.0"].map(|u| bot(&matcher, u)).into();
    assert_eq!(
        names,
        [Some("GPTBot".to_owned()), Some("OAI-SearchBot".to_owned()), Some("ChatGPT-User".to_owned())]
    );
}

#[test]
fn googlebot_and_bingbot_have_variants() {
    let matcher = matcher();
    let id = |name| matcher.catalogue().find(name).unwrap();
    let phone = b"Mozilla/5.0 (Linux; Android 6.0.1) Mobile Safari/537.36 (compatible; Googlebot/2.1)";
    assert_eq!(matcher.variant(id("Googlebot"), phone), Some("smartphone"));
    assert_eq!(matcher.variant(id("Googlebot"), b"Googlebot/2.1"), Some("desktop"));
    assert_eq!(matcher.variant(id("Bingbot"), b"bingbot/2.0"), Some("desktop"));
    assert_eq!(matcher.variant(id("GPTBot"), phone), None);
}

#[test]
fn rows_of_a_user_win_over_built_in_ones() {
    use std::io::Write as _;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "regex\t^Googlebot/9\tOurProbe\tOurProbe\tMe\tmonitoring\t-\tGooglebot/9").unwrap();
    let matcher = Matcher::new(Arc::new(Catalogue::with_overlay(file.path()).unwrap()));
    assert_eq!(bot(&matcher, "Googlebot/9.1").as_deref(), Some("OurProbe"));
    assert_eq!(bot(&matcher, "Googlebot/2.1").as_deref(), Some("Googlebot"));
}

#[test]
fn bytes_that_are_no_text_are_read_as_well() {
    let matcher = matcher();
    for (user_agent, want) in [
        (&b"\xff\xfe Googlebot/2.1"[..], Some("Googlebot")),
        (b"\x00\xffBadBot/1", Some("BadBot")),
        (b"Mozilla/5.0 \xff", None),
    ] {
        assert_eq!(matcher.classify(Some(user_agent)).bot_name(matcher.catalogue()), want);
    }
}

#[test]
fn an_explanation_gives_the_same_answer_and_says_why() {
    let matcher = matcher();
    let samples = matcher.catalogue().rows().iter().map(|r| r.sample.as_str());
    for user_agent in samples.chain(PEOPLE.iter().copied()).chain(["", "-", "ShopApp/3", "AcmeBot/1"]) {
        let explanation = matcher.explain(Some(user_agent.as_bytes()));
        assert_eq!(explanation.who, matcher.classify(Some(user_agent.as_bytes())), "{user_agent}");
        let by_row = matches!(explanation.rule, Rule::Row { .. });
        assert_eq!(by_row, matches!(explanation.who, Who::Known(_)), "{user_agent}");
    }
    for (user_agent, want) in [
        (
            "TheCCBot/2.0",
            &[
                "TheCCBot",
                "`TheCCBot` at byte 0 ends in `bot`",
                "not `CCBot` (CCBot) at byte 3: a letter or digit",
            ][..],
        ),
        (
            "adidxbot +http://www.bing.com/bingbot.htm",
            &["word `adidxbot` matches `adidxbot` at byte 0", "not `bingbot` (Bingbot)", "earlier row"],
        ),
        ("AcmeBot (like Googlebot)", &["not `Googlebot` (Googlebot) at byte 14: it is only mentioned"]),
        ("CUBOT/1 CFNetwork/1", &["(people)", "`CFNetwork`", "only sounds like a bot"]),
        ("bot", &["(other-client)", "fewer than four letters"]),
        ("Googlebot/2.1", &["Googlebot (desktop)"]),
        ("Acme/1 (+http://acme.example)", &["contact `http://acme.example`"]),
    ] {
        let text = matcher.explain(Some(user_agent.as_bytes())).to_string();
        for part in want {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
    assert_eq!(matcher.explain(None).rule, Rule::NotLogged);
}

#[test]
fn hostile_strings_cost_linear_time() {
    let matcher = matcher();
    let browser = PEOPLE[0];
    let units = [
        "Googlebot ",
        "like Googlebot ",
        "a+",
        "a@",
        "bot.",
        "(compatible;",
        "https://x",
        "Google-A",
        "NewsBlur ",
        "crawler.a@b",
        "%20",
        browser,
    ];
    // Half a mebibyte takes well under a second in linear time, even on a busy machine, and minutes in quadratic time.
    for unit in units {
        let text = unit.repeat((512 << 10) / unit.len());
        let start = std::time::Instant::now();
        std::hint::black_box(matcher.classify(Some(text.as_bytes())));
        assert!(start.elapsed().as_secs() < 10, "{unit}: {:?}", start.elapsed());
    }
}
