//! Rows into arrow columns. The range of every count is checked here: nothing wraps.
//!
//! Example: ten [`MinuteRow`]s of `5d1f0a3c9be27744` become a batch of 31 columns and ten rows.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, DictionaryArray, Int32Array, Int64Array, ListArray,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Int32Type, SchemaRef};

use crate::error::Error;
use crate::history::ceilings::CeilingRow;
use crate::history::run::RunRow;
use crate::history::schema::Table;
use crate::history::source_row::SourceRow;
use crate::tally::table::{BotRow, DayTables, LatencyRow, MinuteRow, ParamRow, Series, StatusRow, WasteRow};

/// The columns of one batch while they are made, in the order of the schema.
struct Columns<'a> {
    /// Names the part in messages.
    place: &'a str,
    schema: SchemaRef,
    arrays: Vec<ArrayRef>,
}

impl<'a> Columns<'a> {
    fn new(table: Table, place: &'a str) -> Self {
        let schema = table.schema();
        Self { place, arrays: Vec::with_capacity(schema.fields().len()), schema }
    }

    fn name(&self) -> &str {
        self.schema.field(self.arrays.len()).name()
    }

    fn push(&mut self, array: impl arrow::array::Array + 'static) {
        self.arrays.push(Arc::new(array));
    }

    fn signed(&self, value: u64) -> Result<i64, Error> {
        i64::try_from(value).map_err(|_| {
            Error::runtime(self.place, format_args!("cannot store `{}`", self.name()))
                .cause(format_args!("{value} is beyond 2^63-1"))
                .hint("a byte count or latency in this log cannot be real; look for it with `crawl-baseline parse`")
        })
    }

    fn counts(&mut self, values: impl Iterator<Item = u64>) -> Result<(), Error> {
        let array: Vec<i64> = values.map(|v| self.signed(v)).collect::<Result<_, _>>()?;
        self.push(Int64Array::from(array));
        Ok(())
    }

    fn optional_counts(&mut self, values: impl Iterator<Item = Option<u64>>) -> Result<(), Error> {
        let array: Vec<Option<i64>> =
            values.map(|v| v.map(|v| self.signed(v)).transpose()).collect::<Result<_, _>>()?;
        self.push(Int64Array::from(array));
        Ok(())
    }

    fn micros(&self, seconds: i64) -> Result<i64, Error> {
        seconds.checked_mul(1_000_000).ok_or_else(|| {
            Error::runtime(self.place, format_args!("cannot store `{}`", self.name()))
                .cause(format_args!("{seconds} s is beyond the range of timestamps"))
        })
    }

    fn instants(&mut self, seconds: impl Iterator<Item = i64>) -> Result<(), Error> {
        let array: Vec<i64> = seconds.map(|s| self.micros(s)).collect::<Result<_, _>>()?;
        self.push(TimestampMicrosecondArray::from(array).with_timezone("UTC"));
        Ok(())
    }

    /// The same text in all rows.
    fn constant(&mut self, text: &str, rows: usize) {
        self.dictionary(&Int32Array::from(vec![0; rows]), StringArray::from(vec![text]));
    }

    fn dictionary(&mut self, keys: &Int32Array, values: StringArray) {
        self.push(
            DictionaryArray::<Int32Type>::try_new(keys.clone(), Arc::new(values))
                .expect("every key is an index into the values"),
        );
    }

