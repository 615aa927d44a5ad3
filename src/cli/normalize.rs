//! The arguments of `normalize`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::PlaceArguments;

/// `normalize`
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("from").required(true).args(["url_list", "from_history"])))]
#[expect(clippy::struct_excessive_bools, reason = "flags, not a state")]
pub struct NormalizeArguments {
    /// A URL a line (# for comments; behind a tab the time it was fetched), JSON Lines or CSV with `url` and
    /// `fetched_at`, or a sitemap; packed or not; - for standard input
    #[arg(long, value_name = "FILE")]
    pub url_list: Option<PathBuf>,

    /// The URLs that the history holds: those that bots were answered 4xx or 5xx for
    #[arg(long)]
    pub from_history: bool,

    /// Parameters to drop beside the default ones, whatever their case
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Canonical form")]
    pub extra_blacklist: Vec<String>,

    /// Parameters to keep although a list drops them
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with = "seed_compat", help_heading = "Canonical form")]
    pub keep_param: Vec<String>,

    /// Accepted as older scripts have it: the form is always canonical. With --seed-compat what the script did: path and
    /// query in lower case, slashes at the end of the path cut
    #[arg(long, help_heading = "Canonical form")]
    pub canonicalize: bool,

    /// Parameters sorted by name; those of one name keep their order
    #[arg(long, conflicts_with = "seed_compat", help_heading = "Canonical form")]
    pub sort_params: bool,

    /// Slashes at the end of the path go
    #[arg(long, conflicts_with = "seed_compat", help_heading = "Canonical form")]
    pub strip_trailing_slash: bool,

    /// The parameter `page` goes too
    #[arg(long, conflicts_with = "seed_compat", help_heading = "Canonical form")]
    pub drop_paging: bool,

    /// In a query, + and %20 are one
    #[arg(long, conflicts_with = "seed_compat", help_heading = "Canonical form")]
    pub form_encoded: bool,

    /// Keys, scores and order of the script normalize_urls.py, with its faults: for comparing with its lists
    #[arg(long, help_heading = "Canonical form")]
    pub seed_compat: bool,

    /// What URLs are worth: a JSON list of rules with `pattern` (a regex, matched from the start of the key) and `score`;
    /// also `ttl_seconds`, `yields`, `prerequisite`, `sibling_value`. The first that matches counts
    #[arg(long, value_name = "FILE", help_heading = "Priority")]
    pub priority_rules_json: Option<PathBuf>,

    /// Write the JSON here instead of the dated folder; - for standard output, which then holds nothing else
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output_json: Option<PathBuf>,

    /// Values of parameters that look like secrets are kept: masked URLs cannot be fetched
    #[arg(long, help_heading = "Output")]
    pub keep_query_values: bool,

    /// Where everything is.
    #[command(flatten)]
    pub place: PlaceArguments,
}
