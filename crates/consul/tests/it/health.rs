//! Answers of the real Consul about instances.

use cts_core::{HealthStatus, ServiceView};
use cts_testkit::ConsulAgent;
use serde_json::json;

use crate::{AskHealth as _, client, ids, view};

#[tokio::test]
async fn hostile_text_arrives_as_it_was_registered() {
    let consul = ConsulAgent::start().await;
    let large = "x".repeat(512);
    let meta = [
        ("quotes", "\"a\" 'b' \\"),
        ("lines", "one\ntwo\r\n\ttab"),
        ("template", "${x} %{if true}y%{endif} {{ key \"k\" }}"),
        ("emoji", "\u{1f680}\u{feff}\u{202e}"),
        ("large", &large),
        ("empty", ""),
    ];
    consul
        .register_service("web", "web \"1\"/2", 65535, &meta, &["z\n", "a", "${t}"])
        .await;
    let answer = client(&consul.address())
        .health_service(&view("web"), 0)
        .await
        .unwrap();
    assert!(answer.index > Some(0));
    let [instance] = answer.instances.as_slice() else {
        panic!("{answer:?}");
    };
    let seen: Vec<_> = instance
        .meta
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let mut expected = meta.to_vec();
    expected.sort_unstable();
    assert_eq!(seen, expected);
    assert_eq!(instance.tags, ["${t}", "a", "z\n"]);
    assert_eq!((instance.name.as_str(), instance.port), ("web", 65535));
    assert_eq!(instance.id, "web \"1\"/2");
    assert_eq!(instance.status, HealthStatus::Passing);
    // The service has no address of its own.
    assert_eq!(
        (instance.address.as_str(), instance.kind.as_str()),
        ("127.0.0.1", "")
    );
    assert_eq!(instance.node, ConsulAgent::NODE);
    assert_eq!(instance.node_address, "127.0.0.1");
    assert_eq!(instance.node_datacenter, "dc1");
    let lan = instance.node_tagged_addresses.get("lan");
    assert_eq!(lan.map(String::as_str), Some("127.0.0.1"));
    assert_eq!(instance.node_id.len(), 36);
    assert_eq!(instance.namespace, "");
}

#[tokio::test]
async fn only_passing_instances_are_delivered_unless_the_filter_speaks_of_checks() {
    let consul = ConsulAgent::start().await;
    for (id, status) in [("good", "pass"), ("weak", "warn"), ("bad", "fail")] {
        let check = format!("check-{id}");
        consul
            .register(json!({"Name": "web", "ID": id, "Address": "10.1.1.1",
                "Check": {"CheckID": check, "TTL": "10m"}}))
            .await;
        consul.set_check(&check, status).await;
    }
    consul.register_service("web", "repair", 0, &[], &[]).await;
    consul
        .put("/v1/agent/service/maintenance/repair?enable=true", "")
        .await;
    let client = client(&consul.address());
    let passing = client.health_service(&view("web"), 0).await.unwrap();
    assert_eq!(ids(&passing.instances), ["good"]);
    assert_eq!(passing.instances[0].address, "10.1.1.1");

    let filter = "Checks.Status != \"\"".to_owned();
    let everything = ServiceView {
        filter,
        ..view("web")
    };
    let all = client.health_service(&everything, 0).await.unwrap();
    let mut seen: Vec<_> = all
        .instances
        .iter()
        .map(|instance| (instance.id.as_str(), instance.status))
        .collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            ("bad", HealthStatus::Critical),
            ("good", HealthStatus::Passing),
            ("repair", HealthStatus::Maintenance),
            ("weak", HealthStatus::Warning),
        ]
    );
}

#[tokio::test]
async fn a_filter_selects_and_a_wrong_one_is_rejected() {
    let consul = ConsulAgent::start().await;
    for (id, stage) in [("a", "prod & more+"), ("b", "test")] {
        consul
            .register_service("web", id, 80, &[("stage", stage)], &[])
            .await;
    }
    let client = client(&consul.address());
    let filter = "Service.Meta.stage == \"prod & more+\"".to_owned();
    let selected = client
        .health_service(
            &ServiceView {
                filter,
                ..view("web")
            },
            0,
        )
        .await
        .unwrap();
    assert_eq!(ids(&selected.instances), ["a"]);

    let filter = "Service.Nonsense == 1".to_owned();
    let error = client
        .health_service(
            &ServiceView {
                filter,
                ..view("web")
            },
            0,
        )
        .await
        .unwrap_err();
    assert!(error.is_rejection());
    let text = error.to_string();
    assert!(text.starts_with("Unexpected response code: "), "{text}");
    assert!(text.contains('(') && text.contains("Nonsense"), "{text}");
}

#[tokio::test]
async fn an_unknown_datacenter_is_an_error() {
    let consul = ConsulAgent::start().await;
    let datacenter = "atlantis".to_owned();
    let error = client(&consul.address())
        .health_service(
            &ServiceView {
                datacenter,
                ..view("web")
            },
            0,
        )
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("Unexpected response code: 500 ("),
        "{text}"
    );
}

#[tokio::test]
async fn a_port_that_no_socket_can_have_is_passed_on() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "good", 80, &[], &[]).await;
    for (node, port) in [("far", 70_000), ("farther", -1)] {
        consul
            .put(
                "/v1/catalog/register",
                json!({"Node": node, "Address": "10.0.0.9",
                    "Service": {"Service": "web", "ID": "odd", "Port": port}})
                .to_string(),
            )
            .await;
    }
    let answer = client(&consul.address())
        .health_service(&view("web"), 0)
        .await
        .unwrap();
    let mut ports: Vec<_> = answer.instances.iter().map(|i| i.port).collect();
    ports.sort_unstable();
    assert_eq!(ports, [-1, 80, 70_000]);
    assert_eq!(answer.unreadable, []);
}

#[tokio::test]
async fn a_service_that_nobody_registered_has_no_instances() {
    let consul = ConsulAgent::start().await;
    let answer = client(&consul.address())
        .health_service(&view("nobody"), 0)
        .await
        .unwrap();
    assert!(answer.instances.is_empty() && answer.index > Some(0));
}
