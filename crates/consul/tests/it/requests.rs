//! Sent requests, and the wait for a leader.

use std::time::Duration;

use cts_consul::{ConsulClient, ConsulSettings, Query, SettingsError};
use cts_core::ServiceView;
use cts_testkit::{ConsulAgent, free_port};
use serde_json::json;
use tokio::time::Instant;
use wiremock::matchers::{
    any, basic_auth, header, method, path, query_param, query_param_is_missing,
};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::{AskHealth as _, client, ids, settings, view};

fn empty_answer() -> ResponseTemplate {
    ResponseTemplate::new(200)
        .insert_header("x-consul-index", "7")
        .set_body_json(json!([]))
}

#[tokio::test]
async fn prefix_credentials_and_parameters_are_sent() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/behind/proxy/v1/health/service/web"))
        .and(header("x-consul-token", "s3cret"))
        .and(basic_auth("user", "pass:word"))
        .and(query_param("passing", "1"))
        .and(query_param("dc", "dc2"))
        .and(query_param("ns", "team"))
        .and(query_param("partition", "part"))
        .and(query_param("index", "5"))
        .and(query_param_is_missing("filter"))
        .and(query_param("wait", "300s"))
        .respond_with(empty_answer())
        .expect(1)
        .mount(&server)
        .await;
    let settings = ConsulSettings {
        token: Some("s3cret".into()),
        basic_auth: Some(("user".into(), "pass:word".into())),
        namespace: Some("team".into()),
        partition: Some("part".into()),
        ..settings(&format!("{}/behind/proxy/", server.uri()))
    };
    let datacenter = "dc2".to_owned();
    let client = ConsulClient::new(&settings).unwrap();
    let answer = client
        .health_service(
            &ServiceView {
                datacenter,
                ..view("web")
            },
            5,
        )
        .await
        .unwrap();
    assert_eq!(answer.index, Some(7));
    let shown = format!("{settings:?} {client:?}");
    assert!(
        !shown.contains("s3cret") && !shown.contains("pass:word"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_namespace_of_the_view_wins_and_empty_values_are_left_out() {
    let server = MockServer::start().await;
    Mock::given(query_param("ns", "own"))
        .and(query_param_is_missing("dc"))
        .and(query_param_is_missing("index"))
        .and(query_param_is_missing("partition"))
        .and(query_param_is_missing("passing"))
        .and(query_param("filter", "Checks.Status != \"\" and 1 == 1"))
        .respond_with(empty_answer())
        .expect(1)
        .mount(&server)
        .await;
    let settings = ConsulSettings {
        namespace: Some("team".into()),
        partition: Some(String::new()),
        ..settings(&server.uri())
    };
    let view = ServiceView {
        namespace: "own".into(),
        filter: "Checks.Status != \"\" and 1 == 1".into(),
        ..view("web")
    };
    let client = ConsulClient::new(&settings).unwrap();
    assert!(client.health_service(&view, 0).await.is_ok());
}

#[tokio::test]
async fn a_unix_socket_is_an_address() {
    let directory = tempfile::tempdir().unwrap();
    let socket = format!("unix://{}/consul.sock", directory.path().display());
    let consul =
        ConsulAgent::start_with(json!({"addresses": {"http": format!("127.0.0.1 {socket}")}}))
            .await;
    consul.register_service("web", "a", 80, &[], &[]).await;
    let answer = client(&socket)
        .health_service(&view("web"), 0)
        .await
        .unwrap();
    assert_eq!(ids(&answer.instances), ["a"]);
}

#[tokio::test]
async fn a_running_cluster_has_a_leader() {
    let consul = ConsulAgent::start().await;
    let client = client(&consul.address());
    let leader = client.leader().await.unwrap();
    assert!(leader.is_some());
    assert_eq!(client.wait_for_leader().await.unwrap(), leader);
}

#[tokio::test]
async fn a_refused_connection_ends_the_wait_for_a_leader_at_once() {
    let started = Instant::now();
    let address = format!("127.0.0.1:{}", free_port());
    let error = client(&address).wait_for_leader().await.unwrap_err();
    assert!(error.report().contains("refused"), "{}", error.report());
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_cluster_without_leader_is_asked_again() {
    let server = MockServer::start().await;
    let leader = || Mock::given(path("/v1/status/leader"));
    leader()
        .respond_with(ResponseTemplate::new(500).set_body_string("No cluster leader"))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    leader()
        .respond_with(ResponseTemplate::new(200).set_body_json("10.0.0.1:8300"))
        .mount(&server)
        .await;
    let started = Instant::now();
    let found = client(&server.uri()).wait_for_leader().await.unwrap();
    assert_eq!(found.as_deref(), Some("10.0.0.1:8300"));
    assert!(started.elapsed() >= Duration::from_secs(2));
}

#[tokio::test]
async fn an_empty_leader_is_none() {
    let server = MockServer::start().await;
    Mock::given(path("/v1/status/leader"))
        .respond_with(ResponseTemplate::new(200).set_body_json(""))
        .mount(&server)
        .await;
    assert_eq!(client(&server.uri()).leader().await.unwrap(), None);
}

#[test]
fn unusable_settings_say_what_is_wrong_and_keep_the_secret() {
    let refused = |settings| ConsulClient::new(&settings).unwrap_err();
    let error = refused(ConsulSettings {
        token: Some("s3cret\n".into()),
        ..settings("localhost:8500")
    });
    assert!(matches!(
        error,
        SettingsError::InvalidHeader { what: "token", .. }
    ));
    assert!(!format!("{error} {error:?}").contains("s3cret"));
    let error = refused(settings("http://bad host:8500"));
    assert!(matches!(error, SettingsError::InvalidUrl(_)), "{error:?}");
    let mut secure = settings("https://localhost");
    secure.tls.ca_cert = Some("/nonexistent/ca.pem".into());
    let error = refused(secure);
    assert_eq!(
        error.to_string(),
        "cannot read the TLS file /nonexistent/ca.pem"
    );
}

#[tokio::test]
async fn marks_answers_that_consul_has_filtered() {
    for (header, expected) in [(Some("true"), true), (Some("false"), false), (None, false)] {
        let server = MockServer::start().await;
        let mut answer = ResponseTemplate::new(200).set_body_string("[]");
        if let Some(value) = header {
            answer = answer.insert_header("x-consul-results-filtered-by-acls", value);
        }
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let query = Query::health(view("web"));
        let answer = client(&server.uri()).read(&query, 0).await.unwrap();
        assert_eq!(answer.filtered, expected, "{header:?}");
    }
}
