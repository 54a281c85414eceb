use std::collections::BTreeSet;

use serde_json::json;

use super::*;

fn calls() -> Vec<Call> {
    serde_json::from_str(TOOLS).unwrap()
}

/// Path and query of a call of a tool.
fn request(tool: &str, arguments: &Value) -> Result<String, String> {
    let calls = calls();
    let call = calls.iter().find(|call| call.tool.name == tool).unwrap();
    let (path, query) = call.request(arguments.as_object().unwrap())?;
    let query: Vec<_> = query
        .iter()
        .map(|(key, it)| format!("{key}={it}"))
        .collect();
    Ok(format!("{}?{}", path.join("/"), query.join("&")))
}

#[test]
fn every_tool_declares_the_arguments_of_its_path() {
    let calls = calls();
    let names: BTreeSet<_> = calls.iter().map(|call| call.tool.name.as_ref()).collect();
    assert_eq!(names.len(), calls.len());
    for Call { path, tool, .. } in &calls {
        let schema = tool.schema_as_json_value();
        assert_eq!(
            schema["additionalProperties"],
            json!(false),
            "{}",
            tool.name
        );
        assert!(tool.description.is_some(), "{}", tool.name);
        let arguments = path.iter().filter_map(|segment| segment.strip_prefix('{'));
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for argument in arguments.map(|name| name.trim_end_matches('}')) {
            assert!(required.contains(&json!(argument)), "{}", tool.name);
        }
        for name in required.iter().filter_map(Value::as_str) {
            assert!(schema["properties"][name].is_object(), "{}", tool.name);
        }
    }
}

#[test]
fn arguments_become_segments_and_parameters() {
    for (tool, arguments, expected) in [
        ("status", json!({}), "overview?"),
        ("tasks", json!({}), "overview/tasks?page=1"),
        ("explain", json!({"name": "fw-3"}), "tasks/fw-3/explain?"),
        (
            "runs",
            json!({"task": "fw-3", "status": null}),
            "runs?limit=20&task=fw-3",
        ),
        ("runs", json!({"limit": 7}), "runs?limit=7"),
        ("run", json!({"id": "a"}), "runs/a?include=cause,attempts"),
        (
            "log",
            json!({"id": "a"}),
            "runs/a/log?format=ndjson&tail=100",
        ),
        (
            "log_around",
            json!({"id": "a", "around": "12", "attempt": 2}),
            "runs/a/log?around=12&attempt=2&format=ndjson&limit=100",
        ),
        (
            "log_search",
            json!({"id": "a", "search": "Error"}),
            "runs/a/log?format=ndjson&search=Error",
        ),
        ("times", json!({}), "times?since=24h"),
    ] {
        assert_eq!(request(tool, &arguments).as_deref(), Ok(expected));
    }
}

#[test]
fn wrong_arguments_are_named() {
    for (tool, arguments, expected) in [
        (
            "status",
            json!({"name": "a"}),
            "there is no argument \"name\"",
        ),
        (
            "log",
            json!({"id": "a", "format": "text"}),
            "there is no argument \"format\"",
        ),
        ("task", json!({}), "the argument \"name\" is missing"),
        (
            "log_search",
            json!({"id": "a"}),
            "the argument \"search\" is missing",
        ),
        (
            "task",
            json!({"name": ["a"]}),
            "\"name\" must be a text or a number",
        ),
    ] {
        assert_eq!(request(tool, &arguments), Err(expected.to_owned()));
    }
}
