use chrono::TimeDelta;
use cts_core::Condition;
use http::HeaderValue;
use serde_json::json;

use super::*;

fn read(content_type: Option<&str>, body: &[u8]) -> Result<TaskRequest, String> {
    let mut headers = HeaderMap::new();
    if let Some(content_type) = content_type {
        let value = HeaderValue::from_str(content_type).unwrap();
        headers.insert(header::CONTENT_TYPE, value);
    }
    TaskRequest::read(RunMode::Later, "TaskRequest", &headers, body)
        .map_err(|error| error.to_string())
}

fn task(task: &Value) -> Result<TaskRequest, String> {
    let body = json!({"task": task}).to_string();
    read(Some("application/json"), body.as_bytes())
}

fn base() -> Value {
    json!({"name": "a", "module": "./m", "condition": {}})
}

fn with(member: &str, value: Value) -> Value {
    let mut task = base();
    task[member] = value;
    task
}

#[test]
fn a_content_type_is_compared_up_to_its_parameters() {
    let body = json!({"task": base()}).to_string();
    for accepted in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;nonsense",
    ] {
        assert!(read(Some(accepted), body.as_bytes()).is_ok(), "{accepted}");
    }
    let refused = [
        (None, "\"\""),
        (Some(""), "\"\""),
        (Some("APPLICATION/JSON"), "\"APPLICATION/JSON\""),
        (
            Some("application/json ; charset=utf-8"),
            "\"application/json ; charset=utf-8\"",
        ),
        (
            Some("text/plain, application/json"),
            "\"text/plain, application/json\"",
        ),
        (Some("a\"b"), "\"a\\\"b\""),
    ];
    for (content_type, quoted) in refused {
        let expected =
            format!("request body has an error: header Content-Type has unexpected value {quoted}");
        let got = read(content_type, body.as_bytes());
        assert_eq!(got, Err(expected), "{content_type:?}");
    }
}

#[test]
fn an_empty_body_is_told_before_its_content_type() {
    let missing = Err("request body has an error: value is required but missing".to_owned());
    assert_eq!(read(None, b""), missing);
    assert_eq!(read(Some("application/json"), b""), missing);
}

#[test]
fn what_is_no_json_is_refused() {
    let deep = "[".repeat(100_000);
    let deep_task = format!("{{\"task\":{deep}");
    let bodies: [&[u8]; 6] = [
        b" \n",
        b"{",
        b"{\"task\":\"\xff\"}",
        b"{\"task\":\"\\ud800\"}",
        deep.as_bytes(),
        deep_task.as_bytes(),
    ];
    for body in bodies {
        let error = read(Some("application/json"), body).unwrap_err();
        let beginning = "request body has an error: failed to decode request body: ";
        assert!(error.starts_with(beginning), "{error}");
    }
}

#[test]
fn the_first_value_and_the_last_of_equal_keys_count() {
    let body = br#"{"task":{"name":"x","name":"y","module":"m","condition":{}}} and more"#;
    let request = read(Some("application/json"), body).unwrap();
    assert_eq!(request.task.name, "y");
}

