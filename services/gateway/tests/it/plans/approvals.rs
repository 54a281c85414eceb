//! Consent to the effects of plans, and a service of consents that serves the calls of a gateway.

use std::sync::{Arc, Mutex};

use cts_core::callers::TaskPatterns;
use cts_proto::run::v1::approval_service_server::ApprovalService;
use cts_proto::run::v1::{
    Approval, ApprovalState, ApproveSetRequest, ApproveSetResponse, DecideApprovalRequest,
    DecideApprovalResponse, GetApprovalRequest, GetApprovalResponse, ListApprovalsRequest,
    ListApprovalsResponse, PermitApplyRequest, PermitApplyResponse, PlanCounts,
    ReopenApprovalRequest, ReopenApprovalResponse,
};
use cts_testkit::refused_calls;
use serde_json::{Value, json};
use tonic::{Request, Response, Status};

use crate::runs::{OTHER_RUN, RUN};
use crate::stage::{Scene, Stage};
use crate::tasks::three_tasks;

/// Has effects of the tasks `dns` and `edge-lb`.
#[derive(Debug, Clone)]
pub(crate) struct MemoryApprovals {
    /// Whether the scheduler is of a version without this service.
    pub(crate) unserved: bool,
    approvals: Arc<Mutex<Vec<Approval>>>,
    /// Comments on decisions.
    comments: Arc<Mutex<Vec<String>>>,
}

impl Default for MemoryApprovals {
    fn default() -> Self {
        let approval = |run: &str, task: &str, effect: &str| Approval {
            run_id: run.to_owned(),
            task_name: task.to_owned(),
            effect: effect.to_owned(),
            state: ApprovalState::Waiting.into(),
            counts: Some(PlanCounts {
                deleted: 2,
                replaced: 1,
                ..PlanCounts::default()
            }),
            asked_at: Some(prost_types::Timestamp {
                seconds: 1_770_110_130,
                nanos: 0,
            }),
            ..Approval::default()
        };
        let approvals = vec![
            approval(RUN, "dns", "0af1"),
            approval(OTHER_RUN, "edge-lb", "77c2"),
        ];
        Self {
            unserved: false,
            approvals: Arc::new(Mutex::new(approvals)),
            comments: Arc::default(),
        }
    }
}

impl MemoryApprovals {
    fn matching(&self, tasks: Vec<String>, visible: Vec<String>) -> Vec<Approval> {
        let [tasks, visible] = [tasks, visible].map(|texts| TaskPatterns::new(texts).unwrap());
        let all = self.approvals.lock().unwrap();
        let matching = all.iter().filter(|it| {
            let name = &it.task_name;
            tasks.matches(name) && visible.matches(name)
        });
        matching.cloned().collect()
    }

    fn decide(&self, effect: &str, state: ApprovalState, comment: &str) -> Approval {
        self.comments.lock().unwrap().push(comment.to_owned());
        let mut all = self.approvals.lock().unwrap();
        let decided = all.iter_mut().find(|it| it.effect == effect).unwrap();
        decided.set_state(state);
        "token \"ci\"".clone_into(&mut decided.decided_by);
        comment.clone_into(&mut decided.comment);
        decided.clone()
    }
}

/// The digest of the effects that wait.
fn set(approvals: &[Approval]) -> String {
    let waiting = approvals
        .iter()
        .filter(|it| it.state() == ApprovalState::Waiting);
    let effects: Vec<_> = waiting.map(|it| it.effect.as_str()).collect();
    effects.join("")
}

#[tonic::async_trait]
impl ApprovalService for MemoryApprovals {
    refused_calls! {
        permit_apply: PermitApplyRequest => PermitApplyResponse;
    }

    async fn list_approvals(
        &self,
        request: Request<ListApprovalsRequest>,
    ) -> Result<Response<ListApprovalsResponse>, Status> {
        let request = request.into_inner();
        let approvals = self.matching(request.tasks, request.visible_tasks);
        let set = set(&approvals);
        let changes = !request.set.is_empty() && request.set != set;
        Ok(Response::new(ListApprovalsResponse {
            approvals,
            set,
            came: changes.then(|| "edge-lb".to_owned()).into_iter().collect(),
            ..ListApprovalsResponse::default()
        }))
    }

