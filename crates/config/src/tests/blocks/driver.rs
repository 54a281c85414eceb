//! `driver "terraform"` (docs/configuration.md#driver-terraform).

use std::time::Duration;

use cts_core::StepTimeouts;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::super::{Sandbox, assert_one, assert_problem, assert_problems, config, only, problems};
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
fn a_slash_behind_an_address_reaches_no_backend() {
    let text = "consul { address = \"http://c:1/\" }";
    let config_of = |driver: &str| config(&format!("{text}\n{driver}"));
    assert_eq!(config_of("").consul.address, "http://c:1");
    assert_eq!(backend(&config_of(""))["address"], "http://c:1");
    let own = "driver \"terraform\" { backend \"consul\" { address = \"d:2/\" } }";
    assert_eq!(backend(&config_of(own))["address"], "d:2");
}

#[test]
fn other_backends_are_as_written() {
    let config = config("driver \"terraform\" { backend \"local\" { path = \"x\" } }");
    assert_eq!(config.driver.backend.kind, "local");
    assert_eq!(backend(&config), json!({ "path": "x" }));
    assert!(config.terraform_environment().is_empty());
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
fn the_previous_backend_is_read_like_the_backend() {
    assert_eq!(
        config("driver \"terraform\" { }").driver.previous_backend,
        None
    );
    let text = "consul { address = \"c:1\" }\n\
                driver \"terraform\" {\n\
                  backend \"pg\" { conn_str = \"x\" }\n\
                  previous_backend \"consul\" { path = \"old/terraform\" access_token = \"t\" }\n\
                }";
    let config = config(text);
    let previous = config.driver.previous_backend.unwrap();
    assert_eq!(previous.kind, "consul");
    assert_eq!(
        Value::Object(previous.arguments),
        json!({ "address": "c:1", "path": "old/terraform", "gzip": true, "access_token": "t" })
    );
    assert_eq!(config.driver.backend.kind, "pg");
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
}

#[test]
fn the_driver_is_read() {
    let sandbox = Sandbox::new();
    let text =
        "driver \"terraform\" { version = \"1.9.8\" path = \"bin\" log = true persist_log = true }";
    let driver = sandbox.config(text).driver;
    assert_eq!(driver.version.as_deref(), Some("1.9.8"));
    assert_eq!(driver.path, Some(sandbox.path().join("bin")));
    assert!(driver.log && driver.persist_log && !driver.release_lost_locks);
    let released = config("driver \"terraform\" { release_lost_locks = true }");
    assert!(released.driver.release_lost_locks);
    assert_eq!(
        config("driver \"terraform\" { version = \"\" path = \"\" }")
            .driver
            .path,
        None
    );
    assert_eq!(config("driver { }").driver.backend.kind, "consul");
    let cases = r#"
        driver "terraform" { version = "1.5" } #~ provide the exact Terraform version
        driver "other" { } #~ unknown key `other` in `driver`
    "#;
    assert_problems(cases);
}

#[test]
fn reads_parallelism_refresh_and_lock_timeout_within_their_limits() {
    let driver = config("driver \"terraform\" { }").driver;
    assert_eq!((driver.parallelism, driver.refresh), (10, true));
    assert_eq!(driver.lock_timeout, None);
    let text = "driver \"terraform\" { parallelism = 1 refresh = false lock_timeout = \"90s\" }";
    let driver = config(text).driver;
    assert_eq!((driver.parallelism, driver.refresh), (1, false));
    assert_eq!(driver.lock_timeout, Some(Duration::from_secs(90)));
    for (key, value, message) in [
        ("parallelism", "0", "must be between 1 and 256"),
        ("parallelism", "257", "must be between 1 and 256"),
        ("lock_timeout", "\"-1s\"", "must be between"),
        ("lock_timeout", "\"25h\"", "must be between"),
    ] {
        let text = format!("driver \"terraform\" {{\n  {key} = {value}\n}}");
        assert_problem(&text, 2, message);
    }
}

#[test]
fn required_providers_are_free_form() {
    let text = "driver \"terraform\" { required_providers { fw = { source = \"a/fw\" aliases = [\"x\"] } dns = \"3.4.0\" } }";
    let required = Value::Object(config(text).driver.required_providers);
    assert_eq!(
        required,
        json!({ "fw": { "source": "a/fw", "aliases": "x" }, "dns": "3.4.0" })
    );
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
fn an_empty_driver_or_backend_is_none() {
    for text in ["driver { }", "driver \"terraform\" { backend { } }"] {
        let config = config(text);
        assert_eq!(config.driver.backend.kind, "consul", "{text}");
        assert!(config.terraform_cloud.is_none(), "{text}");
    }
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

#[test]
fn every_step_of_terraform_has_a_timeout() {
    let timeouts = |text: &str| {
        config(&format!("driver \"terraform\" {{ {text} }}"))
            .driver
            .timeouts
    };
    assert_eq!(timeouts(""), StepTimeouts::default());
    assert_eq!(config("").driver.timeouts, StepTimeouts::default());
    assert_eq!(
        timeouts("init_timeout = \"1s\" plan_timeout = \"2m\" apply_timeout = \"720h\""),
        StepTimeouts {
            init: Duration::from_secs(1),
            plan: Duration::from_mins(2),
            apply: Duration::from_hours(720),
        }
    );
    for wrong in ["\"0s\"", "\"721h\"", "\"-1s\"", "\"soon\"", "30"] {
        let text = format!("driver \"terraform\" {{ apply_timeout = {wrong} }}");
        let errors = problems(&text);
        assert_eq!(errors.len(), 1, "{wrong}: {errors:?}");
        assert!(errors[0].1.contains("apply_timeout"), "{errors:?}");
    }
}
