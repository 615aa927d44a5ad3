//! One ceiling: the candidates, the least of them, its slots, and what the hysteresis makes of it.
//!
//! Not what follows from the ceiling (bursts, connections, budgets). Example: 64 / 0.85 gives 76, bound by demand.

use super::facts::Facts;
use super::host::Host;
use super::hysteresis::Brake;
use super::minute::DAY;
use super::onset::OnsetState;
use super::overload::OverloadVerdict;
use super::policy::Policy;
use super::previous::{PreviousEntry, Prior};
use super::recommendation::{Candidate, Recommendation, Rule};
use super::site::given;
use crate::manifest::{Action, Grade};

/// What the entry of all bots together has to know of each.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) grade: Grade,
    pub(super) alone: u64,
    pub(super) rate: u64,
    pub(super) connections: u64,
    pub(super) hourly: u64,
    pub(super) daily: u64,
    pub(super) schedule: Option<std::collections::BTreeMap<String, u64>>,
}

impl Member {
    pub(super) fn computed(name: &str, r: &Recommendation) -> Self {
        Self {
            name: name.to_owned(),
            grade: r.grade,
            alone: r.alone,
            rate: r.max_requests_per_minute,
            connections: r.max_concurrency,
            hourly: r.hourly_budget,
            daily: r.daily_budget,
            schedule: r.schedule.clone(),
        }
    }

    pub(super) fn held(name: &str, e: &PreviousEntry) -> Self {
        Self {
            name: name.to_owned(),
            grade: e.grade,
            alone: e.max_requests_per_minute,
            rate: e.max_requests_per_minute,
            connections: e.max_concurrency.unwrap_or(1),
            hourly: e.hourly_budget.unwrap_or(0),
            daily: e.daily_budget.unwrap_or(0),
            schedule: e.schedule.clone(),
        }
    }

    /// Whether it can be applied at all.
    pub(super) fn counts(&self) -> bool {
        self.grade != Grade::D
    }
}

/// Whom a ceiling is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Subject<'a> {
    Bot(&'a str),
    AllBots(&'a [Member]),
}

impl<'a> Subject<'a> {
    /// The bots of the host, when the subject is all of them.
    pub(super) fn members(self) -> Option<&'a [Member]> {
        match self {
            Self::Bot(_) => None,
            Self::AllBots(members) => Some(members),
        }
    }
}

/// The slot with the least room.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tightest {
    pub(super) slot: usize,
    /// The subject's demand there, and that of all bots.
    pub(super) share: (u64, u64),
    room: u64,
}

/// A ceiling and all that led to it.
#[derive(Debug)]
pub(super) struct Decision<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) facts: &'a Facts<'a>,
    pub(super) host: &'a Host<'a>,
    pub(super) prior: Option<Prior<'a>>,
    pub(super) grade: Grade,
    pub(super) young: bool,
    /// Ceiling / capacity in per cent.
    pub(super) capacity_share: u64,
    /// Demand / ceiling in per cent.
    pub(super) utilisation: u64,
    pub(super) rate: u64,
    pub(super) bound_by: Rule,
    pub(super) rule: Rule,
    pub(super) raw: u64,
    pub(super) runner_up: Option<Candidate>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) alone: u64,
    /// The 429 onset, while it binds.
    pub(super) onset: Option<u64>,
    pub(super) want: Option<u64>,
    pub(super) best_demand: Option<(u64, i64)>,
    pub(super) schedule: Option<Vec<u64>>,
    pub(super) tightest: Option<Tightest>,
    pub(super) action: Option<Action>,
    /// 429 or overload within the freeze.
    pub(super) troubled: bool,
}

impl Decision<'_> {
    /// The previous ceiling.
    pub(super) fn old(&self) -> Option<u64> {
        self.prior.map(|p| p.entry.max_requests_per_minute)
    }

    /// Whether it is for one bot.
    pub(super) fn is_bot(&self) -> bool {
        self.subject.members().is_none()
    }
}

/// The least; the first of equals.
fn least(candidates: &[Candidate]) -> Option<Candidate> {
    candidates.iter().copied().min_by_key(|c| c.value)
}

