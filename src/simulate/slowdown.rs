//! What a pool of workers does to an origin that got slow, and what layers of retries do to one that refuses.
//!
//! Example: 8 workers at 84 ms complete 95 requests a second, at 1.9 s 4.2; 40 workers complete no more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Origin, OriginModel};
use crate::error::Error;
use crate::throttle::{Backlog, InFlightRatio};

/// What a pool achieved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PoolOutcome {
    /// Answers per second that came before the time-out, over the second half of the time.
    pub completed_per_second: f64,
    /// Requests per second that the workers gave up waiting for. The origin works on them all the same.
    pub timed_out_per_second: f64,
    /// Mean latency of the answers that came; none without any.
    pub latency_ms_mean: Option<f64>,
    /// Open requests against those completed per second, at the end.
    pub in_flight_ratio: Option<f64>,
    /// What that means.
    pub backlog: Backlog,
}

/// A pool whose workers each send the next request when the last one is answered or timed out.
///
/// # Errors
///
/// A usage error when the origin's limit or capacity is 0.
///
/// ```
/// use crawl_baseline::simulate::{LatencyCurve, OriginModel, run_pool};
/// use std::time::Duration;
///
/// let latency = LatencyCurve::flat(Duration::from_millis(84));
/// let origin = OriginModel { latency, ..OriginModel::default() };
/// let pool = run_pool(8, origin, Duration::from_secs(30), Duration::from_secs(600))?;
/// assert_eq!(format!("{:.0}", pool.completed_per_second), "95");
/// # Ok::<(), crawl_baseline::error::Error>(())
/// ```
pub fn run_pool(
    workers: u32,
    origin: OriginModel,
    timeout: Duration,
    time: Duration,
) -> Result<PoolOutcome, Error> {
    let mut origin = Origin::new(origin)?;
    // (when the worker is free again, worker, whether an answer frees it, its latency)
    let mut busy: BinaryHeap<Reverse<(Duration, u32, bool, Duration)>> = BinaryHeap::new();
    let ask = |origin: &mut Origin, now: Duration, worker: u32| {
        let latency = origin.ask(now, 0.5).latency;
        Reverse((now.saturating_add(latency.min(timeout)), worker, latency <= timeout, latency))
    };
    for worker in 0..workers {
        busy.push(ask(&mut origin, Duration::ZERO, worker));
    }
    let (mut completed, mut lost, mut waited) = (0_u64, 0_u64, Duration::ZERO);
    let mut ratio = InFlightRatio::default();
    while let Some(Reverse((now, worker, answered, latency))) = busy.pop() {
        if now > time {
            break;
        }
        if answered {
            ratio.completed(now);
        }
        // The first half fills the queue; the second shows where it settles.
        if now > time / 2 {
            if answered {
                completed += 1;
                waited += latency;
            } else {
                lost += 1;
            }
        }
        busy.push(ask(&mut origin, now, worker));
    }
    let seconds = (time / 2).as_secs_f64();
    Ok(PoolOutcome {
        completed_per_second: completed as f64 / seconds,
        timed_out_per_second: lost as f64 / seconds,
        latency_ms_mean: (completed > 0).then(|| waited.as_secs_f64() * 1000.0 / completed as f64),
        in_flight_ratio: ratio.at(time, u64::from(workers)),
        backlog: ratio.backlog(time, u64::from(workers)),
    })
}

