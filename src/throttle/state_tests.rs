//! Every machine goes on as if nothing had happened when its state was written and read between any two calls.
//!
//! Example: a bucket that is saved after each request spaces the next ones as one that was not.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    AdaptiveDelay, BackoffLimits, BanLimits, BanWatch, BreakerLimits, DecorrelatedJitter, DomainBackoff,
    Domains, Failure, FixedWindow, Fund, InFlightRatio, Item, LatencyBreaker, LeakyBucket, LimitReq, Limits,
    Next, Party, Queue, Rate, RetryBudget, RetryLimits, Scopes, SlidingLog, Slots, SplitMix64, TokenBucket,
    Turn, Verdict,
};

const STEPS: u64 = 400;

/// Drives two copies through the same calls at the same times, one of them written and read before each, and compares
/// what they say.
fn goes_on<T, S>(name: &str, machine: T, mut step: impl FnMut(&mut T, Duration, f64) -> S)
where
    T: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    S: Debug + PartialEq,
{
    let (mut kept, mut saved) = (machine.clone(), machine);
    let mut source = SplitMix64::new(7);
    let mut now = Duration::from_secs(1_791_460_770);
    for i in 0..STEPS {
        // Moments together, seconds and now and then half an hour apart.
        let gap = source.uniform() * if i % 40 == 39 { 1800.0 } else { 3.0 };
        now += Duration::from_secs_f64(gap);
        let draw = source.uniform();
        let text = serde_json::to_string(&saved).unwrap();
        saved = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}, step {i}: {e}\n{text}"));
        assert_eq!(step(&mut saved, now, draw), step(&mut kept, now, draw), "{name}, step {i}");
    }
    let text = serde_json::to_string(&kept).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), kept, "{name} is not what was written");
}

#[test]
fn every_machine_survives_being_written_and_read_at_any_time() {
    let s = Duration::from_secs;
    let ms = |draw: f64| Duration::from_secs_f64(draw * 0.4);
    let rate = Rate::per_minute(53).unwrap();
    let start = s(1_791_460_770);
    goes_on("token bucket", TokenBucket::new(rate, 3, start).unwrap(), |m, now, _| {
        (m.take(now), m.tokens(now))
    });
    goes_on("token bucket, reserving", TokenBucket::full(rate, 3).unwrap(), |m, now, _| m.reserve(now));
    goes_on("leaky bucket", LeakyBucket::new(rate), |m, now, _| m.take(now));
    goes_on("fixed window", FixedWindow::new(20, s(60)), |m, now, _| m.take(now));
    goes_on("sliding log", SlidingLog::new(20, s(60)), |m, now, _| m.take(now));
    goes_on("limit_req", LimitReq::per_minute(30, 4).unwrap(), |m, now, _| m.take(now));
    goes_on("adaptive delay", AdaptiveDelay::default(), |m, _, draw| {
        m.observe(ms(draw), draw > 0.8);
        m.next(draw)
    });
    goes_on("decorrelated jitter", DecorrelatedJitter::new(ms(1.0), s(60)), |m, _, draw| m.next(draw));
    goes_on("retry budget", RetryBudget::new(RetryLimits::default()), |m, now, draw| {
        if draw < 0.7 {
            m.succeeded(now);
            return None;
        }
        Some(m.failed(now, Failure::Unavailable, u32::from(draw > 0.9) * 3, draw < 0.75))
    });
    goes_on("latency breaker", LatencyBreaker::new(BreakerLimits::default()), |m, now, draw| {
        (m.observe(now, ms(if draw > 0.6 { 9.0 } else { draw })), m.check(now), m.trips())
    });
    goes_on("slots", Slots::new(5, 2), |m, _, draw| {
        let host = if draw < 0.5 { "a" } else { "b" };
        if draw * 10.0 % 1.0 < 0.3 {
            m.release(host);
        }
        (m.acquire(host), m.in_flight(), m.cap(host))
    });
    goes_on("in-flight ratio", InFlightRatio::default(), |m, now, draw| {
        m.completed(now);
        (m.at(now, 7).map(f64::to_bits), m.backlog(now, if draw < 0.5 { 1 } else { 90 }))
    });
    goes_on(
        "ban watch",
        BanWatch::new(BanLimits { dead_letters: 5, ..BanLimits::default() }),
        |m, now, draw| {
            m.requested(now, "a");
            (draw < 0.6).then(|| m.dead_letter(now, if draw < 0.3 { "a" } else { "b" }, Failure::Denied))
        },
    );
    let limits = Limits {
        host_per_minute: Some(9),
        host_per_hour: Some(60),
        credential_per_hour: Some(80),
        identity_per_day: Some(300),
        global_per_minute: Some(12),
        global_per_hour: Some(100),
        retry_reserve: Some(8),
        prerequisite_reserve: Some(4),
        ..Limits::default()
    };
    goes_on("scopes", Scopes::new(limits).unwrap(), |m, now, draw| {
        let host = if draw < 0.6 { "a" } else { "b" };
        let fund = match draw * 10.0 % 1.0 {
            ..0.2 => Fund::Retry,
            0.2..0.4 => Fund::Prerequisite,
            _ => Fund::Plan,
        };
        m.take(now, Party { host, credential: Some("c"), identity: Some("i") }, fund)
    });
    goes_on("domain backoff", DomainBackoff::new(BackoffLimits::default()), |m, now, draw| {
        match draw {
            ..0.3 => m.limited(now, (draw < 0.1).then(|| ms(draw * 100.0))),
            0.3..0.5 => m.answered(),
            _ => m.dispatched(now),
        }
        (m.ready_at(), m.is_cooling(now), m.stalled_for(now), m.stall_ends())
    });
    goes_on("random source", SplitMix64::new(3), |m, _, _| m.next_u64());
}

