//! Remote runs that a person ends on the server: the decision stands.

use cts_testkit::eventually;
use cts_testkit::hcp::Phase;
use cts_tests::{DEADLINE, Instance};
use reqwest::Method;
use serde_json::{Value, json};

use super::super::cancels::cancel;
use super::stage::{Stage, WORKSPACE, newest_run};

/// The way in which a person ends a remote run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Discards,
    Cancels,
}

/// A run whose remote run a person has ended, and the address of that.
async fn ended_by_a_person(way: Way) -> (Stage, Instance, String) {
    let stage = Stage::with_workspace(way != Way::Discards).await;
    if way != Way::Discards {
        stage.server.hold(Phase::Planning);
    }
    let cts = stage.start().await;
    let id = match way {
        Way::Discards => {
            let id = stage.server.confirmable(WORKSPACE, DEADLINE).await;
            newest_run(&cts, |run| run["waiting_for"].is_string()).await;
            stage.server.discard(&id);
            id
        }
        Way::Cancels => {
            let id = stage.reached(Phase::Planning).await;
            newest_run(&cts, |run| run["remote_run"]["status"] == "planning").await;
            stage.server.cancel(&id);
            id
        }
    };
    stage.server.release(Phase::Planning);
    (stage, cts, id)
}

/// The problem of the task in the answer for `cts status`.
async fn problem(cts: &Instance) -> Option<String> {
    let overview = cts.api.get("/v1/overview").await;
    let problems = overview["problems"].as_array()?.clone();
    let of_task = problems
        .iter()
        .find(|problem| problem["task_name"] == "edge")?;
    of_task["text"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_remote_run_that_a_person_ends_is_not_requested_again_until_the_input_changes() {
    for (way, word) in [(Way::Discards, "discarded"), (Way::Cancels, "canceled")] {
        let (stage, cts, id) = ended_by_a_person(way).await;
        let events = cts.api.wait_for_events("edge", 1).await;
        let message = events[0]["error"]["message"].as_str().unwrap_or_default();
        let decision = format!("cancelled: the remote run was {word} on the server by operator: ");
        assert!(message.starts_with(&decision), "{message}");
        assert!(message.ends_with(&format!("/runs/{id}")), "{message}");
        let failed = newest_run(&cts, |run| run["status"] == "failed").await;
        // Nothing waits for a later attempt: the input is withheld.
        let runs = cts.api.get("/v1/runs?task=edge").await;
        assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
        assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
        let shown = problem(&cts).await.unwrap_or_default();
        assert!(
            shown.contains("on the server") && shown.contains(&id),
            "{shown}"
        );

        stage.register("web-2").await;
        let newer = newest_run(&cts, |run| run["id"] != failed["id"]).await;
        let runs = eventually(DEADLINE, async || match stage.runs() {
            runs if runs.len() == 2 => Ok(runs),
            runs => Err(format!("{newer}: {runs:?}")),
        })
        .await;
        if way == Way::Discards {
            let second = stage.server.confirmable(WORKSPACE, DEADLINE).await;
            assert_eq!(second, runs[1].id);
            stage.server.confirm(&second);
        }
        stage.recorded(&["web-1", "web-2"]).await;
        newest_run(&cts, |run| run["status"] == "succeeded").await;
        eventually(DEADLINE, async || match problem(&cts).await {
            None => Ok(()),
            Some(shown) => Err(shown),
        })
        .await;
        cts.stop().await;
    }
}

#[tokio::test]
async fn an_input_that_a_person_has_discarded_runs_when_somebody_asks() {
    let (stage, cts, _id) = ended_by_a_person(Way::Cancels).await;
    cts.api.wait_for_events("edge", 1).await;
    let body = Some(json!({ "enabled": true }));
    let path = "/v1/tasks/edge?run=now";
    let (status, answer) = cts.api.send(Method::PATCH, path, body).await;
    assert_eq!(status, 200, "{answer}");
    stage.recorded(&["web-1"]).await;
    assert_eq!(stage.runs().len(), 2, "{:?}", stage.runs());
    cts.stop().await;
}

#[tokio::test]
async fn an_end_that_cts_has_asked_for_is_no_decision_of_a_person() {
    let stage = Stage::with_workspace(false).await;
    let cts = stage.start().await;
    stage.server.confirmable(WORKSPACE, DEADLINE).await;
    let run = newest_run(&cts, |run| run["waiting_for"].is_string()).await;
    let (status, answer) = cancel(&cts, run["id"].as_str().unwrap_or_default(), None).await;
    assert_eq!(status, 202, "{answer}");
    let events = cts.api.wait_for_events("edge", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(message, "cancelled: the run was stopped on request");
    let run = newest_run(&cts, |run| run["status"] == "failed").await;
    assert_eq!(run["remote_run"]["given_up"], Value::Bool(true), "{run}");
    assert_eq!(stage.runs()[0].phase, Phase::Discarded);
    cts.stop().await;
}

#[tokio::test]
async fn a_person_ends_a_remote_run_while_no_process_of_cts_follows_it() {
    let stage = Stage::with_workspace(true).await;
    stage.server.hold(Phase::Planning);
    let first = Instance::start_embedded(&stage.site).await;
    let id = stage.reached(Phase::Planning).await;
    newest_run(&first, |run| run["remote_run"]["status"] == "planning").await;
    first.kill().await;
    stage.server.cancel(&id);
    stage.server.release(Phase::Planning);
    stage.reached(Phase::Canceled).await;
    let second = Instance::start_embedded(&stage.site).await;
    let events = second.api.wait_for_events("edge", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("was canceled on the server by operator"),
        "{message}"
    );
    assert_eq!(stage.runs().len(), 1, "{:?}", stage.runs());
    second.stop().await;
}
