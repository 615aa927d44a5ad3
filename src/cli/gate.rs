//! What is typed behind `crawl-baseline gate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `gate`
#[derive(Debug, Clone, Args)]
pub struct GateArguments {
    /// A budget report of `simulate`
    #[arg(long, value_name = "FILE", help_heading = "What is looked at")]
    pub report: Option<PathBuf>,

    /// A baseline of `analyze`
    #[arg(long, value_name = "FILE", help_heading = "What is looked at")]
    pub baseline: Option<PathBuf>,

    /// The throttle manifest that must be kept to
    #[arg(long, value_name = "FILE", help_heading = "What is looked at")]
    pub manifest: Option<PathBuf>,

    /// A list of `normalize`
    #[arg(long, value_name = "FILE", help_heading = "What is looked at")]
    pub normalized: Option<PathBuf>,

    /// The output folder: its checksums, and whether today's files are there
    #[arg(long, value_name = "DIR", help_heading = "What is looked at")]
    pub output_dir: Option<PathBuf>,

    /// The parquet history, for the 429s of the 28 dates before [default: history in the output folder]
    #[arg(long, value_name = "DIR", help_heading = "What is looked at")]
    pub history: Option<PathBuf>,

    /// Requests per minute that no host and bot may exceed [default: the manifest's ceilings, 120 without one]
    #[arg(long, value_name = "RPM", env = "MAX_RPM_THRESHOLD", help_heading = "Limits", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub max_rpm: Option<u64>,

    /// Connections to a host that the crawler in use opens
    #[arg(long, value_name = "N", env = "MAX_CONCURRENCY", help_heading = "Limits", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub concurrency: Option<u64>,

    /// Days that the manifest may be old
    #[arg(long, value_name = "DAYS", default_value_t = 8, help_heading = "Limits")]
    pub max_age_days: u64,

    /// Kinds of files that today's folder must hold
    #[arg(
        long,
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "baseline,normalized_urls,budget_report",
        help_heading = "Limits"
    )]
    pub artifacts: Vec<String>,

    /// Only these checks, with commas between them; each must have data [default: all that have]
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    pub checks: Vec<String>,

    /// Form of the answer
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub format: GateFormat,

    /// The least level of a finding that makes the gate fail
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    pub fail_on: FailOn,

    /// Say what a check measures and where its figures come from, and do nothing else
    #[arg(long, value_name = "CHECK")]
    pub explain: Option<String>,

    /// Bots of your own, whose names the manifest may use
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,

    /// Configuration file [default: crawl-baseline.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The time of the run, RFC 3339; for runs that can be repeated
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
}

/// `--format`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    /// For people
    Text,
    /// One document
    Json,
    /// Workflow commands, shown as annotations
    Github,
    /// XML test results
    Junit,
}

/// `--fail-on`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A limit is broken
    Error,
    /// Also what is worth looking at
    Warning,
    /// Also what is worth knowing
    Note,
}
