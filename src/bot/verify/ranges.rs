//! Range files as operators publish them: finding them in a folder, reading every shape, looking an address up.
//!
//! Example of an input:
//! `{"creationTime": "2026-03-09T14:46:45.000000", "prefixes": [{"ipv4Prefix": "198.51.100.0/27"}]}`

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use ipnet::IpNet;
use serde_json::Value;

use crate::error::Error;
use crate::tally::distinct::stable_hash;

/// The shortest prefixes that are believed: nobody's crawler owns more.
const SHORTEST_V4: u8 = 8;
const SHORTEST_V6: u8 = 19;

/// Names of fields that hold one address or prefix, lower case without `_` and `-`.
const FIELDS: [&str; 16] = [
    "ipv4prefix",
    "ipv6prefix",
    "ipprefix",
    "prefix",
    "cidr",
    "cidrv4",
    "cidrv6",
    "ip",
    "ipaddress",
    "address",
    "ipv4",
    "ipv6",
    "ipv4address",
    "ipv6address",
    "network",
    "subnet",
];

/// Sets of addresses of both protocols: sorted, joined, searched in halves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

impl Ranges {
    fn of(nets: &[IpNet]) -> Self {
        let mut ranges = Self::default();
        for net in nets {
            match net {
                IpNet::V4(n) => ranges.v4.push((n.network().into(), n.broadcast().into())),
                IpNet::V6(n) => ranges.v6.push((n.network().into(), n.broadcast().into())),
            }
        }
        join(&mut ranges.v4);
        join(&mut ranges.v6);
        ranges
    }

    /// Whether the address is in one of the ranges.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(a) => is_in(&self.v4, a.into()),
            IpAddr::V6(a) => is_in(&self.v6, a.into()),
        }
    }
}

/// Sorts ranges and joins those that overlap.
fn join<T: Copy + Ord>(ranges: &mut Vec<(T, T)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let overlap = next.0 <= kept.1;
        if overlap {
            kept.1 = kept.1.max(next.1);
        }
        overlap
    });
}

fn is_in<T: Copy + Ord>(ranges: &[(T, T)], address: T) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= address);
    after.checked_sub(1).is_some_and(|at| address <= ranges[at].1)
}

/// One file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeFile {
    name: String,
    operators: Vec<String>,
    created: Option<i64>,
    hash: u64,
    ranges: Ranges,
}

impl RangeFile {
    /// Reads a file of any known shape.
    ///
    /// # Errors
    ///
    /// See [`super::Verifier::load`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|e| unreadable(path, &e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self::parse(&name, &path.display().to_string(), &bytes)
    }

    fn parse(name: &str, place: &str, bytes: &[u8]) -> Result<Self, Error> {
        let text = visible(bytes);
        let (nets, created) = if text.trim_start().starts_with(['{', '[']) {
            from_json(place, &text)?
        } else {
            (from_lines(place, &text)?, None)
        };
        if nets.is_empty() {
            return Err(Error::usage(place, "expected addresses or prefixes, found none")
                .hint("fetch the file again from its operator, or take it out of the folder"));
        }
        for net in &nets {
            let shortest = if matches!(net, IpNet::V4(_)) { SHORTEST_V4 } else { SHORTEST_V6 };
            if net.prefix_len() < shortest {
                return Err(Error::usage(
                    place,
                    format_args!("the prefix {net} is refused: expected /{shortest} or longer"),
                )
                .hint("so large a range would verify anybody; fetch the file again from its operator"));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            operators: Vec::new(),
            created,
            hash: stable_hash(bytes),
            ranges: Ranges::of(&nets),
        })
    }

    /// The name of the file, without its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whose bots it speaks for, by name.
    #[must_use]
    pub fn operators(&self) -> &[String] {
        &self.operators
    }

    pub(super) fn add_operator(&mut self, operator: &str) {
        if let Err(at) = self.operators.binary_search_by(|o| o.as_str().cmp(operator)) {
            self.operators.insert(at, operator.to_owned());
        }
    }

    /// Its `creationTime` in epoch seconds, if it carries one.
    #[must_use]
    pub fn created(&self) -> Option<i64> {
        self.created
    }

    /// A hash of its bytes, the same on every machine.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The UTC day of [`RangeFile::created`], in days since 1970-01-01.
    #[must_use]
    pub fn created_day(&self) -> Option<i64> {
        self.created.map(|seconds| seconds.div_euclid(86_400))
    }

    /// Whether the file can be expected to hold this client: one that is called `ips-v4` holds no IPv6 addresses.
    #[must_use]
    pub fn is_about(&self, address: IpAddr) -> bool {
        let name = self.name.to_ascii_lowercase();
        match (name.contains("v4"), name.contains("v6")) {
            (true, false) => address.is_ipv4(),
            (false, true) => address.is_ipv6(),
            _ => true,
        }
    }

    /// The addresses.
    #[must_use]
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }
}

