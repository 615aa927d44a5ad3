//! How often a page is worth a request, from how often it had changed.
//!
//! Conditional requests show it: a 304 says that nothing changed since the last visit. Example: asked every hour, 304
//! in 97 of 100: it changes about every 33 hours, so once a day is enough.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Below so many requests the share of 304 says nothing.
const LEAST_REQUESTS: u64 = 20;

/// How often a page changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Stock, prices.
    Hour,
    /// Listings.
    Day,
    /// Categories, documents.
    Week,
}

impl Tier {
    /// All tiers, the shortest interval first.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// The time between two visits.
    #[must_use]
    pub fn interval(self) -> Duration {
        Duration::from_secs(match self {
            Self::Hour => 3600,
            Self::Day => 86_400,
            Self::Week => 604_800,
        })
    }
}

/// A recommendation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Revisit {
    /// How often to come.
    pub tier: Tier,
    /// Share of the requests that are saved by coming no more often, 0 to 1.
    pub requests_saved_share: f64,
    /// Share of the answers that need no body when requests are conditional, 0 to 1.
    pub bodies_saved_share: f64,
}

/// The tier of pages that were asked for every `interval`, `requests` times in all, of which `not_modified` were
/// answered 304. None below 20 requests, or when the numbers contradict each other.
///
/// Changes are taken as a Poisson process: a share `s` of 304 means one change in `interval / -ln(s)` on average. The
/// tier is the longest interval that is not above it.
///
/// ```
/// use crawl_baseline::throttle::{Tier, revisit};
/// use std::time::Duration;
///
/// let hour = Duration::from_secs(3600);
/// let daily = revisit(hour, 100, 97).unwrap();
/// assert_eq!(daily.tier, Tier::Day);
/// assert_eq!(format!("{:.3}", daily.requests_saved_share), "0.958");
/// assert_eq!(revisit(hour, 100, 20).unwrap().tier, Tier::Hour);
/// assert_eq!(revisit(hour, 100, 100).unwrap().tier, Tier::Week);
/// assert_eq!(revisit(hour, 10, 10), None, "too few to know");
/// ```
#[must_use]
pub fn revisit(interval: Duration, requests: u64, not_modified: u64) -> Option<Revisit> {
    if requests < LEAST_REQUESTS || not_modified > requests || interval.is_zero() {
        return None;
    }
    let share = not_modified as f64 / requests as f64;
    // Infinite when nothing ever changed, 0 when everything always had.
    let between_changes = interval.as_secs_f64() / -share.ln();
    let tier = Tier::ALL
        .into_iter()
        .rev()
        .find(|tier| tier.interval().as_secs_f64() <= between_changes)
        .unwrap_or(Tier::Hour);
    // -ln(1) is -0, and the quotient then minus infinity.
    let tier = if not_modified == requests { Tier::Week } else { tier };
    let saved = 1.0 - interval.as_secs_f64() / tier.interval().as_secs_f64();
    Some(Revisit { tier, requests_saved_share: saved.max(0.0), bodies_saved_share: share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_of_five_unchanged_saves_four_of_five_bodies_and_no_visit() {
        let day = Duration::from_secs(86_400);
        let found = revisit(day, 1000, 800).unwrap();
        assert_eq!(found, Revisit { tier: Tier::Day, requests_saved_share: 0.0, bodies_saved_share: 0.8 });
        assert_eq!(revisit(day, 1000, 0).unwrap().tier, Tier::Hour);
        assert_eq!(revisit(day, 1000, 900).unwrap().tier, Tier::Week);
        assert_eq!(revisit(day, 1000, 1001), None);
        assert_eq!(revisit(Duration::ZERO, 1000, 900), None);
    }
}
