//! What one thread does with one block: lines to records, records to hits, hits to tallies.
//!
//! Nothing is shared here but what is only read. Example: a block of 4,000 lines adds 4,000 lines to one accumulator.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

use super::Pipeline;
use super::first_look::FirstLook;
use super::rejects::Rejected;
use crate::bot::cache::UserAgentCache;
use crate::bot::patterns::PatternFile;
use crate::bot::verify::network_of;
use crate::bot::{Who, names};
use crate::error::Error;
use crate::format::escape::{printable, unescape};
use crate::format::{Directive, Entry, Flags, Line, Parser, Record, client, request};
use crate::tally::GroupBy;
use crate::tally::aside::ROOM;
use crate::tally::claims::ClaimTally;
use crate::tally::distinct::stable_hash;
use crate::tally::fold::Tally;
use crate::tally::hit::{Asker, Hit};
use crate::tally::lines::LineTally;
use crate::tally::matched::MatchedTally;
use crate::tally::spill::Spilling;
use crate::tally::table::Verification;
use crate::url;

/// What was counted of some blocks of one source.
#[derive(Debug)]
pub(super) struct Accumulator {
    default_host: Box<[u8]>,
    pub(super) lines: LineTally,
    pub(super) all: Tally,
    pub(super) window: Option<Tally>,
    pub(super) grouped: Option<Tally>,
    pub(super) matched: Option<MatchedTally>,
    pub(super) first_look: FirstLook,
    pub(super) rejected: Option<Rejected>,
}

/// What a thread knows of a User-Agent.
#[derive(Debug)]
struct UserAgent {
    who: u32,
    /// Set where the claim can be checked with what was given.
    checked: Option<Who>,
    is_bot: bool,
    variant: u8,
    hash: Option<u64>,
    /// Whether the view's filters keep what it asks for.
    kept: bool,
    /// Names under which the view counts it.
    grouped: Box<[u32]>,
    /// Patterns that it matches, ascending.
    matches: Box<[u32]>,
    /// A reverse name could prove the claim, and somebody wants to know the addresses.
    to_look_up: bool,
}

impl Accumulator {
    pub(super) fn new(pipeline: &Pipeline<'_>, host: &[u8]) -> Self {
        let tally = || Tally::new(host).with_room_for_names(ROOM);
        let patterns = pipeline.view.and_then(|v| v.patterns.as_ref()).map_or(0, PatternFile::count);
        Self {
            default_host: host.into(),
            lines: LineTally::new(patterns),
            all: tally(),
            window: pipeline.view.filter(|v| v.filters()).map(|_| tally()),
            grouped: pipeline.view.filter(|v| v.regroups()).map(|_| Tally::new(host)),
            matched: pipeline.view.filter(|v| v.regroups()).map(|_| MatchedTally::default()),
            first_look: FirstLook::default(),
            rejected: pipeline.rejects.map(|_| Rejected::default()),
        }
    }

    /// Writes what has outgrown its share of the memory.
    pub(super) fn spill_if_full(&mut self, spilling: &Spilling<'_>) -> Result<(), Error> {
        self.all.spill_if_full(spilling)?;
        for tally in self.window.iter_mut().chain(&mut self.grouped) {
            tally.spill_if_full(spilling)?;
        }
        self.matched.as_mut().map_or(Ok(()), |matched| matched.spill_if_full(spilling))
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.lines.merge(other.lines);
        self.all.merge(other.all);
        self.first_look.merge(other.first_look);
        if let (Some(a), Some(b)) = (&mut self.rejected, other.rejected) {
            a.merge(b);
        }
        if let (Some(a), Some(b)) = (&mut self.window, other.window) {
            a.merge(b);
        }
        if let (Some(a), Some(b)) = (&mut self.grouped, other.grouped) {
            a.merge(b);
        }
        if let (Some(a), Some(b)) = (&mut self.matched, other.matched) {
            a.merge(&b);
        }
    }
}

/// One thread's own state.
pub(super) struct Worker<'a> {
    pipeline: &'a Pipeline<'a>,
    parser: Parser,
    user_agents: UserAgentCache<UserAgent>,
    not_logged: UserAgent,
    verdicts: HashMap<(u32, Vec<u8>), Verification>,
    pub(super) buffer: Vec<u8>,
}

/// Verdicts remembered per thread.
const MAX_VERDICTS: usize = 1 << 16;

impl<'a> Worker<'a> {
    pub(super) fn new(pipeline: &'a Pipeline<'a>, seed: u64) -> Self {
        Self {
            pipeline,
            parser: Parser::new(pipeline.parser.clone()),
            user_agents: UserAgentCache::new(seed),
            not_logged: resolve(pipeline, None),
            verdicts: HashMap::new(),
            buffer: Vec::new(),
        }
    }

