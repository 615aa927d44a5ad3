//! The constants of the recommendation: one struct, set in the configuration, echoed in the manifest.
//!
//! Not what is known of a site (see [`super::SiteConfig`]). Shares are whole per cent, windows whole days.
//!
//! Example: `[policy]` with `utilisation_percent = { A = 85, B = 85, C = 90, D = 90 }` in the configuration file.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::manifest::{Breaker, Grade};

/// One whole number for each grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByGrade {
    /// Established capacity, or weeks of data.
    #[serde(rename = "A")]
    pub a: u64,
    /// A week of data.
    #[serde(rename = "B")]
    pub b: u64,
    /// Half an hour of data.
    #[serde(rename = "C")]
    pub c: u64,
    /// Less.
    #[serde(rename = "D")]
    pub d: u64,
}

impl ByGrade {
    /// The number of that grade; a host without bots counts as grade D.
    #[must_use]
    pub fn of(&self, grade: Grade) -> u64 {
        match grade {
            Grade::A => self.a,
            Grade::B => self.b,
            Grade::C => self.c,
            Grade::D | Grade::None => self.d,
        }
    }

    fn all(&self) -> [u64; 4] {
        [self.a, self.b, self.c, self.d]
    }
}

/// Every constant of the recommendation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The quantile of the busy minutes that demand is read from.
    pub demand_quantile: f64,
    /// Standard errors between the quantile and its confidence bound; 1.645 is one-sided 95 %.
    pub confidence_z: f64,
    /// Ceiling / measured capacity.
    pub capacity_share_percent: ByGrade,
    /// Observed demand / ceiling.
    pub utilisation_percent: ByGrade,
    /// Accounts younger than this are treated with more care.
    pub young_account_days: u64,
    /// Ceiling / measured capacity for a young account.
    pub young_capacity_share_percent: u64,
    /// Ceiling / published quota.
    pub published_share_percent: u64,
    /// Window of demand, people and latency.
    pub clean_window_days: i64,
    /// Window of 429 and overload.
    pub evidence_window_days: i64,
    /// Records of an earlier UTC date (days since 1970-01-01) are out of range; 9131 is 1995-01-01.
    pub oldest_date: i64,
    /// Records further in the future than this are out of range.
    pub future_days: i64,
    /// Minutes further in the future than this do not move the window.
    pub future_minutes: i64,
    /// Clean minutes that a statistic needs.
    pub clean_minutes_min: usize,
    /// Served minutes that grade B needs.
    pub grade_b_minutes: usize,
    /// Dates that grade B needs.
    pub grade_b_days: usize,
    /// Clean minutes that grade A needs.
    pub grade_a_minutes: usize,
    /// Dates that grade A needs.
    pub grade_a_days: usize,
    /// Demand / capacity, lowest and highest, within which grade A trusts the capacity.
    pub grade_a_bracket_percent: (u64, u64),
    /// Requests from which a bot can be found dead.
    pub dead_requests: u64,
    /// A bot with a lower share of answers is dead.
    pub dead_share_percent: u64,
    /// Refusals that make a minute strong.
    pub strong_refusals: u64,
    /// ... and their share of the minute's requests.
    pub strong_share_percent: u64,
    /// Minutes at most so far apart are one episode.
    pub episode_gap_minutes: i64,
    /// Strong minutes that make an episode evidence.
    pub episode_strong_minutes: usize,
    /// Refusals that make an episode evidence.
    pub episode_refusals: u64,
    /// A throttled minute whose requests spread over fewer seconds is about a burst, not about a rate.
    pub rate_span_seconds: u8,
    /// How long unrepeated evidence stands.
    pub provisional_days: i64,
    /// Episodes that establish a 429 limit.
    pub standing_episodes_429: usize,
    /// Episodes that establish an overload limit.
    pub standing_episodes_overload: usize,
    /// Dates over which they must spread.
    pub standing_dates: usize,
    /// Attribution score from which an overload is load-related.
    pub load_score: f64,
    /// Attribution score below which it is an incident.
    pub incident_score: f64,
    /// What is left to the bots of a host where people alone pass the ceiling's share of capacity.
    pub bot_share_percent: u64,
    /// Clean minutes at or above a 429 limit that refute it.
    pub refute_minutes: usize,
    /// Dates over which they must spread.
    pub refute_dates: usize,
    /// Largest / smallest admitted total of an hourly quota.
    pub quota_tolerance_percent: u64,
    /// Requests per minute without data.
    pub default_rpm: u64,
    /// Burst without data.
    pub default_burst: u64,
    /// Connections without data.
    pub default_connections: u64,
    /// Changes within this share of the previous value are not made.
    pub deadband_percent: u64,
    /// The most that a ceiling rises in a day.
    pub raise_percent: u64,
    /// No raise within so many days after trouble.
    pub freeze_days: i64,
    /// Demand / previous ceiling from which the ceiling may hide the demand.
    pub riding_percent: u64,
    /// Errors from which nothing is raised.
    pub error_share_percent: u64,
    /// Mean latency from which nothing is raised.
    pub slow_ms: u64,
    /// Connections at the start.
    pub start_connections: ByGrade,
    /// ... at most, without latency or after trouble.
    pub blind_connections: u64,
    /// Connections at most.
    pub connections_max: u64,
    /// What is left of the connections after trouble.
    pub backoff_percent: u64,
    /// Latency where the log has none.
    pub assumed_latency_ms: u64,
    /// Retry reserve, smallest share of the plan.
    pub retry_percent_min: u64,
    /// Retry reserve, largest share of the plan.
    pub retry_percent_max: u64,
    /// Retry reserve, smallest share at grades C and D.
    pub retry_percent_thin: u64,
    /// Retries, at most this share of the successes.
    pub retry_of_success_percent: u64,
    /// Seconds of requests that a burst may hold.
    pub burst_seconds: u64,
    /// Bursts up to this size are smoothed away where no CDN stands in front.
    pub leaky_burst: u64,
    /// The largest CDN hit ratio that is believed.
    pub cdn_hit_ratio_max: f64,
    /// Cooldown, shortest and longest.
    pub cooldown_seconds: (u64, u64),
    /// A domain that stalls longer is given up.
    pub domain_stall_seconds_max: u64,
    /// The latency breaker of clients; cannot be fitted to a log.
    pub breaker: Breaker,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            demand_quantile: 0.95,
            confidence_z: 1.645,
            capacity_share_percent: ByGrade { a: 70, b: 65, c: 60, d: 60 },
            utilisation_percent: ByGrade { a: 85, b: 85, c: 90, d: 90 },
            young_account_days: 30,
            young_capacity_share_percent: 50,
            published_share_percent: 90,
            clean_window_days: 28,
            evidence_window_days: 90,
            oldest_date: 9131,
            future_days: 1,
            future_minutes: 5,
            clean_minutes_min: 30,
            grade_b_minutes: 300,
            grade_b_days: 7,
            grade_a_minutes: 1000,
            grade_a_days: 14,
            grade_a_bracket_percent: (50, 125),
            dead_requests: 10,
            dead_share_percent: 1,
            strong_refusals: 2,
            strong_share_percent: 2,
            episode_gap_minutes: 5,
            episode_strong_minutes: 2,
            episode_refusals: 10,
            rate_span_seconds: 30,
            provisional_days: 7,
            standing_episodes_429: 3,
            standing_episodes_overload: 2,
            standing_dates: 2,
            load_score: 0.80,
            incident_score: 0.60,
            bot_share_percent: 5,
            refute_minutes: 30,
            refute_dates: 2,
            quota_tolerance_percent: 110,
            default_rpm: 30,
            default_burst: 2,
            default_connections: 2,
            deadband_percent: 5,
            raise_percent: 10,
            freeze_days: 7,
            riding_percent: 95,
            error_share_percent: 1,
            slow_ms: 500,
            start_connections: ByGrade { a: 5, b: 4, c: 3, d: 2 },
            blind_connections: 3,
            connections_max: 10,
            backoff_percent: 90,
            assumed_latency_ms: 2000,
            retry_percent_min: 8,
            retry_percent_max: 12,
            retry_percent_thin: 10,
            retry_of_success_percent: 10,
            burst_seconds: 10,
            leaky_burst: 2,
            cdn_hit_ratio_max: 0.90,
            cooldown_seconds: (5, 900),
            domain_stall_seconds_max: 900,
            breaker: Breaker::default(),
        }
    }
}

