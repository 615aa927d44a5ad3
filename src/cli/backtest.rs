//! Arguments of `backtest`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `backtest`
#[derive(Debug, Clone, Args)]
pub struct BacktestArguments {
    /// The manifest [default: throttle_manifest.yaml in the output folder]
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,

    /// The parquet history [default: history in the output folder]
    #[arg(long, value_name = "DIR")]
    pub history: Option<PathBuf>,

    /// Where everything is [default: crawl-artifacts]
    #[arg(long, value_name = "DIR", env = "CRAWL_OUTPUT_DIR")]
    pub output_dir: Option<PathBuf>,

    /// Configuration file [default: crawl-baseline.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Only this host
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,

    /// Only this bot, whether or not its entry is to be applied
    #[arg(long, value_name = "NAME")]
    pub bot: Option<String>,

    /// The end of the crawl window (RFC 3339, or a date): a ceiling that would have made the traffic finish later is not
    /// accepted
    #[arg(long, value_name = "TIME")]
    pub finish_by: Option<String>,

    /// Also find the smallest ceiling that would be accepted
    #[arg(long)]
    pub find: bool,

    /// Other random places of the requests inside their logged second
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// The limiter that stands before the origin [default: the manifest's own bursts]
    #[arg(long, value_name = "WHAT")]
    pub machine: Option<MachineName>,

    /// Write everything as JSON here too; - for standard output, which then holds nothing else
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `--machine`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MachineName {
    /// Token bucket: Envoy, Traefik, Varnish
    Token,
    /// Leaky bucket: no burst on either side
    Leaky,
    /// limit_req of nginx, in its own arithmetic
    Nginx,
    /// The last 60 seconds: Caddy, nearly HAProxy
    Sliding,
    /// Minutes of the clock: mod_qos, ModSecurity, Cloudflare
    Fixed,
}