/// Finds the ceiling of a subject.
pub(super) fn decide<'a>(
    subject: Subject<'a>,
    facts: &'a Facts<'a>,
    host: &'a Host<'a>,
    prior: Option<Prior<'a>>,
) -> Decision<'a> {
    let (policy, window_to) = (host.policy, host.window_to);
    let onset = facts.onset.binding();
    let grade = grade(facts, host);
    let young = host.input.site.account_age_days.is_some_and(|days| days < policy.young_account_days);
    let capacity_share =
        if young { policy.young_capacity_share_percent } else { policy.capacity_share_percent.of(grade) };
    let old = prior.map(|p| p.entry.max_requests_per_minute);
    // Our own ceiling hides the demand of a bot that obeys it: then the best of the evidence window is wanted.
    let now = facts.demand.map(|l| (l, window_to));
    let best_demand = match prior.and_then(|p| p.best_demand(window_to, policy)) {
        Some(best) if best.0 > facts.demand.unwrap_or(0) => Some(best),
        _ => now,
    };
    let riding = old.zip(facts.demand).is_some_and(|(old, l)| 100 * l >= policy.riding_percent * old);
    let refused = facts.onset.kept.iter().any(|e| window_to - e.end <= policy.freeze_days * DAY);
    let mut d = Decision {
        subject,
        facts,
        host,
        prior,
        grade,
        young,
        capacity_share,
        utilisation: policy.utilisation_percent.of(grade),
        rate: 1,
        bound_by: Rule::AllErrorsFloor,
        rule: Rule::AllErrorsFloor,
        raw: 1,
        runner_up: None,
        candidates: Vec::new(),
        alone: 1,
        onset,
        want: if riding { best_demand.map(|(l, _)| l) } else { facts.demand },
        best_demand,
        schedule: None,
        tightest: None,
        action: facts.dead.then_some(if facts.denied { Action::StopDenied } else { Action::StopInvestigate }),
        troubled: refused || host.overload.recent,
    };
    d.add_candidates();
    let alone =
        least(&d.candidates).unwrap_or(Candidate { rule: Rule::ThinDataDefault, value: policy.default_rpm });
    d.alone = alone.value.max(1);
    let rooms = d.add_room();
    let first = least(&d.candidates).unwrap_or(alone);
    (d.rule, d.raw) = (first.rule, first.value.max(1));
    let others: Vec<Candidate> = d.candidates.iter().copied().filter(|c| c.rule != first.rule).collect();
    d.runner_up = least(&others);
    let blind = riding
        && facts.latency_count == 0
        && onset.is_none()
        && host.capacity.is_none()
        && facts.onset.state != OnsetState::Expired;
    let brake = d.brake(refused, blind);
    d.brake_all(&brake, alone, &rooms);
    d.respect_configuration();
    d.respect_members();
    d
}

impl<'a> Decision<'a> {
    fn add_candidates(&mut self) {
        let (host, facts) = (self.host, self.facts);
        let (policy, site) = (host.policy, &host.input.site);
        let mut all = Vec::new();
        let mut add = |rule, value| all.push(Candidate { rule, value });
        if facts.dead {
            add(Rule::AllErrorsFloor, 1);
        } else {
            if let Some(rate) = self.onset {
                add(Rule::Onset429, self.capacity_share * rate / 100);
            }
            if self.grade == Grade::D {
                add(Rule::ThinDataDefault, policy.default_rpm);
            } else {
                let demand = (100 * self.want.unwrap_or(0)).div_ceil(self.utilisation);
                let members = self.subject.members().unwrap_or(&[]);
                let largest = members.iter().filter(|m| m.counts()).map(|m| m.alone).max().unwrap_or(0);
                if largest > demand {
                    add(Rule::LargestBot, largest)
                } else {
                    add(Rule::DemandHeadroom, demand)
                }
            }
        }
        if let Some(members) = self.subject.members() {
            add(Rule::SumOfBots, members.iter().map(|m| m.alone.max(m.rate)).sum());
        } else {
            if let Some(delay) = given(site.crawl_delay_ms) {
                add(Rule::RobotsCrawlDelay, 60_000 / delay);
            }
            if let Some(max) = given(site.operator_max) {
                add(Rule::OperatorMax, max);
            }
            if let Some(quota) = given(site.published.per_minute) {
                add(Rule::PublishedQuota, policy.published_share_percent * quota / 100);
            }
        }
        if let Some(max) = given(site.operator_max_all) {
            add(Rule::OperatorMaxAll, max);
        }
        self.candidates = all;
    }

    /// What the host leaves in each slot, where its capacity is known; the least is a candidate.
    fn add_room(&mut self) -> Vec<u64> {
        let (Some(capacity), Some(slots)) = (self.host.capacity, &self.host.slots) else { return Vec::new() };
        if self.facts.dead {
            return Vec::new();
        }
        let mut rooms = Vec::with_capacity(slots.people.len());
        for (slot, people) in slots.people.iter().enumerate() {
            // In hundredths of a request.
            let left = (self.capacity_share * capacity.limit).saturating_sub(100 * people);
            let room = left.max(self.host.policy.bot_share_percent * capacity.limit);
            let own = self.facts.slot_demand.get(slot).copied().flatten().filter(|_| self.is_bot());
            // A bot that was never seen here does not share: bots that never meet do not pay for each other.
            let share = own.map_or((1, 1), |demand| (demand, self.host.slot_demand[slot].max(1)));
            let room = room * share.0 / (100 * share.1);
            if self.tightest.is_none_or(|t| room < t.room) {
                self.tightest = Some(Tightest { slot, share, room });
            }
            rooms.push(room);
        }
        if let Some(tightest) = self.tightest {
            let at = usize::from(self.onset.is_some());
            self.candidates.insert(at, Candidate { rule: capacity.rule, value: tightest.room });
        }
        rooms
    }

