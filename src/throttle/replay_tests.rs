//! Recorded and made-up arrivals through the limiters, held against closed forms and a live nginx.
//!
//! Example: 300 requests in 20 s into 353 a minute with a burst of 15: the longest wait is 285 T - 299/15 s.

use std::time::Duration;

use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

use super::{
    Admission, FixedWindow, LeakyBucket, LimitReq, LimitReqVerdict, Rate, SlidingLog, SplitMix64, TokenBucket,
};

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn rpm(requests: u64) -> Rate {
    Rate::per_minute(requests).unwrap()
}

/// Waits of requests that queue in front of a full bucket.
fn waits(arrivals: &[Duration], requests: u64, burst: u64) -> Vec<f64> {
    let mut bucket = TokenBucket::full(rpm(requests), burst).unwrap();
    arrivals.iter().map(|a| bucket.reserve(*a).as_secs_f64()).collect()
}

fn longest(waits: &[f64]) -> f64 {
    waits.iter().copied().fold(0.0, f64::max)
}

fn refused(arrivals: &[Duration], mut take: impl FnMut(Duration) -> Admission) -> usize {
    arrivals.iter().filter(|a| !take(**a).is_go()).count()
}

fn policed(arrivals: &[Duration], requests: u64, burst: u64) -> usize {
    let mut bucket = TokenBucket::full(rpm(requests), burst).unwrap();
    refused(arrivals, |a| bucket.take(a))
}

fn poisson(requests: f64, seed: u64, count: usize) -> Vec<Duration> {
    let mut source = SplitMix64::new(seed);
    let mut t = 0.0;
    (0..count)
        .map(|_| {
            t += -(1.0 - source.uniform()).ln() * 60.0 / requests;
            s(t)
        })
        .collect()
}

#[test]
fn a_steady_burst_waits_as_long_as_the_closed_form_says() {
    let arrivals: Vec<Duration> = (0..300).map(|i| s(f64::from(i) / 15.0)).collect();
    let found = longest(&waits(&arrivals, 353, 15));
    let closed = 285.0 * 60.0 / 353.0 - 299.0 / 15.0;
    assert!((found - closed).abs() < 1e-6, "{found} against {closed}");
    assert_eq!(format!("{found:.3}"), "28.509");
}

#[test]
fn a_bot_above_its_rate_for_an_hour_waits_as_long_as_the_closed_form_says() {
    let arrivals: Vec<Duration> = (0..6000).map(|i| s(f64::from(i) * 0.6)).collect();
    assert_eq!(format!("{:.3}", longest(&waits(&arrivals, 78, 2))), "1014.446");
}

#[test]
fn poisson_arrivals_wait_as_in_an_m_d_1_queue() {
    let arrivals = poisson(50.0, 7, 200_000);
    let mut bucket = LeakyBucket::new(rpm(60));
    let sum: f64 = arrivals.iter().map(|a| bucket.reserve(*a).as_secs_f64()).sum();
    // rho T / (2 (1 - rho)) = 2.500 s at 50 into 60; this sample of 200,000 gives 2.478.
    assert_eq!(format!("{:.3}", sum / 200_000.0), "2.478");
}

#[test]
fn one_burst_across_a_minute_border_is_judged_differently_by_each_limiter() {
    let arrivals: Vec<Duration> = (0..120).map(|i| s(45.0 + f64::from(i) * 0.25)).collect();
    let minute = Duration::from_secs(60);
    let mut fixed = FixedWindow::new(60, minute);
    let mut sliding = SlidingLog::new(60, minute);
    assert_eq!(refused(&arrivals, |a| fixed.take(a)), 0);
    assert_eq!(refused(&arrivals, |a| sliding.take(a)), 60);
    assert_eq!(policed(&arrivals, 60, 60), 31);
    assert_eq!(policed(&arrivals, 60, 5), 86);
}

#[test]
fn nginx_refuses_as_many_as_a_live_one_did() {
    let at_once: Vec<Duration> = (0..20).map(Duration::from_millis).collect();
    let refuses = |n: usize, burst: u64| {
        let mut key = LimitReq::per_minute(60, burst).unwrap().nodelay();
        at_once[..n].iter().filter(|a| key.take(**a) == LimitReqVerdict::Refuse).count()
    };
    assert_eq!(refuses(20, 2), 17);
    assert_eq!(refuses(12, 4), 7);
    assert_eq!(refuses(20, 5), 14);
    assert_eq!(policed(&at_once, 60, 6), 14, "a bucket of burst + 1 tokens agrees");
    assert_eq!(LimitReq::per_minute(53, 8).unwrap().stored_rate(), 883, "52.98 a minute");
}

#[test]
fn nginx_delays_what_is_above_the_rate_unless_told_otherwise() {
    let ms = Duration::from_millis;
    let mut shaping = LimitReq::per_minute(60, 3).unwrap();
    let mut two_free = LimitReq::per_minute(60, 3).unwrap().delay(2);
    let verdicts = |key: &mut LimitReq| -> Vec<LimitReqVerdict> { (0..5).map(|_| key.take(ms(9))).collect() };
    use LimitReqVerdict::{Delay, Pass, Refuse};
    assert_eq!(verdicts(&mut shaping), [Pass, Delay(ms(1000)), Delay(ms(2000)), Delay(ms(3000)), Refuse]);
    assert_eq!(verdicts(&mut two_free), [Pass, Pass, Pass, Delay(ms(1000)), Refuse]);
}