    /// Counts a block behind its first `overlapped` lines, which an older source holds. `first`: nothing of the source is
    /// counted before. `directive` says which columns of W3C lines are in force where the lines begin.
    pub(super) fn block(
        &mut self,
        accumulator: &mut Accumulator,
        (number, overlapped, first): (u64, u64, bool),
        lines: &[u8],
        directive: Directive<'_>,
    ) {
        let Self { pipeline, parser, user_agents, not_logged, verdicts, .. } = self;
        if number == 0 && overlapped == 0 {
            parser.begin_source()
        } else {
            parser.enter_source()
        }
        accumulator.lines.begin_block(number, overlapped);
        let count = parser.block_behind(lines, directive, |entry| {
            accumulator.lines.line(&entry);
            // Whoever is given a place of memory gets a copy's: then the entry itself can stay in registers.
            if first {
                let copy = entry;
                accumulator.first_look.line(&copy, pipeline.client);
            }
            let Line::Record(record) = entry.outcome else {
                let copy = entry;
                keep_rejected(pipeline, accumulator, &copy, overlapped);
                return;
            };
            let user_agent = match record.user_agent {
                Some(text) => user_agents.get(text, |t| resolve(pipeline, Some(t))),
                None => not_logged,
            };
            hit(pipeline, accumulator, verdicts, record, user_agent);
        });
        accumulator.lines.end_block(count);
        if let (Some(rejected), Some(spool)) = (&mut accumulator.rejected, pipeline.rejects) {
            rejected.end_block(number, overlapped + count, spool);
        }
        pipeline.progress.lines.fetch_add(count, Ordering::Relaxed);
    }
}

#[cold]
fn keep_rejected(pipeline: &Pipeline<'_>, accumulator: &mut Accumulator, entry: &Entry<'_>, before: u64) {
    if let (Line::Reject(reject), Some(rejected), Some(spool)) =
        (&entry.outcome, &mut accumulator.rejected, pipeline.rejects)
    {
        rejected.line(before + entry.number, reject.reason, entry.line, spool);
    }
}

/// Counts one record in every tally that wants it.
#[inline(always)]
fn hit(
    pipeline: &Pipeline<'_>,
    accumulator: &mut Accumulator,
    verdicts: &mut HashMap<(u32, Vec<u8>), Verification>,
    record: &Record<'_>,
    user_agent: &UserAgent,
) {
    let in_window = pipeline.view.is_none_or(|v| {
        let host = || site(pipeline, record).unwrap_or(&accumulator.default_host);
        v.keeps(record.epoch)
            && (v.filters.is_empty() || (user_agent.kept && v.filters.keep_record(record, host())))
    });
    if !in_window {
        accumulator.lines.filtered += 1;
    }
    let counts_as_bot = if pipeline.view.is_some_and(|v| v.patterns.is_some()) {
        !user_agent.grouped.is_empty()
    } else {
        user_agent.is_bot
    };
    let is_counted_bot = in_window && counts_as_bot;
    if is_counted_bot {
        accumulator.lines.bot_records += 1;
        if let Some(first) = user_agent.matches.first() {
            accumulator.lines.first_match[*first as usize] += 1;
            for pattern in &user_agent.matches {
                accumulator.lines.every_match[*pattern as usize] += 1;
            }
        }
    }
    if record.flags.contains(Flags::FUTURE) || record.flags.contains(Flags::ANCIENT) {
        return;
    }
    let verification = verdict(pipeline, verdicts, record, user_agent);
    if user_agent.checked.is_some() || user_agent.to_look_up {
        claim(pipeline, &mut accumulator.lines.claims, record, user_agent, verification);
    }
    let all = hit_of(pipeline, record, verification);
    accumulator.all.add_here(&all, &asker_of(user_agent, verification));
    if pipeline.view.is_some() && in_window {
        in_view(pipeline, accumulator, record, user_agent, verification, is_counted_bot);
    }
}

#[inline(always)]
fn hit_of<'r>(pipeline: &Pipeline<'_>, record: &Record<'r>, verification: Verification) -> Hit<'r> {
    let target = request::target(record.request);
    Hit {
        host: site(pipeline, record),
        epoch: record.epoch,
        status: record.status,
        bytes: record.bytes.unwrap_or(0),
        latency_us: record.latency_us(),
        cached: record.is_cached(),
        is_static: target.is_some_and(url::is_static),
        target,
        user_agent: record.user_agent,
        network: if verification == Verification::Failed { network(pipeline, record) } else { None },
    }
}

#[inline(always)]
fn asker_of(user_agent: &UserAgent, verification: Verification) -> Asker {
    Asker {
        who: user_agent.who,
        is_bot: user_agent.is_bot,
        variant: user_agent.variant,
        verification,
        user_agent_hash: user_agent.hash,
    }
}

/// Counts a record of the window in the tallies of the view. It makes the hit anew: one that two functions are given
/// would have to lie in memory on every line, for runs without a view too.
#[inline(never)]
fn in_view(
    pipeline: &Pipeline<'_>,
    accumulator: &mut Accumulator,
    record: &Record<'_>,
    user_agent: &UserAgent,
    verification: Verification,
    is_counted_bot: bool,
) {
    let hit = hit_of(pipeline, record, verification);
    let mut asker = asker_of(user_agent, verification);
    if let Some(window) = &mut accumulator.window {
        window.add(&hit, &asker);
    }
    if is_counted_bot && let Some(matched) = &mut accumulator.matched {
        matched.add(record.status, hit.target);
    }
    if let Some(grouped) = &mut accumulator.grouped {
        asker.is_bot = true;
        for who in &user_agent.grouped {
            asker.who = *who;
            grouped.add(&hit, &asker);
        }
    }
}

