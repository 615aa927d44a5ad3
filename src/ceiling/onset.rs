//! What a bot's 429 answers say: the rate at which they begin, the burst that was refused, the quota of an hour.
//!
//! Not whether a ceiling follows from it (see [`super::entry`]). A stray 429 says nothing.
//!
//! Example: 150 requests of which 30 got 429, half an hour long: the limit is near 120.

use serde::Serialize;

use super::episode::{Span, Standing, episodes, same_date};
use super::minute::{BotMinute, DAY};
use super::policy::Policy;
use super::rank::rank_of;

/// What is known of the rate at which 429 begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnsetState {
    /// There was no 429.
    None,
    /// Single ones.
    Stray,
    /// Only bursts were refused.
    Burst,
    /// The hour's quota was used up.
    Quota,
    /// Refused outright, never served before: no estimate.
    Denied,
    /// Repeated.
    Established,
    /// Seen in the last week.
    Provisional,
    /// Seen once, longer ago: probed.
    Expired,
    /// Established once; clean traffic ran through it since.
    Refuted,
}

/// One 429 episode that is about the rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnsetEpisode {
    pub(super) span: Span,
    /// The limit that it shows, requests per minute.
    pub(super) estimate: Option<u64>,
}

/// All 429 evidence of one bot.
#[derive(Debug, Clone)]
pub(super) struct Onset {
    /// The lower quartile of the episodes' estimates, whatever its state.
    pub(super) rate: Option<u64>,
    pub(super) state: OnsetState,
    pub(super) episodes: Vec<OnsetEpisode>,
    /// The smallest second that was refused as a burst, while it stands.
    pub(super) burst: Option<u64>,
    /// What was admitted in an hour before its quota was used up, while it stands.
    pub(super) quota: Option<u64>,
    pub(super) quota_state: Standing,
    /// All episodes that are evidence, in order.
    pub(super) kept: Vec<Span>,
    /// Those that say "slow down": a used-up quota is not congestion.
    pub(super) slowing: Vec<Span>,
}

impl Onset {
    /// Nothing was ever refused.
    pub(super) fn none() -> Self {
        Self {
            rate: None,
            state: OnsetState::None,
            episodes: Vec::new(),
            burst: None,
            quota: None,
            quota_state: Standing::None,
            kept: Vec::new(),
            slowing: Vec::new(),
        }
    }

    /// The rate, while it binds.
    pub(super) fn binding(&self) -> Option<u64> {
        self.rate.filter(|_| matches!(self.state, OnsetState::Established | OnsetState::Provisional))
    }

    /// The end of the last episode with an estimate.
    pub(super) fn last_estimate(&self) -> Option<i64> {
        self.episodes.iter().filter(|e| e.estimate.is_some()).map(|e| e.span.end).max()
    }

    /// Reads the rows of the evidence window, ascending.
    pub(super) fn of(rows: &[BotMinute], window_to: i64, policy: &Policy) -> Self {
        let throttled = |about_rate: bool| -> Vec<BotMinute> {
            let spread = |r: &BotMinute| r.span() >= policy.rate_span_seconds;
            rows.iter().filter(|r| r.n429 > 0 && spread(r) == about_rate).copied().collect()
        };
        let mut out = Self::none();
        let (rate_rows, burst_rows) = (throttled(true), throttled(false));
        if rate_rows.is_empty() && burst_rows.is_empty() {
            return out;
        }
        out.state = OnsetState::Stray;
        let (rate, burst) = (evident(&rate_rows, policy), evident(&burst_rows, policy));
        let bursts: Vec<Span> = burst.iter().map(|e| span(e)).collect();
        if !burst.is_empty() {
            out.state = OnsetState::Burst;
            if Standing::of(&bursts, window_to, policy.standing_episodes_429, policy) != Standing::Expired {
                out.burst = burst.iter().flat_map(|e| e.iter()).map(|r| u64::from(r.second_max)).min();
            }
        }
        let plain = out.split_quota(rows, &rate, window_to, policy);
        for episode in &plain {
            out.episodes
                .push(OnsetEpisode { span: span(episode), estimate: estimate(episode, rows, policy) });
        }
        out.estimate_rate(window_to, policy);
        out.kept = rate.iter().map(|e| span(e)).chain(bursts.iter().copied()).collect();
        out.slowing = plain.iter().map(|e| span(e)).chain(bursts).collect();
        out.kept.sort_unstable_by_key(|s| (s.start, s.end));
        out.slowing.sort_unstable_by_key(|s| (s.start, s.end));
        out
    }