    /// Texts of which few repeat; the writer's own dictionary is enough.
    fn texts<'t>(&mut self, values: impl Iterator<Item = &'t str>) {
        let values = StringArray::from_iter_values(values);
        if matches!(self.schema.field(self.arrays.len()).data_type(), DataType::Dictionary(..)) {
            let keys = Int32Array::from_iter_values(
                0..i32::try_from(arrow::array::Array::len(&values)).unwrap_or(i32::MAX),
            );
            self.dictionary(&keys, values);
        } else {
            self.push(values);
        }
    }

    fn series(&mut self, source: &str, series: &[Series], keys: &[u32], roll_ups: bool) {
        self.constant(source, keys.len());
        let keys = Int32Array::from_iter_values(keys.iter().map(|k| i32::try_from(*k).unwrap_or(i32::MAX)));
        let mut column = |of: fn(&Series) -> &str| {
            self.dictionary(&keys, StringArray::from_iter_values(series.iter().map(of)));
        };
        column(|s| &s.host);
        column(|s| &s.bot);
        if roll_ups {
            column(|s| &s.family);
            column(|s| &s.operator);
            column(|s| &s.category);
        }
        column(|s| s.verification.name());
    }

    /// A list of structs: `lengths` per row, then the fields of all elements one after the other.
    fn list(&mut self, lengths: impl Iterator<Item = usize>, fields: Vec<ArrayRef>) {
        let DataType::List(element) = self.schema.field(self.arrays.len()).data_type() else {
            panic!("`{}` is no list", self.name())
        };
        let values: ArrayRef = match element.data_type() {
            DataType::Struct(names) => Arc::new(
                StructArray::try_new(names.clone(), fields, None)
                    .expect("the fields of the schema, equally long"),
            ),
            _ => fields.into_iter().next().expect("one array of plain elements"),
        };
        let array = ListArray::try_new(element.clone(), OffsetBuffer::from_lengths(lengths), values, None)
            .expect("the lengths add up to the elements");
        self.push(array);
    }

    fn text_counts<'t>(&mut self, rows: impl Iterator<Item = Vec<(&'t str, u64)>>) -> Result<(), Error> {
        let rows: Vec<_> = rows.collect();
        let texts = StringArray::from_iter_values(rows.iter().flatten().map(|(text, _)| text));
        let counts: Vec<i64> =
            rows.iter().flatten().map(|(_, n)| self.signed(*n)).collect::<Result<_, _>>()?;
        self.list(rows.iter().map(Vec::len), vec![Arc::new(texts), Arc::new(Int64Array::from(counts))]);
        Ok(())
    }

    fn text_lists(&mut self, values: &[String]) {
        self.list([values.len()].into_iter(), vec![Arc::new(StringArray::from_iter_values(values))]);
    }

    fn text_pairs(&mut self, values: &[(String, String)]) {
        let (names, values): (Vec<&str>, Vec<&str>) =
            values.iter().map(|(n, v)| (n.as_str(), v.as_str())).unzip();
        self.list(
            [names.len()].into_iter(),
            vec![Arc::new(StringArray::from(names)), Arc::new(StringArray::from(values))],
        );
    }

    fn finish(self) -> RecordBatch {
        RecordBatch::try_new(self.schema, self.arrays).expect("the columns of the schema, equally long")
    }
}

/// Rows of `minutes`.
pub(super) fn minutes(
    place: &str,
    source: &str,
    day: &DayTables,
    rows: &[MinuteRow],
) -> Result<RecordBatch, Error> {
    let mut c = Columns::new(Table::Minutes, place);
    let keys: Vec<u32> = rows.iter().map(|r| r.series).collect();
    c.instants(rows.iter().map(|r| r.minute.saturating_mul(60)))?;
    c.series(source, &day.series, &keys, true);
    c.counts(rows.iter().map(|r| r.requests))?;
    c.counts(rows.iter().map(|r| r.bytes_sum))?;
    for class in 0..6 {
        c.counts(rows.iter().map(|r| r.classes[class]))?;
    }
    for code in 0..8 {
        c.counts(rows.iter().map(|r| r.codes[code]))?;
    }
    let seconds =
        Int32Array::from_iter_values(rows.iter().flat_map(|r| r.seconds.iter().map(|s| i32::from(s.0))));
    let requests: Vec<i64> =
        rows.iter().flat_map(|r| r.seconds.iter()).map(|s| c.signed(s.1)).collect::<Result<_, _>>()?;
    c.list(
        rows.iter().map(|r| r.seconds.len()),
        vec![Arc::new(seconds), Arc::new(Int64Array::from(requests))],
    );
    c.counts(rows.iter().map(|r| r.latency_count))?;
    c.optional_counts(rows.iter().map(|r| (r.latency_count > 0).then_some(r.latency_ms_sum)))?;
    c.optional_counts(rows.iter().map(|r| r.latency_ms_max))?;
    c.counts(rows.iter().map(|r| r.cached_count))?;
    c.counts(rows.iter().map(|r| r.path_static_requests))?;
    c.push(BooleanArray::from_iter(rows.iter().map(|r| Some(r.partial))));
    Ok(c.finish())
}

/// Rows of `status`.
pub(super) fn status(
    place: &str,
    source: &str,
    day: &DayTables,
    rows: &[StatusRow],
) -> Result<RecordBatch, Error> {
    let mut c = Columns::new(Table::Status, place);
    let keys: Vec<u32> = rows.iter().map(|r| r.series).collect();
    c.series(source, &day.series, &keys, false);
    c.push(Int32Array::from_iter(rows.iter().map(|r| r.status.map(i32::from))));
    c.counts(rows.iter().map(|r| r.requests))?;
    c.counts(rows.iter().map(|r| r.bytes_sum))?;
    Ok(c.finish())
}

