//! The workflow in README.md does what it says: its shell runs here, in a repository with a pull request's change.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::command::Dir;

fn workflow() -> Value {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, behind) = readme.split_once("<!-- workflow:begin -->\n```yaml\n").unwrap();
    serde_saphyr::from_str(behind.split_once("```").unwrap().0).unwrap()
}

fn step<'a>(job: &'a Value, name: &str) -> &'a Value {
    job["steps"].as_array().unwrap().iter().find(|step| step["name"] == name).unwrap()
}

/// As the runner does it: `bash -e`, the job's variables, the program on the path.
fn shell(dir: &Dir, job: &Value, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_crawl-baseline")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(dir.path());
    for (name, value) in job["env"].as_object().unwrap() {
        bash.env(name, value.as_str().unwrap());
    }
    bash.env("BASE", "main").env("PATH", path).env("GITHUB_OUTPUT", dir.path().join("output.txt"));
    bash.output().unwrap()
}

fn git(dir: &Dir, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
    let done = Command::new("git").args(identity).args(args).current_dir(dir.path()).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn sitemap(paths: &[String]) -> String {
    let urls: String =
        paths.iter().map(|p| format!("<url><loc>https://www.example.com{p}</loc></url>")).collect();
    format!("<urlset>{urls}</urlset>")
}

#[test]
fn the_workflow_of_the_readme_plans_a_change_and_gates_it() {
    let workflow = workflow();
    let job = &workflow["jobs"]["gate"];
    assert_eq!(job["timeout-minutes"], 15);
    assert_eq!(
        (&job["env"]["MAX_CONCURRENCY"], &job["env"]["MAX_RPM_THRESHOLD"]),
        (&"3".into(), &"120".into())
    );
    let upload = job["steps"].as_array().unwrap().last().unwrap();
    assert_eq!((&upload["if"], &upload["with"]["retention-days"]), (&"always()".into(), &30.into()));
    let plan = step(job, "Plan what the change adds")["run"].as_str().unwrap();
    let gate = step(job, "Gate")["run"].as_str().unwrap();

    let dir = Dir::new();
    let pages = |n: usize| (0..n).map(|i| format!("/p/{i}")).collect::<Vec<_>>();
    dir.write("sitemap.xml", sitemap(&pages(10))).write("routes/about.js", "1");
    git(&dir, &["init", "--quiet"]);
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "--quiet", "-m", "base"]);
    git(&dir, &["checkout", "--quiet", "-b", "change"]);

    // Nothing that a crawler sees has changed.
    let done = shell(&dir, job, plan);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(std::fs::read_to_string(dir.path().join("output.txt")).unwrap(), "code=3\n");

    // A page more, and a changed route.
    dir.write("sitemap.xml", sitemap(&[pages(11), vec!["/about".to_owned()]].concat()));
    dir.write("routes/about.js", "2").write("output.txt", "");
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "--quiet", "-m", "change"]);
    let done = shell(&dir, job, plan);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(std::fs::read_to_string(dir.path().join("output.txt")).unwrap(), "code=0\n");
    let report: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("report.json")).unwrap()).unwrap();
    assert_eq!(report["queued"], 2);
    assert_eq!(report["hosts"]["www.example.com"]["concurrency"], 3);
    let done = shell(&dir, job, gate);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stdout));

    // The gate fires on a breach (the seed's fourth check), and on a sitemap that is gone.
    let breach = format!("export MAX_RPM_THRESHOLD=1\n{gate}");
    let done = shell(&dir, job, &breach);
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stdout).contains("::error title=rpm-ceiling::www.example.com"));
    // As the check is written: more connections than requests a minute.
    let raised = shell(&dir, job, &format!("export MAX_CONCURRENCY=121\n{plan}\n{gate}"));
    assert_eq!(raised.status.code(), Some(1), "{}", String::from_utf8_lossy(&raised.stdout));
    assert!(String::from_utf8_lossy(&raised.stdout).contains("::error title=concurrency::www.example.com"));
    std::fs::remove_file(dir.path().join("sitemap.xml")).unwrap();
    assert!(!shell(&dir, job, plan).status.success());
}