#[cold]
fn unreadable(path: &Path, e: &std::io::Error) -> Error {
    Error::usage(path.display(), "cannot read the address ranges")
        .cause(e)
        .hint("--ip-ranges takes a folder of the files that operators publish")
}

/// The files of a folder that may hold ranges, by name; a file stands for itself.
pub(super) fn files_in(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| unreadable(path, &e))? {
        let file = entry.map_err(|e| unreadable(path, &e))?.path();
        let extension = file.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let known = extension.is_none_or(|e| matches!(e.as_str(), "json" | "csv" | "txt"));
        let hidden = file.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        if known && !hidden && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// An error where a file that speaks for no bot holds a whole cloud: it would be no better under another name.
pub(super) fn refuse_clouds(path: &Path) -> Result<(), Error> {
    let bytes = std::fs::read(path).map_err(|e| unreadable(path, &e))?;
    match serde_json::from_str::<Value>(&visible(&bytes)) {
        Ok(json) => refuse_cloud(&path.display().to_string(), &json),
        Err(_) => Ok(()),
    }
}

fn refuse_cloud(place: &str, json: &Value) -> Result<(), Error> {
    if json.get("syncToken").is_none() {
        return Ok(());
    }
    Err(Error::usage(place, "the file is refused: it holds the ranges of a whole cloud (`syncToken`)")
        .hint("take it out of the folder: anybody can rent such an address. Use the file that the bot's operator publishes"))
}

/// The text without invisible characters, which have been published inside of prefixes.
fn visible(bytes: &[u8]) -> String {
    let invisible = |c: &char| matches!(*c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}');
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|c| !invisible(c)).map(|c| if c == '\u{A0}' { ' ' } else { c }).collect()
}

