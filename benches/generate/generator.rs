//! Writes access logs that look like those of a busy shop, from a seed: same options, same bytes, on every machine.
//! Also counts what it writes, so that tests and benches can compare without a second parser.
//!
//! Four of five requests are people's, the rest are crawlers' with bursts; load follows the hour of the day; lines are
//! in the order of time; two of a thousand are hard to read (module `hard`).
//!
//! Example of a line: `198.51.100.7 - - [10/Mar/2026:06:25:14 +0000] "GET /products/red-mug-7 HTTP/1.1" 200 5120 "-" "Mozilla/5.0 ..."`

mod hard;
mod names;
mod pool;
mod truth;

use std::io::{self, Write};

use chrono::DateTime;

use names::Bot;
use pool::{Random, Requests, below, mix, pick, pick_skewed};
pub(crate) use truth::Truth;

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Combined,
    Common,
    VhostCombined,
    /// Combined with ` rt=0.123 cs=MISS` behind it.
    NginxRt,
}

/// What is unusual about the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    Ordinary,
    /// More than half of the lines ask for an error URL of their own, or for one of [`Options::urls`].
    HighCardinality,
    /// Every line has a User-Agent of its own.
    RandomUserAgents,
}

/// How much to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Lines(u64),
    /// About this many, within one percent.
    Bytes(u64),
}

/// Everything that decides the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) size: Size,
    pub(crate) layout: Layout,
    pub(crate) variant: Variant,
    /// Seconds since 1970 of the first minute.
    pub(crate) start: i64,
    /// Over which the lines are spread; at least 1.
    pub(crate) minutes: u32,
    /// 1 to 400 names.
    pub(crate) bots: usize,
    /// Virtual hosts, 1 to 64; only [`Layout::VhostCombined`] logs them.
    pub(crate) hosts: usize,
    /// Of a thousand lines, how many are hard to read; 0 for none.
    pub(crate) hard_per_mille: u64,
    /// Distinct error URLs of [`Variant::HighCardinality`], asked for in turn; as many as there are lines for when `None`.
    pub(crate) urls: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            size: Size::Lines(10_000),
            layout: Layout::Combined,
            variant: Variant::Ordinary,
            start: 1_773_100_800, // 2026-03-10T00:00:00Z
            minutes: 24 * 60,
            bots: 24,
            hosts: 4,
            hard_per_mille: 2,
            urls: None,
        }
    }
}

/// Load by hour of the day, UTC, linear in between.
const HOURS: [u64; 24] =
    [35, 28, 24, 22, 23, 28, 40, 58, 75, 88, 95, 98, 96, 97, 99, 97, 94, 90, 88, 92, 90, 78, 62, 46];
/// Slots of the table that says whose request a line is, rebuilt each minute.
const SLOTS: usize = 4096;
const BOT_SLOTS: u64 = 820;
const NO_USER_AGENT_SLOTS: usize = 8;
/// Groups in front of the named bots.
const PEOPLE: usize = 0;
const NO_USER_AGENT: usize = 1;
const NOT_LOGGED: usize = 2;
const GROUPS: [&str; 3] = ["(people)", "(no-user-agent)", "(user-agent-not-logged)"];
const FLUSH_AT: usize = 256 * 1024;

/// Writes the log to `out`.
///
/// # Errors
/// What `out` fails with.
pub(crate) fn generate(options: &Options, out: &mut impl Write) -> io::Result<Truth> {
    let lines = match options.size {
        Size::Lines(lines) => lines,
        Size::Bytes(bytes) => {
            const PROBE: u64 = 20_000;
            let probe = Engine::new(options, PROBE).run(&mut io::sink())?;
            bytes.saturating_mul(PROBE) / probe.file_bytes.max(1)
        }
    };
    Engine::new(options, lines).run(out)
}

struct Engine<'a> {
    options: &'a Options,
    lines: u64,
    random: Random,
    requests: Requests,
    referers: Vec<String>,
    browsers: Vec<String>,
    people_addresses: Vec<String>,
    bots: Vec<Bot>,
    bot_addresses: Vec<Vec<String>>,
    /// As logged (`www.example.com:443`), or `(default)`.
    hosts: Vec<String>,
    people_status: Vec<u16>,
    bot_status: Vec<u16>,
    slots: Vec<usize>,
    stamp: Vec<u8>,
    buffer: Vec<u8>,
    counts: Counts,
}

/// Counts by host and group, in one row per host.
struct Counts {
    groups: usize,
    total: Vec<u64>,
    minute: Vec<u64>,
    peak: Vec<u64>,
    host_peak: Vec<u64>,
    group_peak: Vec<u64>,
    status: Vec<u64>,
    bot_status: Vec<u64>,
    /// Lines that ask for an error URL of the variant.
    error_urls: u64,
    truth: Truth,
}