/// Rows of `waste`.
pub(super) fn waste(
    place: &str,
    source: &str,
    day: &DayTables,
    rows: &[WasteRow],
) -> Result<RecordBatch, Error> {
    let mut c = Columns::new(Table::Waste, place);
    let keys: Vec<u32> = rows.iter().map(|r| r.series).collect();
    c.series(source, &day.series, &keys, false);
    c.texts(rows.iter().map(|r| r.url_key.as_str()));
    c.push(Int32Array::from_iter_values(rows.iter().map(|r| i32::from(r.status))));
    c.counts(rows.iter().map(|r| r.hits))?;
    c.counts(rows.iter().map(|r| r.bytes_sum))?;
    c.texts(rows.iter().map(|r| r.url_sample.as_str()));
    Ok(c.finish())
}

/// Rows of `params`.
pub(super) fn params(place: &str, source: &str, rows: &[ParamRow]) -> Result<RecordBatch, Error> {
    let mut c = Columns::new(Table::Params, place);
    c.constant(source, rows.len());
    c.texts(rows.iter().map(|r| r.host.as_str()));
    c.texts(rows.iter().map(|r| r.parameter.as_str()));
    c.counts(rows.iter().map(|r| r.hits))?;
    c.counts(rows.iter().map(|r| r.distinct.estimate()))?;
    c.push(BinaryArray::from_iter_values(rows.iter().map(|r| r.distinct.as_bytes())));
    c.counts(rows.iter().map(|r| r.sampled_one_in))?;
    Ok(c.finish())
}

/// Rows of `bots`.
pub(super) fn bots(
    place: &str,
    source: &str,
    day: &DayTables,
    rows: &[BotRow],
) -> Result<RecordBatch, Error> {
    let mut c = Columns::new(Table::Bots, place);
    let keys: Vec<u32> = rows.iter().map(|r| r.series).collect();
    c.series(source, &day.series, &keys, true);
    c.counts(rows.iter().map(|r| r.urls.estimate()))?;
    c.push(BinaryArray::from_iter_values(rows.iter().map(|r| r.urls.as_bytes())));
    c.counts(rows.iter().map(|r| r.user_agents.estimate()))?;
    c.push(BinaryArray::from_iter_values(rows.iter().map(|r| r.user_agents.as_bytes())));
    fn borrowed(texts: &[(String, u64)]) -> Vec<(&str, u64)> {
        texts.iter().map(|(text, n)| (text.as_str(), *n)).collect()
    }
    c.text_counts(rows.iter().map(|r| borrowed(&r.samples)))?;
    c.text_counts(rows.iter().map(|r| borrowed(&r.variants)))?;
    c.text_counts(rows.iter().map(|r| borrowed(&r.failing_prefixes)))?;
    Ok(c.finish())
}

/// The row of `sources`.
pub(super) fn source(place: &str, row: &SourceRow) -> Result<RecordBatch, Error> {
    let SourceRow { entry, counts, .. } = row;
    let mut c = Columns::new(Table::Sources, place);
    c.constant(&entry.source, 1);
    c.texts([entry.identity.head.to_string().as_str()].into_iter());
    c.counts([entry.identity.length()].into_iter())?;
    c.texts([entry.identity.content.to_string().as_str()].into_iter());
    c.push(BinaryArray::from_iter_values([entry.identity.granules.to_bytes()]));
    c.push(Date32Array::from(vec![row.first_date]));
    for n in
        [counts.lines, counts.blank, counts.directive, counts.filtered, counts.records, counts.rejected()]
    {
        c.counts([n].into_iter())?;
    }
    c.text_counts([counts.rejects.iter().map(|(reason, n)| (reason.name(), *n)).collect()].into_iter())?;
    let outside = [
        counts.out_of_range,
        counts.joined_lines,
        counts.deferred_bytes,
        counts.overlap_bytes,
        counts.nul_bytes_skipped,
    ];
    for n in outside {
        c.counts([n].into_iter())?;
    }
    for map in [&row.formats, &row.flags] {
        c.text_counts([map.iter().map(|(k, n)| (k.as_str(), *n)).collect()].into_iter())?;
    }
    let instants =
        |of: fn(&crate::tally::table::Coverage) -> i64, c: &Columns<'_>| -> Result<ArrayRef, Error> {
            let micros: Vec<i64> = row.coverage.iter().map(|d| c.micros(of(d))).collect::<Result<_, _>>()?;
            Ok(Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC")))
        };
    let (first, last) = (instants(|d| d.first, &c)?, instants(|d| d.last, &c)?);
    let dates = Date32Array::from_iter_values(row.coverage.iter().map(|d| d.date));
    c.list([row.coverage.len()].into_iter(), vec![Arc::new(dates), first, last]);
    let lines: Vec<i64> =
        row.first_rejected_lines.iter().map(|(line, _)| c.signed(*line)).collect::<Result<_, _>>()?;
    let reasons =
        StringArray::from_iter_values(row.first_rejected_lines.iter().map(|(_, reason)| reason.name()));
    c.list([lines.len()].into_iter(), vec![Arc::new(Int64Array::from(lines)), Arc::new(reasons)]);
    c.push(StringArray::from(vec![entry.clock.as_deref()]));
    c.push(BooleanArray::from(vec![entry.live]));
    c.push(BooleanArray::from(vec![entry.damaged]));
    c.push(StringArray::from(vec![entry.overlap_source.as_deref()]));
    c.text_lists(&entry.overflow);
    c.text_pairs(entry.settings.given());
    c.text_pairs(&entry.recorded);
    let paths = StringArray::from_iter_values(row.parts.iter().map(|p| &p.path));
    let rows: Vec<i64> = row.parts.iter().map(|p| c.signed(p.rows)).collect::<Result<_, _>>()?;
    let bytes: Vec<i64> = row.parts.iter().map(|p| c.signed(p.bytes)).collect::<Result<_, _>>()?;
    let hashes = StringArray::from_iter_values(row.parts.iter().map(|p| format!("{:016x}", p.hash)));
    c.list(
        [row.parts.len()].into_iter(),
        vec![
            Arc::new(paths),
            Arc::new(Int64Array::from(rows)),
            Arc::new(Int64Array::from(bytes)),
            Arc::new(hashes),
        ],
    );
    c.text_lists(&entry.replaces);
    for (lines, since) in
        [(&entry.edges.first, entry.edges.first_since), (&entry.edges.last, entry.edges.last_since)]
    {
        let bytes: Vec<u8> = lines.iter().flat_map(|line| line.to_le_bytes()).collect();
        c.push(BinaryArray::from_iter_values([bytes]));
        let micros = since.map(|since| c.micros(since)).transpose()?;
        c.push(TimestampMicrosecondArray::from(vec![micros]).with_timezone("UTC"));
    }
    Ok(c.finish())
}

