//! The client column: addresses with ports, brackets and zones; the list of an X-Forwarded-For header.
//!
//! It does not decide whom to trust; the caller chooses with [`ClientChoice`].
//!
//! Example of its input: `[2001:db8::5]:50944`

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
    list.strip_prefix(b"\"")
        .and_then(|inner| inner.strip_suffix(b"\""))
        .unwrap_or(list)
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|entry| !entry.is_empty())
}

/// The word of the client that `choice` names, as logged.
#[must_use]
pub fn chosen<'a>(record: &Record<'a>, choice: ClientChoice) -> &'a [u8] {
    match (choice, record.forwarded) {
        (ClientChoice::FirstXff, Some(list)) => {
            let known = |entry: &&[u8]| *entry != b"-" && !entry.eq_ignore_ascii_case(b"unknown");
            forwarded(list).find(known).unwrap_or(record.client)
        }
        _ => record.client,
    }
}

/// All addresses of a line with an X-Forwarded-For list in front, in logged order, the client last; `None` without such
/// a list.
#[must_use]
pub fn chain(record: &Record<'_>) -> Option<Vec<String>> {
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
}
