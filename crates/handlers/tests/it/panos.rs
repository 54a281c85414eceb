//! Commits.

use std::time::Duration;

use cts_handlers::{HandlersError, Pace};
use cts_testkit::assert_contains;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::firewall::{Firewall, KEY, PASSWORD, USER};
use crate::stage::{PACE, applied, handlers, provider, request};

fn block(firewall: &Firewall, more: &Value) -> Value {
    let mut block = json!({
        "hostname": "127.0.0.1", "port": firewall.address.port(), "protocol": "http", "username": USER,
        "password": PASSWORD, "auto_commit": true,
    });
    let more = more.as_object().unwrap().clone();
    block.as_object_mut().unwrap().extend(more);
    block
}

async fn commit_with(block: Value, pace: Pace) -> Result<(), HandlersError> {
    let mut request = request();
    request.providers = vec![provider("panos", block)];
    let chain = handlers(pace).prepare(&request).unwrap();
    chain.run(&applied()).await
}

async fn commit(firewall: &Firewall) -> Result<(), HandlersError> {
    commit_with(block(firewall, &json!({})), PACE).await
}

fn shown(result: Result<(), HandlersError>) -> String {
    let text = result.unwrap_err().to_string();
    for secret in [PASSWORD, KEY] {
        assert!(!text.contains(secret), "{text}");
    }
    text
}

#[tokio::test]
async fn changes_are_committed_and_the_job_is_waited_for() {
    let firewall = Firewall::start().await;
    commit(&firewall).await.unwrap();
    assert_eq!(firewall.asked(), ["keygen", "commit", "op", "op", "op"]);
}

#[tokio::test]
async fn a_key_is_used_as_it_is_and_requests_go_to_the_target() {
    let firewall = Firewall::start().await;
    let block = block(&firewall, &json!({ "api_key": KEY, "target": "0070" }));
    commit_with(block, PACE).await.unwrap();
    assert_eq!(firewall.asked()[0], "commit");
    let targets = firewall.change(|conduct| conduct.targets.clone());
    assert_eq!(targets, ["commit 0070", "op 0070", "op 0070", "op 0070"]);
}

#[tokio::test]
async fn commit_without_changes_succeeds() {
    for answer in [
        "<response status=\"success\" code=\"13\"><msg>The result would be the same</msg></response>",
        "<response status=\"success\" code=\"19\"><msg>There are no changes to commit.</msg></response>",
        "<response status=\"success\" code=\"19\"><result><job>0</job></result></response>",
    ] {
        let firewall = Firewall::start().await;
        firewall.change(|conduct| conduct.commits = vec![answer.to_owned()]);
        commit(&firewall).await.unwrap();
        assert_eq!(firewall.asked(), ["keygen", "commit"], "{answer}");
    }
}

#[tokio::test]
async fn a_wrong_password_or_key_is_not_tried_again() {
    for wrong in [
        json!({ "password": "wrong-one" }),
        json!({ "api_key": "wrong-one" }),
    ] {
        let firewall = Firewall::start().await;
        let result = commit_with(block(&firewall, &wrong), PACE).await;
        let text = shown(result);
        assert_contains(
            &text,
            ["refuses the login or the permission: \"Invalid Credential\""],
        );
        assert!(!text.contains("wrong-one"), "{text}");
        assert_eq!(firewall.asked().len(), 1);
    }
}

#[tokio::test]
async fn another_commit_in_progress_is_waited_for() {
    let busy = "<response status=\"error\" code=\"13\"><msg><line>Another commit is in progress</line></msg></response>";
    let firewall = Firewall::start().await;
    firewall.change(|conduct| conduct.commits = vec![busy.to_owned(); 4]);
    commit(&firewall).await.unwrap();

    firewall.change(|conduct| conduct.commits = vec![busy.to_owned(); 99]);
    let text = shown(commit(&firewall).await);
    assert_contains(
        &text,
        ["the firewall refuses: \"Another commit is in progress\""],
    );
    assert_eq!(firewall.change(|conduct| conduct.commits.len()), 94);
}

#[tokio::test]
async fn a_job_that_fails_is_an_error_with_its_details() {
    let firewall = Firewall::start().await;
    firewall.change(|conduct| conduct.result = "FAIL");
    let text = shown(commit(&firewall).await);
    let expected = "job 7 of the commit has failed: \"rule <7> has no zone; key is (hidden)\"";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn unreadable_or_oversized_answer_is_an_error() {
    let huge = format!(
        "<response status=\"success\"><msg>{}</msg></response>",
        "x".repeat(2 << 20)
    );
    let cases = [
        (
            "<response status=\"success\"><result>",
            "the answer is not one of the XML API",
        ),
        (
            "<html><body>proxy</body></html>",
            "the answer is not one of the XML API",
        ),
        ("no xml at all", "the answer is not one of the XML API"),
        (&huge, "longer than 1048576 bytes"),
    ];
    for (answer, expected) in cases {
        let firewall = Firewall::start().await;
        firewall.change(|conduct| conduct.commits = vec![answer.to_owned(); 99]);
        let text = shown(commit(&firewall).await);
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_firewall_that_does_not_answer_is_given_up_in_time() {
    let firewall = Firewall::start().await;
    firewall.change(|conduct| conduct.hangs = Some("commit"));
    let slow = commit_with(block(&firewall, &json!({ "timeout": 1 })), PACE);
    let pace = Pace {
        longest: Duration::from_millis(300),
        ..PACE
    };
    let short = commit_with(block(&firewall, &json!({})), pace);
    let (slow, short) = tokio::join!(slow, short);
    assert!(shown(slow).contains("the firewall cannot be reached"));
    assert!(shown(short).contains("the commit of provider \"panos\" was not done within 0 s"));
}

#[tokio::test]
async fn a_firewall_that_is_not_there_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let firewall = Firewall::start().await;
    let result = commit_with(block(&firewall, &json!({ "port": port })), PACE).await;
    let text = shown(result);
    assert!(text.contains("the firewall cannot be reached"), "{text}");
    assert!(!text.contains("http://"), "{text}");
}

#[tokio::test]
async fn without_auto_commit_nothing_is_asked() {
    let firewall = Firewall::start().await;
    for more in [
        json!({ "auto_commit": false }),
        json!({ "auto_commit": "true", "username": "" }),
    ] {
        commit_with(block(&firewall, &more), PACE).await.unwrap();
    }
    assert!(firewall.asked().is_empty());
}

#[tokio::test]
async fn preparation_reports_missing_settings_and_knows_the_secrets() {
    let firewall = Firewall::start().await;
    let mut request = request();
    request.providers = vec![provider(
        "panos",
        block(&firewall, &json!({ "username": "" })),
    )];
    let error = handlers(PACE).prepare(&request).unwrap_err();
    let text = cts_core::Chain(&error).to_string();
    assert_contains(&text, ["cannot commit: there is no `username`"]);

    request
        .environment
        .insert("PANOS_USERNAME".to_owned(), USER.to_owned());
    let chain = handlers(PACE).prepare(&request).unwrap();
    assert_eq!(chain.secrets().collect::<Vec<_>>(), [PASSWORD]);
    chain.run(&applied()).await.unwrap();
}