#[test]
fn schema_mismatches_name_the_schema() {
    let on_body = [
        ("null", "Value is not nullable"),
        ("[]", "value must be an object"),
        (
            r#"{"task":{},"x":1}"#,
            "Error at \"/task/name\": property \"name\" is missing",
        ),
        (r#"{"a":1,"task":{}}"#, "property \"a\" is unsupported"),
        ("{}", "Error at \"/task\": property \"task\" is missing"),
        (
            r#"{"task":null}"#,
            "Error at \"/task\": Value is not nullable",
        ),
    ];
    let schema =
        "request body has an error: doesn't match schema #/components/schemas/TaskRequest: ";
    for (body, expected) in on_body {
        let got = read(Some("application/json"), body.as_bytes());
        assert_eq!(got, Err(format!("{schema}{expected}")), "{body}");
    }
    let on_task = [
        (
            json!({}),
            "Error at \"/task/name\": property \"name\" is missing",
        ),
        (
            json!({"name": "a"}),
            "Error at \"/task/module\": property \"module\" is missing",
        ),
        (
            json!({"name": "a", "module": ""}),
            "Error at \"/task/condition\": property \"condition\" is missing",
        ),
        (
            with("source", json!("")),
            "Error at \"/task\": property \"source\" is unsupported",
        ),
        (
            with("services", json!([])),
            "Error at \"/task\": property \"services\" is unsupported",
        ),
        (
            with("name", json!(1)),
            "Error at \"/task/name\": value must be a string",
        ),
        (
            with("enabled", json!("true")),
            "Error at \"/task/enabled\": value must be a boolean",
        ),
        (
            with("description", json!(null)),
            "Error at \"/task/description\": Value is not nullable",
        ),
        (
            with("variables", json!(null)),
            "Error at \"/task/variables\": Value is not nullable",
        ),
        (
            with("condition", json!(null)),
            "Error at \"/task/condition\": Value is not nullable",
        ),
        (
            with("providers", json!(["a", 1])),
            "Error at \"/task/providers/1\": value must be a string",
        ),
        (
            with("variables", json!({"a": 1})),
            "Error at \"/task/variables/a\": value must be a string",
        ),
        (
            with("buffer_period", json!({"enabled": null})),
            "Error at \"/task/buffer_period/enabled\": Value is not nullable",
        ),
        (
            with("condition", json!({"catalog_services": {}})),
            "Error at \"/task/condition/catalog_services/regexp\": property \"regexp\" is missing",
        ),
        (
            with("condition", json!({"consul_kv": {}})),
            "Error at \"/task/condition/consul_kv/path\": property \"path\" is missing",
        ),
        (
            with("condition", json!({"schedule": {}})),
            "Error at \"/task/condition/schedule/cron\": property \"cron\" is missing",
        ),
        (
            with("condition", json!({"catalog-services": {}})),
            "Error at \"/task/condition\": property \"catalog-services\" is unsupported",
        ),
        (
            with(
                "module_input",
                json!({"services": {"use_as_module_input": true}}),
            ),
            "Error at \"/task/module_input/services\": property \"use_as_module_input\" is unsupported",
        ),
        (
            with(
                "module_input",
                json!({"services": {"cts_user_defined_meta": {"a": null}}}),
            ),
            "Error at \"/task/module_input/services/cts_user_defined_meta/a\": Value is not nullable",
        ),
        (
            with(
                "condition",
                json!({"catalog_services": {"regexp": "", "node_meta": {"a": null}}}),
            ),
            "Error at \"/task/condition/catalog_services/node_meta/a\": Value is not nullable",
        ),
    ];
    for (members, expected) in on_task {
        let got = task(&members);
        assert_eq!(got, Err(format!("{schema}{expected}")), "{members}");
    }
}

#[test]
fn nulls_that_are_accepted_are_absent() {
    let nulls = task(&json!({
        "name": "a", "module": "./m", "enabled": null,
        "condition": {"services": {
            "names": ["web"], "use_as_module_input": null,
            "cts_user_defined_meta": {"gone": null, "stays": "x"},
        }},
        "module_input": {"services": {"cts_user_defined_meta": null}},
    }))
    .unwrap();
    let absent = task(&json!({
        "name": "a", "module": "./m", "enabled": true,
        "condition": {"services": {
            "names": ["web"], "use_as_module_input": true,
            "cts_user_defined_meta": {"stays": "x"},
        }},
        "module_input": {"services": {}},
    }))
    .unwrap();
    assert_eq!(nulls, absent);
    for condition in [
        json!({"catalog_services": {"regexp": "", "node_meta": null}}),
        json!({"services": {"cts_user_defined_meta": null}}),
        json!({"consul_kv": {"path": "a", "recurse": null, "use_as_module_input": null}}),
    ] {
        assert!(
            task(&with("condition", condition.clone())).is_ok(),
            "{condition}"
        );
    }
}

#[test]
fn a_whole_task_reaches_the_scheduler() {
    let request = task(&json!({
        "name": "edge", "module": "./m", "description": "d", "enabled": false, "version": "1",
        "providers": ["p.one"], "variables": {"v": "\"x\""},
        "buffer_period": {"enabled": true, "min": "1m30s", "max": "-1.5s"},
        "condition": {"consul_kv": {
            "path": "k", "recurse": true, "datacenter": "dc", "namespace": "ns",
            "use_as_module_input": false,
        }},
        "module_input": {
            "services": {
                "names": ["a"], "regexp": "b", "datacenter": "dc", "namespace": "ns",
                "filter": "f", "cts_user_defined_meta": {"k": "v"},
            },
            "consul_kv": {"path": "q"},
        },
        "terraform_version": "1.0.0",
        "terraform_cloud_workspace": {
            "execution_mode": "agent", "agent_pool_id": "i", "agent_pool_name": "n",
            "terraform_version": "1.1.0",
        },
    }))
    .unwrap();
    insta::assert_debug_snapshot!(request);
}

#[test]
fn of_several_conditions_the_first_of_a_fixed_order_counts() {
    let all = json!({
        "schedule": {"cron": "* * * * *"},
        "catalog_services": {"regexp": "r"},
        "consul_kv": {"path": "p"},
        "services": {"regexp": "s"},
    });
    let mut left = all;
    for expected in ["services", "consul_kv", "catalog_services", "schedule"] {
        let request = task(&with("condition", left.clone())).unwrap();
        assert_eq!(request.task.condition.kind().replace('-', "_"), expected);
        left.as_object_mut().unwrap().remove(expected);
    }
    let none = task(&with("condition", left)).unwrap();
    assert_eq!(none.task.condition, Condition::NoCondition);
}

#[test]
fn names_go_before_an_expression_in_conditions() {
    let cases = [
        (json!({"names": ["a"], "regexp": "b"}), vec!["a"], None),
        (json!({"names": [], "regexp": "b"}), vec![], Some("b")),
        (json!({"regexp": ""}), vec![], Some("")),
        (json!({}), vec![], None),
    ];
    for (services, names, regexp) in cases {
        let request = task(&with("condition", json!({"services": services}))).unwrap();
        let Condition::Services(condition) = request.task.condition else {
            panic!("the condition is another");
        };
        assert_eq!(condition.query.names, names);
        assert_eq!(condition.query.regexp.as_deref(), regexp);
    }
}

#[test]
fn missing_times_of_a_buffer_period_are_zero() {
    let zero = Some(TimeDelta::zero());
    let ten = Some(TimeDelta::seconds(10));
    let cases = [
        (json!({}), None, zero, zero),
        (json!({"enabled": true}), Some(true), zero, zero),
        (json!({"min": "10s"}), None, ten, zero),
    ];
    for (period, enabled, min, max) in cases {
        let request = task(&with("buffer_period", period)).unwrap();
        let got = request.task.buffer_period.unwrap();
        assert_eq!((got.enabled, got.min, got.max), (enabled, min, max));
        assert_eq!(request.bad_duration, None);
    }
    let bad = task(&with("buffer_period", json!({"min": "5s", "max": "5"}))).unwrap();
    assert_eq!(bad.bad_duration.as_deref(), Some("5"));
}

#[test]
fn what_only_files_can_say_does_not_come_with_a_request() {
    let declared = json!({"web": {"datacenter": "dc9", "namespace": "", "filter": "",
                                  "cts_user_defined_meta": {}}});
    let services = json!({"names": ["web"], "declared": declared});
    for member in ["condition", "module_input"] {
        // Whether the schema refuses it or it is dropped, no task has it.
        let Ok(request) = task(&with(member, json!({"services": services}))) else {
            continue;
        };
        let text = format!("{:?}", request.task);
        assert!(!text.contains("dc9"), "{member}: {text}");
    }
}
