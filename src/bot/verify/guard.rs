//! When failing claims say more about the log than about the clients: it may hold the addresses of a proxy.
//!
//! Pure functions over counts; the caller counts and decides what to say.
//!
//! Example: 980 of 1,000 requests that say `Googlebot` come from 10.0.0.7, the load balancer.

use std::net::IpAddr;

use ipnet::IpNet;

/// Counts of one source over all claims that could be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClaimCounts {
    /// Requests whose verdict was `verified` or `failed`.
    pub checkable: u64,
    /// Requests among them that failed.
    pub failed: u64,
    /// Distinct addresses of the failed ones; exact up to 17.
    pub failing_addresses: u64,
    /// Failed requests from private addresses, see [`is_private`].
    pub failed_private: u64,
}

/// At least 95 % of at least 100 checkable requests fail, and they come from at most 16 addresses or at least 90 % of
/// them from private ones.
///
/// ```
/// use crawl_baseline::bot::verify::{ClaimCounts, holds_proxy_addresses};
/// let behind_a_proxy = ClaimCounts { checkable: 1_000, failed: 980, failing_addresses: 1, failed_private: 980 };
/// assert!(holds_proxy_addresses(&behind_a_proxy));
/// let spoofed = ClaimCounts { checkable: 1_000, failed: 700, failing_addresses: 1, failed_private: 0 };
/// assert!(!holds_proxy_addresses(&spoofed));
/// ```
#[must_use]
pub fn holds_proxy_addresses(counts: &ClaimCounts) -> bool {
    let share = |part: u64, whole: u64, percent: u128| u128::from(part) * 100 >= u128::from(whole) * percent;
    counts.checkable >= 100
        && share(counts.failed, counts.checkable, 95)
        && (counts.failing_addresses <= 16 || share(counts.failed_private, counts.failed, 90))
}

/// Whether an address cannot come from the Internet: private, shared (100.64.0.0/10), link-local, unique local or
/// loopback.
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(a) => {
            let [first, second, ..] = a.octets();
            a.is_private() || a.is_loopback() || a.is_link_local() || (first == 100 && second & 0xC0 == 64)
        }
        IpAddr::V6(a) => a.is_loopback() || a.is_unique_local() || a.is_unicast_link_local(),
    }
}

/// The network that failing clients are shown by: /24 of IPv4, /48 of IPv6.
#[must_use]
pub fn network_of(address: IpAddr) -> IpNet {
    let address = address.to_canonical();
    let length = if address.is_ipv4() { 24 } else { 48 };
    IpNet::new(address, length).unwrap_or_else(|_| IpNet::from(address)).trunc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_of_the_guard_counts() {
        let proxy = ClaimCounts { checkable: 100, failed: 95, failing_addresses: 16, failed_private: 0 };
        assert!(holds_proxy_addresses(&proxy));
        assert!(!holds_proxy_addresses(&ClaimCounts { checkable: 99, ..proxy }));
        assert!(!holds_proxy_addresses(&ClaimCounts { failed: 94, ..proxy }));
        assert!(!holds_proxy_addresses(&ClaimCounts { failing_addresses: 17, ..proxy }));
        let pods = ClaimCounts { checkable: 200, failed: 200, failing_addresses: 40, failed_private: 180 };
        assert!(holds_proxy_addresses(&pods));
        assert!(!holds_proxy_addresses(&ClaimCounts { failed_private: 179, ..pods }));
        assert!(!holds_proxy_addresses(&ClaimCounts::default()));
    }

    #[test]
    fn private_addresses_of_both_protocols() {
        for address in [
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in ["192.0.2.1", "100.128.0.1", "172.32.0.1", "2001:db8::1"] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn clients_are_shown_by_their_network() {
        assert_eq!(network_of("192.0.2.77".parse().unwrap()).to_string(), "192.0.2.0/24");
        assert_eq!(network_of("::ffff:192.0.2.77".parse().unwrap()).to_string(), "192.0.2.0/24");
        assert_eq!(network_of("2001:db8:1:2::3".parse().unwrap()).to_string(), "2001:db8:1::/48");
    }
}
