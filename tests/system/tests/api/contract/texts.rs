//! Sentences of Consul-Terraform-Sync in error texts, which programs match because statuses do not tell causes apart
//! (docs/rest.md#error-bodies).

use cts_tests::{Site, task as block};
use serde_json::{Value, json};

use crate::api::row::{Row, check, legacy_error, new_error};
use crate::api::scene::{MODULE, Scene, creation, task};
use crate::api::wire::Request;

fn ask(method: &str, path: &str) -> Request {
    Request::new(method, path)
}

fn legacy(status: u16, method: &str, path: &str, sentence: &str) -> Row {
    ask(method, path).gives(status, legacy_error(sentence))
}

fn methods_and_paths() -> Vec<Row> {
    vec![
        legacy(
            405,
            "POST",
            "/v1/status",
            "'POST' in an unsupported method. The overallStatus API currently supports the method(s): 'GET'",
        ),
        legacy(
            405,
            "DELETE",
            "/v1/status/tasks/pool",
            "'DELETE' in an unsupported method. The task status API currently supports the method(s): 'GET'",
        ),
        legacy(
            405,
            "PUT",
            "/v1/tasks",
            "'PUT' in an unsupported method. The task API currently supports the method(s): 'PATCH'",
        ),
        legacy(
            400,
            "PATCH",
            "/v1/tasks",
            "no task name was included in the api request. Updating a task requires the task name: \
             '/v1/tasks/:task_name'",
        ),
        legacy(
            400,
            "GET",
            "/v1/status/tasks/a/b",
            "unsupported path '/v1/status/tasks/a/b'. request must be format 'path/{task-name}'. ",
        ),
    ]
}

fn queries() -> Vec<Row> {
    let status = |query: &str, sentence: &str| {
        legacy(400, "GET", &format!("/v1/status/tasks{query}"), sentence)
    };
    vec![
        status(
            "?include=all",
            "unsupported ?include parameter value. only supporting 'include=events' but got 'include=all'",
        ),
        status(
            "?include=a&include=b",
            "cannot support more than one include parameter, got include values: [a b]",
        ),
        status(
            "?status=unknown&status=unknown",
            "cannot support more than one status query parameter",
        ),
        status("?status=bad", "unsupported status parameter value"),
        legacy(
            400,
            "PATCH",
            "/v1/tasks/pool?run=now&run=now",
            "cannot support more than one run query parameter",
        ),
        legacy(
            400,
            "PATCH",
            "/v1/tasks/pool?run=later",
            "unsupported run parameter value",
        ),
        ask("POST", "/v1/tasks?run=now&run=now").gives(
            400,
            new_error("Invalid format for parameter run: multiple values for single value parameter 'run'"),
        ),
    ]
}

