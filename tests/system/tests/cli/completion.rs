//! Completion as a shell sees it.

use std::net::{Ipv4Addr, SocketAddr};

use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use tokio_util::task::TaskTracker;

use crate::cli::calls::{BOTH, ORIGINAL, OURS, Place};

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

async fn completed(place: &mut Place, name: &str, line: &str) -> String {
    place.set("COMP_LINE", line);
    let called = place.call(name, &["-version", "whatever"]).await;
    assert_eq!((called.code, called.stderr.as_str()), (0, ""), "{line}");
    called.stdout
}

#[tokio::test]
async fn tasks_are_offered_by_their_state() {
    let (address, _serving) = tasks().await;
    let mut place = Place::new();
    place.set("CTS_ADDRESS", &format!("http://{address}"));
    for name in BOTH {
        for (command, expected) in [
            ("delete", "weather\nweb\n"),
            ("enable", "weather\n"),
            ("disable", "web\n"),
        ] {
            let line = format!("{name} task {command} -ssl-verify we");
            assert_eq!(completed(&mut place, name, &line).await, expected, "{line}");
        }
    }
    assert_eq!(
        completed(&mut place, OURS, "cts task show ").await,
        "weather\nweb\n"
    );
}

#[tokio::test]
async fn the_line_decides_and_not_the_words() {
    let mut place = Place::new();
    for name in BOTH {
        assert_eq!(completed(&mut place, name, "whatever sta").await, "start\n");
    }
    assert_eq!(completed(&mut place, ORIGINAL, "x task li").await, "");
    assert_eq!(completed(&mut place, OURS, "x task li").await, "list\n");
}

#[tokio::test]
async fn an_empty_line_is_no_question() {
    let mut place = Place::new();
    place.set("COMP_LINE", "");
    let called = place.call(ORIGINAL, &["-version"]).await;
    assert!(
        called.stdout.starts_with("consul-terraform-sync v"),
        "{}",
        called.stdout
    );
}

#[tokio::test]
async fn installing_and_removing_exclude_each_other() {
    let place = Place::new();
    for name in BOTH {
        let words = ["-autocomplete-install", "--autocomplete-uninstall"];
        let called = place.call(name, &words).await;
        assert_eq!((called.code, called.stdout.as_str()), (1, ""));
        let line = format!("{name} -autocomplete-install --autocomplete-uninstall");
        assert!(called.stderr.contains(&line), "{}", called.stderr);
    }
}

#[tokio::test]
async fn bash_completes_with_our_script_and_with_the_line_of_the_original() {
    let place = Place::new();
    place.write("conf/cts.hcl", "");
    let ours = place.call(OURS, &["completion", "bash"]).await;
    assert_eq!(ours.code, 0);
    place.write("cts.bash", &ours.stdout);
    // As readline does: set the words, the line and the cursor, then call the function or command.
    let script = "\
        PATH=$PWD/bin:/usr/bin:/bin; source cts.bash\n\
        COMP_LINE='cts start -config-d'; COMP_POINT=${#COMP_LINE}\n\
        _cts_complete cts; echo \"${COMPREPLY[*]}\"\n\
        COMP_LINE='cts start -config-dir c'; COMP_POINT=${#COMP_LINE}\n\
        _cts_complete cts; echo \"${COMPREPLY[*]}\"\n";
    let called = place
        .call_program("/bin/bash".as_ref(), &["-c", script])
        .await;
    assert_eq!(
        (called.stdout.as_str(), called.stderr.as_str()),
        ("-config-dir\nconf/\n", "")
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
async fn there_is_a_script_for_each_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let called = place.call(OURS, &["completion", shell]).await;
        assert_eq!((called.code, called.stderr.as_str()), (0, ""));
        assert!(called.stdout.contains("COMP_LINE"), "{}", called.stdout);
    }
    assert_eq!(place.call(OURS, &["completion", "csh"]).await.code, 14);
    assert_eq!(place.call(OURS, &["completion"]).await.code, 13);
}
