//! `normalize` as a user meets it: every situation of the normaliser's cases, large lists, pipes that close, full disks.
//!
//! Example: `/a/./b/../c` in a list of one line must have the key `/a/c`.

use std::path::Path;

use serde_json::Value;

use crate::command::Dir;

const NOW: &str = "2026-03-11T02:00:00Z";

fn normalized(list: &str, args: &[&str]) -> Value {
    let dir = Dir::new();
    dir.write("urls.txt", list);
    let base = ["normalize", "--url-list", "urls.txt", "--output-json", "-", "--now", NOW];
    dir.command([&base, args].concat()).run().exit(0).json()
}

fn keys(list: &str, args: &[&str]) -> Vec<String> {
    let json = normalized(list, args);
    let urls = json["urls"].as_array().expect("a list");
    urls.iter().map(|row| row["url_key"].as_str().expect("a text").to_owned()).collect()
}

/// The situations by their number, each with what must hold.
fn situation(id: &str) -> bool {
    match id {
        "N06" => {
            let json = normalized("HTTPS://E.example/A?utm_source=x\n/b#c\n", &[]);
            for row in json["urls"].as_array().expect("a list") {
                assert!(
                    row["url"].is_string() && row["url_key"].is_string() && row["url"] != row["url_key"],
                    "{row}"
                );
            }
        }
        "N07" => {
            assert_eq!(keys("/list?page=2", &[]), ["/list?page=2"]);
            assert_eq!(keys("/list?page=2", &["--drop-paging"]), ["/list"]);
        }
        "N08" => assert_eq!(keys("/a?t=1&t=2", &[]), ["/a?t=1&t=2"]),
        "N09" => {
            let json = normalized("/a?utm_source=x&id=1", &[]);
            assert_eq!(json["urls"][0]["url_key"], "/a?id=1");
            assert!(
                json["blacklist"].as_array().expect("a list").contains(&Value::from("utm_source")),
                "{json}"
            );
        }
        "N10" => assert_eq!(keys("/a/./b/../c", &[]), ["/a/c"]),
        "N12" => assert_eq!(keys("HTTP://Example.COM:80/a#x", &[]), ["http://example.com/a"]),
        "N14" => {
            let list = "HTTP://Example.COM:80/%7ea/../%2f?b=%41&a=+&&utm_term=1#x\n//x//y/\n/a;jsessionid=1/b?%%34%31\nhttps://e.example?x\n";
            let once = keys(list, &[]);
            assert_eq!(keys(&once.join("\n"), &[]), once);
        }
        _ => return false,
    }
    true
}

#[test]
fn every_situation_of_the_normalisers_cases_holds() {
    let known = ["N06", "N07", "N08", "N09", "N10", "N12", "N14"];
    assert!(known.into_iter().all(situation));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases/lines/lines.jsonl");
    let Ok(rows) = std::fs::read_to_string(&path) else {
        eprintln!("{} is not there: only the situations known here were checked", path.display());
        return;
    };
    for row in rows.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(row).expect("JSON Lines");
        let id = row["id"].as_str().expect("an id");
        assert!(!id.starts_with('N') || known.contains(&id), "nothing is known of {row}");
    }
}

#[test]
fn a_large_list_is_the_same_in_any_spelling_and_nothing_is_lost() {
    let mut list = String::new();
    for n in 0..50_000 {
        list.push_str(&format!(
            "https://www.example.com/p/{}?utm_source={}&color={}\n",
            n % 20_000,
            n % 7,
            n % 3
        ));
    }
    let json = normalized(&list, &[]);
    assert_eq!(json["totals"]["urls"], 50_000);
    assert_eq!(
        json["urls"].as_array().map(Vec::len),
        json["totals"]["unique"].as_u64().and_then(|n| n.try_into().ok())
    );
    let merged: u64 =
        json["urls"].as_array().expect("a list").iter().filter_map(|r| r["urls_merged"].as_u64()).sum();
    assert_eq!(merged, 50_000);
    let row = |name: &str| {
        json["parameters"]
            .as_array()
            .and_then(|all| all.iter().find(|p| p["name"] == name))
            .cloned()
            .expect("a row")
    };
    assert_eq!(
        (row("utm_source")["hits"].clone(), row("utm_source")["distinct_values"].clone()),
        (50_000.into(), 7.into())
    );
    assert_eq!(row("color")["distinct_values"], 3);
    // Another order of lines: the same keys.
    let mut lines: Vec<&str> = list.lines().collect();
    lines.reverse();
    let reversed = normalized(&lines.join("\n"), &[]);
    let sorted = |json: &Value| {
        let mut keys: Vec<String> =
            json["urls"].as_array().expect("a list").iter().map(|r| r["url_key"].to_string()).collect();
        keys.sort();
        keys
    };
    assert!(sorted(&json) == sorted(&reversed));
    assert_eq!(json["parameters"], reversed["parameters"]);
}

