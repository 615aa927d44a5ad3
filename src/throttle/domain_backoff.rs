//! The cooldown of one domain that answers 429, and its crawl-delay.
//!
//! Times only, no requests: see `domains`. Example: 429s at 0.0, 0.3 and 1.9 s are one event and cool until 2.0 s; the
//! next at 3 s cools for 4 s.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The default is 2 s, doubling up to 60 s, and a stall after 15 minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackoffLimits {
    /// After the first event.
    pub initial: Duration,
    /// The longest that doubling leads to. A server may ask for more.
    pub max: Duration,
    /// Nothing but 429 for longer than this is a stall.
    pub stall: Duration,
}

impl Default for BackoffLimits {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(2),
            max: Duration::from_secs(60),
            stall: Duration::from_secs(900),
        }
    }
}

/// The state of one domain.
///
/// The requests that were in flight when the limit was hit all come back with 429: that is one event, so the wait
/// doubles once per cooldown and not once per answer. When the domain has been free of 429 for as long again as the
/// last wait, it is forgotten and the next event begins at the start.
///
/// ```
/// use crawl_baseline::throttle::{BackoffLimits, DomainBackoff};
/// use std::time::Duration;
///
/// let s = Duration::from_secs;
/// let mut domain = DomainBackoff::new(BackoffLimits::default());
/// domain.limited(s(100), None);
/// domain.limited(s(101), None); // the same event
/// assert_eq!(domain.ready_at(), s(102));
/// domain.limited(s(103), None);
/// assert_eq!(domain.ready_at(), s(107));
/// domain.limited(s(108), Some(s(30))); // the server says how long
/// assert_eq!(domain.ready_at(), s(138));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainBackoff {
    limits: BackoffLimits,
    crawl_delay: Option<Duration>,
    /// Events in a row.
    events: u32,
    backoff_until: Duration,
    crawl_delay_until: Duration,
    /// A 429 from then on begins at the start again.
    forgotten_at: Duration,
    /// The first 429 since the last other answer.
    limited_since: Option<Duration>,
    last_limited: Option<Duration>,
}

impl DomainBackoff {
    /// Nothing happened yet.
    #[must_use]
    pub fn new(limits: BackoffLimits) -> Self {
        Self {
            limits,
            crawl_delay: None,
            events: 0,
            backoff_until: Duration::ZERO,
            crawl_delay_until: Duration::ZERO,
            forgotten_at: Duration::ZERO,
            limited_since: None,
            last_limited: None,
        }
    }

    /// The least time between two requests, as robots.txt has it. The first value stays: a second reading of the file
    /// does not change the pace in the middle of a crawl.
    pub fn set_crawl_delay(&mut self, delay: Duration) {
        self.crawl_delay.get_or_insert(delay);
    }

    /// A request was sent.
    pub fn dispatched(&mut self, now: Duration) {
        if let Some(delay) = self.crawl_delay {
            self.crawl_delay_until = now.saturating_add(delay);
        }
    }

    /// An answer came that is no 429, or the request was given up: the domain does not turn everything away.
    pub fn answered(&mut self) {
        self.limited_since = None;
    }

    /// A 429 came, with the wait that its `Retry-After` asks for. A positive one takes the place of the doubling.
    pub fn limited(&mut self, now: Duration, retry_after: Option<Duration>) {
        let asked = retry_after.filter(|wait| !wait.is_zero());
        self.last_limited = Some(now);
        self.limited_since.get_or_insert(now);
        if now < self.backoff_until {
            // The same event. It may still ask for a longer wait than is running.
            if let Some(asked) = asked
                && now.saturating_add(asked) > self.backoff_until
            {
                self.cool(now, asked);
            }
            return;
        }
        if now >= self.forgotten_at {
            self.events = 0;
        }
        self.events = self.events.saturating_add(1);
        // 2^31 is beyond any maximum; the multiplication saturates.
        let doubled = self.limits.initial.saturating_mul(1 << (self.events - 1).min(31)).min(self.limits.max);
        self.cool(now, asked.unwrap_or(doubled));
    }

    fn cool(&mut self, now: Duration, wait: Duration) {
        self.backoff_until = now.saturating_add(wait);
        // From when the domain can be asked again: a longer crawl-delay sets that pace, and counted from the
        // end of the backoff, every 429 would look like the first.
        self.forgotten_at = self.ready_at().saturating_add(wait);
    }

    /// When the domain may be asked again; in the past when it may be asked now.
    #[must_use]
    pub fn ready_at(&self) -> Duration {
        self.backoff_until.max(self.crawl_delay_until)
    }

    /// Whether a cooldown after a 429 is running; a crawl-delay is none.
    #[must_use]
    pub fn is_cooling(&self, now: Duration) -> bool {
        now < self.backoff_until
    }

    /// For how long there has been nothing but 429, when that is longer than the limit. A stall ends with another
    /// answer, or when the limit has passed since the last 429: then it is worth a request again.
    #[must_use]
    pub fn stalled_for(&self, now: Duration) -> Option<Duration> {
        let (since, last) = (self.limited_since?, self.last_limited?);
        let limited_for = now.saturating_sub(since);
        let stalled = limited_for > self.limits.stall && now.saturating_sub(last) <= self.limits.stall;
        stalled.then_some(limited_for)
    }

    /// When the stall that [`stalled_for`](Self::stalled_for) tells of ends by itself.
    #[must_use]
    pub fn stall_ends(&self) -> Duration {
        // Just past the limit.
        let past = self.limits.stall.saturating_add(Duration::from_nanos(1));
        self.last_limited.unwrap_or_default().saturating_add(past)
    }
}