#[test]
fn a_new_token_bucket_holds_one_token_and_fills_from_there() {
    let start = Duration::from_secs(100);
    let mut bucket = TokenBucket::new(rpm(60), 3, start).unwrap();
    assert_eq!(bucket.tokens(start), 1);
    assert_eq!(bucket.take(start), Admission::Go);
    assert_eq!(bucket.take(start), Admission::Wait(Duration::from_secs(1)));
    assert_eq!(bucket.tokens(start + Duration::from_secs(2)), 2);
    assert_eq!(bucket.tokens(start + Duration::from_secs(60)), 3);
    assert!(TokenBucket::full(rpm(60), 0).is_err());
}

/// Ascending times with repeats, fractions and gaps.
fn arrivals() -> impl Strategy<Value = Vec<Duration>> {
    prop::collection::vec(
        prop::sample::select(vec![0_u64, 1, 999_999_999, 100_000_000, 3_000_000_000]),
        1..200,
    )
    .prop_map(|gaps| {
        let mut t = Duration::from_secs(1_700_000_000);
        gaps.iter()
            .map(|gap| {
                t += Duration::from_nanos(*gap);
                t
            })
            .collect()
    })
}

proptest! {
    /// In any span, a bucket admits at most its burst and what the rate gives in the span.
    #[test]
    fn no_bucket_admits_more_than_burst_and_rate(times in arrivals(), requests in 1_u64..2000, burst in 1_u64..20) {
        let mut bucket = TokenBucket::full(rpm(requests), burst).unwrap();
        let admitted: Vec<u128> =
            times.iter().filter(|t| bucket.take(**t).is_go()).map(Duration::as_nanos).collect();
        for (i, first) in admitted.iter().enumerate() {
            for (j, last) in admitted.iter().enumerate().skip(i) {
                let allowed = u128::from(burst) + (last - first) * u128::from(requests) / 60_000_000_000;
                prop_assert!((j - i + 1) as u128 <= allowed);
            }
        }
    }

    /// Who waits as long as told is let through, and a nanosecond earlier is not.
    #[test]
    fn the_wait_of_a_bucket_is_the_shortest_that_works(times in arrivals(), requests in 1_u64..2000, burst in 1_u64..20) {
        let mut bucket = TokenBucket::full(rpm(requests), burst).unwrap();
        for now in times {
            if let Admission::Wait(wait) = bucket.take(now) {
                prop_assert!(bucket.peek(now + wait).is_go());
                prop_assert!(!bucket.peek(now + wait - Duration::from_nanos(1)).is_go());
            }
        }
    }

    /// Shaping starts requests in order, in any span at most the burst and what the rate gives. The nanosecond is the
    /// rounding of a wait.
    #[test]
    fn what_is_shaped_keeps_to_burst_and_rate(times in arrivals(), requests in 1_u64..2000, burst in 1_u64..20) {
        let mut shaper = TokenBucket::full(rpm(requests), burst).unwrap();
        let starts: Vec<u128> = times.iter().map(|t| (*t + shaper.reserve(*t)).as_nanos()).collect();
        prop_assert!(starts.is_sorted());
        for (i, first) in starts.iter().enumerate() {
            for (j, last) in starts.iter().enumerate().skip(i) {
                let allowed = u128::from(burst) + (last - first + 1) * u128::from(requests) / 60_000_000_000;
                prop_assert!((j - i + 1) as u128 <= allowed);
            }
        }
    }

    /// No window holds more than its limit, also when the clock is set back.
    #[test]
    fn windows_hold_their_limit(times in prop::collection::vec(0_u64..400, 1..300), limit in 0_u64..20) {
        let minute = Duration::from_secs(60);
        let mut sliding = SlidingLog::new(limit, minute);
        let mut fixed = FixedWindow::new(limit, minute);
        let mut latest = 0;
        let (mut log, mut by_minute) = (Vec::new(), std::collections::BTreeMap::<u64, u64>::new());
        for t in times {
            latest = latest.max(t);
            if sliding.take(Duration::from_secs(t)).is_go() { log.push(latest); }
            if fixed.take(Duration::from_secs(t)).is_go() { *by_minute.entry(latest / 60).or_default() += 1; }
        }
        for first in &log {
            prop_assert!(log.iter().filter(|t| *t >= first && **t < first + 60).count() as u64 <= limit);
        }
        prop_assert!(by_minute.values().all(|n| *n <= limit));
    }

    /// A machine that was written and read back goes on as if nothing had happened.
    #[test]
    fn buckets_survive_being_written(times in arrivals(), requests in 1_u64..2000, cut in any::<prop::sample::Index>(), burst in Just(3_u64)) {
        let mut whole = TokenBucket::new(rpm(requests), burst, times[0]).unwrap();
        let mut written = whole.clone();
        let cut = cut.index(times.len());
        for (i, now) in times.iter().enumerate() {
            if i == cut {
                written = serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
            }
            prop_assert_eq!(whole.take(*now), written.take(*now));
        }
    }
}
