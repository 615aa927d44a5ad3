//! Recommendations in the manifest's keys, and what the next night reads back of them.
//!
//! Not the file. Pins are set by whoever knows the configuration. Example: `burst: 1` becomes `max_burst_capacity: 1`,
//! and `L_best` comes back as the demand that was once seen.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::pin::is_moved;
use super::policy::Policy;
use super::previous::{PreviousEntry, PreviousManifest};
use super::recommendation::{AllBots, HostRecommendation, Recommendation, Rule, Window};
use super::scopes::Scopes;
use super::site::{SiteConfig, given};
use crate::manifest::{self, Entry, Grade, Minute};

/// The host's entry: all bots together, with each bot below it.
///
/// `before` is the host's entry of the manifest that the hysteresis started from: a partial run carries over what it
/// saw no row of. `site` is the one that the recommendation was made for.
#[must_use]
pub fn host_entry(
    result: &HostRecommendation,
    before: Option<&Entry>,
    site: &SiteConfig,
    policy: &Policy,
) -> Entry {
    let mut host = match &result.all_bots {
        AllBots::Recommended(all) => entry(all, site, policy, None),
        AllBots::Held(held) => before.map_or_else(|| of_previous(held), carried),
    };
    if let (Some(schedule), Some(people)) = (&mut host.schedule, &result.host.people) {
        schedule.people_per_minute.clone_from(people);
    }
    host.bots = result
        .bots
        .iter()
        .map(|(name, r)| (name.clone(), entry(r, site, policy, given(site.crawl_delay_ms))))
        .collect();
    for (name, held) in &result.held {
        let earlier = before.and_then(|b| b.bots.get(name));
        let kept = earlier.map_or_else(|| of_previous(held), carried);
        host.bots.insert(name.clone(), kept);
    }
    host
}

/// What the hysteresis of the next night reads back of one host. `None` without that host, or without a window.
#[must_use]
pub fn previous(manifest: &manifest::Manifest, host: &str) -> Option<PreviousManifest> {
    let entry = manifest.domain_overrides.get(host)?;
    let of_bot = |(name, bot): (&String, &Entry)| (name.clone(), read_back(bot, is_moved(bot, Some(entry))));
    Some(PreviousManifest {
        window_to: manifest.window?.to.0,
        bots: entry.bots.iter().map(of_bot).collect(),
        all_bots: Some(read_back(entry, is_moved(entry, None))),
    })
}

/// The scopes in the manifest's form; a limit of every minute over all hosts is not known.
#[must_use]
pub fn manifest_scopes(scopes: &Scopes) -> manifest::Scopes {
    let scope = |s: super::Scope| manifest::Scope { limit: s.limit, measured: s.measured };
    manifest::Scopes {
        global_per_minute: manifest::Scope::default(),
        global_per_hour: scope(scopes.global_per_hour),
        credential_per_hour: scope(scopes.credential_per_hour),
        identity_per_day: scope(scopes.identity_per_day),
    }
}

/// The constants by name, as the manifest echoes them.
#[must_use]
pub fn manifest_policy(policy: &Policy) -> BTreeMap<String, Value> {
    match serde_json::to_value(policy) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    }
}

/// `moved`: a pin set the ceiling. What was found then stands in the evidence; where there is none, there is nothing to
/// rise from.
fn read_back(entry: &Entry, moved: bool) -> PreviousEntry {
    let evidence = entry.evidence.as_ref();
    let found = evidence.map(|e| e.max_requests_per_minute.value).filter(|_| moved);
    PreviousEntry {
        max_requests_per_minute: found.unwrap_or(entry.max_requests_per_minute),
        max_concurrency: Some(entry.max_concurrent_connections),
        hourly_budget: entry.budgets.map(|b| b.requests_per_hour),
        daily_budget: entry.budgets.map(|b| b.requests_per_day),
        grade: match entry.confidence {
            Some(grade) => grade,
            None if moved => Grade::D,
            // Written by hand, it was meant to be applied.
            None => Grade::B,
        },
        action: entry.action,
        best_demand: evidence.and_then(|e| e.demand_best.zip(e.demand_best_at.map(|at| at.0))),
        schedule: entry.schedule.as_ref().filter(|_| !moved).map(|s| s.requests_per_minute.clone()),
    }
}

