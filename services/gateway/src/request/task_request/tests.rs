use chrono::TimeDelta;
use cts_core::Condition;
use cts_core::go::InvalidDuration;
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
fn the_first_value_and_the_last_of_equal_keys_count() {
    let body = br#"{"task":{"name":"x","name":"y","module":"m","condition":{}}} and more"#;
    let request = read(Some("application/json"), body).unwrap();
    assert_eq!(request.task.name, "y");
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
fn first_of_several_conditions_in_a_fixed_order_counts() {
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
    let expected = InvalidDuration::MissingUnit("5".to_owned());
    assert_eq!(bad.bad_duration, Some(expected));
}

#[test]
fn rejects_file_only_settings_in_requests() {
    let declared = json!({"web": {"datacenter": "dc9", "namespace": "", "filter": "",
                                  "cts_user_defined_meta": {}}});
    let services = json!({"names": ["web"], "declared": declared});
    for member in ["condition", "module_input"] {
        // Refused by the schema or dropped: the task never has the value.
        let Ok(request) = task(&with(member, json!({"services": services}))) else {
            continue;
        };
        let text = format!("{:?}", request.task);
        assert!(!text.contains("dc9"), "{member}: {text}");
    }
}
