//! What the user typed, and the text of `--help`. What it means is [`crate::config`]'s work.

pub mod normalize;
mod bots;
mod backtest;
mod export;
pub mod gate;
pub mod simulate;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use backtest::{BacktestArguments, MachineName};
pub use bots::{AnswerFormat, BotsAction, BotsArguments, ListFormat};
pub use export::{ExportArguments, ExportTarget};
pub use normalize::NormalizeArguments;

const EXIT_CODES: &str = "\
Exit codes (the first that applies in the order 2, 5, 1, 3, 4, 0):
  0    done, every check passed; also when no bot was found, or another run holds the lock
  1    a check failed
  2    usage, configuration, pattern or manifest error
  3    no data: no record at all, or an empty window; the newest manifest stays as it was
  4    partial: some input was damaged, unreadable or rejected above the share; the rest was kept
  5    could not write, or another run-time failure
  130  stopped by SIGINT; 143 by SIGTERM
";

/// Measures how fast every bot crawls, from the access logs of an origin server, and recommends request ceilings with
/// the evidence for each.
#[derive(Debug, Parser)]
#[command(name = "crawl-baseline", version, after_help = EXIT_CODES, max_term_width = 110, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Logs to history, baseline JSON, manifest and summary: the main job
    #[command(after_help = EXIT_CODES)]
    Analyze(Box<AnalyzeArguments>),
    /// History to manifest, without reading logs
    #[command(after_help = EXIT_CODES)]
    Recommend(Box<RecommendArguments>),
    /// Recorded traffic replayed through a manifest: who would have waited, who would have been refused
    #[command(after_help = EXIT_CODES)]
    Backtest(Box<BacktestArguments>),
    /// The manifest in the form of other programs
    #[command(after_help = EXIT_CODES)]
    Export(Box<ExportArguments>),
    /// URLs and a manifest to a schedule and a budget report; nothing is fetched
    #[command(after_help = EXIT_CODES)]
    Simulate(Box<simulate::SimulateArguments>),
    /// Reports and baselines against ceilings, for pipelines: exit 1 when a check fails
    #[command(after_help = EXIT_CODES)]
    Gate(Box<gate::GateArguments>),
    /// Checks the parquet history, or joins its old parts
    #[command(after_help = EXIT_CODES)]
    History(Box<HistoryArguments>),
    /// Lists, verifies or prunes what was written
    #[command(after_help = EXIT_CODES)]
    Artifacts(Box<ArtifactsArguments>),
    /// What each line was taken for, as JSON Lines (for setting a format up)
    #[command(after_help = EXIT_CODES)]
    Parse(Box<ParseArguments>),
    /// A URL list made canonical: merged, ranked, with a report on its parameters
    #[command(after_help = EXIT_CODES)]
    Normalize(Box<NormalizeArguments>),
    /// Lists, shows and tests the bots that are known by name
    #[command(after_help = EXIT_CODES)]
    Bots(Box<BotsArguments>),
}

/// How lines are read; shared by all commands that read logs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reading logs")]
pub struct ReadingArguments {
    /// Log files, folders, quoted patterns, or - for standard input
    #[arg(value_name = "LOG")]
    pub logs: Vec<PathBuf>,

    /// A folder of logs; the same as naming it as LOG
    #[arg(long, value_name = "DIR", env = "CRAWL_LOG_DIR")]
    pub log_dir: Option<PathBuf>,

    /// Format of the lines: auto, combined, common, vhost_combined, vhost_common, json, w3c, traefik, haproxy, alb, elb or
    /// s3; or the server's own string, nginx log_format or Apache LogFormat
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub log_format: String,

    /// Take the format string from a configuration file of nginx or Apache
    #[arg(long, value_name = "FILE[:NAME]", conflicts_with = "log_format")]
    pub log_format_from: Option<String>,

    /// Zone of stamps that have none, as +hhmm
    #[arg(long, value_name = "+hhmm", default_value = "+0000", allow_hyphen_values = true)]
    pub assume_zone: String,

    /// A line longer than this is one reject
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub max_line_bytes: usize,

