//! Replays whose answers are known: closed forms, queueing theory, a live nginx.
//!
//! Example: Poisson arrivals of 50 a minute into 60 wait 2.5 s on average (M/D/1).

use super::*;

fn close(a: f64, b: f64, within: f64) -> bool {
    (a - b).abs() <= within
}

/// Poisson arrivals at a rate, the same on every machine.
fn poisson(rpm: f64, seed: u64, until: usize) -> Vec<f64> {
    let (mut random, mut at) = (SplitMix64(seed), 0.0);
    (0..until)
        .map(|_| {
            at += -(1.0 - random.uniform()).ln() * 60.0 / rpm;
            at
        })
        .collect()
}

#[test]
fn the_longest_wait_of_a_steady_burst_has_a_closed_form() {
    let seconds: Vec<(i64, u64)> = (0..20).map(|s| (s, 15)).collect();
    let replay = Replay::of(&spread(&seconds, Placement::Even, "h", "b"), 353, 15, 195);
    assert_eq!((replay.requests, replay.refused), (300, 0));
    assert!(close(replay.wait_seconds_max, 28.509, 0.04), "{}", replay.wait_seconds_max);
    let steady: Vec<f64> = (0..300_u32).map(|i| f64::from(i) / 15.0).collect();
    let longest = waits(&steady, 353, 15).into_iter().fold(0.0, f64::max);
    assert!(close(longest, 285.0 * 60.0 / 353.0 - 299.0 / 15.0, 1e-6), "{longest}");
    let hour: Vec<f64> = (0..6000_u32).map(|i| f64::from(i) * 0.6).collect();
    assert!(close(Replay::of(&hour, 78, 2, 13).wait_seconds_max, 1014.446, 1e-3));
}

#[test]
fn poisson_arrivals_wait_as_long_as_queueing_theory_says() {
    let all = waits(&poisson(50.0, 7, 200_000), 60, 1);
    let mean = all.iter().sum::<f64>() / 200_000.0;
    assert!(close(mean, 2.478, 5e-4), "{mean}");
}

#[test]
fn jitter_is_nearer_to_the_truth_than_any_fixed_place_in_the_second() {
    let arrivals = poisson(50.0, 7, 200_000);
    let mut seconds: Vec<(i64, u64)> = Vec::new();
    for at in &arrivals {
        let second = milliseconds(*at).div_euclid(1000);
        match seconds.last_mut() {
            Some((last, n)) if *last == second => *n += 1,
            _ => seconds.push((second, 1)),
        }
    }
    let share = |arrivals: &[f64]| Replay::of(arrivals, 60, 1, 1).delayed_share;
    assert!(close(share(&arrivals), 0.8306, 5e-5), "{}", share(&arrivals));
    let placed = |placement| share(&spread(&seconds, placement, "h", "b"));
    let (jitter, start, even) =
        (placed(Placement::Jitter), placed(Placement::Start), placed(Placement::Even));
    assert!(close(jitter, 0.8313, 5e-5), "{jitter}");
    assert!(close(start, 0.7356, 5e-5), "{start}");
    assert!(close(even, 0.7816, 5e-5), "{even}");
}

#[test]
fn the_stream_of_a_second_is_the_same_everywhere() {
    assert_eq!(jitter_seed("www.example.com", "Googlebot", 1_767_571_200), 0x88cc_3e8b_d65e_c985);
    let one = spread(&[(5, 3)], Placement::Jitter, "h", "b");
    let two = spread(&[(4, 9), (5, 3)], Placement::Jitter, "h", "b");
    assert_eq!(one, two[9..]);
    assert!(one.is_sorted() && one.iter().all(|at| (5.0..6.0).contains(at)));
}

#[test]
fn limiters_differ_over_the_border_of_a_minute() {
    let arrivals: Vec<f64> = (0..120_u32).map(|i| 45.0 + f64::from(i) * 0.25).collect();
    let refused = |limiter: Limiter| limiter.refused(&arrivals);
    assert_eq!(refused(Limiter::FixedWindow { limit: 60 }), 0);
    assert_eq!(refused(Limiter::SlidingLog { limit: 60 }), 60);
    assert_eq!(refused(Limiter::Bucket { rpm: 60, burst: 60 }), 31);
    assert_eq!(refused(Limiter::Bucket { rpm: 60, burst: 5 }), 86);
}

#[test]
fn nginx_lets_one_more_than_its_burst_through() {
    let at_once: Vec<f64> = (0..20_u32).map(|i| f64::from(i) * 1e-3).collect();
    assert_eq!(Limiter::Nginx { rpm: 60, burst: 2 }.refused(&at_once), 17);
    assert_eq!(Limiter::Nginx { rpm: 60, burst: 4 }.refused(&at_once[..12]), 7);
}

#[test]
fn a_ceiling_is_accepted_only_when_few_wait_or_the_capacity_is_known() {
    let slow: Vec<f64> = (0..600_u32).map(f64::from).collect();
    let replay = Replay::of(&slow, 76, 1, 13);
    assert!(replay.acceptable(false, 599.0, None));
    let fast: Vec<f64> = (0..600_u32).map(|i| f64::from(i) * 0.5).collect();
    let replay = Replay::of(&fast, 76, 1, 600);
    assert!(!replay.acceptable(false, 299.5, None));
    assert!(replay.acceptable(true, 299.5, None));
    assert!(!replay.acceptable(true, 299.5, Some(300.0)));
    assert!(!Replay::of(&fast, 76, 1, 13).acceptable(true, 299.5, None));
}
