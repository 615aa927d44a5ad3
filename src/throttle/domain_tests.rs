//! The rules for domains that answer 429, as timelines.
//!
//! Example: `0:429 0.5:429 1.9:429 2:ok` is one event, and the domain is free at 2 s.

use std::time::Duration;

use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

use super::{BackoffLimits, DomainBackoff, Domains, Next, Ticket};

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Plays `time:event` words to one domain: `429`, `429+N` (Retry-After N), `ok`, `sent`, `delay=N` (crawl-delay), and
/// checks `=free@N` (when it may be asked again), `=stalled`, `=going`.
fn play(timeline: &str) {
    let mut domain = DomainBackoff::new(BackoffLimits::default());
    for word in timeline.split_whitespace() {
        let (time, event) = word.split_once(':').unwrap();
        let now = s(time.parse().unwrap());
        let number = |text: &str| s(text.parse().unwrap());
        match event {
            "429" => domain.limited(now, None),
            "ok" => domain.answered(),
            "sent" => domain.dispatched(now),
            "=stalled" => assert!(domain.stalled_for(now).is_some(), "{word} in {timeline}"),
            "=going" => assert!(domain.stalled_for(now).is_none(), "{word} in {timeline}"),
            other => {
                if let Some(wait) = other.strip_prefix("429+") {
                    domain.limited(now, Some(number(wait)));
                } else if let Some(delay) = other.strip_prefix("delay=") {
                    domain.set_crawl_delay(number(delay));
                } else {
                    let free = number(other.strip_prefix("=free@").unwrap());
                    assert_eq!(domain.ready_at(), free, "{word} in {timeline}");
                }
            }
        }
    }
}

#[test]
fn cooldowns_follow_the_timelines() {
    for timeline in [
        // 2 s at first, twice as long after each event, 60 s at most.
        "0:429 0:=free@2 2:429 2:=free@6 6:429 6:=free@14 14:429 14:=free@30 30:429 30:=free@62 62:429 62:=free@122 \
         122:429 122:=free@182",
        // A burst is one event: only the first 429 of a cooldown counts.
        "10:429 10.1:429 11.9:429 11.9:=free@12 12:429 12:=free@16",
        // Answers of other requests in flight do not lift it.
        "10:429 11:ok 11:=free@12 13:429 13:=free@17",
        // Free for as long again as the last wait: forgotten. A moment less: not.
        "0:429 4:429 4:=free@6",
        "0:429 3.99:429 3.99:=free@7.99",
        "0:429 2:429 10:429 10:=free@12",
        "0:429 2:429 9.99:429 9.99:=free@17.99",
        // A positive Retry-After takes the place of the wait, also above 60 s; it is an event like any other.
        "0:429+30 0:=free@30 30:429 30:=free@34",
        "0:429+0.25 0:=free@0.25",
        "0:429+300 0:=free@300",
        "0:429+0 0:=free@2",
        // Within a cooldown it can only make it longer.
        "0:429 1:429+0.5 1:=free@2 1:429+9 1:=free@10 10:429 10:=free@14",
        // Forgetting counts from there: 9 s of wait, 9 s of quiet.
        "0:429 1:429+9 18.9:429 18.9:=free@22.9",
        "0:429 1:429+9 19:429 19:=free@21",
        // Crawl-delay: a least interval between requests, the first value stays.
        "0:delay=5 0:=free@0 0:sent 0:=free@5 1:delay=1 5:sent 5:=free@10",
        // The longer of both holds, and a crawl-delay does not make every 429 look like the first.
        "0:delay=10 0:sent 1:429 1:=free@10 10:sent 11:429 11:=free@20 20:sent 21:429 21:=free@30 \
         30:sent 31:429 31:=free@47",
    ] {
        play(timeline);
    }
}