/// Requests that arrive at the origin for each one that was meant, when `layers` layers each retry a failure
/// `retries` times and every try fails with the probability `failing` (0 to 1).
///
/// A layer's try is the whole of the layer below it: with everything failing, three layers that retry once send
/// 2 x 2 x 2.
///
/// ```
/// use crawl_baseline::simulate::retry_amplification;
/// assert_eq!(retry_amplification(1, 1, 1.0), 2.0);
/// assert_eq!(retry_amplification(3, 1, 1.0), 8.0);
/// ```
#[must_use]
pub fn retry_amplification(layers: u32, retries: u32, failing: f64) -> f64 {
    let mut sent = 1.0;
    let mut failing = failing.clamp(0.0, 1.0);
    for _ in 0..layers {
        // Tries of this layer: the first, and each further one that all before it failed for.
        let mut tries = 1.0;
        let mut all_failed = failing;
        for _ in 0..retries {
            tries += all_failed;
            all_failed *= failing;
        }
        sent *= tries;
        failing = all_failed;
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::LatencyCurve;
    use crate::throttle::{Failure, RetryBudget, RetryLimits, SplitMix64, Verdict};

    fn pool(workers: u32, ms: u64, capacity_per_minute: Option<u64>) -> PoolOutcome {
        let latency = LatencyCurve::flat(Duration::from_millis(ms));
        let origin = OriginModel { latency, capacity_per_minute, ..OriginModel::default() };
        run_pool(workers, origin, Duration::from_secs(30), Duration::from_secs(1200)).unwrap()
    }

    #[test]
    fn a_slowdown_takes_a_fixed_pool_from_95_to_4_requests_a_second() {
        let fast = pool(8, 84, None);
        let slow = pool(8, 1900, None);
        assert_eq!(format!("{:.0}", fast.completed_per_second), "95");
        assert_eq!(format!("{:.1}", slow.completed_per_second), "4.2");
        assert_eq!((fast.backlog, slow.backlog), (Backlog::Healthy, Backlog::Healthy));
    }

    #[test]
    fn a_pool_that_grows_completes_no_more_and_at_last_nothing() {
        // The slow origin serves 8 at a time at 1.9 s: 253 a minute.
        let [eight, forty, two_hundred] = [8, 40, 200].map(|workers| pool(workers, 1900, Some(253)));
        assert_eq!(format!("{:.1}", eight.completed_per_second), "4.2");
        assert_eq!(format!("{:.1}", forty.completed_per_second), "4.2");
        assert!(forty.latency_ms_mean.unwrap() > 4.5 * eight.latency_ms_mean.unwrap());
        assert_eq!((eight.backlog, forty.backlog), (Backlog::Healthy, Backlog::Unbounded));
        // Every answer comes after the worker has gone: 200 open requests, none completed.
        assert_eq!(two_hundred.backlog, Backlog::Unbounded);
        assert!(two_hundred.completed_per_second < 0.01, "{two_hundred:?}");
        assert!(two_hundred.timed_out_per_second > 4.0);
    }

    #[test]
    fn three_retry_layers_send_three_to_eight_times_what_one_budget_sends_once() {
        // Play it request by request against an origin that refuses nine of ten.
        let play = |layers: u32| -> f64 {
            fn layered(layers: u32, sent: &mut u64, source: &mut SplitMix64) -> bool {
                if layers == 0 {
                    *sent += 1;
                    return source.uniform() >= 0.9;
                }
                layered(layers - 1, sent, source) || layered(layers - 1, sent, source)
            }
            let (mut sent, mut source) = (0, SplitMix64::new(3));
            (0..20_000).for_each(|_| {
                layered(layers, &mut sent, &mut source);
            });
            sent as f64 / 20_000.0
        };
        for layers in [1, 3] {
            assert!((play(layers) - retry_amplification(layers, 1, 0.9)).abs() < 0.05, "{layers} layers");
        }
        assert!((3.0..=8.0).contains(&play(3)), "{}", play(3));
        assert!(play(1) < 2.0);

        // The same failures under a budget of 10 % of the successes.
        let (mut source, mut budget) = (SplitMix64::new(3), RetryBudget::new(RetryLimits::default()));
        let mut sent = 0_u64;
        for _ in 0..20_000 {
            sent += 1;
            if source.uniform() >= 0.9 {
                budget.succeeded(Duration::ZERO);
            } else if budget.failed(Duration::ZERO, Failure::RateLimited, 0, false) == Verdict::Retry {
                sent += 1;
            }
        }
        assert!((sent as f64) < 20_000.0 * 1.02, "{sent}");
    }
}