impl<'a> Engine<'a> {
    fn new(options: &'a Options, lines: u64) -> Self {
        let mut random = Random::new(mix(options.seed));
        let requests = Requests::new(&mut random);
        let referers = pool::referers(&mut random);
        let bots = names::bots(options.bots.clamp(1, 400));
        let hosts = match options.layout {
            Layout::VhostCombined => host_names(options.hosts.clamp(1, 64)),
            Layout::Combined | Layout::Common | Layout::NginxRt => vec!["(default)".to_owned()],
        };
        let groups = GROUPS.len() + bots.len();
        Self {
            options,
            lines,
            random,
            requests,
            referers,
            browsers: names::browsers(),
            people_addresses: pool::people_addresses(),
            bot_addresses: (0..bots.len()).map(pool::bot_addresses).collect(),
            bots,
            counts: Counts::new(hosts.len(), groups),
            hosts,
            people_status: share_out(&[(200, 850), (304, 92), (301, 20), (404, 30), (500, 4), (499, 4)]),
            bot_status: share_out(&[
                (200, 780),
                (304, 80),
                (301, 40),
                (404, 70),
                (410, 16),
                (429, 6),
                (503, 8),
            ]),
            slots: vec![PEOPLE; SLOTS],
            stamp: Vec::new(),
            buffer: Vec::with_capacity(FLUSH_AT + 4096),
        }
    }

    fn run(mut self, out: &mut impl Write) -> io::Result<Truth> {
        let minutes = self.options.minutes.max(1);
        let weights: Vec<u64> = (0..minutes).map(|minute| weight(self.options.start, minute)).collect();
        let whole: u64 = weights.iter().sum();
        let hard_every = 1000_u64.checked_div(self.options.hard_per_mille);
        let mut written = 0;
        let mut weight_so_far = 0;
        for (minute, weight) in (0..minutes).zip(&weights) {
            weight_so_far += weight;
            let until = scaled(self.lines, weight_so_far, whole);
            if until == written {
                continue;
            }
            self.fill_slots(minute);
            let in_minute = until - written;
            let mut second = u64::MAX;
            for number in 0..in_minute {
                let now = number * 60 / in_minute;
                if now != second {
                    second = now;
                    self.set_stamp(minute, second);
                }
                written += 1;
                match hard_every {
                    Some(every) if written % every == 0 => self.hard_line(written / every),
                    _ => self.ordinary_line(written),
                }
                if self.buffer.len() >= FLUSH_AT {
                    self.flush(out)?;
                }
            }
            self.counts.end_minute();
        }
        self.flush(out)?;
        out.flush()?;
        self.counts.truth.lines = written;
        self.counts.truth.distinct_error_urls =
            self.counts.error_urls.min(self.options.urls.map_or(u64::MAX, |urls| urls.max(1)));
        Ok(self.counts.into_truth(&self.hosts, &self.bots))
    }

    fn flush(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.buffer)?;
        self.counts.truth.file_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn set_stamp(&mut self, minute: u32, second: u64) {
        let epoch = self.options.start + i64::from(minute) * 60 + i64::try_from(second).unwrap_or(59);
        let time = DateTime::from_timestamp(epoch, 0).unwrap_or_default();
        self.stamp.clear();
        self.stamp.extend_from_slice(time.format("[%d/%b/%Y:%H:%M:%S +0000] \"").to_string().as_bytes());
    }

    /// Shares the bots' slots out: a busy bot has more, and each is quiet, normal or bursting for a few minutes.
    fn fill_slots(&mut self, minute: u32) {
        self.slots.fill(PEOPLE);
        self.slots[SLOTS - NO_USER_AGENT_SLOTS..].fill(NO_USER_AGENT);
        let mood = |bot: u64| match mix(self.options.seed ^ bot << 40 ^ u64::from(minute / 5)) % 16 {
            0 => 6,
            1..=4 => 0,
            _ => 1,
        };
        let wish = |bot: u64| (10_000 / (bot + 1)).max(40) * mood(bot);
        let whole: u64 = (0_u64..).zip(&self.bots).map(|(bot, _)| wish(bot)).sum();
        let (mut so_far, mut from) = (0, 0);
        for (number, bot) in (0_u64..).zip(GROUPS.len()..GROUPS.len() + self.bots.len()) {
            so_far += wish(number);
            let until = usize::try_from(scaled(BOT_SLOTS, so_far, whole)).unwrap_or(from);
            self.slots[from..until].fill(bot);
            from = until;
        }
    }

