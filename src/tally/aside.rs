//! Hits of self-declared names that come late, put aside until it is known which names are kept.
//!
//! A log in which every line declares another bot would need a series for each, and most of them end up in one group of
//! names that are seldom. So only the first [`ROOM`] names of a tally are counted at once. A hit of any other is kept as
//! it is, and written to the temporary file of [`crate::tally::spill`] when there are many. Once all lines are read, the
//! requests of every name are known, and these hits are counted under the name if it is kept, else under
//! `(other-declared)`. Nothing is approximated, and which names came first changes no number.
//!
//! Example: of 1,000,000 names with one request each, the last 995,904 are hits in the file and one series at the end.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::bot::names;
use crate::error::Error;
use crate::tally::finish::{MAX_DECLARED, MIN_DECLARED_REQUESTS};
use crate::tally::fold::Tally;
use crate::tally::hit::{Asker, Hit};
use crate::tally::spill::{Run, Spill, Spilling};
use crate::tally::table::Verification;

/// Series of self-declared names that a tally counts at once.
pub(crate) const ROOM: usize = MAX_DECLARED;

/// Hits that wait.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    /// Series of self-declared names that may still be made; `None`: any number.
    room: Option<usize>,
    held: Vec<u8>,
    runs: Vec<Run>,
    /// Self-declared names with enough requests to be kept, once all are counted.
    pub(crate) frequent: Option<usize>,
}

impl Aside {
    /// What a tally begins with that makes so many series of self-declared names.
    pub(crate) fn with_room(room: usize) -> Self {
        Self { room: Some(room), ..Self::default() }
    }

    /// Whether a new series of this asker may be made. A checked claim is never put aside.
    pub(crate) fn has_room_for(&mut self, asker: &Asker) -> bool {
        let Some(room) = &mut self.room else { return true };
        if asker.who < names::MET || asker.verification != Verification::NotCheckable {
            return true;
        }
        match room.checked_sub(1) {
            Some(left) => {
                *room = left;
                true
            }
            None => false,
        }
    }

    /// Keeps a hit.
    #[cold]
    pub(crate) fn put(&mut self, hit: &Hit<'_>, asker: &Asker) {
        encode(hit, asker, &mut self.held);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.held.extend_from_slice(&other.held);
        self.runs.extend(other.runs);
    }

    fn is_empty(&self) -> bool {
        self.held.is_empty() && self.runs.is_empty()
    }

    /// Writes what is held when that is more than a table's share of the memory.
    pub(crate) fn spill_if_full(&mut self, spilling: &Spilling<'_>) -> Result<(), Error> {
        if self.held.len() <= spilling.to.share() {
            return Ok(());
        }
        let length = self.held.len() as u64;
        self.runs.push(spilling.to.put(&[length], |out| out.write_all(&self.held))?);
        self.held = Vec::new();
        Ok(())
    }

    /// Every hit, run after run.
    fn for_each(
        &self,
        spill: Option<&Spill>,
        mut each: impl FnMut(&Hit<'_>, &Asker) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut all = |mut bytes: &[u8]| {
            while let Some((hit, asker)) = decode(&mut bytes) {
                each(&hit, &asker)?;
            }
            Ok(())
        };
        let mut buffer = Vec::new();
        for run in &self.runs {
            buffer.clear();
            if let Some(spill) = spill {
                spill.get(run, &(0..1), &mut buffer)?;
            }
            all(&buffer)?;
        }
        all(&self.held)
    }
}

impl Tally {
    /// Counts what was put aside. `name` gives a number's name, for names with equally many requests.
    ///
    /// # Errors
    /// What was written cannot be read, or what is made of it not be written (exit 5).
    pub fn count_aside(
        &mut self,
        name: &dyn Fn(u32) -> String,
        spilling: Option<&Spilling<'_>>,
    ) -> Result<(), Error> {
        let aside = std::mem::take(&mut self.aside);
        self.aside.frequent = aside.frequent;
        if aside.is_empty() {
            return Ok(());
        }
        let spill = spilling.map(|spilling| spilling.to);
        let mut requests: HashMap<u32, u64, RandomState> = HashMap::default();
        for row in &self.rows {
            let who = self.series[row.series as usize].who;
            if who >= names::MET {
                *requests.entry(who).or_default() += row.classes.iter().sum::<u64>();
            }
        }
        aside.for_each(spill, |_, asker| {
            *requests.entry(asker.who).or_default() += 1;
            Ok(())
        })?;
        requests.retain(|_, n| *n >= MIN_DECLARED_REQUESTS);
        self.aside.frequent = Some(requests.len());
        let kept = largest(requests, name);
        let mut hits = 0u64;
        aside.for_each(spill, |hit, asker| {
            let who = if kept.contains(&asker.who) { asker.who } else { names::OTHER_DECLARED };
            self.add(hit, &Asker { who, ..*asker });
            hits += 1;
            match spilling {
                Some(spilling) if hits.is_multiple_of(4096) => self.spill_if_full(spilling),
                _ => Ok(()),
            }
        })
    }
}

