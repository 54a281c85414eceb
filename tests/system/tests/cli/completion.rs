//! Completion as a shell sees it.

use std::net::{Ipv4Addr, SocketAddr};

use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use tokio_util::task::TaskTracker;

use crate::cli::calls::{ORIGINAL, OURS, Place};

/// A server with two tasks, one of them disabled.
async fn tasks() -> (SocketAddr, AbortOnDropHandle<()>) {
    let answer: Value = json!({
        "request_id": "3f2c5b1e-0000-4000-8000-000000000001",
        "tasks": [
            { "name": "web", "enabled": true, "module": "./m", "condition": {} },
            { "name": "weather", "enabled": false, "module": "./m", "condition": {} },
        ],
    });
    let routes = Router::new().route("/v1/tasks", get(async move || Json(answer)));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = TaskTracker::new().spawn(async move {
        axum::serve(listener, routes).await.unwrap();
    });
    (address, AbortOnDropHandle::new(serving))
}

/// Candidates of the original's name for a line.
async fn completed(place: &mut Place, line: &str) -> String {
    place.set("COMP_LINE", line);
    let called = place.call(ORIGINAL, &["-version", "whatever"]).await;
    assert_eq!((called.code, called.stderr.as_str()), (0, ""), "{line}");
    called.stdout
}

/// Candidates of `cts` for the last word of a line.
async fn offered(place: &mut Place, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    place.set("CTS_COMPLETE", "bash");
    place.set("_CLAP_COMPLETE_INDEX", &(words.len() - 1).to_string());
    let called = place
        .call(OURS, &[&["--"], words.as_slice()].concat())
        .await;
    assert_eq!((called.code, called.stderr.as_str()), (0, ""), "{line}");
    let mut candidates: Vec<String> = called.stdout.lines().map(str::to_owned).collect();
    candidates.sort_unstable();
    candidates
}

#[tokio::test]
async fn tasks_are_offered_by_their_state() {
    let (address, _serving) = tasks().await;
    let mut place = Place::new();
    place.set("CTS_ADDRESS", &format!("http://{address}"));
    for (command, expected) in [
        ("delete", &["weather", "web"][..]),
        ("enable", &["weather"]),
        ("disable", &["web"]),
    ] {
        let line = format!("cts task {command} we");
        assert_eq!(offered(&mut place, &line).await, expected, "{line}");
    }
    for line in [
        "cts task show we",
        "cts task list -search we",
        "cts runs list -task we",
    ] {
        assert_eq!(
            offered(&mut place, line).await,
            ["weather", "web"],
            "{line}"
        );
    }
    let mut place = Place::new();
    place.set("CTS_ADDRESS", &format!("http://{address}"));
    for (command, expected) in [
        ("delete", "weather\nweb\n"),
        ("enable", "weather\n"),
        ("disable", "web\n"),
    ] {
        let line = format!("{ORIGINAL} task {command} -ssl-verify we");
        assert_eq!(completed(&mut place, &line).await, expected, "{line}");
    }
}

#[tokio::test]
async fn commands_options_and_values_are_offered() {
    let mut place = Place::new();
    place.write("conf/cts.hcl", "");
    place.write("conf/cts.pem", "");
    for (line, expected) in [
        ("cts star", &["start"][..]),
        ("cts task li", &["list"]),
        ("cts task list -sort si", &["since"]),
        ("cts task list -state blo", &["blocked"]),
        ("cts start --config-d", &["--config-dir"]),
        ("cts start -config-d", &["--config-dir"]),
        ("cts start -config-file con", &["conf/"]),
        ("cts start -config-file conf/", &["conf/cts.hcl"]),
        ("cts task create -task-file conf/", &["conf/cts.hcl"]),
        ("cts start -log-format j", &["json"]),
        ("cts completion b", &["bash"]),
        ("cts task show we", &[]),
    ] {
        assert_eq!(offered(&mut place, line).await, expected, "{line}");
    }
}

#[tokio::test]
async fn the_line_of_the_original_decides_and_not_the_words() {
    let mut place = Place::new();
    assert_eq!(completed(&mut place, "whatever sta").await, "start\n");
    assert_eq!(completed(&mut place, "x task li").await, "");
    let called = place.call(OURS, &["-version"]).await;
    assert!(called.stdout.starts_with("cts v"), "{}", called.stdout);
    place.set("COMP_LINE", "");
    let called = place.call(ORIGINAL, &["-version"]).await;
    let version = "consul-terraform-sync v";
    assert!(called.stdout.starts_with(version), "{}", called.stdout);
}

#[tokio::test]
async fn installing_edits_the_files_below_home() {
    let place = Place::new();
    place.write(".bashrc", "");
    let called = place.call(ORIGINAL, &["-autocomplete-install"]).await;
    assert_eq!(called.code, 0, "{called:?}");
    let text = std::fs::read_to_string(place.path().join(".bashrc")).unwrap();
    assert!(text.contains(ORIGINAL), "{text}");
}

#[tokio::test]
async fn installing_and_removing_exclude_each_other() {
    let place = Place::new();
    let words = ["-autocomplete-install", "--autocomplete-uninstall"];
    let called = place.call(ORIGINAL, &words).await;
    assert_eq!((called.code, called.stdout.as_str()), (1, ""));
    let line = format!("{ORIGINAL} -autocomplete-install --autocomplete-uninstall");
    assert!(called.stderr.contains(&line), "{}", called.stderr);
    assert_eq!(place.call(OURS, &words).await.code, 14);
}

#[tokio::test]
async fn bash_completes_with_our_script_and_with_the_line_of_the_original() {
    let place = Place::new();
    place.write("conf/cts.hcl", "");
    let ours = place.call(OURS, &["completion", "bash"]).await;
    assert_eq!(ours.code, 0);
    place.write("cts.bash", &ours.stdout);
    // As readline does: set the words and the cursor, then call the function or command.
    let script = "\
        PATH=$PWD/bin:/usr/bin:/bin; source cts.bash\n\
        COMP_WORDS=(cts start -config-d); COMP_CWORD=2\n\
        _clap_complete_cts cts -config-d start; echo \"${COMPREPLY[*]}\"\n\
        COMP_WORDS=(cts start -config-dir co); COMP_CWORD=3\n\
        _clap_complete_cts cts co -config-dir; echo \"${COMPREPLY[*]}\"\n";
    let called = place
        .call_program("/bin/bash".as_ref(), &["-c", script])
        .await;
    assert_eq!(
        (called.stdout.as_str(), called.stderr.as_str()),
        ("--config-dir\nconf/\n", "")
    );
    let original = "\
        complete -C $PWD/bin/consul-terraform-sync consul-terraform-sync\n\
        complete -p consul-terraform-sync\n\
        export COMP_LINE='consul-terraform-sync ta'; $PWD/bin/consul-terraform-sync a b c\n";
    let called = place
        .call_program("/bin/bash".as_ref(), &["-c", original])
        .await;
    assert_eq!(called.stdout.lines().last(), Some("task"), "{called:?}");
}

#[tokio::test]
async fn completion_prints_a_script_for_each_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let called = place.call(OURS, &["completion", shell]).await;
        assert_eq!((called.code, called.stderr.as_str()), (0, ""));
        assert!(called.stdout.contains("CTS_COMPLETE"), "{}", called.stdout);
    }
    assert_eq!(place.call(OURS, &["completion", "csh"]).await.code, 14);
    assert_eq!(place.call(OURS, &["completion"]).await.code, 13);
}