    /// The address that counts as the client when an X-Forwarded-For list stands in front
    #[arg(long, value_name = "WHICH", default_value = "peer")]
    pub client: Client,

    /// A proxy of your own, as 10.0.0.0/8 or an address, for --client last-untrusted; may be repeated
    #[arg(long, value_name = "CIDR")]
    pub trusted_proxy: Vec<String>,

    /// Zero the host part of client addresses (/24, /48) before anything is stored or printed
    #[arg(long)]
    pub mask_clients: bool,

    /// The site of a record is what this finds in its path: the group `host`, else the first group
    #[arg(long, value_name = "REGEX")]
    pub host_from_path: Option<String>,

    /// The field behind the User-Agent that is the latency, and its unit (s, ms, us, ns): 1:us the first, -1:s the last
    #[arg(long, value_name = "POSITION:UNIT", allow_hyphen_values = true)]
    pub latency_field: Option<String>,

    /// Bots of your own, looked at before the built-in catalogue
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,

    /// Folder with the address ranges that operators publish (googlebot.json ...)
    #[arg(long, value_name = "DIR")]
    pub ip_ranges: Option<PathBuf>,

    /// Reverse names that were looked up elsewhere: address, name, true|false|-, separated by tabs
    #[arg(long, value_name = "FILE")]
    pub rdns: Option<PathBuf>,

    /// The time of the run, RFC 3339; for runs that can be repeated
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,

    /// Configuration file [default: crawl-baseline.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// `--client`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// The address that the server saw
    Peer,
    /// The first of the X-Forwarded-For list, which whoever asks may have written
    FirstXff,
    /// The nearest that is no --trusted-proxy
    LastUntrusted,
}

/// `analyze`
#[derive(Debug, Clone, Args)]
pub struct AnalyzeArguments {
    /// How lines are read.
    #[command(flatten)]
    pub reading: ReadingArguments,

    /// Where everything is written [default: crawl-artifacts]
    #[arg(long, value_name = "DIR", env = "CRAWL_OUTPUT_DIR", help_heading = "Output")]
    pub output_dir: Option<PathBuf>,

    /// The parquet history [default: history in the output folder]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub history: Option<PathBuf>,

    /// Use this run alone and write no history
    #[arg(long, help_heading = "Output")]
    pub no_history: bool,

    /// Write the history and nothing else, and take no lock: for many writers, each with logs of its own
    #[arg(long, conflicts_with_all = ["no_history", "output_json"], help_heading = "Output")]
    pub history_only: bool,

    /// Write the baseline JSON here too; - for standard output, which then holds nothing else
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output_json: Option<PathBuf>,

    /// Write the addresses whose claim to be a bot a reverse name could prove, for a look-up elsewhere: address, bot,
    /// requests, separated by tabs; --rdns reads the answers
    #[arg(long, value_name = "FILE", conflicts_with = "history_only", help_heading = "Output")]
    pub unverified_ips: Option<PathBuf>,
    /// Write every rejected line here: path, number, reason and the line, separated by tabs; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub rejects: Option<PathBuf>,

    /// Form of the manifest
    #[arg(long, value_name = "FORM", default_value = "yaml", help_heading = "Output")]
    pub manifest_format: ManifestFormat,

    /// No summary and no progress, errors only; the summary with its warnings is in the dated folder's crawl-baseline.log
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,

    /// Values of parameters that look like secrets are kept as logged
    #[arg(long, help_heading = "Output")]
    pub keep_query_values: bool,

    /// The rows of the baseline's bot table
    #[arg(long, value_name = "WHAT", default_value = "bot", help_heading = "Baseline")]
    pub group_by: GroupBy,

    /// Only what one of these patterns matches is a bot: one regex a line, case-sensitive, # for comments
    #[arg(long, value_name = "FILE", env = "UA_REGEX_FILE", help_heading = "Baseline")]
    pub ua_regex_file: Option<PathBuf>,

    /// Only records at or after this time (RFC 3339, or a date)
    #[arg(long, value_name = "TIME", help_heading = "Baseline")]
    pub since: Option<String>,

