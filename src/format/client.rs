//! The client column: addresses with ports, brackets and zones; the list of an X-Forwarded-For header.
//!
//! It does not decide whom to trust; the caller chooses with [`ClientChoice`].
//!
//! Example of its input: `[2001:db8::5]:50944`

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::IpNet;
use regex::bytes::Regex;

use super::escape::{printable, unescape};
use super::record::Record;

/// Which address of a line is the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientChoice {
    /// The nearest one: nobody can forge it.
    #[default]
    Peer,
    /// The first of the X-Forwarded-For list in front, where there is one: whatever the client wrote.
    FirstXff,
    /// The nearest one that is in none of these networks: what the last proxy of one's own saw. The networks live as long
    /// as the process, so that a choice can be copied.
    LastUntrusted(&'static [IpNet]),
}

/// The address in a word; port, brackets and zone dropped, IPv4-mapped IPv6 as IPv4. `None` for a name.
#[must_use]
pub fn address(word: &[u8]) -> Option<IpAddr> {
    // Names end here without the cost of a parse.
    if word.len() < 2
        || word.len() > 80
        || !matches!(word[0], b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b':' | b'[')
    {
        return None;
    }
    if let Some(inner) = word.strip_prefix(b"[") {
        let end = memchr::memchr(b']', inner)?;
        let port = &inner[end + 1..];
        let good = port.is_empty() || matches!(port, [b':', digits @ ..] if self::port(digits).is_some());
        return if good { ipv6(&inner[..end]) } else { None };
    }
    match memchr::memchr(b':', word) {
        None => ipv4(word),
        Some(colon) if memchr::memchr(b':', &word[colon + 1..]).is_none() => {
            port(&word[colon + 1..])?;
            ipv4(&word[..colon])
        }
        Some(_) => ipv6(word),
    }
}

/// A port number in decimal digits.
pub(super) fn port(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() || digits.len() > 5 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn ipv4(word: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(word).ok()?.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

fn ipv6(word: &[u8]) -> Option<IpAddr> {
    let end = memchr::memchr(b'%', word).unwrap_or(word.len());
    let address = std::str::from_utf8(&word[..end]).ok()?.parse::<Ipv6Addr>().ok()?;
    Some(IpAddr::V6(address).to_canonical())
}

/// The client as it is printed: a canonical address, else the name as logged with escapes undone; `None` for `-` and
/// nothing.
#[must_use]
pub fn printed(word: &[u8]) -> Option<String> {
    if word.is_empty() || word == b"-" {
        return None;
    }
    match address(word) {
        Some(address) => Some(address.to_string()),
        None => Some(printable(&unescape(word)).into_owned()),
    }
}

/// The entries of an X-Forwarded-For list, blanks and quotes around it dropped.
pub fn forwarded(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    without_quotes(list).split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|entry| !entry.is_empty())
}

fn without_quotes(list: &[u8]) -> &[u8] {
    list.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(list)
}

/// The word of the client that `choice` names, as logged.
#[must_use]
pub fn chosen<'a>(record: &Record<'a>, choice: ClientChoice) -> &'a [u8] {
    match (choice, record.forwarded) {
        (ClientChoice::FirstXff, Some(list)) => {
            let known = |entry: &&[u8]| *entry != b"-" && !entry.eq_ignore_ascii_case(b"unknown");
            forwarded(list).find(known).unwrap_or(record.client)
        }
        (ClientChoice::LastUntrusted(trusted), list) => {
            last_untrusted(record.client, list.unwrap_or_default(), trusted)
        }
        _ => record.client,
    }
}

/// From the peer backwards through the list, past every proxy that is trusted. What is no address was written by
/// somebody whom nobody can name: then the last one that is known counts.
fn last_untrusted<'a>(peer: &'a [u8], list: &'a [u8], trusted: &[IpNet]) -> &'a [u8] {
    // A socket of this machine is a proxy on this machine.
    let trusts = |word: &[u8]| {
        word == b"unix:" || address(word).is_some_and(|a| trusted.iter().any(|network| network.contains(&a)))
    };
    let mut client = peer;
    if !trusts(peer) {
        return peer;
    }
    for entry in without_quotes(list).rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        if address(entry).is_none() {
            return client;
        }
        client = entry;
        if !trusts(entry) {
            break;
        }
    }
    client
}

/// An address with its host part zeroed: /24 of IPv4, /48 of IPv6.
#[must_use]
pub fn masked(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(a) => {
            let [a, b, c, _] = a.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, 0))
        }
        IpAddr::V6(a) => {
            let [a, b, c, ..] = a.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
    }
}

/// A text in which the host part of whatever may be an address is zeroed.
#[must_use]
pub fn mask_addresses(text: &[u8]) -> Cow<'_, [u8]> {
    // Anywhere, in longer runs of digits too: a torn line may glue an address to what stood before it.
    static IPV4: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?-u)([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.)[0-9]{1,3}")
            .expect("a constant that a test compiles")
    });
    static IPV6: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?-u)[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")
            .expect("a constant that a test compiles")
    });
    let replaced = IPV6.replace_all(text, |found: &regex::bytes::Captures<'_>| {
        let run = found.get(0).map_or(&b""[..], |m| m.as_bytes());
        let word = run.strip_suffix(b":").filter(|rest| !rest.ends_with(b":")).unwrap_or(run);
        match address(word) {
            Some(address) => [masked(address).to_string().as_bytes(), &run[word.len()..]].concat(),
            None => run.to_vec(),
        }
    });
    match IPV4.replace_all(&replaced, &b"${1}0"[..]) {
        Cow::Owned(both) => Cow::Owned(both),
        Cow::Borrowed(_) => replaced,
    }
}

