//! Arrow columns back into rows. The inverse of [`crate::history::batch`].
//!
//! Columns are found by name: an older part may lack the newest ones, a part of another program may hold anything.
//! Whatever does not fit is an error of the part, never a wrong row.

use std::collections::BTreeMap;

use arrow::array::{
    Array, BinaryArray, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};

use crate::tally::distinct::Distinct;
use crate::tally::table::{
    BotRow, LatencyRow, MinuteRow, ParamRow, STATUS_CLASSES, STATUS_CODES, Series, StatusRow, Verification,
    WasteRow,
};

/// Why a part does not fit.
pub(super) type Misfit = String;

/// A value outside of its column's range, or a null where none belongs.
pub(super) fn misfit(column: &str, what: &str) -> Misfit {
    format!("column `{column}`: {what}")
}

pub(super) fn column<'a, T: 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T, Misfit> {
    let array = batch.column_by_name(name).ok_or_else(|| misfit(name, "is missing"))?;
    array
        .as_any()
        .downcast_ref::<T>()
        .ok_or_else(|| misfit(name, &format!("has the unexpected type {}", array.data_type())))
}

/// A column without nulls.
pub(super) fn full<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T, Misfit> {
    let array: &T = column(batch, name)?;
    if array.null_count() > 0 { Err(misfit(name, "holds nulls")) } else { Ok(array) }
}

fn unsigned(name: &str, value: i64) -> Result<u64, Misfit> {
    u64::try_from(value).map_err(|_| misfit(name, &format!("holds {value}")))
}

/// A column of counts.
pub(super) struct Counts<'a>(&'a str, &'a Int64Array);

impl<'a> Counts<'a> {
    pub(super) fn of(batch: &'a RecordBatch, name: &'a str) -> Result<Self, Misfit> {
        Ok(Self(name, full(batch, name)?))
    }

    pub(super) fn at(&self, row: usize) -> Result<u64, Misfit> {
        unsigned(self.0, self.1.value(row))
    }
}

fn optional_count(name: &str, array: &Int64Array, row: usize) -> Result<Option<u64>, Misfit> {
    if array.is_null(row) { Ok(None) } else { unsigned(name, array.value(row)).map(Some) }
}

pub(super) fn seconds(micros: i64) -> i64 {
    micros.div_euclid(1_000_000)
}

/// The elements of a list of structs in one row, and its field of that name.
pub(super) struct Elements(StructArray);

impl Elements {
    pub(super) fn of(batch: &RecordBatch, name: &str, row: usize) -> Result<Self, Misfit> {
        let list: &ListArray = full(batch, name)?;
        list.value(row)
            .as_any()
            .downcast_ref::<StructArray>()
            .cloned()
            .map(Self)
            .ok_or_else(|| misfit(name, "is no list of structs"))
    }

    pub(super) fn field<T: Array + 'static>(&self, name: &str) -> Result<&T, Misfit> {
        self.0
            .column_by_name(name)
            .and_then(|a| a.as_any().downcast_ref::<T>())
            .ok_or_else(|| misfit(name, "is missing or of an unexpected type"))
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, Misfit> {
        Ok(self.field::<StringArray>(name)?.iter().map(|t| t.unwrap_or_default().to_owned()).collect())
    }

    pub(super) fn counts(&self, name: &str) -> Result<Vec<u64>, Misfit> {
        self.field::<Int64Array>(name)?.values().iter().map(|n| unsigned(name, *n)).collect()
    }
}

pub(super) fn text_counts(
    batch: &RecordBatch,
    name: &str,
    row: usize,
    text: &str,
    count: &str,
) -> Result<Vec<(String, u64)>, Misfit> {
    let elements = Elements::of(batch, name, row)?;
    Ok(elements.texts(text)?.into_iter().zip(elements.counts(count)?).collect())
}

pub(super) fn text_pairs(
    batch: &RecordBatch,
    name: &str,
    row: usize,
) -> Result<Vec<(String, String)>, Misfit> {
    let elements = Elements::of(batch, name, row)?;
    Ok(elements.texts("name")?.into_iter().zip(elements.texts("value")?).collect())
}

pub(super) fn text_list(batch: &RecordBatch, name: &str, row: usize) -> Result<Vec<String>, Misfit> {
    let list: &ListArray = full(batch, name)?;
    let texts = list.value(row);
    let texts: &StringArray =
        texts.as_any().downcast_ref().ok_or_else(|| misfit(name, "is no list of strings"))?;
    Ok(texts.iter().map(|t| t.unwrap_or_default().to_owned()).collect())
}

