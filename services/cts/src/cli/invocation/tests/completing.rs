//! Candidates that a shell is offered. Names of tasks come from a running cts, see the tests of the
//! executable.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use cts_core::SystemClock;

use super::{BOTH, InvokedAs};
use crate::cli::invocation::completion::{candidates, is_asked_for};
use crate::process_env::ProcessEnv;

fn process_env(line: &str, point: Option<&str>, directory: &Path) -> ProcessEnv {
    let mut environment = BTreeMap::from([(OsString::from("COMP_LINE"), line.into())]);
    // Nothing listens at this address.
    environment.insert("CTS_ADDRESS".into(), "http://127.0.0.1:1".into());
    environment.extend(point.map(|point| (OsString::from("COMP_POINT"), point.into())));
    ProcessEnv {
        program: "cts",
        environment,
        current_dir: directory.to_owned(),
        hostname: "test".to_owned(),
        boot: None,
        memory: None,
        descriptors: 1024,
        is_root: false,
        clock: Arc::new(SystemClock),
    }
}

async fn at(personality: InvokedAs, line: &str, point: Option<&str>) -> Vec<String> {
    let process_env = process_env(line, point, Path::new("/nonexistent"));
    let candidates = candidates(personality, &process_env).await;
    candidates.lines().map(str::to_owned).collect()
}

async fn original(line: &str) -> Vec<String> {
    at(InvokedAs::Original, line, None).await
}

async fn ours(line: &str) -> Vec<String> {
    at(InvokedAs::Ours, line, None).await
}

#[test]
fn an_empty_line_is_no_question() {
    let directory = Path::new("/nonexistent");
    assert!(!is_asked_for(&process_env("", None, directory)));
    assert!(is_asked_for(&process_env("x", None, directory)));
}

#[tokio::test]
async fn commands_stand_first_also_behind_unknown_ones() {
    for line in ["x ", "consul-terraform-sync ", "x nonsense ", "x -once "] {
        assert_eq!(original(line).await, ["start", "task"], "{line:?}");
    }
    assert_eq!(original("x st").await, ["start"]);
    assert_eq!(original("x q").await, Vec::<String>::new());
    assert_eq!(
        original("x task ").await,
        ["create", "delete", "disable", "enable"]
    );
    assert_eq!(original("x task d").await, ["delete", "disable"]);
    assert_eq!(ours("cts co").await, ["completion", "config"]);
    assert_eq!(ours("cts workers ").await, ["drain", "list"]);
}

#[tokio::test]
async fn options_are_those_of_the_command() {
    let expected = [
        "-autocomplete-install",
        "-autocomplete-uninstall",
        "-client-type",
        "-config-dir",
        "-config-file",
        "-inspect",
        "-inspect-task",
        "-once",
        "-reset-storage",
    ];
    assert_eq!(original("x start -").await, expected);
    assert_eq!(
        original("x start -once --in").await,
        ["--inspect", "--inspect-task"]
    );
    assert_eq!(original("x task create -a").await, ["-auto-approve"]);
    assert_eq!(original("x task disable -a").await, Vec::<String>::new());
    assert_eq!(ours("cts start -log").await, ["-log-format"]);
    assert_eq!(
        ours("cts migrate -").await,
        [
            "-config-dir",
            "-config-file",
            "-dry-run",
            "-from",
            "-output",
            "-to"
        ]
    );
}

#[tokio::test]
async fn values_that_are_known_are_offered() {
    assert_eq!(ours("cts start -log-format ").await, ["json", "text"]);
    assert_eq!(ours("cts workers list -o j").await, ["json"]);
    assert_eq!(ours("cts completion ").await, ["bash", "fish", "zsh"]);
}

#[tokio::test]
async fn the_cursor_cuts_the_line() {
    for personality in BOTH {
        assert_eq!(at(personality, "cts sta -once", Some("7")).await, ["start"]);
        assert_eq!(
            at(personality, "cts task cre", Some("99")).await,
            ["create"]
        );
        assert_eq!(at(personality, "cts task cre", Some("x")).await, ["create"]);
        assert_eq!(
            at(personality, "cts task cre", Some("-1")).await,
            ["create"]
        );
    }
}

#[tokio::test]
async fn nothing_is_said_if_tasks_cannot_be_asked_for() {
    for personality in BOTH {
        for command in ["delete", "enable", "disable"] {
            let line = format!("cts task {command} ");
            assert_eq!(at(personality, &line, None).await, Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn paths_are_those_that_the_option_takes() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["a.hcl", "b.json", "c.pem", ".d.hcl"] {
        fs::write(directory.path().join(file), "").unwrap();
    }
    fs::create_dir(directory.path().join("conf")).unwrap();
    fs::write(directory.path().join("conf/e.hcl"), "").unwrap();
    for (line, expected) in [
        ("x start -config-file ", &["a.hcl", "b.json", "conf/"][..]),
        ("x start --config-file a", &["a.hcl"]),
        ("x start -config-file conf/", &["conf/e.hcl"]),
        ("x start -config-file .", &[".d.hcl"]),
        ("x start -config-dir ", &["conf/"]),
        ("x task create -task-file ", &["a.hcl", "b.json", "conf/"]),
        ("x task delete -ca-path ", &["conf/"]),
        ("x task delete -client-key c", &["c.pem", "conf/"]),
        ("x start -config-file nowhere/", &[]),
    ] {
        let process_env = process_env(line, None, directory.path());
        for personality in BOTH {
            let candidates = candidates(personality, &process_env).await;
            let candidates: Vec<&str> = candidates.lines().collect();
            assert_eq!(candidates, expected, "{line:?}");
        }
    }
}
