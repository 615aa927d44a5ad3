//! What a careful reader must find in a generated log. Filled while the log is written, so that it needs no parser.
//!
//! Example, as JSON: `{"lines": 10000, "blank": 2, "records": 9989, "bots": {"Googlebot": {"requests": 543, "peak_rpm": 17}}}`

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Requests and their greatest number in one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Load {
    pub(crate) requests: u64,
    pub(crate) peak_rpm: u64,
}

/// One host of the log; `(default)` when the format has no host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Host {
    pub(crate) load: Load,
    /// By bot or group, those with requests only.
    pub(crate) bots: BTreeMap<String, Load>,
}

/// What was written. Groups in parentheses stand among the bots under the names that reports use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Truth {
    pub(crate) file_bytes: u64,
    pub(crate) lines: u64,
    pub(crate) blank: u64,
    pub(crate) directive: u64,
    pub(crate) records: u64,
    pub(crate) rejects: BTreeMap<&'static str, u64>,
    /// Records of named bots.
    pub(crate) bot_records: u64,
    /// The sum of the logged byte counts, all records.
    pub(crate) bytes_sum: u64,
    /// All records.
    pub(crate) status: BTreeMap<u16, u64>,
    /// Records of named bots.
    pub(crate) bot_status: BTreeMap<u16, u64>,
    /// Over all hosts together.
    pub(crate) bots: BTreeMap<String, Load>,
    pub(crate) hosts: BTreeMap<String, Host>,
    /// Distinct error URLs that the variant `high-cardinality` has added.
    pub(crate) distinct_error_urls: u64,
}

impl Load {
    fn json(self) -> Value {
        json!({"requests": self.requests, "peak_rpm": self.peak_rpm})
    }
}

fn loads(map: &BTreeMap<String, Load>) -> Value {
    map.iter().map(|(name, load)| (name.clone(), load.json())).collect()
}

fn by_status(map: &BTreeMap<u16, u64>) -> Value {
    map.iter().map(|(status, count)| (status.to_string(), json!(count))).collect()
}

impl Truth {
    /// The form that `--truth` writes.
    pub(crate) fn json(&self) -> Value {
        let hosts: Value = self
            .hosts
            .iter()
            .map(|(name, host)| {
                let mut value = host.load.json();
                value["bots"] = loads(&host.bots);
                (name.clone(), value)
            })
            .collect();
        json!({
            "file_bytes": self.file_bytes,
            "lines": self.lines,
            "blank": self.blank,
            "directive": self.directive,
            "records": self.records,
            "rejects": self.rejects,
            "bot_records": self.bot_records,
            "bytes_sum": self.bytes_sum,
            "status": by_status(&self.status),
            "bot_status": by_status(&self.bot_status),
            "bots": loads(&self.bots),
            "hosts": hosts,
            "distinct_error_urls": self.distinct_error_urls,
        })
    }
}