impl Policy {
    /// Checks that every constant is in the range in which the rules make sense. `place` is put before the name: the
    /// configuration file.
    ///
    /// # Errors
    ///
    /// A usage error that names the first constant out of range, with what was expected and found.
    pub fn check(&self, place: &str) -> Result<(), Error> {
        let wrong = |name: &str, expected: &str, found: &dyn std::fmt::Display| {
            Err(Error::usage(
                format_args!("{place}policy.{name}"),
                format_args!("is out of range: expected {expected}, found {found}"),
            ))
        };
        for (name, value, expected, low, high) in self.whole_numbers() {
            if !(low..=high).contains(&value) {
                return wrong(name, expected, &value);
            }
        }
        let fractions = [
            ("demand_quantile", self.demand_quantile),
            ("load_score", self.load_score),
            ("incident_score", self.incident_score),
            ("cdn_hit_ratio_max", self.cdn_hit_ratio_max),
        ];
        for (name, value) in fractions {
            if !(value > 0.0 && value < 1.0) {
                return wrong(name, "more than 0 and less than 1", &value);
            }
        }
        if !(0.0..=10.0).contains(&self.confidence_z) {
            return wrong("confidence_z", "0 to 10", &self.confidence_z);
        }
        if self.incident_score > self.load_score {
            return wrong("incident_score", "at most load_score", &self.incident_score);
        }
        for (name, (low, high)) in [
            ("grade_a_bracket_percent", self.grade_a_bracket_percent),
            ("cooldown_seconds", self.cooldown_seconds),
        ] {
            if low > high || high > MOST {
                return wrong(name, "two numbers, the smaller first", &format_args!("{low}, {high}"));
            }
        }
        if self.retry_percent_min > self.retry_percent_max {
            return wrong("retry_percent_min", "at most retry_percent_max", &self.retry_percent_min);
        }
        if !(self.breaker.factor > 1.0 && self.breaker.factor <= 1000.0) {
            return wrong("breaker.factor", "more than 1", &self.breaker.factor);
        }
        if self.breaker.over != "rolling_median" {
            return wrong("breaker.over", "\"rolling_median\"", &format_args!("{:?}", self.breaker.over));
        }
        Ok(())
    }

