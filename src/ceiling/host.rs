//! What is true of a whole host: its windows, what was covered, and the capacity that was seen.
//!
//! Not its bots. Example: window end 29469599, 10,080 covered minutes, knee at 329 requests a minute.

use super::episode::Standing;
use super::input::Input;
use super::knee::Knee;
use super::minute::{DAY, HostMinute};
use super::overload::Overload;
use super::policy::Policy;
use super::rank::surely_reached;
use super::recommendation::Rule;
use super::season::{Calendar, Slots};
use super::series::Series;

/// The load that the host surely takes, and how it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    /// Requests per minute of everybody.
    pub(super) limit: u64,
    pub(super) rule: Rule,
    pub(super) established: bool,
}

/// A host and its windows.
#[derive(Debug)]
pub(super) struct Host<'a> {
    pub(super) input: &'a Input,
    pub(super) policy: &'a Policy,
    /// The last minute of both windows.
    pub(super) window_to: i64,
    pub(super) clean_from: i64,
    pub(super) evidence_from: i64,
    /// The first covered minute of the clean window.
    pub(super) start: i64,
    /// From `clean_from`: the load of covered minutes.
    covered: Vec<Option<u64>>,
    pub(super) out_of_range: u64,
    pub(super) overload: Overload,
    pub(super) knee: Knee,
    pub(super) capacity: Option<Capacity>,
    /// What all clients together surely reach in minutes without overload.
    pub(super) demand: Option<u64>,
    pub(super) calendar: Calendar,
    /// Only where the capacity is known.
    pub(super) slots: Option<Slots>,
    /// By slot: the sum of what the bots that were seen there want.
    pub(super) slot_demand: Vec<u64>,
}

impl<'a> Host<'a> {
    /// `None` when no minute of the window has a request.
    pub(super) fn of(input: &'a Input, policy: &'a Policy) -> Option<Self> {
        let oldest = policy.oldest_date * DAY;
        let (newest, latest) = (input.now + policy.future_minutes, input.now + policy.future_days * DAY);
        let out_of_range =
            input.loads().filter(|(m, _)| !(oldest..=latest).contains(m)).map(|(_, h)| h.n).sum();
        let window_to = input.loads().map(|(m, _)| m).filter(|m| (oldest..=newest).contains(m)).max()?;
        let clean_from = window_to - policy.clean_window_days * DAY + 1;
        let evidence_from = oldest.max(window_to - policy.evidence_window_days * DAY + 1);
        let loads: Vec<(i64, HostMinute)> = input
            .loads()
            .filter(|(m, _)| (evidence_from..=window_to).contains(m))
            .map(|(m, h)| (m, *h))
            .collect();
        let recent = || loads.iter().filter(|(m, _)| *m >= clean_from).map(|(_, h)| h);
        let (overload, knee) = (Overload::of(&loads, window_to, policy), Knee::of(recent()));
        let calm = recent().filter(|h| !h.is_overloaded()).map(|h| h.n).collect();
        let covered = covered(input, clean_from.max(oldest), clean_from, window_to);
        let first = covered.iter().position(Option::is_some).and_then(|i| i64::try_from(i).ok()).unwrap_or(0);
        Some(Self {
            input,
            policy,
            window_to,
            clean_from,
            evidence_from,
            start: clean_from + first,
            covered,
            out_of_range,
            capacity: capacity(&overload, &knee),
            overload,
            knee,
            demand: surely_reached(calm, policy),
            calendar: Calendar::new(input.site.time_zone, clean_from, window_to),
            slots: None,
            slot_demand: Vec::new(),
        })
    }

    /// Covered minutes of the clean window.
    pub(super) fn covered_minutes(&self) -> usize {
        self.covered.iter().flatten().count()
    }

    /// Sets the slots, where the capacity is known: people are everybody but the bots' own rows.
    pub(super) fn divide<'s>(&mut self, bots: impl Iterator<Item = &'s Series>) {
        if self.capacity.is_none() {
            return;
        }
        let mut people = self.covered.clone();
        for row in bots.flat_map(|series| &series.rows) {
            let at = usize::try_from(row.minute - self.clean_from).unwrap_or(usize::MAX);
            if let Some(Some(n)) = people.get_mut(at) {
                *n = n.saturating_sub(row.requests());
            }
        }
        let known: Vec<(i64, u64)> =
            (self.clean_from..).zip(people).filter_map(|(m, n)| n.map(|n| (m, n))).collect();
        self.slots = Some(Slots::of(&known, &self.calendar, self.policy));
    }

    /// Minutes of the clean window with exactly this load and with latency.
    pub(super) fn minutes_at(&self, load: u64) -> Vec<i64> {
        let wanted = |h: &HostMinute| h.n == load && h.latency_count > 0;
        let window = self.clean_from.max(self.evidence_from)..=self.window_to;
        self.input.loads().filter(|(m, h)| window.contains(m) && wanted(h)).map(|(m, _)| m).take(5).collect()
    }
}

/// The smaller of both limits; overload where they are equal.
fn capacity(overload: &Overload, knee: &Knee) -> Option<Capacity> {
    let by_overload = overload.limit.map(|limit| Capacity {
        limit,
        rule: Rule::HostOverload,
        established: overload.state == Standing::Established,
    });
    let by_knee = knee.limit.map(|limit| Capacity { limit, rule: Rule::LatencyKnee, established: true });
    by_overload.into_iter().chain(by_knee).filter(|c| c.limit > 0).min_by_key(|c| c.limit)
}

/// The load of every covered minute of the clean window: zero where it is covered and no line was.
fn covered(input: &Input, from: i64, clean_from: i64, to: i64) -> Vec<Option<u64>> {
    let at = |minute: i64| usize::try_from(minute - clean_from).unwrap_or(0);
    let mut out = vec![None; at(to) + 1];
    for (first, last) in &input.covered {
        let (first, last) = ((*first).max(clean_from), (*last).min(to));
        if first <= last {
            out[at(first)..=at(last)].fill(Some(0));
        }
    }
    for (minute, load) in input.loads().filter(|(m, _)| (from..=to).contains(m)) {
        out[at(minute)] = Some(load.n);
    }
    out
}
