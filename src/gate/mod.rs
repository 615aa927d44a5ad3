//! The gate: what a pipeline asks before it lets a change or a night pass.
//!
//! Every check looks at one thing in what was given (a budget report, a baseline, a manifest, a list of URLs, the output
//! folder) and answers with findings: data with a level, never an error. A check whose input was not given is skipped,
//! and a gate that saw nothing has not passed. Nothing here reads logs, fetches or writes.
//!
//! Example of a finding: `rpm-ceiling`, error, `ExampleBot on www.example.com`: 140 requests a minute, the limit is 120.

mod answer;
mod check;
mod finding;
mod github;
mod input;
mod json;
mod junit;
mod pace;
mod surge;
mod text;
mod upkeep;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use check::Check;
pub use finding::{Figure, Finding, Level, Outcome, Verdict};
pub use github::github;
pub use input::{Artifacts, Given, Inputs};
pub use json::{VERDICT_VERSION, json};
pub use junit::junit;
pub use surge::{Refusals, refusals_before};
pub use text::text;

/// Runs the checks that are `named`, or all where none is; findings of `fail_on` and above break the gate.
///
/// ```
/// use crawl_baseline::exit::ExitStatus;
/// use crawl_baseline::gate::{Inputs, Level, run};
/// let nothing = run(&Inputs::default(), &[], Level::Error);
/// assert_eq!(nothing.status(), ExitStatus::NoData, "a gate that saw nothing has not passed");
/// ```
#[must_use]
pub fn run(inputs: &Inputs<'_>, named: &[Check], fail_on: Level) -> Verdict {
    let named: BTreeSet<Check> = named.iter().copied().collect();
    let wanted = Check::ALL.into_iter().filter(|check| named.is_empty() || named.contains(check));
    let outcomes = wanted.map(|check| (check, outcome(check, inputs))).collect();
    Verdict { outcomes, empty: inputs.empty(), named, fail_on, partial: inputs.partial }
}

fn outcome(check: Check, inputs: &Inputs<'_>) -> Outcome {
    match check {
        Check::RpmCeiling => pace::ceiling(inputs),
        Check::RpmHeadroom => pace::headroom(inputs),
        Check::Throttled => answer::throttled(inputs),
        Check::ThrottleSurge => surge::surge(inputs),
        Check::RetryShare => answer::retry_share(inputs),
        Check::WasteShare => answer::waste_share(inputs),
        Check::DedupRatio => upkeep::dedup_ratio(inputs),
        Check::Orphans => upkeep::orphans(inputs),
        Check::Latency => answer::latency(inputs),
        Check::Concurrency => upkeep::concurrency(inputs),
        Check::ManifestAge => upkeep::manifest_age(inputs),
        Check::Checksums => upkeep::checksums(inputs),
        Check::ArtifactsPresent => upkeep::artifacts_present(inputs),
        Check::Rejects => answer::rejects(inputs),
        Check::VerifiedShare => answer::verified_share(inputs),
    }
}
