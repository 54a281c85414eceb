//! A module from a registry: Terraform fetches it, in the version of the task.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{AppendHeaders, IntoResponse};
use axum::routing::get;
use cts_testkit::{ConsulAgent, assert_contains};
use cts_tests::{Backend, Instance, RECORDER, Site, task};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const VERSIONS: &str = r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"2.0.0"}]}]}"#;

/// A registry with one module, whose version 1.0.0 is in `directory`; the newest is 2.0.0. Ends when the set is
/// dropped.
pub(crate) async fn registry(directory: &Path) -> (SocketAddr, JoinSet<()>) {
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

/// Makes a registry the public one of the site.
pub(crate) fn use_registry(site: &mut Site, address: SocketAddr) {
    // A source without a host means the public registry.
    let services = format!("\"modules.v1\" = \"http://{address}/v1/modules/\"");
    let host = format!("host \"registry.terraform.io\" {{\n  services = {{ {services} }}\n}}\n");
    site.write("terraform.rc", &host);
    let rc = site.path().join("terraform.rc");
    site.set_environment("TF_CLI_CONFIG_FILE", rc.to_str().unwrap());
}

/// A site with the task "pool", whose module is that of the registry in this version.
async fn site_with(
    consul: &ConsulAgent,
    module: &str,
    version: &str,
    more: &str,
) -> (Site, JoinSet<()>) {
    let mut site = Site::new();
    site.write("published/main.tf", module);
    let (address, serving) = registry(&site.path().join("published")).await;
    use_registry(&mut site, address);
    let more = format!("version = \"{version}\"\n  {more}");
    let pool = task("pool", "acme/pool/cts", &["web"], &more);
    site.configure(&consul.address(), Backend::Local, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    (site, serving)
}

#[tokio::test]
async fn the_module_is_fetched_in_its_version_and_applied() {
    let consul = ConsulAgent::start().await;
    let (site, _serving) = site_with(&consul, RECORDER, "1.0.0", "").await;
    let cts = Instance::start(&site).await;
    site.wait_for_ids("pool", &["web-1"]).await;
    let events = cts.api.wait_for_events("pool", 1).await;
    assert_eq!(events[0]["config"]["source"], "acme/pool/cts");
    let shown = cts.api.get("/v1/tasks/pool").await;
    assert_eq!(shown["task"]["version"], "1.0.0");
    cts.stop().await;
}

#[tokio::test]
async fn its_outputs_are_told_and_stay_hidden_where_it_says_so() {
    let consul = ConsulAgent::start().await;
    let module = format!(
        "{RECORDER}\noutput \"plain\" {{\n  value = \"shown\"\n}}\n\
         output \"token\" {{\n  value     = \"not-shown\"\n  sensitive = true\n}}\n"
    );
    let outputs = "outputs = [\"plain\", \"token\"]";
    let (site, _serving) = site_with(&consul, &module, "1.0.0", outputs).await;
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    let page = cts.api.get("/v1/runs?task=pool&limit=1").await;
    let id = page["runs"][0]["id"].as_str().unwrap();
    let run = cts.api.get(&format!("/v1/runs/{id}")).await;
    let told = json!([
        {"name": "plain", "value": "shown"},
        {"name": "token", "sensitive": true},
    ]);
    assert_eq!(run["run"]["details"]["outputs"], told, "{run}");
    cts.stop().await;
}

/// The error of the first event, which is a failure.
async fn failure(site: &Site) -> String {
    let cts = Instance::start(site).await;
    let events = cts.api.wait_for_events("pool", 1).await;
    assert_eq!(events[0]["success"], false, "{events:?}");
    let error = events[0]["error"]["message"].as_str().unwrap().to_owned();
    cts.stop().await;
    assert_contains(&error, ["error tf-init for 'pool': exit status 1"]);
    // Terraform breaks its texts into lines.
    error.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_version_that_the_registry_does_not_have_is_named_with_the_module() {
    let consul = ConsulAgent::start().await;
    let (site, _serving) = site_with(&consul, RECORDER, "3.0.0", "").await;
    let error = failure(&site).await;
    assert_contains(&error, ["Unresolvable module version constraint"]);
    assert!(
        error.contains("main.tf:") && error.contains("newest available version is 2.0.0"),
        "{error}"
    );
    assert!(error.contains("acme/pool/cts"), "{error}");
}

#[tokio::test]
async fn a_registry_that_does_not_answer_is_named_with_the_module() {
    let consul = ConsulAgent::start().await;
    let (site, serving) = site_with(&consul, RECORDER, "1.0.0", "").await;
    drop(serving);
    let error = failure(&site).await;
    assert_contains(&error, ["Error accessing remote module registry"]);
    assert!(
        error.contains("main.tf") && error.contains("127.0.0.1"),
        "{error}"
    );
    assert!(error.contains("acme/pool/cts"), "{error}");
}
