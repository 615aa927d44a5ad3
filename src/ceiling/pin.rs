//! What the configuration fixes: a pin wins over the ceiling that was found, which stays in the evidence.
//!
//! Not the reading of the file. Example: `{host = "www.example.com", bot = "GPTBot", max_requests_per_minute = 60}` where
//! 76 were found: the entry says 60, its delay is 1,000 ms, `pinned` echoes the 60, and the evidence still tells why 76.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::finish::edge;
use super::policy::Policy;
use super::rank::float;
use super::site::{SiteConfig, given};
use crate::error::Error;
use crate::manifest::{Entry, Grade, Manifest, nearest};

/// Values of one host, or of one bot on it, that are not to be found but kept.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pin {
    /// The host.
    pub host: String,
    /// The bot; all bots of the host together without it.
    pub bot: Option<String>,
    /// Requests per minute. Delay, bursts and budgets follow, and the ceiling is the same at every hour.
    pub max_requests_per_minute: Option<u64>,
    /// Requests at once of a client.
    pub max_burst_capacity: Option<u64>,
    /// Requests at once that a server lets through.
    pub enforce_burst: Option<u64>,
    /// Open connections.
    #[serde(alias = "max_concurrency")]
    pub max_concurrent_connections: Option<u64>,
    /// Milliseconds between the starts of two requests.
    pub base_delay_ms: Option<u64>,
    /// Milliseconds that are added at random.
    pub jitter_range_ms: Option<u64>,
    /// Seconds after a refusal.
    pub default_cooldown_seconds: Option<f64>,
    /// Requests per minute in front of the CDN.
    pub edge_requests_per_minute: Option<u64>,
}

/// Nothing above this is meant by a pin.
const MOST: u64 = 1_000_000_000;

impl Pin {
    /// Checks that it names a host and fixes something that can be kept.
    ///
    /// # Errors
    /// What is wrong (usage), with `place` before it.
    pub fn check(&self, place: &str) -> Result<(), Error> {
        if self.host.is_empty() {
            return Err(Error::usage(place, "has no `host`").hint("add host = \"www.example.com\""));
        }
        if self.bot.as_deref() == Some("") {
            return Err(Error::usage(place, "`bot` is empty").hint("leave it out to fix all bots together"));
        }
        let values = self.values();
        if values.is_empty() {
            return Err(Error::usage(place, "fixes nothing")
                .hint("add max_requests_per_minute = 60, or another value"));
        }
        for (key, value) in values {
            let number = value.as_f64().unwrap_or(0.0);
            let least = if key == "jitter_range_ms" { 0.0 } else { f64::MIN_POSITIVE };
            if !(least..=float(MOST)).contains(&number) {
                return Err(Error::usage(place, format_args!("{key} is {value}"))
                    .cause(if key == "jitter_range_ms" {
                        format!("expected 0 to {MOST}")
                    } else {
                        format!("expected more than 0, and at most {MOST}")
                    })
                    .hint("a bot is shut out in robots.txt or in the server, not by a ceiling"));
            }
        }
        Ok(())
    }

    /// Whether both fix the same entry.
    #[must_use]
    pub fn is_of_the_same_entry(&self, other: &Self) -> bool {
        let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
        same(&self.host, &other.host)
            && match (&self.bot, &other.bot) {
                (Some(a), Some(b)) => same(a, b),
                (None, None) => true,
                _ => false,
            }
    }

    /// What it fixes, by key of the manifest.
    fn values(&self) -> BTreeMap<String, Value> {
        let whole = [
            ("max_requests_per_minute", self.max_requests_per_minute),
            ("max_burst_capacity", self.max_burst_capacity),
            ("enforce_burst", self.enforce_burst),
            ("max_concurrent_connections", self.max_concurrent_connections),
            ("base_delay_ms", self.base_delay_ms),
            ("jitter_range_ms", self.jitter_range_ms),
            ("edge_requests_per_minute", self.edge_requests_per_minute),
        ];
        let mut all: BTreeMap<String, Value> =
            whole.iter().filter_map(|(key, n)| n.map(|n| ((*key).to_owned(), Value::from(n)))).collect();
        if let Some(seconds) = self.default_cooldown_seconds {
            all.insert("default_cooldown_seconds".to_owned(), Value::from(seconds));
        }
        all
    }
}

/// The pins with what is needed to keep them.
#[derive(Clone, Copy)]
pub struct Pinning<'a> {
    /// The pins, each with its place in the configuration.
    pub pins: &'a [(String, &'a Pin)],
    /// Hosts that may be named beside those of the manifest: the configured sites.
    pub hosts: &'a [&'a str],
    /// Bots that may be named beside those of the manifest: the catalogue.
    pub bots: &'a [&'a str],
    /// What is configured for a host.
    pub site: &'a dyn Fn(&str) -> SiteConfig,
    /// The constants.
    pub policy: &'a Policy,
}