    /// Only records before this time (RFC 3339, or a date)
    #[arg(long, value_name = "TIME", help_heading = "Baseline")]
    pub until: Option<String>,

    /// Only this long back from the newest record: 90m, 24h, 7d
    #[arg(long, value_name = "SPAN", conflicts_with_all = ["since", "until"], help_heading = "Baseline")]
    pub last: Option<String>,

    /// Echoed as analysis_window_min; filters only with --window-filter
    #[arg(long, value_name = "MINUTES", default_value_t = 60, help_heading = "Baseline")]
    pub time_window_min: u64,

    /// Only the last --time-window-min minutes
    #[arg(long, conflicts_with_all = ["since", "until", "last"], help_heading = "Baseline")]
    pub window_filter: bool,

    /// Only records of which this holds, of several all: status=4xx,503 status!=200-399 url~REGEX method=GET host=NAME
    /// user-agent~REGEX bot=Googlebot; = != ~ and !~
    #[arg(long, value_name = "EXPR", help_heading = "Baseline")]
    pub filter: Vec<String>,

    /// Show people and unnamed clients in the bot table too
    #[arg(long, help_heading = "Baseline")]
    pub include_other: bool,

    /// No bot found is exit 3 instead of a warning
    #[arg(long, help_heading = "Baseline")]
    pub fail_on_empty: bool,

    /// The site of records without a virtual host [default: (default)]
    #[arg(long, value_name = "NAME", help_heading = "Counting")]
    pub host: Option<String>,

    /// The logs are still being written: an unterminated last line is left for the next run
    #[arg(long, help_heading = "Counting")]
    pub live: bool,

    /// Rejects above this share of a log's lines (of at least 20) make the run partial, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, help_heading = "Counting")]
    pub max_reject_share: f64,

    /// Count a log again, under other settings than it was counted with or with newer ranges and names
    #[arg(long, help_heading = "Counting")]
    pub reclassify: bool,

    /// Apply ceilings to bots of this category too, as search-engine
    #[arg(long, value_name = "CATEGORY", help_heading = "Ceilings")]
    pub enforce: Vec<String>,

    /// Hosts without an entry get the defaults of older crawler configurations: 5 connections, 200 ms, which is 300 RPM
    #[arg(long, help_heading = "Ceilings")]
    pub seed_defaults: bool,

    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N", help_heading = "Running")]
    pub threads: Option<usize>,

    /// Memory for what is counted: bytes, or with K, M or G behind it (of 1024). What outgrows it is written to a temporary
    /// file in TMPDIR, else in the history; the result is the same [default: 256M]
    #[arg(long, value_name = "SIZE", env = "CRAWL_MEMORY_LIMIT", help_heading = "Running")]
    pub memory_limit: Option<String>,

    /// Read plain logs instead of mapping them into memory; the result is the same
    #[arg(long, help_heading = "Running")]
    pub no_mmap: bool,

    /// What to do when another run holds the lock
    #[arg(long, value_name = "WHAT", default_value = "skip", help_heading = "Running")]
    pub if_locked: IfLocked,

    /// The lock [default: .lock in the output folder]
    #[arg(long, value_name = "FILE", env = "LOCK_FILE", help_heading = "Running")]
    pub lock_file: Option<PathBuf>,
}

/// Where everything is; shared by the commands that read no logs.
#[derive(Debug, Clone, Args)]
pub struct PlaceArguments {
    /// Where everything is written [default: crawl-artifacts]
    #[arg(long, value_name = "DIR", env = "CRAWL_OUTPUT_DIR", global = true)]
    pub output_dir: Option<PathBuf>,

    /// The parquet history [default: history in the output folder]
    #[arg(long, value_name = "DIR", global = true)]
    pub history: Option<PathBuf>,

    /// Configuration file [default: crawl-baseline.toml, if there is one]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,

    /// The time of the run, RFC 3339; for runs that can be repeated
    #[arg(long, value_name = "TIME", global = true)]
    pub now: Option<String>,

    /// What to do when another run holds the lock
    #[arg(long, value_name = "WHAT", default_value = "skip", global = true)]
    pub if_locked: IfLocked,

