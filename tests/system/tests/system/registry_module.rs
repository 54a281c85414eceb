//! A module from a registry: Terraform fetches it, in the version of the task.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{AppendHeaders, IntoResponse};
use axum::routing::get;
use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Instance, RECORDER, Site, task};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const VERSIONS: &str = r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"2.0.0"}]}]}"#;

/// A registry with one module, whose version 1.0.0 is in `directory`; the newest is 2.0.0. It ends when
/// the set is dropped.
async fn registry(directory: &Path) -> (SocketAddr, JoinSet<()>) {
    let source = format!("file://{}", directory.display());
    let download = async move || {
        let header = AppendHeaders([("X-Terraform-Get", source)]);
        (StatusCode::NO_CONTENT, header).into_response()
    };
    let router = Router::new()
        .route(
            "/v1/modules/acme/pool/cts/versions",
            get(async || ([("Content-Type", "application/json")], VERSIONS)),
        )
        .route("/v1/modules/acme/pool/cts/1.0.0/download", get(download));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async { axum::serve(listener, router).await.unwrap() });
    (address, serving)
}

#[tokio::test]
async fn the_module_is_fetched_in_its_version_and_applied() {
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
    site.write("published/main.tf", RECORDER);
    let (address, _serving) = registry(&site.path().join("published")).await;
    // A source without a host means the public registry.
    let services = format!("\"modules.v1\" = \"http://{address}/v1/modules/\"");
    let host = format!("host \"registry.terraform.io\" {{\n  services = {{ {services} }}\n}}\n");
    site.write("terraform.rc", &host);
    let rc = site.path().join("terraform.rc");
    site.set_environment("TF_CLI_CONFIG_FILE", rc.to_str().unwrap());
    let pool = task("pool", "acme/pool/cts", &["web"], "version = \"1.0.0\"");
    site.configure(&consul.address(), Backend::Local, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;

    let cts = Instance::start(&site).await;
    site.wait_for_ids("pool", &["web-1"]).await;
    let events = cts.api.wait_for_events("pool", 1).await;
    assert_eq!(events[0]["config"]["source"], "acme/pool/cts");
    let shown = cts.api.get("/v1/tasks/pool").await;
    assert_eq!(shown["task"]["version"], "1.0.0");
    cts.stop().await;
}
