//! The authentication matrix (docs/access.md): every operation of the document with every credential.

mod known_tokens;
mod limited;
mod refused;
mod values;

use std::sync::Arc;

use cts_core::callers::Role;
use cts_proto::access::v1::Token;
use serde_json::Value;
use tokio::time::timeout;

use crate::access_service::{MemoryAccess, expired, limited, token};
use crate::conformity::DOCUMENT;
use crate::runs::RUN;
use crate::stage::{Answer, REQUEST_ID, SOON, Scene, Stage};
use crate::tasks::three_tasks;

const READ: &str = "cts_read";
const OPERATE: &str = "cts_operate";
const APPROVE: &str = "cts_approve";
const OPERATE_AND_APPROVE: &str = "cts_operate_and_approve";
/// Its role has a name that only a later version knows.
const LATER: &str = "cts_later";
const ADMIN: &str = "cts_admin";
const EXPIRED: &str = "cts_expired";
/// An admin of the tasks `dns` and `fw-*`.
const LIMITED: &str = "cts_limited";

const UNAUTHENTICATED: &str = "this request needs a valid token or client certificate";
const FORBIDDEN: &str =
    "the credential does not allow this request: its role or its tasks do not include it";

fn tokens() -> [Token; 8] {
    [
        token(READ, "read"),
        token(OPERATE, "operate"),
        token(APPROVE, "approve"),
        token(OPERATE_AND_APPROVE, "operate,approve"),
        token(LATER, "operate,paint"),
        token(ADMIN, "admin"),
        expired(token(EXPIRED, "admin")),
        limited(token(LIMITED, "admin"), &["dns", "fw-*"]),
    ]
}

fn scene() -> Scene {
    Scene {
        tasks: three_tasks(),
        access: MemoryAccess::with(tokens()),
        require_auth: true,
        ..Scene::default()
    }
}

/// A stage whose gateway knows the tokens.
async fn stage(scene: Scene) -> Stage {
    let stage = Stage::set(scene).await;
    let known = async { while ask(&stage, "GET", "/v1/tasks", None).await.status == 503 {} };
    timeout(SOON, known).await.unwrap();
    stage
}

async fn ask(stage: &Stage, method: &str, path: &str, token: Option<&str>) -> Answer {
    ask_with(stage, method, path, token, "{}").await
}

async fn ask_with(
    stage: &Stage,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: &str,
) -> Answer {
    ask_from(stage, "192.0.2.1", method, path, token, body).await
}

/// As a client of the proxy that the gateway trusts.
async fn ask_from(
    stage: &Stage,
    client: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: &str,
) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![
        ("Content-Type", "application/json"),
        ("X-Forwarded-For", client),
    ];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    let body = if method == "GET" { "" } else { body };
    stage
        .ask_with(method, path, &headers, body.as_bytes())
        .await
}

/// A row for each operation of the document: its role, and whether a token for the task `dns` suffices.
fn row(operation: &str) -> (Option<Role>, bool) {
    use Role::{Admin, Approve, Operate, Read};
    let (role, for_some) = match operation {
        "getHealth" => return (None, true),
        "getOverallStatus" | "getTaskStatuses" | "getTaskStatus" | "getClusterStatus"
        | "getTasks" | "getCurrentStates" | "getOverview" | "getTask" | "explainTask"
        | "getTerraformState" | "getRuns" | "getCauses" | "getRun" | "getRunLog" | "getRunPlan"
        | "getRunInput" | "getApprovals" | "getApproval" | "followRuns" | "followVersions"
        | "getDocument" | "getDocumentAsYaml" => (Read, true),
        "getConfiguration" | "getQueue" | "getTimes" | "getBrake" => (Read, false),
        "approveRun" | "rejectRun" | "approveSet" | "reopenApprovals" => (Approve, true),
        "updateTask" | "releaseTask" | "cancelRun" => (Operate, true),
        "drainWorker" | "releaseBrake" => (Operate, false),
        "createTask"
        | "replaceTask"
        | "deleteTask"
        | "planTaskDestruction"
        | "decideTerraformState" => (Admin, true),
        "getAuditRecords" => (Admin, false),
        other => panic!("the operation {other} has no row"),
    };
    (Some(role), for_some)
}

