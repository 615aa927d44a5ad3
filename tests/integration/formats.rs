//! Formats through the built program: what only shows with files, blocks and flags.
//!
//! Example: a W3C log of several blocks, whose columns are named once at its start and again in the middle.

use std::fmt::Write as _;

use serde_json::Value;

use crate::command::Dir;

const NOW: &str = "2026-03-11T02:00:00Z";

fn baseline(dir: &Dir, args: &[&str]) -> Value {
    dir.command([&["analyze", "--now", NOW, "--no-history", "--output-json", "-"], args].concat())
        .run()
        .exit(0)
        .json()
}

#[test]
fn columns_of_a_w3c_log_hold_in_every_block_until_others_are_named() {
    let mut text = String::new();
    let lines = 30_000;
    for (columns, order) in [("c-ip cs-method", "192.0.2.10 GET"), ("cs-method c-ip", "POST 192.0.2.11")] {
        let _ = writeln!(text, "#Fields: date time {columns} cs-uri-stem sc-status sc-bytes cs(User-Agent)");
        for i in 0..lines {
            let _ = writeln!(
                text,
                "2026-03-10 06:{:02}:14 {order} /page/{i}/{} 200 10 ExampleBot/1.0",
                i % 60,
                "x".repeat(40)
            );
        }
    }
    assert!(text.len() > 4 << 20, "several blocks");
    let dir = Dir::new();
    dir.write("w3c.log", &text);
    let whole = baseline(&dir, &["w3c.log", "--threads", "1"]);
    assert_eq!(whole.pointer("/totals/records"), Some(&Value::from(2 * lines)));
    assert_eq!(whole.pointer("/totals/directive"), Some(&Value::from(2)));
    assert_eq!(whole.pointer("/inputs/0/formats"), Some(&serde_json::json!({"w3c": 2 * lines})));
    let many = baseline(&dir, &["w3c.log", "--threads", "4"]);
    assert_eq!(whole.pointer("/hosts"), many.pointer("/hosts"));
    let piped = dir
        .command(["analyze", "--now", NOW, "--no-history", "--output-json", "-", "--threads", "3", "-"])
        .stdin(text)
        .run()
        .exit(0)
        .json();
    assert_eq!(whole.pointer("/hosts"), piped.pointer("/hosts"));
}

#[test]
fn parts_of_a_container_log_are_one_line_under_the_first_number() {
    let front = "2026-03-10T06:25:14Z stdout";
    let request = r#"192.0.2.10 - - [10/Mar/2026:06:25:14 +0000] "GET /p HTTP/1.1" 200 5"#;
    let dir = Dir::new();
    dir.write("cri.log", format!("{front} P {request} \n{front} F \"-\" \"Bot/1.0\"\n{front} F {request}\n"));
    let out = dir.command(["parse", "cri.log"]).run();
    out.exit(0).stdout_has(r#""line":1,"kind":"record","format":"combined","prefix":"cri""#);
    out.stdout_has(r#""line":3,"kind":"record","format":"common","prefix":"cri""#);
    let counts = baseline(&dir, &["cri.log"]);
    assert_eq!(counts.pointer("/totals/lines"), Some(&Value::from(2)));
    assert_eq!(counts.pointer("/totals/joined_lines"), Some(&Value::from(1)));
}

#[test]
fn a_format_string_is_taken_from_the_command_line_or_from_the_servers_file() {
    let line = r#"[10/Mar/2026:06:25:14 +0000] 192.0.2.10 "GET /p HTTP/1.1" 200 0.25"#;
    let string = r#"[$time_local] $remote_addr "$request" $status $request_time"#;
    let dir = Dir::new();
    dir.write("a.log", format!("{line}\n"));
    dir.write(
        "nginx.conf",
        format!("http {{ log_format short '{string}';\n log_format other '$status'; }}\n"),
    );
    for args in [["--log-format", string], ["--log-format-from", "nginx.conf:short"]] {
        dir.command([&["parse", "a.log"], &args[..]].concat())
            .run()
            .exit(0)
            .stdout_has(r#""format":"custom""#)
            .stdout_has(r#""client":"192.0.2.10""#)
            .stdout_has(r#""latency_ms":250"#);
    }
    for (args, part) in [
        (["--log-format-from", "nginx.conf:shor"], "did you mean short?"),
        (["--log-format-from", "nginx.conf"], "short, other"),
        (["--log-format-from", "nginx.conf:other"], "found none"),
        (["--log-format-from", "missing.conf"], "cannot read the file"),
        (["--log-format", "$time_local"], "found none"),
        (["--log-format", "combind"], "did you mean combined?"),
    ] {
        dir.command([&["parse", "a.log"], &args[..]].concat()).run().exit(2).stderr_has(part);
    }
}

#[test]
fn the_lines_of_the_readme_are_read_as_it_says() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("README.md");
    let table = readme.split("<!-- samples:begin -->").nth(1).expect("a table of samples");
    let table = table.split("<!-- samples:end -->").next().expect("its end");
    let mut seen = Vec::new();
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').splitn(3, " | ").collect();
        let [format, _, lines] = cells[..] else { panic!("three cells: {row}") };
        let format = format.trim().trim_matches('`');
        let dir = Dir::new();
        let text: String = lines
            .trim()
            .split("<br>")
            .map(|line| line.trim().trim_matches('`').replace("\\|", "|") + "\n")
            .collect();
        dir.write("a.log", &text);
        for args in [&["parse", "a.log"][..], &["parse", "a.log", "--log-format", format]] {
            let output = dir.command([args, &["--now", "2026-04-15T00:00:00Z"]].concat()).run();
            let out = String::from_utf8_lossy(&output.exit(0).stdout).into_owned();
            let last: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
            assert_eq!((&last["kind"], &last["format"]), (&"record".into(), &format.into()), "{text}");
            assert!(last["client"].is_string() && last["target"].is_string(), "{last}");
            let usual = ["no_user_agent_field", "assumed_zone"].map(Value::from);
            assert!(
                last["flags"].as_array().expect("a list").iter().all(|flag| usual.contains(flag)),
                "{last}"
            );
            assert!(last["time"].as_str().expect("a time").starts_with("2026-04-14T07:12:"), "{last}");
        }
        seen.push(format.to_owned());
    }
    let all: Vec<&str> = crawl_baseline::format::Format::named().map(|f| f.name()).collect();
    assert_eq!(seen, all, "every format has its line");
}