/// An address or a prefix.
fn net_of(text: &str) -> Option<IpNet> {
    let text = text.trim();
    text.parse::<IpNet>().ok().map(|n| n.trunc()).or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

fn from_json(place: &str, text: &str) -> Result<(Vec<IpNet>, Option<i64>), Error> {
    let json: Value = serde_json::from_str(text).map_err(|e| {
        Error::usage(format_args!("{place}:{}", e.line()), "expected JSON, and it breaks off or is damaged")
            .cause(&e)
            .hint("fetch the file again from its operator, or take it out of the folder")
    })?;
    refuse_cloud(place, &json)?;
    let mut nets = Vec::new();
    collect(place, &json, &mut nets)?;
    let created = json.get("creationTime").and_then(Value::as_str).and_then(epoch);
    Ok((nets, created))
}

/// Every string of an array that is an address, and every field whose name says that it is one.
fn collect(place: &str, json: &Value, nets: &mut Vec<IpNet>) -> Result<(), Error> {
    match json {
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::String(text) => nets.extend(net_of(text)),
                    other => collect(place, other, nets)?,
                }
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let Value::String(text) = value else {
                    collect(place, value, nets)?;
                    continue;
                };
                let plain: String =
                    name.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>().to_ascii_lowercase();
                if !FIELDS.contains(&plain.as_str()) || text.trim().is_empty() {
                    continue;
                }
                nets.push(net_of(text).ok_or_else(|| {
                    Error::usage(
                        format_args!("{place}: {name}"),
                        format_args!("expected an address or prefix, found `{text}`"),
                    )
                    .hint("fetch the file again from its operator")
                })?);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Plain text and CSV: the first field of each line; `#` begins a comment. The first line may name the columns.
fn from_lines(place: &str, text: &str) -> Result<Vec<IpNet>, Error> {
    let mut nets = Vec::new();
    let mut header_allowed = true;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let first = line.trim().split([',', ';', '\t', ' ']).next().unwrap_or_default().trim_matches('"');
        if first.is_empty() {
            continue;
        }
        let may_be_header = std::mem::take(&mut header_allowed);
        match net_of(first) {
            Some(net) => nets.push(net),
            None if may_be_header
                && first.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-')) => {}
            None => {
                let found: String = first.chars().take(60).collect();
                return Err(Error::usage(format_args!("{place}:{number}"), format_args!("expected an address or prefix, found `{found}`"))
                    .hint("known shapes: JSON, CSV with the prefix in the first column, one prefix a line with # comments"));
            }
        }
    }
    Ok(nets)
}

/// A date and time as range files write it; without a zone it is UTC.
fn epoch(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp());
    }
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f")
        .ok()
        .or_else(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0))
        .map(|time| time.and_utc().timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> RangeFile {
        RangeFile::parse("a.json", "ranges/a.json", text.as_bytes()).unwrap()
    }

    fn holds(file: &RangeFile, address: &str) -> bool {
        file.ranges().contains(address.parse().unwrap())
    }

    #[test]
    fn every_published_shape_is_read() {
        for text in [
            r#"{"creationTime": "2026-03-09T14:46:45.000000", "prefixes": [{"ipv6Prefix": "2001:db8:66::/48"}, {"ipv4Prefix": "198.51.100.0/27"}]}"#,
            r#"{"ips": [{"ip_address": "198.51.100.5"}, {"ip_address": "2001:db8:66::/48"}]}"#,
            r#"["198.51.100.5", "2001:db8:66::1"]"#,
            r#"[{"ip": "198.51.100.0/24", "ipv6": "2001:db8:66::1", "city": "Somewhere"}]"#,
            r#"{"a": {"prefixes_ipv4": ["198.51.100.0/24"], "by_place": {"x": ["2001:db8::/32", "no address"]}}}"#,
            r#"{"version": "203.0.113.9", "publicIPs": [{"ipv4": "198.51.100.0/24", "ipv6": ""}, {"cidr": "2001:db8:66::/64"}]}"#,
            "# comment\n\n198.51.100.0/24 # first\r\n2001:db8:66::/64\n",
            "ip_prefix,country\n\"198.51.100.0/24\",XX\n2001:db8:66::/48,YY\n",
            "198.51.100.5;x\n2001:db8:66::1\ty",
        ] {
            let file = parsed(text);
            assert!(holds(&file, "198.51.100.5") && holds(&file, "2001:db8:66::1"), "{text}");
            assert!(!holds(&file, "203.0.113.9") && !holds(&file, "198.51.101.5"), "{text}");
        }
    }

    #[test]
    fn invisible_characters_inside_of_prefixes_are_stripped() {
        let file = parsed("\u{FEFF}{\"prefixes\": [{\"ipv4Prefix\": \"198.51.100.0/2\u{200B}7\"}]}");
        assert!(holds(&file, "198.51.100.31") && !holds(&file, "198.51.100.32"));
        assert!(holds(&parsed("\u{200B}198.51.100.0/27\n"), "198.51.100.1"));
    }

    #[test]
    fn the_creation_time_is_kept() {
        let with = |time: &str| {
            parsed(&format!(r#"{{"creationTime": "{time}", "prefixes": ["192.0.2.1"]}}"#)).created()
        };
        assert_eq!(with("1970-01-02T00:00:01.000000"), Some(86_401));
        assert_eq!(with("1970-01-02T01:00:01+01:00"), Some(86_401));
        assert_eq!(with("1970-01-02"), Some(86_400));
        assert_eq!(with("yesterday"), None);
        assert_eq!(parsed("192.0.2.1").created(), None);
    }

    #[test]
    fn what_would_verify_anybody_or_nobody_is_refused() {
        for (text, want) in [
            (r#"{"syncToken": "1", "prefixes": [{"ip_prefix": "192.0.2.0/24"}]}"#, "whole cloud"),
            (r#"{"prefixes": [{"ipv4Prefix": "0.0.0.0/7"}]}"#, "0.0.0.0/7 is refused: expected /8 or longer"),
            ("2001::/18", "2001::/18 is refused: expected /19 or longer"),
            (r#"{"prefixes": []}"#, "found none"),
            ("", "found none"),
            (
                r#"{"prefixes": [{"ipv4Prefix": "192.0.2.0/33"}]}"#,
                "ranges/a.json: ipv4Prefix: expected an address or prefix, found `192.0.2.0/33`",
            ),
            ("192.0.2.1\n192.0.2\n", "ranges/a.json:2: expected an address or prefix, found `192.0.2`"),
            ("<!DOCTYPE html>", "found `<!DOCTYPE`"),
            ("{\n\"prefixes\": [", "ranges/a.json:2: expected JSON"),
        ] {
            let e = RangeFile::parse("a.json", "ranges/a.json", text.as_bytes()).unwrap_err();
            assert!(e.to_string().contains(want), "{e}");
            assert_eq!(e.exit().code(), 2);
        }
        assert!(holds(&parsed("10.0.0.0/8"), "10.255.255.255"));
        assert!(holds(&parsed("2001::/19"), "2001:1fff::1"));
    }

    #[test]
    fn overlapping_ranges_are_joined_and_their_edges_count() {
        let file = parsed("192.0.2.0/25\n192.0.2.0/24\n192.0.2.7\n198.51.100.5\n");
        assert_eq!(file.ranges().v4.len(), 2);
        for (address, want) in [
            ("192.0.1.255", false),
            ("192.0.2.0", true),
            ("192.0.2.200", true),
            ("192.0.2.255", true),
            ("192.0.3.0", false),
            ("198.51.100.5", true),
            ("198.51.100.6", false),
            ("0.0.0.0", false),
            ("255.255.255.255", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(holds(&file, address), want, "{address}");
        }
    }
}
