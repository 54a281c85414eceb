//! The file of `task create` (docs/cli.md#task-files, #cts-task).

use std::path::Path;

use serde_json::{Value, json};

use super::{Sandbox, assert_each, only};
use crate::{TaskFile, TaskFileError, load_task_file};

fn load(sandbox: &Sandbox, name: &str, text: &str) -> Result<TaskFile, TaskFileError> {
    sandbox.write(name, text);
    sandbox.in_context(|context| load_task_file(Path::new(name), context))
}

/// The request of a file that is accepted, and what is warned of.
#[track_caller]
fn request(text: &str) -> (Value, Vec<String>) {
    let sandbox = Sandbox::new();
    let file = load(&sandbox, "task.hcl", text).unwrap_or_else(|error| panic!("{text}\n{error:?}"));
    assert_eq!(Some(file.name.as_str()), file.request["name"].as_str());
    let warnings = file.warnings.problems().iter();
    let warnings = warnings
        .map(|warning| warning.message().to_owned())
        .collect();
    (Value::Object(file.request), warnings)
}

#[test]
fn leaves_out_unset_settings() {
    // Not even the directory of the module has to be there: it is the server's.
    let (found, warnings) = request("task { name = \"t\" module = \"./not-here\" }");
    assert_eq!(
        found,
        json!({ "name": "t", "module": "./not-here", "condition": {}, "variables": {} })
    );
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn module_inputs_in_json_are_one_object_or_a_list() {
    let inputs = [
        r#"{"services": {"names": ["web"]}, "consul-kv": {"path": "lb/a"}}"#,
        r#"[{"services": {"names": ["web"]}}, {"consul-kv": {"path": "lb/a"}}]"#,
    ];
    for inputs in inputs {
        let sandbox = Sandbox::new();
        let text = format!(
            r#"{{"task": {{"name": "x", "module": "./k", "module_input": {inputs},
                "condition": {{"catalog-services": {{"regexp": "web", "use_as_module_input": false}}}}}}}}"#
        );
        let file = load(&sandbox, "task.json", &text);
        let file = file.unwrap_or_else(|error| panic!("{text}\n{error:?}"));
        assert_eq!(
            file.request["module_input"],
            json!({ "services": { "names": ["web"] }, "consul_kv": { "path": "lb/a" } })
        );
    }
}