/// The series that rows of a date refer to, numbered in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct SeriesNumbers {
    /// Host, bot, verdict -> number.
    numbers: BTreeMap<(String, String, &'static str), u32>,
    pub(super) series: Vec<Series>,
}

impl SeriesNumbers {
    fn number(
        &mut self,
        host: &str,
        bot: &str,
        verification: &str,
        roll_ups: Option<[&str; 3]>,
    ) -> Result<u32, Misfit> {
        let verification = Verification::from_name(verification)
            .ok_or_else(|| misfit("verification", &format!("holds `{verification}`")))?;
        let key = (host.to_owned(), bot.to_owned(), verification.name());
        let number = if let Some(number) = self.numbers.get(&key) {
            *number
        } else {
            let number =
                u32::try_from(self.series.len()).map_err(|_| misfit("bot", "has too many values"))?;
            self.numbers.insert(key, number);
            self.series.push(Series {
                host: host.to_owned(),
                bot: bot.to_owned(),
                verification,
                family: String::new(),
                operator: String::new(),
                category: String::new(),
            });
            number
        };
        if let Some([family, operator, category]) = roll_ups {
            let series = &mut self.series[number as usize];
            family.clone_into(&mut series.family);
            operator.clone_into(&mut series.operator);
            category.clone_into(&mut series.category);
        }
        Ok(number)
    }
}

/// The numbers of the series of every row of `source`; `None` for rows of another one.
fn series_of_rows(
    batch: &RecordBatch,
    source: &str,
    roll_ups: bool,
    numbers: &mut SeriesNumbers,
) -> Result<Vec<Option<u32>>, Misfit> {
    let text = |name: &str| full::<StringArray>(batch, name);
    let (sources, hosts, bots, verdicts) =
        (text("source")?, text("host")?, text("bot")?, text("verification")?);
    let groups = if roll_ups { Some([text("family")?, text("operator")?, text("category")?]) } else { None };
    let mut out = Vec::with_capacity(batch.num_rows());
    // Rows are sorted: nearly every one has the series of the one before.
    let mut last: Option<(usize, u32)> = None;
    for row in 0..batch.num_rows() {
        if sources.value(row) != source {
            out.push(None);
            continue;
        }
        let same = last.filter(|(before, _)| {
            [hosts, bots, verdicts].iter().all(|column| column.value(*before) == column.value(row))
        });
        let number = if let Some((_, number)) = same {
            number
        } else {
            let names = groups.map(|columns| columns.map(|c| c.value(row)));
            numbers.number(hosts.value(row), bots.value(row), verdicts.value(row), names)?
        };
        last = Some((row, number));
        out.push(Some(number));
    }
    Ok(out)
}

/// The columns of `minutes` that rows are made of; `requests_by_second` only when it is asked for.
pub(super) fn minute_columns(by_second: bool) -> Vec<&'static str> {
    let schema = [
        "minute_start",
        "source",
        "host",
        "bot",
        "family",
        "operator",
        "category",
        "verification",
        "requests",
        "bytes_sum",
        "requests_1xx",
        "requests_2xx",
        "requests_3xx",
        "requests_4xx",
        "requests_5xx",
        "requests_other",
        "requests_304",
        "requests_403",
        "requests_404",
        "requests_429",
        "requests_499",
        "requests_502",
        "requests_503",
        "requests_504",
        "latency_count",
        "latency_ms_sum",
        "latency_ms_max",
        "cached_count",
        "path_static_requests",
        "partial",
    ];
    let mut columns = schema.to_vec();
    if by_second {
        columns.push("requests_by_second");
    }
    columns
}

