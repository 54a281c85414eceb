//! The policies of `deploy/consul`: with their tokens services do their work, and nothing else.

use std::path::Path;

use cts_testkit::{ConsulAgent, access_control_by_default_deny, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, Instance, Plan, Service, Site, met};
use serde_json::{Value, json};

const WATCHER: &str = "0d6a3b52-3c1b-4a6c-9f5e-6b1f3f0c7a11";
const WORKER: &str = "1d6a3b52-3c1b-4a6c-9f5e-6b1f3f0c7a12";
const REGISTRAR: &str = "2d6a3b52-3c1b-4a6c-9f5e-6b1f3f0c7a13";
const ALL: &str = "3d6a3b52-3c1b-4a6c-9f5e-6b1f3f0c7a14";

/// Rules of a file in `deploy/consul`.
fn rules(service: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(format!("deploy/consul/{service}-policy.hcl"));
    std::fs::read_to_string(path).unwrap()
}

/// A Consul that denies whatever a token does not allow, with a token for each file and one with all of them.
async fn consul() -> ConsulAgent {
    let consul = ConsulAgent::start_with(access_control_by_default_deny()).await;
    let files = [
        (WATCHER, rules("watcher")),
        (WORKER, rules("worker")),
        (REGISTRAR, rules("registrar")),
    ];
    for (token, rules) in &files {
        consul.make_token(token, rules).await;
    }
    let all: String = files.iter().map(|(_, rules)| rules.as_str()).collect();
    consul.make_token(ALL, &all).await;
    consul
}

const TASK: &str = r#"
task {
  name   = "pool"
  module = "./modules/pool"

  condition "services" {
    names = ["web"]
  }

  module_input "consul-kv" {
    path    = "cts/settings"
    recurse = true
  }
}
"#;

fn configure(site: &Site, consul: &ConsulAgent) {
    site.write_steps("pool");
    site.write("modules/pool/keys.tf", "variable \"consul_kv\" {}\n");
    site.configure(&consul.address(), Backend::Consul, TASK);
}

#[tokio::test]
async fn four_services_with_the_tokens_of_the_policies_apply_changes() {
    let consul = consul().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    configure(&site, &consul);
    let mut plan = Plan::default();
    for (service, token) in [
        (Service::Watcher, WATCHER),
        (Service::Worker, WORKER),
        (Service::Gateway, REGISTRAR),
    ] {
        let name = format!("token-{service}.hcl");
        site.write(&name, &format!("consul {{ token = \"{token}\" }}\n"));
        plan = plan.with_file(Some(service), &name);
    }
    let cluster = Cluster::start(&site, plan).await;
    site.wait_for_step("pool", "end", "web-1").await;
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_step("pool", "end", "web-1,web-2").await;
    until_registered(&consul).await;
    for (role, file, check) in [
        ("watcher", "token-watcher.hcl", "consul rights"),
        ("worker", "token-worker.hcl", "consul rights"),
        ("worker", "token-worker.hcl", "clock of scheduler"),
        ("gateway", "token-gateway.hcl", "consul rights"),
        ("gateway", "token-gateway.hcl", "schedulers"),
    ] {
        let files = ["cts.hcl", "services.hcl", file];
        assert_eq!(
            worst_result(&site, role, &files, check).await,
            "ok",
            "{role}: {check}"
        );
    }
    drop(cluster);
}

#[tokio::test]
async fn one_process_with_all_policies_applies_changes() {
    let consul = consul().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut site = Site::new();
    configure(&site, &consul);
    site.set_environment("CONSUL_HTTP_TOKEN", ALL);
    let cts = Instance::start_embedded(&site).await;
    site.wait_for_step("pool", "end", "web-1").await;
    until_registered(&consul).await;
    cts.stop().await;
}

#[tokio::test]
async fn tokens_of_the_policies_lack_all_other_rights() {
    let consul = consul().await;
    let states = "consul-terraform-sync/terraform-env:pool";
    for (token, resource, name, access, expected) in [
        (WATCHER, "service", "web", "read", true),
        (WATCHER, "service", "web", "write", false),
        (WATCHER, "service", "consul-terraform-sync", "write", false),
        (WATCHER, "key", "cts/a", "read", true),
        (WATCHER, "key", "cts/a", "write", false),
        (WATCHER, "key", states, "read", false),
        (WATCHER, "session", ConsulAgent::NODE, "write", false),
        (WORKER, "key", states, "write", true),
        (WORKER, "key", "cts/a", "read", false),
        (WORKER, "service", "web", "read", false),
        (WORKER, "node", ConsulAgent::NODE, "read", false),
        (REGISTRAR, "service", "consul-terraform-sync", "write", true),
        (REGISTRAR, "service", "web", "read", false),
        (REGISTRAR, "key", "cts/a", "read", false),
        (REGISTRAR, "key", states, "read", false),
        (ALL, "acl", "", "read", false),
        (ALL, "operator", "", "read", false),
        (ALL, "node", ConsulAgent::NODE, "write", false),
    ] {
        let asked = json!([{"Resource": resource, "Segment": name, "Access": access}]);
        let answer = consul
            .ask_as(token, "/v1/internal/acl/authorize", &asked)
            .await;
        let allowed = answer[0]["Allow"].as_bool().unwrap();
        assert_eq!(allowed, expected, "{token}: {resource} {name:?} {access}");
    }
}

async fn until_registered(consul: &ConsulAgent) {
    eventually(DEADLINE, async || {
        let services = consul.get("/v1/agent/services").await;
        let services = services.as_object().unwrap();
        let name = "consul-terraform-sync";
        let there = services.values().any(|service| service["Service"] == name);
        met(there, format!("{services:?}"))
    })
    .await;
}

/// `ok` if all results of a check of `cts doctor` are, else its whole document.
async fn worst_result(site: &Site, role: &str, files: &[&str], check: &str) -> String {
    let log = format!("doctor-{role}-{}.log", check.replace(' ', "-"));
    let mut arguments = vec![
        "doctor".to_owned(),
        "-o=json".to_owned(),
        format!("-role={role}"),
    ];
    arguments.extend(files.iter().map(|file| format!("-config-file={file}")));
    let doctor = site.launcher().run("cts", &arguments, &log);
    doctor.wait().await;
    let text = std::fs::read_to_string(site.path().join(log)).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let mut of_check = checks.iter().filter(|it| it["check"] == check).peekable();
    let exists = of_check.peek().is_some();
    if exists && of_check.all(|it| it["result"] == "ok") {
        "ok".to_owned()
    } else {
        text
    }
}
