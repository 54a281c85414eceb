//! `cts start` before its Consul or its database (docs/cli.md#waiting-at-the-start).

use std::net::{Ipv4Addr, SocketAddr};

use cts_testkit::{ConsulAgent, Postgres, eventually, free_port};
use cts_tests::{Api, Backend, DEADLINE, Process, RECORDER, Site, met, task};

/// A site with one task on the service `web`.
fn site(consul: &str, backend: Backend) -> Site {
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(consul, backend, &pool);
    site
}

fn start(site: &Site, more: &[&str]) -> (Process, Api) {
    let port = free_port();
    let process = site.run_cts(port, more);
    (
        process,
        Api::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
    )
}

/// Waits until health says this, and returns its message.
async fn unhealthy(api: &Api, words: &str) {
    eventually(DEADLINE, async || {
        let (status, body) = api
            .ask("/v1/health")
            .await
            .map_err(|error| error.to_string())?;
        let message = body["error"]["message"].as_str().unwrap_or_default();
        met(
            status == 503 && message.contains(words),
            format!("{status} {body}"),
        )
    })
    .await;
}

#[tokio::test]
async fn a_start_waits_for_consul_and_answers_meanwhile() {
    let mut consul = ConsulAgent::start_durable().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    consul.stop().await;
    let address = consul.address();
    let site = site(&address, Backend::Local);
    let (process, api) = start(&site, &[]);
    let line = format!("Consul at {address} is unreachable: connection refused; since");
    unhealthy(&api, &line).await;
    let (status, body) = api.ask("/v1/tasks").await.unwrap();
    let message = body["error"]["message"].as_str().unwrap_or_default();
    assert!(status == 503 && message.starts_with(&line), "{body}");
    // `cts status` shows this.
    let overview = api.get("/v1/overview").await;
    let problem = overview["problems"][0]["text"].as_str().unwrap();
    assert!(problem.starts_with(&line), "{overview}");
    consul.restart().await;
    site.wait_for_ids("pool", &["web-1"]).await;
    let (status, _body) = api.ask("/v1/health").await.unwrap();
    assert_eq!(status, 200);
    let output = process.output();
    assert_eq!(output.matches("is unreachable").count(), 1, "{output}");
    let back = format!("Consul at {address} is reachable again after");
    assert_eq!(output.matches(&back).count(), 1, "{output}");
    process.terminate().await.assert_code(0);
}

#[tokio::test]
async fn a_start_waits_for_its_database_and_answers_meanwhile() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    let site = site(&consul.address(), Backend::Shared);
    site.write_database(&url);
    site.migrate().await;
    postgres.stop().await;
    let (process, api) = start(&site, &["-config-file", "database.hcl"]);
    let server = format!("Postgres at 127.0.0.1:{} is unreachable", postgres.port());
    unhealthy(&api, &server).await;
    postgres.start_again().await;
    site.wait_for_ids("pool", &["web-1"]).await;
    process.terminate().await.assert_code(0);
}

#[tokio::test]
async fn a_signal_ends_the_wait() {
    let site = site(&format!("127.0.0.1:{}", free_port()), Backend::Local);
    let (process, api) = start(&site, &[]);
    unhealthy(&api, "is unreachable").await;
    process.terminate().await.assert_code(0);
}

#[tokio::test]
async fn a_name_that_was_never_resolved_ends_the_start() {
    let site = site("consul.invalid:8500", Backend::Local);
    let (process, _api) = start(&site, &[]);
    let exit = process.wait().await;
    exit.assert_code(15);
}
