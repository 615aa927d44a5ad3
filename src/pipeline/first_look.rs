//! What the first records of a log tell of all of it: what its stamps mean, whether a CDN wrote it, whether it holds the
//! addresses of a proxy instead of the clients'.
//!
//! Only the beginning of a log is looked at, so it costs nothing and does not depend on threads. It is a remark for a
//! person; nothing is counted otherwise for it.
//!
//! Example: of the first 200 clients 190 are in 10.0.0.0/8: the log of a server behind a load balancer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::LazyLock;

use ipnet::IpNet;

use crate::bot::verify::is_private;
use crate::format::client::{self, ClientChoice};
use crate::format::clock::{self, Votes};
use crate::format::layout::Clock;
use crate::format::{Entry, Line, Record};
use crate::tally::distinct::stable_hash;

/// Lines that are looked at.
const LINES: u32 = 200;
/// Fewer records say nothing of the clients.
const MIN_RECORDS: u32 = 100;
/// Rejected lines that are kept for a hint, and bytes of each.
const REJECTED: usize = 20;
const REJECTED_BYTES: usize = 1024;
/// User-Agents behind one address that are more than one client's.
const MANY_USER_AGENTS: usize = 10;

/// What only an edge writes: a piece of a line, and whose it is.
const EDGES: [(&str, &str); 6] = [
    ("x-edge-location", "CloudFront"),
    ("\"EdgeStartTimestamp\"", "Cloudflare"),
    ("\"EdgeColoCode\"", "Cloudflare"),
    ("\"EdgeResponseStatus\"", "Cloudflare"),
    ("\"fastly_info_state\"", "Fastly"),
    ("\"edgeIP\"", "Akamai"),
];

/// Networks that fetch from origins, as their operators publish them.
const CDN_NETWORKS: [(&str, &str); 16] = [
    ("173.245.48.0/20", "Cloudflare"),
    ("103.21.244.0/22", "Cloudflare"),
    ("103.22.200.0/22", "Cloudflare"),
    ("103.31.4.0/22", "Cloudflare"),
    ("141.101.64.0/18", "Cloudflare"),
    ("108.162.192.0/18", "Cloudflare"),
    ("190.93.240.0/20", "Cloudflare"),
    ("188.114.96.0/20", "Cloudflare"),
    ("198.41.128.0/17", "Cloudflare"),
    ("162.158.0.0/15", "Cloudflare"),
    ("104.16.0.0/12", "Cloudflare"),
    ("172.64.0.0/13", "Cloudflare"),
    ("2606:4700::/32", "Cloudflare"),
    ("2400:cb00::/32", "Cloudflare"),
    ("151.101.0.0/16", "Fastly"),
    ("199.232.0.0/16", "Fastly"),
];

/// What was seen so far.
#[derive(Debug, Default)]
pub struct FirstLook {
    lines: u32,
    records: u32,
    votes: Votes,
    edge: Option<&'static str>,
    clients: BTreeMap<IpAddr, (u32, BTreeSet<u64>)>,
    private: u32,
    cdn: BTreeMap<&'static str, u32>,
    /// The first rejected lines, cut.
    rejected: Vec<Vec<u8>>,
}

/// What it comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// What the stamps mean, where the lines tell.
    pub clock: Option<Clock>,
    /// The CDN whose edge wrote the log.
    pub edge: Option<String>,
    /// Whose addresses stand where the clients' belong, in words.
    pub proxy: Option<String>,
    /// The first rejected lines, cut; for a hint.
    pub rejected: Vec<Vec<u8>>,
}

impl FirstLook {
    /// Looks at a line of the log's first block.
    #[inline]
    pub(super) fn line(&mut self, entry: &Entry<'_>, choice: ClientChoice) {
        if self.lines < LINES {
            self.look(entry, choice);
        }
    }

    #[cold]
    fn look(&mut self, entry: &Entry<'_>, choice: ClientChoice) {
        self.lines += 1;
        if self.edge.is_none() {
            let mark =
                |(mark, _): &&(&str, &str)| memchr::memmem::find(entry.line, mark.as_bytes()).is_some();
            let tells = entry.line.starts_with(b"#") || entry.line.starts_with(b"{");
            self.edge = EDGES.iter().filter(|_| tells).find(mark).map(|(_, name)| *name);
        }
        match &entry.outcome {
            Line::Record(record) => self.record(record, entry.line, choice),
            Line::Reject(_) if self.rejected.len() < REJECTED => {
                self.rejected.push(entry.line[..entry.line.len().min(REJECTED_BYTES)].to_vec());
            }
            _ => {}
        }
    }