    fn ordinary_line(&mut self, number: u64) {
        let (bits, more) = (self.random.next(), self.random.next());
        let group = self.slots[below(bits, SLOTS)];
        let host = if self.hosts.len() == 1 { 0 } else { below(more.rotate_right(40), self.hosts.len()) };
        let bot = group.checked_sub(GROUPS.len());
        let (statuses, addresses) = match bot {
            Some(bot) => (&self.bot_status, &self.bot_addresses[bot]),
            None => (&self.people_status, &self.people_addresses),
        };
        let address = pick_skewed(addresses, mix(bits));
        let once = self.options.variant == Variant::HighCardinality && more % 100 < 55;
        let status = if once { 404 } else { *pick(statuses, bits >> 32) };
        let request = match status {
            404 | 410 => pick_skewed(&self.requests.gone, more),
            304 => pick_skewed(&self.requests.statics, more),
            _ if bot.is_none() && more >> 63 == 0 => pick_skewed(&self.requests.statics, more),
            _ => pick_skewed(&self.requests.pages, more),
        };
        let bytes = match status {
            200 => 400 + (mix(more) & 0xFFFF),
            301 => 162,
            304 | 499 => 0,
            404 | 410 => 548,
            _ => 190,
        };
        let logged = self.options.layout != Layout::Common;

        let buffer = &mut self.buffer;
        open_line(buffer, self.options.layout, &self.hosts[host], address, &self.stamp);
        if once {
            let url = match self.options.urls {
                None => number,
                Some(urls) => self.counts.error_urls % urls.max(1),
            };
            self.counts.error_urls += 1;
            buffer.extend_from_slice(b"GET /gone/");
            push_hex(buffer, mix(url));
            buffer.extend_from_slice(b"?utm_source=feed HTTP/1.1");
        } else {
            buffer.extend_from_slice(request.as_bytes());
        }
        buffer.extend_from_slice(b"\" ");
        push_number(buffer, u64::from(status));
        buffer.push(b' ');
        push_number(buffer, bytes);
        if logged {
            buffer.extend_from_slice(b" \"");
            let referer =
                if bot.is_some() { "-" } else { pick_skewed(&self.referers, bits.rotate_left(20)).as_str() };
            buffer.extend_from_slice(referer.as_bytes());
            buffer.extend_from_slice(b"\" \"");
            match (bot, group) {
                (Some(bot), _) => {
                    buffer.extend_from_slice(
                        pick_skewed(&self.bots[bot].user_agents, mix(more ^ 1)).as_bytes(),
                    );
                }
                (None, NO_USER_AGENT) => buffer.push(b'-'),
                _ => buffer.extend_from_slice(pick_skewed(&self.browsers, mix(more ^ 2)).as_bytes()),
            }
            if self.options.variant == Variant::RandomUserAgents && group != NO_USER_AGENT {
                buffer.extend_from_slice(b" Build/");
                push_hex(buffer, mix(number));
            }
            buffer.push(b'"');
        }
        if self.options.layout == Layout::NginxRt {
            push_tail(buffer, mix(bits ^ more), status);
        }
        buffer.push(b'\n');
        self.counts.record(host, if logged { group } else { NOT_LOGGED }, status, bytes);
    }
}

impl Counts {
    fn new(hosts: usize, groups: usize) -> Self {
        Self {
            groups,
            total: vec![0; hosts * groups],
            minute: vec![0; hosts * groups],
            peak: vec![0; hosts * groups],
            host_peak: vec![0; hosts],
            group_peak: vec![0; groups],
            status: vec![0; 1000],
            bot_status: vec![0; 1000],
            error_urls: 0,
            truth: Truth::default(),
        }
    }

    fn record(&mut self, host: usize, group: usize, status: u16, bytes: u64) {
        self.minute[host * self.groups + group] += 1;
        self.status[usize::from(status)] += 1;
        if group >= GROUPS.len() {
            self.truth.bot_records += 1;
            self.bot_status[usize::from(status)] += 1;
        }
        self.truth.records += 1;
        self.truth.bytes_sum += bytes;
    }

    fn end_minute(&mut self) {
        let mut by_group = vec![0; self.groups];
        for (host, row) in self.minute.chunks(self.groups).enumerate() {
            self.host_peak[host] = self.host_peak[host].max(row.iter().sum());
            for (sum, count) in by_group.iter_mut().zip(row) {
                *sum += count;
            }
        }
        for (peak, sum) in self.group_peak.iter_mut().zip(&by_group) {
            *peak = (*peak).max(*sum);
        }
        for ((total, peak), count) in self.total.iter_mut().zip(&mut self.peak).zip(&mut self.minute) {
            *total += *count;
            *peak = (*peak).max(*count);
            *count = 0;
        }
    }

