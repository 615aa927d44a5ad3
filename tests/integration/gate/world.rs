//! A folder in which every check passes, to be broken by tests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::Duration;

use crawl_baseline::artifact::{Artifact, OutputFolder};
use crawl_baseline::simulate::{HostSettings, LatencyCurve, OriginModel, Pace, Page, Settings, simulate};
use crawl_baseline::throttle::{HostLimits, Limits, Rate};
use serde_json::{Value, json};

use crate::command::{Dir, Output};

pub(super) const HOST: &str = "www.example.com";
pub(super) const NOW: &str = "2026-03-11T02:00:00Z";

/// One day of a bot that asks 100 times in each of two minutes, evenly, answered with these statuses in turn.
fn log(day: u32, statuses: &[u32]) -> String {
    let mut log = String::new();
    for i in 0..200 {
        let (minute, second) = (25 + i / 100, i % 100 * 60 / 100);
        let status = statuses[i % statuses.len()];
        writeln!(
            log,
            "192.0.2.10 - - [{day:02}/Mar/2026:06:{minute}:{second:02} +0000] \"GET /p/{i} HTTP/1.1\" {status} 512 \"-\" \
             \"Mozilla/5.0 (compatible; ExampleBot/1.0; +https://bot.example/info)\" rt=0.120"
        )
        .unwrap();
    }
    log
}

/// A plan of 200 pages at 100 a minute over links that reach them all.
pub(super) fn report() -> Value {
    let pages: Vec<Page> =
        (0..200).map(|i| Page::new(&format!("https://{HOST}/p/{i:03}"), HOST, 1.0)).collect();
    let of_host = HostSettings {
        pace: Some(Pace { rate: Rate::per_minute(100).unwrap(), burst: 1 }),
        concurrency: Some(3),
        origin: OriginModel {
            latency: LatencyCurve::flat(Duration::from_millis(100)),
            ..OriginModel::default()
        },
        ..HostSettings::default()
    };
    let limits = Limits {
        hosts: BTreeMap::from([(HOST.to_owned(), HostLimits { per_minute: Some(100), per_hour: None })]),
        ..Limits::default()
    };
    let settings =
        Settings { limits, hosts: BTreeMap::from([(HOST.to_owned(), of_host)]), ..Settings::default() };
    let mut report = serde_json::to_value(simulate(&pages, &settings).unwrap()).unwrap();
    report["inputs"]["links"] = json!("sha256:00");
    report
}

pub(super) fn manifest(generated_at: &str) -> String {
    format!(
        "schema_version: \"1.0\"\ngenerated_at: {generated_at}\ndomain_overrides:\n  {HOST}:\n    max_requests_per_minute: 120\n    \
         max_burst_capacity: 1\n    enforce_burst: 1\n    max_concurrency: 3\n    bots:\n      ExampleBot: {{max_requests_per_minute: 120, max_burst_capacity: 1, enforce_burst: 1}}\n"
    )
}

/// A folder in which every check passes, also with `--fail-on note`.
pub(super) struct World {
    pub(super) dir: Dir,
    pub(super) report: Value,
    pub(super) baseline: Value,
    pub(super) normalized: Value,
}

impl World {
    pub(super) fn new() -> Self {
        type Files = Vec<(String, Vec<u8>)>;
        /// Files by name, and the baseline: two analyses are dear, a world is needed often.
        static MADE: OnceLock<(Files, Value)> = OnceLock::new();
        let (files, baseline) = MADE.get_or_init(|| {
            let (dir, baseline) = Self::make();
            let files = dir.glob("**/*").into_iter().filter(|path| path.is_file()).map(|path| {
                let name = path.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned();
                (name, std::fs::read(path).unwrap())
            });
            (files.collect(), baseline)
        });
        let dir = Dir::new();
        for (name, bytes) in files {
            dir.write(name, bytes);
        }
        let urls: Vec<Value> = (0..6)
            .map(|i| json!({"url": format!("https://{HOST}/{i}"), "urls_merged": if i < 4 { 2 } else { 1 }}))
            .collect();
        let normalized = json!({"schema_version": 1, "urls": urls});
        let world = Self { dir, report: report(), baseline: baseline.clone(), normalized };
        world.write();
        world.dir.write("manifest.yaml", manifest("2026-03-10T02:00:00Z"));
        world
    }

    /// The output folder, the history of the day before, the baseline.
    fn make() -> (Dir, Value) {
        let dir = Dir::new();
        dir.write("before.log", log(9, &[200])).write("night.log", log(10, &[200]));
        for (name, extra) in [("before", "history"), ("night", "other-history")] {
            let (log, json) = (format!("{name}.log"), format!("{name}.json"));
            let args = ["analyze", &log, "--host", HOST, "--now", NOW, "--output-json", &json, "--quiet"];
            dir.command(args.into_iter().chain(["--output-dir", "elsewhere", "--history", extra]))
                .run()
                .exit(0);
        }
        let output = OutputFolder::new(dir.path().join("artifacts"));
        let mut dated = output.dated(NOW.parse().unwrap());
        for kind in [Artifact::Baseline, Artifact::NormalizedUrls, Artifact::BudgetReport] {
            dated.write(kind, |file| Ok(file.write_all(b"{}")?)).unwrap();
        }
        dated.write_checksums().unwrap();
        let text = std::fs::read_to_string(dir.path().join("night.json")).unwrap();
        let mut baseline: Value = serde_json::from_str(&text).unwrap();
        baseline["hosts"][HOST]["bots"]["ExampleBot"]["verification"] =
            json!({"verified": 95, "failed": 5, "not_checkable": 100});
        (dir, baseline)
    }

    pub(super) fn write(&self) {
        for (name, value) in
            [("report", &self.report), ("baseline", &self.baseline), ("normalized", &self.normalized)]
        {
            self.dir.write(&format!("{name}.json"), serde_json::to_string_pretty(value).unwrap());
        }
    }

    /// With everything given.
    pub(super) fn gate(&self, args: &[&str]) -> Output {
        let all = [
            "gate",
            "--report",
            "report.json",
            "--baseline",
            "baseline.json",
            "--manifest",
            "manifest.yaml",
            "--normalized",
            "normalized.json",
            "--output-dir",
            "artifacts",
            "--history",
            "history",
            "--now",
            NOW,
            "--concurrency",
            "3",
        ];
        self.dir.command(all.iter().chain(args)).run()
    }

    pub(super) fn bot(&mut self) -> &mut Value {
        &mut self.baseline["hosts"][HOST]["bots"]["ExampleBot"]
    }

    pub(super) fn planned(&mut self) -> &mut Value {
        &mut self.report["hosts"][HOST]
    }
}
