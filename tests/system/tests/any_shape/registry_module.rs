//! A module from a registry: Terraform fetches it, in the version of the task.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{AppendHeaders, IntoResponse};
use axum::routing::get;
use axum::serve::Listener;
use cts_testkit::{Authority, ConsulAgent, assert_contains, free_port};
use cts_tests::{Backend, Exit, Instance, RECORDER, Site, recorded_services, task};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const VERSIONS: &str = r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"2.0.0-rc1"},{"version":"2.0.0"}]}]}"#;

/// The list before the newest version.
const FIRST_VERSION: &str = r#"{"modules":[{"versions":[{"version":"1.0.0"}]}]}"#;

/// The list of versions at this moment.
type Versions = Arc<Mutex<&'static str>>;

/// A registry with one module, whose version 1.0.0 is in `directory`; the newest is 2.0.0. Ends when the set is
/// dropped.
pub(crate) async fn registry(directory: &Path) -> (SocketAddr, JoinSet<()>) {
    serve(routes(directory, Arc::new(Mutex::new(VERSIONS)))).await
}

async fn serve(router: Router) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async { axum::serve(listener, router).await.unwrap() });
    (address, serving)
}

fn routes(directory: &Path, versions: Versions) -> Router {
    let source = format!("file://{}", directory.display());
    let download = async move || {
        let header = AppendHeaders([("X-Terraform-Get", source)]);
        (StatusCode::NO_CONTENT, header).into_response()
    };
    let pre_release = download.clone();
    Router::new()
        .route(
            "/v1/modules/acme/pool/cts/versions",
            get(async move || {
                let list = *versions.lock().unwrap();
                ([("Content-Type", "application/json")], list)
            }),
        )
        .route("/v1/modules/acme/pool/cts/1.0.0/download", get(download))
        .route(
            "/v1/modules/acme/pool/cts/2.0.0-rc1/download",
            get(pre_release),
        )
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
async fn outputs_of_the_module_are_reported_and_sensitive_values_hidden() {
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

/// A download of version 2.0.0 would fail.
#[tokio::test]
async fn a_newer_version_is_not_taken_while_the_task_names_none() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut site = Site::new();
    site.write("published/main.tf", RECORDER);
    let versions = Versions::new(Mutex::new(FIRST_VERSION));
    let router = routes(&site.path().join("published"), Arc::clone(&versions));
    let (address, _serving) = serve(router).await;
    use_registry(&mut site, address);
    let pool = task("pool", "acme/pool/cts", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &pool);
    let cts = Instance::start(&site).await;
    site.wait_for_ids("pool", &["web-1"]).await;
    cts.stop().await;
    *versions.lock().unwrap() = VERSIONS;
    let cts = Instance::start(&site).await;
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_ids("pool", &["web-1", "web-2"]).await;
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

const TOKEN: &str = "token-of-the-registry-4711";

/// A listener whose connections have TLS.
struct TlsListener(TcpListener, TlsAcceptor);

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.0.accept().await.unwrap();
            if let Ok(stream) = self.1.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// The paths of all requests.
type Paths = Arc<Mutex<Vec<String>>>;

/// The variable of Terraform for the token of a registry.
fn variable(address: SocketAddr) -> String {
    format!("TF_TOKEN_{}", address.to_string().replace('.', "_"))
}

/// Lets Terraform trust the authority of the registry.
fn trust(site: &mut Site) {
    let authority = site.path().join("ca.pem").display().to_string();
    site.set_environment("SSL_CERT_FILE", authority);
}

/// The registry over TLS, for requests with the token. Its address is found by discovery.
async fn private_registry(site: &Site, paths: &Paths) -> (SocketAddr, JoinSet<()>) {
    let authority = Authority::new();
    let pair = authority.write_pair(site.path(), "registry", &["127.0.0.1"]);
    site.write("ca.pem", authority.pem());
    let services = "{\"modules.v1\": \"/v1/modules/\"}";
    let came = Arc::clone(paths);
    let note = move |request: Request, next: Next| {
        came.lock().unwrap().push(request.uri().path().to_owned());
        next.run(request)
    };
    let check = async |request: Request, next: Next| {
        let is_known = request
            .headers()
            .get("authorization")
            .is_some_and(|value| value == format!("Bearer {TOKEN}").as_str());
        if is_known {
            next.run(request).await
        } else {
            StatusCode::UNAUTHORIZED.into_response()
        }
    };
    let versions = Arc::new(Mutex::new(VERSIONS));
    let router = routes(&site.path().join("published"), versions)
        .layer(from_fn(check))
        .route(
            "/.well-known/terraform.json",
            get(async move || ([("Content-Type", "application/json")], services)),
        )
        .layer(from_fn(note));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = TlsListener(listener, pair.acceptor(None));
    let mut serving = JoinSet::new();
    serving.spawn(async { axum::serve(listener, router).await.unwrap() });
    (address, serving)
}

#[tokio::test]
async fn a_private_registry_gets_the_token_of_the_environment_or_of_the_file() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    for (name, code) in [("environment", 0), ("file", 0), ("none", 11)] {
        let mut site = Site::new();
        site.write("published/main.tf", RECORDER);
        let (address, _serving) = private_registry(&site, &Paths::default()).await;
        trust(&mut site);
        match name {
            "environment" => site.set_environment(&variable(address), TOKEN),
            "file" => {
                let block = format!("credentials \"{address}\" {{\n  token = \"{TOKEN}\"\n}}\n");
                site.write("terraform.rc", &block);
                let file = site.path().join("terraform.rc").display().to_string();
                site.set_environment("TF_CLI_CONFIG_FILE", file);
            }
            _none => {}
        }
        let module = format!("{address}/acme/pool/cts");
        let pool = task("pool", &module, &["web"], "version = \"~> 1.0\"");
        site.configure(&consul.address(), Backend::Shared, &pool);
        let Exit {
            output,
            code: found,
            ..
        } = site.run_cts(free_port(), &["-once"]).wait().await;
        assert_eq!(found, Some(code), "{name}:\n{output}");
        assert!(!output.contains(TOKEN), "{name}:\n{output}");
        if code == 0 {
            let state = std::fs::read(site.state_path("pool")).unwrap();
            assert!(
                recorded_services(&state)
                    .unwrap()
                    .to_string()
                    .contains("web-1")
            );
        } else {
            assert_contains(&output, ["401 Unauthorized"]);
        }
    }
}

/// Discovery, list and download of one task, and at most one request of the other.
#[tokio::test]
async fn two_tasks_with_one_exact_version_make_four_requests_at_most() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    for version in ["1.0.0", "2.0.0-rc1"] {
        let mut site = Site::new();
        site.write("published/main.tf", RECORDER);
        let paths = Paths::default();
        let (address, _serving) = private_registry(&site, &paths).await;
        trust(&mut site);
        site.set_environment(&variable(address), TOKEN);
        let more = format!("version = \"{version}\"");
        let module = format!("{address}/acme/pool/cts");
        let tasks = ["one", "two"].map(|name| task(name, &module, &["web"], &more));
        site.configure(&consul.address(), Backend::Shared, &tasks.concat());
        let exit = site.run_cts(free_port(), &["-once"]).wait().await;
        exit.assert_code(0);
        for name in ["one", "two"] {
            site.wait_for_ids(name, &["web-1"]).await;
        }
        let paths = paths.lock().unwrap();
        assert!((3..=4).contains(&paths.len()), "{version}: {paths:?}");
    }
}
