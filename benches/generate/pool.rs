//! The texts that generated lines are put together from, made once, and the random numbers that choose among them.
//!
//! Example of a request: `GET /old-catalogue/boots-31?utm_source=newsletter&utm_medium=email HTTP/1.1`

/// `SplitMix64` (Steele, Lea and Flood, 2014): 64 bits a step, the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }
}

/// The output function of `SplitMix64`, a bijection: distinct inputs give distinct outputs.
pub(crate) const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// One of `pool` by 32 random bits.
pub(crate) fn pick<T>(pool: &[T], bits: u64) -> &T {
    &pool[below(bits, pool.len())]
}

/// One of `pool`, the first ones far more often: three quarters of the picks fall on the first half.
pub(crate) fn pick_skewed<T>(pool: &[T], bits: u64) -> &T {
    let halves = [below(bits, pool.len()), below(bits.rotate_left(32), pool.len())];
    &pool[halves[0].min(halves[1])]
}

/// A number below `bound` from the low 32 bits.
pub(crate) const fn below(bits: u64, bound: usize) -> usize {
    (((bits & 0xFFFF_FFFF) * bound as u64) >> 32) as usize
}

const THINGS: [&str; 16] = [
    "boots",
    "lamp",
    "kettle",
    "jacket",
    "desk",
    "bicycle",
    "tent",
    "notebook",
    "headphones",
    "backpack",
    "mug",
    "chair",
    "scarf",
    "telescope",
    "guitar",
    "umbrella",
];
const KINDS: [&str; 8] = ["red", "small", "classic", "wooden", "light", "vintage", "waterproof", "folding"];
const TRACKING: [&str; 8] = [
    "?utm_source=newsletter&utm_medium=email",
    "?utm_source=spring&utm_campaign=sale",
    "?fbclid=IwAR0abc",
    "?gclid=Cj0KCQ",
    "?sessionid=4f2a",
    "?ref=partner",
    "",
    "?sort=price&order=asc",
];

/// The request lines.
pub(crate) struct Requests {
    pub(crate) pages: Vec<String>,
    pub(crate) statics: Vec<String>,
    pub(crate) gone: Vec<String>,
}

impl Requests {
    pub(crate) fn new(random: &mut Random) -> Self {
        let protocol = |bits: u64| if bits >> 62 == 0 { "HTTP/2.0" } else { "HTTP/1.1" };
        let mut pages = vec![
            "GET / HTTP/1.1".to_owned(),
            "GET /robots.txt HTTP/1.1".to_owned(),
            "GET /sitemap.xml HTTP/1.1".to_owned(),
            "HEAD / HTTP/1.1".to_owned(),
            "POST /cart HTTP/2.0".to_owned(),
        ];
        for number in 0..1500_u32 {
            let bits = random.next();
            let (kind, thing) = (pick(&KINDS, bits), pick(&THINGS, bits >> 8));
            let path = match number % 5 {
                0 | 1 => format!("/products/{kind}-{thing}-{number}"),
                2 => format!("/categories/{thing}?page={}&sort=price", bits >> 40 & 63),
                3 => format!("/blog/2026/how-to-choose-a-{kind}-{thing}-{number}"),
                _ => format!("/search?q={kind}+{thing}&page={}", bits >> 40 & 15),
            };
            pages.push(format!("GET {path} {}", protocol(bits)));
        }
        let mut statics = vec!["GET /favicon.ico HTTP/1.1".to_owned()];
        for number in 0..300_u32 {
            let bits = random.next();
            let path = match number % 4 {
                0 => format!("/assets/app.{:08x}.js", bits >> 32),
                1 => format!("/assets/style.{:08x}.css", bits >> 32),
                2 => format!("/images/{}-{number}.webp", pick(&THINGS, bits)),
                _ => format!("/fonts/text-{number}.woff2"),
            };
            statics.push(format!("GET {path} {}", protocol(bits)));
        }
        let mut gone = Vec::new();
        for number in 0..400_u32 {
            let bits = random.next();
            let tracking = pick(&TRACKING, bits >> 16);
            gone.push(format!(
                "GET /old-catalogue/{}-{}{tracking} {}",
                pick(&THINGS, bits),
                number / 4,
                protocol(bits)
            ));
        }
        Self { pages, statics, gone }
    }
}

/// Where people say they came from.
pub(crate) fn referers(random: &mut Random) -> Vec<String> {
    let mut all =
        vec!["-".to_owned(), "https://www.example.com/".to_owned(), "https://search.example/".to_owned()];
    for number in 0..60_u32 {
        let bits = random.next();
        all.push(format!(
            "https://www.example.com/products/{}-{}-{number}",
            pick(&KINDS, bits),
            pick(&THINGS, bits >> 8)
        ));
    }
    all
}

/// Addresses from the blocks that RFC 5737 and RFC 3849 keep for documentation.
pub(crate) fn people_addresses() -> Vec<String> {
    let mut all = Vec::new();
    for last in 1..255_u32 {
        all.push(format!("198.51.100.{last}"));
        all.push(format!("203.0.113.{last}"));
        if last % 4 == 0 {
            all.push(format!("2001:db8:{:x}::{last:x}", last * 37));
        }
    }
    all
}

/// Eight addresses of the crawler with this number.
pub(crate) fn bot_addresses(number: usize) -> Vec<String> {
    (0..8).map(|k| format!("192.0.2.{}", (number * 8 + k) % 254 + 1)).collect()
}
