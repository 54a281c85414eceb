//! Messages to a subscriber about failures.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use wiremock::matchers::path_regex;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::rig::{Rig, Update, ids, instances, view};

/// Gives these answers to the queries of views one after the other, then none for a long time.
struct Script(Mutex<std::vec::IntoIter<ResponseTemplate>>);

impl Respond for Script {
    fn respond(&self, _request: &Request) -> ResponseTemplate {
        let next = self.0.lock().unwrap().next();
        next.unwrap_or_else(|| ResponseTemplate::new(500).set_delay(Duration::from_mins(5)))
    }
}

async fn consul(answers: Vec<ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    let script = Script(Mutex::new(answers.into_iter()));
    let queries = Mock::given(path_regex("^/v1/health/service/"));
    queries.respond_with(script).mount(&server).await;
    server
}

fn answer(index: &str, id: &str) -> ResponseTemplate {
    ResponseTemplate::new(200)
        .insert_header("x-consul-index", index)
        .set_body_json(json!([{"Node": {"Node": "n"}, "Service": {"ID": id, "Service": "web"}}]))
}

fn odd_answer(index: &str, port: &serde_json::Value) -> ResponseTemplate {
    ResponseTemplate::new(200)
        .insert_header("x-consul-index", index)
        .set_body_json(json!([
            {"Node": {"Node": "n"}, "Service": {"ID": "a", "Service": "web", "Port": 80}},
            {"Node": {"Node": "n"}, "Service": {"ID": "odd", "Service": "web", "Port": port}},
        ]))
}

#[tokio::test]
async fn one_odd_instance_does_not_hold_up_its_view() {
    let answers = vec![
        odd_answer("5", &json!("none")),
        odd_answer("6", &json!(-1)),
        odd_answer("7", &json!({})),
        answer("8", "a"),
    ];
    let server = consul(answers).await;
    let rig = Rig::start(&server.uri());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&view("web")]);
    assert_eq!(ids(&subscriber.delta().await.1), ["a"]);
    let (_, snapshot) = subscriber.delta().await;
    let ports: Vec<_> = instances(&snapshot).iter().map(|i| i.port).collect();
    assert_eq!(ports, [80, -1]);
    // The answer with index 7 equals the one before, which is no change.
    assert_eq!(ids(&subscriber.delta().await.1), ["a"]);
}

async fn failures(subscriber: &mut crate::rig::Subscriber) -> u32 {
    match subscriber.update().await {
        Update::Failure(failure) => failure.failures,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_recovery_without_a_change_is_a_delta_that_changes_nothing() {
    let busy = || ResponseTemplate::new(500);
    let answers = vec![answer("5", "a"), busy(), busy(), answer("9", "a")];
    let server = consul(answers).await;
    let rig = Rig::start(&server.uri());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&view("web")]);
    let (_, first) = subscriber.delta().await;
    assert_eq!(failures(&mut subscriber).await, 1);
    assert_eq!(failures(&mut subscriber).await, 2);
    let (base, same) = subscriber.delta().await;
    assert_eq!(base, Some(first.revision));
    assert_eq!(same, first);
}

#[tokio::test]
async fn a_view_that_never_worked_reports_its_failure_and_then_its_snapshot() {
    let server = consul(vec![ResponseTemplate::new(403), answer("5", "a")]).await;
    let rig = Rig::start(&server.uri());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&view("web")]);
    assert_eq!(failures(&mut subscriber).await, 1);
    let (base, first) = subscriber.delta().await;
    assert_eq!((base, ids(&first)), (None, vec!["a"]));
}