    fn into_truth(self, hosts: &[String], bots: &[Bot]) -> Truth {
        let mut truth = self.truth;
        let names: Vec<&str> = GROUPS.into_iter().chain(bots.iter().map(|bot| bot.name.as_str())).collect();
        let by_status =
            |counts: &[u64]| (0..).zip(counts).filter(|(_, n)| **n > 0).map(|(s, n)| (s, *n)).collect();
        truth.status = by_status(&self.status);
        truth.bot_status = by_status(&self.bot_status);
        let rows = self.total.chunks(self.groups).zip(self.peak.chunks(self.groups)).zip(self.host_peak);
        for (name, ((totals, peaks), host_peak)) in hosts.iter().zip(rows) {
            let name = name.split(':').next().unwrap_or(name).to_owned();
            let host: &mut truth::Host = truth.hosts.entry(name).or_default();
            host.load = truth::Load { requests: totals.iter().sum(), peak_rpm: host_peak };
            for ((group, requests), peak_rpm) in names.iter().zip(totals).zip(peaks) {
                if *requests > 0 {
                    host.bots.insert(
                        (*group).to_owned(),
                        truth::Load { requests: *requests, peak_rpm: *peak_rpm },
                    );
                    truth.bots.entry((*group).to_owned()).or_default().requests += requests;
                }
            }
        }
        for (group, peak) in names.iter().zip(self.group_peak) {
            if let Some(load) = truth.bots.get_mut(*group) {
                load.peak_rpm = peak;
            }
        }
        truth
    }
}

/// `www.example.com:443` and its sisters.
fn host_names(count: usize) -> Vec<String> {
    const FIRST: [&str; 4] = ["www.example.com", "shop.example.com", "api.example.com", "blog.example.org"];
    (0..count)
        .map(|number| match FIRST.get(number) {
            Some(name) => format!("{name}:443"),
            None => format!("site-{number:02}.example.net:443"),
        })
        .collect()
}

/// A table of 1,000 entries in which each status has its share.
fn share_out(shares: &[(u16, usize)]) -> Vec<u16> {
    shares.iter().flat_map(|(status, count)| std::iter::repeat_n(*status, *count)).collect()
}

fn weight(start: i64, minute: u32) -> u64 {
    let of_day = (start + i64::from(minute) * 60).rem_euclid(86_400) / 60;
    let of_day = usize::try_from(of_day).unwrap_or(0);
    let (hour, past) = (of_day / 60, of_day as u64 % 60);
    HOURS[hour] * (60 - past) + HOURS[(hour + 1) % 24] * past
}

/// `whole * part / parts` without overflow; 0 when there are no parts.
fn scaled(whole: u64, part: u64, parts: u64) -> u64 {
    let scaled = u128::from(whole) * u128::from(part) / u128::from(parts.max(1));
    u64::try_from(scaled).unwrap_or(whole)
}

/// Everything up to the opening quote of the request.
fn open_line(buffer: &mut Vec<u8>, layout: Layout, host: &str, address: &str, stamp: &[u8]) {
    if layout == Layout::VhostCombined {
        buffer.extend_from_slice(host.as_bytes());
        buffer.push(b' ');
    }
    buffer.extend_from_slice(address.as_bytes());
    buffer.extend_from_slice(b" - - ");
    buffer.extend_from_slice(stamp);
}

/// ` rt=0.123 cs=MISS`: a hit is fast, an overloaded answer slow.
fn push_tail(buffer: &mut Vec<u8>, bits: u64, status: u16) {
    let cached = bits.is_multiple_of(3);
    let millis = match status {
        _ if cached => bits >> 60,
        503 => 900 + (bits >> 54),
        _ => 20 + (bits >> 56),
    };
    buffer.extend_from_slice(b" rt=");
    push_number(buffer, millis / 1000);
    buffer.push(b'.');
    for digit in [millis / 100 % 10, millis / 10 % 10, millis % 10] {
        push_number(buffer, digit);
    }
    buffer.extend_from_slice(if cached { b" cs=HIT" } else { b" cs=MISS" });
}

fn push_number(buffer: &mut Vec<u8>, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] += (number % 10).to_le_bytes()[0];
        number /= 10;
        if number == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[at..]);
}

fn push_hex(buffer: &mut Vec<u8>, word: u64) {
    let digits = word.to_be_bytes().map(|byte| {
        let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
        [digit(byte >> 4), digit(byte & 15)]
    });
    buffer.extend_from_slice(digits.as_flattened());
}
