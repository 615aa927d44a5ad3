//! Tables and columns of the history. They are a contract: columns are added, never renamed, never given another
//! meaning.
//!
//! Only types that DuckDB, Spark, pandas, polars and ClickHouse all read: signed integers, UTC timestamps in
//! microseconds, dates, strings, bytes, and lists of structs of these. `date` is no column: it is the name of the folder
//! (`date=2026-03-10`), which those programs show as one.
//!
//! Example of a row of `minutes`: `2026-03-10T06:25:00Z, 5d1f0a3c9be27744, www.example.com, Googlebot, ..., 17, ...`

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

/// Version of the schema that this program writes, and the newest that it reads.
pub const SCHEMA_VERSION: u32 = 1;
/// The key of [`SCHEMA_VERSION`] in the key-value metadata of every part.
pub const SCHEMA_VERSION_KEY: &str = "schema_version";
/// The key of the digest of the source whose content a part holds, in the metadata of the parts of one source: a part
/// of another age of the same log shows by it.
pub const CONTENT_KEY: &str = "source_content_digest";

/// The key of [`PARAMS_SAMPLE`] in the metadata of the parts of `params`.
pub const PARAMS_SAMPLE_KEY: &str = "params_sample";
/// What the rows of `params` were counted over.
pub const PARAMS_SAMPLE: &str = "requests of bots: every one answered 4xx or 5xx, and of the other URLs one in \
    `sampled_one_in`, chosen by the XXH3-64 of the URL as logged; hits and distinct are not scaled";

/// The tables, each a folder of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Requests of one host, bot and verdict in one minute.
    Minutes,
    /// Requests by status and date.
    Status,
    /// URLs answered 4xx or 5xx.
    Waste,
    /// Requests by hour and latency bound.
    Latency,
    /// Query parameters in what bots fetched: of waste URLs all, of the others a sample ([`PARAMS_SAMPLE`]).
    Params,
    /// What is known of a bot beside its rates.
    Bots,
    /// One row per source.
    Sources,
    /// Recommendations with their evidence.
    Ceilings,
    /// One row per run; the only table that differs between two runs over the same input.
    Runs,
}

impl Table {
    /// All tables, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Minutes,
        Self::Status,
        Self::Waste,
        Self::Latency,
        Self::Params,
        Self::Bots,
        Self::Sources,
        Self::Ceilings,
        Self::Runs,
    ];
    /// The tables whose parts a `sources` row names, in the order in which they are written.
    pub const OF_SOURCE: [Self; 6] =
        [Self::Minutes, Self::Status, Self::Waste, Self::Latency, Self::Params, Self::Bots];

    /// The name of its folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Minutes => "minutes",
            Self::Status => "status",
            Self::Waste => "waste",
            Self::Latency => "latency",
            Self::Params => "params",
            Self::Bots => "bots",
            Self::Sources => "sources",
            Self::Ceilings => "ceilings",
            Self::Runs => "runs",
        }
    }

    /// Its columns.
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        let columns = match self {
            Self::Minutes => minutes(),
            Self::Status => [
                key_columns(false),
                vec![null("status", DataType::Int32), count("requests"), count("bytes_sum")],
            ]
            .concat(),
            Self::Waste => [
                key_columns(false),
                vec![
                    text("url_key"),
                    full("status", DataType::Int32),
                    count("hits"),
                    count("bytes_sum"),
                    text("url_sample"),
                ],
            ]
            .concat(),
            Self::Latency => [
                key_columns(false),
                vec![full("hour_start", timestamp()), count("latency_ms_le"), count("requests")],
            ]
            .concat(),
            Self::Params => vec![
                text("source"),
                text("host"),
                text("parameter"),
                count("hits"),
                count("distinct"),
                full("distinct_hll", DataType::Binary),
                // `hits` and `distinct` are of what was looked at, not scaled: all requests answered 4xx or 5xx, and of
                // the other URLs one in so many, chosen by hash.
                count("sampled_one_in"),
            ],
            Self::Bots => [
                key_columns(true),
                vec![
                    count("urls_distinct"),
                    full("urls_hll", DataType::Binary),
                    count("user_agents_distinct"),
                    full("user_agents_hll", DataType::Binary),
                    list("user_agent_samples", counted("user_agent", "requests")),
                    list("variants", counted("variant", "requests")),
                    list("failing_prefixes", counted("prefix", "requests")),
                ],
            ]
            .concat(),
            Self::Sources => sources(),
            Self::Ceilings => ceilings(),
            Self::Runs => vec![
                text("run"),
                text("version"),
                full("arguments", DataType::List(Arc::new(full("element", DataType::Utf8)))),
                list(
                    "inputs",
                    vec![
                        full("path", DataType::Utf8),
                        null("source", DataType::Utf8),
                        full("outcome", DataType::Utf8),
                    ],
                ),
                full("started_at", timestamp()),
                full("finished_at", timestamp()),
                full("exit_code", DataType::Int32),
            ],
        };
        Arc::new(Schema::new(columns))
    }
}

