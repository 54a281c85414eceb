//! docs/rest.md#checks-of-requests: faults for which a `POST` is refused before anything is done, and their
//! error texts.

mod members;

use serde_json::{Value, json};

use super::three_tasks;
use crate::api::row::{Body, Row, check, new_error};
use crate::api::scene::{MODULE, task};
use crate::api::wire::Request;

const OF_QUERY: &str = "parameter \"run\" in query has an error: ";
const OF_BODY: &str = "request body has an error: ";
const SCHEMA: &str = "doesn't match schema #/components/schemas/TaskRequest: ";

fn post(query: &str) -> Request {
    Request::new("POST", &format!("/v1/tasks{query}"))
}

fn typed(content_type: &str) -> Request {
    post("").header("Content-Type", content_type)
}

fn refused(request: Request, begin: &str, rest: &str) -> Row {
    request.gives(400, new_error(&format!("{begin}{rest}")))
}

/// Some body that passes up to the name, which is taken.
fn taken() -> Value {
    json!({"task": task("pool", MODULE)})
}

/// The body of `taken` with a change.
fn taken_with(change: impl FnOnce(&mut Value)) -> String {
    let mut body = taken();
    change(&mut body["task"]);
    body.to_string()
}

fn queries() -> Vec<Row> {
    let row = |query: &str, rest: &str| refused(post(query), OF_QUERY, rest);
    let unknown = "value is not one of the allowed values [\"now\",\"inspect\"]";
    let repeated =
        "Invalid format for parameter run: multiple values for single value parameter 'run'";
    vec![
        row("?run=", "empty value is not allowed"),
        row("?run", "empty value is not allowed"),
        row("?run=Now", unknown),
        row("?run=NOW", unknown),
        row("?run=later", unknown),
        row("?run=later&run=now", unknown),
        row("?run=now&run=now", repeated),
        row("?run=inspect&run=now", repeated),
        // Names are compared letter by letter; a pair that does not decode is absent.
        post("?Run=x&run=%zz&run=n;w")
            .json(&taken())
            .gives(400, new_error("already exists")),
    ]
}

fn empty_bodies_and_content_types() -> Vec<Row> {
    let missing = |request: Request| refused(request, OF_BODY, "value is required but missing");
    // The answer names the header that the request lacks.
    let other_type = |request: Request, content_type: &str| {
        let quoted = json!(content_type);
        let rest = format!(
            "header Content-Type has unexpected value {quoted}; \
             a body of JSON needs 'Content-Type: application/json'"
        );
        refused(request.body("{"), OF_BODY, &rest)
    };
    let unexpected = |content_type: &str| other_type(typed(content_type), content_type);
    let decoded = |content_type: &str| {
        let rest = "failed to decode request body: ";
        refused(typed(content_type).body("{"), OF_BODY, rest)
    };
    vec![
        missing(post("")),
        missing(post("").body("")),
        missing(typed("text/plain").body("")),
        missing(typed("application/json").body("")),
        unexpected("text/plain"),
        unexpected("application/xml"),
        unexpected("APPLICATION/JSON"),
        unexpected("application/json ; charset=utf-8"),
        unexpected("application/json, text/plain"),
        unexpected("application/x-www-form-urlencoded"),
        unexpected("multipart/form-data; boundary=x"),
        unexpected("application/vnd.api+json"),
        other_type(post(""), ""),
        decoded("application/json"),
        decoded("application/json; charset=utf-8"),
        decoded("application/json;"),
        decoded("application/json;;nonsense"),
    ]
}

fn no_json() -> Vec<Row> {
    let bodies: [&[u8]; 9] = [
        b" \n\t",
        b"{",
        b"nope",
        b"{'task':1}",
        b"{\"task\":{},}",
        b"\xff\xfe",
        b"{\"task\":\"\xff\"}",
        b"{\"task\":\"\\ud800\"}",
        b"\xef\xbb\xbf{}",
    ];
    let rows = bodies.into_iter().map(|body| {
        let rest = "failed to decode request body: ";
        refused(typed("application/json").body(body), OF_BODY, rest)
    });
    rows.collect()
}

fn schema(body: &str, reason: &str) -> Row {
    let rest = format!("{SCHEMA}{reason}");
    refused(typed("application/json").body(body), OF_BODY, &rest)
}