/// An earlier entry that stands, because this run read its input in part.
fn carried(entry: &Entry) -> Entry {
    let mut kept = Entry { bots: BTreeMap::new(), ..entry.clone() };
    if let Some(evidence) = &mut kept.evidence {
        evidence.max_requests_per_minute.bound_by = text(Rule::PartialInputHold);
        evidence.max_requests_per_minute.formula =
            "the previous entry, no row of it could be read".to_owned();
    }
    kept
}

/// The least that is known of an entry whose manifest is not at hand.
fn of_previous(held: &PreviousEntry) -> Entry {
    let rate = held.max_requests_per_minute.max(1);
    let delay = 60_000_u64.div_ceil(rate);
    let defaults = manifest::RateLimiting {
        base_delay_ms: delay,
        jitter_range_ms: delay / 2,
        max_concurrency: held.max_concurrency.unwrap_or(1),
        ..manifest::RateLimiting::default()
    };
    Entry {
        max_requests_per_minute: rate,
        enforce_burst: rate.div_ceil(6),
        confidence: Some(held.grade),
        action: held.action,
        apply: held.action.is_none() && held.grade != Grade::D,
        ..Entry::of_defaults(&defaults)
    }
}

/// One entry; `crawl_delay_ms` is given for bots only.
fn entry(r: &Recommendation, site: &SiteConfig, policy: &Policy, crawl_delay_ms: Option<u64>) -> Entry {
    let slots = u64::try_from(r.schedule_kind).ok().and_then(manifest::ScheduleKind::of_slots);
    Entry {
        max_concurrency: r.max_concurrency,
        base_delay_ms: r.base_delay_ms,
        jitter_range_ms: r.jitter_range_ms,
        algorithm: r.algorithm,
        max_requests_per_minute: r.max_requests_per_minute,
        max_burst_capacity: r.burst,
        max_concurrent_connections: r.max_concurrency,
        default_cooldown_seconds: super::rank::float(r.cooldown_s),
        enforce_burst: r.enforce_burst,
        edge_requests_per_minute: r.edge_rpm,
        even_pace_requests_per_minute: Some(r.even_pace_rpm),
        budgets: Some(manifest::Budgets {
            requests_per_minute: r.max_requests_per_minute,
            requests_per_hour: r.hourly_budget,
            requests_per_day: r.daily_budget,
            plan_per_hour: r.plan_hourly,
            retry_reserve_per_hour: r.retry_reserve,
            retry_cap_per_hour: r.retry_cap,
        }),
        schedule: r.schedule.as_ref().zip(slots).map(|(values, kind)| manifest::Schedule {
            kind,
            time_zone: site.time_zone.name(),
            requests_per_minute: values.clone(),
            people_per_minute: BTreeMap::new(),
        }),
        breaker: r.breaker.clone(),
        max_domain_stall_seconds: r.max_domain_stall_s,
        confidence: Some(r.grade),
        apply: r.apply,
        apply_reason: r.apply_reason.map(text),
        action: r.action,
        pinned: BTreeMap::new(),
        bots: BTreeMap::new(),
        evidence: Some(evidence(r, site, policy, crawl_delay_ms)),
    }
}

fn evidence(
    r: &Recommendation,
    site: &SiteConfig,
    policy: &Policy,
    crawl_delay_ms: Option<u64>,
) -> manifest::Evidence {
    let inputs = &r.evidence.inputs;
    let candidate = |c: &super::Candidate| manifest::Candidate { rule: text(c.rule), value: c.value };
    manifest::Evidence {
        max_requests_per_minute: manifest::RateEvidence {
            value: r.evidence.value,
            bound_by: text(r.bound_by),
            rule: text(r.evidence.rule),
            formula: formula(r, site, policy),
            inputs: manifest::Inputs {
                f: inputs.f,
                u: inputs.u,
                demand: inputs.demand,
                want: inputs.want,
                clean_minutes: wide(inputs.clean_minutes),
                days: wide(inputs.days),
                c429: inputs.onset_429,
                episodes: wide(inputs.episodes),
                host_capacity: inputs.capacity,
                slot: inputs.slot.clone(),
                people: inputs.people,
                share: inputs.share.map(|(own, all)| [own, all]),
                prev: inputs.prev,
                young: inputs.young,
                crawl_delay_ms,
            },
            runner_up: r.evidence.runner_up.as_ref().map(candidate),
            candidates: r.candidates.iter().map(candidate).collect(),
            minutes: r.evidence.minutes.iter().map(|m| Minute(*m)).collect(),
            window: window(&r.evidence.window),
            not_used: r
                .evidence
                .not_used
                .iter()
                .map(|n| manifest::NotUsed { rule: text(n.rule), why: n.why.to_owned() })
                .collect(),
            capacity: manifest::Capacity {
                known: r.evidence.capacity.known,
                low: r.evidence.capacity.low,
                high: r.evidence.capacity.high,
            },
        },
        max_concurrent_connections: Some(manifest::ConnectionEvidence {
            rule: text(r.concurrency_rule),
            need: r.little_need,
            latency_ms_mean: r.mean_latency_ms,
        }),
        demand: r.demand,
        demand_best: r.best_demand,
        demand_best_at: r.best_demand_at.map(Minute),
        c429: r.c429,
        c429_state: text(r.c429_state),
        burst_429: r.burst_429,
        quota: r.quota,
        quota_state: Some(text(r.quota_state)),
        outliers: wide(r.outliers),
        utilisation: r.utilisation,
        window_to: Minute(r.window_to),
    }
}

