//! `driver "terraform"` (docs/configuration.md#driver-terraform).

use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::super::{Sandbox, assert_one, assert_problem, assert_problems, config, only};
use crate::{BackendRefusal, Config};

fn backend(config: &Config) -> Value {
    Value::Object(config.driver.backend.arguments.clone())
}

#[test]
fn the_consul_backend_gets_defaults_one_by_one() {
    let text = "consul { address = \"c:1\" kv_path = \"lab/cts\" tls { ca_cert = \"ca\" cert = \"c\" } }\n\
                driver \"terraform\" { backend \"consul\" { gzip = false } }";
    assert_eq!(
        backend(&config(text)),
        json!({
            "address": "c:1", "path": "lab/cts/terraform", "gzip": false,
            "scheme": "https", "ca_file": "ca", "cert_file": "c"
        })
    );
}

#[test]
fn bad_backends_are_refused() {
    for key in ["backend", "previous_backend"] {
        for (text, line, problem) in [
            (
                format!("{key} \"remote\" {{ }}"),
                2,
                "unsupported Terraform backend `remote`",
            ),
            (
                format!("{key} \"pg\" {{ }}\n{key} \"s3\" {{ }}"),
                3,
                "only one backend",
            ),
            (
                format!("{key} = {{ consul = \"x\" }}"),
                2,
                "must be a block, not text",
            ),
        ] {
            let driver = format!("driver \"terraform\" {{\n{text}\n}}");
            assert_problem(&driver, line, problem);
        }
    }
}

#[test]
fn terraform_gets_consul_settings_by_its_environment() {
    let text = "consul { address = \"c:1\" token = \"t\" tls { ca_cert = \"ca\" key = \"k\" } }";
    let variables = config(text).terraform_environment();
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    assert_eq!(
        variables,
        [
            ("CONSUL_HTTP_ADDR", "c:1"),
            ("CONSUL_HTTP_TOKEN", "t"),
            ("CONSUL_CACERT", "ca"),
            ("CONSUL_CLIENT_KEY", "k"),
        ]
    );
    assert_eq!(config("# nothing").terraform_environment().len(), 1);
    let local = config("driver \"terraform\" { backend \"local\" { } }");
    assert!(local.terraform_environment().is_empty());
}

#[test]
fn keys_of_former_versions_name_their_successors() {
    for (text, key, help) in [
        (
            "driver \"terraform\" {\n working_dir = \"x\" }",
            "`driver.terraform.working_dir`",
            "use `working_dir` at the top level or in a task",
        ),
        (
            "port = 1\nprovider \"fw\" { host = \"x\" }",
            "`provider`",
            "use `terraform_provider`",
        ),
    ] {
        let report = Sandbox::new().refused(text);
        let problem = only(&report);
        assert_eq!(problem.line(), Some(2));
        assert_eq!(problem.message(), format!("unknown key {key}"));
        assert!(problem.help().unwrap().contains(help), "{problem:?}");
    }
}

#[test]
fn backends_are_united_over_files_and_must_be_of_one_kind() {
    let sandbox = Sandbox::new();
    let driver = |text: &str| format!("driver \"terraform\" {{\n{text}\n}}");
    sandbox.write(
        "1.hcl",
        driver("backend \"s3\" { bucket = \"a\" key = \"k\" }"),
    );
    sandbox.write("2.hcl", driver("backend \"s3\" { bucket = \"b\" }"));
    sandbox.write("3.hcl", driver("backend \"pg\" { }"));
    sandbox.write("4.hcl", driver("log = true"));
    let config = sandbox.load(&["4.hcl", "1.hcl", "2.hcl"]).unwrap().config;
    assert_eq!(backend(&config), json!({ "bucket": "b", "key": "k" }));
    assert!(config.driver.log);
    let report = sandbox.refused_files(&["1.hcl", "3.hcl"]);
    let problem = only(&report);
    let place = (problem.file(), problem.line(), problem.column());
    assert_eq!(place, (Some("3.hcl"), Some(2), Some(9)));
    assert!(problem.message().contains("`pg` beside `s3`"), "{problem}");
}

#[test]
fn wrong_values_are_refused() {
    let cases = r#"
        driver "other" { } #~ unknown key `other` in `driver`
        driver "terraform" { version = "1.5" } #~ provide the exact Terraform version
        driver "terraform" { parallelism = 0 } #~ must be between 1 and 256
        driver "terraform" { parallelism = 257 } #~ must be between 1 and 256
        driver "terraform" { lock_timeout = "-1s" } #~ must be between
        driver "terraform" { lock_timeout = "25h" } #~ must be between
        driver "terraform" { apply_timeout = "0s" } #~ `driver.terraform.apply_timeout` must be between 1s and 720h
        driver "terraform" { apply_timeout = "721h" } #~ apply_timeout
        driver "terraform" { apply_timeout = "-1s" } #~ apply_timeout
        driver "terraform" { apply_timeout = "soon" } #~ apply_timeout
        driver "terraform" { apply_timeout = 30 } #~ apply_timeout
    "#;
    assert_problems(cases);
    assert_eq!(config("driver { }").driver.backend.kind, "consul");
}

#[test]
fn two_drivers_in_one_file_are_too_many() {
    let cases = r#"
        driver "terraform" { }
        driver "terraform" { } #~ only one `driver` block

        driver {
          terraform { }
          terraform { } } #~ only one `driver.terraform` block
    "#;
    assert_problems(cases);
}

#[test]
fn a_local_backend_is_for_one_machine_unless_it_is_said_to_be_shared() {
    let driver = |text: &str| config(&format!("driver \"terraform\" {{ {text} }}")).driver;
    for shared in [
        "",
        "backend \"s3\" { bucket = \"b\" }",
        "shared_local_backend = true backend \"local\" { workspace_dir = \"/mnt/state\" }",
    ] {
        assert_eq!(driver(shared).require_shared_backend(), Ok(()), "{shared}");
    }
    for local in [
        "backend \"local\" { path = \"x\" }",
        "shared_local_backend = false backend \"local\" { }",
    ] {
        let refusal = driver(local).require_shared_backend().unwrap_err();
        assert_eq!(refusal, BackendRefusal::Local, "{local}");
        let text = refusal.to_string();
        for part in [
            "its state lives on one machine",
            "another worker would start from nothing",
            "\"consul\", \"s3\" or \"pg\"",
            "shared_local_backend = true in driver \"terraform\"",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn sharing_that_cannot_be_meant_so_is_warned_of() {
    let warnings = |text: &str| {
        Sandbox::new().warnings(&format!(
            "driver \"terraform\" {{ shared_local_backend = true {text} }}"
        ))
    };
    let local =
        |directory: &str| format!("backend \"local\" {{ workspace_dir = \"{directory}\" }}");
    assert!(warnings(&local("/mnt/state")).is_empty());
    for (text, part) in [
        (local("state"), "without an absolute `workspace_dir`"),
        (
            "backend \"local\" { }".into(),
            "without an absolute `workspace_dir`",
        ),
        (String::new(), "no effect with backend `consul`"),
    ] {
        let found = warnings(&text);
        assert_one(&found, part);
    }
}
