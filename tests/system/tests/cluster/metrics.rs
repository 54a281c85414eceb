//! Metrics of four services (docs/telemetry.md#metrics).

use std::net::SocketAddr;
use std::time::Duration;

use cts_rpc::{ClientTls, ClientTlsFiles, IdentityFiles};
use cts_testkit::{Authority, eventually};
use cts_tests::{
    Cluster, DEADLINE, DocumentedMetric, Plan, Scrape, Service, Site, documented_metrics, met,
    scrape, scrape_address,
};
use reqwest::{Certificate, Client, Identity};

use crate::cluster::scene::Scene;

const LISTENING: &str = "telemetry {\n  listen = \"127.0.0.1:0\"\n}\n";

/// Sums that grow with a change from Consul to its apply: service, metric and parts of its labels.
const MOVING: [(Service, &str, &[&str]); 17] = [
    (
        Service::Watcher,
        "cts_change_phase_duration_seconds_count",
        &["phase=\"watch\""],
    ),
    (
        Service::Scheduler,
        "cts_change_phase_duration_seconds_count",
        &["phase=\"buffer\""],
    ),
    (
        Service::Scheduler,
        "cts_change_phase_duration_seconds_count",
        &["phase=\"queue\""],
    ),
    (Service::Scheduler, "cts_change_duration_seconds_count", &[]),
    (Service::Scheduler, "cts_change_duration_seconds_sum", &[]),
    (
        Service::Scheduler,
        "cts_runs_ended_total",
        &["kind=\"apply\"", "outcome=\"succeeded\""],
    ),
    (
        Service::Scheduler,
        "db_client_operation_duration_seconds_count",
        &["db_operation_name=\"read\""],
    ),
    (
        Service::Scheduler,
        "db_client_operation_duration_seconds_count",
        &["db_operation_name=\"transaction\""],
    ),
    (
        Service::Scheduler,
        "rpc_server_duration_seconds_count",
        &["rpc_method=\"cts.run.v1.RunService/CompleteRun\""],
    ),
    (
        Service::Worker,
        "cts_worker_attempts_total",
        &["kind=\"apply\"", "outcome=\"applied\""],
    ),
    (
        Service::Worker,
        "cts_change_phase_duration_seconds_count",
        &["phase=\"render\""],
    ),
    (
        Service::Worker,
        "cts_change_phase_duration_seconds_count",
        &["phase=\"apply\""],
    ),
    (
        Service::Gateway,
        "http_server_request_duration_seconds_count",
        &["http_route=\"/v1/queue\""],
    ),
    (Service::Watcher, "process_uptime_seconds", &[]),
    (Service::Scheduler, "process_uptime_seconds", &[]),
    (Service::Worker, "process_uptime_seconds", &[]),
    (Service::Gateway, "process_uptime_seconds", &[]),
];

fn address(cluster: &Cluster, service: Service) -> Result<SocketAddr, String> {
    scrape_address(&cluster.output(service, 0))
}

async fn scrape_of(cluster: &Cluster, service: Service) -> Result<Scrape, String> {
    scrape(address(cluster, service)?).await
}

/// Panics unless the scrape has exactly the documented metrics of the service, each with type and help.
fn check_documented(service: Service, scrape: &Scrape, documented: &[DocumentedMetric]) {
    for metric in documented.iter().filter(|it| it.is_of(service.name())) {
        let name = &metric.prometheus;
        let kind = scrape.types.get(name);
        if kind.is_none() && metric.may_be_missing {
            continue;
        }
        assert_eq!(kind, Some(&metric.kind), "{service}: {name}");
        assert!(
            scrape.helped.contains(name),
            "{service}: {name} without help"
        );
    }
    for name in scrape.names() {
        let is_documented = documented
            .iter()
            .any(|metric| metric.prometheus == name && metric.is_of(service.name()));
        assert!(
            is_documented || name == "target_info",
            "{service}: {name} is not in docs/telemetry.md"
        );
    }
}

/// Whether the scrape has all documented metrics that are not sometimes missing.
fn is_complete(
    service: Service,
    scrape: &Scrape,
    documented: &[DocumentedMetric],
) -> Result<(), String> {
    let of_service = documented.iter().filter(|it| it.is_of(service.name()));
    let missing: Vec<_> = of_service
        .filter(|metric| !metric.may_be_missing)
        .filter(|metric| !scrape.types.contains_key(&metric.prometheus))
        .map(|metric| metric.prometheus.as_str())
        .collect();
    met(
        missing.is_empty(),
        format!("{service}: {missing:?} are missing"),
    )
}