#[test]
fn queues_and_domains_come_back_with_what_was_in_flight_as_queued() {
    let now = Duration::from_secs(100);
    let weights = Turn::Weighted(BTreeMap::from([("a".to_owned(), 2)]));
    for turn in [weights, Turn::LongestWait] {
        let mut queue = Queue::new(turn);
        for (i, host) in ["a", "a", "a", "b"].into_iter().enumerate() {
            assert!(queue.push(now, Item::new(&format!("{host}/{i}"), host, "profile")));
        }
        let (ticket, _) = queue.take(now, "profile", |_| true).unwrap();
        queue.failed(now, ticket, Failure::Denied, Verdict::DeadLetter, Duration::ZERO);
        let (ticket, _) = queue.take(now, "profile", |_| true).unwrap();
        queue.failed(now, ticket, Failure::Unavailable, Verdict::Retry, Duration::from_secs(9));
        let in_flight = queue.take(now, "profile", |_| true).unwrap().1;

        let mut again: Queue = serde_json::from_str(&serde_json::to_string(&queue).unwrap()).unwrap();
        assert_eq!((again.len(), again.dead_letters()), (queue.len(), queue.dead_letters()));
        assert_eq!(again.next_ready("profile"), Some(now + Duration::from_secs(9)));
        let mut left = Vec::new();
        while let Some((ticket, item)) = again.take(now + Duration::from_secs(9), "profile", |_| true) {
            left.push(item);
            assert!(again.done(ticket));
        }
        assert!(left.contains(&in_flight) && left.len() == 3, "{left:?}");
    }
    let mut domains = Domains::new(BackoffLimits::default(), ["a"]);
    (0..2).for_each(|i| domains.insert(now, "a", i));
    let Next::Request(..) = domains.next(now) else { panic!("one can go") };
    let mut again: Domains<i32> = serde_json::from_str(&serde_json::to_string(&domains).unwrap()).unwrap();
    again.recover();
    assert_eq!(again.remaining(), 2);
    assert!(matches!(again.next(now), Next::Request(_, 0)), "what was in flight goes first");
}
