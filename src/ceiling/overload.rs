//! What 502, 503 and 504 of a host say: a limit of its load, or an incident that has nothing to do with it.
//!
//! Only the first minute of an episode counts: retries inflate the rest. Not the bots' share in it.
//!
//! Example: 503s at 819 requests a minute on two dates, while all other minutes have less: the limit is 819.

use serde::Serialize;

use super::episode::{Span, Standing, episodes};
use super::minute::{DAY, HostMinute};
use super::policy::Policy;
use super::rank::{float, mid_rank, rank_of};

/// Whether overload has to do with load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OverloadVerdict {
    /// There was none.
    None,
    /// Single errors.
    Stray,
    /// No minute to compare with.
    NoCleanMinutes,
    /// It began at any load: no cap.
    Incident,
    /// Between: no cap, and the grade falls.
    Inconclusive,
    /// It began when the load was high.
    Load,
}

/// All overload evidence of a host.
#[derive(Debug, Clone)]
pub(super) struct Overload {
    /// The lower quartile of the loads at which it began, while it stands.
    pub(super) limit: Option<u64>,
    /// Mean share of calm minutes with less load than at the onset: 0.5 is chance, 1 is always the busiest.
    pub(super) score: Option<f64>,
    pub(super) verdict: OverloadVerdict,
    pub(super) state: Standing,
    /// Episodes with the load of their first minute.
    pub(super) episodes: Vec<(Span, u64)>,
    /// Load-related, and ended within the freeze.
    pub(super) recent: bool,
}

impl Overload {
    /// Reads the minutes with requests of the evidence window, ascending.
    pub(super) fn of(loads: &[(i64, HostMinute)], window_to: i64, policy: &Policy) -> Self {
        let mut out = Self {
            limit: None,
            score: None,
            verdict: OverloadVerdict::None,
            state: Standing::None,
            episodes: Vec::new(),
            recent: false,
        };
        let (over, calm): (Vec<_>, Vec<_>) = loads.iter().copied().partition(|(_, h)| h.is_overloaded());
        if over.is_empty() {
            return out;
        }
        let mut found = episodes(&over, policy, |(m, _)| *m);
        found.retain(|e| {
            e.len() >= policy.episode_strong_minutes
                || e.iter().map(|(_, h)| h.overloaded).sum::<u64>() >= policy.episode_refusals
        });
        if found.is_empty() {
            out.verdict = OverloadVerdict::Stray;
            return out;
        }
        if calm.is_empty() {
            out.verdict = OverloadVerdict::NoCleanMinutes;
            return out;
        }
        let mut calm: Vec<u64> = calm.iter().map(|(_, h)| h.n).collect();
        calm.sort_unstable();
        out.episodes =
            found.iter().map(|e| (Span { start: e[0].0, end: e[e.len() - 1].0 }, e[0].1.n)).collect();
        let sum: f64 = out.episodes.iter().map(|(_, load)| mid_rank(*load, &calm)).sum();
        let score = sum / float(u64::try_from(out.episodes.len()).unwrap_or(u64::MAX));
        out.score = Some(score);
        out.verdict = if score < policy.incident_score {
            OverloadVerdict::Incident
        } else if score < policy.load_score {
            OverloadVerdict::Inconclusive
        } else {
            OverloadVerdict::Load
        };
        if out.verdict == OverloadVerdict::Load {
            let spans: Vec<Span> = out.spans().collect();
            out.state = Standing::of(&spans, window_to, policy.standing_episodes_overload, policy);
            if out.state != Standing::Expired {
                out.limit = rank_of(out.episodes.iter().map(|(_, load)| *load), 25);
            }
            out.recent = spans.last().is_some_and(|s| window_to - s.end <= policy.freeze_days * DAY);
        }
        out
    }

    fn spans(&self) -> impl Iterator<Item = Span> {
        self.episodes.iter().map(|(span, _)| *span)
    }

    /// The episodes, if they were caused by load.
    pub(super) fn load_episodes(&self) -> impl Iterator<Item = Span> {
        self.spans().filter(|_| self.verdict == OverloadVerdict::Load)
    }
}