/// Rows of `ceilings`.
pub(super) fn ceilings(place: &str, window: (i64, i64), rows: &[CeilingRow]) -> Result<RecordBatch, Error> {
    let mut c = Columns::new(Table::Ceilings, place);
    c.instants(rows.iter().map(|_| window.0.saturating_mul(60)))?;
    c.instants(rows.iter().map(|_| window.1.saturating_mul(60)))?;
    c.texts(rows.iter().map(|r| r.host.as_str()));
    c.texts(rows.iter().map(|r| r.bot.as_str()));
    c.optional_counts(rows.iter().map(|r| r.max_requests_per_minute))?;
    c.optional_counts(rows.iter().map(|r| r.max_burst_capacity))?;
    c.optional_counts(rows.iter().map(|r| r.max_concurrent_connections))?;
    c.optional_counts(rows.iter().map(|r| r.base_delay_ms))?;
    c.optional_counts(rows.iter().map(|r| r.requests_per_hour))?;
    c.optional_counts(rows.iter().map(|r| r.requests_per_day))?;
    c.texts(rows.iter().map(|r| r.bound_by.as_str()));
    c.texts(rows.iter().map(|r| r.confidence.as_str()));
    c.push(BooleanArray::from_iter(rows.iter().map(|r| Some(r.apply))));
    c.texts(rows.iter().map(|r| r.evidence_json.as_str()));
    Ok(c.finish())
}

/// Rows of `latency`.
pub(super) fn latency(
    place: &str,
    source: &str,
    day: &DayTables,
    rows: &[LatencyRow],
) -> Result<RecordBatch, Error> {
    let mut c = Columns::new(Table::Latency, place);
    let keys: Vec<u32> = rows.iter().map(|r| r.series).collect();
    c.series(source, &day.series, &keys, false);
    c.instants(rows.iter().map(|r| r.hour.saturating_mul(3600)))?;
    c.counts(rows.iter().map(|r| r.latency_ms_le))?;
    c.counts(rows.iter().map(|r| r.requests))?;
    Ok(c.finish())
}

/// The row of `runs`.
pub(super) fn run(place: &str, row: &RunRow) -> Result<RecordBatch, Error> {
    let mut c = Columns::new(Table::Runs, place);
    c.constant(&row.run, 1);
    c.constant(&row.version, 1);
    c.text_lists(&row.arguments);
    let paths = StringArray::from_iter_values(row.inputs.iter().map(|i| &i.path));
    let sources = StringArray::from_iter(row.inputs.iter().map(|i| i.source.as_deref()));
    let outcomes = StringArray::from_iter_values(row.inputs.iter().map(|i| &i.outcome));
    c.list([row.inputs.len()].into_iter(), vec![Arc::new(paths), Arc::new(sources), Arc::new(outcomes)]);
    c.instants([row.started_at].into_iter())?;
    c.instants([row.finished_at].into_iter())?;
    c.push(Int32Array::from(vec![i32::from(row.exit_code)]));
    Ok(c.finish())
}
