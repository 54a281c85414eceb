//! The strict-follower mode (docs/rest.md#strict-followers).

use cts_gateway::Mode;
use cts_proto::cluster::v1::GetClusterResponse;
use tonic::Status;

use crate::cluster::{MemoryCluster, edge, member};
use crate::errors::{new_error, plain_error};
use crate::stage::{Scene, Stage};
use crate::tasks::three_tasks;

/// Every task and status endpoint, some under their other names, with their answers if the leader is
/// asked.
const INTERCEPTED: [(&str, &str, u16); 17] = [
    ("GET", "/v1/status", 200),
    ("GET", "/v1/status/", 200),
    ("GET", "/v1/status/cluster/", 200),
    ("POST", "/v1/status", 405),
    ("GET", "/v1/status/tasks", 200),
    ("GET", "/v1/status/tasks?status=bad", 400),
    ("GET", "/v1/status/tasks/nope", 404),
    ("GET", "/v1/status/tasks/a/b", 400),
    ("GET", "/v1/tasks", 200),
    ("PUT", "/v1/tasks", 405),
    ("GET", "/v1/tasks/dns", 200),
    ("GET", "/v1/tasks/dns/explain", 200),
    ("DELETE", "/v1/tasks/dns", 202),
    ("PATCH", "/v1/tasks/dns", 400),
    ("PATCH", "/v1/tasks/dns?run=", 400),
    ("PATCH", "/v1/tasks", 400),
    ("GET", "/v1/tasks/", 405),
];

/// Requests that a follower answers like every other replica.
const NOT_INTERCEPTED: [(&str, &str, u16); 22] = [
    ("GET", "/v1/health", 200),
    ("HEAD", "/v1/health", 405),
    ("GET", "/v1/status/cluster", 200),
    ("POST", "/v1/status/cluster", 405),
    ("GET", "/v1/cluster/configuration", 200),
    ("GET", "/v1/queue", 200),
    ("GET", "/v1/overview", 200),
    ("GET", "/v1/overview/tasks", 200),
    ("GET", "/v1/times", 200),
    ("GET", "/v1/brake", 200),
    ("POST", "/v1/brake", 200),
    ("GET", "/v1/runs", 200),
    ("GET", "/v1/openapi.json", 200),
    ("POST", "/v1/tasks?run=", 400),
    ("POST", "/v1/tasks", 400),
    ("PUT", "/v1/tasks/dns", 400),
    ("OPTIONS", "/v1/tasks", 200),
    ("OPTIONS", "/v1/status", 200),
    ("BREW", "/v1/tasks", 405),
    ("GET", "/v1/nowhere", 404),
    ("PATCH", "/v2/tasks/dns", 404),
    ("GET", "/v1//tasks", 404),
];

async fn strict(cluster: MemoryCluster) -> Stage {
    Stage::set(Scene {
        tasks: three_tasks(),
        cluster,
        mode: Mode::StrictFollower,
        ..Scene::default()
    })
    .await
}

/// `cts-a`, which answers, and the leader.
fn led_by(id: &str, address: Option<&str>) -> GetClusterResponse {
    edge(vec![
        member("cts-a", id == "cts-a", address),
        member(id, true, address),
    ])
}

async fn check_follower(cluster: GetClusterResponse, message: &str) {
    let stage = strict(MemoryCluster::new(cluster)).await;
    for (method, path, _) in INTERCEPTED {
        let answer = stage.ask(method, path).await;
        let row = format!("{method} {path}: {answer:?}");
        assert_eq!(answer.status, 400, "{row}");
        assert_eq!(answer.body, plain_error(message), "{row}");
        assert_eq!(
            answer.header("Content-Type"),
            Some("application/json"),
            "{row}"
        );
        assert_eq!(answer.header("Location"), None, "{row}");
        assert!(answer.is_open_to_all_origins(), "{row}");
    }
    for (method, path, status) in NOT_INTERCEPTED {
        let answer = stage.ask(method, path).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
    }
}

