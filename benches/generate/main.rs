//! The command around the log generator: `cargo run --release --example generate_logs -- --bytes 1G > access.log`.

#[path = "check.rs"]
mod check;
#[path = "generator.rs"]
mod generator;
#[path = "samples.rs"]
mod samples;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use generator::{Layout, Options, Size, Variant, generate};

/// Writes an access log from a seed: same options, same bytes.
#[derive(Parser)]
#[command(name = "generate_logs")]
struct Cli {
    /// About how many bytes: a number, or with k, M or G behind it for powers of 1000.
    #[arg(long, value_parser = parse_bytes, conflicts_with = "lines")]
    bytes: Option<u64>,
    /// Exactly how many lines.
    #[arg(long, default_value_t = 10_000)]
    lines: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_enum, default_value_t = FormatName::Combined)]
    format: FormatName,
    #[arg(long, value_enum, default_value_t = VariantName::Ordinary)]
    variant: VariantName,
    /// The first minute, RFC 3339.
    #[arg(long, default_value = "2026-03-10T00:00:00Z", value_parser = parse_time)]
    start: i64,
    /// Over how many hours the lines are spread.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=87_600))]
    hours: u32,
    /// How many names crawl: the well-known ones first, then invented ones that declare themselves.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=400))]
    bots: u16,
    /// Virtual hosts of vhost_combined.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    hosts: u16,
    /// Of a thousand lines, how many are hard to read.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=1000))]
    hard_per_mille: u16,
    /// Distinct error URLs of the variant high-cardinality; one for each of its lines when not given.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    urls: Option<u64>,
    /// Writes what was generated as JSON.
    #[arg(long)]
    truth: Option<PathBuf>,
    /// Generates nothing; compares this baseline JSON with the file that --truth names, and fails when they differ.
    #[arg(long, value_name = "BASELINE", requires = "truth")]
    check: Option<PathBuf>,
    /// Instead of standard output.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Writes the project's sample logs into this folder instead; every other option is ignored.
    #[arg(long, value_name = "FOLDER")]
    samples: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum FormatName {
    Combined,
    Common,
    VhostCombined,
    #[value(name = "nginx-rt")]
    NginxRt,
}

#[derive(Clone, Copy, ValueEnum)]
enum VariantName {
    Ordinary,
    HighCardinality,
    RandomUserAgents,
}

impl Cli {
    fn options(&self) -> Options {
        Options {
            seed: self.seed,
            size: self.bytes.map_or(Size::Lines(self.lines), Size::Bytes),
            layout: match self.format {
                FormatName::Combined => Layout::Combined,
                FormatName::Common => Layout::Common,
                FormatName::VhostCombined => Layout::VhostCombined,
                FormatName::NginxRt => Layout::NginxRt,
            },
            variant: match self.variant {
                VariantName::Ordinary => Variant::Ordinary,
                VariantName::HighCardinality => Variant::HighCardinality,
                VariantName::RandomUserAgents => Variant::RandomUserAgents,
            },
            start: self.start,
            minutes: self.hours * 60,
            bots: usize::from(self.bots),
            hosts: usize::from(self.hosts),
            hard_per_mille: u64::from(self.hard_per_mille),
            urls: self.urls,
        }
    }
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'k')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|e| format!("expected a number like 500M: {e}"))?;
    number.checked_mul(unit).ok_or_else(|| "too large".to_owned())
}

fn parse_time(text: &str) -> Result<i64, String> {
    chrono::DateTime::parse_from_rfc3339(text).map(|time| time.timestamp()).map_err(|e| e.to_string())
}

fn read_json(path: &Path) -> Result<serde_json::Value, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: cannot read: {e}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|e| format!("{}: no JSON: {e}", path.display()))
}

fn run(cli: &Cli) -> Result<(), String> {
    if let (Some(baseline), Some(truth)) = (&cli.check, &cli.truth) {
        let differences = check::differences(&read_json(truth)?, &read_json(baseline)?);
        return if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) };
    }
    if let Some(folder) = &cli.samples {
        return samples::write(folder);
    }
    if cli.urls.is_some() && !matches!(cli.variant, VariantName::HighCardinality) {
        return Err("--urls needs --variant high-cardinality".to_owned());
    }
    let told = |path: &Path| format!("{}: cannot write", path.display());
    let options = cli.options();
    let truth = match &cli.output {
        Some(path) => File::create(path)
            .and_then(|mut file| generate(&options, &mut file))
            .map_err(|e| format!("{}: {e}", told(path)))?,
        None => generate(&options, &mut io::stdout().lock()).map_err(|e| format!("standard output: {e}"))?,
    };
    if let Some(path) = &cli.truth {
        std::fs::write(path, format!("{:#}\n", truth.json())).map_err(|e| format!("{}: {e}", told(path)))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "generate_logs: {message}");
            ExitCode::FAILURE
        }
    }
}
