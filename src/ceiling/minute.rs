//! One minute: what its rows count, and what kind of minute it is. The first class that matches wins.
//!
//! Not the episodes that minutes form. Example: 100 requests of which 40 got 429: throttled, 60 admitted.

/// Minutes of a day.
pub(super) const DAY: i64 = 1440;

/// The UTC date of a minute, days since 1970-01-01.
pub(super) fn date_of(minute: i64) -> i64 {
    minute.div_euclid(DAY)
}

/// The number of different dates of ascending minutes.
pub(super) fn dates_of(minutes: impl IntoIterator<Item = i64>) -> usize {
    let (mut dates, mut last) = (0, None);
    for date in minutes.into_iter().map(date_of) {
        if last != Some(date) {
            dates += 1;
            last = Some(date);
        }
    }
    dates
}

/// One minute of one bot. Counts are 32 bits wide, because there are millions of rows; they saturate at 4.29e9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BotMinute {
    pub(super) minute: i64,
    /// All requests.
    pub(super) n: u32,
    /// Answered 429.
    pub(super) n429: u32,
    /// Answered 403.
    pub(super) n403: u32,
    /// Answered 502, 503 or 504.
    pub(super) overloaded: u32,
    /// Answered 5xx, the former included.
    pub(super) n5xx: u32,
    pub(super) latency_count: u32,
    pub(super) latency_ms_sum: u64,
    /// Where the seconds begin in the series' list, and how many there are; none when they were not kept.
    pub(super) seconds_from: u32,
    pub(super) seconds: u8,
    /// The first and the last second with a request, 0 to 59.
    pub(super) first_second: u8,
    pub(super) last_second: u8,
    /// Requests in the busiest second; 0 when the log had no seconds.
    pub(super) second_max: u32,
}

impl BotMinute {
    /// All requests.
    pub(super) fn requests(&self) -> u64 {
        u64::from(self.n)
    }

    /// Requests that were not refused with 429.
    pub(super) fn admitted(&self) -> u64 {
        u64::from(self.n.saturating_sub(self.n429))
    }

    /// Seconds from the first to the last request.
    pub(super) fn span(&self) -> u8 {
        self.last_second.saturating_sub(self.first_second)
    }

    /// Requests that got an answer.
    pub(super) fn answered(&self) -> u64 {
        self.requests().saturating_sub(u64::from(self.n429) + u64::from(self.n403) + u64::from(self.n5xx))
    }
}

/// One minute of a host: every client, every verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HostMinute {
    /// All requests.
    pub(super) n: u64,
    /// Answered 502, 503 or 504.
    pub(super) overloaded: u64,
    pub(super) latency_count: u64,
    pub(super) latency_ms_sum: u64,
}

impl HostMinute {
    /// Errors of load at 1 % and more; one error alone is none.
    pub(super) fn is_overloaded(&self) -> bool {
        self.overloaded >= self.n.div_ceil(100).max(2)
    }
}

/// What kind of minute it is for a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// At least one 429: a correct run has none.
    Throttled,
    /// The host answered 502, 503 or 504 to at least 1 %.
    Overloaded,
    /// At least half 403: a verdict, not a transient.
    Blocked,
    /// Too many 5xx to speak for demand, too few to be overload.
    Neutral,
    /// Everything else.
    Clean,
}

/// The class of a bot's minute.
pub(super) fn classify(row: &BotMinute, host: &HostMinute) -> Class {
    if row.n429 >= 1 {
        Class::Throttled
    } else if host.is_overloaded() {
        Class::Overloaded
    } else if row.n403 >= 1 && 2 * u64::from(row.n403) >= row.requests() {
        Class::Blocked
    } else if row.overloaded > (row.n / 100).max(1) || 2 * u64::from(row.n5xx) > row.requests() {
        Class::Neutral
    } else {
        Class::Clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_class_that_matches_wins() {
        let calm = HostMinute { n: 200, ..HostMinute::default() };
        let busy = HostMinute { n: 200, overloaded: 2, ..HostMinute::default() };
        let row = |n, n429, n403, overloaded, n5xx| BotMinute {
            n,
            n429,
            n403,
            overloaded,
            n5xx,
            ..BotMinute::default()
        };
        assert_eq!(classify(&row(100, 1, 99, 0, 0), &busy), Class::Throttled);
        assert_eq!(classify(&row(100, 0, 99, 0, 0), &busy), Class::Overloaded);
        assert_eq!(classify(&row(100, 0, 50, 0, 0), &calm), Class::Blocked);
        assert_eq!(classify(&row(100, 0, 49, 0, 0), &calm), Class::Clean);
        assert_eq!(classify(&row(100, 0, 0, 2, 2), &calm), Class::Neutral);
        assert_eq!(classify(&row(100, 0, 0, 1, 50), &calm), Class::Clean);
        assert_eq!(classify(&row(100, 0, 0, 0, 51), &calm), Class::Neutral);
    }

    #[test]
    fn one_error_of_a_quiet_host_is_no_overload() {
        assert!(!HostMinute { n: 1, overloaded: 1, ..HostMinute::default() }.is_overloaded());
        assert!(HostMinute { n: 101, overloaded: 2, ..HostMinute::default() }.is_overloaded());
        assert!(!HostMinute { n: 201, overloaded: 2, ..HostMinute::default() }.is_overloaded());
    }
}