/// The names that are kept: most requests first, ties by name, as for all other names.
fn largest(requests: HashMap<u32, u64, RandomState>, name: &dyn Fn(u32) -> String) -> HashSet<u32> {
    let mut order: Vec<(u64, u32)> = requests.into_iter().map(|(who, n)| (n, who)).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    if let Some((least, _)) = order.get(MAX_DECLARED).copied() {
        // Only those at the edge are told apart by their names.
        let from = order.partition_point(|(n, _)| *n > least);
        let to = order.partition_point(|(n, _)| *n >= least);
        order[from..to].sort_by_cached_key(|(_, who)| name(*who));
    }
    order.truncate(MAX_DECLARED);
    order.into_iter().map(|(_, who)| who).collect()
}

const NO_STATUS: u16 = u16::MAX;
const NO_LATENCY: u64 = u64::MAX;

/// A hit as bytes: numbers little-endian, then the texts, each behind its length.
fn encode(hit: &Hit<'_>, asker: &Asker, out: &mut Vec<u8>) {
    out.extend(asker.who.to_le_bytes());
    out.extend(hit.epoch.to_le_bytes());
    out.extend(hit.status.unwrap_or(NO_STATUS).to_le_bytes());
    out.extend(hit.bytes.to_le_bytes());
    // A latency of 585,000 years is one microsecond shorter.
    out.extend(hit.latency_us.map_or(NO_LATENCY, |us| us.min(NO_LATENCY - 1)).to_le_bytes());
    out.extend([
        u8::from(hit.cached),
        u8::from(hit.is_static),
        u8::from(asker.is_bot),
        asker.variant,
        u8::from(asker.user_agent_hash.is_some()),
    ]);
    out.extend(asker.user_agent_hash.unwrap_or(0).to_le_bytes());
    for text in [hit.host, hit.target, hit.user_agent] {
        // No line is as long as 4 GiB.
        let length = text.map_or(u32::MAX, |text| u32::try_from(text.len()).unwrap_or(u32::MAX - 1));
        out.extend(length.to_le_bytes());
        out.extend_from_slice(text.unwrap_or_default());
    }
}

/// The next hit, which is taken off `bytes`; `None` at their end.
fn decode<'a>(bytes: &mut &'a [u8]) -> Option<(Hit<'a>, Asker)> {
    let who = u32::from_le_bytes(taken(bytes)?);
    let epoch = i64::from_le_bytes(taken(bytes)?);
    let status = u16::from_le_bytes(taken(bytes)?);
    let sent = u64::from_le_bytes(taken(bytes)?);
    let latency = u64::from_le_bytes(taken(bytes)?);
    let [cached, is_static, is_bot, variant, has_hash] = taken(bytes)?;
    let hash = u64::from_le_bytes(taken(bytes)?);
    let mut text = || -> Option<Option<&'a [u8]>> {
        let length = u32::from_le_bytes(taken(bytes)?);
        if length == u32::MAX {
            return Some(None);
        }
        let (text, rest) = bytes.split_at_checked(length as usize)?;
        *bytes = rest;
        Some(Some(text))
    };
    let (host, target, user_agent) = (text()?, text()?, text()?);
    let hit = Hit {
        host,
        epoch,
        status: (status != NO_STATUS).then_some(status),
        bytes: sent,
        latency_us: (latency != NO_LATENCY).then_some(latency),
        cached: cached > 0,
        is_static: is_static > 0,
        target,
        user_agent,
        network: None,
    };
    let asker = Asker {
        who,
        is_bot: is_bot > 0,
        variant,
        verification: Verification::NotCheckable,
        user_agent_hash: (has_hash > 0).then_some(hash),
    };
    Some((hit, asker))
}