/// The instants of all tables.
#[must_use]
pub fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn full(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, false)
}

fn null(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

fn text(name: &str) -> Field {
    full(name, dictionary())
}

fn count(name: &str) -> Field {
    full(name, DataType::Int64)
}

fn counted(key: &str, value: &str) -> Vec<Field> {
    vec![full(key, DataType::Utf8), count(value)]
}

/// The element is called `element`, as the parquet specification wants it.
fn list(name: &str, fields: Vec<Field>) -> Field {
    full(name, DataType::List(Arc::new(full("element", DataType::Struct(Fields::from(fields))))))
}

/// Whose row it is; the roll-ups only where a table is queried alone.
fn key_columns(with_roll_ups: bool) -> Vec<Field> {
    let mut columns = vec![text("source"), text("host"), text("bot")];
    if with_roll_ups {
        columns.extend([text("family"), text("operator"), text("category")]);
    }
    columns.push(text("verification"));
    columns
}

fn minutes() -> Vec<Field> {
    let mut columns = vec![full("minute_start", timestamp())];
    columns.extend(key_columns(true));
    columns.extend(["requests", "bytes_sum"].map(count));
    columns.extend(crate::tally::table::STATUS_CLASSES.map(|c| count(&format!("requests_{c}"))));
    columns.extend(crate::tally::table::STATUS_CODES.map(|c| count(&format!("requests_{c}"))));
    columns.push(list("requests_by_second", vec![full("second", DataType::Int32), count("requests")]));
    columns.extend([
        count("latency_count"),
        null("latency_ms_sum", DataType::Int64),
        null("latency_ms_max", DataType::Int64),
        count("cached_count"),
        count("path_static_requests"),
        full("partial", DataType::Boolean),
    ]);
    columns
}

fn sources() -> Vec<Field> {
    let mut columns = vec![
        text("source"),
        full("head_hash", DataType::Utf8),
        count("length_bytes"),
        full("content_digest", DataType::Utf8),
        full("granule_hashes", DataType::Binary),
        null("first_record_date", DataType::Date32),
    ];
    columns.extend(["lines", "blank", "directive", "filtered", "records", "rejected"].map(count));
    columns.push(list("rejects", counted("reason", "lines")));
    columns.extend(
        ["out_of_range", "joined_lines", "deferred_bytes", "overlap_bytes", "nul_bytes_skipped"].map(count),
    );
    columns.extend([
        list("formats", counted("format", "records")),
        list("flags", counted("flag", "records")),
        list(
            "coverage",
            vec![full("date", DataType::Date32), full("first", timestamp()), full("last", timestamp())],
        ),
        list("first_rejected_lines", vec![count("line"), full("reason", DataType::Utf8)]),
        null("clock", DataType::Utf8),
        full("live", DataType::Boolean),
        full("damaged", DataType::Boolean),
        null("overlap_source", DataType::Utf8),
        full("overflow", DataType::List(Arc::new(full("element", DataType::Utf8)))),
        list("settings", vec![full("name", DataType::Utf8), full("value", DataType::Utf8)]),
        list("recorded", vec![full("name", DataType::Utf8), full("value", DataType::Utf8)]),
        list(
            "parts",
            vec![
                full("path", DataType::Utf8),
                count("rows"),
                count("bytes"),
                full("file_hash", DataType::Utf8),
            ],
        ),
        full("replaces", DataType::List(Arc::new(full("element", DataType::Utf8)))),
        // Since the overlap of rotated logs is looked for: null in older histories.
        null("first_line_hashes", DataType::Binary),
        null("first_lines_since", timestamp()),
        null("last_line_hashes", DataType::Binary),
        null("last_lines_since", timestamp()),
    ]);
    columns
}

/// The figures that are asked for over time are columns; all the rest is the JSON of the evidence.
fn ceilings() -> Vec<Field> {
    vec![
        full("window_first", timestamp()),
        full("window_last", timestamp()),
        text("host"),
        text("bot"),
        null("max_requests_per_minute", DataType::Int64),
        null("max_burst_capacity", DataType::Int64),
        null("max_concurrent_connections", DataType::Int64),
        null("base_delay_ms", DataType::Int64),
        null("requests_per_hour", DataType::Int64),
        null("requests_per_day", DataType::Int64),
        text("bound_by"),
        text("confidence"),
        null("apply", DataType::Boolean),
        full("evidence_json", DataType::Utf8),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &DataType) {
        match kind {
            DataType::Int32
            | DataType::Int64
            | DataType::Utf8
            | DataType::Binary
            | DataType::Boolean
            | DataType::Date32 => {}
            DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) => assert_eq!(zone.as_ref(), "UTC"),
            DataType::Dictionary(_, value) => assert_eq!(**value, DataType::Utf8),
            DataType::List(element) => {
                assert_eq!(element.name(), "element");
                check(element.data_type());
            }
            DataType::Struct(fields) => fields.iter().for_each(|f| check(f.data_type())),
            other => panic!("{other} is not read by every program"),
        }
    }

    #[test]
    fn every_column_has_a_type_that_all_programs_read() {
        for table in Table::ALL {
            for field in table.schema().fields() {
                check(field.data_type());
            }
        }
    }

    #[test]
    fn the_columns_are_the_documented_ones_and_new_ones_come_last() {
        let of = |table: Table| -> String {
            table.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            of(Table::Minutes),
            "minute_start source host bot family operator category verification requests bytes_sum requests_1xx \
             requests_2xx requests_3xx requests_4xx requests_5xx requests_other requests_304 requests_403 requests_404 \
             requests_429 requests_499 requests_502 requests_503 requests_504 requests_by_second latency_count \
             latency_ms_sum latency_ms_max cached_count path_static_requests partial"
        );
        assert_eq!(of(Table::Status), "source host bot verification status requests bytes_sum");
        assert_eq!(of(Table::Waste), "source host bot verification url_key status hits bytes_sum url_sample");
        assert_eq!(
            of(Table::Bots),
            "source host bot family operator category verification urls_distinct urls_hll user_agents_distinct \
             user_agents_hll user_agent_samples variants failing_prefixes"
        );
        assert_eq!(
            of(Table::Sources),
            "source head_hash length_bytes content_digest granule_hashes first_record_date lines blank directive \
             filtered records rejected rejects out_of_range joined_lines deferred_bytes overlap_bytes nul_bytes_skipped \
             formats flags coverage first_rejected_lines clock live damaged overlap_source overflow settings recorded \
             parts replaces first_line_hashes first_lines_since last_line_hashes last_lines_since"
        );
        assert_eq!(of(Table::Params), "source host parameter hits distinct distinct_hll sampled_one_in");
        assert_eq!(of(Table::Runs), "run version arguments inputs started_at finished_at exit_code");
    }
}