#[tokio::test]
async fn each_service_has_its_documented_metrics_and_a_change_moves_them() {
    let site = Site::new();
    site.write("telemetry.hcl", LISTENING);
    let plan = Plan::of(1, 1, 1, 1).with_file(None, "telemetry.hcl");
    let mut scene = Scene::start_at(site, plan).await;
    let documented = documented_metrics();
    assert!(documented.len() > 40, "{documented:?}");
    scene.change_is_applied().await;
    scene.settled_events().await;
    let mut before = Vec::new();
    for service in Service::ALL {
        let scraped = eventually(DEADLINE, async || {
            let scraped = scrape_of(&scene.cluster, service).await?;
            is_complete(service, &scraped, &documented).map(|()| scraped)
        });
        let scraped = scraped.await;
        check_documented(service, &scraped, &documented);
        before.push((service, scraped));
    }
    scene.change_is_applied().await;
    scene.settled_events().await;
    for (service, before) in before {
        eventually(DEADLINE, async || {
            let now = scrape_of(&scene.cluster, service).await?;
            for (_, name, labels) in MOVING.iter().filter(|(of, ..)| *of == service) {
                let sums = (before.sum(name, labels), now.sum(name, labels));
                if sums.1 <= sums.0 {
                    return Err(format!("{service}: {name}{labels:?}: {sums:?}"));
                }
            }
            Ok(())
        })
        .await;
    }
    // The leader reads these every ten seconds, if they are observed.
    eventually(DEADLINE, async || {
        let scheduler = scrape_of(&scene.cluster, Service::Scheduler).await?;
        for (name, labels, value) in [
            ("cts_leader", &[][..], 1.0),
            ("cts_slots", &[], 4.0),
            ("cts_workers", &["state=\"active\""], 1.0),
            ("cts_tasks", &["status=\"successful\""], 1.0),
            ("cts_queue_unschedulable", &[], 0.0),
            ("cts_tasks_blocked", &[], 0.0),
            ("cts_task_failures", &["task=\"pool\""], 0.0),
            ("db_client_connection_max", &[], 8.0),
        ] {
            let sum = scheduler.sum(name, labels);
            if (sum - value).abs() > f64::EPSILON {
                return Err(format!("{name}: {sum} and not {value}"));
            }
        }
        // On a busy machine a leader may lose the leadership once.
        let term = scheduler.sum("cts_leader_term", &[]);
        (term >= 1.0).then_some(()).ok_or(format!("term {term}"))
    })
    .await;
}

#[tokio::test]
async fn metrics_need_a_certificate_or_a_token_and_probes_need_neither() {
    let authority = Authority::new();
    let site = Site::new();
    let (cert, key) = authority.issue(&["cts.internal"]);
    site.write("tls/ca.pem", authority.pem());
    site.write("tls/key.pem", &key);
    site.write("tls/cert.pem", &cert);
    site.write(
        "tls.hcl",
        "services {\n  tls {\n    ca_cert = \"tls/ca.pem\"\n    cert = \"tls/cert.pem\"\n    \
         key = \"tls/key.pem\"\n    server_name = \"cts.internal\"\n  }\n}\n\
         security {\n  require_auth = true\n}\n",
    );
    site.write("telemetry.hcl", LISTENING);
    let plan = Plan::of(1, 1, 1, 1)
        .with_file(None, "tls.hcl")
        .with_file(None, "telemetry.hcl");
    let files = ClientTlsFiles {
        ca_cert: site.path().join("tls/ca.pem"),
        identity: Some(IdentityFiles {
            cert: site.path().join("tls/cert.pem"),
            key: site.path().join("tls/key.pem"),
        }),
        server_name: Some("cts.internal".to_owned()),
    };
    let plan = Plan {
        tls: Some(ClientTls::load(files).await.unwrap()),
        ..plan
    };
    let mut scene = Scene::start_at(site, plan).await;
    let words = [
        "token",
        "create",
        "prometheus",
        "-role=read",
        "-config-file=database.hcl",
    ];
    let made = scene.cluster.command(&words).await;
    made.assert_code(0);
    let token = made.output.lines().find(|line| line.starts_with("cts_"));
    let token = token.unwrap().to_owned();
    let stranger = Authority::new().issue(&["cts.internal"]);
    for service in Service::ALL {
        let address = address(&scene.cluster, service).unwrap();
        let ask = async |identity: Option<&(String, String)>, token: &str, path: &str| {
            let builder = Client::builder()
                .no_proxy()
                .timeout(Duration::from_secs(10))
                .tls_certs_only([Certificate::from_pem(authority.pem().as_bytes()).unwrap()])
                .resolve("cts.internal", address);
            let builder = match identity {
                None => builder,
                Some((cert, key)) => {
                    let pem = format!("{cert}{key}");
                    builder.identity(Identity::from_pem(pem.as_bytes()).unwrap())
                }
            };
            let url = format!("https://cts.internal:{}{path}", address.port());
            let request = builder.build().unwrap().get(url);
            let answer = request.bearer_auth(token).send().await;
            let answer = answer.map_err(|error| format!("{error:?}"))?;
            Ok::<_, String>((answer.status().as_u16(), answer.text().await.unwrap()))
        };
        let own = (cert.clone(), key.clone());
        for path in ["/health/live", "/health/ready"] {
            for identity in [Some(&own), None] {
                let (code, text) = ask(identity, "", path).await.unwrap();
                assert_eq!(code, 200, "{service}: {path}: {text}");
            }
        }
        let refused = ask(Some(&stranger), "", "/health/live").await;
        assert!(refused.is_err(), "{service}: {refused:?}");
        let (code, text) = ask(None, "", "/metrics").await.unwrap();
        assert_eq!(code, 401, "{service}: {text}");
        // Only schedulers know tokens, a moment after they are made.
        let expected = if service == Service::Scheduler {
            200
        } else {
            401
        };
        eventually(DEADLINE, async || {
            match ask(None, &token, "/metrics").await? {
                (code, _) if code == expected => Ok(()),
                (code, text) => Err(format!("{service}: {code} {text}")),
            }
        })
        .await;
        let (code, text) = ask(Some(&own), "", "/metrics").await.unwrap();
        assert_eq!(code, 200, "{service}: {text}");
        let remaining = Scrape::parse(&text);
        let remaining = remaining.sum("cts_certificate_remaining_seconds", &["services"]);
        assert!(remaining > 0.0, "{service}: {text}");
        assert!(!text.contains("PRIVATE KEY"));
    }
}