    /// Name, value, what is expected in words, least and most of every whole number.
    fn whole_numbers(&self) -> Vec<(&'static str, i128, &'static str, i128, i128)> {
        let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let mut all = Vec::new();
        let mut grades = |name, by: &ByGrade, expected, low, high| {
            all.extend(by.all().map(|value| (name, i128::from(value), expected, low, high)));
        };
        grades("capacity_share_percent", &self.capacity_share_percent, "1 to 100", 1, 100);
        grades("utilisation_percent", &self.utilisation_percent, "1 to 100", 1, 100);
        grades("start_connections", &self.start_connections, "1 to 10000", 1, 10_000);
        for (name, value) in [
            ("young_capacity_share_percent", self.young_capacity_share_percent),
            ("published_share_percent", self.published_share_percent),
            ("bot_share_percent", self.bot_share_percent),
            ("backoff_percent", self.backoff_percent),
            ("riding_percent", self.riding_percent),
            ("strong_share_percent", self.strong_share_percent),
        ] {
            all.push((name, i128::from(value), "1 to 100", 1, 100));
        }
        for (name, value) in [
            ("dead_share_percent", self.dead_share_percent),
            ("deadband_percent", self.deadband_percent),
            ("raise_percent", self.raise_percent),
            ("error_share_percent", self.error_share_percent),
            ("retry_percent_min", self.retry_percent_min),
            ("retry_percent_max", self.retry_percent_max),
            ("retry_percent_thin", self.retry_percent_thin),
            ("retry_of_success_percent", self.retry_of_success_percent),
        ] {
            all.push((name, i128::from(value), "0 to 100", 0, 100));
        }
        all.push((
            "quota_tolerance_percent",
            i128::from(self.quota_tolerance_percent),
            "100 to 1000",
            100,
            1000,
        ));
        for (name, value) in [
            ("clean_window_days", self.clean_window_days),
            ("evidence_window_days", self.evidence_window_days),
        ] {
            all.push((name, i128::from(value), "1 to 3660", 1, 3660));
        }
        for (name, value) in [
            ("provisional_days", self.provisional_days),
            ("freeze_days", self.freeze_days),
            ("future_days", self.future_days),
        ] {
            all.push((name, i128::from(value), "0 to 3660", 0, 3660));
        }
        all.push(("young_account_days", i128::from(self.young_account_days), "0 to 3660", 0, 3660));
        all.push((
            "oldest_date",
            i128::from(self.oldest_date),
            "0 to 100000 (days since 1970-01-01)",
            0,
            100_000,
        ));
        all.push(("future_minutes", i128::from(self.future_minutes), "0 to 1440", 0, 1440));
        all.push(("episode_gap_minutes", i128::from(self.episode_gap_minutes), "1 to 1440", 1, 1440));
        all.push(("rate_span_seconds", i128::from(self.rate_span_seconds), "0 to 60", 0, 60));
        all.push(("burst_seconds", i128::from(self.burst_seconds), "1 to 60", 1, 60));
        for (name, value) in [
            ("clean_minutes_min", wide(self.clean_minutes_min)),
            ("grade_b_minutes", wide(self.grade_b_minutes)),
            ("grade_b_days", wide(self.grade_b_days)),
            ("grade_a_minutes", wide(self.grade_a_minutes)),
            ("grade_a_days", wide(self.grade_a_days)),
            ("dead_requests", self.dead_requests),
            ("strong_refusals", self.strong_refusals),
            ("episode_strong_minutes", wide(self.episode_strong_minutes)),
            ("episode_refusals", self.episode_refusals),
            ("standing_episodes_429", wide(self.standing_episodes_429)),
            ("standing_episodes_overload", wide(self.standing_episodes_overload)),
            ("standing_dates", wide(self.standing_dates)),
            ("refute_minutes", wide(self.refute_minutes)),
            ("refute_dates", wide(self.refute_dates)),
            ("default_rpm", self.default_rpm),
            ("default_burst", self.default_burst),
            ("default_connections", self.default_connections),
            ("blind_connections", self.blind_connections),
            ("connections_max", self.connections_max),
            ("slow_ms", self.slow_ms),
            ("assumed_latency_ms", self.assumed_latency_ms),
            ("domain_stall_seconds_max", self.domain_stall_seconds_max),
            ("breaker.consecutive", self.breaker.consecutive),
            ("breaker.window", self.breaker.window),
        ] {
            all.push((name, i128::from(value), "1 to 1000000", 1, i128::from(MOST)));
        }
        all.push(("leaky_burst", i128::from(self.leaky_burst), "0 to 1000000", 0, i128::from(MOST)));
        all
    }
}

/// Nothing above this is meant.
const MOST: u64 = 1_000_000;
