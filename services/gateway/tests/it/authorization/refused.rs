//! Wrong credentials, and refused requests on their way to the audit records (docs/access.md#wrong-credentials).

use std::sync::Arc;
use std::time::Duration;

use cts_proto::access::v1::Refusal;
use tokio::time::{Instant, timeout};

use super::{EXPIRED, LIMITED, READ, ask, scene, stage};
use crate::stage::SOON;

#[tokio::test]
async fn wrong_credentials_are_answered_ever_more_slowly_and_right_ones_are_not() {
    let stage = stage(scene()).await;
    let took = async |token| {
        let begin = Instant::now();
        ask(&stage, "GET", "/v1/tasks", token).await;
        begin.elapsed()
    };
    for _ in 0..10 {
        took(Some("cts_wrong")).await;
    }
    let eleventh = took(Some("cts_wrong")).await;
    assert!(eleventh >= Duration::from_millis(100), "{eleventh:?}");
    let twelfth = took(Some("cts_wrong")).await;
    assert!(twelfth >= Duration::from_millis(200), "{twelfth:?}");
    for _ in 0..2 {
        took(Some("cts_wrong")).await;
    }
    // The last pause was 800 ms: longer than a busy machine needs for an answer.
    for token in [Some(READ), None] {
        let right = took(token).await;
        assert!(right < Duration::from_millis(800), "{right:?}");
    }
}

#[tokio::test]
async fn the_end_of_the_gateway_waits_for_no_pause() {
    let mut stage = stage(scene()).await;
    for _ in 0..15 {
        ask(&stage, "GET", "/v1/tasks", Some("cts_wrong")).await;
    }
    let begin = Instant::now();
    let shutdown = stage.shutdown.clone();
    let ending = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        shutdown.cancel();
    };
    let (answer, ()) = tokio::join!(ask(&stage, "GET", "/v1/tasks", Some("cts_wrong")), ending);
    assert_eq!(answer.status, 401);
    assert!(
        begin.elapsed() < Duration::from_secs(1),
        "{:?}",
        begin.elapsed()
    );
    let end = timeout(SOON, stage.gateway.join_next()).await;
    end.unwrap().unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn refusals_are_recorded_in_small_numbers() {
    let scene = scene();
    let recorded = Arc::clone(&scene.access.refusals);
    let mut stage = stage(scene).await;
    for _ in 0..150 {
        ask(&stage, "GET", "/v1/tasks?secret=1", None).await;
    }
    stage.shutdown.cancel();
    stage.gateway.join_next().await.unwrap().unwrap().unwrap();
    let recorded = recorded.lock().unwrap();
    let counts: Vec<u32> = recorded.iter().map(|refusal| refusal.count).collect();
    assert_eq!(counts.len(), 101);
    assert!(counts[..100].iter().all(|count| *count == 1));
    assert!(counts[100] >= 50, "{counts:?}");
    let first = &recorded[0];
    assert_eq!(first.request, "GET /v1/tasks");
    assert_eq!(first.reason, "without a credential");
    let caller = first.caller.as_ref().unwrap();
    assert_eq!(
        (caller.kind.as_str(), caller.address.as_str()),
        ("anonymous", "192.0.2.1")
    );
}

#[tokio::test]
async fn each_refusal_names_its_caller_and_its_reason() {
    let scene = scene();
    let recorded = Arc::clone(&scene.access.refusals);
    let mut stage = stage(scene).await;
    ask(&stage, "DELETE", "/v1/tasks/dns", Some(READ)).await;
    ask(&stage, "GET", "/v1/tasks/edge-lb", Some(LIMITED)).await;
    ask(&stage, "GET", "/v1/tasks", Some(EXPIRED)).await;
    let foreign = [("Origin", "http://evil.example")];
    stage
        .ask_with("DELETE", "/v1/tasks/dns", &foreign, b"")
        .await;
    stage.shutdown.cancel();
    stage.gateway.join_next().await.unwrap().unwrap().unwrap();
    let recorded = recorded.lock().unwrap();
    let shown = recorded.iter().map(|refusal| {
        let caller = refusal.caller.as_ref().unwrap();
        let Refusal {
            request, reason, ..
        } = refusal;
        format!("{} {:?}: {request}: {reason}", caller.kind, caller.name)
    });
    let shown: Vec<String> = shown.collect();
    for expected in [
        "token \"name of read\": DELETE /v1/tasks/dns: the role read does not suffice: admin is needed",
        "token \"name of admin\": GET /v1/tasks/edge-lb: the credential is not for the task that the request names",
        "anonymous \"\": GET /v1/tasks: wrong credential: the token of name of admin has expired",
        "anonymous \"\": DELETE /v1/tasks/dns: a page of 'http://evil.example' may not change anything: if the page is yours, add its origin to security.origins",
    ] {
        assert!(
            shown.iter().any(|line| line == expected),
            "{expected}\n{shown:#?}"
        );
    }
}
