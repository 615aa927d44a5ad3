//! What no log says about a site: everything here is configured, and everything is optional.
//!
//! Not the constants of the rules (see [`super::Policy`]). Zero means "not given" wherever a number is a limit.
//!
//! Example: a site in Europe/Berlin behind a CDN that answers 80 % of the requests, `Crawl-delay: 10`.

use std::collections::BTreeSet;

use chrono::{DateTime, Offset as _, TimeZone as _};

/// Where local hours come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Minutes east of UTC, all year.
    Fixed(i64),
    /// An IANA zone with its clock changes.
    Named(chrono_tz::Tz),
}

impl Default for Zone {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

impl Zone {
    /// Minutes east of UTC in that UTC minute.
    #[must_use]
    pub fn offset_minutes(&self, minute: i64) -> i64 {
        match self {
            Self::Fixed(minutes) => *minutes,
            Self::Named(zone) => DateTime::from_timestamp(minute.saturating_mul(60), 0).map_or(0, |at| {
                i64::from(zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc())
                    .div_euclid(60)
            }),
        }
    }

    /// How the zone is written: its IANA name, or `UTC+01:00`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Fixed(0) => "UTC".to_owned(),
            Self::Fixed(m) => {
                let sign = if *m < 0 { '-' } else { '+' };
                format!("UTC{sign}{:02}:{:02}", m.abs() / 60, m.abs() % 60)
            }
            Self::Named(zone) => zone.name().to_owned(),
        }
    }
}

/// What the CDN in front of the origin answers by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CdnHits {
    /// A hit ratio, 0 to 1.
    Ratio(f64),
    /// Counted at the edge.
    Measured {
        /// Requests answered from the cache.
        hits: u64,
        /// All requests.
        total: u64,
    },
}

/// A quota that the site's operator published for crawlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublishedQuota {
    /// Requests per minute.
    pub per_minute: Option<u64>,
    /// Requests per hour.
    pub per_hour: Option<u64>,
    /// Requests per day.
    pub per_day: Option<u64>,
    /// Requests at once, within a second.
    pub at_once: Option<u64>,
    /// Connections at once.
    pub connections: Option<u64>,
}

/// What is configured for one host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SiteConfig {
    /// Local time of slots and daily totals.
    pub time_zone: Zone,
    /// The CDN in front; `None` when there is none, or nobody knows.
    pub cdn: Option<CdnHits>,
    /// `Crawl-delay` of robots.txt in milliseconds, for each bot by itself.
    pub crawl_delay_ms: Option<u64>,
    /// The operator's maximum per bot, requests per minute.
    pub operator_max: Option<u64>,
    /// The operator's maximum for all bots together, requests per minute.
    pub operator_max_all: Option<u64>,
    /// The published quota.
    pub published: PublishedQuota,
    /// Connections that the gateway allows.
    pub gateway_concurrency: Option<u64>,
    /// Age of the account that crawls, in days.
    pub account_age_days: Option<u64>,
    /// Categories whose ceilings are applied although the rule says only to recommend them.
    pub enforce: BTreeSet<String>,
    /// Requests per hour that the crawler's way out allows, over all hosts.
    pub egress_per_hour: Option<u64>,
    /// Requests per hour and credential.
    pub credential_per_hour: Option<u64>,
    /// Requests per day and identity.
    pub identity_per_day: Option<u64>,
}

/// A limit, unless it is 0.
pub(super) fn given(limit: Option<u64>) -> Option<u64> {
    limit.filter(|v| *v > 0)
}
