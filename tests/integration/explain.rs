//! `recommend --explain`: the commands that it prints are run by a shell, and count what the history says.
//!
//! Example: 64 lines of Googlebot in a minute, beside Googlebot-Image, a URL and a referer that name it, in a log of another
//! zone: `zgrep ... | wc -l` prints 64.

use std::io::Write as _;
use std::path::Path;

use crate::command::Dir;

const NOW: &str = "2026-03-11T02:00:00Z";

/// One line of a log in the zone `+0100`.
fn line(second: i64, agent: &str, status: u16, target: &str, host: &str) -> String {
    let at = chrono::DateTime::from_timestamp(second + 3600, 0).expect("a time");
    let stamp = at.format("%d/%b/%Y:%H:%M:%S +0100");
    format!(
        "{host}192.0.2.10 - - [{stamp}] \"GET {target} HTTP/1.1\" {status} 512 \"https://x/?Googlebot\" \"{agent}\"\n"
    )
}

const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const PEOPLE: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0";

/// Forty minutes around midnight with 20 to 25 requests of a bot each, and what looks like it.
fn log(host: &str) -> String {
    let start = 1_773_100_800 - 20 * 60;
    let mut text = String::new();
    for minute in 0..40 {
        for i in 0..20 + minute % 6 {
            text += &line(start + minute * 60 + i * 2, GOOGLEBOT, 200, "/a", host);
        }
        text += &line(start + minute * 60 + 58, "Googlebot-Image/1.0", 200, "/a.png", host);
        text += &line(start + minute * 60 + 58, PEOPLE, 200, "/about-Googlebot", host);
        let rare = ("RareCrawler/1.0 (+https://r.example)", 200);
        let (agent, status) = if minute == 5 { rare } else { ("SomeCrawler/1.0 (+https://c.example)", 404) };
        text += &line(start + minute * 60 + 59, agent, status, "/it's", host);
    }
    text
}

/// The commands after "Minutes that mattered", with what each must count.
fn commands(text: &str) -> Vec<(u64, String)> {
    let (_, minutes) = text.split_once("Minutes that mattered").expect("minutes");
    let lines: Vec<&str> = minutes.lines().skip(2).collect();
    lines
        .chunks(2)
        .map(|pair| {
            let number = pair[0].split_whitespace().nth(1).and_then(|n| n.parse().ok());
            (number.unwrap_or_else(|| panic!("no number: {pair:?}")), pair[1].trim().to_owned())
        })
        .collect()
}

fn counted(dir: &Path, command: &str) -> u64 {
    let binary =
        Path::new(env!("CARGO_BIN_EXE_crawl-baseline")).parent().expect("a folder").display().to_string();
    let path = format!("{binary}:{}", std::env::var("PATH").expect("PATH"));
    let output = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(dir)
        .env("LC_ALL", "C")
        .env("PATH", path)
        .output()
        .expect("sh is installed");
    assert!(output.stderr.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or_else(|e| panic!("{command}: {e}"))
}

/// Every command of an explanation counts what stands above it.
fn assert_counts(dir: &Dir, names: &[&str], tool: &str) -> String {
    let args = [&["recommend", "--now", NOW, "--explain"], names].concat();
    let output = dir.command(args).run();
    output.exit(0).stderr_is_empty();
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    let commands = commands(&text);
    assert!(!commands.is_empty(), "{text}");
    for (number, command) in commands {
        assert!(command.starts_with(tool), "{command}");
        assert!(number > 0);
        assert_eq!(counted(dir.path(), &command), number, "{command}\n{text}");
    }
    text
}

#[test]
fn the_printed_commands_count_the_same_in_plain_and_compressed_logs() {
    let plain = log("");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain.as_bytes()).expect("a vector takes every byte");
    let packed = encoder.finish().expect("a vector takes every byte");
    for (name, bytes) in [("it's a.log", plain.as_bytes().to_vec()), ("a.log.1.gz", packed)] {
        let dir = Dir::new();
        dir.write(name, bytes);
        dir.command(["analyze", name, "--now", NOW]).run().exit(0);
        let before = dir.glob("crawl-artifacts/**/*").len();
        let text = assert_counts(&dir, &["(default)", "googlebot"], "zgrep -ahE");
        for part in [
            "Ceiling ",
            "bound by  demand_headroom",
            "next ",
            "candidates",
            "demand_headroom",
            "not used",
            "429_onset",
            "clean minutes",
            "window ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // All bots together (a minute with a rare one among them is the program's to count), and one that only declares
        // itself.
        let together = assert_counts(&dir, &["(default)"], "");
        assert!(together.contains("crawl-baseline parse") && together.contains("zgrep -ahE"), "{together}");
        assert_counts(&dir, &["(default)", "SomeCrawler"], "zgrep -ahE");
        let rare =
            dir.command(["recommend", "--now", NOW, "--explain", "(default)", "(other-declared)"]).run();
        rare.exit(0).stdout_has("thin_data_default").stdout_has("No single minute decided it");
        assert_eq!(dir.glob("crawl-artifacts/**/*").len(), before, "an explanation wrote something");
    }
}

#[test]
fn of_a_log_of_several_hosts_only_the_lines_of_one_are_counted() {
    let dir = Dir::new();
    let logs: String =
        ["www.example.com:443 ", "shop.example.com:443 "].iter().map(|host| log(host)).collect();
    dir.write("all.log", logs);
    dir.command(["analyze", "all.log", "--now", NOW]).run().exit(0);
    assert_counts(&dir, &["shop.example.com", "Googlebot"], "zgrep -ahE");
}

#[test]
fn stamps_that_are_no_text_are_counted_by_the_program() {
    let dir = Dir::new();
    let start = 1_773_100_800;
    let lines: String = (0..40 * 20)
        .map(|i| {
            let ts = start + i * 3;
            format!("{{\"ts\":{ts}.5,\"request\":{{\"remote_ip\":\"192.0.2.1\",\"method\":\"GET\",\"host\":\"www.example.com\",\"uri\":\"/\",\"headers\":{{\"User-Agent\":[\"{GOOGLEBOT}\"]}}}},\"status\":200,\"size\":5,\"duration\":0.1}}\n")
        })
        .collect();
    dir.write("caddy.log", lines);
    dir.command(["analyze", "caddy.log", "--now", NOW]).run().exit(0);
    assert_counts(&dir, &["www.example.com", "Googlebot"], "crawl-baseline parse");
}

#[test]
fn an_unknown_host_or_bot_is_named_with_the_nearest() {
    let dir = Dir::new();
    dir.write("a.log", log("www.example.com "));
    dir.command(["analyze", "a.log", "--now", NOW]).run().exit(0);
    let explain =
        |names: &[&str]| dir.command([&["recommend", "--now", NOW, "--explain"], names].concat()).run();
    explain(&["ww.example.com"])
        .exit(2)
        .stderr_has("crawl-baseline: --explain: host \"ww.example.com\" is unknown")
        .stderr_has("hint: did you mean www.example.com?");
    explain(&["www.example.com", "Gogglebot"])
        .exit(2)
        .stderr_has("--explain: bot \"Gogglebot\" is unknown")
        .stderr_has("did you mean Googlebot?");
    explain(&["www.example.com", "nobody-like-it"]).exit(2).stderr_has("hint: there are ");
    explain(&[]).exit(2);
}