#[test]
fn a_pipe_that_closes_is_quiet_and_a_full_disk_is_exit_5() {
    let dir = Dir::new();
    let list: String = (0..20_000).map(|n| format!("/p/{n}?color=red\n")).collect();
    dir.write("urls.txt", list);
    let args = ["normalize", "--url-list", "urls.txt", "--output-json", "-"];
    let output = dir.command(args).run_into_head();
    output.exit(0);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("cannot write"), "{}", output.told());
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        dir.command(args).stdout_to(full).run().exit(5).stderr_has("standard output: cannot write");
        // Named as a file it is not replaced by one; a link, so that a fault does not cost the machine its device.
        std::os::unix::fs::symlink("/dev/full", dir.path().join("full")).expect("a link");
        let named = ["normalize", "--url-list", "urls.txt", "--output-json", "full"];
        dir.command(named).run().exit(5).stderr_has("full: cannot write: No space left");
        assert!(dir.path().join("full").is_symlink());
    }
}

#[test]
fn another_run_that_holds_the_lock_is_said_and_nothing_is_written() {
    let dir = Dir::new();
    dir.write("urls.txt", "/a\n").write("out/.keep", "");
    let lock = std::fs::File::create(dir.path().join("out/.crawl-baseline.lock")).expect("a file");
    lock.lock().expect("nobody else holds it");
    let args = ["normalize", "--url-list", "urls.txt", "--output-dir", "out"];
    dir.command(args).run().exit(0).stderr_has("Another crawl gate is running.");
    assert!(dir.glob("out/2*").is_empty());
    dir.command([&args[..], &["--if-locked", "fail"]].concat()).run().exit(5);
    // What goes elsewhere needs no lock.
    dir.command([&args[..], &["--output-json", "-"]].concat()).run().exit(0);
}

/// A bot that finds a session in every link, and people who do so too: only the bot's are counted.
fn trap(lines: std::ops::Range<u32>) -> String {
    let bot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    let people = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36";
    lines
        .map(|n| {
            let (target, status) = match n % 4 {
                0 => (format!("/gone?sid=s{n}&page={}", n % 3), 404),
                1 => (format!("/list?sid=s{n}"), 200),
                2 => ("/plain".to_owned(), 200),
                _ => (format!("/list?people={n}"), 200),
            };
            let agent = if n % 4 == 3 { people } else { bot };
            format!("192.0.2.10 - - [10/Mar/2026:06:{:02}:{:02} +0000] \"GET {target} HTTP/1.1\" {status} 5 \"-\" \"{agent}\"\n", n / 60 % 60, n % 60)
        })
        .collect()
}