/// Rows of `minutes` of one source.
pub(super) fn minutes(
    batch: &RecordBatch,
    source: &str,
    by_second: bool,
    numbers: &mut SeriesNumbers,
    out: &mut Vec<MinuteRow>,
) -> Result<(), Misfit> {
    let series = series_of_rows(batch, source, true, numbers)?;
    let starts: &TimestampMicrosecondArray = full(batch, "minute_start")?;
    let count = |name| Counts::of(batch, name);
    let (requests, bytes_sum) = (count("requests")?, count("bytes_sum")?);
    let class_names = STATUS_CLASSES.map(|c| format!("requests_{c}"));
    let classes = class_names.iter().map(|n| count(n)).collect::<Result<Vec<_>, _>>()?;
    let code_names = STATUS_CODES.map(|c| format!("requests_{c}"));
    let codes = code_names.iter().map(|n| count(n)).collect::<Result<Vec<_>, _>>()?;
    let (latency_count, cached, fixed) =
        (count("latency_count")?, count("cached_count")?, count("path_static_requests")?);
    let latency_sum: &Int64Array = column(batch, "latency_ms_sum")?;
    let latency_max: &Int64Array = column(batch, "latency_ms_max")?;
    let partial: &BooleanArray = full(batch, "partial")?;
    let by_second = by_second.then(|| BySecond::of(batch)).transpose()?;

    out.reserve(batch.num_rows());
    for (row, number) in series.into_iter().enumerate() {
        let Some(number) = number else { continue };
        let mut minute = MinuteRow {
            series: number,
            minute: seconds(starts.value(row)).div_euclid(60),
            requests: requests.at(row)?,
            bytes_sum: bytes_sum.at(row)?,
            seconds: by_second.as_ref().map_or_else(|| Ok(Vec::new()), |s| s.at(row))?,
            latency_count: latency_count.at(row)?,
            latency_ms_sum: optional_count("latency_ms_sum", latency_sum, row)?.unwrap_or(0),
            latency_ms_max: optional_count("latency_ms_max", latency_max, row)?,
            cached_count: cached.at(row)?,
            path_static_requests: fixed.at(row)?,
            partial: partial.value(row),
            ..MinuteRow::default()
        };
        for (value, column) in minute.classes.iter_mut().zip(&classes) {
            *value = column.at(row)?;
        }
        for (value, column) in minute.codes.iter_mut().zip(&codes) {
            *value = column.at(row)?;
        }
        out.push(minute);
    }
    Ok(())
}

/// `requests_by_second` without a copy per row.
struct BySecond<'a> {
    list: &'a ListArray,
    seconds: &'a Int32Array,
    requests: &'a Int64Array,
}

impl<'a> BySecond<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self, Misfit> {
        let name = "requests_by_second";
        let list: &ListArray = full(batch, name)?;
        let wrong = || misfit(name, "is no list of (second, requests)");
        let fields: &StructArray = list.values().as_any().downcast_ref().ok_or_else(wrong)?;
        let field = |name: &str| fields.column_by_name(name).filter(|a| a.null_count() == 0);
        Ok(Self {
            list,
            seconds: field("second").and_then(|a| a.as_any().downcast_ref()).ok_or_else(wrong)?,
            requests: field("requests").and_then(|a| a.as_any().downcast_ref()).ok_or_else(wrong)?,
        })
    }

    fn at(&self, row: usize) -> Result<Vec<(u8, u64)>, Misfit> {
        let offsets = self.list.value_offsets();
        let (from, to) = (offsets[row], offsets[row + 1]);
        (from..to)
            .map(|i| {
                let i =
                    usize::try_from(i).map_err(|_| misfit("requests_by_second", "has a negative offset"))?;
                let second = u8::try_from(self.seconds.value(i))
                    .ok()
                    .filter(|s| *s < 60)
                    .ok_or_else(|| misfit("second", &format!("holds {}", self.seconds.value(i))))?;
                Ok((second, unsigned("requests", self.requests.value(i))?))
            })
            .collect()
    }
}

/// Rows of `status` of one source.
pub(super) fn status(
    batch: &RecordBatch,
    source: &str,
    numbers: &mut SeriesNumbers,
    out: &mut Vec<StatusRow>,
) -> Result<(), Misfit> {
    let series = series_of_rows(batch, source, false, numbers)?;
    let statuses: &Int32Array = column(batch, "status")?;
    let (requests, bytes_sum) = (Counts::of(batch, "requests")?, Counts::of(batch, "bytes_sum")?);
    for (row, number) in series.into_iter().enumerate() {
        let Some(series) = number else { continue };
        let status = if statuses.is_null(row) { None } else { Some(status_at(statuses, row)?) };
        out.push(StatusRow { series, status, requests: requests.at(row)?, bytes_sum: bytes_sum.at(row)? });
    }
    Ok(())
}

