//! What a query for one bot has to read of a long history: the row groups whose statistics do not rule it out, as every engine
//! that reads parquet decides it.
//!
//! Example: of ninety days with 60 bots that never rest, one bot needs one row group of six a day.

use std::fs;

use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use super::part::{PartPath, date_text};
use super::schema::Table;
use super::tests::entry;
use super::write::write_source;
use crate::tally::table::{Coverage, DayTables, MinuteRow, Series, SourceTables, Verification};

const FIRST: i32 = 20_000;

/// A day on which so many bots send a request in every minute.
fn day(bots: u32) -> SourceTables {
    let series = (0..bots)
        .map(|bot| Series {
            host: "www.example.com".to_owned(),
            bot: format!("Bot{bot:02}"),
            verification: Verification::NotCheckable,
            family: format!("Bot{bot:02}"),
            operator: String::new(),
            category: "other".to_owned(),
        })
        .collect();
    let row = |series: u32, minute: i64| MinuteRow {
        series,
        minute: i64::from(FIRST) * 1_440 + minute,
        requests: 1,
        classes: [0, 1, 0, 0, 0, 0],
        seconds: vec![(0, 1)],
        ..MinuteRow::default()
    };
    let minutes = (0..bots).flat_map(|bot| (0..1_440).map(move |minute| row(bot, minute))).collect();
    let first = i64::from(FIRST) * 86_400;
    SourceTables {
        coverage: vec![Coverage { date: FIRST, first, last: first + 86_399 }],
        first_date: Some(FIRST),
        days: vec![DayTables { date: FIRST, series, minutes, ..DayTables::default() }],
        ..SourceTables::default()
    }
}

/// Whether a reader that looks for this bot must read the group.
fn may_hold(group: &RowGroupMetaData, bot: &[u8]) -> bool {
    let column = Table::Minutes.schema().index_of("bot").unwrap();
    let statistics = group.column(column).statistics().unwrap();
    statistics.min_bytes_opt().unwrap() <= bot && bot <= statistics.max_bytes_opt().unwrap()
}

#[test]
fn a_query_for_one_bot_on_ninety_days_reads_a_small_share_of_the_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    // Writing ninety days of 86,400 rows would take a minute: three kinds of days, each thirty times.
    for (kind, bots) in [(0, 40), (1, 60), (2, 50)] {
        let name = format!("source{kind}");
        write_source(folder.path(), entry(&name, name.as_bytes()), &day(bots), &Default::default()).unwrap();
        let place =
            |date: i32| PartPath { table: Table::Minutes, date, name: name.clone() }.below(folder.path());
        for date in (FIRST..FIRST + 90).filter(|date| (date - FIRST) % 3 == kind) {
            fs::create_dir_all(place(date).parent().unwrap()).unwrap();
            if place(date) != place(FIRST) {
                fs::copy(place(FIRST), place(date)).unwrap();
            }
        }
        if kind != 0 {
            fs::remove_file(place(FIRST)).unwrap();
        }
    }
    let (mut groups, mut read, mut bytes, mut bytes_read, mut parts) = (0, 0, 0, 0, 0);
    for date in FIRST..FIRST + 90 {
        let path = folder.path().join(format!("minutes/date={}", date_text(date)));
        for part in fs::read_dir(path).unwrap() {
            let reader = SerializedFileReader::new(fs::File::open(part.unwrap().path()).unwrap()).unwrap();
            parts += 1;
            for group in reader.metadata().row_groups() {
                groups += 1;
                bytes += group.compressed_size();
                if may_hold(group, b"Bot37") {
                    read += 1;
                    bytes_read += group.compressed_size();
                }
            }
        }
    }
    assert_eq!(parts, 90);
    assert!(groups >= 90 * 4, "{groups} row groups");
    // At most two a day: one bot's day is 1,440 rows of groups of 16,384.
    assert!((90..=180).contains(&read), "{read} of {groups} row groups");
    assert!(read * 4 <= groups, "{read} of {groups} row groups");
    assert!(bytes_read * 4 <= bytes, "{bytes_read} of {bytes} bytes");
}