fn at(pointer: &str, reason: &str) -> String {
    format!("Error at \"{pointer}\": {reason}")
}

/// A whole body, the place of the error if it is in the body, and the reason. If a key is repeated, its last value counts;
/// text after the first JSON value is ignored. The first error is the alphabetical one, nested objects at their place,
/// missing members after all present ones.
const WHOLE_BODIES: &str = r#"
null |  | Value is not nullable
[] |  | value must be an object
true |  | value must be an object
"task" |  | value must be an object
{"x":1} |  | property "x" is unsupported
{"task":{"name":1},"a":1} |  | property "a" is unsupported
{"task":{"name":1},"x":1} | /task/name | value must be a string
{"Task":{}} |  | property "Task" is unsupported
{} | /task | property "task" is missing
{"task":null} | /task | Value is not nullable
{"task":[]} | /task | value must be an object
{"task":{}} | /task/name | property "name" is missing
{"task":{"name":"a"}} | /task/module | property "module" is missing
{"task":{"condition":{}}} | /task/name | property "name" is missing
{"task":{"name":"a","module":"b"}} | /task/condition | property "condition" is missing
{"task":{"name":1,"name":"x"}} | /task/module | property "module" is missing
{"task":{}} and more | /task/name | property "name" is missing
{"task":{}}} | /task/name | property "name" is missing
{"task":{"name":1,"module":1,"condition":1}} | /task/condition | value must be an object
{"task":{"b":1,"condition":1}} | /task | property "b" is unsupported
{"task":{"name":1,"x":1}} | /task/name | value must be a string
{"task":{"name":"a","x":1}} | /task | property "x" is unsupported
{"task":{"condition":{"schedule":{}},"name":1}} | /task/condition/schedule/cron | property "cron" is missing
{"task":{"condition":{"services":{"a":1,"names":1}}}} | /task/condition/services | property "a" is unsupported
"#;

fn whole_bodies() -> Vec<Row> {
    let rows = WHOLE_BODIES.trim().lines().map(|line| {
        let columns: Vec<&str> = line.split(" | ").collect();
        match columns[..] {
            [body, "", reason] => schema(body, reason),
            [body, pointer, reason] => schema(body, &at(pointer, reason)),
            _ => panic!("{line}"),
        }
    });
    rows.collect()
}

/// Query, then emptiness, then content type, then JSON.
fn order() -> Vec<Row> {
    vec![
        refused(post("?run="), OF_QUERY, "empty value"),
        refused(post("?run=x").body("{"), OF_QUERY, "value is not one"),
        refused(
            typed("text/plain").body("{"),
            OF_BODY,
            "header Content-Type",
        ),
    ]
}

/// A member of a task and its value, with which a body passes the schema.
const ACCEPTED: &str = r#"
enabled | null
condition | {}
condition | {"services": {"use_as_module_input": null}}
condition | {"services": {"cts_user_defined_meta": null}}
condition | {"services": {"cts_user_defined_meta": {"a": null}}}
condition | {"catalog_services": {"regexp": "", "node_meta": null}}
condition | {"consul_kv": {"path": "", "recurse": null}}
condition | {"services": {}, "schedule": {"cron": "x"}}
module_input | {}
module_input | {"services": {"cts_user_defined_meta": null}}
module_input | {"services": {}, "consul_kv": {"path": ""}}
buffer_period | {}
terraform_cloud_workspace | {}
providers | []
variables | {"": "{"}
"#;

/// Bodies that pass the schema and fail only at the name, which is taken.
fn accepted() -> Vec<Row> {
    let rows = ACCEPTED.trim().lines().map(|line| {
        let (member, value) = line.split_once(" | ").unwrap();
        let value = serde_json::from_str(value).unwrap();
        let taken = Body::NewError(vec!["pool".to_owned(), "already exists".to_owned()]);
        let body = taken_with(|task| task[member] = value);
        typed("application/json").body(body).gives(400, taken)
    });
    rows.collect()
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let scene = three_tasks().await;
    for rows in [
        queries(),
        empty_bodies_and_content_types(),
        no_json(),
        whole_bodies(),
        members::rows(),
        order(),
        accepted(),
    ] {
        check(&scene, &rows).await;
    }
    assert_eq!(
        scene.names().await,
        ["pool", "sick", "idle"],
        "none was made"
    );
    scene.instance.stop().await;
}
