//! Turns, deadlines, dead letters, and that writing a queue loses and doubles nothing.
//!
//! Example: weights 3 and 1: `a a a b a a a b`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::{any, prop, prop_assert_eq, proptest};

use super::{Failure, Item, Queue, Ticket, Turn, Verdict};

const NOW: Duration = Duration::from_secs(1000);

fn fill(turn: Turn, hosts: &[&str], each: usize) -> Queue {
    let mut queue = Queue::new(turn);
    for host in hosts {
        for i in 0..each {
            assert!(queue.push(NOW, Item::new(&format!("{host}{i}"), host, "me")));
        }
    }
    queue
}

fn hosts(queue: &mut Queue, n: usize, mut may_go: impl FnMut(&str) -> bool) -> String {
    (0..n).filter_map(|_| queue.take(NOW, "me", &mut may_go)).map(|(_, item)| item.host).collect()
}

#[test]
fn hosts_take_turns_by_weight() {
    let weights = BTreeMap::from([("a".to_owned(), 3)]);
    let mut queue = fill(Turn::Weighted(weights), &["a", "b", "c"], 6);
    assert_eq!(hosts(&mut queue, 12, |_| true), "aaabcaaabcbc");
}

#[test]
fn a_host_that_may_not_go_saves_up_no_turns() {
    let weights = BTreeMap::from([("b".to_owned(), 2)]);
    let mut queue = fill(Turn::Weighted(weights), &["a", "b"], 9);
    assert_eq!(hosts(&mut queue, 4, |host| host != "b"), "aaaa");
    assert_eq!(hosts(&mut queue, 6, |_| true), "bbabba");
}

#[test]
fn the_longest_wait_comes_first() {
    let mut queue = fill(Turn::LongestWait, &["a"], 3);
    let later = NOW + Duration::from_secs(1);
    queue.push(later, Item::new("b0", "b", "me"));
    let mut order = String::new();
    while let Some((_, item)) = queue.take(later, "me", |_| true) {
        order.push_str(&item.key);
    }
    assert_eq!(order, "a0b0a1a2");
}

#[test]
fn an_identity_sees_only_its_own_partition() {
    let mut queue = fill(Turn::LongestWait, &["a"], 2);
    queue.push(NOW, Item::new("other", "a", "you"));
    assert_eq!(queue.identities().collect::<Vec<_>>(), ["me", "you"]);
    assert!(queue.take(NOW, "nobody", |_| true).is_none());
    assert_eq!(queue.take(NOW, "you", |_| true).unwrap().1.key, "other");
    assert!(queue.take(NOW, "you", |_| true).is_none());
}

#[test]
fn what_is_past_its_deadline_is_a_dead_letter_and_not_sent() {
    let mut queue = Queue::new(Turn::LongestWait);
    queue.push(NOW, Item { deadline: Some(NOW), ..Item::new("late", "a", "me") });
    queue.push(NOW, Item { deadline: Some(NOW * 2), ..Item::new("in time", "a", "me") });
    assert_eq!(queue.take(NOW, "me", |_| true).unwrap().1.key, "in time");
    assert_eq!(queue.dead_letters()[0].failure, Failure::Deadline);
}

#[test]
fn a_failed_item_comes_back_with_its_attempts_or_leaves_with_its_class() {
    let mut queue = fill(Turn::LongestWait, &["a"], 1);
    let mut now = NOW;
    let wait = Duration::from_secs(9);
    for (failure, verdict, attempts) in [
        (Failure::RateLimited, Verdict::Retry, 0),
        (Failure::Unavailable, Verdict::Retry, 1),
        (Failure::Unavailable, Verdict::Requeue, 1),
        (Failure::TimedOut, Verdict::Defer(wait), 2),
    ] {
        let (ticket, _) = queue.take(now, "me", |_| true).unwrap();
        assert_eq!(queue.failed(now, ticket, failure, verdict, wait / 3), None);
        now = queue.next_ready("me").unwrap();
        let (ticket, item) = queue.take(now, "me", |_| true).unwrap();
        assert_eq!(item.attempts, attempts, "{failure}");
        queue.failed(now, ticket, Failure::RateLimited, Verdict::Requeue, Duration::ZERO);
    }
    assert_eq!(now, NOW + wait * 2, "three short waits and a deferral");
    let (ticket, _) = queue.take(now, "me", |_| true).unwrap();
    let letter = queue.failed(now, ticket, Failure::Denied, Verdict::DeadLetter, wait).unwrap();
    assert_eq!((letter.failure, letter.item.attempts), (Failure::Denied, 3));
    assert!(!queue.push(now, Item::new("a0", "a", "me")), "a dead letter is not tried again by itself");
    assert!(!queue.done(ticket));
}

proptest! {
    /// Written and read at any moment, with workers that die: every item is queued, done or dead, exactly once.
    #[test]
    fn no_item_is_lost_or_doubled(
        items in prop::collection::btree_set((0_usize..2, 0_usize..3, 0_u32..20), 0..40),
        steps in prop::collection::vec((0_u8..6, any::<bool>(), 0_u64..30), 0..150),
        fair in any::<bool>(),
    ) {
        let turn = if fair { Turn::LongestWait } else { Turn::Weighted(BTreeMap::from([("h1".to_owned(), 2)])) };
        let mut queue = Queue::new(turn);
        for (identity, host, i) in &items {
            let item = Item::new(&format!("{identity}/{host}/{i}"), &format!("h{host}"), &format!("i{identity}"));
            queue.push(NOW, item);
        }
        let mut now = NOW;
        let mut taken: Vec<(Ticket, Item)> = Vec::new();
        let mut done = BTreeSet::new();
        for (step, flag, seconds) in steps {
            now += Duration::from_secs(seconds);
            match step {
                0..=2 => taken.extend(queue.take(now, if flag { "i0" } else { "i1" }, |host| host != "h2" || seconds % 2 == 0)),
                3 => if let Some((ticket, item)) = taken.pop() {
                    assert!(queue.done(ticket));
                    assert!(done.insert(item.key));
                },
                4 => if let Some((ticket, _)) = taken.pop() {
                    let verdict = if flag { Verdict::Retry } else { Verdict::DeadLetter };
                    queue.failed(now, ticket, Failure::Unavailable, verdict, Duration::from_secs(seconds));
                },
                _ => {
                    queue = serde_json::from_str(&serde_json::to_string(&queue).unwrap()).unwrap();
                    // The old workers' tickets are void, and their items are queued again.
                    for (ticket, _) in taken.drain(..) { assert!(!queue.done(ticket)); }
                }
            }
            prop_assert_eq!(queue.len() + queue.dead_letters().len() + done.len(), items.len());
        }
        for (ticket, item) in taken { assert!(queue.done(ticket)); assert!(done.insert(item.key)); }
        now += Duration::from_secs(100);
        for identity in ["i0", "i1"] {
            while let Some((ticket, item)) = queue.take(now, identity, |_| true) {
                assert!(queue.done(ticket));
                assert!(done.insert(item.key));
            }
        }
        prop_assert_eq!(done.len() + queue.dead_letters().len(), items.len());
        prop_assert_eq!(queue.len(), 0);
    }
}
