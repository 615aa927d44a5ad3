//! The recipe of `testdata/logs`: which logs, from which options, and where hand-written lines join them.
//!
//! Example: `access.log.2.gz` is two days old, in two gzip members, as a log that was compressed in two goes.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::generator::{Layout, Options, Size, Truth, generate};

/// Lines that people wrote down, at the end of `access.log`.
const HARD_LINES: &[u8] = include_bytes!("../../testdata/hard-lines.log");
const DAY: i64 = 86_400;
/// 2026-03-09T00:00:00Z
const FIRST_DAY: i64 = 1_773_014_400;

/// One sample log, uncompressed.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    /// As many gzip members; 0 for a plain file.
    pub(crate) gzip_members: usize,
    pub(crate) text: Vec<u8>,
    /// Of the generated lines; hand-written ones are not counted.
    #[allow(dead_code, reason = "the tests compare with it, the command only writes")]
    pub(crate) truth: Truth,
}

/// All sample logs, in the order of their names.
pub(crate) fn all() -> Vec<Sample> {
    let days = |seed, day, lines| Options {
        seed,
        size: Size::Lines(lines),
        start: FIRST_DAY + day * DAY,
        bots: 8,
        hard_per_mille: 10,
        ..Options::default()
    };
    let hour = |hours: u32| hours * 60;
    vec![
        sample("access.log", 0, &Options { minutes: hour(6), ..days(13, 2, 260) }, HARD_LINES),
        sample("access.log.1", 0, &days(12, 1, 420), b""),
        sample("access.log.2.gz", 2, &days(11, 0, 400), b""),
        sample(
            "api.example.com.log",
            0,
            &Options { layout: Layout::NginxRt, minutes: 90, ..days(21, 2, 260) },
            b"",
        ),
        sample(
            "other_vhosts_access.log",
            0,
            &Options { layout: Layout::VhostCombined, hosts: 3, minutes: hour(8), ..days(31, 2, 300) },
            b"",
        ),
    ]
}

fn sample(name: &'static str, gzip_members: usize, options: &Options, more: &[u8]) -> Sample {
    let mut text = Vec::new();
    let truth = generate(options, &mut text).expect("a vector takes every byte");
    text.extend_from_slice(more);
    Sample { name, gzip_members, text, truth }
}

/// Writes all of them into `folder`.
#[allow(dead_code, reason = "the tests read, only the command writes")]
pub(crate) fn write(folder: &Path) -> Result<(), String> {
    for sample in all() {
        let path = folder.join(sample.name);
        compressed(&sample)
            .and_then(|bytes| std::fs::write(&path, bytes))
            .map_err(|e| format!("{}: cannot write: {e}", path.display()))?;
    }
    Ok(())
}

/// Members end in the middle of a line: a reader must join them before it looks for lines.
fn compressed(sample: &Sample) -> std::io::Result<Vec<u8>> {
    if sample.gzip_members == 0 {
        return Ok(sample.text.clone());
    }
    let mut all = Vec::new();
    for member in sample.text.chunks(sample.text.len().div_ceil(sample.gzip_members)) {
        let mut encoder = GzEncoder::new(&mut all, Compression::best());
        encoder.write_all(member)?;
        encoder.finish()?;
    }
    Ok(all)
}