/// The window of demand in the manifest's form.
#[must_use]
pub fn window(w: &Window) -> manifest::Window {
    manifest::Window { from: Minute(w.start), to: Minute(w.end), minutes_covered: wide(w.covered_minutes) }
}

/// How the ceiling follows from its inputs, with the figures.
fn formula(r: &Recommendation, site: &SiteConfig, policy: &Policy) -> String {
    let inputs = &r.evidence.inputs;
    let share = |percent: u64| format!("{}.{:02}", percent / 100, percent % 100);
    let known = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let (f, u, prev) = (share(inputs.f), share(inputs.u), known(inputs.prev));
    match r.bound_by {
        Rule::AllErrorsFloor => "1, next to nothing was answered".to_owned(),
        Rule::Onset429 => format!("max(1, floor({f} * {}))", known(inputs.onset_429)),
        Rule::HostOverload | Rule::LatencyKnee => {
            let (capacity, people) = (inputs.capacity.unwrap_or(0), inputs.people.unwrap_or(0));
            let (own, all) = inputs.share.unwrap_or((1, 1));
            let (open, part) =
                if own == all { ("", String::new()) } else { ("(", format!(") * {own} / {all}")) };
            if r.raw != r.max_requests_per_minute {
                "the lowest slot of the schedule".to_owned()
            } else if (inputs.f * capacity).saturating_sub(100 * people) > policy.bot_share_percent * capacity
            {
                format!("max(1, floor({open}{f} * {capacity} - {people}{part}))")
            } else {
                format!("max(1, floor({open}{} * {capacity}{part}))", share(policy.bot_share_percent))
            }
        }
        Rule::DemandHeadroom => format!("ceil({} / {u})", known(inputs.want)),
        Rule::LargestBot => format!("what the largest bot may do, {}", r.max_requests_per_minute),
        Rule::SumOfBots => format!("the sum of what each bot may do alone, {}", r.max_requests_per_minute),
        Rule::ThinDataDefault | Rule::NoTrafficDefault => format!("default, {}", policy.default_rpm),
        Rule::RobotsCrawlDelay => {
            format!("max(1, floor(60000 / {}))", known(given(site.crawl_delay_ms)))
        }
        Rule::OperatorMax => format!("configured, {}", known(site.operator_max)),
        Rule::OperatorMaxAll => format!("configured, {}", known(site.operator_max_all)),
        Rule::PublishedQuota => {
            let of = known(site.published.per_minute);
            format!("max(1, floor({} * {of}))", share(policy.published_share_percent))
        }
        Rule::FrozenAfter429 | Rule::FrozenAfterOverload | Rule::Deadband => format!("as before, {prev}"),
        Rule::UnhealthyHold | Rule::CensoredByOwnCeiling => format!("as before, {prev}"),
        Rule::PartialInputHold => format!("as before, {prev}, as far as the other rules allow"),
        Rule::MaxRaisePerDay => {
            format!("max({prev} + 1, floor({} * {prev}))", share(100 + policy.raise_percent))
        }
    }
}

/// The one spelling of a rule or state.
fn text(name: impl Serialize) -> String {
    match serde_json::to_value(name) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
