//! Which known source a log is: new, the same, grown, or the beginning of one. So that nothing is counted twice,
//! whatever was renamed, copied, compressed, rotated or read before.
//!
//! | the log | what happens |
//! | --- | --- |
//! | has the content of a known source | skipped; written again when that was read live or damaged, and now is not |
//! | begins with a known source | replaces its parts, and has its name when their first 4 KiB are the same |
//! | is the beginning of a known source | skipped |
//! | has the content of another log of this run | read once |
//! | is the beginning of another log of this run | the longer one is read |
//! | anything else | new |
//!
//! Exact: same content; and that a log begins with a known source, when its lengths were given to the digester as
//! [`checkpoints`] (sources below 4 KiB need none). Not exact: that a log is the beginning of a longer one of which only
//! granules are known; [`Proof::UpTo`] says how many bytes were compared. The decision depends on contents alone, not on
//! the order of the logs.
//!
//! Example: `access.log` of Monday is `5d1f0a3c9be27744`; on Tuesday `access.log.1` begins with it, has the same name and
//! replaces its parts.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::source_row::{Identity, SourceRow};
use crate::source::identity::{Digests, HEAD_BYTES, Head};

/// A log that was read, as far as its identity goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Of the bytes that count: without a deferred last line.
    pub digests: Digests,
    /// It was still being written.
    pub live: bool,
    /// It was cut or corrupt.
    pub damaged: bool,
}

/// How far it was verified that one log is the beginning of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// All bytes.
    Exact,
    /// So many first bytes; the rest, less than a granule, is taken on trust.
    UpTo(u64),
}

/// What to do with a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Write its parts.
    Write {
        /// The name of the source, and of its parts.
        source: String,
        /// Other sources that it holds: for its row. Ascending.
        replaces: Vec<String>,
        /// Why.
        why: Write,
    },
    /// Count nothing of it.
    Skip(Skip),
}

/// Why parts are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Never seen.
    New,
    /// It begins with this known source.
    Grown {
        /// The longest of those.
        from: String,
        /// How far that was verified.
        proof: Proof,
    },
    /// The same bytes, then read from a log that was being written or from a damaged stream, now whole.
    Settled,
}

/// Why nothing is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// Not one byte.
    Empty,
    /// This known source has the same content.
    Same(String),
    /// This known source begins with it.
    PrefixOf(String, Proof),
    /// The log of this index in the run has the same content, and is read.
    DuplicateOf(usize),
    /// The log of this index in the run begins with it, and is read. With [`Proof::UpTo`], digest that log again with
    /// the length of this one as a checkpoint and decide again: then it is exact.
    PrefixOfInput(usize, Proof),
}

/// What is compared of a known source.
#[derive(Debug, Clone)]
struct Known {
    identity: Identity,
    live: bool,
    damaged: bool,
    replaces: Vec<String>,
    /// Written by this run: only its name counts, its content was compared before with all that is known of it.
    by_this_run: bool,
}

/// The lengths at which the digest of a log with this head has to be known, to see whether it begins with a known source.
/// Also give the lengths of other logs of the same run, where they are known before.
#[must_use]
pub fn checkpoints(known: &BTreeMap<String, SourceRow>, head: Head) -> Vec<u64> {
    let lengths: BTreeSet<u64> = known
        .values()
        .map(|row| &row.entry.identity)
        .filter(|identity| identity.head == head && identity.length() > HEAD_BYTES as u64)
        .map(Identity::length)
        .collect();
    lengths.into_iter().collect()
}

