//! The whole of one host: its windows, its bots one by one, then all of them together.
//!
//! Not the rules. Example: a host with one bot gives one entry for it and the same ceiling for all bots.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::entry::{Decision, Member, Subject, decide};
use super::facts::Facts;
use super::finish::finish;
use super::host::Host;
use super::input::Input;
use super::policy::Policy;
use super::previous::{PreviousEntry, PreviousManifest, Prior, newest_before};
use super::rank::rounded;
use super::recommendation::{
    AllBots, ApplyReason, Candidate, HostCapacity, HostRecommendation, Recommendation, Rule, Window,
};
use super::series::Series;
use super::site::given;
use crate::manifest::{Algorithm, Grade};

/// The ceilings of one host.
///
/// `None` when no minute of the window has a request: then there is nothing to say, and nothing is to be written.
/// The same input gives the same result, in whatever order its rows were added; a second run of one UTC date starts
/// from the same earlier manifest and gives the same again.
#[must_use]
pub fn recommend(input: &Input, policy: &Policy) -> Option<HostRecommendation> {
    let mut host = Host::of(input, policy)?;
    let rows: Vec<(&str, Cow<'_, Series>)> =
        input.bot_names().map(|bot| (bot, input.own_rows(bot))).collect();
    host.divide(rows.iter().map(|(_, series)| &**series));
    let facts: Vec<(&str, Facts<'_>)> = rows
        .into_iter()
        .filter_map(|(bot, series)| Facts::of(series, &host).map(|facts| (bot, facts)))
        .collect();
    host.slot_demand = slot_demand(&host, &facts);
    let host = host;
    let previous = newest_before(&input.previous, host.window_to);
    let prior = |entry| previous.zip(entry).and_then(|(p, entry)| Prior::of(entry, p.window_to));
    let mut bots = BTreeMap::new();
    for (bot, facts) in &facts {
        let before = prior(previous.and_then(|p| p.bots.get(*bot)));
        bots.insert((*bot).to_owned(), finish(&decide(Subject::Bot(bot), facts, &host, before)));
    }
    let held = held(input, previous, &bots);
    let before = previous.and_then(|p| p.all_bots.as_ref());
    let all_bots = if !facts.is_empty() {
        let computed = bots.iter().map(|(name, r)| Member::computed(name, r));
        let members: Vec<Member> =
            computed.chain(held.iter().map(|(name, e)| Member::held(name, e))).collect();
        let together = Facts::together(&facts, &host);
        let decision = decide(Subject::AllBots(&members), &together, &host, prior(before));
        AllBots::Recommended(Box::new(finish(&decision)))
    } else if let Some(entry) = before.filter(|_| !held.is_empty()) {
        AllBots::Held(entry.clone())
    } else {
        AllBots::Recommended(Box::new(no_traffic(&host)))
    };
    Some(HostRecommendation {
        window: Window {
            start: host.start,
            end: host.window_to,
            covered_minutes: host.covered_minutes(),
            out_of_range: Some(host.out_of_range),
        },
        host: capacity(&host),
        bots,
        held,
        all_bots,
        prev_window_to: previous.map(|p| p.window_to),
    })
}

/// By slot: what the bots that were seen there want together.
fn slot_demand(host: &Host<'_>, facts: &[(&str, Facts<'_>)]) -> Vec<u64> {
    let slots = host.slots.as_ref().map_or(0, |s| s.people.len());
    let of_slot =
        |slot: usize| facts.iter().filter_map(|(_, f)| f.slot_demand.get(slot).copied().flatten()).sum();
    (0..slots).map(of_slot).collect()
}

/// In a partial run, a bot without rows keeps its entry.
fn held(
    input: &Input,
    previous: Option<&PreviousManifest>,
    bots: &BTreeMap<String, Recommendation>,
) -> BTreeMap<String, PreviousEntry> {
    let Some(previous) = previous.filter(|_| input.partial) else { return BTreeMap::new() };
    let unseen = previous.bots.iter().filter(|(name, _)| !bots.contains_key(*name));
    unseen.map(|(name, entry)| (name.clone(), entry.clone())).collect()
}

fn capacity(host: &Host<'_>) -> HostCapacity {
    HostCapacity {
        limit: host.capacity.map(|c| c.limit),
        rule: host.capacity.map(|c| c.rule),
        h5xx: host.overload.limit,
        overload: host.overload.verdict,
        overload_state: host.overload.state,
        overload_score: host.overload.score.map(|s| rounded(s, 4)),
        hlat: host.knee.limit,
        w0: host.knee.base_ms,
        demand: host.demand,
        people: host.slots.as_ref().map(|s| s.named(&s.people)),
        schedule_kind: host.slots.as_ref().map_or(1, |s| s.kind.slots()),
        knee_state: host.knee.state,
    }
}

/// Nobody but people: the defaults, cut by what is configured; reported only.
fn no_traffic(host: &Host<'_>) -> Recommendation {
    let (policy, site) = (host.policy, &host.input.site);
    let quota = given(site.published.per_minute).map(|q| policy.published_share_percent * q / 100);
    let configured = [
        (Rule::NoTrafficDefault, Some(policy.default_rpm)),
        (Rule::RobotsCrawlDelay, given(site.crawl_delay_ms).map(|delay| 60_000 / delay)),
        (Rule::OperatorMax, given(site.operator_max)),
        (Rule::PublishedQuota, quota),
        (Rule::OperatorMaxAll, given(site.operator_max_all)),
    ];
    let candidates: Vec<Candidate> = configured
        .into_iter()
        .filter_map(|(rule, value)| value.map(|v| Candidate { rule, value: v.max(1) }))
        .collect();
    let least = candidates.iter().copied().min_by_key(|c| c.value);
    let Candidate { rule, value } =
        least.unwrap_or(Candidate { rule: Rule::NoTrafficDefault, value: policy.default_rpm });
    let nobody = Facts::nobody();
    let mut out = finish(&Decision {
        subject: Subject::Bot("*"),
        facts: &nobody,
        host,
        prior: None,
        grade: Grade::D,
        young: false,
        capacity_share: policy.capacity_share_percent.d,
        utilisation: policy.utilisation_percent.d,
        rate: value,
        bound_by: rule,
        rule,
        raw: value,
        runner_up: None,
        candidates,
        alone: value,
        onset: None,
        want: None,
        best_demand: None,
        schedule: None,
        tightest: None,
        action: None,
        troubled: false,
    });
    let at_once = given(site.published.at_once).map(|n| (policy.published_share_percent * n / 100).max(1));
    let ten_seconds = (value * policy.burst_seconds / 60).max(1);
    out.grade = Grade::None;
    out.apply_reason = Some(ApplyReason::NoTraffic);
    out.burst = policy.default_burst.min(ten_seconds).min(at_once.unwrap_or(u64::MAX));
    out.algorithm = if out.burst > 1 { Algorithm::TokenBucket } else { Algorithm::LeakyBucket };
    out
}