#[test]
fn sends_all_settings_that_are_set() {
    let (found, warnings) = request(
        r#"log_level = "nonsense"
        consul { nonsense = 1 }
        Driver "terraform" { backend "none" { } }
        task {
          name = "t" description = "d" enabled = false module = "a/b/c" version = "1.2.0"
          providers = ["fw.north", "dns"] outputs = ["b", "a"] on_delete = "destroy" approval = "always"
          condition "services" {
            names = ["a"] datacenter = "dc" namespace = "ns" filter = "f"
            cts_user_defined_meta { k = "v" } use_as_module_input = false
          }
          module_input "consul-kv" { path = "p" recurse = true datacenter = "dc" namespace = "ns" }
          variables { a = "\"x\"" b = true c = 3 }
          buffer_period { enabled = true min = "1m30s" max = "2.5s" }
          terraform_version = "1.9.8"
          terraform_cloud_workspace { execution_mode = "agent" agent_pool_id = "i" agent_pool_name = "n"
            terraform_version = "1.9.7" auto_upgrade_tf_version = false }
        }"#,
    );
    assert_eq!(
        found,
        json!({
            "name": "t", "description": "d", "enabled": false, "module": "a/b/c", "version": "1.2.0",
            "providers": ["fw.north", "dns"], "outputs": ["b", "a"], "on_delete": "destroy",
            "approval": "always",
            "condition": { "services": {
                "names": ["a"], "datacenter": "dc", "namespace": "ns", "filter": "f",
                "cts_user_defined_meta": { "k": "v" }, "use_as_module_input": false,
            } },
            "module_input": { "consul_kv": {
                "path": "p", "recurse": true, "datacenter": "dc", "namespace": "ns",
            } },
            "variables": { "a": "\"x\"", "b": "true", "c": "3" },
            "buffer_period": { "enabled": true, "min": "90s", "max": "2s500000000ns" },
            "terraform_version": "1.9.8",
            "terraform_cloud_workspace": {
                "execution_mode": "agent", "agent_pool_id": "i", "agent_pool_name": "n",
                "terraform_version": "1.9.7", "auto_upgrade_tf_version": false,
            },
        })
    );
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn every_kind_of_condition_has_its_member() {
    let cases = [
        ("condition \"no-condition\" { }", json!({})),
        (
            "condition \"services\" { regexp = \"\\\\\\\\d\" }",
            json!({ "services": { "regexp": "\\\\d" } }),
        ),
        (
            "condition \"services\" { names = [] regexp = \"a\" }",
            json!({ "services": { "regexp": "a" } }),
        ),
        (
            "condition \"catalog-services\" { regexp = \".*\" node_meta { r = 1 } datacenter = \"dc\" namespace = \"ns\" }",
            json!({ "catalog_services": {
                "regexp": ".*", "node_meta": { "r": "1" }, "datacenter": "dc", "namespace": "ns",
            } }),
        ),
        (
            "condition \"consul-kv\" { path = \"p\" use_as_module_input = true }",
            json!({ "consul_kv": { "path": "p", "use_as_module_input": true } }),
        ),
        (
            "condition \"schedule\" { cron = \"@daily\" }",
            json!({ "schedule": { "cron": "@daily" } }),
        ),
    ];
    for (condition, expected) in cases {
        let (found, _) = request(&format!(
            "task {{ name = \"t\" module = \"m\"\n{condition} }}"
        ));
        assert_eq!(found["condition"], expected, "{condition}");
    }
    let (found, _) = request(
        "task { name = \"t\" module = \"m\" module_input \"services\" { regexp = \"a\" } }",
    );
    assert_eq!(
        found["module_input"],
        json!({ "services": { "regexp": "a" } })
    );
}

#[test]
fn half_a_buffer_period_is_sent_with_zero() {
    let cases = [
        (
            "min = \"7s\"",
            json!({ "min": "7s", "max": "0s" }),
            "makes it equal to `min`",
        ),
        (
            "max = \"7s\"",
            json!({ "min": "0s", "max": "7s" }),
            "`min` is sent as 0",
        ),
        (
            "enabled = true",
            json!({ "enabled": true, "min": "0s", "max": "0s" }),
            "`min` and `max` are sent as 0",
        ),
    ];
    let text = |period: &str| {
        format!("task {{ name = \"t\" module = \"m\" buffer_period {{ {period} }} }}")
    };
    for (period, expected, warned) in cases {
        let (found, warnings) = request(&text(period));
        assert_eq!(found["buffer_period"], expected);
        assert!(warnings[0].contains(warned), "{warnings:?}");
    }
    let (found, warnings) = request(&text("enabled = false"));
    assert_eq!(
        found["buffer_period"],
        json!({ "enabled": false, "min": "0s", "max": "0s" })
    );
    assert!(warnings.is_empty());
    assert_eq!(request(&text("")).0.get("buffer_period"), None);
}

#[test]
fn variable_files_are_read_here_and_win() {
    let sandbox = Sandbox::new();
    sandbox.write("1.tfvars", "a = \"file\"\nb = \"$${x}\"\nc = [1, null]\n");
    sandbox.write("2.tfvars", "c = { k = \"v\" }\n");
    let text = "task { name = \"t\" module = \"m\" variable_files = [\"1.tfvars\", \"2.tfvars\"]
        variables { a = \"1\" z = \"2\" } }";
    let file = load(&sandbox, "task.hcl", text).unwrap();
    assert_eq!(
        file.request["variables"],
        json!({ "a": "\"file\"", "b": "\"$${x}\"", "c": "{\"k\" = \"v\"}", "z": "2" })
    );
    let text = "task { name = \"t\" module = \"m\" variable_files = [\"no.tfvars\"] }";
    let error = load(&sandbox, "task.hcl", text).unwrap_err();
    assert!(matches!(error, TaskFileError::Problems(report) if report.problems().len() == 1));
}

#[test]
fn warns_of_settings_that_are_not_sent() {
    let (found, warnings) = request(
        "task { name = \"t\" module = \"m\" working_dir = \"w\" skip_unchanged = false retry_failed = true apply_timeout = \"1h\" max_shrink = 3 concurrency_group = \"g\" plan = \"saved\" }",
    );
    assert_eq!(found.as_object().unwrap().len(), 4);
    for (warning, key) in warnings.iter().zip([
        "working_dir",
        "skip_unchanged",
        "retry_failed",
        "apply_timeout",
        "max_shrink",
        "concurrency_group",
        "plan",
    ]) {
        assert_eq!(
            *warning,
            format!("`{key}` is not sent: the API has no such member")
        );
    }
    assert_eq!(warnings.len(), 7);
}

#[test]
fn requires_exactly_one_task() {
    let sandbox = Sandbox::new();
    let refused = |text: &str| load(&sandbox, "task.hcl", text).unwrap_err();
    assert!(matches!(refused("port = 1\n"), TaskFileError::NoTask));
    let one = "task { name = \"t\" module = \"m\" }\n";
    assert!(matches!(
        refused(&one.repeat(3)),
        TaskFileError::SeveralTasks(3)
    ));
    // An empty block vanishes, and is the reason.
    assert!(matches!(refused("task { }\n"), TaskFileError::Problems(_)));
    for name in ["task.txt", "none.hcl"] {
        if name == "task.txt" {
            sandbox.write(name, one);
        }
        let error = sandbox.in_context(|context| load_task_file(Path::new(name), context));
        assert!(matches!(error, Err(TaskFileError::Problems(_))), "{name}");
    }
    let json = r#"{"task": {"name": "t", "module": "m"}}"#;
    assert_eq!(load(&sandbox, "task.json", json).unwrap().name, "t");
}

#[test]
fn other_blocks_and_keys_of_a_configuration_are_ignored() {
    let others = "port = 1 module_roots = [\"/srv\"] license_path = \"l\" client_type = \"c\"
        telemetry { listen = \"127.0.0.1:9464\" } worker { slots = 2 } driver \"terraform\" { path = \"p\" }
        terraform_provider \"p\" { x = 1 } service { name = \"web\" }";
    let (_, warnings) = request(&format!("{others} task {{ name = \"t\" module = \"m\" }}"));
    assert_eq!(warnings, [""; 0]);
    let sandbox = Sandbox::new();
    let unknown = "telemetri {} task { name = \"t\" module = \"m\" }";
    let refused = load(&sandbox, "task.hcl", unknown);
    assert!(matches!(refused, Err(TaskFileError::Problems(_))));
}

#[test]
fn deprecated_keys_are_refused_with_their_successors() {
    let sandbox = Sandbox::new();
    let text = "task { name = \"t\" source = \"m\" services = [\"a\"]
        source_input \"consul-kv\" { path = \"p\" }
        condition \"schedule\" { cron = \"@daily\" } }";
    let Err(TaskFileError::Deprecated(uses)) = load(&sandbox, "task.hcl", text) else {
        panic!("not refused");
    };
    let expected = [
        "the 'source' field in the task block is no longer supported, use `module`",
        "the 'source_input' block in the task is no longer supported, use `module_input`",
        "the 'services' field in the task block is no longer supported, use a `module_input \"services\"`",
    ];
    assert_eq!(uses, expected);
    let text = "task { name = \"t\" module = \"m\"
        condition \"services\" { names = [\"a\"] source_includes_var = true } }";
    let Err(TaskFileError::Deprecated(uses)) = load(&sandbox, "task.hcl", text) else {
        panic!("not refused");
    };
    assert_eq!(
        uses[0],
        "the 'source_includes_var' field in the task's 'condition \"services\"' block \
         is no longer supported, use `use_as_module_input`"
    );
    // Together with other problems, deprecated keys are problems like the others.
    let text = "task { name = \"a b\"\nsource = \"m\" }";
    let Err(TaskFileError::Problems(report)) = load(&sandbox, "task.hcl", text) else {
        panic!("no problems");
    };
    let lines: Vec<_> = report.problems().iter().map(crate::Problem::line).collect();
    assert_eq!(lines, [Some(1), Some(2)]);
}

#[test]
fn problems_are_found_before_anything_is_sent() {
    let sandbox = Sandbox::new();
    let cases = r#"
        task { module = "m" } #~ unique name for the task is required
        task { name = "a b" module = "m" } #~ invalid task name
        task { name = "a" } #~ module for the task is required
        task { name = "a" module = "m" condition "consul-kv" { } } #~ path is required
        task { name = "a" module = "m" condition "catalog-services" { } } #~ 'regexp' field must be set
        task { name = "a" module = "m" condition "schedule" { } } #~ cron config is required
        task { name = "a" module = "m" condition "services" { names = ["a"] regexp = "b" } } #~ cannot both be configured
        task { name = "a" modul = "m" module = "m" } #~ unknown key `modul`
        task { #~

        prot = 1 #~ unknown key `prot`
        task { name = "a" module = "m" }
    "#;
    assert_each(
        cases,
        |text| format!("{text}\n"),
        |text, _, message| {
            let Err(TaskFileError::Problems(report)) = load(&sandbox, "task.hcl", text) else {
                panic!("{text}");
            };
            let problem = only(&report);
            assert!(problem.message().contains(message), "{problem}");
        },
    );
}
