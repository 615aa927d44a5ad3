//! Runs the cases in `cases/*.toml`: what was typed in which folder, and how it must end.
//!
//! ```toml
//! [[case]]
//! name = "an empty log alone is no data"
//! files = { "empty.log" = "" }
//! [[case.run]]
//! args = ["analyze", "empty.log"]
//! exit = 3
//! stderr_has = ["empty.log"]
//! json = [{ file = "stdout", at = "/totals/lines", is = 0 }]
//! ```
//!
//! A file is its text, or a table that says how it is made ([`Content`]). Several runs of a case share the folder.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::command::{Dir, Output};
use crate::generator::{self, Layout, Options, Size};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    files: BTreeMap<String, Content>,
    run: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Made(Made),
}

/// How a file is made: its bytes from one of the first three, then changed by the others in the order given here.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Made {
    text: Option<String>,
    /// Lines of the log generator, with seed and layout.
    generate: Option<Generate>,
    /// Bytes of 0 to 255.
    bytes: Option<Vec<u8>>,
    /// So many times in a row.
    repeat: Option<usize>,
    gzip: bool,
    /// With `gzip`: so many members with the same content.
    repeat_gzip: usize,
    /// Without so many of the last bytes.
    cut: usize,
    /// Unix permissions, such as 0o000.
    mode: Option<u32>,
    /// A folder; nothing else applies but `mode`.
    folder: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Generate {
    lines: u64,
    seed: u64,
    #[serde(default)]
    vhost: bool,
    #[serde(default)]
    hard_per_mille: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    stdin: String,
    /// Files that are written before this run, over those of the case.
    #[serde(default)]
    files: BTreeMap<String, Content>,
    exit: i32,
    #[serde(default)]
    stdout_has: Vec<String>,
    #[serde(default)]
    stderr_has: Vec<String>,
    #[serde(default)]
    stderr_lacks: Vec<String>,
    stdout_is: Option<String>,
    #[serde(default)]
    json: Vec<JsonCheck>,
    /// Patterns of which each must match a file.
    #[serde(default)]
    exist: Vec<String>,
    /// Patterns of which none may match.
    #[serde(default)]
    missing: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonCheck {
    /// `stdout`, or a pattern that matches one file.
    file: String,
    /// A JSON pointer.
    at: String,
    is: Option<Value>,
    /// The sum of an object's or list's numbers.
    sum: Option<u64>,
    /// Something other than null stands there.
    #[serde(default)]
    set: bool,
}

impl Content {
    fn place(&self, dir: &Dir, name: &str) {
        match self {
            Self::Text(text) => {
                dir.write(name, text);
            }
            Self::Made(made) => made.place(dir, name),
        }
    }
}

impl Made {
    fn place(&self, dir: &Dir, name: &str) {
        if self.folder {
            std::fs::create_dir_all(dir.path().join(name)).expect("a folder is created");
        } else {
            dir.write(name, self.content());
        }
        if let Some(mode) = self.mode {
            use std::os::unix::fs::PermissionsExt;
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(dir.path().join(name), permissions).expect("permissions are set");
        }
    }

    fn content(&self) -> Vec<u8> {
        let mut bytes = match (&self.text, &self.generate, &self.bytes) {
            (Some(text), None, None) => text.as_bytes().to_vec(),
            (None, Some(generate), None) => generate.log(),
            (None, None, Some(bytes)) => bytes.clone(),
            (None, None, None) => Vec::new(),
            _ => panic!("a file has one of text, generate and bytes"),
        };
        if let Some(times) = self.repeat {
            bytes = bytes.repeat(times);
        }
        if self.gzip {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&bytes).expect("a vector takes every byte");
            bytes = encoder.finish().expect("a vector takes every byte").repeat(self.repeat_gzip.max(1));
        }
        bytes.truncate(bytes.len() - self.cut);
        bytes
    }
}

impl Generate {
    fn log(&self) -> Vec<u8> {
        let mut log = Vec::new();
        let layout = if self.vhost { Layout::VhostCombined } else { Layout::Combined };
        let size = Size::Lines(self.lines);
        let options = Options {
            seed: self.seed,
            size,
            layout,
            hard_per_mille: self.hard_per_mille,
            ..Options::default()
        };
        generator::generate(&options, &mut log).expect("a vector takes every byte");
        log
    }
}

