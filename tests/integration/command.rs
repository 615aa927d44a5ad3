//! Runs the built program in a folder of its own and checks how it ended. Not what the program should do: tests say that.
//!
//! Example: `Dir::new().write("a.log", line).command(["parse", "a.log"]).run().exit(0).stdout_has("Googlebot")`

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than any test should take on a busy machine; a program that hangs fails its test.
const PATIENCE: Duration = Duration::from_secs(120);

/// A temporary folder that is the program's current folder, gone when dropped.
pub(crate) struct Dir(tempfile::TempDir);

impl Dir {
    pub(crate) fn new() -> Self {
        Self(tempfile::Builder::new().prefix("crawl-baseline-").tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file below the folder, its parents too.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders are created");
        std::fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        self
    }

    /// What matches a pattern below the folder, sorted.
    pub(crate) fn glob(&self, pattern: &str) -> Vec<PathBuf> {
        let whole = format!("{}/{pattern}", self.path().display());
        let mut found: Vec<PathBuf> = glob::glob(&whole).expect("a pattern").flatten().collect();
        found.sort();
        found
    }

    /// The program, to be run here. Its environment holds nothing but `PATH` and a `HOME` of its own.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut inner = std::process::Command::new(env!("CARGO_BIN_EXE_crawl-baseline"));
        inner.current_dir(self.path()).env_clear().env("HOME", self.path()).args(args);
        for kept in ["PATH", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(kept) {
                inner.env(kept, value);
            }
        }
        inner.stdout(Stdio::piped()).stderr(Stdio::piped());
        Command { inner, stdin: Vec::new() }
    }
}

/// The program before it runs.
pub(crate) struct Command {
    inner: std::process::Command,
    stdin: Vec<u8>,
}

impl Command {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.inner.env(name, value);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sends stdout to this file instead of the test.
    pub(crate) fn stdout_to(mut self, file: std::fs::File) -> Self {
        self.inner.stdout(file);
        self
    }

    /// Runs to the end.
    pub(crate) fn run(self) -> Output {
        let input = self.stdin.clone();
        let mut running = self.spawn();
        let mut pipe = running.child.stdin.take().expect("stdin is a pipe");
        // A program that does not read its input closes the pipe: no fault.
        let writer = thread::spawn(move || drop(pipe.write_all(&input)));
        let output = running.wait();
        writer.join().expect("the writer ends with the program");
        output
    }

    /// Starts it and returns; standard input stays open until [`Running::child`]'s end of it is dropped.
    pub(crate) fn spawn(mut self) -> Running {
        let told = format!("{:?}", self.inner);
        let mut child = self.inner.stdin(Stdio::piped()).spawn().unwrap_or_else(|e| panic!("{told}: {e}"));
        let stdout = child.stdout.take().map(read_all);
        let stderr = child.stderr.take().map(read_all);
        Running { told, child, stdout, stderr }
    }

    /// Starts it, reads one line of its output and closes the pipe, as `| head -n 1` does.
    pub(crate) fn run_into_head(mut self) -> Output {
        let told = format!("{:?}", self.inner);
        let mut child = self.inner.stdin(Stdio::null()).spawn().unwrap_or_else(|e| panic!("{told}: {e}"));
        let mut stdout = child.stdout.take().expect("stdout is a pipe");
        let mut first = Vec::new();
        let mut byte = [0];
        while first.last() != Some(&b'\n') && stdout.read(&mut byte).expect("the pipe is readable") == 1 {
            first.push(byte[0]);
        }
        drop(stdout);
        let stderr = child.stderr.take().map(read_all);
        let mut output = Running { told, child, stdout: None, stderr }.wait();
        output.stdout = first;
        output
    }
}

fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        pipe.read_to_end(&mut all).expect("the pipe is readable");
        all
    })
}

/// The program while it runs.
pub(crate) struct Running {
    told: String,
    pub(crate) child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Running {
    /// Waits until the program has a handler for the signal with this number, so that a test does not race with it.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait_for_handler(&mut self, signal: u32) {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let status =
                std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let mask = caught.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
            if mask & (1 << (signal - 1)) != 0 {
                return;
            }
            assert!(
                self.child.try_wait().expect("a child").is_none(),
                "{}: ended before it had a handler",
                self.told
            );
            thread::sleep(Duration::from_millis(2));
        }
        panic!("{}: never handled signal {signal}", self.told);
    }

    /// Sends a signal by its name, `INT` or `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let status =
            std::process::Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(status.expect("kill is installed").success(), "{}: kill -s {name} failed", self.told);
    }

    /// Waits for the end; kills it and panics when that takes too long.
    pub(crate) fn wait(mut self) -> Output {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if start.elapsed() > PATIENCE {
                drop(self.child.kill());
                panic!("{}: still running after {PATIENCE:?}", self.told);
            }
            thread::sleep(Duration::from_millis(2));
        };
        let took = start.elapsed();
        let text =
            |pipe: Option<JoinHandle<Vec<u8>>>| pipe.map(|p| p.join().expect("a reader")).unwrap_or_default();
        Output { told: self.told, status, took, stdout: text(self.stdout), stderr: text(self.stderr) }
    }
}

/// How the program ended. Every check panics with all that it said.
pub(crate) struct Output {
    told: String,
    status: ExitStatus,
    /// From the call of `run` or `wait` on.
    pub(crate) took: Duration,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Output {
    /// The code, or 128 + the signal that killed it, as a shell sees it.
    pub(crate) fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.status.code().or_else(|| self.status.signal().map(|signal| 128 + signal)).expect("it ended")
    }

    /// Everything a person needs to see why a check failed.
    pub(crate) fn told(&self) -> String {
        let mut text = format!("{}\nexit: {}", self.told, self.status);
        for (name, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let whole = String::from_utf8_lossy(bytes);
            let shown: String = whole.chars().take(4000).collect();
            write!(text, "\n--- {name} ({} bytes)\n{shown}", bytes.len()).expect("a string takes text");
        }
        text
    }

    #[track_caller]
    pub(crate) fn exit(&self, expected: i32) -> &Self {
        assert_eq!(self.code(), expected, "exit code\n{}", self.told());
        self
    }

    #[track_caller]
    pub(crate) fn stdout_has(&self, part: &str) -> &Self {
        assert!(
            String::from_utf8_lossy(&self.stdout).contains(part),
            "no {part:?} on stdout\n{}",
            self.told()
        );
        self
    }

    #[track_caller]
    pub(crate) fn stderr_has(&self, part: &str) -> &Self {
        assert!(
            String::from_utf8_lossy(&self.stderr).contains(part),
            "no {part:?} on stderr\n{}",
            self.told()
        );
        self
    }

    #[track_caller]
    pub(crate) fn stderr_is_empty(&self) -> &Self {
        assert!(self.stderr.is_empty(), "something on stderr\n{}", self.told());
        self
    }

    /// All of stdout as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("stdout is no JSON: {e}\n{}", self.told()))
    }
}