    /// The lock [default: .crawl-baseline.lock in the output folder]
    #[arg(long, value_name = "FILE", env = "LOCK_FILE", global = true)]
    pub lock_file: Option<PathBuf>,
}

/// `recommend`
#[derive(Debug, Clone, Args)]
pub struct RecommendArguments {
    /// Where everything is.
    #[command(flatten)]
    pub place: PlaceArguments,

    /// Bots of your own, looked at before the built-in catalogue
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,

    /// Folder with the address ranges that operators publish (googlebot.json ...)
    #[arg(long, value_name = "DIR")]
    pub ip_ranges: Option<PathBuf>,

    /// Reverse names that were looked up elsewhere: address, name, true|false|-, separated by tabs
    #[arg(long, value_name = "FILE")]
    pub rdns: Option<PathBuf>,

    /// Form of the manifest
    #[arg(long, value_name = "FORM", default_value = "yaml")]
    pub manifest_format: ManifestFormat,

    /// Apply ceilings to bots of this category too, as search-engine
    #[arg(long, value_name = "CATEGORY")]
    pub enforce: Vec<String>,

    /// Hosts without an entry get the defaults of older crawler configurations: 5 connections, 200 ms, which is 300 RPM
    #[arg(long)]
    pub seed_defaults: bool,

    /// Print why the numbers of a host (all bots together) or of a bot on it are what they are, with the shell command that
    /// counts each minute that mattered in the log; write nothing
    #[arg(long, num_args = 1..=2, value_names = ["HOST", "BOT"])]
    pub explain: Vec<String>,
}

/// `history`
#[derive(Debug, Clone, Args)]
pub struct HistoryArguments {
    /// Where everything is.
    #[command(flatten)]
    pub place: PlaceArguments,

    /// What to do with it.
    #[command(subcommand)]
    pub action: HistoryAction,
}

/// What `history` does.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum HistoryAction {
    /// Names damaged parts, parts that no source names, and logs that are counted at two ages; exit 1 when there are any
    Check,
    /// Joins the parts of each date older than two days; no total changes
    Compact,
}

/// `artifacts`
#[derive(Debug, Clone, Args)]
pub struct ArtifactsArguments {
    /// Where everything is.
    #[command(flatten)]
    pub place: PlaceArguments,

    /// What to do with it.
    #[command(subcommand)]
    pub action: ArtifactsAction,
}

/// What `artifacts` does.
#[derive(Debug, Clone, Subcommand)]
pub enum ArtifactsAction {
    /// The dated folders and the history, with their sizes
    List,
    /// Computes all checksums again, opens every part, and looks for today's files; exit 1 when something is wrong
    Verify,
    /// Removes what is older than the retention, as far as keep.txt in the output folder does not name it
    Prune {
        /// Say what would go, and remove nothing
        #[arg(long)]
        dry_run: bool,

        /// Everything this young stays [default: artifacts.retention_days of the configuration file, else 90]
        #[arg(long, value_name = "DAYS")]
        retention_days: Option<u16>,

        /// The newest of each week stays this long [default: artifacts.weekly_months of the configuration file, else 12]
        #[arg(long, value_name = "MONTHS")]
        weekly_months: Option<u16>,
    },
}

/// `parse`
#[derive(Debug, Clone, Args)]
pub struct ParseArguments {
    /// How lines are read.
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// `--manifest-format`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ManifestFormat {
    /// With comments
    Yaml,
    /// The same keys
    Json,
}

/// `--group-by`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GroupBy {
    /// A bot's name, whatever its version
    Bot,
    /// The full User-Agent string
    UserAgent,
    /// A line of --ua-regex-file; a request counts for each that it matches
    Pattern,
    /// The bots of one crawler, as Googlebot and Googlebot-Image
    Family,
    /// The bots of one operator
    Operator,
    /// The bots of one purpose, as ai-training
    Category,
}

/// `--if-locked`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IfLocked {
    /// Read and write nothing, exit 0
    Skip,
    /// Wait until it is free
    Wait,
    /// Exit 5
    Fail,
}
