//! Candidates that a shell is offered. Names of tasks come from a running cts, see the tests of the
//! executable.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use cts_runtime::SystemClock;

use cts_runtime::ProcessEnv;

use super::answer;

fn process_env(line: &str, point: Option<&str>, directory: &Path) -> ProcessEnv {
    let mut environment = BTreeMap::from([(OsString::from("COMP_LINE"), line.into())]);
    // No server listens at this address.
    environment.insert("CTS_ADDRESS".into(), "http://127.0.0.1:1".into());
    environment.extend(point.map(|point| (OsString::from("COMP_POINT"), point.into())));
    ProcessEnv {
        program: "consul-terraform-sync",
        environment,
        current_dir: directory.to_owned(),
        hostname: "test".to_owned(),
        boot: None,
        memory: None,
        descriptors: 1024,
        is_root: false,
        clock: Arc::new(SystemClock),
        log_format: cts_runtime::LogFormat::Text,
    }
}

fn at(line: &str, point: Option<&str>) -> Vec<String> {
    let answer = answer(&process_env(line, point, Path::new("/nonexistent")));
    answer.unwrap().stdout.lines().map(str::to_owned).collect()
}

fn candidates(line: &str) -> Vec<String> {
    at(line, None)
}

#[test]
fn an_empty_line_is_no_question() {
    let directory = Path::new("/nonexistent");
    assert_eq!(answer(&process_env("", None, directory)), None);
    assert!(answer(&process_env("x", None, directory)).is_some());
}

#[test]
fn commands_stand_first_also_behind_unknown_ones() {
    for line in ["x ", "consul-terraform-sync ", "x nonsense ", "x -once "] {
        assert_eq!(candidates(line), ["start", "task"], "{line:?}");
    }
    assert_eq!(candidates("x st"), ["start"]);
    assert_eq!(candidates("x q"), Vec::<String>::new());
    assert_eq!(
        candidates("x task "),
        ["create", "delete", "disable", "enable"]
    );
    assert_eq!(candidates("x task d"), ["delete", "disable"]);
}

#[test]
fn options_are_those_of_the_command() {
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
    assert_eq!(candidates("x start -"), expected);
    assert_eq!(
        candidates("x start -once --in"),
        ["--inspect", "--inspect-task"]
    );
    assert_eq!(candidates("x task create -a"), ["-auto-approve"]);
    assert_eq!(candidates("x task disable -a"), Vec::<String>::new());
}

#[test]
fn the_cursor_cuts_the_line() {
    assert_eq!(at("cts sta -once", Some("7")), ["start"]);
    for nowhere in ["99", "x", "-1"] {
        assert_eq!(at("cts task cre", Some(nowhere)), ["create"]);
    }
}

#[test]
fn nothing_is_said_if_tasks_cannot_be_asked_for() {
    for command in ["delete", "enable", "disable"] {
        let line = format!("cts task {command} ");
        assert_eq!(candidates(&line), Vec::<String>::new());
    }
}

#[test]
fn paths_are_those_that_the_option_takes() {
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
        let candidates = answer(&process_env).unwrap().stdout;
        assert_eq!(candidates.lines().collect::<Vec<_>>(), expected, "{line:?}");
    }
}
