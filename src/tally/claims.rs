//! Claims to be a bot that could be checked, counted per source: whether the log holds a proxy's addresses, and which
//! addresses somebody may look up.
//!
//! Only lines that claim such a bot come here; people cost nothing. Tallies merge in any order to the same counts.
//! Example: 980 of 1,000 claims fail, all from 10.0.0.7.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use foldhash::fast::RandomState;

use crate::bot::verify::{ClaimCounts, holds_proxy_addresses, is_private};
use crate::tally::table::Verification;

/// Failing addresses that are told apart: one more than the guard against proxies asks for.
const FAILING: usize = 17;
/// Addresses to look up that one source keeps, with their bots: about 64 MiB.
pub const MAX_UNVERIFIED: usize = 1 << 20;

/// Claims of one source.
#[derive(Debug, Default)]
pub struct ClaimTally {
    checkable: u64,
    failed: u64,
    failed_private: u64,
    /// The smallest ones: the same whatever the order of lines.
    failing: BTreeSet<IpAddr>,
    unverified: HashMap<(IpAddr, u32), u64, RandomState>,
    left_out: u64,
}

impl ClaimTally {
    /// Counts one claim that was checked.
    pub fn checked(&mut self, client: Option<IpAddr>, verdict: Verification) {
        if verdict == Verification::NotCheckable {
            return;
        }
        self.checkable += 1;
        if let (Verification::Failed, Some(client)) = (verdict, client) {
            self.failed += 1;
            self.failed_private += u64::from(is_private(client));
            self.failing.insert(client);
            if self.failing.len() > FAILING {
                self.failing.pop_last();
            }
        }
    }

    /// Counts one claim of bot `who` that a reverse name could prove.
    pub fn unverified(&mut self, client: IpAddr, who: u32, requests: u64) {
        let full = self.unverified.len() >= MAX_UNVERIFIED;
        match self.unverified.get_mut(&(client, who)) {
            Some(known) => *known += requests,
            None if full => self.left_out += requests,
            None => {
                self.unverified.insert((client, who), requests);
            }
        }
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: Self) {
        self.checkable += other.checkable;
        self.failed += other.failed;
        self.failed_private += other.failed_private;
        self.failing.extend(other.failing);
        while self.failing.len() > FAILING {
            self.failing.pop_last();
        }
        self.left_out += other.left_out;
        #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for ((client, who), requests) in other.unverified {
            self.unverified(client, who, requests);
        }
    }

    /// Why nothing can be checked in this source: its addresses are those of a proxy. `None` where they are not.
    #[must_use]
    pub fn proxy(&self) -> Option<String> {
        let addresses = self.failing.len();
        let counts = ClaimCounts {
            checkable: self.checkable,
            failed: self.failed,
            failing_addresses: u64::try_from(addresses).unwrap_or(u64::MAX),
            failed_private: self.failed_private,
        };
        holds_proxy_addresses(&counts).then(|| {
            let from = match addresses {
                1 => "one address".to_owned(),
                FAILING.. => "private addresses".to_owned(),
                n => format!("{n} addresses"),
            };
            format!(
                "{} of {} claims to be a bot that can be checked fail, all from {from}",
                self.failed, self.checkable
            )
        })
    }

    /// Addresses to look up by address and bot, and the requests of those that did not fit.
    #[must_use]
    pub fn to_look_up(self) -> (BTreeMap<(IpAddr, u32), u64>, u64) {
        (self.unverified.into_iter().collect(), self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, n])
    }

    #[test]
    fn tallies_merge_in_any_order_to_the_same_judgement() {
        let tally = |from: u8, to: u8| {
            let mut tally = ClaimTally::default();
            for n in from..to {
                (0..10).for_each(|_| tally.checked(Some(address(n % 16)), Verification::Failed));
                tally.unverified(address(n), 3, 2);
            }
            tally
        };
        let (mut ab, mut ba) = (tally(0, 12), tally(12, 20));
        ab.merge(tally(12, 20));
        ba.merge(tally(0, 12));
        assert_eq!(ab.proxy(), ba.proxy());
        assert_eq!(
            ab.proxy().unwrap(),
            "200 of 200 claims to be a bot that can be checked fail, all from 16 addresses"
        );
        assert_eq!(ab.to_look_up(), ba.to_look_up());
    }

    #[test]
    fn seventeen_public_addresses_are_no_proxy_and_names_are_nobody() {
        let mut tally = ClaimTally::default();
        for n in 0..170 {
            tally.checked(Some(address(n % 17)), Verification::Failed);
        }
        assert_eq!(tally.proxy(), None);
        let mut named = ClaimTally::default();
        (0..500).for_each(|_| named.checked(None, Verification::NotCheckable));
        assert_eq!(named.proxy(), None);
    }
}
