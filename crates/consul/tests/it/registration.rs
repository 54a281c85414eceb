//! The program's own entry in the catalog (`docs/configuration.md#consulservice_registration`).

use std::time::Duration;

use cts_consul::{ConsulClient, DEREGISTRATION_LIMIT, Registration, keep_registered};
use cts_testkit::{ConsulAgent, eventually};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use wiremock::matchers::{body_json, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::{DEADLINE, client};

const LOOK: Duration = Duration::from_millis(50);
const REGISTER: &str = "/v1/agent/service/register";
const LOOKED_FOR: &str = "/v1/agent/service/cts-a";
const DEREGISTER: &str = "/v1/agent/service/deregister/cts-a";

fn registration() -> Registration {
    Registration {
        id: "cts-a".into(),
        name: "consul-terraform-sync".into(),
        tags: vec!["cts".into(), "cts-cluster:edge".into()],
        address: "10.0.0.1".into(),
        port: 8558,
        namespace: String::new(),
        check: Some("https://localhost:8558".into()),
    }
}

/// A registration that is kept until the test ends it.
struct Kept {
    shutdown: CancellationToken,
    tasks: JoinSet<()>,
}

impl Kept {
    fn start(client: ConsulClient, registration: Registration) -> Self {
        let shutdown = CancellationToken::new();
        let until = shutdown.clone().cancelled_owned();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { keep_registered(&client, &registration, LOOK, until).await });
        Self { shutdown, tasks }
    }

    /// Time that the end takes.
    async fn end(mut self) -> Duration {
        let begun = Instant::now();
        self.shutdown.cancel();
        let ended = timeout(DEADLINE, self.tasks.join_next()).await;
        ended.unwrap().unwrap().unwrap();
        begun.elapsed()
    }
}

async fn services(consul: &ConsulAgent) -> Value {
    consul.get("/v1/agent/services").await
}

async fn until_known(consul: &ConsulAgent) {
    eventually(DEADLINE, async || {
        let known = services(consul).await;
        known
            .get("cts-a")
            .map(drop)
            .ok_or_else(|| known.to_string())
    })
    .await;
}

#[tokio::test]
async fn consul_gets_every_field_and_forgets_the_service_at_the_end() {
    let consul = ConsulAgent::start().await;
    let kept = Kept::start(client(&consul.address()), registration());
    until_known(&consul).await;
    let service = &services(&consul).await["cts-a"];
    assert_eq!(service["Service"], "consul-terraform-sync");
    assert_eq!(service["Tags"], json!(["cts", "cts-cluster:edge"]));
    assert_eq!(service["Address"], "10.0.0.1");
    assert_eq!(service["Port"], 8558);
    let checks = consul.get("/v1/agent/checks").await;
    let check = &checks["cts-a-health"];
    assert_eq!(check["Name"], "CTS Health Status");
    assert_eq!(check["Notes"], "Check created by Consul-Terraform-Sync");
    assert_eq!(check["Status"], "critical");
    assert_eq!(check["ServiceID"], "cts-a");
    kept.end().await;
    assert_eq!(services(&consul).await.get("cts-a"), None);
    let checks = consul.get("/v1/agent/checks").await;
    assert_eq!(checks.get("cts-a-health"), None);
}

#[tokio::test]
async fn an_agent_that_has_lost_it_gets_it_again() {
    let mut consul = ConsulAgent::start().await;
    let kept = Kept::start(client(&consul.address()), registration());
    until_known(&consul).await;
    consul.deregister("cts-a").await;
    until_known(&consul).await;
    consul.restart().await;
    until_known(&consul).await;
    kept.end().await;
    assert_eq!(services(&consul).await.get("cts-a"), None);
}

#[tokio::test]
async fn a_service_without_id_and_check_is_known_by_its_name() {
    let consul = ConsulAgent::start().await;
    let nameless = Registration {
        id: String::new(),
        name: "cts-a".into(),
        check: None,
        ..registration()
    };
    let kept = Kept::start(client(&consul.address()), nameless);
    until_known(&consul).await;
    assert_eq!(consul.get("/v1/agent/checks").await, json!({}));
    kept.end().await;
    assert_eq!(services(&consul).await.get("cts-a"), None);
}

