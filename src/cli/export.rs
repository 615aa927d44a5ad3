//! Arguments of `export`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `export`
#[derive(Debug, Clone, Args)]
pub struct ExportArguments {
    /// The manifest [default: throttle_manifest.yaml in the output folder]
    #[arg(long, value_name = "FILE", global = true)]
    pub manifest: Option<PathBuf>,

    /// Where everything is written [default: crawl-artifacts]
    #[arg(long, value_name = "DIR", env = "CRAWL_OUTPUT_DIR", global = true)]
    pub output_dir: Option<PathBuf>,

    /// Configuration file [default: crawl-baseline.toml, if there is one]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,

    /// The time of the run, RFC 3339; for runs that can be repeated
    #[arg(long, value_name = "TIME", global = true)]
    pub now: Option<String>,

    /// A manifest that was made longer ago is stale: exit 2
    #[arg(long, value_name = "DAYS", default_value_t = 8, global = true)]
    pub max_age_days: u16,

    /// Use a stale manifest nevertheless
    #[arg(long, global = true)]
    pub allow_stale: bool,

    /// Use entries that are not to be applied (search engines, thin data), too
    #[arg(long, global = true)]
    pub force: bool,

    /// Write here instead of to standard output
    #[arg(long, value_name = "FILE", global = true)]
    pub output: Option<PathBuf>,

    /// What to export.
    #[command(subcommand)]
    pub target: ExportTarget,
}

/// What `export` writes.
#[derive(Debug, Clone, Subcommand)]
pub enum ExportTarget {
    /// The JSON Schema of the manifest (draft 2020-12); reads no manifest
    Schema,
    /// MAX_RPM_THRESHOLD and MAX_CONCURRENCY, for a crawler's environment
    Env {
        /// Only this host; of several hosts the lowest numbers are written
        #[arg(long, value_name = "HOST")]
        host: Option<String>,

        /// The numbers of this bot instead of those of all bots together
        #[arg(long, value_name = "NAME")]
        bot: Option<String>,
    },
}
