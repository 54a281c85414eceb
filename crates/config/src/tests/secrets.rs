//! No secret in a log, a dump or a report.

use super::Sandbox;
use crate::{ConfigError, dump, dump_json};

const MARKER: &str = "hunter2";

/// A configuration with the marker wherever a secret may be.
const WITH_SECRETS: &str = r#"
consul {
  address = "http://svc:hunter2@consul:8500"
  token   = "hunter2"
  auth { username = "svc" password = "hunter2" }
}
vault { address = "https://v:8200" token = "hunter2" }
database { url = "postgres://cts:hunter2@db/cts?sslpassword=hunter2" }
driver "terraform" {
  backend "s3" {
    bucket       = "state"
    access_key   = "hunter2"
    secret_key   = "hunter2"
    token        = "hunter2"
    assume_role { session_token = "hunter2" }
    conn_str     = "host=db password=hunter2"
    http_auth    = "svc:hunter2"
    credentials  = "hunter2"
    key_material = "hunter2"
    exec { env { X = "hunter2" } }
    url          = "http://svc:hunter2@state"
  }
}
terraform_provider "fw" {
  alias = "a"
  host  = "hunter2"
  nested { x = ["hunter2", 1] }
  task_env { "FW_TOKEN" = "hunter2" }
}
task {
  name   = "t"
  module = "git::https://svc:hunter2@git.example/m"
  condition "services" {
    names = ["web"]
    cts_user_defined_meta { api_token = "hunter2" }
  }
  variables {
    password = "\"hunter2\""
    nested   = "{ secret = \"hunter2\", b = 1 }"
    url      = "\"http://svc:hunter2@host\""
  }
}
"#;

const OTHER_DRIVER: &str =
    "driver \"terraform-cloud\" { organization = \"o\" token = \"hunter2\" }";

#[track_caller]
fn assert_hidden(text: &str) {
    assert!(!text.contains(MARKER), "{text}");
}

#[test]
fn neither_debug_nor_dump_shows_a_secret() {
    let sandbox = Sandbox::new();
    for text in [WITH_SECRETS, OTHER_DRIVER] {
        let config = sandbox.config(text);
        let dumped = dump(&config);
        assert!(dumped.contains("(hidden)"));
        assert_hidden(&dumped);
        assert_hidden(&dump_json(&config).to_string());
        assert_hidden(&format!("{config:?}"));
        assert_hidden(&format!("{:?}", config.consul.token));
        assert_hidden(&format!("{:?}", config.consul.auth));
        assert_hidden(&format!("{:?}", config.vault));
        assert_hidden(&format!("{:?}", config.driver));
        assert_hidden(&format!("{:?}", config.terraform_cloud));
        assert_hidden(&format!("{:?}", config.providers));
        assert_hidden(&format!("{:?}", config.database));
        assert_hidden(&format!("{:?}", config.terraform_environment()));
    }
}

#[test]
fn tokens_from_files_and_environment_are_hidden_as_well() {
    let mut sandbox = Sandbox::new();
    sandbox.write("token", MARKER);
    sandbox.set("HOME", sandbox.path().to_str().unwrap().to_owned().as_str());
    sandbox.write(".vault-token", MARKER);
    sandbox.set("CONSUL_HTTP_TOKEN_FILE", "token");
    sandbox.set("CONSUL_HTTP_AUTH", "svc:hunter2");
    sandbox.set("CTS_DATABASE_URL", "postgres://cts:hunter2@db/cts");
    let config = sandbox.config("vault { enabled = true }");
    assert!(config.vault.as_ref().unwrap().token.is_some());
    assert_hidden(&dump(&config));
    assert_hidden(&format!("{config:?}"));
}

#[test]
fn tokens_in_urls_of_modules_are_hidden() {
    for module in [
        "git::https://hunter2@git.example/m",
        "git::https://hunter2:x-oauth-basic@git.example/m",
        "git::ssh://git@git.example/m?ref=v1&sshkey=hunter2",
        "https://git.example/m.zip?sv=1&sig=hunter2",
    ] {
        let sandbox = Sandbox::new();
        let text = format!(
            "task {{ name = \"t\" module = \"{module}\" condition \"services\" {{ names = [\"a\"] }} }}"
        );
        let config = sandbox.config(&text);
        assert_hidden(&dump(&config));
        assert_hidden(&format!("{config:?}"));
    }
}

/// Without the quotes of the expression a secret reads like a reference.
#[test]
fn a_secret_variable_is_not_named_as_a_reference() {
    let sandbox = Sandbox::new();
    sandbox.write("a.tfvars", "db_password = hunter2\n");
    for inside in [
        "variables { api_token = \"hunter2\" }",
        "variable_files = [\"a.tfvars\"]",
    ] {
        sandbox.write("a.hcl", super::task_with(inside));
        let Err(ConfigError::Problems(report)) = sandbox.load(&["a.hcl"]) else {
            panic!("{inside} is accepted");
        };
        assert!(report.render().contains("cannot be evaluated"));
        assert_hidden(&report.render());
        assert_hidden(&serde_json::to_string(&report).unwrap());
    }
}

/// Each line is made a fault by an unknown key on it.
#[test]
fn no_report_shows_a_secret() {
    let sandbox = Sandbox::new();
    for (number, line) in WITH_SECRETS.lines().chain([OTHER_DRIVER]).enumerate() {
        // The inside of an expression has no name that would be known here.
        if !line.contains(MARKER) || line.contains("{ secret") {
            continue;
        }
        let faulty = WITH_SECRETS
            .lines()
            .enumerate()
            .map(|(at, other)| {
                if at == number {
                    format!("{other}, faulty = [{{ }}], faulty = 1\n")
                } else {
                    format!("{other}\n")
                }
            })
            .collect::<String>();
        sandbox.write("a.hcl", &faulty);
        let rendered = match sandbox.load(&["a.hcl"]) {
            Ok(loaded) => loaded.warnings.render(),
            Err(ConfigError::Problems(report)) => report.render(),
            Err(other) => panic!("{other}"),
        };
        assert_hidden(&rendered);
    }
}
