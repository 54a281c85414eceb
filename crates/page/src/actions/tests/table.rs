//! The table of actions against the documents of REST.

use std::collections::BTreeSet;

use cts_core::callers::Role;
use cts_proto::calls::{CALLS, Callers, Role as CallRole};

use crate::actions::{ACTIONS, Key, at, done, find, screen_of};
use crate::address::Query;
use crate::testing::calls_of_page;

const DOCUMENT: &str = include_str!("../../../../../services/gateway/openapi.yaml");

/// Id of the operation with this method and path in the document of the API.
fn operation(method: &str, path: &str) -> Option<&'static str> {
    let (_, below) = DOCUMENT.split_once(&format!("\n  {path}:\n"))?;
    let of_path = below.lines().take_while(|line| line.starts_with("   "));
    let method = format!("    {}:", method.to_lowercase());
    let mut of_method = of_path.skip_while(|line| **line != method).skip(1);
    of_method.find_map(|line| line.trim().strip_prefix("operationId: "))
}

/// Role of the method of the services that an operation calls.
fn role(operation: &str) -> Role {
    let method = match operation {
        "approveRun" | "rejectRun" => "DecideApproval".to_owned(),
        "reopenApprovals" => "ReopenApproval".to_owned(),
        other => other[..1].to_uppercase() + &other[1..],
    };
    let found = CALLS
        .iter()
        .find(|call| call.path.ends_with(&format!("/{method}")));
    let callers = found.map(|call| call.callers);
    match callers {
        Some(Callers::People(CallRole::Read)) => Role::Read,
        Some(Callers::People(CallRole::Approve)) => Role::Approve,
        Some(Callers::People(CallRole::Operate)) => Role::Operate,
        Some(Callers::People(CallRole::Admin)) => Role::Admin,
        other => panic!("{operation}: {other:?}"),
    }
}

#[test]
fn each_action_names_a_call_of_rest_and_the_role_of_that_call() {
    for (key, action) in ACTIONS {
        let (method, path) = action.call.split_once(' ').unwrap();
        let path = path.split('?').next().unwrap();
        let operation = operation(method, path);
        let operation =
            operation.unwrap_or_else(|| panic!("{} is not in the document", action.call));
        assert_eq!(action.role, role(operation), "{key:?}");
    }
    assert_eq!(operation("get", "/v1/tasks/{name}/release"), None);
}

#[test]
fn each_action_is_in_the_document_of_the_page_with_its_call() {
    let rows = calls_of_page();
    for (_, action) in ACTIONS {
        let post = format!("POST {}", action.path);
        let row = rows.iter().find(|(requests, _)| requests.contains(&*post));
        let (requests, calls) = row.unwrap_or_else(|| panic!("{post} is not in the document"));
        let call = action.call.split('?').next().unwrap();
        assert_eq!(*calls, BTreeSet::from([call]), "{post}");
        let get = format!("GET {}", action.path);
        assert_eq!(requests.contains(&*get), action.is_confirmed, "{get}");
    }
}

#[test]
fn each_key_and_each_path_lead_to_their_action() {
    let mut words = BTreeSet::new();
    for (key, action) in ACTIONS {
        assert_eq!(key.action(), action);
        assert!(words.insert(action.word), "{}", action.word);
        let target = if action.path.contains('{') {
            "a/ü \u{202e}<b>"
        } else {
            ""
        };
        let found = find(&action.path_of(target));
        assert_eq!(found, Some((*key, target.to_owned())), "{}", action.path);
        assert!(action.call_of(target).1.is_ascii());
    }
    for unknown in [
        "",
        "tasks",
        "tasks//run",
        "tasks/web/run/",
        "runs/1",
        "tasks/%ff/run",
        "brake",
    ] {
        assert_eq!(find(unknown), None, "{unknown}");
    }
    assert_eq!(
        at(&["approvals", "approve"]),
        Some((Key::ApproveSet, String::new()))
    );
}

#[test]
fn messages_about_results_come_from_the_table_only() {
    let text = |query: &str| done(&Query::parse(query)).map(|notice| notice.text);
    assert_eq!(
        text("done=Approve").as_deref(),
        Some("The effect is approved.")
    );
    let run = "0197a000-0000-7000-8000-000000000001";
    let with_run = text(&format!("done=Run&run={run}")).unwrap();
    assert_eq!(with_run, format!("The run is requested. Run: {run}."));
    assert_eq!(
        text("done=Run&run=call+0900").as_deref(),
        Some("The run is requested.")
    );
    for foreign in ["done=", "done=call+0900", "run=1", "done=approve&done=Run"] {
        assert_eq!(text(foreign), None, "{foreign}");
    }
}

#[test]
fn a_refused_form_is_shown_on_the_screen_that_has_it() {
    for (path, screen) in [
        ("tasks/web/run", "tasks/web"),
        ("tasks/a%2Fb/disable", "tasks/a%2Fb"),
        ("tasks/web/destroy-plan", "tasks/web/delete"),
        ("tasks/web/delete", "tasks/web/delete"),
        ("approvals/1/reject", "approvals/1/reject"),
        ("approvals/reopen", "approvals"),
        ("brake/release", "brake/release"),
        ("tasks/web/explode", ""),
    ] {
        assert_eq!(screen_of(path), screen);
    }
}
