//! Which of several manifests is taken, and what happens to damaged ones.

use super::super::{Window, sample};
use super::*;

/// A folder of manifests; each file says when its window ends.
struct Artifacts(tempfile::TempDir);

impl Artifacts {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A manifest whose window ends at `to`, marked by its name.
    fn add(&self, name: &str, to: &str) -> &Self {
        let to = Minute::parse(to).unwrap();
        let manifest = Manifest {
            generator: Some(name.to_owned()),
            window: Some(Window { from: Minute(to.0 - 9), to, minutes_covered: 10 }),
            ..sample::manifest()
        };
        let text = if name.ends_with(".json") { manifest.to_json() } else { manifest.to_yaml() };
        self.add_text(name, &text)
    }

    fn add_text(&self, name: &str, text: &str) -> &Self {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn newest(&self, window_to: &str) -> Previous {
        newest_before(self.0.path(), Minute::parse(window_to).unwrap()).unwrap()
    }

    fn newest_name(&self, window_to: &str) -> Option<String> {
        let previous = self.newest(window_to);
        assert_eq!(previous.warnings, []);
        previous.found.map(|(path, manifest)| {
            let name = manifest.generator.unwrap();
            assert!(path.ends_with(&name), "{path:?}");
            name
        })
    }
}

#[test]
fn the_newest_window_of_an_earlier_date_is_taken() {
    let artifacts = Artifacts::new();
    assert_eq!(artifacts.newest_name("2026-03-10T23:59Z"), None);
    artifacts
        .add("2026-03-09/throttle_manifest_020000.yaml", "2026-03-08T23:59Z")
        .add("2026-03-10/throttle_manifest_020000.json", "2026-03-09T23:59Z")
        .add("2026-03-11/throttle_manifest_020000.yaml", "2026-03-10T23:58Z");
    let second = "2026-03-10/throttle_manifest_020000.json".to_owned();
    assert_eq!(artifacts.newest_name("2026-03-10T23:59Z"), Some(second.clone()));
    assert_eq!(artifacts.newest_name("2026-03-10T00:00Z"), Some(second));
    let third = "2026-03-11/throttle_manifest_020000.yaml".to_owned();
    assert_eq!(artifacts.newest_name("2026-03-11T00:00Z"), Some(third));
    assert_eq!(artifacts.newest_name("2026-03-08T12:00Z"), None);
}

#[test]
fn an_old_log_read_today_does_not_hide_what_is_newer() {
    let artifacts = Artifacts::new();
    artifacts
        .add("2026-03-10/throttle_manifest_020000.yaml", "2026-03-09T23:59Z")
        .add("2026-03-11/throttle_manifest_020000.yaml", "2025-12-31T23:59Z");
    let want = Some("2026-03-10/throttle_manifest_020000.yaml".to_owned());
    assert_eq!(artifacts.newest_name("2026-03-11T23:59Z"), want);
}

#[test]
fn of_equal_windows_the_one_written_last_is_taken() {
    let artifacts = Artifacts::new();
    artifacts
        .add("2026-03-10/throttle_manifest_020000_9.yaml", "2026-03-09T23:59Z")
        .add("2026-03-10/throttle_manifest_020000_10.yaml", "2026-03-09T23:59Z")
        .add("2026-03-10/throttle_manifest_010000_11.yaml", "2026-03-09T23:59Z");
    let want = Some("2026-03-10/throttle_manifest_020000_10.yaml".to_owned());
    assert_eq!(artifacts.newest_name("2026-03-11T23:59Z"), want);
}

#[test]
fn other_files_and_manifests_without_a_window_are_not_looked_at() {
    let artifacts = Artifacts::new();
    artifacts
        .add("throttle_manifest.yaml", "2026-03-09T23:59Z")
        .add("history/throttle_manifest_020000.yaml", "2026-03-09T23:59Z")
        .add("2026-03-10/throttle_manifest_020000.yaml.tmp", "2026-03-09T23:59Z")
        .add("2026-03-10/throttle_manifest_0200.yaml", "2026-03-09T23:59Z")
        .add("2026-03-10/throttle_manifest_020000_x.yaml", "2026-03-09T23:59Z")
        .add_text("2026-03-10/throttle_manifest_020001.yaml", "rate_limiting: {max_retries: 1}\n")
        .add_text("2026-03-12", "a file, not a folder");
    assert_eq!(artifacts.newest_name("2026-03-11T23:59Z"), None);
}

#[test]
fn a_damaged_manifest_is_passed_over_and_said() {
    let artifacts = Artifacts::new();
    artifacts
        .add("2026-03-09/throttle_manifest_020000.yaml", "2026-03-08T23:59Z")
        .add_text("2026-03-10/throttle_manifest_020000.yaml", "window: [\n");
    let previous = artifacts.newest("2026-03-11T23:59Z");
    assert!(previous.found.unwrap().0.ends_with("2026-03-09/throttle_manifest_020000.yaml"));
    let [Warning { code: "previous_unreadable", place, .. }] = &previous.warnings[..] else {
        panic!("{:?}", previous.warnings)
    };
    assert!(place.ends_with("2026-03-10/throttle_manifest_020000.yaml"), "{place}");
}

#[test]
fn a_window_that_stands_late_in_the_file_is_found_too() {
    let artifacts = Artifacts::new();
    let padding = "# a long comment\n".repeat(1000);
    let window = "window: {from: 2026-03-09T00:00Z, to: 2026-03-09T23:59Z, minutes_covered: 5}\n";
    artifacts
        .add("2026-03-09/throttle_manifest_020000.yaml", "2026-03-08T23:59Z")
        .add_text("2026-03-10/throttle_manifest_020000.yaml", &format!("{padding}{window}"));
    let previous = artifacts.newest("2026-03-11T23:59Z");
    assert!(previous.found.unwrap().0.ends_with("2026-03-10/throttle_manifest_020000.yaml"));
}

#[test]
fn the_head_of_a_written_manifest_shows_its_window() {
    let artifacts = Artifacts::new();
    let (yaml, json) =
        ("2026-03-10/throttle_manifest_020000.yaml", "2026-03-10/throttle_manifest_020000.json");
    artifacts.add(yaml, "2026-03-09T23:59Z").add(json, "2026-03-09T23:59Z");
    for name in [yaml, json] {
        assert_eq!(peek(&artifacts.0.path().join(name)), Minute::parse("2026-03-09T23:59Z"), "{name}");
    }
}
