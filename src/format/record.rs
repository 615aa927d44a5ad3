//! What one line of a log was taken for. Not how it is found: that is the parsers' work.
//!
//! A [`Record`] borrows from the line and keeps every field as logged; escapes are undone only by who needs the text
//! ([`crate::format::escape`]).
//!
//! Example of a line: `192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET / HTTP/1.1" 200 512 "-" "Mozilla/5.0"`

use super::tail;

/// The named formats. The text of each is what `--log-format`, `parse` and the baseline say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// `client ident user [time] "request" status bytes "referer" "user agent"`
    Combined,
    /// Combined without the last two fields.
    Common,
    /// Combined with the virtual host in front.
    VhostCombined,
    /// Common with the virtual host in front.
    VhostCommon,
    /// One JSON object a line: nginx, Caddy, Traefik, any names that say what they hold.
    Json,
    /// W3C extended: `#Fields:` names the columns (IIS, CloudFront).
    W3c,
    /// Traefik's Combined with request count, router, server and duration behind it.
    Traefik,
    /// HAProxy's HTTP log.
    Haproxy,
    /// Application load balancers of AWS.
    Alb,
    /// Classic load balancers of AWS.
    Elb,
    /// Server access logs of S3.
    S3,
    /// The server's own format string.
    Custom,
}

impl Format {
    /// All formats, in the order of their names in the documentation.
    pub const ALL: [Self; 12] = [
        Self::Combined,
        Self::Common,
        Self::VhostCombined,
        Self::VhostCommon,
        Self::Json,
        Self::W3c,
        Self::Traefik,
        Self::Haproxy,
        Self::Alb,
        Self::Elb,
        Self::S3,
        Self::Custom,
    ];

    /// The formats that have a name of their own: all but the server's own string.
    pub fn named() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|format| *format != Self::Custom)
    }

    /// The name that users see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Common => "common",
            Self::VhostCombined => "vhost_combined",
            Self::VhostCommon => "vhost_common",
            Self::Json => "json",
            Self::W3c => "w3c",
            Self::Traefik => "traefik",
            Self::Haproxy => "haproxy",
            Self::Alb => "alb",
            Self::Elb => "elb",
            Self::S3 => "s3",
            Self::Custom => "custom",
        }
    }
}

/// What a log carrier put around the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrapper {
    /// RFC 3164 or RFC 5424 in front.
    Syslog,
    /// Stamp, stream and tag of a container runtime in front.
    Cri,
    /// Docker's JSON object around it.
    Docker,
}

impl Wrapper {
    /// The name that users see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syslog => "syslog",
            Self::Cri => "cri",
            Self::Docker => "docker",
        }
    }
}

/// Remarks on a record that is kept nevertheless: a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(u16);

impl Flags {
    /// A quote that the writer did not escape was repaired.
    pub const QUOTE_REPAIR: Self = Self(1);
    /// The byte count was beyond 2^63-1 and is absent.
    pub const BYTES_OVERFLOW: Self = Self(1 << 1);
    /// The format has no User-Agent field.
    pub const NO_USER_AGENT_FIELD: Self = Self(1 << 2);
    /// The stamp had no zone.
    pub const ASSUMED_ZONE: Self = Self(1 << 3);
    /// Second 60, counted as 59.
    pub const LEAP_SECOND: Self = Self(1 << 4);
    /// More than a day after the run: out of range.
    pub const FUTURE: Self = Self(1 << 5);
    /// Before 1995: out of range.
    pub const ANCIENT: Self = Self(1 << 6);
    /// No user field.
    pub const MISSING_USER: Self = Self(1 << 7);
    /// NUL bytes stood before the line.
    pub const LEADING_NUL: Self = Self(1 << 8);
    /// The target was cut by the writer or by a limit.
    pub const TARGET_TRUNCATED: Self = Self(1 << 9);
    /// A host name stands where ident belongs.
    pub const IDENT_LOOKS_LIKE_HOST: Self = Self(1 << 10);

    /// Every flag with its name, in the order of the documentation.
    pub const NAMES: [(Self, &'static str); 11] = [
        (Self::QUOTE_REPAIR, "quote_repair"),
        (Self::BYTES_OVERFLOW, "bytes_overflow"),
        (Self::NO_USER_AGENT_FIELD, "no_user_agent_field"),
        (Self::ASSUMED_ZONE, "assumed_zone"),
        (Self::LEAP_SECOND, "leap_second"),
        (Self::FUTURE, "future"),
        (Self::ANCIENT, "ancient"),
        (Self::MISSING_USER, "missing_user"),
        (Self::LEADING_NUL, "leading_nul"),
        (Self::TARGET_TRUNCATED, "target_truncated"),
        (Self::IDENT_LOOKS_LIKE_HOST, "ident_looks_like_host"),
    ];

    /// No flag.
    #[must_use]
    pub const fn empty() -> Self {
        Self(0)
    }

    /// Whether no flag is set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every flag of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets the flags of `other`.
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The names of the flags that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(flag, _)| self.contains(*flag)).map(|(_, name)| name)
    }
}