    async fn get_approval(
        &self,
        request: Request<GetApprovalRequest>,
    ) -> Result<Response<GetApprovalResponse>, Status> {
        let run = request.into_inner().run_id;
        let all = self.matching(Vec::new(), Vec::new());
        let approval = all.into_iter().find(|it| it.run_id == run);
        let approval = approval.ok_or_else(|| Status::not_found("no effect"))?;
        Ok(Response::new(GetApprovalResponse {
            approval: Some(approval),
        }))
    }

    async fn decide_approval(
        &self,
        request: Request<DecideApprovalRequest>,
    ) -> Result<Response<DecideApprovalResponse>, Status> {
        let request = request.into_inner();
        let all = self.matching(Vec::new(), Vec::new());
        let found = all.into_iter().find(|it| it.run_id == request.run_id);
        let found = found.ok_or_else(|| {
            let mut status = Status::not_found("no effect");
            let reason = "unknown".parse().unwrap();
            status.metadata_mut().insert("cts-reason", reason);
            status
        })?;
        if found.effect != request.effect || found.state() != ApprovalState::Waiting {
            let mut status = Status::aborted("the effect is 0af1 by now");
            let reason = "changed".parse().unwrap();
            status.metadata_mut().insert("cts-reason", reason);
            return Err(status);
        }
        let state = if request.reject {
            ApprovalState::Rejected
        } else {
            ApprovalState::Approved
        };
        let approval = self.decide(&request.effect, state, &request.comment);
        Ok(Response::new(DecideApprovalResponse {
            approval: Some(approval),
        }))
    }

    async fn approve_set(
        &self,
        request: Request<ApproveSetRequest>,
    ) -> Result<Response<ApproveSetResponse>, Status> {
        let request = request.into_inner();
        let mut approvals = self.matching(request.tasks, request.visible_tasks);
        if set(&approvals) != request.set {
            return Err(Status::aborted("the effects are different by now"));
        }
        approvals.retain(|it| it.state() == ApprovalState::Waiting);
        let approvals = approvals.iter();
        let approve = |it: &Approval| {
            let effect = &it.effect;
            self.decide(effect, ApprovalState::Approved, &request.comment)
        };
        Ok(Response::new(ApproveSetResponse {
            approvals: approvals.map(approve).collect(),
        }))
    }

    async fn reopen_approval(
        &self,
        request: Request<ReopenApprovalRequest>,
    ) -> Result<Response<ReopenApprovalResponse>, Status> {
        let task = request.into_inner().task_name;
        let mut all = self.approvals.lock().unwrap();
        let rejected = all.iter_mut().filter(|it| {
            let is_rejected = it.state() == ApprovalState::Rejected;
            it.task_name == task && is_rejected
        });
        let reopened = rejected.map(|it| it.set_state(ApprovalState::Waiting));
        match u32::try_from(reopened.count()).unwrap() {
            0 => Err(Status::not_found("nothing is rejected")),
            reopened => Ok(Response::new(ReopenApprovalResponse { reopened })),
        }
    }
}

async fn stage(approvals: &MemoryApprovals) -> Stage {
    Stage::set(Scene {
        approvals: approvals.clone(),
        ..Scene::default()
    })
    .await
}

fn names(body: &Value) -> Vec<&str> {
    let approvals = body["approvals"].as_array().unwrap();
    let names = approvals.iter().map(|it| it["task_name"].as_str().unwrap());
    names.collect()
}