    fn brake(&self, refused: bool, blind: bool) -> Brake<'a> {
        let (facts, policy) = (self.facts, self.host.policy);
        let of_host = self.host.capacity.map(|c| c.rule);
        let firm = self.candidates.iter().filter(|c| !c.rule.is_demand() && Some(c.rule) != of_host);
        let slow = facts.latency_count > 0 && facts.latency_ms_sum >= policy.slow_ms * facts.latency_count;
        Brake {
            policy,
            dead: facts.dead,
            refused,
            troubled: self.troubled,
            partial: self.host.input.partial,
            unhealthy: 100 * facts.recent_errors >= policy.error_share_percent * facts.recent || slow,
            blind,
            best_demand: self.best_demand.map(|(l, _)| l),
            firm: firm.map(|c| c.value).min(),
        }
    }

    /// Applies the hysteresis to the ceiling and to each slot.
    fn brake_all(&mut self, brake: &Brake<'_>, alone: Candidate, rooms: &[u64]) {
        let old = self.old();
        (self.rate, self.bound_by) = brake.apply(self.raw, self.rule, old, self.tightest.map(|t| t.room));
        let (Some(capacity), Some(slots)) = (self.host.capacity, &self.host.slots) else { return };
        let before = self.prior.and_then(|p| p.entry.schedule.as_ref());
        let schedule: Vec<u64> = rooms
            .iter()
            .enumerate()
            .map(|(slot, room)| {
                let (rule, value) =
                    if alone.value <= *room { (alone.rule, alone.value) } else { (capacity.rule, *room) };
                let old = before.and_then(|s| s.get(&slots.kind.name(slot)).copied()).or(old);
                brake.apply(value.max(1), rule, old, Some(*room)).0
            })
            .collect();
        let Some(lowest) = schedule.iter().min() else { return };
        if *lowest < self.rate {
            (self.rate, self.bound_by) = (*lowest, capacity.rule);
        }
        self.schedule = Some(schedule);
    }

    /// What was configured binds whatever the hysteresis kept.
    fn respect_configuration(&mut self) {
        let configured: Vec<Candidate> =
            self.candidates.iter().copied().filter(|c| c.rule.is_configured()).collect();
        let Some(cap) = least(&configured) else { return };
        let value = cap.value.max(1);
        if self.rate > value {
            (self.rate, self.bound_by) = (value, cap.rule);
        }
        for slot in self.schedule.iter_mut().flatten() {
            *slot = (*slot).min(value);
        }
    }

    /// All bots together are never below the largest of them, in any slot.
    fn respect_members(&mut self) {
        let members = self.subject.members().unwrap_or(&[]);
        let counting = || members.iter().filter(|m| m.counts());
        if let Some(top) = counting().map(|m| m.rate).max().filter(|top| *top > self.rate) {
            (self.rate, self.bound_by) = (top, Rule::LargestBot);
        }
        let (Some(schedule), Some(slots)) = (&mut self.schedule, &self.host.slots) else { return };
        for (slot, value) in schedule.iter_mut().enumerate() {
            let name = slots.kind.name(slot);
            let of_members = counting().filter_map(|m| m.schedule.as_ref()?.get(&name).copied());
            *value = of_members.fold(*value, u64::max);
        }
    }
}

/// How far the numbers can be trusted.
fn grade(facts: &Facts<'_>, host: &Host<'_>) -> Grade {
    let policy = host.policy;
    if facts.served_minutes() < policy.clean_minutes_min {
        return Grade::D;
    }
    let grade = if facts.served_minutes() < policy.grade_b_minutes || facts.served_dates < policy.grade_b_days
    {
        Grade::C
    } else if facts.clean_minutes() >= policy.grade_a_minutes
        && facts.clean_dates >= policy.grade_a_days
        && reaches_capacity(facts, host, policy)
    {
        Grade::A
    } else {
        Grade::B
    };
    let rejects = 100 * host.input.rejects > host.input.lines;
    let doubtful = rejects || host.overload.verdict == OverloadVerdict::Inconclusive;
    match grade {
        Grade::A if doubtful => Grade::B,
        Grade::B if doubtful => Grade::C,
        grade => grade,
    }
}

/// Whether an established capacity lies near what was really seen.
fn reaches_capacity(facts: &Facts<'_>, host: &Host<'_>, policy: &Policy) -> bool {
    let (capacity, seen) = if facts.onset.state == OnsetState::Established {
        (facts.onset.rate, facts.demand)
    } else {
        (host.capacity.filter(|c| c.established).map(|c| c.limit), host.demand)
    };
    let (low, high) = policy.grade_a_bracket_percent;
    capacity.zip(seen).is_some_and(|(c, seen)| c > 0 && low * c <= 100 * seen && 100 * seen <= high * c)
}
