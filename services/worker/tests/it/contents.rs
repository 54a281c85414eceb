//! Inputs that come as contents.

use cts_core::Digest;
use cts_proto::run::v1::{InputContent, RunKind};
use serde_json::json;

use crate::stage::{KEEPS, Stage};

/// The content of a view without instances.
const NONE: &[u8] = b"[]";

fn named(bytes: &[u8], is_carried: bool) -> InputContent {
    InputContent {
        hash: Digest::of(bytes).to_string(),
        content: is_carried.then(|| bytes.to_vec()),
    }
}

/// The task with a view of each of these services: the first content of its input.
fn head(stage: &Stage, services: &[&str]) -> Vec<u8> {
    let mut input: serde_json::Value = serde_json::from_slice(&stage.input()).unwrap();
    let condition = json!({"names": services, "use_as_module_input": true});
    input["definition"]["condition"] = json!({"services": condition});
    serde_json::to_vec(&input).unwrap()
}

/// Ends the next run, which must succeed.
async fn checked(stage: &mut Stage) {
    stage.strings.checked().await;
}

#[tokio::test]
async fn contents_that_a_lease_names_are_fetched_once() {
    let mut stage = Stage::new(KEEPS).await;
    let head = head(&stage, &["web"]);
    stage.strings.serve(&[&head, NONE]);
    let asked = |stage: &Stage| stage.strings.conduct(|conduct| conduct.fetched.clone());

    stage
        .strings
        .grant_contents(RunKind::Check, vec![named(&head, true), named(NONE, false)]);
    checked(&mut stage).await;
    assert_eq!(asked(&stage), [Digest::of(NONE).to_string()]);

    // The lease carries no content, and both are known from before.
    stage.strings.grant_contents(
        RunKind::Check,
        vec![named(&head, false), named(NONE, false)],
    );
    checked(&mut stage).await;
    assert_eq!(asked(&stage).len(), 1);
}

/// Like the input of two views without instances.
#[tokio::test]
async fn a_content_that_an_input_has_twice_is_fetched_once() {
    let mut stage = Stage::new(KEEPS).await;
    let head = head(&stage, &["api", "web"]);
    stage.strings.serve(&[&head, NONE]);
    let contents = vec![named(&head, true), named(NONE, false), named(NONE, false)];
    stage.strings.grant_contents(RunKind::Check, contents);
    checked(&mut stage).await;
    let fetched = stage.strings.conduct(|conduct| conduct.fetched.clone());
    assert_eq!(fetched, [Digest::of(NONE).to_string()]);
}

#[tokio::test]
async fn requests_the_input_if_the_lease_names_no_contents() {
    let mut stage = Stage::new(KEEPS).await;
    let head = head(&stage, &["web"]);
    stage.strings.serve(&[&head, NONE]);
    let names = [&head, NONE].map(|bytes| Digest::of(bytes).to_string());
    stage
        .strings
        .conduct(|conduct| conduct.names = names.to_vec());
    stage.strings.grant_contents(RunKind::Check, Vec::new());
    checked(&mut stage).await;
    assert_eq!(stage.strings.conduct(|conduct| conduct.asked_for_inputs), 1);
}

#[tokio::test]
async fn contents_that_are_not_those_of_their_hash_fail_the_run() {
    let mut stage = Stage::new(KEEPS).await;
    let head = head(&stage, &["web"]);
    let mut wrong = named(NONE, true);
    wrong.content = Some(b"[ ]".to_vec());
    stage
        .strings
        .grant_contents(RunKind::Check, vec![named(&head, true), wrong]);
    let error = stage.strings.failed().await;
    assert!(error.contains("in place of the content"), "{}", error);

    stage
        .strings
        .grant_contents(RunKind::Check, vec![named(&head, true), named(NONE, false)]);
    let error = stage.strings.failed().await;
    assert!(error.contains("did not send"), "{}", error);
}
