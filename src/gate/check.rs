//! The checks by name, and what each of them measures. The figures are in the files that make the findings.
//!
//! Example: `rpm-ceiling`.

use std::fmt;

/// One thing that the gate looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "see `explain`")]
pub enum Check {
    RpmCeiling,
    RpmHeadroom,
    Throttled,
    ThrottleSurge,
    RetryShare,
    WasteShare,
    DedupRatio,
    Orphans,
    Latency,
    Concurrency,
    ManifestAge,
    Checksums,
    ArtifactsPresent,
    Rejects,
    VerifiedShare,
}

impl Check {
    /// All checks, in the order in which they are told.
    pub const ALL: [Self; 15] = [
        Self::RpmCeiling,
        Self::RpmHeadroom,
        Self::Throttled,
        Self::ThrottleSurge,
        Self::RetryShare,
        Self::WasteShare,
        Self::DedupRatio,
        Self::Orphans,
        Self::Latency,
        Self::Concurrency,
        Self::ManifestAge,
        Self::Checksums,
        Self::ArtifactsPresent,
        Self::Rejects,
        Self::VerifiedShare,
    ];

    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RpmCeiling => "rpm-ceiling",
            Self::RpmHeadroom => "rpm-headroom",
            Self::Throttled => "throttled",
            Self::ThrottleSurge => "throttle-surge",
            Self::RetryShare => "retry-share",
            Self::WasteShare => "waste-share",
            Self::DedupRatio => "dedup-ratio",
            Self::Orphans => "orphans",
            Self::Latency => "latency",
            Self::Concurrency => "concurrency",
            Self::ManifestAge => "manifest-age",
            Self::Checksums => "checksums",
            Self::ArtifactsPresent => "artifacts-present",
            Self::Rejects => "rejects",
            Self::VerifiedShare => "verified-share",
        }
    }

    /// The check of that name.
    ///
    /// ```
    /// use crawl_baseline::gate::Check;
    /// assert_eq!(Check::named("throttled"), Some(Check::Throttled));
    /// assert_eq!(Check::named("rpm-celing"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }

    /// What it measures, at which figures it speaks, and where these come from.
    #[must_use]
    pub fn explain(self) -> &'static str {
        match self {
            Self::RpmCeiling => {
                "\
Requests per minute against the ceiling, for each host of a budget report and each bot and host of a baseline.
error    more than the ceiling in a UTC minute; more in sliding 60 s or sliding 10 s than a bucket lets through that
         keeps to it: ceiling + burst - 1, and ceiling / 6 rounded up + burst - 1
note     the same of a manifest's entry that says `apply: false`: it is recommended, not enforced
Ceilings: --manifest (the bot's entry, else the host's, else rate_limiting) with its burst (max_burst_capacity of a plan,
enforce_burst of what a server saw); --max-rpm or MAX_RPM_THRESHOLD with a burst of 1, or that of the plan. Each that is given
must hold. Without any: 120 a minute. A minute's calendar border hides a burst across it, so all three windows count.
Input: --report, --baseline."
            }
            Self::RpmHeadroom => {
                "\
The busiest minute as a share of the ceiling: 80 to 90 % is sound.
warning  above 90 %: no headroom for a busier day (above 100 % is rpm-ceiling's)
note     below 80 %: the crawl window is not used
Only ceilings of at least 20 that are applied; one request is more than 5 % of a smaller one. A plan that was paced by the same
ceiling is left out: it reaches it by construction. Notes are told once, for the busiest.
Input: --report, --baseline, and --manifest or --max-rpm (else 120)."
            }
            Self::Throttled => {
                "\
Answers with status 429: of the status field, not of text that looks like it.
error    at least 1 in a budget report: the plan runs into the origin's limit
warning  at least 1 to a bot in a baseline: servers that enforce the manifest answer 429 to whoever goes beyond it
Input: --report, --baseline."
            }
            Self::ThrottleSurge => {
                "\
The share of bot requests answered 429, by host, against the median of the dates among the 28 before the baseline.
error    above 1 % and above twice the median: the origin has lowered its limit, or somebody goes faster
Hosts with fewer than 100 bot requests say nothing: there one request is 1 %.
Input: --baseline, and the history with at least one earlier date of the host."
            }
            Self::RetryShare => {
                "\
Retries among the requests of a plan. A log cannot tell them from other requests.
error    30 % and above: a crawl that is about to be lost
warning  above 10 %: more than a retry budget of 10 % of the successes pays for
Input: --report."
            }
            Self::WasteShare => {
                "\
Bot requests answered 4xx or 5xx, by host, of at least 20.
warning  above 20 %: a fifth of the crawl budget buys nothing
Input: --baseline."
            }
            Self::DedupRatio => {
                "\
Unique URLs by URLs that were given to `normalize`. 0.5 to 0.8 is usual for a shop.
warning  above 0.95: the blacklist misses parameters that multiply URLs
note     below 0.5: pages that differ may have been merged
Input: --normalized."
            }
            Self::Orphans => {
                "\
Chains of URLs that no link leads to from the sitemap.
error    at least 1
Input: --report that was made with `simulate --links`."
            }
            Self::Latency => {
                "\
Mean latency and errors (5xx) of the answers to bots, by host.
warning  a mean of 500 ms and above; 1 % errors and above, of at least 100 requests: do not add connections there
A plan's latency counts only where it was measured, not assumed.
Input: --report, --baseline of logs with a latency field."
            }
            Self::Concurrency => {
                "\
Open connections in use against those that the manifest allows for the host, and against those of the simulation.
error    more in use: a gate that simulates with 3 has proved nothing about a crawler that uses 5; also more than the
         requests a minute that --max-rpm allows: they could all be sent at once
note     fewer in use than in the simulation
In use: --concurrency or MAX_CONCURRENCY, else what the plan used.
Input: --concurrency or --report, against --manifest or --report."
            }
            Self::ManifestAge => {
                "\
Days since the manifest was generated.
error    more than 8 (--max-age-days): a week and a day, so that one missed night is no alarm
Input: --manifest with generated_at."
            }
            Self::Checksums => {
                "\
The files of every dated folder against its checksums.txt.
error    a file that is not what was written, is missing, or is not listed
Input: --output-dir."
            }
            Self::ArtifactsPresent => {
                "\
Whether today's dated folder (UTC, --now) holds what the pipeline is to leave there.
error    a kind of file is missing; --artifacts names the kinds: baseline, normalized_urls and budget_report by default
Input: --output-dir."
            }
            Self::Rejects => {
                "\
Lines that could not be parsed, of all lines of the baseline's logs (at least 20).
error    above 5 %: the format is not understood, and every other figure is too low
warning  above 1 %
Input: --baseline."
            }
            Self::VerifiedShare => {
                "\
Requests whose sender was confirmed among those that could be checked (IP ranges, reverse names), by bot, of at least 20.
warning  below 90 %: somebody borrows the name
Input: --baseline of an analysis with --ip-ranges or --rdns."
            }
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_again_and_explained_with_its_input() {
        for check in Check::ALL {
            assert_eq!(Check::named(check.name()), Some(check));
            let text = check.explain();
            assert!(text.contains("Input: --"), "{check}");
            assert!(["error ", "warning ", "note "].iter().any(|level| text.contains(level)), "{check}");
            assert!(text.lines().all(|line| line.len() <= 130), "{check}");
        }
    }
}