/// Decides for all logs of a run at once; the result has their order.
#[must_use]
pub fn decide(known: &BTreeMap<String, SourceRow>, streams: &[Stream]) -> Vec<Decision> {
    let mut known: BTreeMap<String, Known> = known
        .iter()
        .map(|(name, row)| {
            let entry = &row.entry;
            let known = Known {
                identity: entry.identity.clone(),
                live: entry.live,
                damaged: entry.damaged,
                replaces: entry.replaces.clone(),
                by_this_run: false,
            };
            (name.clone(), known)
        })
        .collect();

    // The longest first, so that a beginning meets what it is the beginning of; of equal contents the settled one.
    let identities: Vec<Identity> = streams.iter().map(|s| Identity::from(&s.digests)).collect();
    let mut order: Vec<usize> = (0..streams.len()).collect();
    order.sort_by(|a, b| {
        let key = |i: usize| (identities[i].content, streams[i].live, streams[i].damaged, i);
        identities[*b].length().cmp(&identities[*a].length()).then_with(|| key(*a).cmp(&key(*b)))
    });

    let mut decisions = vec![Decision::Skip(Skip::Empty); streams.len()];
    let mut read: Vec<usize> = Vec::new();
    for index in order {
        let identity = &identities[index];
        let decision = if identity.length() == 0 {
            Decision::Skip(Skip::Empty)
        } else if let Some(skip) = within_the_run(&identities, streams, &read, index) {
            Decision::Skip(skip)
        } else {
            read.push(index);
            let decision = against_known(&known, &streams[index], identity);
            if let Decision::Write { source, replaces, .. } = &decision {
                for name in replaces {
                    known.remove(name);
                }
                let Stream { live, damaged, .. } = streams[index];
                let now = Known {
                    identity: identity.clone(),
                    live,
                    damaged,
                    replaces: replaces.clone(),
                    by_this_run: true,
                };
                known.insert(source.clone(), now);
            }
            decision
        };
        decisions[index] = decision;
    }
    decisions
}

fn within_the_run(identities: &[Identity], streams: &[Stream], read: &[usize], index: usize) -> Option<Skip> {
    let identity = &identities[index];
    let same = read.iter().find(|other| {
        let other = &identities[**other];
        other.content == identity.content && other.length() == identity.length()
    });
    if let Some(other) = same {
        return Some(Skip::DuplicateOf(*other));
    }
    read.iter().find_map(|other| {
        let proof = begins_with(&streams[*other].digests, &identities[*other], identity)?;
        Some(Skip::PrefixOfInput(*other, proof))
    })
}

/// Whether they can begin alike at all.
fn are_candidates(a: &Identity, b: &Identity) -> bool {
    a.head == b.head || a.length().min(b.length()) < HEAD_BYTES as u64
}

/// Whether a stream begins with something shorter.
fn begins_with(digests: &Digests, identity: &Identity, shorter: &Identity) -> Option<Proof> {
    if shorter.length() == 0 || shorter.length() >= identity.length() || !are_candidates(identity, shorter) {
        return None;
    }
    match digests.prefix(shorter.length()) {
        Some(prefix) => (prefix == shorter.content).then_some(Proof::Exact),
        None => identity.granules.begins_with(&shorter.granules).map(Proof::UpTo),
    }
}

fn against_known(all: &BTreeMap<String, Known>, stream: &Stream, identity: &Identity) -> Decision {
    let known = || all.iter().filter(|(_, k)| !k.by_this_run);
    let same = known()
        .find(|(_, k)| k.identity.content == identity.content && k.identity.length() == identity.length());
    if let Some((name, k)) = same {
        let settled = (k.live || k.damaged) && !stream.live && !stream.damaged;
        return if settled {
            Decision::Write { source: name.clone(), replaces: k.replaces.clone(), why: Write::Settled }
        } else {
            Decision::Skip(Skip::Same(name.clone()))
        };
    }

    // The name of a short source is the hash of all of it: this one was replaced, and is in what replaced it.
    let head = identity.head.to_string();
    if identity.length() < HEAD_BYTES as u64
        && let Some((name, _)) = all.iter().find(|(_, k)| k.replaces.contains(&head))
    {
        return Decision::Skip(Skip::PrefixOf(name.clone(), Proof::Exact));
    }

    let longer = known()
        .filter(|(_, k)| k.identity.length() > identity.length() && are_candidates(&k.identity, identity))
        .filter_map(|(name, k)| {
            // A log that ends with a granule was compared to its last byte, though by 64-bit hashes.
            let compared = k.identity.granules.begins_with(&identity.granules)?;
            let proof = if compared == identity.length() { Proof::Exact } else { Proof::UpTo(compared) };
            Some((k.identity.length(), name, proof))
        })
        .max_by_key(|(length, name, _)| (*length, *name));
    if let Some((_, name, proof)) = longer {
        return Decision::Skip(Skip::PrefixOf(name.clone(), proof));
    }

    let mut shorter: Vec<(u64, &String, Proof)> = known()
        .filter_map(|(name, k)| {
            let proof = begins_with(&stream.digests, identity, &k.identity)?;
            Some((k.identity.length(), name, proof))
        })
        .collect();
    shorter.sort_by_key(|(length, name, _)| (*length, *name));
    let Some((_, from, proof)) = shorter.last().copied() else {
        return Decision::Write { source: name_for(all, identity), replaces: Vec::new(), why: Write::New };
    };
    // The longest with the same head gives the name; a shorter head is another name.
    let source = shorter
        .iter()
        .rev()
        .find(|(_, name, _)| all[*name].identity.head == identity.head)
        .map_or_else(|| name_for(all, identity), |(_, name, _)| (*name).clone());
    let mut replaces: BTreeSet<String> = BTreeSet::new();
    for (_, name, _) in &shorter {
        replaces.insert((*name).clone());
        replaces.extend(all[*name].replaces.iter().cloned());
    }
    replaces.remove(&source);
    let replaces = replaces.into_iter().collect();
    Decision::Write { source, replaces, why: Write::Grown { from: from.clone(), proof } }
}

