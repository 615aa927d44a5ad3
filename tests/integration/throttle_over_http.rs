//! The throttle machines over a real socket, against what the simulator predicts.
//!
//! One crawler drives two worlds: a virtual one with the simulated origin, and an HTTP server on the loopback that
//! limits by the same numbers and answers 429 with a Retry-After. What was admitted, refused and waited must agree. The
//! clock of both is one that the crawler's sleep moves on: on the machine's, a busy one would change who is refused.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crawl_baseline::simulate::{
    HostSettings, LatencyCurve, Origin, OriginLimit, OriginModel, Pace, Page, Settings, simulate,
};
use crawl_baseline::throttle::{
    Admission, BackoffLimits, Cooldown, Domains, Next, Rate, RetryAfter, RetryLimits, TokenBucket,
};

const REQUESTS: usize = 14;
/// The origin admits 4 a second, 3 at once; the crawler asks 8 times a second.
const ORIGIN_LIMIT: OriginLimit = OriginLimit { requests_per_minute: 240, burst: 3 };
const PACE: u64 = 480;
const START: Duration = Duration::from_secs(1_000_000);
const LATENCY: Duration = Duration::from_millis(1);

trait World {
    fn now(&self) -> Duration;
    fn sleep(&mut self, time: Duration);
    /// Status and Retry-After.
    fn ask(&mut self) -> (u16, Option<String>);
}

struct Virtual {
    now: Duration,
    origin: Origin,
}

impl World for Virtual {
    fn now(&self) -> Duration {
        self.now
    }

    fn sleep(&mut self, time: Duration) {
        self.now += time;
    }

    fn ask(&mut self) -> (u16, Option<String>) {
        let answer = self.origin.ask(self.now, 0.5);
        self.now += answer.latency;
        (answer.status, answer.retry_after.map(|wait| wait.as_secs().to_string()))
    }
}

struct Http {
    port: u16,
    clock: Clock,
}

/// What time it is for the crawler and for the server.
type Clock = Arc<Mutex<Duration>>;

impl World for Http {
    fn now(&self) -> Duration {
        *self.clock.lock().unwrap()
    }

    fn sleep(&mut self, time: Duration) {
        *self.clock.lock().unwrap() += time;
    }

    fn ask(&mut self) -> (u16, Option<String>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost: limited.example\r\nConnection: close\r\n\r\n").unwrap();
        let lines: Vec<String> = BufReader::new(stream).lines().map_while(Result::ok).collect();
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let hint = lines.iter().find_map(|line| line.strip_prefix("Retry-After: ")).map(str::to_owned);
        self.sleep(LATENCY);
        (status, hint)
    }
}

/// When each request came to the server, and whether it was refused for how long.
type Visits = Arc<Mutex<Vec<(Duration, Option<Duration>)>>>;

/// Serves until the test process ends.
fn serve(clock: Clock) -> (u16, Visits) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let visits: Visits = Arc::default();
    let seen = Arc::clone(&visits);
    std::thread::spawn(move || {
        let rate = Rate::per_minute(ORIGIN_LIMIT.requests_per_minute).unwrap();
        let mut limiter = TokenBucket::full(rate, ORIGIN_LIMIT.burst).unwrap();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let now = *clock.lock().unwrap();
            let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
            while head.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let (answer, refused) = match limiter.take(now) {
                Admission::Go => ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(), None),
                Admission::Wait(wait) => {
                    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                    let head = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nRetry-After: ";
                    (format!("{head}{seconds}\r\n\r\n"), Some(Duration::from_secs(seconds)))
                }
            };
            seen.lock().unwrap().push((now, refused));
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (port, visits)
}

#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    admitted: usize,
    refused: usize,
    waited: Duration,
}

/// One worker that does what the machines say.
fn crawl(world: &mut impl World) -> Outcome {
    let start = world.now();
    let mut pace = TokenBucket::new(Rate::per_minute(PACE).unwrap(), 1, start).unwrap();
    let mut domains = Domains::new(BackoffLimits::default(), ["limited.example"]);
    (0..REQUESTS).for_each(|i| domains.insert(start, "limited.example", i));
    let mut outcome = Outcome { admitted: 0, refused: 0, waited: Duration::ZERO };
    let mut wait = |world: &mut dyn FnMut(Duration), time: Duration| {
        outcome.waited += time;
        world(time);
    };
    let (mut admitted, mut refused) = (0, 0);
    loop {
        match domains.next(world.now()) {
            Next::Request(ticket, _) => {
                let paced = pace.reserve(world.now());
                wait(&mut |time| world.sleep(time), paced);
                let (status, hint) = world.ask();
                let now = world.now();
                if status == 429 {
                    refused += 1;
                    let hint =
                        hint.and_then(|value| RetryAfter::parse(&value, now)).map(|hint| hint.wait(now));
                    assert_eq!(domains.limited(now, ticket, hint), None, "the domain keeps it");
                } else {
                    admitted += 1;
                    assert!(domains.done(ticket).is_some());
                }
            }
            Next::Wait(Some(time)) => wait(&mut |time| world.sleep(time), time),
            Next::Finished => break,
            other => panic!("{other:?}"),
        }
    }
    Outcome { admitted, refused, ..outcome }
}

#[test]
fn a_limiting_server_admits_refuses_and_delays_as_the_simulation_predicts() {
    let model = OriginModel {
        limit: Some(ORIGIN_LIMIT),
        latency: LatencyCurve::flat(LATENCY),
        ..OriginModel::default()
    };
    let origin = Origin::new(model.clone()).unwrap();
    let predicted = crawl(&mut Virtual { now: START, origin });
    assert_eq!(predicted.admitted, REQUESTS);
    assert!(predicted.refused >= 2, "{predicted:?}");

    // The whole simulator, with one connection and retries exactly when the server says so, plans the same crawl.
    let pages: Vec<Page> = (0..REQUESTS)
        .map(|i| Page::new(&format!("http://limited.example/{i:02}"), "limited.example", 1.0))
        .collect();
    let of_host = HostSettings {
        pace: Some(Pace { rate: Rate::per_minute(PACE).unwrap(), burst: 1 }),
        concurrency: Some(1),
        cooldown: Cooldown { multiplier: 1.0, ..Cooldown::default() },
        origin: model,
        ..HostSettings::default()
    };
    let retry = RetryLimits { percent_of_successes: None, ..RetryLimits::default() };
    let planned = simulate(&pages, &Settings { other_hosts: of_host, retry, ..Settings::default() }).unwrap();
    assert_eq!(planned.delivered, REQUESTS as u64);
    assert_eq!(planned.rate_limited, predicted.refused as u64, "{predicted:?}");

    let clock: Clock = Arc::new(Mutex::new(START));
    let (port, visits) = serve(Arc::clone(&clock));
    let happened = crawl(&mut Http { port, clock });
    assert_eq!(happened, predicted);

    // What the server saw: as many, and none came before a Retry-After was over.
    let visits = visits.lock().unwrap();
    assert_eq!(visits.iter().filter(|(_, refused)| refused.is_some()).count(), happened.refused);
    assert_eq!(visits.len(), happened.admitted + happened.refused);
    for pair in visits.windows(2) {
        if let (time, Some(hint)) = pair[0] {
            assert!(pair[1].0 >= time + hint, "{:?} after {time:?} and {hint:?}", pair[1].0);
        }
    }
}
