use std::collections::BTreeSet;

use http::Method;

use super::*;
use crate::route::{Route, resolve};

const METHODS: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::CONNECT,
    Method::TRACE,
];

/// Everything that a document can describe, by number.
fn number(route: &Route) -> Option<u8> {
    Some(match route {
        Route::Health => 0,
        Route::OverallStatus => 1,
        Route::TaskStatuses => 2,
        Route::TaskStatus(_) => 3,
        Route::ClusterStatus => 4,
        Route::Queue => 5,
        Route::Tasks => 6,
        Route::Task(_) => 7,
        Route::CreateTask => 8,
        Route::DeleteTask(_) => 9,
        Route::UpdateTask(_) => 10,
        Route::ReplaceTask(_) => 11,
        Route::ExplainTask(_) => 12,
        Route::Runs => 13,
        Route::Run(_) => 14,
        Route::RunLog(_) => 15,
        Route::Events => 16,
        Route::Document(Format::Json) => 17,
        Route::Document(Format::Yaml) => 18,
        Route::Configuration => 19,
        Route::ReleaseTask(_) => 20,
        Route::PlanDestruction(_) => 21,
        Route::CancelRun(_) => 22,
        Route::TerraformState(_) => 23,
        Route::DecideState(_) => 24,
        Route::Audit => 25,
        Route::Overview => 26,
        Route::CurrentStates => 27,
        Route::DrainWorker(_) => 28,
        Route::Brake => 29,
        Route::ReleaseBrake => 30,
        Route::RunPlan(_) => 31,
        Route::Approvals => 32,
        Route::Approval(_) => 33,
        Route::Approve(_) => 34,
        Route::Reject(_) => 35,
        Route::ApproveSet => 36,
        Route::ReopenApprovals => 37,
        Route::RunInput(_) => 38,
        Route::Causes => 39,
        Route::Follow => 40,
        Route::Times => 41,
        Route::Preflight | Route::Refused(_) => return None,
    })
}

#[test]
fn every_route_is_an_operation_and_every_operation_a_route() {
    let mut routes = BTreeSet::new();
    let paths = DOCUMENT["paths"].as_object().unwrap();
    for (path, operations) in paths {
        let concrete = path.replace("{name}", "lb").replace("{id}", "a-b");
        for method in METHODS {
            let described = operations.get(method.as_str().to_lowercase()).is_some();
            let route = number(&resolve(&method, &concrete));
            assert_eq!(route.is_some(), described, "{method} {path}");
            if let Some(route) = route {
                assert!(routes.insert(route), "{method} {path} is described twice");
            }
        }
    }
    assert_eq!(routes, (0..42).collect());
}

#[test]
fn operations_have_names_of_their_own_and_tell_what_they_answer() {
    let mut names = BTreeSet::new();
    for operations in DOCUMENT["paths"].as_object().unwrap().values() {
        for (method, operation) in operations.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name), "{name}");
            assert!(operation["summary"].is_string(), "{name}");
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.keys().any(|code| code.starts_with('2')), "{name}");
        }
    }
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn references_lead_somewhere_and_nothing_is_left_over() {
    let mut found = Vec::new();
    references(&DOCUMENT, &mut found);
    for reference in &found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(DOCUMENT.pointer(pointer).is_some(), "{reference}");
    }
    for (kind, components) in DOCUMENT["components"].as_object().unwrap() {
        // Named by `security`, without a reference.
        if kind == "securitySchemes" {
            continue;
        }
        for name in components.as_object().unwrap().keys() {
            let reference = format!("#/components/{kind}/{name}");
            assert!(found.contains(&reference.as_str()), "{reference}");
        }
    }
}