#[tokio::test]
async fn effects_are_listed_with_the_set_of_the_waiting_ones() {
    let stage = stage(&MemoryApprovals::default()).await;
    let (status, body) = stage.json("GET", "/v1/approvals", "").await;
    assert_eq!((status, &body["set"]), (200, &json!("0af177c2")), "{body}");
    assert_eq!(names(&body), ["dns", "edge-lb"]);
    let first = &body["approvals"][0];
    assert_eq!(first["asked_at"], "2026-02-03T10:15:30+01:00", "{body}");
    assert_eq!(first["counts"]["deleted"], 2, "{body}");
    assert_eq!(first["state"], "waiting", "{body}");
    let (_, body) = stage.json("GET", "/v1/approvals?task=edge-*", "").await;
    assert_eq!(
        (names(&body), &body["set"]),
        (vec!["edge-lb"], &json!("77c2"))
    );
    let (_, body) = stage
        .json("GET", "/v1/approvals?task=edge-*&task=d?s", "")
        .await;
    assert_eq!(names(&body), ["dns", "edge-lb"]);
    let (status, body) = stage.json("GET", "/v1/approvals?task=[", "").await;
    assert_eq!(
        (status, &body["error"]["code"]),
        (400, &json!("request-invalid"))
    );
}

#[tokio::test]
async fn an_effect_is_shown_and_decided_once() {
    let approvals = MemoryApprovals::default();
    let stage = stage(&approvals).await;
    let path = format!("/v1/approvals/{RUN}");
    let (status, shown) = stage.json("GET", &path, "").await;
    assert_eq!(
        (status, &shown["approval"]["effect"]),
        (200, &json!("0af1"))
    );
    let approve = format!("{path}/approve");
    for body in [
        "",
        "[]",
        "{}",
        r#"{"effect": ""}"#,
        r#"{"effect": 7}"#,
        r#"{"effect": "0af1", "more": 1}"#,
        &format!(r#"{{"effect": "0af1", "comment": "{}"}}"#, "x".repeat(1025)),
    ] {
        let (status, refused) = stage.json("POST", &approve, body).await;
        assert_eq!(status, 400, "{body}: {refused}");
        assert_eq!(refused["error"]["code"], "request-invalid", "{refused}");
    }
    let (status, refused) = stage.json("POST", &approve, r#"{"effect": "0af0"}"#).await;
    assert_eq!(
        (status, &refused["error"]),
        (
            409,
            &json!({"code": "approval-changed", "message": "the effect is 0af1 by now"})
        )
    );
    let decision = r#"{"effect": "0af1", "comment": "on call"}"#;
    let (status, decided) = stage.json("POST", &approve, decision).await;
    assert_eq!(
        (status, &decided["approval"]["state"]),
        (200, &json!("approved"))
    );
    assert_eq!(decided["approval"]["comment"], "on call");
    assert_eq!(*approvals.comments.lock().unwrap(), ["on call"]);
    let (status, _) = stage.json("POST", &approve, decision).await;
    assert_eq!(status, 409);
    for (path, body, what) in [
        ("/v1/approvals/no-run", "", "no-run"),
        ("/v1/approvals/no-run/approve", decision, "no-run"),
        ("/v1/approvals/no-run/reject", decision, "no-run"),
        ("/v1/approvals/reopen", r#"{"task": "dns"}"#, "dns"),
    ] {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let (status, refused) = stage.json(method, path, body).await;
        let error = &refused["error"];
        assert_eq!((status, &error["code"]), (404, &json!("approval-unknown")));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(what), "{message}");
    }
}

#[tokio::test]
async fn a_rejected_effect_is_reopened() {
    let stage = stage(&MemoryApprovals::default()).await;
    let path = format!("/v1/approvals/{OTHER_RUN}/reject");
    let (status, decided) = stage.json("POST", &path, r#"{"effect": "77c2"}"#).await;
    assert_eq!(
        (status, &decided["approval"]["state"]),
        (200, &json!("rejected"))
    );
    let reopened = stage
        .json("POST", "/v1/approvals/reopen", r#"{"task": "edge-lb"}"#)
        .await;
    assert_eq!(reopened, (200, json!({"reopened": 1})));
}

#[tokio::test]
async fn a_set_is_approved_as_it_was_seen() {
    let stage = stage(&MemoryApprovals::default()).await;
    let path = "/v1/approvals/approve";
    for body in [
        "{}",
        r#"{"tasks": [], "set": "0af1"}"#,
        r#"{"tasks": ["["], "set": "0af1"}"#,
        r#"{"tasks": ["*"], "set": ""}"#,
        r#"{"tasks": "*", "set": "0af1"}"#,
    ] {
        let (status, refused) = stage.json("POST", path, body).await;
        assert_eq!(status, 400, "{body}: {refused}");
    }
    let seen = r#"{"tasks": ["*"], "set": "0af1"}"#;
    let (status, refused) = stage.json("POST", path, seen).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("approval-changed"))
    );
    assert_eq!(names(&refused), ["dns", "edge-lb"]);
    assert_eq!(refused["came"], json!(["edge-lb"]), "{refused}");
    assert_eq!(
        (&refused["went"], &refused["changed"]),
        (&json!([]), &json!([]))
    );
    let seen = json!({"tasks": ["*"], "set": refused["set"]}).to_string();
    let (status, approved) = stage.json("POST", path, &seen).await;
    assert_eq!((status, names(&approved)), (200, vec!["dns", "edge-lb"]));
    let (_, body) = stage.json("GET", "/v1/approvals", "").await;
    assert_eq!(body["set"], "");
}

#[tokio::test]
async fn a_change_whose_run_waits_names_the_run_in_a_header() {
    const HEADERS: &[(&str, &str)] = &[("Content-Type", "application/json"), ("If-Match", "*")];
    let stage = Stage::start(three_tasks()).await;
    let task = |name: &str, description: &str| {
        let task = json!({
            "name": name, "description": description, "module": "./m",
            "condition": {"services": {"names": ["web"]}},
        });
        json!({ "task": task }).to_string()
    };
    let waits = "waits for consent";
    let enabled = || r#"{"enabled": true}"#.to_owned();
    for (method, path, body, waiting) in [
        ("POST", "/v1/tasks?run=now", task("new", waits), Some(RUN)),
        ("POST", "/v1/tasks", task("new", "else"), None),
        (
            "PUT",
            "/v1/tasks/dns?run=now",
            task("dns", waits),
            Some(RUN),
        ),
        ("PUT", "/v1/tasks/dns", task("dns", "else"), None),
        ("PATCH", "/v1/tasks/edge-lb?run=now", enabled(), Some(RUN)),
        ("PATCH", "/v1/tasks/edge-lb", enabled(), None),
    ] {
        let answer = stage.ask_with(method, path, HEADERS, body.as_bytes()).await;
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        assert_eq!(answer.header("Cts-Waiting"), waiting, "{answer:?}");
    }
}

#[tokio::test]
async fn a_scheduler_of_an_earlier_version_has_no_effects() {
    let unserved = MemoryApprovals {
        unserved: true,
        ..MemoryApprovals::default()
    };
    let stage = stage(&unserved).await;
    let run = format!("/v1/approvals/{RUN}");
    for (method, path, body) in [
        ("GET", "/v1/approvals", ""),
        ("GET", &run, ""),
        ("POST", &format!("{run}/approve"), r#"{"effect": "0af1"}"#),
        ("POST", &format!("{run}/reject"), r#"{"effect": "0af1"}"#),
        (
            "POST",
            "/v1/approvals/approve",
            r#"{"tasks": ["*"], "set": "0af1"}"#,
        ),
        ("POST", "/v1/approvals/reopen", r#"{"task": "dns"}"#),
    ] {
        let (status, refused) = stage.json(method, path, body).await;
        assert_eq!(
            (status, &refused["error"]["code"]),
            (501, &json!("scheduler-outdated")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn decisions_are_posted_and_lists_are_read() {
    let stage = stage(&MemoryApprovals::default()).await;
    for path in [
        "/v1/approvals/approve",
        "/v1/approvals/reopen",
        "/v1/approvals/a-b/reject",
    ] {
        let answer = stage.ask("GET", path).await;
        assert_eq!((answer.status, answer.header("Allow")), (405, Some("POST")));
    }
    for path in ["/v1/approvals", "/v1/approvals/a-b"] {
        let answer = stage.ask("POST", path).await;
        assert_eq!((answer.status, answer.header("Allow")), (405, Some("GET")));
    }
    for path in ["/v1/approvals/", "/v1/approvals/a-b/c", "/v1/approvalsx"] {
        assert_eq!(stage.ask("GET", path).await.status, 404, "{path}");
    }
}