#[tokio::test]
async fn a_follower_names_the_leader_and_its_address_as_configured() {
    let led = |address| led_by("cts-b", address);
    let members = ["cts-a", "cts-b"].map(|id| member(id, false, Some("a:8558")));
    for (cluster, leader) in [
        (
            led(Some("cts-b.example.net:8558")),
            " 'cts-b' at cts-b.example.net:8558",
        ),
        (
            led(Some("cts-b.example.net")),
            " 'cts-b' at cts-b.example.net",
        ),
        (led(None), " 'cts-b'"),
        (led(Some("")), " 'cts-b'"),
        (edge(members.into()), ""),
    ] {
        let message = format!("redirect requests to leader{leader}");
        check_follower(cluster, &message).await;
    }
}

#[tokio::test]
async fn changes_are_checked_before_they_are_sent_away() {
    let stage = strict(MemoryCluster::new(led_by("cts-b", None))).await;
    let headers = [("Content-Type", "application/json"), ("If-Match", "*")];
    let good = r#"{"task":{"name":"dns","module":"m","condition":{}}}"#;
    for (method, path) in [("POST", "/v1/tasks"), ("PUT", "/v1/tasks/dns")] {
        let refused = stage.ask_with(method, path, &headers, b"{}").await;
        assert!(refused.body.contains("is missing"), "{refused:?}");
        let sent_away = stage
            .ask_with(method, path, &headers, good.as_bytes())
            .await;
        assert_eq!(sent_away.status, 400);
        assert_eq!(
            sent_away.body,
            plain_error("redirect requests to leader 'cts-b'")
        );
    }
}

#[tokio::test]
async fn the_leader_answers() {
    let without_high_availability = GetClusterResponse {
        high_availability: false,
        ..led_by("cts-b", None)
    };
    for cluster in [
        led_by("cts-a", Some("cts-a.example.net:8558")),
        without_high_availability,
    ] {
        let stage = strict(MemoryCluster::new(cluster)).await;
        for (method, path, status) in INTERCEPTED {
            let answer = stage.ask(method, path).await;
            assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn transparent_gateways_do_not_ask_who_leads() {
    let cluster = MemoryCluster::new(led_by("cts-b", None));
    let stage = Stage::set(Scene {
        tasks: three_tasks(),
        cluster: cluster.clone(),
        ..Scene::default()
    })
    .await;
    for (method, path, status) in INTERCEPTED {
        let answer = stage.ask(method, path).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
    }
    assert_eq!(cluster.calls(), 0);
}

#[tokio::test]
async fn a_change_of_leaders_is_noticed_by_the_next_request() {
    let cluster = MemoryCluster::new(led_by("cts-b", None));
    let stage = strict(cluster.clone()).await;
    for (leader, status) in [("cts-a", 400), ("cts-b", 200), ("cts-a", 400)] {
        for path in ["/v1/tasks", "/v1/status"] {
            assert_eq!(stage.ask("GET", path).await.status, status, "{path}");
        }
        cluster.set(Ok(led_by(leader, None)));
    }
}

#[tokio::test]
async fn failed_leader_lookup_is_not_answered_as_a_follower() {
    for (failure, status, message) in [
        (
            Status::unavailable("the database is away"),
            503,
            "no scheduler is available",
        ),
        (
            Status::internal("database at 10.0.0.7 said no"),
            500,
            "the request failed because of an internal error",
        ),
    ] {
        let stage = strict(MemoryCluster::failing(failure)).await;
        for (path, body) in [
            ("/v1/status", plain_error(message)),
            ("/v1/tasks", new_error(message)),
        ] {
            let answer = stage.ask("GET", path).await;
            assert_eq!(answer.status, status, "{path}: {answer:?}");
            assert_eq!(answer.body, body);
        }
    }
}
