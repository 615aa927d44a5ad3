//! What a manifest may hold: every key with the form of its value, once.
//!
//! Reading checks against it, so that a message can name line, expectation and nearest name; a test holds it against
//! the types. Example: `max_retries` in `rate_limiting` is a whole number.

/// The form of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// A whole number, at least this.
    Integer(i64),
    /// Any number, not negative.
    Number,
    Boolean,
    Text,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A UTC minute as text.
    Minute,
    /// An RFC 3339 time as text.
    Second,
    /// An HTTP status code.
    Status,
    List(&'static Shape),
    /// A list of two whole numbers.
    Pair,
    /// A map with these keys and no other.
    Record(&'static [Field]),
    /// A map with keys that are names of something.
    Map(Names, &'static Shape),
    /// This, or null.
    Nullable(&'static Shape),
    /// Whatever the program that wrote it meant.
    Any,
}

/// What the keys of a map are names of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    Hosts,
    Bots,
    /// Keys of the entry that can be fixed.
    Pins,
    Other,
}

/// A key of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

const COUNT: Shape = Shape::Integer(0);
const FROM_ONE: Shape = Shape::Integer(1);
const COUNT_OR_NULL: Shape = Shape::Nullable(&COUNT);
const ALGORITHM: Shape = Shape::Choice(&["token_bucket", "leaky_bucket"]);

pub(crate) const MANIFEST: Shape = Shape::Record(&[
    may("schema_version", Shape::Any),
    may("generated_at", Shape::Second),
    may("generator", Shape::Text),
    may("digest", Shape::Text),
    may("window", WINDOW),
    may("policy", Shape::Map(Names::Other, &Shape::Any)),
    may("scopes", SCOPES),
    may("rate_limiting", RATE_LIMITING),
    may("domain_overrides", Shape::Map(Names::Hosts, &Shape::Record(&HOST_ENTRY))),
]);

const WINDOW: Shape =
    Shape::Record(&[must("from", Shape::Minute), must("to", Shape::Minute), must("minutes_covered", COUNT)]);

const SCOPE: Shape = Shape::Record(&[may("limit", COUNT_OR_NULL), may("measured", Shape::Boolean)]);

const SCOPES: Shape = Shape::Record(&[
    may("global_per_minute", SCOPE),
    may("global_per_hour", SCOPE),
    may("credential_per_hour", SCOPE),
    may("identity_per_day", SCOPE),
]);

const RATE_LIMITING: Shape = Shape::Record(&[
    may("algorithm", ALGORITHM),
    may("max_concurrency", FROM_ONE),
    may("base_delay_ms", COUNT),
    may("max_retries", COUNT),
    may("backoff_multiplier", Shape::Number),
    may("jitter_range_ms", COUNT),
    may("respect_robots_txt", Shape::Boolean),
    may("retry_on_status", Shape::List(&Shape::Status)),
    may("adaptive_delay", ADAPTIVE_DELAY),
    // An alias, read as adaptive_delay.max_delay_ms.
    may("max_delay_ms", COUNT),
]);

const ADAPTIVE_DELAY: Shape = Shape::Record(&[
    may("enabled", Shape::Boolean),
    may("response_time_multiplier", Shape::Number),
    may("max_delay_ms", COUNT),
]);

const BOT_ENTRY: [Field; 21] = [
    may("max_concurrency", FROM_ONE),
    may("base_delay_ms", COUNT),
    may("jitter_range_ms", COUNT),
    may("algorithm", ALGORITHM),
    may("max_requests_per_minute", FROM_ONE),
    may("max_burst_capacity", FROM_ONE),
    may("max_concurrent_connections", FROM_ONE),
    may("default_cooldown_seconds", Shape::Number),
    may("enforce_burst", FROM_ONE),
    may("edge_requests_per_minute", COUNT_OR_NULL),
    may("even_pace_requests_per_minute", COUNT_OR_NULL),
    may("budgets", Shape::Nullable(&BUDGETS)),
    may("schedule", Shape::Nullable(&SCHEDULE)),
    may("breaker", BREAKER),
    may("max_domain_stall_seconds", COUNT),
    may("confidence", Shape::Nullable(&Shape::Choice(&["A", "B", "C", "D", "none"]))),
    may("apply", Shape::Boolean),
    may("apply_reason", Shape::Nullable(&Shape::Text)),
    may("action", Shape::Nullable(&Shape::Choice(&["stop_denied", "stop_investigate"]))),
    may("pinned", Shape::Map(Names::Pins, &Shape::Number)),
    may("evidence", Shape::Nullable(&EVIDENCE)),
];

/// A bot's keys, and the bots.
const HOST_ENTRY: [Field; 22] = {
    let mut fields = [may("bots", Shape::Map(Names::Bots, &Shape::Record(&BOT_ENTRY))); 22];
    let mut i = 0;
    while i < BOT_ENTRY.len() {
        fields[i] = BOT_ENTRY[i];
        i += 1;
    }
    fields
};

/// The keys of an entry that the configuration can fix.
pub(crate) const PINS: [&str; 9] = [
    "max_concurrency",
    "base_delay_ms",
    "jitter_range_ms",
    "max_requests_per_minute",
    "max_burst_capacity",
    "max_concurrent_connections",
    "default_cooldown_seconds",
    "enforce_burst",
    "edge_requests_per_minute",
];

const BUDGETS: Shape = Shape::Record(&[
    must("requests_per_minute", COUNT),
    must("requests_per_hour", COUNT),
    must("requests_per_day", COUNT),
    must("plan_per_hour", COUNT),
    must("retry_reserve_per_hour", COUNT),
    must("retry_cap_per_hour", COUNT),
]);

const SCHEDULE: Shape = Shape::Record(&[
    must("kind", Shape::Choice(&["hour_of_week", "hour_of_day_type", "hour_of_day", "flat"])),
    must("time_zone", Shape::Text),
    must("requests_per_minute", Shape::Map(Names::Other, &COUNT)),
    may("people_per_minute", Shape::Map(Names::Other, &COUNT)),
]);

const BREAKER: Shape = Shape::Record(&[
    may("consecutive", FROM_ONE),
    may("factor", Shape::Number),
    may("over", Shape::Text),
    may("window", FROM_ONE),
]);

const EVIDENCE: Shape = Shape::Record(&[
    must("max_requests_per_minute", RATE_EVIDENCE),
    may("max_concurrent_connections", Shape::Nullable(&CONNECTION_EVIDENCE)),
    may("L", COUNT_OR_NULL),
    may("L_best", COUNT_OR_NULL),
    may("L_best_at", Shape::Nullable(&Shape::Minute)),
    may("c429", COUNT_OR_NULL),
    must("c429_state", Shape::Text),
    may("burst_429", COUNT_OR_NULL),
    may("quota", COUNT_OR_NULL),
    may("quota_state", Shape::Nullable(&Shape::Text)),
    may("outliers", COUNT),
    may("utilisation", Shape::Nullable(&Shape::Number)),
    must("window_to", Shape::Minute),
]);

const CANDIDATE: Shape = Shape::Record(&[must("rule", Shape::Text), must("value", COUNT)]);

const RATE_EVIDENCE: Shape = Shape::Record(&[
    must("value", COUNT),
    must("bound_by", Shape::Text),
    must("rule", Shape::Text),
    must("formula", Shape::Text),
    must("inputs", INPUTS),
    may("runner_up", Shape::Nullable(&CANDIDATE)),
    may("candidates", Shape::List(&CANDIDATE)),
    may("minutes", Shape::List(&Shape::Minute)),
    must("window", WINDOW),
    may("not_used", Shape::List(&Shape::Record(&[must("rule", Shape::Text), must("why", Shape::Text)]))),
    must(
        "capacity",
        Shape::Record(&[
            must("known", Shape::Boolean),
            may("low", COUNT_OR_NULL),
            may("high", COUNT_OR_NULL),
        ]),
    ),
]);

const INPUTS: Shape = Shape::Record(&[
    may("f", COUNT),
    may("u", COUNT),
    may("L", COUNT_OR_NULL),
    may("want", COUNT_OR_NULL),
    may("clean_minutes", COUNT),
    may("days", COUNT),
    may("C429", COUNT_OR_NULL),
    may("episodes", COUNT),
    may("H", COUNT_OR_NULL),
    may("slot", Shape::Nullable(&Shape::Text)),
    may("people", COUNT_OR_NULL),
    may("share", Shape::Nullable(&Shape::Pair)),
    may("prev", COUNT_OR_NULL),
    may("young", Shape::Boolean),
    may("crawl_delay_ms", COUNT_OR_NULL),
]);

const CONNECTION_EVIDENCE: Shape = Shape::Record(&[
    must("rule", Shape::Text),
    must("need", COUNT),
    may("latency_ms_mean", Shape::Nullable(&Shape::Number)),
]);

/// How a message says what was expected.
impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(i64::MIN..=0) => f.write_str("a whole number"),
            Self::Integer(least) => write!(f, "a whole number of at least {least}"),
            Self::Number => f.write_str("a number"),
            Self::Boolean => f.write_str("`true` or `false`"),
            Self::Text => f.write_str("a text"),
            Self::Choice(names) => {
                for (i, name) in names.iter().enumerate() {
                    let joint = match i {
                        0 => "",
                        _ if i + 1 == names.len() => " or ",
                        _ => ", ",
                    };
                    write!(f, "{joint}`{name}`")?;
                }
                Ok(())
            }
            Self::Minute => f.write_str("a UTC minute such as `2026-03-10T23:59Z`"),
            Self::Second => f.write_str("a time such as `2026-03-11T02:00:07Z`"),
            Self::Status => f.write_str("a status code from 100 to 599"),
            Self::List(_) => f.write_str("a list"),
            Self::Pair => f.write_str("a list of two whole numbers"),
            Self::Record(_) | Self::Map(..) => f.write_str("a map"),
            Self::Nullable(inner) => inner.fmt(f),
            Self::Any => f.write_str("a value"),
        }
    }
}
