//! Who asks in generated logs: crawlers with the User-Agents that their operators document, browsers, and as many
//! self-declared crawlers as are wanted. Not how often they ask: that is the engine's work.
//!
//! Example: `Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)` belongs to `AhrefsBot`.

/// A crawler: the name that a report should give it, and the User-Agents that it sends.
pub(crate) struct Bot {
    pub(crate) name: String,
    pub(crate) user_agents: Vec<String>,
}

/// Ordered by how busy they are in a generated log.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "Googlebot",
        &[
            "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/145.0.7632.76 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/144.0.7559.132 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/145.0.7632.76 Safari/537.36",
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        ],
    ),
    (
        "Bingbot",
        &[
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/136.0.0.0 Safari/537.36",
            "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        ],
    ),
    (
        "GPTBot",
        &[
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.3; +https://openai.com/gptbot",
        ],
    ),
    ("AhrefsBot", &["Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"]),
    ("ExampleAuditBot", &["Mozilla/5.0 (compatible; ExampleAuditBot/1.0; +https://bot.example/audit)"]),
    (
        "ClaudeBot",
        &[
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
        ],
    ),
    (
        "Applebot",
        &[
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
        ],
    ),
    ("YandexBot", &["Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)"]),
    ("SemrushBot", &["Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)"]),
    (
        "Amazonbot",
        &[
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot) Chrome/119.0.6045.214 Safari/537.36",
        ],
    ),
    ("CCBot", &["CCBot/2.0 (https://commoncrawl.org/faq/)"]),
    (
        "Bytespider",
        &[
            "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)",
        ],
    ),
    (
        "PetalBot",
        &[
            "Mozilla/5.0 (Linux; Android 7.0;) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)",
        ],
    ),
    ("DuckDuckBot", &["DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)"]),
    ("MJ12bot", &["Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)"]),
    ("DotBot", &["Mozilla/5.0 (compatible; DotBot/1.2; +https://opensiteexplorer.org/dotbot; help@moz.com)"]),
    (
        "PerplexityBot",
        &[
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)",
        ],
    ),
    (
        "OAI-SearchBot",
        &[
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; OAI-SearchBot/1.3; +https://openai.com/searchbot",
        ],
    ),
    ("Baiduspider", &["Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)"]),
    ("facebookexternalhit", &["facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"]),
    ("Twitterbot", &["Twitterbot/1.0"]),
    ("UptimeRobot", &["Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"]),
    (
        "LinkedInBot",
        &["LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)"],
    ),
    (
        "archive.org_bot",
        &["Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)"],
    ),
];

/// The first `count` crawlers: the well-known ones, then invented ones that declare themselves.
///
/// ```text
/// bots(26)[24].name == "Bababot"
/// ```
pub(crate) fn bots(count: usize) -> Vec<Bot> {
    let known = KNOWN.iter().map(|(name, user_agents)| Bot {
        name: (*name).to_owned(),
        user_agents: user_agents.iter().map(|text| (*text).to_owned()).collect(),
    });
    let invented = (0..).map(|number| {
        let name = invented_name(number);
        let page = name.to_lowercase();
        let user_agent =
            format!("Mozilla/5.0 (compatible; {name}/1.{}; +https://{page}.example/info)", number % 7);
        Bot { name, user_agents: vec![user_agent] }
    });
    known.chain(invented).take(count).collect()
}

/// Two syllables out of 20, so 400 names that no operator uses.
fn invented_name(number: usize) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "vo", "ki", "lu", "ze", "mo", "ra", "ti", "pu", "ne", "do", "fi", "ga", "hu", "je", "so", "wa",
        "xi", "yo", "qu",
    ];
    let (first, second) = (SYLLABLES[number / 20 % 20], SYLLABLES[number % 20]);
    let (head, tail) = first.split_at(1);
    format!("{}{tail}{second}bot", head.to_uppercase())
}

/// Several hundred browser User-Agents.
pub(crate) fn browsers() -> Vec<String> {
    const DESKTOPS: [&str; 4] = [
        "Windows NT 10.0; Win64; x64",
        "Macintosh; Intel Mac OS X 10_15_7",
        "X11; Linux x86_64",
        "X11; CrOS x86_64 14541.0.0",
    ];
    const PHONES: [&str; 8] = [
        "10; K",
        "13; SM-A536B",
        "14; Pixel 8",
        "14; SM-S921B",
        "12; M2101K6G",
        "15; Pixel 9",
        "13; CPH2333",
        "11; moto g(30)",
    ];
    let mut all = Vec::new();
    for version in 118..146 {
        for desktop in DESKTOPS {
            all.push(format!(
                "Mozilla/5.0 ({desktop}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"
            ));
        }
        for phone in PHONES {
            all.push(format!(
                "Mozilla/5.0 (Linux; Android {phone}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Mobile Safari/537.36"
            ));
        }
        all.push(format!(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36 Edg/{version}.0.0.0"
        ));
        for system in ["Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10.15"]
        {
            all.push(format!("Mozilla/5.0 ({system}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0"));
        }
    }
    for (major, minor) in (15..19).flat_map(|major| (0..7).map(move |minor| (major, minor))) {
        all.push(format!(
            "Mozilla/5.0 (iPhone; CPU iPhone OS {major}_{minor} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{major}.{minor} Mobile/15E148 Safari/604.1"
        ));
        all.push(format!(
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{major}.{minor} Safari/605.1.15"
        ));
    }
    all
}
