//! What an answer means for the request that got it.
//!
//! Example: 403 is a verdict and never asked again; 429 is a matter of rate; 503 is the origin's trouble.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a request did not bring its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// 429.
    RateLimited,
    /// 502, 503, 504.
    Unavailable,
    /// 401, 403, 451: a verdict.
    Denied,
    /// Any other 4xx.
    ClientError,
    /// Any other 5xx: a fault of the application, which a retry does not mend.
    ServerError,
    /// No answer in time.
    TimedOut,
    /// No connection, or a broken one.
    Network,
    /// The request was not sent before its deadline.
    Deadline,
}

impl Failure {
    /// The failure that a status stands for; none for 1xx to 3xx.
    ///
    /// ```
    /// use crawl_baseline::throttle::Failure;
    /// assert_eq!(Failure::of_status(429), Some(Failure::RateLimited));
    /// assert_eq!(Failure::of_status(500), Some(Failure::ServerError));
    /// assert_eq!(Failure::of_status(304), None);
    /// ```
    #[must_use]
    pub fn of_status(status: u16) -> Option<Self> {
        match status {
            429 => Some(Self::RateLimited),
            502..=504 => Some(Self::Unavailable),
            401 | 403 | 451 => Some(Self::Denied),
            400..=499 => Some(Self::ClientError),
            500.. => Some(Self::ServerError),
            _ => None,
        }
    }

    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Denied => "denied",
            Self::ClientError => "client_error",
            Self::ServerError => "server_error",
            Self::TimedOut => "timed_out",
            Self::Network => "network",
            Self::Deadline => "deadline",
        }
    }

    /// Whether asking again can help: 429, 502, 503, 504, and what never got an answer.
    #[must_use]
    pub fn is_retried(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable | Self::TimedOut | Self::Network)
    }

    /// Whether it counts as one of the tries of the request. A 429 says nothing about the request itself.
    #[must_use]
    pub fn spends_attempt(self) -> bool {
        self != Self::RateLimited
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