impl Run {
    /// What is wrong, one line each.
    fn faults(&self, dir: &Dir) -> Vec<String> {
        for (name, content) in &self.files {
            content.place(dir, name);
        }
        let mut command = dir.command(&self.args).stdin(self.stdin.as_bytes());
        for (name, value) in &self.env {
            command = command.env(name, value);
        }
        let output = command.run();
        let mut faults = Vec::new();
        if output.code() != self.exit {
            faults.push(format!("exit code {} instead of {}", output.code(), self.exit));
        }
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        for (stream, text, parts) in
            [("stdout", &stdout, &self.stdout_has), ("stderr", &stderr, &self.stderr_has)]
        {
            let lacking = parts.iter().filter(|part| !text.contains(part.as_str()));
            faults.extend(lacking.map(|part| format!("no {part:?} on {stream}")));
        }
        let surplus = self.stderr_lacks.iter().filter(|part| stderr.contains(part.as_str()));
        faults.extend(surplus.map(|part| format!("{part:?} on stderr")));
        if self.stdout_is.as_ref().is_some_and(|expected| *expected != stdout) {
            faults.push(format!("stdout is not {:?}", self.stdout_is));
        }
        faults.extend(self.json.iter().filter_map(|check| check.fault(dir, &output)));
        let missing = self.exist.iter().filter(|pattern| dir.glob(pattern).is_empty());
        faults.extend(missing.map(|pattern| format!("no file {pattern}")));
        let present = self.missing.iter().filter(|pattern| !dir.glob(pattern).is_empty());
        faults.extend(present.map(|pattern| format!("there is a file {pattern}")));
        if !faults.is_empty() {
            faults.push(output.told());
        }
        faults
    }
}

impl JsonCheck {
    fn fault(&self, dir: &Dir, output: &Output) -> Option<String> {
        let bytes = if self.file == "stdout" {
            output.stdout.clone()
        } else {
            let found = dir.glob(&self.file);
            let [path] = found.as_slice() else {
                return Some(format!("{} files match {}", found.len(), self.file));
            };
            std::fs::read(path).expect("a file that was found is readable")
        };
        let value: Value = match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(e) => return Some(format!("{}: no JSON: {e}", self.file)),
        };
        let Some(found) = value.pointer(&self.at) else {
            return Some(format!("{}: nothing at {}", self.file, self.at));
        };
        if self.is.is_none() && self.sum.is_none() && !self.set {
            return Some(format!("{}: a check of {} that checks nothing", self.file, self.at));
        }
        let is = self.is.as_ref().is_none_or(|expected| found == expected);
        let sum = self.sum.is_none_or(|expected| sum(found) == expected);
        let set = !self.set || !found.is_null();
        let wanted = (&self.is, &self.sum, self.set);
        (!(is && sum && set))
            .then(|| format!("{}: {} is {found}, wanted (is, sum, set) {wanted:?}", self.file, self.at))
    }
}

fn sum(value: &Value) -> u64 {
    match value {
        Value::Object(map) => map.values().filter_map(Value::as_u64).sum(),
        Value::Array(list) => list.iter().filter_map(Value::as_u64).sum(),
        _ => 0,
    }
}

fn faults_of(case: &Case) -> Vec<String> {
    let dir = Dir::new();
    for (name, content) in &case.files {
        content.place(&dir, name);
    }
    let numbered = case.run.iter().enumerate();
    numbered
        .flat_map(|(number, run)| {
            run.faults(&dir).into_iter().map(move |fault| format!("run {}: {fault}", number + 1))
        })
        .collect()
}

#[test]
fn every_case_in_the_cases_folder_ends_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/cases");
    let mut paths: Vec<_> =
        glob::glob(&format!("{}/*.toml", folder.display())).expect("a pattern").flatten().collect();
    paths.sort();
    assert!(!paths.is_empty(), "no cases in {}", folder.display());
    let mut failed = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a case file is readable");
        let file: CaseFile = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let name = path.file_name().unwrap_or_default().display().to_string();
        for case in &file.case {
            let faults = faults_of(case);
            if !faults.is_empty() {
                failed.push(format!(
                    "{name}: {}\n  {}",
                    case.name,
                    faults.join("\n  ").replace('\n', "\n  ")
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{} cases failed\n\n{}", failed.len(), failed.join("\n\n"));
}

#[test]
fn a_case_that_ends_otherwise_is_told_with_every_fault() {
    let text = r#"
        [[case]]
        name = "impossible"
        [[case.run]]
        args = ["--help"]
        exit = 77
        stderr_has = ["no program says this"]
        exist = ["no-such-file"]
        json = [{ file = "no-such-file", at = "/a", is = 1 }]
    "#;
    let file: CaseFile = toml::from_str(text).expect("a case");
    let faults = faults_of(&file.case[0]).join("\n");
    for part in
        ["instead of 77", "no program says this", "no file no-such-file", "0 files match no-such-file"]
    {
        assert!(faults.contains(part), "{part:?} is not told in: {faults}");
    }
}

#[test]
fn a_misspelt_key_of_a_case_is_refused() {
    let text = "[[case]]\nname = \"x\"\n[[case.run]]\nargs = []\nexitt = 2\n";
    let error = toml::from_str::<CaseFile>(text).map(|_| ()).expect_err("the key is unknown");
    assert!(error.to_string().contains("exitt"), "{error}");
}
