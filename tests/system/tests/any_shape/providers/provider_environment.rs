//! Settings of providers: blocks in the root module, `task_env` in Terraform's environment only.

use std::fs;

use cts_testkit::{ConsulAgent, assert_contains};
use cts_tests::{Instance, LOCAL_BACKEND, Site};

use crate::system::secrets::files_below;

const SECRET: &str = "correct-horse-battery-staple";

/// A provider that is part of Terraform, so that nothing is downloaded.
pub(crate) const REQUIRED: &str = r#"
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
"#;

const CONFIGURATION: &str = r#"
terraform_provider "terraform" {
  task_env {
    "PROBE_SECRET" = "@SECRET@"
    "PROBE_PLAIN"  = "from ${nowhere}"
  }
}

task {
  name      = "probe"
  module    = "./modules/probe"
  providers = ["terraform"]
  condition "services" { names = ["web"] }
}
"#;

/// This module writes the only copy of the secret outside the configuration.
const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "probe" {
  triggers_replace = keys(var.services)
  provisioner "local-exec" {
    command     = "printf '%s/%s' \"$PROBE_SECRET\" \"$PROBE_PLAIN\" >'@SITE@/evidence'"
  }
}
"#;

#[tokio::test]
async fn a_task_environment_reaches_terraform_and_no_file() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    let path = site.path().to_str().unwrap();
    site.write("modules/probe/main.tf", &MODULE.replace("@SITE@", path));
    let configuration = CONFIGURATION.replace("@SECRET@", SECRET);
    let driver = LOCAL_BACKEND.to_owned() + REQUIRED;
    site.configure_driver(&consul.address(), &driver, &configuration);
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("probe", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    assert_eq!(
        events[0]["config"]["providers"],
        serde_json::json!(["terraform"])
    );

    let evidence = fs::read_to_string(site.path().join("evidence")).unwrap();
    assert_eq!(evidence, format!("{SECRET}/from ${{nowhere}}"));
    let root = fs::read_to_string(site.work().join("probe/main.tf")).unwrap();
    assert!(root.contains("provider \"terraform\" {"), "{root}");
    let source = "source = \"terraform.io/builtin/terraform\"";
    assert!(root.contains(source), "{root}");

    let output = cts.output();
    cts.stop().await;
    assert!(!output.contains(SECRET), "in the log");
    let files = files_below(&site.work());
    assert!(files.len() > 5, "{files:?}");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let found = bytes
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes());
        assert!(!found, "in {}", file.display());
    }
}

/// Writes the whole environment of the processes of a run.
const ENVIRONMENT_MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "probe" {
  provisioner "local-exec" {
    command = "env >'@SITE@/environment'"
  }
}
"#;

/// The environment that a module sees where `worker` is the content of that block.
async fn environment_of_module(worker: &str) -> Vec<String> {
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
    for name in [
        "CONSUL_HTTP_TOKEN",
        "PROBE_REGION",
        "PROBE_OTHER",
        "TFC_TOKEN",
        "TF_TOKEN_example_com",
        "TF_VAR_services",
        "VAULT_TOKEN",
    ] {
        site.set_environment(name, format!("value-of-{name}"));
    }
    let path = site.path().to_str().unwrap();
    let module = ENVIRONMENT_MODULE.replace("@SITE@", path);
    site.write("modules/probe/main.tf", &module);
    let task = "task {\n  name = \"probe\"\n  module = \"./modules/probe\"\n  condition \"services\" { names = [\"web\"] }\n}";
    let configuration = format!("{task}\nworker {{ {worker} }}");
    site.configure_driver(&consul.address(), LOCAL_BACKEND, &configuration);
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("probe", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    let output = cts.output();
    let warned = output.lines().filter(|line| line.contains("[WARN]"));
    let warned = warned.filter(|line| line.contains("variables=TF_VAR_services"));
    let warned: Vec<&str> = warned.collect();
    let [warned] = warned.as_slice() else {
        panic!("{output}");
    };
    for instead in ["`variables`", "`parallelism`", "`task_env`"] {
        assert!(warned.contains(instead), "{warned}");
    }
    assert_contains(
        output,
        ["settings and credentials of cts in its environment are not handed to terraform"],
    );
    cts.stop().await;
    let environment = fs::read_to_string(site.path().join("environment")).unwrap();
    let names = environment.lines().filter_map(|line| line.split_once('='));
    names.map(|(name, _)| name.to_owned()).collect()
}

#[tokio::test]
async fn credentials_of_cts_reach_no_module() {
    let names = environment_of_module("").await;
    let has = |name: &str| names.iter().any(|known| known == name);
    for name in [
        "PROBE_REGION",
        "PROBE_OTHER",
        "TF_TOKEN_example_com",
        "PATH",
        "GOGC",
        "GOMEMLIMIT",
    ] {
        assert!(has(name), "{name} is not in {names:?}");
    }
    for name in [
        "CONSUL_HTTP_TOKEN",
        "CTS_DATABASE_URL",
        "TFC_TOKEN",
        "TF_VAR_services",
        "VAULT_TOKEN",
    ] {
        assert!(!has(name), "{name} is in {names:?}");
    }
}

#[tokio::test]
async fn a_worker_narrows_the_environment_of_modules() {
    let list = "environment = [\"PATH\", \"TEST_SITE\", \"PROBE_R*\", \"VAULT_TOKEN\"]";
    let names = environment_of_module(&format!("{list}\ngo_gc = 0")).await;
    let has = |name: &str| names.iter().any(|known| known == name);
    assert!(has("PROBE_REGION") && has("PATH"), "{names:?}");
    for name in [
        "GOGC",
        "GOMEMLIMIT",
        "PROBE_OTHER",
        "TF_TOKEN_example_com",
        "VAULT_TOKEN",
    ] {
        assert!(!has(name), "{name} is in {names:?}");
    }
}
