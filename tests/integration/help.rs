//! The help texts are a contract with people: a change has to be seen.

use crate::command::Dir;

fn help(args: &[&str]) -> String {
    let dir = Dir::new();
    let stdout = dir.command(args.to_vec()).run().exit(0).stdout.clone();
    String::from_utf8(stdout).expect("help is text")
}

#[test]
fn help_says_what_there_is() {
    insta::assert_snapshot!("help", help(&["--help"]));
    insta::assert_snapshot!("help_analyze", help(&["analyze", "--help"]));
    insta::assert_snapshot!("help_normalize", help(&["normalize", "--help"]));
    insta::assert_snapshot!("help_parse", help(&["parse", "--help"]));
    insta::assert_snapshot!("help_bots", help(&["bots", "--help"]));
    insta::assert_snapshot!("help_bots_test", help(&["bots", "test", "--help"]));
    insta::assert_snapshot!("help_recommend", help(&["recommend", "--help"]));
    insta::assert_snapshot!("help_backtest", help(&["backtest", "--help"]));
    insta::assert_snapshot!("help_export", help(&["export", "--help"]));
    insta::assert_snapshot!("help_gate", help(&["gate", "--help"]));
    insta::assert_snapshot!("help_simulate", help(&["simulate", "--help"]));
    assert!(help(&["--version"]).starts_with("crawl-baseline "));
}