#[test]
fn stalls_follow_the_timelines() {
    for timeline in [
        // Nothing but 429 for longer than 15 minutes.
        "0:429 450:429 900:=going 900:429 900:=going 901:=stalled",
        // Another answer in between starts the clock again.
        "0:429 450:429 600:ok 601:429 901:=going 1501:429 1501:=going 1502:=stalled",
        // It counts from the first 429, not from the first request.
        "0:sent 500:429 901:=going",
        // 15 minutes after the last 429 it is worth a request again; a 429 then is the same stall.
        "0:429 800:429 1000:=stalled 1700:=stalled 1700.1:=going 1701:429 1701:=stalled 1702:ok 1702:=going",
        // A wait longer than the limit delays the verdict to the next 429.
        "0:429+2000 900:=going 901:=going 1999:=going 2000:429 2000:=stalled",
    ] {
        play(timeline);
    }
}

/// Hands out everything that can go at `now`, as (ticket, request).
fn drain(domains: &mut Domains<String>, now: f64) -> Vec<(Ticket, String)> {
    std::iter::from_fn(|| match domains.next(s(now)) {
        Next::Request(ticket, request) => Some((ticket, request)),
        _ => None,
    })
    .collect()
}

fn of(requests: &[(&str, &str)]) -> Domains<String> {
    let mut domains = Domains::new(BackoffLimits::default(), ["API.example.com.", "slow.example.org"]);
    for (host, request) in requests {
        domains.insert(s(0.0), host, (*request).to_owned());
    }
    domains
}

#[test]
fn only_listed_domains_wait_and_the_others_pass_through() {
    let mut domains = of(&[("api.example.com", "a"), ("www.example.net", "w"), ("sub.api.example.com", "x")]);
    let sent = drain(&mut domains, 0.0);
    assert_eq!(sent.iter().map(|(_, r)| r.as_str()).collect::<Vec<_>>(), ["a", "w", "x"]);
    assert_eq!(domains.limited(s(0.0), sent[0].0, None), None, "kept");
    assert_eq!(domains.limited(s(0.0), sent[1].0, None), Some("w".to_owned()), "the caller's");
    assert_eq!(domains.done(sent[1].0), None, "a ticket counts once");
    assert_eq!(domains.next(s(1.0)), Next::Wait(Some(s(1.0))), "a slot is not held for the cooldown");
    assert_eq!(domains.done(sent[2].0), Some("x".to_owned()));
    assert_eq!(drain(&mut domains, 2.0).len(), 1);
    assert_eq!(domains.next(s(2.0)), Next::Wait(None), "until the answer");
}

#[test]
fn a_request_moves_to_a_domain_that_is_listed_later() {
    let mut domains = of(&[("late.example.net", "l"), ("www.example.net", "w")]);
    domains.list("late.example.net");
    let sent = drain(&mut domains, 0.0);
    assert_eq!(sent[0].1, "l");
    assert_eq!(domains.limited(s(0.0), sent[0].0, None), None);
    assert_eq!(domains.remaining(), 2);
}

#[test]
fn the_domain_that_waited_longest_comes_first_and_none_starves() {
    let mut domains = of(&[]);
    for i in 0..3 {
        domains.insert(s(0.0), "api.example.com", format!("a{i}"));
        domains.insert(s(0.0), "slow.example.org", format!("s{i}"));
    }
    let order: Vec<String> = drain(&mut domains, 0.0).into_iter().map(|(_, r)| r).collect();
    assert_eq!(order, ["a0", "s0", "a1", "s1", "a2", "s2"]);
}