    fn record(&mut self, record: &Record<'_>, line: &[u8], choice: ClientChoice) {
        static NETWORKS: LazyLock<Vec<(IpNet, &'static str)>> = LazyLock::new(|| {
            CDN_NETWORKS.iter().filter_map(|(network, name)| Some((network.parse().ok()?, *name))).collect()
        });
        self.records += 1;
        self.votes.hear(clock::of(record, line));
        let Some(address) = client::address(client::chosen(record, choice)) else { return };
        let (requests, user_agents) = self.clients.entry(address).or_default();
        *requests += 1;
        user_agents.insert(record.user_agent.map_or(0, stable_hash));
        if is_private(address) {
            self.private += 1;
        } else if let Some((_, name)) = NETWORKS.iter().find(|(network, _)| network.contains(&address)) {
            *self.cdn.entry(name).or_default() += 1;
        }
    }

    /// The log's own; of the other blocks nothing was looked at.
    pub(super) fn merge(&mut self, other: Self) {
        if self.lines == 0 {
            *self = other;
        }
    }

    /// What it comes to.
    #[must_use]
    pub fn remarks(self) -> Remarks {
        Remarks {
            clock: self.votes.verdict(),
            edge: self.edge.map(str::to_owned),
            proxy: self.proxy(),
            rejected: self.rejected,
        }
    }

    fn proxy(&self) -> Option<String> {
        if self.records < MIN_RECORDS {
            return None;
        }
        let percent = |part: u32| part * 100 / self.records;
        if let Some((name, requests)) = self.cdn.iter().max_by_key(|(_, n)| **n)
            && percent(*requests) >= 50
        {
            return Some(format!(
                "{} % of the first {} requests come from {name}",
                percent(*requests),
                self.records
            ));
        }
        if percent(self.private) >= 90 {
            return Some(format!(
                "{} % of the first {} requests come from private addresses",
                percent(self.private),
                self.records
            ));
        }
        let (requests, user_agents) = self.clients.values().max_by_key(|(requests, _)| *requests)?;
        (percent(*requests) >= 90 && user_agents.len() >= MANY_USER_AGENTS).then(|| {
            format!(
                "{} % of the first {} requests come from one address under {} User-Agents",
                percent(*requests),
                self.records,
                user_agents.len()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Parser, ParserOptions};

    fn remarks(lines: impl Iterator<Item = String>) -> Remarks {
        let mut look = FirstLook::default();
        let text: String = lines.map(|line| line + "\n").collect();
        Parser::new(ParserOptions::default())
            .block(text.as_bytes(), |entry| look.line(&entry, ClientChoice::Peer));
        look.remarks()
    }

    fn combined(client: &str, agent: usize, behind: &str) -> String {
        format!(
            "{client} - - [10/Mar/2026:06:25:14 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"Agent/{agent}\"{behind}"
        )
    }

    #[test]
    fn every_network_of_the_table_is_one() {
        for (network, _) in CDN_NETWORKS {
            assert!(network.parse::<IpNet>().is_ok_and(|n| n == n.trunc()), "{network}");
        }
    }

    #[test]
    fn addresses_of_proxies_are_told_by_their_kind() {
        let of = |client: &dyn Fn(usize) -> String, agents: usize, records: usize| {
            remarks((0..records).map(|i| combined(&client(i), i % agents, ""))).proxy.unwrap_or_default()
        };
        assert!(of(&|i| format!("10.0.0.{}", i % 5), 1, 150).contains("100 % of the first 150"));
        assert!(of(&|i| format!("10.0.0.{}", i % 5), 1, 150).contains("private"));
        assert!(of(&|i| format!("162.158.{}.7", i % 200), 1, 100).contains("Cloudflare"));
        assert!(of(&|_| "198.51.100.7".to_owned(), 30, 100).contains("under 30 User-Agents"));
        for (client, agents, records) in [
            ((&|i: usize| format!("10.0.0.{}", i % 5)) as &dyn Fn(usize) -> String, 1, 99),
            (&|_| "198.51.100.7".to_owned(), 3, 100),
            (&|i| format!("198.51.100.{i}"), 30, 200),
            (&|i| if i % 5 == 0 { "198.51.100.7" } else { "10.0.0.1" }.to_owned(), 30, 200),
        ] {
            assert_eq!(of(client, agents, records), "");
        }
    }

    #[test]
    fn an_edge_is_known_by_what_only_edges_write() {
        let w3c = ["#Fields: date time x-edge-location c-ip cs-method cs-uri-stem sc-status", "2026-03-10"];
        assert_eq!(remarks(w3c.iter().map(|l| (*l).to_owned())).edge.as_deref(), Some("CloudFront"));
        let agent = combined("192.0.2.1", 1, "").replace("Agent/1", "x-edge-location");
        assert_eq!(remarks(std::iter::once(agent)).edge, None, "a client cannot say so");
    }

    #[test]
    fn the_clock_and_what_was_rejected_are_kept() {
        let lines =
            (0..300).map(|i| if i < 30 { format!("junk {i}") } else { combined("192.0.2.1", 1, " rt=0.1") });
        let found = remarks(lines);
        assert_eq!(found.clock, Some(Clock::End));
        assert_eq!((found.rejected.len(), &found.rejected[0][..]), (20, &b"junk 0"[..]));
    }
}