/// Method, path and id of each operation, about the task `dns` and its run.
fn operations() -> Vec<(String, String, String)> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, operations)| {
        let path = path.replace("{name}", "dns").replace("{id}", RUN);
        let operations = operations.as_object().unwrap().iter();
        operations.filter_map(move |(method, operation)| {
            let id = operation.get("operationId").and_then(Value::as_str)?;
            Some((method.to_uppercase(), path.clone(), id.to_owned()))
        })
    });
    operations.collect()
}

/// The status and message of an answer, of which only the beginning may have come.
async fn outcome(
    stage: &Stage,
    client: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
) -> (u16, String) {
    let path = match path {
        // The answer would not end.
        "/v1/events"
            if matches!(
                token,
                Some(READ | APPROVE | OPERATE | OPERATE_AND_APPROVE | ADMIN | LIMITED)
            ) =>
        {
            "/v1/events?task="
        }
        path => path,
    };
    let answer = ask_from(stage, client, method, path, token, "{}").await;
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let message = body["error"]["message"].as_str().unwrap_or_default();
    if answer.status == 401 {
        assert_eq!(answer.header("WWW-Authenticate"), Some("Bearer"));
    }
    (answer.status, message.to_owned())
}

#[tokio::test]
async fn every_operation_needs_its_role() {
    let stage = stage(scene()).await;
    let operations = operations();
    assert!(operations.len() > 24, "{operations:?}");
    for (number, (method, path, operation)) in operations.into_iter().enumerate() {
        // Wrong credentials of one client would be slowed.
        let client = format!("192.0.2.{number}");
        let (least, for_some) = row(&operation);
        for (token, role) in [
            (None, None),
            (Some("cts_wrong"), None),
            (Some(""), None),
            (Some("eyJhbGciOiJub25lIn0.e30."), None),
            (Some(EXPIRED), None),
            (Some(LATER), None),
            (Some(READ), Some(Role::Read)),
            (Some(APPROVE), Some(Role::Approve)),
            (Some(OPERATE), Some(Role::Operate)),
            (Some(OPERATE_AND_APPROVE), Some(Role::OperateApprove)),
            (Some(ADMIN), Some(Role::Admin)),
            (Some(LIMITED), for_some.then_some(Role::Admin)),
        ] {
            let (status, message) = outcome(&stage, &client, &method, &path, token).await;
            let what = format!("{operation} with {token:?}: {status} {message}");
            let is_known = role.is_some() || token == Some(LIMITED);
            let suffices = |least| role.is_some_and(|role: Role| role.includes(least));
            if least.is_none_or(suffices) {
                assert!(!matches!(status, 401 | 403), "{what}");
            } else if is_known {
                assert_eq!((status, message.as_str()), (403, FORBIDDEN), "{what}");
            } else {
                assert_eq!((status, message.as_str()), (401, UNAUTHENTICATED), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn paths_that_do_not_exist_need_a_credential_too() {
    let stage = stage(scene()).await;
    for (method, path) in [
        ("GET", "/v1/nothing"),
        ("BREW", "/v1/tasks"),
        ("PUT", "/v1/status"),
        ("GET", "/"),
    ] {
        let nobody = ask(&stage, method, path, None).await;
        assert_eq!(nobody.status, 401, "{method} {path}");
        let reader = ask(&stage, method, path, Some(READ)).await;
        assert!(matches!(reader.status, 404 | 405), "{method} {path}");
    }
    let preflight = ask(&stage, "OPTIONS", "/v1/tasks", None).await;
    assert_eq!(preflight.status, 200);
}

#[tokio::test]
async fn without_authentication_everything_is_open_but_the_audit_records() {
    let stage = Stage::set(Scene {
        require_auth: false,
        ..scene()
    })
    .await;
    for (method, path, operation) in operations() {
        let path = match operation.as_str() {
            "followRuns" => "/v1/events?task=",
            _ => &path,
        };
        for token in [None, Some("cts_wrong"), Some(READ)] {
            let answer = ask(&stage, &method, path, token).await;
            if operation == "getAuditRecords" {
                assert_eq!(answer.status, 403, "{answer:?}");
                assert!(answer.body.contains("security.require_auth"), "{answer:?}");
            } else {
                assert!(
                    !matches!(answer.status, 401 | 403),
                    "{operation}: {answer:?}"
                );
            }
            assert!(answer.is_open_to_all_origins(), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn only_pages_of_known_origins_read_answers() {
    let stage = stage(scene()).await;
    let bearer = format!("Bearer {READ}");
    for (origin, is_known) in [
        ("https://ops.example", true),
        ("https://ops.example:444", false),
        ("http://cts.example", false),
        ("http://evil.example", false),
        ("null", false),
    ] {
        let headers = [("Origin", origin), ("Authorization", &bearer)];
        for (method, path) in [
            ("GET", "/v1/tasks"),
            ("OPTIONS", "/v1/tasks"),
            ("GET", "/v1/health"),
        ] {
            let answer = stage.ask_with(method, path, &headers, b"").await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let allowed = answer.header("Access-Control-Allow-Origin");
            assert_eq!(allowed, is_known.then_some(origin), "{answer:?}");
            let headers = answer.header("Access-Control-Allow-Headers");
            assert_eq!(headers, is_known.then_some("Authorization, Content-Type"));
            assert_eq!(answer.header("Vary"), Some("Origin"));
        }
    }
    let without = ask(&stage, "GET", "/v1/tasks", Some(READ)).await;
    assert_eq!(without.header("Access-Control-Allow-Origin"), None);
}

#[tokio::test]
async fn changes_name_their_caller_to_the_scheduler() {
    for require_auth in [true, false] {
        let scene = Scene {
            require_auth,
            ..scene()
        };
        let callers = Arc::clone(&scene.access.callers);
        let stage = stage(scene).await;
        let task = r#"{"task":{"name":"new","module":"./m","condition":{"schedule":{"cron":"* * * * *"}}}}"#;
        let replaced = r#"{"revision":1,"task":{"name":"dns","module":"./m","condition":{"schedule":{"cron":"* * * * *"}}}}"#;
        let cancel = format!("/v1/runs/{RUN}/cancel");
        for (method, path, body) in [
            ("POST", "/v1/tasks", task),
            ("PUT", "/v1/tasks/dns", replaced),
            ("PATCH", "/v1/tasks/dns", r#"{"enabled":true}"#),
            ("DELETE", "/v1/tasks/dns", ""),
            ("POST", "/v1/tasks/dns/release", "{}"),
            ("POST", "/v1/tasks/dns/destroy-plan", ""),
            ("POST", "/v1/tasks/dns/state", r#"{"keep":"old"}"#),
            ("POST", &cancel, "{}"),
        ] {
            let answer = ask_with(&stage, method, path, Some(ADMIN), body).await;
            let caller = callers.lock().unwrap().pop();
            let caller = caller.unwrap_or_else(|| panic!("{method} {path}: {answer:?}"));
            let expected = if require_auth {
                ("token", "name of admin")
            } else {
                ("anonymous", "")
            };
            assert_eq!((caller.kind.as_str(), caller.name.as_str()), expected);
            assert_eq!(caller.address, "192.0.2.1");
            assert_eq!(caller.request_id, REQUEST_ID);
        }
        ask(&stage, "GET", "/v1/tasks", Some(ADMIN)).await;
        assert_eq!(callers.lock().unwrap().len(), 0);
    }
}

#[tokio::test]
async fn audit_records_are_read_by_page() {
    let scene = scene();
    let lists = Arc::clone(&scene.access.lists);
    let stage = stage(scene).await;
    let answer = ask(&stage, "GET", "/v1/audit?limit=7&before=19", Some(ADMIN)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(
        answer.body.contains("\"action\":\"task.delete\""),
        "{answer:?}"
    );
    let list = lists.lock().unwrap().pop().unwrap();
    assert_eq!((list.limit, list.before), (7, 19));
    for wrong in ["limit=0", "limit=1001", "before=x", "before=0"] {
        let path = format!("/v1/audit?{wrong}");
        let answer = ask(&stage, "GET", &path, Some(ADMIN)).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
}
