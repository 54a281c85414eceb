//! Arguments of providers whose form the configuration leaves open (docs/terraform.md#maintf), with a real
//! provider: `headers` is an attribute there, `oauth_client_credentials` a block with an attribute in it.

use std::fs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use cts_testkit::{ConsulAgent, free_port, restapi_path};
use cts_tests::{Instance, LOCAL_BACKEND, Site};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const SECRET: &str = "correct-horse-battery-staple";

const REQUIRED: &str = r#"
  required_providers {
    restapi = { source = "Mastercard/restapi", version = "1.20.0" }
  }
"#;

const CONFIGURATION: &str = r#"
terraform_provider "restapi" {
  uri     = "http://@SERVER@"
  headers = { "X-Token" = "@SECRET@", X-Kind = "edge" }
  oauth_client_credentials = {
    oauth_client_id      = "cts"
    oauth_client_secret  = "@SECRET@"
    oauth_token_endpoint = "http://@SERVER@/token"
    endpoint_params      = { audience = "firewalls" }
  }
}

task {
  name      = "rules"
  module    = "./modules/rules"
  providers = ["restapi"]
  condition "services" { names = ["web"] }
}
"#;

const MODULE: &str = r#"
terraform {
  required_providers {
    restapi = { source = "Mastercard/restapi" }
  }
}

variable "services" {
  type = any
}

resource "restapi_object" "rule" {
  path = "/rules"
  data = jsonencode({ id = "1", services = sort(keys(var.services)) })
}
"#;

/// The requests that have reached the server.
#[derive(Debug, Default)]
struct Came {
    tokens_for: Vec<String>,
    headers: Vec<HeaderMap>,
}

type Shared = State<Arc<Mutex<Came>>>;

async fn serve(tasks: &mut JoinSet<()>) -> (SocketAddr, Arc<Mutex<Came>>) {
    let came = Arc::new(Mutex::new(Came::default()));
    let token = async |State(came): Shared, form: String| {
        came.lock().unwrap().tokens_for.push(form);
        Json(json!({"access_token": "t-1", "token_type": "Bearer", "expires_in": 3600}))
    };
    let object = async |State(came): Shared, headers: HeaderMap| {
        came.lock().unwrap().headers.push(headers);
        Json(json!({"id": "1"}))
    };
    let routes = Router::new()
        .route("/token", post(token))
        .route("/rules", post(object))
        .route("/rules/1", get(object).put(object).delete(object))
        .with_state(Arc::clone(&came));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async { axum::serve(listener, routes).await.unwrap() });
    (address, came)
}

/// Puts the plugin where Terraform takes it from.
fn install(site: &mut Site) {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let mirror = site.path().join("mirror");
    let place = mirror.join(format!(
        "registry.terraform.io/mastercard/restapi/1.20.0/linux_{architecture}"
    ));
    fs::create_dir_all(&place).unwrap();
    fs::copy(
        restapi_path(),
        place.join("terraform-provider-restapi_v1.20.0"),
    )
    .unwrap();
    let text = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n",
        mirror.display()
    );
    site.write("mirror.tfrc", &text);
    let configuration = site.path().join("mirror.tfrc");
    site.set_environment("TF_CLI_CONFIG_FILE", configuration.to_str().unwrap());
}