#[test]
fn a_stall_waits_for_all_others_then_names_the_domain_and_keeps_its_requests() {
    let mut domains = of(&[("slow.example.org", "s1"), ("slow.example.org", "s2")]);
    let mut now = 0.0;
    // Always refused, asked again whenever it is free.
    while now <= 900.0 {
        match domains.next(s(now)) {
            Next::Request(ticket, _) => assert_eq!(domains.limited(s(now), ticket, None), None),
            Next::Wait(Some(wait)) => now += wait.as_secs_f64(),
            other => panic!("{other:?} at {now}"),
        }
    }
    // Another domain in a cooldown, and one that is free, both finish first.
    domains.insert(s(now), "api.example.com", "a".to_owned());
    domains.insert(s(now), "www.example.net", "w".to_owned());
    let sent = drain(&mut domains, now);
    assert_eq!(sent.iter().map(|(_, r)| r.as_str()).collect::<Vec<_>>(), ["a", "w"]);
    domains.limited(s(now), sent[0].0, None);
    domains.done(sent[1].0);
    assert_eq!(domains.next(s(now)), Next::Wait(Some(s(2.0))));
    let again = drain(&mut domains, now + 2.0);
    assert_eq!(domains.next(s(now + 2.0)), Next::Wait(None));
    domains.done(again[0].0);

    let Next::Stalled(stalled) = domains.next(s(now + 2.0)) else { panic!("not stalled") };
    assert_eq!(stalled.domains.iter().map(|(d, _)| d.as_str()).collect::<Vec<_>>(), ["slow.example.org"]);
    assert!(stalled.to_string().contains("slow.example.org for 9"), "{stalled}");
    assert_eq!(domains.remaining(), 2);

    // Running again within the 15 minutes, here from the written state: the same, before any request.
    let written = serde_json::to_string(&domains).unwrap();
    let mut again: Domains<String> = serde_json::from_str(&written).unwrap();
    assert!(matches!(again.next(s(now + 600.0)), Next::Stalled(_)));
    // After them, it is tried again.
    assert!(matches!(again.next(s(now + 901.0)), Next::Request(_, _)));
    // Kept alive, it never ends: it sleeps until the stall is over.
    domains.keep_alive = true;
    let Next::Wait(Some(wait)) = domains.next(s(now + 600.0)) else { panic!("not waiting") };
    assert!(matches!(domains.next(s(now + 600.0) + wait), Next::Request(_, _)));
    assert_eq!(of(&[]).next(s(0.0)), Next::Finished);
}

proptest! {
    /// Whatever happens: no request is lost or doubled, none is sent during a cooldown or within a crawl-delay.
    #[test]
    fn nothing_is_lost_doubled_or_sent_too_early(
        hosts in prop::collection::vec(0_usize..3, 1..30),
        steps in prop::collection::vec((0_u64..3000, 0_u8..4, any::<bool>()), 1..120),
    ) {
        let mut domains = of(&[]);
        domains.set_crawl_delay("slow.example.org", s(1.0));
        for (i, host) in hosts.iter().enumerate() {
            domains.insert(s(0.0), ["api.example.com", "slow.example.org", "www.example.net"][*host], format!("{host}/{i}"));
        }
        let (mut flying, mut finished) = (Vec::<(Ticket, String)>::new(), Vec::new());
        let mut now = Duration::ZERO;
        let mut slow_sent: Option<Duration> = None;
        let mut cooling_until = Duration::ZERO;
        for (ms, event, writes) in steps {
            now += Duration::from_millis(ms);
            if writes {
                domains = serde_json::from_str(&serde_json::to_string(&domains).unwrap()).unwrap();
                domains.recover();
                flying.clear();
            }
            match event {
                0 | 1 => if let Next::Request(ticket, request) = domains.next(now) {
                    if request.starts_with("1/") {
                        prop_assert!(slow_sent.is_none_or(|sent| sent + s(1.0) <= now));
                        slow_sent = Some(now);
                    }
                    if request.starts_with("0/") { prop_assert!(cooling_until <= now); }
                    flying.push((ticket, request));
                },
                2 => if let Some((ticket, request)) = flying.pop() {
                    prop_assert_eq!(domains.done(ticket), Some(request.clone()));
                    finished.push(request);
                },
                _ => if let Some((ticket, request)) = flying.pop() {
                    let other = domains.limited(now, ticket, Some(s(3.0)));
                    if request.starts_with("0/") { cooling_until = cooling_until.max(now + s(3.0)); }
                    finished.extend(other);
                },
            }
            prop_assert_eq!(domains.remaining() + finished.len(), hosts.len());
        }
        domains.recover();
        while domains.remaining() > 0 {
            now += s(5.0);
            if let Next::Request(ticket, _) = domains.next(now) { finished.extend(domains.done(ticket)); }
        }
        finished.sort();
        finished.dedup();
        prop_assert_eq!(finished.len(), hosts.len());
    }
}
