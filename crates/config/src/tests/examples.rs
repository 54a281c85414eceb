//! The examples of spec/config.md 22, as far as they are in scope.

use cts_core::{BufferPeriod, BufferSetting};
use std::time::Duration;

use super::{Sandbox, assert_problem, config, problems};

fn seconds(min: u64, max: u64) -> BufferPeriod {
    BufferPeriod::DISABLED.refine(BufferSetting {
        enabled: Some(true),
        min: Some(Duration::from_secs(min)),
        max: Some(Duration::from_secs(max)),
    })
}

#[test]
fn v1_the_smallest_useful_file() {
    let sandbox = Sandbox::new();
    sandbox.write("modules/hello/main.tf", "");
    let config = sandbox.config(
        "task {\n  name   = \"hello\"\n  module = \"./modules/hello\"\n  condition \"services\" { names = [\"web\"] }\n}",
    );
    assert_eq!(config.tasks[0].name().as_str(), "hello");
}

#[test]
fn v2_most_blocks() {
    let config = config(
        r#"
log_level   = "DEBUG"
port        = 9558
id          = "cts-lab"
working_dir = "/var/lib/cts/tasks"

buffer_period {
  min = "10s"
  max = "60s"
}

consul {
  address = "consul.lab.example:8501"
  token   = "00000000-aaaa-bbbb-cccc-000000000000"
  kv_path = "lab/cts"
  auth { username = "svc" password = "pw" }
  tls {
    ca_cert = "/etc/cts/consul-ca.pem"
    verify  = true
  }
  transport { max_idle_conns_per_host = 250 }
  service_registration {
    service_name = "cts-lab"
    address      = "10.1.1.7"
    default_check { address = "http://10.1.1.7:9558" }
  }
}

driver "terraform" {
  version = "1.9.8"
  path    = "/opt/cts/bin"
  backend "consul" { gzip = false }
  required_providers {
    fw  = { source = "acme/fw", version = ">= 2.1.0" }
    dns = "3.4.0"
  }
}

terraform_provider "fw" {
  alias = "south"
  host  = "fw-south.lab.example"
}

terraform_provider "dns" { }

task {
  name        = "allow_edge"
  description = "open edge services"
  module      = "acme/allow/fw"
  version     = "1.2.0"
  providers   = ["fw.north", "dns"]
  condition "services" {
    names      = ["edge-a"]
    datacenter = "lab"
    filter     = "\"public\" in Service.Tags"
    cts_user_defined_meta { zone = "dmz" }
  }
  buffer_period { min = "2s" }
}
"#,
    );
    assert_eq!(config.buffer_period, seconds(10, 60));
    assert_eq!(config.tasks[0].buffer_period, seconds(2, 8));
    let backend = &config.driver.backend.arguments;
    assert_eq!(backend["address"], "consul.lab.example:8501");
    assert_eq!(backend["path"], "lab/cts/terraform");
    assert_eq!(backend["gzip"], false);
    assert_eq!(backend["scheme"], "https");
    assert_eq!(backend["ca_file"], "/etc/cts/consul-ca.pem");
    let variables = config.terraform_environment();
    assert!(
        variables
            .iter()
            .any(|(name, _)| name == "CONSUL_HTTP_TOKEN")
    );
    let shown = format!("{config:?}");
    for secret in ["00000000-aaaa", "\"pw\"", "fw-south.lab"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[test]
fn x3_two_unknown_keys_in_one_report() {
    let found = problems(
        "consul { adress = \"x\" }\ntask {\n  name    = \"t\"\n  module = \"./m\"\n  modules = \"./m\"\n  condition \"services\" { names = [\"a\"] }\n}",
    );
    let expected = [
        (1, "unknown key `adress` in `consul`".to_owned()),
        (5, "unknown key `modules` in `task`".to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn other_invalid_examples_are_refused_at_their_line() {
    let task = |extra: &str, condition: &str| {
        format!("task {{\n  name = \"t\"\n  module = \"./m\"\n  {extra}\n  {condition}\n}}")
    };
    let services = "condition \"services\" { names = [\"a\"] }";
    let cases = [
        ("X1", task("module_input \"services\" { names = [\"b\"] }", services), 4, "not supported yet"),
        ("X2", task("", "condition \"services\" { names = [\"a\"]\n regexp = \"b\" }"), 6, "`regexp`"),
        ("X4", "working_dir = \"{{ env \\\"HOME\\\" }}/cts\"".into(), 1, "dynamic templates"),
        (
            "X5",
            "terraform_provider \"fw\" {\n  token = \"{{ with secret \\\"kv/fw\\\" }}{{ .Data.t }}{{ end }}\"\n}".into(),
            2,
            "dynamic templates",
        ),
        ("X6", "driver \"terraform\" { backend \"remote\" { organization = \"o\" } }".into(), 1, "`remote`"),
        ("X7", "driver \"terraform\" { version = \"1.5\" }".into(), 1, "exact"),
        ("X8", task("providers = [\"fw.a\", \"fw.b\"]", services), 4, "provider `fw` is listed twice"),
        ("X9", "tls { verify_incoming = false }".into(), 1, "`tls` is not supported yet"),
        ("X10", "buffer_period { min = \"10\" }".into(), 1, "must be a duration"),
        ("X11", task("", "condition \"schedule\" { cron = \"* * * * *\" }"), 5, "not supported yet"),
        ("X12", "driver \"terraform-cloud\" { organization = \"o\" }".into(), 1, "not supported yet"),
        (
            "X13",
            "consul { service_registration { default_check { address = \"10.0.0.1:8558\" } } }".into(),
            1,
            "scheme",
        ),
        ("X14", "consul { address = \"a\" }\nconsul { token = \"b\" }".into(), 2, "only one `consul`"),
        ("X15", task("variable_files = [\"does-not-exist.tfvars\"]", services), 4, "cannot read variable file"),
        ("X16", task("", services).replace("\"t\"", "\"web task\""), 2, "invalid task name"),
        ("X17", "terraform_provider \"fw\" {\n  task_env { FW_RETRIES = 3 }\n}".into(), 2, "`FW_RETRIES`"),
        ("X18", task("services = [\"a\"]", services), 4, "`services` is not supported yet"),
    ];
    for (example, text, line, message) in cases {
        println!("{example}");
        assert_problem(&text, line, message);
    }
}