fn status_at(array: &Int32Array, row: usize) -> Result<u16, Misfit> {
    u16::try_from(array.value(row)).map_err(|_| misfit("status", &format!("holds {}", array.value(row))))
}

/// Rows of `waste` of one source.
pub(super) fn waste(
    batch: &RecordBatch,
    source: &str,
    numbers: &mut SeriesNumbers,
    out: &mut Vec<WasteRow>,
) -> Result<(), Misfit> {
    let series = series_of_rows(batch, source, false, numbers)?;
    let (keys, samples): (&StringArray, &StringArray) = (full(batch, "url_key")?, full(batch, "url_sample")?);
    let statuses: &Int32Array = full(batch, "status")?;
    let (hits, bytes_sum) = (Counts::of(batch, "hits")?, Counts::of(batch, "bytes_sum")?);
    for (row, number) in series.into_iter().enumerate() {
        let Some(series) = number else { continue };
        out.push(WasteRow {
            series,
            url_key: keys.value(row).to_owned(),
            status: status_at(statuses, row)?,
            hits: hits.at(row)?,
            bytes_sum: bytes_sum.at(row)?,
            url_sample: samples.value(row).to_owned(),
        });
    }
    Ok(())
}

/// Rows of `latency` of one source.
pub(super) fn latency(
    batch: &RecordBatch,
    source: &str,
    numbers: &mut SeriesNumbers,
    out: &mut Vec<LatencyRow>,
) -> Result<(), Misfit> {
    let series = series_of_rows(batch, source, false, numbers)?;
    let hours: &TimestampMicrosecondArray = full(batch, "hour_start")?;
    let (bounds, requests) = (Counts::of(batch, "latency_ms_le")?, Counts::of(batch, "requests")?);
    for (row, number) in series.into_iter().enumerate() {
        let Some(series) = number else { continue };
        out.push(LatencyRow {
            series,
            hour: seconds(hours.value(row)).div_euclid(3600),
            latency_ms_le: bounds.at(row)?,
            requests: requests.at(row)?,
        });
    }
    Ok(())
}

/// Rows of `params` of one source.
pub(super) fn params(batch: &RecordBatch, source: &str, out: &mut Vec<ParamRow>) -> Result<(), Misfit> {
    let text = |name: &str| full::<StringArray>(batch, name);
    let (sources, hosts, names) = (text("source")?, text("host")?, text("parameter")?);
    let (hits, sampled) = (Counts::of(batch, "hits")?, Counts::of(batch, "sampled_one_in")?);
    let sketches: &BinaryArray = full(batch, "distinct_hll")?;
    for row in (0..batch.num_rows()).filter(|row| sources.value(*row) == source) {
        out.push(ParamRow {
            host: hosts.value(row).to_owned(),
            parameter: names.value(row).to_owned(),
            hits: hits.at(row)?,
            distinct: Distinct::from_bytes(sketches.value(row))
                .ok_or_else(|| misfit("distinct_hll", "holds no sketch"))?,
            sampled_one_in: sampled.at(row)?,
        });
    }
    Ok(())
}

/// Rows of `bots` of one source.
pub(super) fn bots(
    batch: &RecordBatch,
    source: &str,
    numbers: &mut SeriesNumbers,
    out: &mut Vec<BotRow>,
) -> Result<(), Misfit> {
    let series = series_of_rows(batch, source, true, numbers)?;
    let sketch = |name: &str, row: usize| {
        let bytes: &BinaryArray = full(batch, name)?;
        Distinct::from_bytes(bytes.value(row)).ok_or_else(|| misfit(name, "holds no sketch"))
    };
    for (row, number) in series.into_iter().enumerate() {
        let Some(series) = number else { continue };
        out.push(BotRow {
            series,
            urls: sketch("urls_hll", row)?,
            user_agents: sketch("user_agents_hll", row)?,
            samples: text_counts(batch, "user_agent_samples", row, "user_agent", "requests")?,
            variants: text_counts(batch, "variants", row, "variant", "requests")?,
            failing_prefixes: text_counts(batch, "failing_prefixes", row, "prefix", "requests")?,
        });
    }
    Ok(())
}

/// Only whose rows they are.
pub(super) fn roll_ups(batch: &RecordBatch, source: &str, numbers: &mut SeriesNumbers) -> Result<(), Misfit> {
    series_of_rows(batch, source, true, numbers).map(drop)
}
