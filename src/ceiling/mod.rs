//! How fast each bot may go: request ceilings with the evidence for each, from counted minutes.
//!
//! A log shows demand, and capacity only when demand hit it. So a ceiling is the least of what is needed and of what
//! is known to be safe: the demand rule speaks always, the capacity rules only where saturation was seen. Pure
//! functions: minutes in, recommendation out; nothing here reads a file or a clock.
//!
//! The order of thought, a file each: `minute` and `episode` (what kind of minutes), `onset`, `overload` and `knee`
//! (what saturated), `season` (hours of the week), `facts` (what one bot showed), `entry` and `hysteresis` (the
//! ceiling), `burst`, `connections` and `budget` (what follows from it), `finish` and `evidence` (the whole entry), `into_manifest` (its form
//! in the manifest, and the way back), `pin` (what the configuration fixes). `backtest` replays recorded traffic through a ceiling, `judge` says whether it
//! passes.
//!
//! Example: a bot with 56 to 64 requests in every minute of a week gets 76, because 64 / 0.85 = 76 with headroom.

pub mod backtest;
mod budget;
mod burst;
mod connections;
mod entry;
mod episode;
mod evidence;
mod facts;
mod finish;
mod host;
mod hysteresis;
mod input;
mod into_manifest;
pub mod judge;
mod knee;
mod minute;
pub mod night;
mod onset;
mod overload;
mod pin;
mod policy;
mod previous;
mod rank;
mod recommend;
mod recommendation;
mod scopes;
mod season;
mod series;
mod site;
#[cfg(test)]
mod tests;

pub use episode::Standing;
pub use input::{Input, RangeState};
pub use into_manifest::{host_entry, manifest_policy, manifest_scopes, previous, window};
pub use knee::KneeState;
pub use onset::OnsetState;
pub use overload::OverloadVerdict;
pub use pin::{Pin, Pinning};
pub use policy::{ByGrade, Policy};
pub use previous::{PreviousEntry, PreviousManifest};
pub use recommend::recommend;
pub use recommendation::{
    AllBots, ApplyReason, Candidate, ConnectionRule, Evidence, HostCapacity, HostRecommendation, Inputs,
    KnownCapacity, NotUsed, Recommendation, Rule, Window,
};
pub use scopes::{Scope, Scopes, scopes};
pub use site::{CdnHits, PublishedQuota, SiteConfig, Zone};