/// As [`printed`], the host part zeroed; a name says who it is and is left out.
#[must_use]
pub fn printed_masked(word: &[u8]) -> Option<String> {
    address(word).map(|address| masked(address).to_string())
}

/// All addresses of a line with an X-Forwarded-For list in front, in logged order, the client last; `None` without such
/// a list.
#[must_use]
pub fn chain(record: &Record<'_>) -> Option<Vec<String>> {
    chain_as(record, printed)
}

/// As [`chain`], each address as [`printed_masked`].
#[must_use]
pub fn chain_masked(record: &Record<'_>) -> Option<Vec<String>> {
    chain_as(record, printed_masked)
}

fn chain_as(record: &Record<'_>, printed: fn(&[u8]) -> Option<String>) -> Option<Vec<String>> {
    let list = record.forwarded?;
    let entries: Vec<String> = forwarded(list).chain([record.client]).filter_map(printed).collect();
    (entries.len() > 1).then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_port_brackets_and_zone() {
        for (word, want) in [
            ("192.0.2.10", "192.0.2.10"),
            ("192.0.2.10:50944", "192.0.2.10"),
            ("2001:db8::", "2001:db8::"),
            ("2001:DB8:0::5", "2001:db8::5"),
            ("[2001:db8::5]", "2001:db8::5"),
            ("[2001:db8::5]:50944", "2001:db8::5"),
            ("fe80::10%eth0", "fe80::10"),
            ("[fe80::10%eth0]:1", "fe80::10"),
            ("::ffff:192.0.2.9", "192.0.2.9"),
            ("::1", "::1"),
        ] {
            assert_eq!(address(word.as_bytes()).map(|a| a.to_string()).as_deref(), Some(want), "{word}");
        }
    }

    #[test]
    fn names_are_no_addresses() {
        for word in [
            "",
            "-",
            "www.example.com",
            "unix:",
            "192.0.2",
            "192.0.2.10:",
            "192.0.2.10:99999",
            "[2001:db8::5]x",
            "10",
            "abc",
        ] {
            assert_eq!(address(word.as_bytes()), None, "{word}");
        }
        assert_eq!(printed(b"unix:").as_deref(), Some("unix:"));
        assert_eq!(printed(b"-"), None);
    }

    #[test]
    fn the_last_untrusted_is_found_behind_all_proxies_of_ones_own() {
        let trusted: [IpNet; 3] =
            ["10.0.0.0/8", "198.51.100.0/24", "2001:db8:1::/48"].map(|n| n.parse().unwrap());
        for (peer, list, want) in [
            ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
            ("10.0.0.1", "1.2.3.4, 203.0.113.9, 198.51.100.7", "203.0.113.9"),
            ("10.0.0.1", "\"203.0.113.9, 10.1.1.1\"", "203.0.113.9"),
            ("10.0.0.1:4711", "203.0.113.9:99", "203.0.113.9:99"),
            // Whoever is not trusted says nothing that counts.
            ("203.0.113.1", "66.249.66.1", "203.0.113.1"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("10.0.0.1", "unknown", "10.0.0.1"),
            ("10.0.0.1", "66.249.66.1, unknown, 10.2.2.2", "10.2.2.2"),
            ("10.0.0.1", "10.3.3.3, 10.2.2.2", "10.3.3.3"),
            ("unix:", "203.0.113.9", "203.0.113.9"),
            ("2001:db8:1::5", "2001:db8:2::7", "2001:db8:2::7"),
            ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
            ("-", "203.0.113.9", "-"),
        ] {
            let found = last_untrusted(peer.as_bytes(), list.as_bytes(), &trusted);
            assert_eq!(String::from_utf8_lossy(found), want, "{peer} {list}");
        }
    }

    #[test]
    fn host_parts_are_zeroed_wherever_an_address_stands() {
        for (text, want) in [
            ("192.0.2.77 - - [10/Mar/2026:06:25:14 +0000]", "192.0.2.0 - - [10/Mar/2026:06:25:14 +0000]"),
            ("Bot/1192.0.2.77:443, 203.0.113.200", "Bot/1192.0.2.0:443, 203.0.113.0"),
            ("[2001:db8:1:2::3]:80 x", "[2001:db8:1::]:80 x"),
            ("2001:DB8:1:2:3:4:5:6 a", "2001:db8:1:: a"),
            ("\"::ffff:192.0.2.77\"", "\"192.0.2.0\""),
            ("fe80::7%eth0", "fe80::%eth0"),
            ("06:25:14 10:00:00", "06:25:14 10:00:00"),
            ("std::x a:b", "std::x a:b"),
            ("no address", "no address"),
        ] {
            assert_eq!(String::from_utf8_lossy(&mask_addresses(text.as_bytes())), want, "{text}");
        }
        assert_eq!(printed_masked(b"[2001:db8:1:2::3]:80").as_deref(), Some("2001:db8:1::"));
        assert_eq!(printed_masked(b"host7.example.net"), None);
    }
}