    /// Sets the quota when there is one; gives back the episodes that are about the minute.
    fn split_quota<'e>(
        &mut self,
        rows: &[BotMinute],
        episodes: &[&'e [BotMinute]],
        window_to: i64,
        policy: &Policy,
    ) -> Vec<&'e [BotMinute]> {
        let totals: Vec<Option<u64>> = episodes.iter().map(|e| used_up(rows, e[0].minute)).collect();
        let known: Vec<u64> = totals.iter().flatten().copied().collect();
        let (Some(low), Some(high)) = (known.iter().min(), known.iter().max()) else {
            return episodes.to_vec();
        };
        if known.len() < 2 || 100 * high > policy.quota_tolerance_percent * low.max(&1) {
            return episodes.to_vec();
        }
        let (mut of_quota, mut plain) = (Vec::new(), Vec::new());
        for (episode, total) in episodes.iter().zip(&totals) {
            if total.is_some() { of_quota.push(span(episode)) } else { plain.push(*episode) }
        }
        self.state = OnsetState::Quota;
        self.quota_state = Standing::of(&of_quota, window_to, policy.standing_episodes_429, policy);
        self.quota = Some(*low).filter(|_| self.quota_state != Standing::Expired);
        plain
    }

    /// The lower quartile of the estimates. For a week the newest date counts by itself, too: limits get lowered.
    fn estimate_rate(&mut self, window_to: i64, policy: &Policy) {
        let known: Vec<(Span, u64)> =
            self.episodes.iter().filter_map(|e| e.estimate.map(|x| (e.span, x))).collect();
        let Some((newest, _)) = known.last().copied() else {
            if !self.episodes.is_empty() {
                self.state = OnsetState::Denied;
            }
            return;
        };
        let quartile = |all: &mut dyn Iterator<Item = u64>| rank_of(all, 25);
        let mut recent = known
            .iter()
            .filter(|(s, _)| {
                same_date(s.start, newest.start) && window_to - s.end <= policy.provisional_days * DAY
            })
            .map(|(_, x)| *x);
        let all = quartile(&mut known.iter().map(|(_, x)| *x));
        self.rate = quartile(&mut recent).into_iter().chain(all).min();
        let spans: Vec<Span> = known.iter().map(|(s, _)| *s).collect();
        self.state = match Standing::of(&spans, window_to, policy.standing_episodes_429, policy) {
            Standing::Established => OnsetState::Established,
            Standing::Provisional => OnsetState::Provisional,
            Standing::Expired | Standing::None => OnsetState::Expired,
        };
    }
}

fn span(episode: &[BotMinute]) -> Span {
    Span { start: episode[0].minute, end: episode[episode.len() - 1].minute }
}

/// The episodes that are evidence: two strong minutes, or ten refusals.
fn evident<'r>(rows: &'r [BotMinute], policy: &Policy) -> Vec<&'r [BotMinute]> {
    let strong = |r: &&BotMinute| {
        let share = (policy.strong_share_percent * r.requests()).div_ceil(100);
        u64::from(r.n429) >= policy.strong_refusals.max(share)
    };
    let mut all = episodes(rows, policy, |r: &BotMinute| r.minute);
    all.retain(|e: &&'r [BotMinute]| {
        e.iter().filter(strong).count() >= policy.episode_strong_minutes
            || e.iter().map(|r| u64::from(r.n429)).sum::<u64>() >= policy.episode_refusals
    });
    all
}

/// What the hour admitted up to this minute, when after it nothing was until the hour's end and the next hour starts free.
fn used_up(rows: &[BotMinute], from: i64) -> Option<u64> {
    let hour = from.div_euclid(60) * 60;
    let at = |minute: i64| rows.partition_point(|r| r.minute < minute);
    let after = &rows[at(from + 1)..at(hour + 60)];
    let next = rows[at(hour + 60)..].first().filter(|r| r.minute < hour + 120);
    let closed = after.iter().all(|r| r.n429 == r.n) && after.last().is_some_and(|r| r.minute - hour >= 58);
    (closed && next.is_none_or(|r| r.n429 == 0))
        .then(|| rows[at(hour)..at(from + 1)].iter().map(BotMinute::admitted).sum())
}

/// The lower median of what its minutes admitted; of a ban, the rate just before it.
fn estimate(episode: &[BotMinute], rows: &[BotMinute], policy: &Policy) -> Option<u64> {
    let admitted = episode.iter().filter(|r| r.n > r.n429).map(BotMinute::admitted);
    rank_of(admitted, 50).or_else(|| {
        let start = episode[0].minute;
        let from = rows.partition_point(|r| r.minute < start - policy.episode_gap_minutes);
        let to = rows.partition_point(|r| r.minute < start);
        rows[from..to].iter().rev().find(|r| r.n429 == 0).map(BotMinute::requests)
    })
}
