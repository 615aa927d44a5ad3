//! What is typed for `bots`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `bots`
#[derive(Debug, Clone, Args)]
pub struct BotsArguments {
    /// What to do with the catalogue.
    #[command(subcommand)]
    pub action: BotsAction,

    /// Bots of your own, looked at before the built-in catalogue
    #[arg(long, value_name = "FILE", global = true)]
    pub catalogue: Option<PathBuf>,

    /// Configuration file [default: crawl-baseline.toml, if there is one]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// What `bots` does.
#[derive(Debug, Clone, Subcommand)]
pub enum BotsAction {
    /// All bots that are known by name, in the order in which they are looked for
    List {
        /// Form of the list
        #[arg(long, value_name = "FORM", default_value = "table")]
        format: ListFormat,

        /// Only bots of this category
        #[arg(long, value_name = "CATEGORY")]
        category: Option<String>,
    },
    /// Everything that is known of one bot
    Show {
        /// The name, whatever the case
        #[arg(value_name = "NAME")]
        name: String,

        /// Form of the answer
        #[arg(long, value_name = "FORM", default_value = "text")]
        format: AnswerFormat,
    },
    /// Whom a User-Agent stands for: which row and rule decide, and why not another
    Test {
        /// User-Agents as logged (behind -- where one begins with a hyphen); - alone reads them from standard input, one a line
        #[arg(value_name = "USER-AGENT", required = true)]
        user_agents: Vec<String>,

        /// Also check the claim of a client at this address
        #[arg(long, value_name = "IP")]
        client: Option<IpAddr>,

        /// Folder with the address ranges that operators publish (googlebot.json ...)
        #[arg(long, value_name = "DIR")]
        ip_ranges: Option<PathBuf>,

        /// Reverse names that were looked up elsewhere: address, name, true|false|-, separated by tabs
        #[arg(long, value_name = "FILE")]
        rdns: Option<PathBuf>,

        /// Form of the answers; json is one object a line
        #[arg(long, value_name = "FORM", default_value = "text")]
        format: AnswerFormat,
    },
}

/// `bots list --format`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Columns for a person
    Table,
    /// Comma-separated, with a header
    Csv,
    /// One array
    Json,
}

/// `bots show --format`, `bots test --format`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// Lines for a person
    Text,
    /// JSON
    Json,
}
