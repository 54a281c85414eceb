//! The examples of docs/configuration.md#reference, each accepted with what it says, or refused at the right line.

use serde_json::{Value, json};

use super::Sandbox;
use crate::{Loaded, Severity};

macro_rules! example {
    ($name:literal) => {
        include_str!(concat!("../../../hcl1/tests/examples/", $name, ".hcl"))
    };
}

/// A sandbox with the modules that the examples name.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for module in ["hello", "report"] {
        sandbox.write(&format!("modules/{module}/main.tf"), super::module());
    }
    sandbox
}

#[track_caller]
fn accepted(files: &[(&str, &str)]) -> (Loaded, Value) {
    let sandbox = sandbox();
    for (name, text) in files {
        sandbox.write(name, text);
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let loaded = sandbox.load(&names).unwrap_or_else(|error| match error {
        crate::ConfigError::Problems(report) => panic!("{}", report.render()),
        other @ crate::ConfigError::NothingFound(_) => panic!("{other:?}"),
    });
    let dumped = crate::dump_json(&loaded.config);
    (loaded, dumped)
}

/// Line, message and help of every problem.
#[track_caller]
fn refused(name: &str, text: &str) -> Vec<(usize, String, String)> {
    let sandbox = sandbox();
    sandbox.write(name, text);
    let report = sandbox.refused_files(&[name]);
    let problems = report.problems().iter().map(|problem| {
        (
            problem.line().unwrap_or(0),
            problem.message().to_owned(),
            problem.help().unwrap_or_default().to_owned(),
        )
    });
    problems.collect()
}

#[track_caller]
fn assert_refused(example: &str, text: &str, line: usize, words: &[&str]) {
    let problems = refused("a.hcl", text);
    let [(at, message, help)] = problems.as_slice() else {
        panic!("{example}: {problems:#?}");
    };
    assert_eq!(*at, line, "{example}: {message}");
    for word in words {
        assert!(
            message.contains(word) || help.contains(word),
            "{example}: {message:?}, {help:?} lacks {word:?}"
        );
    }
}

#[test]
fn v1_the_smallest_useful_file() {
    let (loaded, dumped) = accepted(&[("a.hcl", example!("v1"))]);
    assert!(loaded.warnings.is_empty());
    assert_eq!(dumped["task"][0]["name"], "hello");
    assert_eq!(
        dumped["task"][0]["condition"]["services"]["names"],
        json!(["web"])
    );
}

#[test]
fn v2_most_blocks() {
    let (loaded, dumped) = accepted(&[("a.hcl", example!("v2"))]);
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings.render());
    let config = &loaded.config;
    assert_eq!(
        dumped["buffer_period"],
        json!({"enabled": true, "min": "10s", "max": "1m"})
    );
    let tasks = dumped["task"].as_array().unwrap();
    let names: Vec<&Value> = tasks.iter().map(|task| &task["name"]).collect();
    assert_eq!(names, ["allow_edge", "registry_report", "nightly"]);
    assert_eq!(
        tasks[0]["buffer_period"],
        json!({"enabled": true, "min": "2s", "max": "8s"})
    );
    assert!(!config.tasks[2].buffer_period.enabled);
    assert_eq!(tasks[1]["enabled"], false);
    assert_eq!(tasks[0]["condition"]["services"]["regexp"], "^edge-");
    assert_eq!(
        tasks[0]["condition"]["services"]["cts_user_defined_meta"],
        json!({"zone": "dmz"})
    );
    assert_eq!(
        tasks[1]["condition"]["catalog-services"]["node_meta"],
        json!({"rack": "r7"})
    );
    assert_eq!(
        tasks[2]["condition"]["schedule"]["cron"],
        "30 2 * * Mon-Fri"
    );
    assert_eq!(config.tasks[0].definition.module_inputs.len(), 1);
    assert_eq!(config.tasks[2].definition.module_inputs.len(), 1);

    assert_eq!(config.providers.len(), 3);
    assert_eq!(dumped["log_level"], "DEBUG");
    assert_eq!(dumped["syslog"]["facility"], "LOCAL3");
    assert!(config.vault.is_some());

    let shown = format!("{config:?} {loaded:?}");
    for secret in ["00000000-aaaa", "\"pw\"", "fw-south.lab"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[test]
fn v3_json() {
    let text = r#"{
  "port": "8600",
  "buffer_period": {"enabled": false},
  "driver": {"terraform": {"backend": {"local": {"path": "state.tfstate"}}}},
  "terraform_provider": [{"fw": {"host": "fw1"}}, {"fw": {"alias": "b", "host": "fw2"}}],
  "task": [
    {
      "name": "kv_task",
      "module": "./m",
      "providers": ["fw.b"],
      "condition": {"consul-kv": {"path": "app/flags", "recurse": true}},
      "module_input": [{"services": {"names": ["api"]}}],
      "buffer_period": {"max": "30s"}
    }
  ]
}"#;
    let (loaded, dumped) = accepted(&[("a.json", text)]);
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings.render());
    let config = &loaded.config;
    assert_eq!((config.port, &*config.driver.backend.kind), (8600, "local"));
    assert_eq!(config.driver.backend.arguments["path"], "state.tfstate");
    assert!(!config.buffer_period.enabled);
    let task = &dumped["task"][0];
    assert_eq!(
        task["buffer_period"],
        json!({"enabled": true, "min": "5s", "max": "30s"})
    );
    assert_eq!(task["condition"]["consul-kv"]["recurse"], true);
    assert_eq!(
        config.providers[1].arguments["host"],
        Value::from("fw2"),
        "the block with the alias"
    );
    assert_eq!(task["providers"], json!(["fw.b"]));
}