#[test]
fn parameters_of_bots_are_in_the_history_and_the_baseline_and_a_trap_is_said() {
    let dir = Dir::new();
    let args = ["analyze", "--now", NOW, "--output-json", "-"];
    dir.write("a.log", trap(0..1000)).write("b.log", trap(1000..2400));
    let json =
        dir.command([&args[..], &["a.log", "b.log"]].concat()).run().exit(0).stderr_has("crawl_trap").json();
    let parameters = &json["hosts"]["(default)"]["parameters"];
    assert_eq!((parameters[0]["name"].as_str(), parameters[0]["hits"].as_u64()), (Some("sid"), Some(1200)));
    let distinct = parameters[0]["distinct_values"].as_u64().expect("a count");
    assert!((1100..1300).contains(&distinct), "{distinct}");
    assert_eq!((parameters[1]["name"].as_str(), parameters[1]["hits"].as_u64()), (Some("page"), Some(600)));
    assert_eq!(parameters.as_array().map(Vec::len), Some(2), "{parameters}");
    assert_eq!(dir.glob("crawl-artifacts/history/params/date=2026-03-10/*.parquet").len(), 2);
    let bytes = |dir: &Dir| -> Vec<Vec<u8>> {
        dir.glob("crawl-artifacts/history/params/*/*")
            .iter()
            .map(|p| std::fs::read(p).expect("a part"))
            .collect()
    };
    let told = bytes(&dir);
    assert!(told.iter().all(|part| !String::from_utf8_lossy(part).contains("s1004")));

    // Another number of threads and another order: the same bytes.
    let other = Dir::new();
    other.write("a.log", trap(0..1000)).write("b.log", trap(1000..2400));
    other.command(["analyze", "b.log", "a.log", "--now", NOW, "--threads", "1"]).run().exit(0);
    assert!(bytes(&other) == told);

    // Joined, taken apart again by a log that grew, and whole all the time.
    let later = "2026-03-20T02:00:00Z";
    dir.command(["history", "compact", "--now", later]).run().exit(0);
    assert_eq!(dir.glob("crawl-artifacts/history/params/date=2026-03-10/*.parquet").len(), 1);
    dir.command(["history", "check"]).run().exit(0).stdout_has("nothing is wrong");
    let again = dir.command([&args[..], &["a.log", "b.log"]].concat()).run().exit(0).json();
    assert_eq!(&again["hosts"]["(default)"]["parameters"], parameters);
    dir.write("b.log", trap(1000..3600));
    let grown = dir.command([&args[..], &["a.log", "b.log"]].concat()).run().exit(0).json();
    assert_eq!(grown["hosts"]["(default)"]["parameters"][0]["hits"], 1800);
    dir.command(["history", "check"]).run().exit(0);
    dir.command(["artifacts", "prune", "--now", "2027-12-01T02:00:00Z"]).run().exit(0);
    assert!(dir.glob("crawl-artifacts/history/params/*/*").is_empty());
}

#[test]
fn a_history_of_before_the_parameters_is_read_and_gets_them_when_its_log_is_read_again() {
    use crawl_baseline::history::part::PartPath;
    use crawl_baseline::history::read::History;
    use crawl_baseline::history::write::write_source;
    use crawl_baseline::tally::table::SourceTables;

    let dir = Dir::new();
    dir.write("a.log", trap(0..400));
    dir.command(["analyze", "a.log", "--now", NOW]).run().exit(0);
    let folder = dir.path().join("crawl-artifacts/history");
    // As it was written before: the same rows without the table.
    let history = History::open(&folder).expect("a history");
    let row = history.sources().values().next().expect("a source").clone();
    let mut days = history.read_source(&row.entry.source).expect("readable").expect("whole");
    days.iter_mut().for_each(|day| day.params.clear());
    let tables = SourceTables {
        counts: row.counts.clone(),
        coverage: row.coverage.clone(),
        first_date: row.first_date,
        days,
        ..SourceTables::default()
    };
    let written = write_source(&folder, row.entry.clone(), &tables, &Default::default()).expect("written");
    let tables_of = |path: &str| PartPath::parse(path).expect("a part").table.name();
    assert!(written.row.parts.iter().all(|part| tables_of(&part.path) != "params"));
    assert!(dir.glob("crawl-artifacts/history/params/*/*").is_empty());
    dir.command(["history", "check"]).run().exit(0).stdout_has("nothing is wrong");
    dir.command(["recommend", "--now", NOW]).run().exit(0);
    dir.command(["normalize", "--from-history", "--output-json", "-"]).run().exit(0);
    dir.write("a.log", trap(0..800));
    let json = dir.command(["analyze", "a.log", "--now", NOW, "--output-json", "-"]).run().exit(0).json();
    assert_eq!(json["hosts"]["(default)"]["parameters"][0]["hits"], 400);
}