/// Counts a claim that could be checked, or that a reverse name could prove.
#[inline(never)]
fn claim(
    pipeline: &Pipeline<'_>,
    claims: &mut ClaimTally,
    record: &Record<'_>,
    user_agent: &UserAgent,
    verification: Verification,
) {
    if verification == Verification::Verified {
        claims.checked(None, verification);
        return;
    }
    let client = client_address(pipeline, record);
    claims.checked(client, verification);
    if let (true, Some(client)) = (user_agent.to_look_up, client) {
        claims.unverified(client, user_agent.who, 1);
    }
}

/// The site that a record names.
#[inline]
fn site<'r>(pipeline: &Pipeline<'_>, record: &Record<'r>) -> Option<&'r [u8]> {
    pipeline.host_from_path.and_then(|path| path.of(record)).or(record.host)
}

fn client_address(pipeline: &Pipeline<'_>, record: &Record<'_>) -> Option<IpAddr> {
    client::address(client::chosen(record, pipeline.client))
}

fn network(pipeline: &Pipeline<'_>, record: &Record<'_>) -> Option<ipnet::IpNet> {
    client_address(pipeline, record).map(network_of)
}

/// The verdict on a claim; looked up only for bots that can be checked with what was given.
#[inline]
fn verdict(
    pipeline: &Pipeline<'_>,
    verdicts: &mut HashMap<(u32, Vec<u8>), Verification>,
    record: &Record<'_>,
    user_agent: &UserAgent,
) -> Verification {
    let Some(who) = &user_agent.checked else {
        return Verification::NotCheckable;
    };
    let key = (user_agent.who, client::chosen(record, pipeline.client).to_vec());
    if let Some(known) = verdicts.get(&key) {
        return *known;
    }
    let verdict = pipeline.verifier.verdict(who, client::address(&key.1));
    if verdicts.len() >= MAX_VERDICTS {
        verdicts.clear();
    }
    verdicts.insert(key, verdict);
    verdict
}

/// Everything that depends on the User-Agent alone.
fn resolve(pipeline: &Pipeline<'_>, raw: Option<&[u8]>) -> UserAgent {
    let text = raw.map(unescape);
    let text = text.as_deref();
    let who = pipeline.matcher.classify(text);
    let (number, bot) = match &who {
        Who::People => (names::PEOPLE, None),
        Who::OtherClient => (names::OTHER_CLIENT, None),
        Who::NoUserAgent => (names::NO_USER_AGENT, None),
        Who::UserAgentNotLogged => (names::USER_AGENT_NOT_LOGGED, None),
        Who::Known(id) => (names::KNOWN + id.0, Some(*id)),
        Who::Declared(name) => (pipeline.names.number(name), None),
    };
    let variant = match bot.zip(text).and_then(|(bot, t)| pipeline.matcher.variant(bot, t)) {
        Some("smartphone") => 1,
        Some("desktop") => 2,
        _ => 0,
    };
    let is_bot = who.is_bot();
    let bot = who.series_name(pipeline.matcher.catalogue());
    let kept = pipeline.view.is_none_or(|view| view.filters.keep_asker(text, bot));
    let (mut grouped, mut matched) = (Vec::new(), Vec::new());
    if let Some(view) = pipeline.view
        && view.regroups()
    {
        let empty = text.unwrap_or_default();
        let matches: Vec<usize> = match &view.patterns {
            // A line without the field matches no pattern.
            Some(patterns) if text.is_some() => patterns.matches(empty),
            _ => Vec::new(),
        };
        matched.extend(matches.iter().filter_map(|m| u32::try_from(*m).ok()));
        let counts = if view.patterns.is_some() { !matches.is_empty() } else { is_bot };
        if counts {
            match view.group_by {
                GroupBy::Pattern => {
                    let texts = view.patterns.as_ref();
                    grouped.extend(
                        matches.iter().filter_map(|m| texts.map(|p| pipeline.names.number(&p.texts()[*m]))),
                    );
                }
                GroupBy::UserAgent => {
                    grouped.push(pipeline.names.number(&printable(empty)));
                }
                _ if is_bot => grouped.push(number),
                _ => {
                    let token = view.patterns.as_ref().and_then(|p| p.product_token_around(empty));
                    grouped.push(pipeline.names.number(token.as_deref().unwrap_or("(no-token)")));
                }
            }
        }
    }
    // A pattern that stands twice in its file is one pattern.
    grouped.sort_unstable();
    grouped.dedup();
    UserAgent {
        who: number,
        is_bot,
        variant,
        hash: text.map(stable_hash),
        to_look_up: pipeline.verifier.is_to_look_up(&who),
        checked: pipeline.verifier.can_check(&who).then_some(who),
        kept,
        grouped: grouped.into(),
        matches: matched.into(),
    }
}