/// Why a line is no record. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RejectReason {
    /// No stamp where one belongs.
    NoTime,
    /// A stamp that is no real date and time.
    BadTime,
    /// No quoted request behind the stamp.
    NoRequestQuote,
    /// A quoted field that does not end.
    UnterminatedQuote,
    /// The status is neither three digits, `0` nor `-`.
    BadStatus,
    /// The byte count is neither digits nor `-`.
    BadBytes,
    /// Nothing before the stamp.
    ShortPrefix,
    /// Text behind the bytes of a common line that is no number.
    UnquotedTail,
    /// Two entries that ran into each other.
    TornLine,
    /// Longer than `--max-line-bytes`.
    TooLong,
    /// The line was exported through a CSV writer: inner quotes are doubled.
    CsvWrapped,
    /// Nothing like an access log.
    NotThisFormat,
    /// Broken JSON.
    BadJson,
}

impl RejectReason {
    /// All reasons, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::NoTime,
        Self::BadTime,
        Self::NoRequestQuote,
        Self::UnterminatedQuote,
        Self::BadStatus,
        Self::BadBytes,
        Self::ShortPrefix,
        Self::UnquotedTail,
        Self::TornLine,
        Self::TooLong,
        Self::CsvWrapped,
        Self::NotThisFormat,
        Self::BadJson,
    ];

    /// The name that users see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoTime => "no_time",
            Self::BadTime => "bad_time",
            Self::NoRequestQuote => "no_request_quote",
            Self::UnterminatedQuote => "unterminated_quote",
            Self::BadStatus => "bad_status",
            Self::BadBytes => "bad_bytes",
            Self::ShortPrefix => "short_prefix",
            Self::UnquotedTail => "unquoted_tail",
            Self::TornLine => "torn_line",
            Self::TooLong => "too_long",
            Self::CsvWrapped => "csv_wrapped",
            Self::NotThisFormat => "not_this_format",
            Self::BadJson => "bad_json",
        }
    }
}

/// One parsed line. Every field is as logged (escapes in place) unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record<'a> {
    /// The format that accepted the line.
    pub format: Format,
    /// Remarks.
    pub flags: Flags,
    /// The virtual host field without its port; `None` where the format has none.
    pub host: Option<&'a [u8]>,
    /// The port of the virtual host field.
    pub vhost_port: Option<u16>,
    /// The peer's word as logged: an address (with port, brackets, zone), a name, or `-`.
    pub client: &'a [u8],
    /// The text of an X-Forwarded-For list that stands in front of the client, without the client.
    pub forwarded: Option<&'a [u8]>,
    /// The ident word as logged, `-` included.
    pub ident: &'a [u8],
    /// The user as logged, `-` included; may hold blanks. Empty with [`Flags::MISSING_USER`].
    pub user: &'a [u8],
    /// Seconds since 1970-01-01T00:00:00Z, the zone applied.
    pub epoch: i64,
    /// Between the quotes of the request.
    pub request: &'a [u8],
    /// The number, 0 to 999; `None` for `-`.
    pub status: Option<u16>,
    /// Bytes sent, at most 2^63-1; `None` for `-` and overflow.
    pub bytes: Option<u64>,
    /// Between the quotes of the referer; `None` where the line has no such field.
    pub referer: Option<&'a [u8]>,
    /// Between the quotes of the User-Agent; `None` where the line has no such field.
    pub user_agent: Option<&'a [u8]>,
    /// Everything behind the last named field, blanks trimmed.
    pub tail: &'a [u8],
    /// What a carrier put around the line.
    pub prefix: Option<Wrapper>,
    /// What the format names; pairs in the tail are [`crate::format::tail`]'s.
    pub timing: Timing,
}

/// How long a request took and where its answer came from, as far as the format has fields for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Microseconds.
    pub latency_us: Option<u64>,
    /// The answer came from a cache.
    pub cached: bool,
}

impl Record<'_> {
    /// A record to write over.
    pub(super) const EMPTY: Self = Self {
        format: Format::Combined,
        flags: Flags::empty(),
        host: None,
        vhost_port: None,
        client: b"",
        forwarded: None,
        ident: b"",
        user: b"",
        epoch: 0,
        request: b"",
        status: None,
        bytes: None,
        referer: None,
        user_agent: None,
        tail: b"",
        prefix: None,
        timing: Timing { latency_us: None, cached: false },
    };

    /// The UTC minute, `floor(epoch / 60)`.
    #[must_use]
    pub fn minute(&self) -> i64 {
        self.epoch.div_euclid(60)
    }

    /// How long the request took in microseconds: the format's field, else a pair of the tail.
    #[must_use]
    pub fn latency_us(&self) -> Option<u64> {
        self.timing
            .latency_us
            .or_else(|| if self.tail.is_empty() { None } else { tail::latency_us(self.tail) })
    }

    /// Whether the answer came from a cache: the format's field, or a pair of the tail.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.timing.cached || (!self.tail.is_empty() && tail::cached(self.tail))
    }
}

/// A line that is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reject {
    /// Why.
    pub reason: RejectReason,
}

/// What one line is: exactly one of these, so that the line equation holds by construction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "a record is the ordinary case, and a box would be an allocation per line"
)]
pub enum Line<'a> {
    /// Nothing but blanks.
    Blank,
    /// Begins with `#`.
    Directive,
    /// An access.
    Record(Record<'a>),
    /// Anything else.
    Reject(Reject),
}
