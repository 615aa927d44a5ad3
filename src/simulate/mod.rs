//! A crawl on a virtual clock: which URLs, under all budgets, against an origin that answers as the history says.
//!
//! Nothing is fetched and nothing waits. The machines are those of [`crate::throttle`], the budgets those of the
//! manifest; this module decides which page is worth the next request and plays what comes of it. Lists of URLs and
//! links are read here too; where the report is written is not decided here.
//!
//! Example: 502 pages, 8 requests a minute, 190 on the credential: 25 minutes, 190 sent, 312 still queued.

mod changed;
mod host;
mod link;
mod list;
mod measured;
mod normalized;
mod orphan;
mod origin;
mod outcome;
mod page;
mod report;
mod run;
mod settings;
mod slowdown;
mod traffic;

#[cfg(test)]
mod tests;

pub use changed::{Routes, changed_pages, new_pages};
pub use link::{Links, chains_with};
pub use list::{UrlList, digest_of};
pub use measured::{MeasuredHost, MeasuredHosts};
pub use normalized::{NORMALIZED_KIND, Normalized, NormalizedUrl};
pub use origin::{Answer, LatencyCurve, Origin, OriginLimit, OriginModel};
pub use orphan::{Chain, orphan_chains};
pub use page::Page;
pub use report::{
    Binding, BudgetReport, Deferred, HostReport, MinuteReport, REPORT_KIND, REPORT_VERSION, Reason, ScopeKey,
    Spending,
};
pub use run::simulate;
pub use settings::{HostSettings, Pace, Settings};
pub use slowdown::{PoolOutcome, retry_amplification, run_pool};