/// The name of a new source: its head; when another source has that, also the first 64 KiB block in which they differ.
/// A name that some row says is replaced is never given again: readers ignore it.
fn name_for(known: &BTreeMap<String, Known>, identity: &Identity) -> String {
    let head = identity.head.to_string();
    let mut name = head.clone();
    let mut tried = BTreeSet::new();
    let replaced = |name: &String| known.values().any(|k| k.replaces.contains(name));
    loop {
        if tried.contains(&name) || replaced(&name) {
            return format!("{head}-{}", identity.content);
        }
        let Some(owner) = known.get(&name) else { return name };
        tried.insert(name);
        name = match identity.granules.first_difference(&owner.identity.granules) {
            Some(block) => format!("{head}-{block:016x}"),
            // The shorter is the beginning of the other as far as its granules tell, and exactly it is not.
            None => format!("{head}-{}", identity.content),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::source_row::SourceRow;
    use crate::history::tests::{entry, tables};
    use crate::source::identity::Digester;
    use proptest::prelude::*;

    fn log(host: u32, lines: usize) -> Vec<u8> {
        (0..lines)
            .flat_map(|i| {
                format!("192.0.2.{host} - - [10/Mar/2026:06:25:14 +0000] \"GET /{i} HTTP/1.1\" 200 512\n")
                    .into_bytes()
            })
            .collect()
    }

    fn stream_of(content: &[u8], checkpoints: Vec<u64>) -> Stream {
        let mut digester = Digester::new(checkpoints);
        digester.update(content);
        Stream { digests: digester.finish(), live: false, damaged: false }
    }

    /// What a history of these contents would become: names with their contents.
    #[derive(Default)]
    struct Memory(BTreeMap<String, SourceRow>, BTreeMap<String, Vec<u8>>);

    impl Memory {
        fn run(&mut self, logs: &[&[u8]]) -> Vec<Decision> {
            // As of plain files, whose lengths are known before they are read.
            let lengths = logs.iter().map(|l| l.len() as u64);
            let streams: Vec<Stream> = logs
                .iter()
                .map(|l| {
                    stream_of(
                        l,
                        checkpoints(&self.0, Head::of(l)).into_iter().chain(lengths.clone()).collect(),
                    )
                })
                .collect();
            let decisions = decide(&self.0, &streams);
            for (log, decision) in logs.iter().zip(&decisions) {
                if let Decision::Write { source, replaces, .. } = decision {
                    for name in replaces {
                        self.0.remove(name);
                        self.1.remove(name);
                    }
                    let mut entry = entry(source, log);
                    entry.replaces.clone_from(replaces);
                    self.0.insert(source.clone(), SourceRow::new(entry, &tables(Vec::new(), 0), Vec::new()));
                    self.1.insert(source.clone(), log.to_vec());
                }
            }
            decisions
        }

        fn contents(&self) -> BTreeSet<Vec<u8>> {
            self.1.values().cloned().collect()
        }
    }

    fn is_new(decision: &Decision) -> bool {
        matches!(decision, Decision::Write { why: Write::New, .. })
    }

    #[test]
    fn a_log_is_new_then_the_same_then_grown_and_its_beginning_is_skipped() {
        let full = log(1, 30_000);
        let mut memory = Memory::default();
        let name = Head::of(&full).to_string();
        assert!(is_new(&memory.run(&[&full[..1_000_000]])[0]));
        assert_eq!(memory.run(&[&full[..1_000_000]]), [Decision::Skip(Skip::Same(name.clone()))]);
        assert_eq!(
            memory.run(&[&full]),
            [Decision::Write {
                source: name.clone(),
                replaces: Vec::new(),
                why: Write::Grown { from: name.clone(), proof: Proof::Exact }
            }]
        );
        assert_eq!(
            memory.run(&[&full[..1_000_000]]),
            [Decision::Skip(Skip::PrefixOf(name.clone(), Proof::UpTo(999_424)))]
        );
        assert_eq!(
            memory.run(&[&full[..8192]]),
            [Decision::Skip(Skip::PrefixOf(name.clone(), Proof::Exact))]
        );
        assert_eq!(memory.run(&[b""]), [Decision::Skip(Skip::Empty)]);
        assert_eq!(memory.1, BTreeMap::from([(name, full)]));
    }

    #[test]
    fn a_log_that_differs_after_its_head_has_a_name_of_its_own_and_nobody_is_replaced() {
        let mut memory = Memory::default();
        let one = log(1, 5000);
        let mut two = one.clone();
        two[200_000] ^= 1;
        let mut three = two.clone();
        three[300_000] ^= 1;
        // Longer than the first, which it does not begin with in its last cut granule only.
        let mut four = one.clone();
        let last = four.len() - 3;
        four[last] ^= 1;
        four.extend_from_slice(b"and more\n");
        for log in [&one, &two, &three, &four] {
            assert!(is_new(&memory.run(&[log])[0]));
        }
        assert_eq!(memory.0.len(), 4);
        assert!(memory.0.keys().all(|name| name.starts_with(&Head::of(&one).to_string())));
    }

    #[test]
    fn a_short_log_that_has_outgrown_4_kib_is_replaced_under_a_new_name() {
        let full = log(1, 500);
        let mut memory = Memory::default();
        memory.run(&[&full[..1500]]);
        let short = Head::of(&full[..1500]).to_string();
        let long = Head::of(&full).to_string();
        let grown = Decision::Write {
            source: long.clone(),
            replaces: vec![short.clone()],
            why: Write::Grown { from: short.clone(), proof: Proof::Exact },
        };
        assert_eq!(memory.run(&[&full[..5000]]), [grown]);
        // The name that was replaced stays in the row when the log goes on growing.
        assert_eq!(
            memory.run(&[&full]),
            [Decision::Write {
                source: long.clone(),
                replaces: vec![short],
                why: Write::Grown { from: long.clone(), proof: Proof::Exact }
            }]
        );
        assert_eq!(
            memory.run(&[&full[..1500]]),
            [Decision::Skip(Skip::PrefixOf(long.clone(), Proof::Exact))]
        );
        assert_eq!(memory.run(&[&full[..1400]]), [Decision::Skip(Skip::PrefixOf(long, Proof::UpTo(1024)))]);
        assert_eq!(memory.contents(), BTreeSet::from([full]));
    }

    #[test]
    fn the_same_content_twice_in_a_run_is_read_once_and_a_beginning_gives_way_to_the_longer() {
        let full = log(1, 5000);
        let other = log(2, 10);
        let logs: [&[u8]; 4] = [&full[..100_000], &full, &other, &full];
        let decisions = Memory::default().run(&logs);
        assert_eq!(decisions[0], Decision::Skip(Skip::PrefixOfInput(1, Proof::Exact)));
        assert!(is_new(&decisions[1]) && is_new(&decisions[2]));
        assert_eq!(decisions[3], Decision::Skip(Skip::DuplicateOf(1)));
        // Of compressed logs the length is not known before: compared up to the last whole granule, and said.
        let streams = [stream_of(logs[0], Vec::new()), stream_of(&full, Vec::new())];
        let decisions = decide(&BTreeMap::new(), &streams);
        assert_eq!(decisions[0], Decision::Skip(Skip::PrefixOfInput(1, Proof::UpTo(98_304))));
    }

    #[test]
    fn two_logs_that_begin_with_the_same_known_source_do_not_overwrite_each_other() {
        let mut memory = Memory::default();
        let base = log(1, 1000);
        memory.run(&[&base]);
        let (mut one, mut two) = (base.clone(), base.clone());
        one.extend_from_slice(b"one went on like this\n");
        two.extend_from_slice(b"two like that\n");
        let decisions = memory.run(&[&two, &one]);
        assert!(is_new(&decisions[0]));
        assert!(matches!(&decisions[1], Decision::Write { why: Write::Grown { .. }, .. }));
        assert_eq!(memory.contents(), BTreeSet::from([one, two]));
    }

    #[test]
    fn a_name_that_was_replaced_is_not_given_to_another_log() {
        let mut memory = Memory::default();
        let full = log(1, 2000);
        // Two ages of one log under two names, as after copying histories together.
        for (name, length) in [(Head::of(&full).to_string(), 50_000), ("elsewhere".to_owned(), 60_000)] {
            let row = SourceRow::new(entry(&name, &full[..length]), &tables(Vec::new(), 0), Vec::new());
            memory.0.insert(name.clone(), row);
        }
        memory.run(&[&full]);
        assert_eq!(memory.0.keys().collect::<Vec<_>>(), ["elsewhere"]);
        let mut other = full.clone();
        other[5000] ^= 1;
        let decisions = memory.run(&[&other]);
        let Decision::Write { source, .. } = &decisions[0] else { panic!("{decisions:?}") };
        assert_eq!(
            *source,
            format!("{}-{}", Head::of(&full), stream_of(&other, Vec::new()).digests.content())
        );
    }

    #[test]
    fn a_log_that_was_read_live_is_written_again_when_it_has_settled_without_growing() {
        let content = log(1, 100);
        let mut memory = Memory::default();
        memory.run(&[&content]);
        let name = Head::of(&content).to_string();
        memory.0.get_mut(&name).unwrap().entry.live = true;
        let mut stream = stream_of(&content, Vec::new());
        let settled = Decision::Write { source: name.clone(), replaces: Vec::new(), why: Write::Settled };
        assert_eq!(decide(&memory.0, std::slice::from_ref(&stream)), [settled]);
        stream.live = true;
        assert_eq!(decide(&memory.0, &[stream]), [Decision::Skip(Skip::Same(name))]);
    }

    #[test]
    fn a_checkpoint_that_was_not_asked_for_is_verified_by_granules_and_said() {
        let full = log(1, 5000);
        let mut memory = Memory::default();
        memory.run(&[&full[..100_000]]);
        let decisions = decide(&memory.0, &[stream_of(&full, Vec::new())]);
        assert!(matches!(
            &decisions[0],
            Decision::Write { why: Write::Grown { proof: Proof::UpTo(98_304), .. }, .. }
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_ages_of_two_logs_in_any_runs_and_order_end_as_the_longest_of_each(
            cuts in prop::collection::vec((1..3_u32, 80..60_000_usize, 0..3_usize), 1..12),
        ) {
            let whole = BTreeMap::from([(1, log(1, 1000)), (2, log(2, 1000))]);
            let mut memory = Memory::default();
            let mut runs: BTreeMap<usize, Vec<&[u8]>> = BTreeMap::new();
            let mut longest: BTreeMap<u32, &[u8]> = BTreeMap::new();
            for (host, length, run) in &cuts {
                let content = &whole[host][..*length];
                runs.entry(*run).or_default().push(content);
                let known = longest.entry(*host).or_insert(content);
                if known.len() < content.len() {
                    *known = content;
                }
            }
            for logs in runs.values() {
                let before = memory.0.clone();
                memory.run(logs);
                // Another order within the run: the same sources under the same names.
                let mut reversed = Memory(before, BTreeMap::new());
                let backwards: Vec<&[u8]> = logs.iter().rev().copied().collect();
                reversed.run(&backwards);
                prop_assert!(reversed.0 == memory.0);
            }
            let expected: BTreeSet<Vec<u8>> = longest.values().map(|l| l.to_vec()).collect();
            prop_assert!(memory.contents() == expected);
        }
    }
}