impl Pinning<'_> {
    /// Puts the pins into a manifest. A pinned host caps its bots; a host that is not pinned allows what its pinned bots
    /// may do. A known host or bot without an entry gets one.
    ///
    /// # Errors
    /// A host or bot that nobody knows (usage), with the nearest one.
    pub fn apply(&self, manifest: &mut Manifest) -> Result<(), Error> {
        let mut touched = BTreeSet::new();
        for (place, pin) in self.pins {
            let host = self.host(manifest, place, &pin.host)?;
            let default = Entry::of_defaults(&manifest.rate_limiting);
            let entry = manifest.domain_overrides.entry(host.clone()).or_insert_with(|| default.clone());
            let Some(bot) = &pin.bot else {
                self.fix(entry, pin, &host, None);
                touched.insert(host);
                continue;
            };
            let of_manifest: Vec<String> = manifest
                .domain_overrides
                .values()
                .flat_map(|entry| entry.bots.keys().cloned())
                .chain(self.bots.iter().map(|name| (*name).to_owned()))
                .collect();
            let known = of_manifest.iter().find(|name| name.eq_ignore_ascii_case(bot)).cloned();
            let bot = known.ok_or_else(|| {
                let error = Error::usage(place, format_args!("bot {bot:?} is unknown"));
                match nearest(bot, of_manifest.iter().map(String::as_str)) {
                    Some(near) => error.hint(format_args!("did you mean {near}?")),
                    None => error.hint("bots are called as in the baseline and in the output of parse"),
                }
            })?;
            if let Some(entry) = manifest.domain_overrides.get_mut(&host) {
                let own = entry.bots.entry(bot.clone()).or_insert(default);
                self.fix(own, pin, &host, Some(&bot));
            }
            touched.insert(host);
        }
        for host in touched {
            if let Some(entry) = manifest.domain_overrides.get_mut(&host) {
                self.reconcile(&host, entry);
            }
        }
        // Budgets can only have become smaller.
        let hours =
            manifest.domain_overrides.values().filter_map(|e| e.budgets).map(|b| b.requests_per_hour).sum();
        let scope = &mut manifest.scopes.global_per_hour;
        scope.limit = scope.limit.map(|limit: u64| limit.min(hours));
        Ok(())
    }

    fn host(&self, manifest: &Manifest, place: &str, name: &str) -> Result<String, Error> {
        let known = || manifest.domain_overrides.keys().map(String::as_str).chain(self.hosts.iter().copied());
        if let Some(host) = known().find(|host| host.eq_ignore_ascii_case(name)) {
            return Ok(host.to_ascii_lowercase());
        }
        let error = Error::usage(place, format_args!("host {name:?} is unknown"));
        Err(match nearest(name, known()) {
            Some(near) => error.hint(format_args!("did you mean {near}?")),
            None => error.hint(format_args!("known are {}", known().take(10).collect::<Vec<_>>().join(", "))),
        })
    }

    fn fix(&self, entry: &mut Entry, pin: &Pin, host: &str, bot: Option<&str>) {
        if let Some(rate) = pin.max_requests_per_minute {
            // The same at every hour: that is what was asked for.
            entry.schedule = None;
            self.set_rate(entry, rate, host, bot.is_some());
            // Whoever fixes a ceiling vouches for it. A search engine, and a bot that is to be stopped, stay as they are.
            if matches!(entry.apply_reason.as_deref(), Some("thin_data" | "no_traffic")) {
                (entry.apply, entry.apply_reason) = (true, None);
            }
        }
        if let Some(connections) = pin.max_concurrent_connections {
            (entry.max_concurrency, entry.max_concurrent_connections) = (connections, connections);
        }
        if let Some(delay) = pin.base_delay_ms {
            (entry.base_delay_ms, entry.jitter_range_ms) = (delay, delay / 2);
        }
        let put = |target: &mut u64, value: Option<u64>| *target = value.unwrap_or(*target);
        put(&mut entry.max_burst_capacity, pin.max_burst_capacity);
        put(&mut entry.enforce_burst, pin.enforce_burst);
        put(&mut entry.jitter_range_ms, pin.jitter_range_ms);
        entry.default_cooldown_seconds =
            pin.default_cooldown_seconds.unwrap_or(entry.default_cooldown_seconds);
        entry.edge_requests_per_minute = pin.edge_requests_per_minute.or(entry.edge_requests_per_minute);
        entry.pinned = pin.values();
    }

    /// Bots within a pinned host, an unpinned host around its pinned bots.
    fn reconcile(&self, host: &str, entry: &mut Entry) {
        if is_pinned(entry) {
            let most = entry.max_requests_per_minute;
            for bot in entry.bots.values_mut().filter(|b| !is_pinned(b) && b.max_requests_per_minute > most) {
                self.set_rate(bot, most, host, true);
                for slot in bot.schedule.iter_mut().flat_map(|s| s.requests_per_minute.values_mut()) {
                    *slot = most.min(*slot);
                }
            }
        } else {
            let pinned = entry.bots.values().filter(|b| is_pinned(b));
            let least = pinned.map(|b| b.max_requests_per_minute).max().unwrap_or(0);
            if least > entry.max_requests_per_minute {
                self.set_rate(entry, least, host, false);
                for slot in entry.schedule.iter_mut().flat_map(|s| s.requests_per_minute.values_mut()) {
                    *slot = least.max(*slot);
                }
            }
        }
        let connections = entry.bots.values().map(|b| b.max_concurrent_connections).max().unwrap_or(0);
        if !entry.pinned.contains_key("max_concurrent_connections")
            && connections > entry.max_concurrent_connections
        {
            (entry.max_concurrency, entry.max_concurrent_connections) = (connections, connections);
        }
    }

    /// Another ceiling, and everything that follows from it, by the rules by which it followed from the one before.
    fn set_rate(&self, entry: &mut Entry, rate: u64, host: &str, is_bot: bool) {
        let (site, policy) = ((self.site)(host), self.policy);
        let before = entry.max_requests_per_minute;
        let in_burst = |rate: u64| rate.saturating_mul(policy.burst_seconds);
        entry.max_requests_per_minute = rate;
        entry.base_delay_ms = 60_000_u64.div_ceil(rate.max(1));
        if is_bot {
            entry.base_delay_ms = entry.base_delay_ms.max(given(site.crawl_delay_ms).unwrap_or(0));
        }
        entry.jitter_range_ms = entry.base_delay_ms / 2;
        entry.max_burst_capacity = entry.max_burst_capacity.min((in_burst(rate) / 60).max(1));
        // A burst below ten seconds' worth was cut by something that was seen or published: that still holds.
        let was_cut = entry.enforce_burst < in_burst(before).div_ceil(60);
        let wanted = in_burst(rate).div_ceil(60);
        entry.enforce_burst =
            if was_cut { entry.enforce_burst.min(wanted) } else { wanted.max(entry.enforce_burst.min(rate)) };
        if let Some(evidence) = &entry.evidence
            && matches!(evidence.c429_state.as_str(), "established" | "provisional")
            && let Some(c429) = evidence.c429
        {
            entry.enforce_burst = entry.enforce_burst.min(c429.saturating_sub(rate).max(1));
        }
        entry.edge_requests_per_minute = edge(rate, &site, policy);
        let thin = matches!(entry.confidence, Some(Grade::D | Grade::None));
        if let Some(budgets) = &mut entry.budgets {
            let earlier = *budgets;
            let (hour, day) = if thin && entry.action.is_none() {
                (rate.saturating_mul(30), rate.saturating_mul(180))
            } else {
                (earlier.requests_per_hour, earlier.requests_per_day)
            };
            budgets.requests_per_minute = rate;
            budgets.requests_per_hour = hour.min(rate.saturating_mul(60));
            budgets.requests_per_day = day.min(budgets.requests_per_hour.saturating_mul(24));
            let share = |part: u64, whole: u64, of: u64| {
                let exact = u128::from(part) * u128::from(of) / u128::from(whole.max(1));
                u64::try_from(exact).unwrap_or(u64::MAX)
            };
            budgets.plan_per_hour =
                share(earlier.plan_per_hour, earlier.requests_per_hour, budgets.requests_per_hour);
            budgets.retry_reserve_per_hour = budgets.requests_per_hour - budgets.plan_per_hour;
            budgets.retry_cap_per_hour =
                share(earlier.retry_cap_per_hour, earlier.plan_per_hour, budgets.plan_per_hour);
            entry.even_pace_requests_per_minute = Some(budgets.requests_per_hour.div_ceil(60));
        }
    }
}

fn is_pinned(entry: &Entry) -> bool {
    entry.pinned.contains_key("max_requests_per_minute")
}

/// Whether a pin set the ceiling of this entry: its own, that of its host, or that of one of its bots.
pub(super) fn is_moved(entry: &Entry, host: Option<&Entry>) -> bool {
    let differs = || {
        entry
            .evidence
            .as_ref()
            .is_some_and(|e| e.max_requests_per_minute.value != entry.max_requests_per_minute)
    };
    is_pinned(entry)
        || (differs()
            && match host {
                Some(host) => is_pinned(host),
                None => entry.bots.values().any(is_pinned),
            })
}
