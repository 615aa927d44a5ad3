//! Whether what the figures rest on is in order: `dedup-ratio`, `orphans`, `concurrency`, `manifest-age`, `checksums`,
//! `artifacts-present`.
//!
//! Example: the manifest is 9 days old, at most 8 are allowed.

use super::finding::{Figure, Finding, Level, Outcome};
use super::input::Inputs;
use super::pace::DEFAULT_MAX_RPM;

/// Days that a manifest may be old.
const MAX_AGE_DAYS: u64 = 8;
/// How many orphans of a chain are told.
const TOLD_ORPHANS: usize = 5;

fn finding(level: Level, subject: &str, measure: &'static str) -> Finding {
    Finding {
        level,
        subject: subject.to_owned(),
        measure,
        value: Figure::Count(0),
        limit: Figure::Count(0),
        worst_minute: None,
        message: String::new(),
        more: String::new(),
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

pub(super) fn dedup_ratio(inputs: &Inputs<'_>) -> Outcome {
    let Some(given) = inputs.normalized else { return Outcome::Skipped("needs --normalized".to_owned()) };
    let (unique, urls) = given.value.unique_and_given();
    if unique == 0 {
        return Outcome::NoData(format!("{}: no URL", given.place));
    }
    let mut findings = Vec::new();
    let told = format!("{unique} unique of {urls} URLs");
    let above = unique.saturating_mul(100) > urls.saturating_mul(95);
    if above || unique.saturating_mul(2) < urls {
        let (level, limit, why) = if above {
            (Level::Warning, 0.95, "the blacklist may miss parameters that multiply URLs")
        } else {
            (Level::Note, 0.5, "pages that differ may have been merged")
        };
        findings.push(Finding {
            value: Figure::share(unique, urls),
            limit: Figure::Number(limit),
            message: format!("{told}: {why}"),
            more: "crawl-baseline normalize: its parameter report".to_owned(),
            ..finding(level, &given.place, "dedup_ratio")
        });
    }
    Outcome::Ran { findings, seen: told }
}

pub(super) fn orphans(inputs: &Inputs<'_>) -> Outcome {
    let Some(given) = inputs.report else { return Outcome::Skipped("needs --report".to_owned()) };
    let report = &given.value;
    if report.orphans.is_empty() && !report.inputs.contains_key("links") {
        return Outcome::NoData(format!("{}: it was made without `simulate --links`", given.place));
    }
    let findings = report.orphans.iter().map(|chain| {
        let mut told =
            chain.urls.iter().take(TOLD_ORPHANS).map(String::as_str).collect::<Vec<_>>().join(" -> ");
        if chain.urls.len() > TOLD_ORPHANS {
            told.push_str(&format!(" -> {} more", chain.urls.len() - TOLD_ORPHANS));
        }
        Finding {
            value: Figure::Count(count(chain.urls.len())),
            message: format!("no link leads to this chain of {} URLs: {told}", chain.urls.len()),
            more: "the report's `orphans`".to_owned(),
            ..finding(Level::Error, chain.urls.first().map_or("", String::as_str), "orphaned_urls")
        }
    });
    let findings: Vec<Finding> = findings.collect();
    Outcome::Ran { seen: format!("{} chains of orphans", findings.len()), findings }
}

pub(super) fn concurrency(inputs: &Inputs<'_>) -> Outcome {
    let hosts = inputs.report.map(|given| &given.value.hosts);
    let planned = |host: &str| hosts.and_then(|hosts| hosts.get(host)).and_then(|host| host.concurrency);
    let mut findings = Vec::new();
    let mut compared = 0;
    let mut compare = |host: &str, in_use: u64, allowed: u64, by: &str| {
        compared += 1;
        if in_use > allowed {
            findings.push(Finding {
                value: Figure::Count(in_use),
                limit: Figure::Count(allowed),
                message: format!("{in_use} connections are in use, {by} {allowed}"),
                more: "crawl-baseline simulate --concurrency with the number of production".to_owned(),
                ..finding(Level::Error, host, "connections")
            });
        } else if in_use < allowed && by == SIMULATED {
            findings.push(Finding {
                value: Figure::Count(in_use),
                limit: Figure::Count(allowed),
                message: format!("{in_use} connections are in use, {by} {allowed}"),
                more: "crawl-baseline simulate --concurrency with the number of production".to_owned(),
                ..finding(Level::Note, host, "connections")
            });
        }
    };
    const SIMULATED: &str = "the simulation used";
    // Without a plan, every host of the manifest; those without an entry are one.
    if let Some(manifest) = inputs.manifest.map(|given| &given.value) {
        let allowed = |host: &str| {
            let entry = manifest.entry(host, None);
            entry.map_or(manifest.rate_limiting.max_concurrency, |entry| entry.max_concurrent_connections)
        };
        let by = "the manifest allows";
        match (hosts, inputs.concurrency) {
            (Some(hosts), in_use) => {
                for host in hosts.keys() {
                    if let Some(in_use) = in_use.or(planned(host)) {
                        compare(host, in_use, allowed(host), by);
                    }
                }
            }
            (None, Some(in_use)) if manifest.domain_overrides.is_empty() => {
                compare("rate_limiting", in_use, manifest.rate_limiting.max_concurrency, by);
            }
            (None, Some(in_use)) => {
                manifest.domain_overrides.keys().for_each(|host| compare(host, in_use, allowed(host), by));
            }
            (None, None) => {}
        }
    }
    if let (Some(hosts), Some(in_use)) = (hosts, inputs.concurrency) {
        for host in hosts.keys() {
            if let Some(simulated) = planned(host) {
                compare(host, in_use, simulated, SIMULATED);
            }
        }
    }
    // As many connections as requests a minute are allowed send all of them at once.
    if let Some(hosts) = hosts
        && let Some(rpm) = inputs.max_rpm.or_else(|| inputs.manifest.is_none().then_some(DEFAULT_MAX_RPM))
    {
        for host in hosts.keys() {
            if let Some(in_use) = inputs.concurrency.or(planned(host)) {
                compare(host, in_use, rpm, "more than the requests a minute that --max-rpm allows,");
            }
        }
    }
    if compared > 0 {
        return Outcome::Ran { findings, seen: format!("{compared} comparisons of connections") };
    }
    let needs =
        "needs --concurrency (or MAX_CONCURRENCY) or --report, and --manifest or --report to compare with";
    match (inputs.report, inputs.concurrency.is_some() || inputs.manifest.is_some()) {
        (Some(report), true) => Outcome::NoData(format!("{}: says nothing of connections", report.place)),
        _ => Outcome::Skipped(needs.to_owned()),
    }
}

pub(super) fn manifest_age(inputs: &Inputs<'_>) -> Outcome {
    let Some(given) = inputs.manifest else { return Outcome::Skipped("needs --manifest".to_owned()) };
    let Some(made) = given.value.generated_at else {
        return Outcome::NoData(format!("{}: has no generated_at", given.place));
    };
    let seconds = u64::try_from(inputs.now.saturating_sub(made.0)).unwrap_or(0);
    let most = inputs.max_age_days.unwrap_or(MAX_AGE_DAYS);
    let age = match (seconds / 86_400, seconds % 86_400 / 3600) {
        (days, 0) => format!("{days} days"),
        (days, hours) => format!("{days} days and {hours} hours"),
    };
    let mut findings = Vec::new();
    if seconds > most.saturating_mul(86_400) {
        findings.push(Finding {
            value: Figure::number(seconds as f64 / 86_400.0),
            limit: Figure::Count(most),
            message: format!("it was generated {age} ago, at most {most} days are allowed"),
            more: "crawl-baseline analyze or recommend writes it anew".to_owned(),
            ..finding(Level::Error, &given.place, "age_days")
        });
    }
    Outcome::Ran { findings, seen: format!("it is {age} old") }
}

pub(super) fn checksums(inputs: &Inputs<'_>) -> Outcome {
    let Some(artifacts) = inputs.artifacts else { return Outcome::Skipped("needs --output-dir".to_owned()) };
    if artifacts.files == 0 {
        return Outcome::NoData(format!("{}: has no dated folder with files", artifacts.place));
    }
    let wrong = artifacts.damaged.iter().map(|(file, why)| Finding {
        value: Figure::Count(1),
        message: why.clone(),
        more: "crawl-baseline artifacts verify".to_owned(),
        ..finding(Level::Error, file, "damaged_files")
    });
    let seen = format!("{} files in {} dated folders", artifacts.files, artifacts.folders);
    Outcome::Ran { findings: wrong.collect(), seen }
}

pub(super) fn artifacts_present(inputs: &Inputs<'_>) -> Outcome {
    let Some(artifacts) = inputs.artifacts else { return Outcome::Skipped("needs --output-dir".to_owned()) };
    if artifacts.folders == 0 {
        return Outcome::NoData(format!("{}: has no dated folder", artifacts.place));
    }
    let today = artifacts.today.clone().unwrap_or_default();
    let is_there = |kind: &String| {
        today.iter().any(|name| name.strip_prefix(kind.as_str()).is_some_and(|rest| rest.starts_with('_')))
    };
    let missing = artifacts.wanted.iter().filter(|kind| !is_there(kind)).map(|kind| Finding {
        limit: Figure::Count(1),
        message: format!("no {kind}_*.json of {}", artifacts.date),
        more: "crawl-baseline artifacts list".to_owned(),
        ..finding(Level::Error, &format!("{}/{kind}_*", artifacts.date), "files")
    });
    let findings: Vec<Finding> = missing.collect();
    let there = artifacts.wanted.len() - findings.len();
    Outcome::Ran { findings, seen: format!("{there} of {} kinds of files are there", artifacts.wanted.len()) }
}