#[tokio::test]
async fn the_schema_of_a_provider_decides_what_is_a_block() {
    let mut tasks = JoinSet::new();
    let (server, came) = serve(&mut tasks).await;
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
    install(&mut site);
    site.write("modules/rules/main.tf", MODULE);
    let configuration = CONFIGURATION
        .replace("@SERVER@", &server.to_string())
        .replace("@SECRET@", SECRET);
    let driver = LOCAL_BACKEND.to_owned() + REQUIRED;
    site.configure_driver(&consul.address(), &driver, &configuration);
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("rules", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    {
        let came = came.lock().unwrap();
        assert!(came.tokens_for[0].contains("audience=firewalls"));
        assert!(!came.headers.is_empty());
        for headers in &came.headers {
            assert_eq!(headers["x-token"], SECRET);
            assert_eq!(headers["x-kind"], "edge");
            assert_eq!(headers["authorization"], "Bearer t-1");
        }
    }
    let main = site.work().join("rules/main.tf");
    let text = fs::read_to_string(&main).unwrap();
    assert!(text.contains("  headers = var.restapi.headers\n"), "{text}");
    assert!(text.contains("  oauth_client_credentials {\n"), "{text}");
    assert!(!text.contains(SECRET), "{text}");

    // Forms that are already known are neither requested nor written again.
    let forms = site.work().join("rules/.cts-provider-forms.json");
    let age = |path| fs::metadata(path).unwrap().modified().unwrap();
    let before = (age(&main), age(&forms));
    cts.stop().await;
    let cts = Instance::start(&site).await;
    consul.register_service("web", "web-1", 80, &[], &[]).await;
    let events = cts.api.wait_for_events("rules", 2).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    assert_eq!((age(&main), age(&forms)), before);
    cts.stop().await;
}

/// Arguments of a provider have the names of the module's variables.
const TENANTS: &str = r#"
terraform_provider "restapi" {
  uri      = "http://@SERVER@"
  username = "admin-of-api"
  password = "pw-of-api"
  timeout  = 30
}

task {
  name           = "tenant-a"
  module         = "./modules/tenant"
  providers      = ["restapi"]
  variable_files = ["a.tfvars"]
  condition "services" { names = ["web"] }
}

task {
  name           = "tenant-b"
  module         = "./modules/tenant"
  providers      = ["restapi"]
  variable_files = ["b.tfvars"]
  condition "services" { names = ["web"] }
}
"#;

const TENANT: &str = r#"
terraform {
  required_providers {
    restapi = { source = "Mastercard/restapi" }
  }
}

variable "services" {}
variable "uri" {}
variable "username" {}
variable "password" {}
variable "timeout" {}

resource "restapi_object" "tenant" {
  path = "/tenants"
  data = jsonencode({ id = var.username, values = [var.uri, var.password, var.timeout] })
}
"#;

#[tokio::test]
async fn variables_named_like_arguments_of_a_provider_are_those_of_their_task() {
    let posted = Arc::new(Mutex::new(Vec::new()));
    let came = Arc::clone(&posted);
    let post_one = async move |headers: HeaderMap, Json(body): Json<Value>| {
        let credentials = headers["authorization"].to_str().unwrap().to_owned();
        came.lock().unwrap().push((credentials, body.clone()));
        Json(body)
    };
    let get_one = async |Path(id): Path<String>| Json(json!({ "id": id }));
    let routes = Router::new()
        .route("/tenants", post(post_one))
        .route("/tenants/{id}", get(get_one));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap().to_string();
    let mut serving = JoinSet::new();
    serving.spawn(async { axum::serve(listener, routes).await.unwrap() });
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
    install(&mut site);
    site.write("modules/tenant/main.tf", TENANT);
    for (name, values) in [
        (
            "a",
            "uri=\"192.0.2.8\"\nusername=\"admin\"\npassword=\"pw1\"\ntimeout=8443",
        ),
        (
            "b",
            "uri=\"192.0.2.9\"\nusername=\"other\"\npassword=\"pw2\"\ntimeout=\"443\"\n",
        ),
    ] {
        site.write(&format!("{name}.tfvars"), values);
    }
    let configuration = TENANTS.replace("@SERVER@", &server);
    let driver = LOCAL_BACKEND.to_owned() + REQUIRED;
    site.configure_driver(&consul.address(), &driver, &configuration);
    let exit = site.run_cts(free_port(), &["-once"]).wait().await;
    exit.assert_code(0);
    let mut posted = posted.lock().unwrap().clone();
    posted.sort_by_key(|(_, body)| body["id"].to_string());
    let basic = "Basic YWRtaW4tb2YtYXBpOnB3LW9mLWFwaQ==".to_owned();
    assert_eq!(
        posted,
        [
            json!({"id": "admin", "values": ["192.0.2.8", "pw1", 8443]}),
            json!({"id": "other", "values": ["192.0.2.9", "pw2", "443"]}),
        ]
        .map(|body| (basic.clone(), body))
    );
}
