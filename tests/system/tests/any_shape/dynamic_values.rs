//! Dynamic values of providers: resolved on the worker for each run.

use std::fs;

use cts_testkit::ConsulAgent;
use cts_tests::{Instance, LOCAL_BACKEND, Site, met};

use super::providers::provider_environment::REQUIRED;
use super::vault::{SECRET, TOKEN, has, vault};

const CONFIGURATION: &str = r#"
vault {
  address = "@VAULT@"
  token   = "token-of-vault"
}

terraform_provider "terraform" {
  task_env {
    "PROBE_ENV"    = "{{ env \"REGION\" }}"
    "PROBE_KEY"    = "<{{ key \"probe/name\" }}>"
    "PROBE_SECRET" = "{{ with secret \"kv/probe\" }}{{ .Data.data.password }}{{ end }}"
  }
}

task {
  name      = "probe"
  module    = "./modules/probe"
  providers = ["terraform"]
  condition "consul-kv" {
    path = "trigger"
    use_as_module_input = false
  }
}
"#;

const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "probe" {
  triggers_replace = timestamp()
  provisioner "local-exec" {
    command = "printf '%s/%s/%s\n' \"$PROBE_ENV\" \"$PROBE_KEY\" \"$PROBE_SECRET\" >>'@SITE@/evidence'"
  }
}
"#;

#[tokio::test]
async fn values_are_those_of_the_moment_of_the_run() {
    let vault = vault().await;
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
    site.set_environment("REGION", "east");
    let path = site.path().to_str().unwrap().to_owned();
    site.write("modules/probe/main.tf", &MODULE.replace("@SITE@", &path));
    let configuration = CONFIGURATION.replace("@VAULT@", &vault.address());
    let driver = LOCAL_BACKEND.to_owned() + REQUIRED;
    site.configure_driver(&consul.address(), &driver, &configuration);
    consul.kv_put("trigger", "1").await;

    // Without the key the run fails, and names the key.
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("probe", 1).await;
    assert_eq!(events[0]["success"], false, "{events:?}");
    let error = events[0]["error"]["message"].as_str().unwrap();
    for part in [
        "`task_env.PROBE_KEY` of terraform_provider \"terraform\"",
        "the key probe/name is not there",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!site.path().join("evidence").exists());

    // Another value triggers nothing, and is used by the next run.
    let mut evidence = Vec::new();
    for (number, name) in ["first", "second"].into_iter().enumerate() {
        let secret = format!("{SECRET} {number}");
        has(&vault, &secret).await;
        consul.kv_put("probe/name", name).await;
        consul.kv_put("trigger", format!("again {number}")).await;
        evidence.push(format!("east/<{name}>/{secret}"));
        let file = site.path().join("evidence");
        cts_testkit::eventually(cts_tests::DEADLINE, async || {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            met(lines == evidence, text)
        })
        .await;
    }
    let output = cts.output();
    cts.stop().await;
    for secret in [SECRET, TOKEN] {
        assert!(!output.contains(secret), "in the log");
    }
}
