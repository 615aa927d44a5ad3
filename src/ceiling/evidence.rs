//! Why a ceiling is what it is: the figures, the minutes, what is known of the capacity, and the rules that could not speak.
//!
//! Not the decision. Example: bound by `429_onset`, from 120 admitted in minutes 29460240 and four more.

use super::entry::Decision;
use super::episode::Standing;
use super::knee::KneeState;
use super::onset::OnsetState;
use super::overload::OverloadVerdict;
use super::recommendation::{Evidence, Inputs, KnownCapacity, NotUsed, Rule, Window};

/// The evidence of a ceiling.
pub(super) fn evidence(d: &Decision<'_>) -> Evidence {
    let (host, facts) = (d.host, d.facts);
    let tightest = d.tightest.zip(host.slots.as_ref());
    Evidence {
        value: d.rate,
        bound_by: d.bound_by,
        rule: d.rule,
        runner_up: d.runner_up,
        inputs: Inputs {
            f: d.capacity_share,
            u: d.utilisation,
            demand: facts.demand,
            want: d.want,
            clean_minutes: facts.clean_minutes(),
            days: facts.clean_dates,
            onset_429: d.onset,
            episodes: facts.onset.kept.len(),
            capacity: host.capacity.map(|c| c.limit),
            slot: tightest.map(|(t, slots)| slots.kind.name(t.slot)),
            people: tightest.map(|(t, slots)| slots.people[t.slot]),
            share: d.tightest.map(|t| t.share),
            prev: d.old(),
            young: d.young,
        },
        minutes: minutes(d),
        capacity: known(d),
        not_used: not_used(d),
        window: Window {
            start: host.start,
            end: host.window_to,
            covered_minutes: host.covered_minutes(),
            out_of_range: None,
        },
    }
}

/// At most five minutes, the first whose figure equals the number that the rule used.
fn minutes(d: &Decision<'_>) -> Vec<i64> {
    let (host, facts) = (d.host, d.facts);
    let mut found: Vec<i64> = match d.rule {
        Rule::Onset429 => {
            let mine = facts.onset.episodes.iter().filter(|e| e.estimate == d.onset);
            mine.map(|e| e.span.start).collect()
        }
        Rule::HostOverload => {
            let limit = host.capacity.map(|c| c.limit);
            let mine = host.overload.episodes.iter().filter(|(_, load)| Some(*load) == limit);
            mine.map(|(span, _)| span.start).collect()
        }
        Rule::LatencyKnee => host.capacity.map(|c| host.minutes_at(c.limit)).unwrap_or_default(),
        Rule::DemandHeadroom => {
            facts.load().into_iter().filter(|(_, n)| Some(*n) == facts.demand).map(|(m, _)| m).collect()
        }
        _ => Vec::new(),
    };
    found.sort_unstable();
    found.truncate(5);
    found
}

fn known(d: &Decision<'_>) -> KnownCapacity {
    match (d.onset, d.host.capacity) {
        (Some(onset), _) => KnownCapacity { known: true, low: d.facts.demand, high: Some(onset) },
        (None, Some(capacity)) => {
            KnownCapacity { known: true, low: d.host.demand, high: Some(capacity.limit) }
        }
        (None, None) => KnownCapacity { known: false, low: d.facts.demand, high: None },
    }
}

fn not_used(d: &Decision<'_>) -> Vec<NotUsed> {
    let (overload, knee) = (&d.host.overload, &d.host.knee);
    let mut out = Vec::new();
    if d.is_bot() && d.facts.onset.binding().is_none() {
        let why = match d.facts.onset.state {
            OnsetState::None => "none",
            OnsetState::Stray => "stray",
            OnsetState::Burst => "burst",
            OnsetState::Quota => "quota",
            OnsetState::Denied => "denied",
            OnsetState::Established => "established",
            OnsetState::Provisional => "provisional",
            OnsetState::Expired => "expired",
            OnsetState::Refuted => "refuted",
        };
        out.push(NotUsed { rule: Rule::Onset429, why });
    }
    if overload.limit.is_none() {
        let why = match (overload.verdict, overload.state) {
            (OverloadVerdict::None, _) => "none",
            (OverloadVerdict::Stray, _) => "stray",
            (OverloadVerdict::NoCleanMinutes, _) => "no_clean_minutes",
            (OverloadVerdict::Incident, _) => "incident",
            (OverloadVerdict::Inconclusive, _) => "inconclusive",
            (OverloadVerdict::Load, Standing::Expired) => "expired",
            (OverloadVerdict::Load, Standing::Provisional) => "provisional",
            (OverloadVerdict::Load, Standing::Established) => "established",
            (OverloadVerdict::Load, Standing::None) => "none",
        };
        out.push(NotUsed { rule: Rule::HostOverload, why });
    }
    if knee.limit.is_none() {
        let why = match knee.state {
            KneeState::NoLatency => "no_latency",
            KneeState::TooThin => "too_thin",
            KneeState::NoKnee => "no_knee",
            KneeState::Knee => "knee",
        };
        out.push(NotUsed { rule: Rule::LatencyKnee, why });
    }
    out
}
