//! Sentences of Consul-Terraform-Sync in error texts, which programs match because statuses do not tell causes apart
//! (docs/rest.md#error-bodies).

use cts_tests::{Site, task as block};
use serde_json::json;

use crate::api::row::{Row, check, legacy_error, new_error};
use crate::api::scene::{MODULE, Scene, creation, task};
use crate::api::wire::Request;

fn ask(method: &str, path: &str) -> Request {
    Request::new(method, path)
}

/// A status, the method, the path, and the sentence of an error of the legacy family.
const LEGACY: &str = "
405 | POST | /v1/status | 'POST' in an unsupported method. The overallStatus API currently supports the method(s): 'GET'
405 | DELETE | /v1/status/tasks/pool | 'DELETE' in an unsupported method. The task status API currently supports the method(s): 'GET'
405 | PUT | /v1/tasks | 'PUT' in an unsupported method. The task API currently supports the method(s): 'PATCH'
400 | PATCH | /v1/tasks | no task name was included in the api request. Updating a task requires the task name: '/v1/tasks/:task_name'
400 | GET | /v1/status/tasks/a/b | unsupported path '/v1/status/tasks/a/b'. request must be format 'path/{task-name}'.
400 | GET | /v1/status/tasks?include=all | unsupported ?include parameter value. only supporting 'include=events' but got 'include=all'
400 | GET | /v1/status/tasks?include=a&include=b | cannot support more than one include parameter, got include values: [a b]
400 | GET | /v1/status/tasks?status=unknown&status=unknown | cannot support more than one status query parameter
400 | GET | /v1/status/tasks?status=bad | unsupported status parameter value
400 | PATCH | /v1/tasks/pool?run=now&run=now | cannot support more than one run query parameter
400 | PATCH | /v1/tasks/pool?run=later | unsupported run parameter value
";

fn legacy() -> Vec<Row> {
    let rows = LEGACY.trim().lines().map(|line| {
        let columns: Vec<&str> = line.split(" | ").collect();
        let [status, method, path, sentence] = columns[..] else {
            panic!("{line}");
        };
        ask(method, path).gives(status.parse().unwrap(), legacy_error(sentence))
    });
    let repeated =
        "Invalid format for parameter run: multiple values for single value parameter 'run'";
    let creation = ask("POST", "/v1/tasks?run=now&run=now").gives(400, new_error(repeated));
    rows.chain([creation]).collect()
}

/// The body of an update, and the sentence of its error.
const UPDATES: &str = r#"
{} | /v1/tasks/:task_name currently only supports the 'enabled' field. Missing 'enabled' from the request body
{"enabled":true,"b":1,"a":2} | request body's JSON contains unsupported keys: a, b
{"enabled":"yes"} | cannot parse 'enabled' as bool
{ | error decoding the request
"#;

fn updates() -> Vec<Row> {
    let rows = UPDATES.trim().lines().map(|line| {
        let (body, sentence) = line.split_once(" | ").unwrap();
        let request = ask("PATCH", "/v1/tasks/pool").body(body);
        request.gives(400, legacy_error(sentence))
    });
    rows.collect()
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

/// A member of a new task, its value, and the sentence of the error. The status is that of a failed run: 400 for an
/// inspection, else 500.
const CREATIONS: &str = r#"
name | "" | unique name for the task is required
name | "1st" | a task name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes: "1st"
name | "a b" | "a b"
name | "a/b" | "a/b"
module | "" | module for the task is required
providers | ["local", "local.b"] | only one provider instance per task
buffer_period | {"min": "-1s"} | buffer_period: cannot be negative
terraform_version | "1.5.0" | unsupported configuration 'terraform_version' for task "fresh"
terraform_cloud_workspace | {"execution_mode": "remote"} | unsupported configuration 'terraform_cloud_workspace' for task "fresh"
module_input | {"services": {"names": ["api"]}} | both monitor "services" variable type. condition and module_input variable type must be unique
condition | {"services": {}} | error validating `condition "services"` block: either the regexp or names field must be configured
condition | {"services": {"names": []}} | names
condition | {"services": {"names": ["web", ""]}} | error validating `condition "services"` block: names field includes empty string(s). services names cannot be empty
condition | {"services": {"regexp": "("}} | error validating `condition "services"` block: unable to compile services regexp
condition | {"catalog_services": {"regexp": "("}} | unable to compile catalog-services 'regexp'
condition | {"consul_kv": {"path": ""}} | path is required for consul-kv condition
condition | {"schedule": {"cron": "never"}} | unable to parse schedule condition's cron config "never": missing field(s)
condition | {"schedule": {"cron": ""}} | cron config is required for schedule condition
"#;

fn creations() -> Vec<Row> {
    let rows = CREATIONS.trim().lines().flat_map(|line| {
        let columns: Vec<&str> = line.split(" | ").collect();
        let [member, value, sentence] = columns[..] else {
            panic!("{line}");
        };
        let mut fresh = task("fresh", MODULE);
        fresh[member] = serde_json::from_str(value).unwrap();
        [("", 500), ("?run=now", 500), ("?run=inspect", 400)]
            .map(|(query, status)| creation(&fresh, query).gives(status, new_error(sentence)))
    });
    let known = creation(&task("pool", MODULE), "");
    let mut soon = task("fresh", MODULE);
    soon["buffer_period"] = json!({"min": "soon"});
    let duration = "error with task configuration: time: invalid duration \"soon\"";
    let bad = [
        known.gives(400, new_error("task with name pool already exists")),
        creation(&soon, "").gives(400, new_error(duration)),
    ];
    rows.chain(bad).collect()
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
        legacy(),
        updates(),
        failed_inspections(),
        creations(),
        variables(),
    ] {
        check(&scene, &rows).await;
    }
    scene.instance.stop().await;
}
