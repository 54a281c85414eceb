//! Members of a task that are missing, unknown or of another type.

use serde_json::{Value, json};

use super::{at, schema, taken_with};
use crate::api::row::Row;

pub(super) fn rows() -> Vec<Row> {
    let row = |member: &str, value: Value, pointer: &str, reason: &str| {
        let body = taken_with(|task| task[member] = value);
        schema(&body, &at(&format!("/task{pointer}"), reason))
    };
    let (string, boolean) = ("value must be a string", "value must be a boolean");
    let (array, object) = ("value must be an array", "value must be an object");
    let null = "Value is not nullable";
    let unsupported = |member: &str| format!("property \"{member}\" is unsupported");
    let missing = |member: &str| format!("property \"{member}\" is missing");
    let mut rows = vec![
        row("name", json!(1), "/name", string),
        row("name", Value::Null, "/name", null),
        row("module", json!(true), "/module", string),
        row("module", Value::Null, "/module", null),
        row("description", json!({}), "/description", string),
        row("description", Value::Null, "/description", null),
        row("version", json!(1.5), "/version", string),
        row("enabled", json!("true"), "/enabled", boolean),
        row("enabled", json!(1), "/enabled", boolean),
        row("providers", json!("local"), "/providers", array),
        row("providers", Value::Null, "/providers", null),
        row("providers", json!(["a", 1]), "/providers/1", string),
        row("providers", json!(["a", null]), "/providers/1", null),
        row("variables", json!([]), "/variables", object),
        row("variables", Value::Null, "/variables", null),
        row("variables", json!({"a": 1}), "/variables/a", string),
        row("variables", json!({"a/b~c": 1}), "/variables/a/b~c", string),
        row("variables", json!({"a": null}), "/variables/a", null),
        row("terraform_version", json!(1), "/terraform_version", string),
        row("buffer_period", json!([]), "/buffer_period", object),
        row(
            "buffer_period",
            json!({"min": 5}),
            "/buffer_period/min",
            string,
        ),
        row(
            "buffer_period",
            json!({"max": null}),
            "/buffer_period/max",
            null,
        ),
        row(
            "buffer_period",
            json!({"enabled": "x"}),
            "/buffer_period/enabled",
            boolean,
        ),
        row(
            "buffer_period",
            json!({"x": 1}),
            "/buffer_period",
            &unsupported("x"),
        ),
        row("condition", json!([]), "/condition", object),
        row("condition", Value::Null, "/condition", null),
        row(
            "condition",
            json!({"x": {}}),
            "/condition",
            &unsupported("x"),
        ),
        row(
            "condition",
            json!({"services": []}),
            "/condition/services",
            object,
        ),
        row(
            "condition",
            json!({"services": {"names": "web"}}),
            "/condition/services/names",
            array,
        ),
        row(
            "condition",
            json!({"services": {"names": ["web", 2]}}),
            "/condition/services/names/1",
            string,
        ),
        row(
            "condition",
            json!({"services": {"use_as_module_input": 1}}),
            "/condition/services/use_as_module_input",
            boolean,
        ),
        row(
            "condition",
            json!({"services": {"node_meta": {}}}),
            "/condition/services",
            &unsupported("node_meta"),
        ),
        row(
            "condition",
            json!({"catalog_services": {}}),
            "/condition/catalog_services/regexp",
            &missing("regexp"),
        ),
        row(
            "condition",
            json!({"catalog-services": {}}),
            "/condition",
            &unsupported("catalog-services"),
        ),
        row(
            "condition",
            json!({"consul_kv": {}}),
            "/condition/consul_kv/path",
            &missing("path"),
        ),
        row(
            "condition",
            json!({"consul_kv": {"path": "a", "recurse": "x"}}),
            "/condition/consul_kv/recurse",
            boolean,
        ),
        row(
            "condition",
            json!({"schedule": {}}),
            "/condition/schedule/cron",
            &missing("cron"),
        ),
        row("module_input", Value::Null, "/module_input", null),
        row(
            "module_input",
            json!({"catalog_services": {}}),
            "/module_input",
            &unsupported("catalog_services"),
        ),
        row(
            "module_input",
            json!({"services": {"use_as_module_input": true}}),
            "/module_input/services",
            &unsupported("use_as_module_input"),
        ),
        row(
            "module_input",
            json!({"consul_kv": {"recurse": true}}),
            "/module_input/consul_kv/path",
            &missing("path"),
        ),
        row(
            "terraform_cloud_workspace",
            json!({"execution_mode": 1}),
            "/terraform_cloud_workspace/execution_mode",
            string,
        ),
        row(
            "terraform_cloud_workspace",
            json!({"x": ""}),
            "/terraform_cloud_workspace",
            &unsupported("x"),
        ),
    ];
    for member in [
        "services",
        "source",
        "source_input",
        "source_includes_var",
        "working_dir",
        "variable_files",
        "Name",
        "origin",
    ] {
        rows.push(row(member, json!([]), "", &unsupported(member)));
    }
    rows
}