fn updates() -> Vec<Row> {
    let row = |body: &str, sentence: &str| {
        let request = ask("PATCH", "/v1/tasks/pool").body(body);
        request.gives(400, legacy_error(sentence))
    };
    vec![
        row(
            "{}",
            "/v1/tasks/:task_name currently only supports the 'enabled' field. Missing 'enabled' from the request body",
        ),
        row(
            r#"{"enabled":true,"b":1,"a":2}"#,
            "request body's JSON contains unsupported keys: a, b",
        ),
        row(r#"{"enabled":"yes"}"#, "cannot parse 'enabled' as bool"),
        row("{", "error decoding the request"),
    ]
}

/// Inspections that fail in `init`, in `validate` and in `plan`.
fn failed_inspections() -> Vec<Row> {
    let row = |name: &str, sentence: &str, step: &str| {
        let request = ask("PATCH", &format!("/v1/tasks/{name}?run=inspect"));
        let sentence =
            format!("Error updating task '{name}'. {sentence}: error tf-{step} for '{name}': ");
        request
            .body(r#"{"enabled":true}"#)
            .gives(500, new_error(&sentence))
    };
    vec![
        row("old", "Unable to init task", "init"),
        row("invalid", "Unable to init task", "validate"),
        row("strict", "Unable to inspect task", "plan"),
    ]
}

fn fresh(member: &str, value: Value) -> Value {
    let mut task = task("fresh", MODULE);
    task[member] = value;
    task
}

fn creations() -> Vec<Row> {
    let row = |status: u16, task: &Value, sentence: &str| {
        creation(task, "").gives(status, new_error(sentence))
    };
    let refused =
        |member: &str, value: Value, sentence: &str| row(500, &fresh(member, value), sentence);
    vec![
        row(
            400,
            &task("pool", MODULE),
            "task with name pool already exists",
        ),
        row(
            400,
            &fresh("buffer_period", json!({"min": "soon"})),
            "error with task configuration: time: invalid duration \"soon\"",
        ),
        refused("name", json!(""), "unique name for the task is required"),
        refused(
            "name",
            json!("1st"),
            "a task name must start with a letter or underscore and may contain only letters, digits, underscores, \
             and dashes: \"1st\"",
        ),
        refused("module", json!(""), "module for the task is required"),
        refused(
            "providers",
            json!(["local", "local.b"]),
            "only one provider instance per task",
        ),
        refused(
            "buffer_period",
            json!({"min": "-1s"}),
            "buffer_period: cannot be negative",
        ),
        refused(
            "terraform_version",
            json!("1.5.0"),
            "unsupported configuration 'terraform_version' for task \"fresh\"",
        ),
        refused(
            "terraform_cloud_workspace",
            json!({"execution_mode": "remote"}),
            "unsupported configuration 'terraform_cloud_workspace' for task \"fresh\"",
        ),
        refused(
            "module_input",
            json!({"services": {"names": ["api"]}}),
            "both monitor \"services\" variable type. condition and module_input variable type must be unique",
        ),
    ]
}

fn conditions() -> Vec<Row> {
    let services = "error validating `condition \"services\"` block: ";
    let row = |condition: Value, sentence: &str| {
        creation(&fresh("condition", condition), "").gives(500, new_error(sentence))
    };
    vec![
        row(
            json!({"services": {}}),
            &format!("{services}either the regexp or names field must be configured"),
        ),
        row(
            json!({"services": {"names": ["web", ""]}}),
            &format!(
                "{services}names field includes empty string(s). services names cannot be empty"
            ),
        ),
        row(
            json!({"services": {"regexp": "("}}),
            &format!("{services}unable to compile services regexp"),
        ),
        row(
            json!({"catalog_services": {"regexp": "("}}),
            "unable to compile catalog-services 'regexp'",
        ),
        row(
            json!({"consul_kv": {"path": ""}}),
            "path is required for consul-kv condition",
        ),
        row(
            json!({"schedule": {"cron": "never"}}),
            "unable to parse schedule condition's cron config \"never\": missing field(s)",
        ),
        row(
            json!({"schedule": {"cron": ""}}),
            "cron config is required for schedule condition",
        ),
    ]
}

/// A local module that declares none of the variables that it gets.
fn variables() -> Vec<Row> {
    let conditions = [
        ("services", json!({"services": {"names": ["web"]}})),
        (
            "catalog_services",
            json!({"catalog_services": {"regexp": ""}}),
        ),
        ("consul_kv", json!({"consul_kv": {"path": "a"}})),
    ];
    let rows = conditions.into_iter().map(|(variable, condition)| {
        let mut task = task("fresh", "./modules/bare");
        task["condition"] = condition;
        let sentence = format!("module for task \"fresh\" is missing the \"{variable}\" variable");
        creation(&task, "").gives(500, new_error(&sentence))
    });
    rows.collect()
}

#[tokio::test]
async fn error_texts_have_the_sentences_that_programs_match() {
    let site = Site::new();
    let modules = [
        ("old", "terraform { required_version = \"< 0.1\" }"),
        (
            "invalid",
            "resource \"terraform_data\" \"x\" { nonsense = 1 }",
        ),
        (
            "strict",
            "resource \"terraform_data\" \"x\" {\n  input = length(var.services)\n  lifecycle {\n    precondition {\n      \
             condition     = length(var.services) > 9\n      error_message = \"too few\"\n    }\n  }\n}",
        ),
    ];
    for (name, content) in modules {
        let path = format!("modules/{name}/main.tf");
        site.write(&path, &format!("variable \"services\" {{}}\n{content}\n"));
    }
    site.write("modules/bare/main.tf", "locals {}\n");
    let off = "enabled = false";
    let failing = modules.map(|(name, _)| block(name, &format!("./modules/{name}"), &["web"], off));
    let pool = block("pool", MODULE, &["web"], "");
    let scene = Scene::of_site(site, &(pool + &failing.concat())).await;
    scene.instance.api.wait_for_events("pool", 1).await;
    for rows in [
        methods_and_paths(),
        queries(),
        updates(),
        failed_inspections(),
        creations(),
        conditions(),
        variables(),
    ] {
        check(&scene, &rows).await;
    }
    scene.instance.stop().await;
}