fn taken<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::finish::{Finish, Finished, Named, finish};
    use crate::tally::matched::MatchedTally;

    fn name(who: u32) -> Named {
        let (bot, category) = match who {
            0 => ("(people)".to_owned(), ""),
            names::OTHER_DECLARED => ("(other-declared)".to_owned(), "declared"),
            names::MET.. => (format!("bot-{:05}", (who - names::MET) * 7919 % 10_000), "declared"),
            _ => ("TestBot".to_owned(), "other"),
        };
        Named { bot: bot.clone(), family: bot, category: category.to_owned(), ..Named::default() }
    }

    fn finished(tally: Tally, spilling: Option<&Spilling<'_>>) -> Finished {
        let text = |t: &[u8]| String::from_utf8_lossy(t).into_owned();
        let with = Finish { name: &name, url_key: &|t, _| text(t), url_sample: &text, caps: true, spilling };
        finish(tally, &with).unwrap()
    }

    #[test]
    fn a_hit_comes_back_as_it_was() {
        let mut bytes = Vec::new();
        let hits = [(None, None, None, None), (Some(200), Some(0), Some(&b""[..]), Some(u64::MAX - 1))];
        let of = |i: usize| {
            let (status, hash, text, latency_us) = hits[i];
            let hit = Hit {
                host: text,
                epoch: -5 + i64::try_from(i).unwrap(),
                status,
                bytes: u64::MAX,
                latency_us,
                cached: i > 0,
                is_static: i == 0,
                target: text.map(|_| &b"/a?b"[..]),
                user_agent: text.map(|_| &b"x\xff\"\n"[..]),
                network: None,
            };
            let asker = Asker {
                who: u32::MAX,
                is_bot: i > 0,
                variant: 2,
                verification: Verification::NotCheckable,
                user_agent_hash: hash,
            };
            (hit, asker)
        };
        for i in 0..2 {
            let (hit, asker) = of(i);
            encode(&hit, &asker, &mut bytes);
        }
        let mut rest = &bytes[..];
        for i in 0..2 {
            assert_eq!(format!("{:?}", decode(&mut rest).unwrap()), format!("{:?}", of(i)));
        }
        assert!(decode(&mut rest).is_none());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]

        /// Whatever room there is, however many threads, whatever is written when: the rows of a tally without bounds.
        #[test]
        fn what_was_put_aside_gives_the_rows_of_what_was_not(
            seed in 0u64..1 << 40,
            room in 0usize..60,
            parts in 1usize..4,
            written in proptest::bool::ANY,
            many in proptest::bool::ANY,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let spill = Spill::new(folder.path().to_owned(), 0, 1);
            let anywhere = |target: &[u8]| String::from_utf8_lossy(target).into_owned();
            let spilling = Spilling { to: &spill, key: &anywhere };
            let mut whole = Tally::new(b"(default)");
            let mut tallies: Vec<Tally> =
                (0..parts).map(|_| Tally::new(b"(default)").with_room_for_names(room)).collect();
            let mut state = seed | 1;
            let mut draw = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            // More names with ten requests than are kept, or fewer.
            let (names, hits) = if many { (4_400, 110_000) } else { (400, 6_000) };
            for _ in 0..hits {
                let number = u32::try_from(draw(names)).unwrap();
                let who = match draw(10) {
                    0 => 0,
                    1 => 20,
                    _ => names::MET + number,
                };
                let target = format!("/{}?a{}=1", draw(50), draw(3));
                let user_agent = format!("bot {}", number % 9);
                let hit = Hit {
                    host: [None, Some(&b"a.example"[..]), Some(b"b.example")][usize::try_from(draw(3)).unwrap()],
                    epoch: 1_773_100_000 + i64::try_from(draw(90_000)).unwrap(),
                    status: [Some(200), Some(404), None][usize::try_from(draw(3)).unwrap()],
                    bytes: draw(1000),
                    latency_us: (draw(2) == 0).then_some(number.into()),
                    cached: draw(5) == 0,
                    is_static: draw(5) == 0,
                    target: (draw(9) > 0).then_some(target.as_bytes()),
                    user_agent: Some(user_agent.as_bytes()),
                    network: None,
                };
                let asker = Asker {
                    who,
                    is_bot: who > 0,
                    variant: 0,
                    verification: Verification::NotCheckable,
                    user_agent_hash: Some(crate::tally::distinct::stable_hash(user_agent.as_bytes())),
                };
                whole.add(&hit, &asker);
                let tally = &mut tallies[usize::try_from(draw(parts as u64)).unwrap()];
                tally.add(&hit, &asker);
                if written && draw(50) == 0 {
                    tally.spill_if_full(&spilling).unwrap();
                }
            }
            let mut merged = tallies.pop().unwrap();
            tallies.into_iter().for_each(|part| merged.merge(part));
            let spilling = written.then_some(&spilling);
            proptest::prop_assert!(!merged.aside.is_empty());
            proptest::prop_assert!(merged.series.len() <= whole.series.len() - 20);
            let text = |who| name(who).bot;
            merged.count_aside(&text, spilling).unwrap();
            let top = |tally: &Tally| MatchedTally::of_bots(tally).top_waste(40, spilling).unwrap();
            proptest::prop_assert_eq!(top(&merged), top(&whole));
            let want = finished(whole, None);
            proptest::prop_assert!(want.days.iter().any(|d| d.series.iter().any(|s| s.bot == "(other-declared)")));
            proptest::prop_assert_eq!(want.overflow.len(), usize::from(many));
            let got = finished(merged, spilling);
            proptest::prop_assert!(got == want);
        }
    }
}
