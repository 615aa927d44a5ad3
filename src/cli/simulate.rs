//! What is typed behind `crawl-baseline simulate`.

use std::path::PathBuf;

use clap::Args;

use super::PlaceArguments;

/// `simulate`
#[derive(Debug, Clone, Args)]
pub struct SimulateArguments {
    /// What is to be fetched: URLs line by line, a sitemap, or a list of `normalize`; - for standard input
    #[arg(long, value_name = "FILE", help_heading = "What is fetched")]
    pub urls: PathBuf,

    /// The host of URLs that begin with /
    #[arg(long, value_name = "NAME", help_heading = "What is fetched")]
    pub host: Option<String>,

    /// Only URLs that are new or on a changed route; needs one of the next two, or both
    #[arg(long, conflicts_with = "warm_up", help_heading = "What is fetched")]
    pub diff_only: bool,

    /// An older list: only URLs that are not in it, compared by their canonical form
    #[arg(long, value_name = "FILE", conflicts_with = "warm_up", help_heading = "What is fetched")]
    pub baseline_urls: Option<PathBuf>,

    /// Changed routes, one a line, as /products/:id or /blog/**: only URLs that one of them stands for
    #[arg(long, value_name = "FILE", conflicts_with = "warm_up", help_heading = "What is fetched")]
    pub changed_routes: Option<PathBuf>,

    /// Every URL, fresh or not, as the crawl that fills caches after a deployment
    #[arg(long, help_heading = "What is fetched")]
    pub warm_up: bool,

    /// Links between pages (CSV, TSV or JSON: from, to): URLs that none leads to are told as chains
    #[arg(long, value_name = "FILE", help_heading = "What is fetched")]
    pub links: Option<PathBuf>,

    /// Where links are followed from [default: the root page of each host]
    #[arg(long, value_name = "URL", requires = "links", help_heading = "What is fetched")]
    pub root: Vec<String>,

    /// The throttle manifest [default: the newest one in the output folder, else its defaults: 30 requests a minute]
    #[arg(long, value_name = "FILE", help_heading = "Under what")]
    pub manifest: Option<PathBuf>,

    /// How many minutes at most
    #[arg(long, value_name = "N", default_value_t = 60, help_heading = "Under what", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub minutes: u64,

    /// Open requests to a host, as the crawler in use has them [default: the manifest's, 3 without one]
    #[arg(long, value_name = "N", env = "MAX_CONCURRENCY", help_heading = "Under what", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub concurrency: Option<u64>,

    /// Open requests over all hosts, as the way out or a proxy allows
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Under what", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub gateway_concurrency: u64,

    /// A budget, over the manifest's: host_per_minute, host_per_hour (or of one host, as host_per_hour:a.example=150),
    /// credential_per_hour, identity_per_day, global_per_minute, global_per_hour, prerequisite_reserve, retry_reserve
    #[arg(long, value_name = "SCOPE=N", help_heading = "Under what")]
    pub budget: Vec<String>,

    /// Requests of an hour that are held back for retries
    #[arg(long, value_name = "N", help_heading = "Under what")]
    pub retry_reserve: Option<u64>,

    /// Bytes of an answer on average [default: those of the history]
    #[arg(long, value_name = "BYTES", help_heading = "Under what")]
    pub response_bytes: Option<u64>,

    /// The seed of everything random; the same seed and inputs give the same report
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Under what")]
    pub seed: u64,

    /// Write the budget report here too; - for standard output, which then holds nothing else
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Where everything is.
    #[command(flatten)]
    pub place: PlaceArguments,
}