#[tokio::test]
async fn an_agent_that_does_not_answer_does_not_hold_up_the_end() {
    let consul = ConsulAgent::start().await;
    let kept = Kept::start(client(&consul.address()), registration());
    until_known(&consul).await;
    consul.pause();
    let took = kept.end().await;
    consul.resume();
    assert!(
        took < DEREGISTRATION_LIMIT + Duration::from_secs(2),
        "{took:?}"
    );
}

fn answering(status: u16, requests: u64) -> Mock {
    let answer = ResponseTemplate::new(status);
    Mock::given(method("PUT"))
        .and(path(REGISTER))
        .respond_with(answer)
        .up_to_n_times(requests)
}

fn count(requests: &[wiremock::Request], path: &str) -> usize {
    requests
        .iter()
        .filter(|request| request.url.path() == path)
        .count()
}

/// Waits for more than `number` requests to `path`.
async fn more_than(server: &MockServer, number: usize, path: &str) {
    eventually(DEADLINE, async || {
        let requests = server.received_requests().await.unwrap();
        let found = count(&requests, path);
        if found > number { Ok(()) } else { Err(found) }
    })
    .await;
}

#[tokio::test]
async fn the_check_is_the_one_of_the_original() {
    let server = MockServer::start().await;
    let expected = json!({
        "ID": "cts-a",
        "Name": "consul-terraform-sync",
        "Tags": ["cts", "cts-cluster:edge"],
        "Address": "10.0.0.1",
        "Port": 8558,
        "Namespace": "ops",
        "Checks": [{
            "CheckID": "cts-a-health",
            "Name": "CTS Health Status",
            "Notes": "Check created by Consul-Terraform-Sync",
            "Status": "critical",
            "HTTP": "https://localhost:8558/v1/health",
            "Method": "GET",
            "Interval": "10s",
            "Timeout": "2s",
            "DeregisterCriticalServiceAfter": "30m",
            "TLSSkipVerify": true,
        }],
    });
    Mock::given(method("PUT"))
        .and(path(REGISTER))
        .and(body_json(expected))
        .respond_with(ResponseTemplate::new(200))
        .mount(&server)
        .await;
    let elsewhere = Registration {
        namespace: "ops".into(),
        ..registration()
    };
    let kept = Kept::start(client(&server.uri()), elsewhere);
    more_than(&server, 0, LOOKED_FOR).await;
    kept.end().await;
    let requests = server.received_requests().await.unwrap();
    assert_eq!(count(&requests, DEREGISTER), 1);
    let all_there = requests
        .iter()
        .all(|request| request.url.query() == Some("ns=ops"));
    assert!(all_there, "{requests:#?}");
}

#[tokio::test]
async fn failures_and_refusals_are_repeated_until_it_works() {
    for status in [500, 429, 403] {
        let server = MockServer::start().await;
        answering(status, 3).mount(&server).await;
        answering(200, 100).mount(&server).await;
        let present = Mock::given(path(LOOKED_FOR));
        let present = present.respond_with(ResponseTemplate::new(200));
        present.mount(&server).await;
        let kept = Kept::start(client(&server.uri()), registration());
        more_than(&server, 0, LOOKED_FOR).await;
        kept.end().await;
        let requests = server.received_requests().await.unwrap();
        assert_eq!(count(&requests, REGISTER), 4, "{status}");
        assert_eq!(count(&requests, DEREGISTER), 1, "{status}");
    }
}

#[tokio::test]
async fn refused_registration_is_not_deregistered() {
    let server = MockServer::start().await;
    answering(403, 1000).mount(&server).await;
    let kept = Kept::start(client(&server.uri()), registration());
    more_than(&server, 1, REGISTER).await;
    kept.end().await;
    let requests = server.received_requests().await.unwrap();
    assert_eq!(count(&requests, DEREGISTER), 0);
}

#[tokio::test]
async fn a_registration_that_is_under_way_at_the_end_is_taken_back() {
    let server = MockServer::start().await;
    let late = ResponseTemplate::new(200).set_delay(Duration::from_millis(300));
    Mock::given(path(REGISTER))
        .respond_with(late)
        .mount(&server)
        .await;
    answering(200, 1000).mount(&server).await;
    let kept = Kept::start(client(&server.uri()), registration());
    more_than(&server, 0, REGISTER).await;
    kept.end().await;
    let requests = server.received_requests().await.unwrap();
    assert_eq!(count(&requests, DEREGISTER), 1);
}