#[test]
fn v4_deprecated_forms_are_accepted_with_warnings() {
    let (loaded, _) = accepted(&[("a.hcl", example!("v4"))]);
    let warnings: Vec<(usize, String)> = loaded
        .warnings
        .problems()
        .iter()
        .map(|problem| {
            let help = problem.help().unwrap_or_default();
            let text = format!("{} {help}", problem.message());
            (problem.line().unwrap(), text)
        })
        .collect();
    for (line, old, new) in [
        (1, "service", "condition \"services\""),
        (9, "source", "module"),
        (10, "services", "condition \"services\""),
        (15, "source", "module"),
        (16, "services", "module_input \"services\""),
        (19, "source_includes_var", "use_as_module_input"),
    ] {
        let found = warnings
            .iter()
            .any(|(at, text)| *at == line && text.contains(old) && text.contains(new));
        assert!(found, "{line} {old} {new}: {warnings:#?}");
    }
    assert_eq!(warnings.len(), 6, "{warnings:#?}");
    assert!(loaded.warnings.count(Severity::Warning) == 6);
    let tasks = &loaded.config.tasks;
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[0].definition.module, "./m");
}

#[test]
fn v5_split_over_two_files() {
    let (loaded, _) = accepted(&[("base.hcl", example!("v5a")), ("site.hcl", example!("v5b"))]);
    let config = loaded.config;
    assert_eq!(config.consul.address, "10.0.0.1:8500");
    assert!(config.consul.token.is_some());
    assert_eq!(
        Value::Object(config.driver.required_providers),
        json!({"fw": {"version": "2.0"}})
    );
}

#[test]
fn invalid_examples_are_refused_at_their_line() {
    assert_refused("X1", example!("x1"), 5, &["module_input", "services"]);
    assert_refused("X2", example!("x2"), 6, &["regexp", "names"]);
    assert_refused(
        "X4",
        example!("x4"),
        1,
        &["template", "only", "terraform_provider"],
    );
    assert_refused("X5", example!("x5"), 2, &["vault"]);
    assert_refused(
        "X6",
        example!("x6"),
        1,
        &["unsupported Terraform backend `remote`"],
    );
    assert_refused("X7", example!("x7"), 1, &["exact"]);
    assert_refused(
        "X8",
        example!("x8"),
        4,
        &[
            "only one provider instance per task",
            "`fw` is listed twice",
        ],
    );
    assert_refused("X9", example!("x9"), 1, &["tls", "cert", "key"]);
    assert_refused(
        "X10",
        example!("x10"),
        1,
        &["buffer_period.min", "duration", "\"10s\""],
    );
    assert_refused(
        "X11",
        example!("x11"),
        6,
        &["unknown key `use_as_module_input`", "schedule"],
    );
    assert_refused("X13", example!("x13"), 1, &["scheme"]);
    assert_refused(
        "X14",
        example!("x14"),
        2,
        &["only one `consul` block can be configured"],
    );
    assert_refused(
        "X15",
        example!("x15"),
        4,
        &["variable file", "does-not-exist.tfvars"],
    );
    assert_refused("X16", example!("x16"), 2, &["invalid task name"]);
    assert_refused(
        "X17",
        example!("x17"),
        2,
        &["task_env", "`FW_RETRIES`", "string"],
    );
    assert_refused("X18", example!("x18"), 4, &["services", "condition"]);
}

#[test]
fn x3_all_that_is_wrong_is_in_one_report() {
    let problems = refused("a.hcl", example!("x3"));
    let help = |line: usize, message: &str| {
        let found = problems
            .iter()
            .find(|(at, text, _)| *at == line && text.contains(message));
        let Some((_, _, help)) = found else {
            panic!("{line} {message}: {problems:#?}");
        };
        help.clone()
    };
    assert!(help(1, "unknown key `adress` in `consul`").contains("`address`"));
    assert!(help(4, "unknown key `modules` in `task`").contains("`module`"));
    help(2, "module for the task is required");
    assert_eq!(problems.len(), 3, "{problems:#?}");
}

/// The driver of the Enterprise edition is an ordinary one here. Only workers need its token.
#[test]
fn x12_the_driver_of_the_enterprise_edition_is_read() {
    let sandbox = sandbox();
    sandbox.write("a.hcl", example!("x12"));
    let loaded = sandbox.load(&["a.hcl"]).unwrap();
    let driver = loaded.config.terraform_cloud.unwrap();
    assert!(loaded.warnings.is_empty() && driver.token.is_none());
}

#[test]
fn x19_a_list_where_one_block_is_expected() {
    let problems = refused("a.json", r#"{"consul": [{"address": "x"}]}"#);
    let [(1, message, help)] = problems.as_slice() else {
        panic!("{problems:#?}");
    };
    assert_eq!(message, "`consul` must be a single object, not a list");
    assert!(help.contains("without the brackets"), "{help}");
}
