//! A reference in Python, where there is one beside the source tree: `shared/oracle`. Without it, or without Python, the
//! tests that compare say so and pass.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the reference, if it has this program and Python is installed.
#[expect(clippy::print_stdout, reason = "a test that compares nothing has to say so")]
pub(crate) fn oracle(program: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found =
        root.ancestors().skip(1).take(2).map(|a| a.join("shared/oracle")).find(|f| f.join(program).is_file());
    let python = Command::new("python3").arg("--version").output().is_ok_and(|o| o.status.success());
    if found.is_none() || !python {
        println!("skipped: no {program} beside the source tree, or no python3");
    }
    found.filter(|_| python)
}

/// What a Python program says that may import the reference, given this input.
pub(crate) fn ask(folder: &Path, program: &str, input: &str) -> String {
    let mut child = Command::new("python3")
        .args(["-c", program])
        .env("PYTHONPATH", folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("a thread").expect("it reads its input");
    assert!(output.status.success(), "the reference failed");
    String::from_utf8(output.stdout).expect("text")
}
