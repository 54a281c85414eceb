//! Plans of runs as data, and a service of plans that serves the calls of a gateway.

pub(crate) mod approvals;

use cts_proto::run::v1::plan_service_server::PlanService;
use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{
    DeferredChange, GetInputRequest, GetInputResponse, GetPlanRequest, GetPlanResponse, InputBasis,
    InputData, InputItem, PlanCounts, PlanData, PlanExtent, PlannedAction, PlannedAttribute,
    PlannedChange, PlannedInvocation, PlannedOutput, PlannedValue, RecordPlanRequest,
    RecordPlanResponse,
};
use cts_testkit::refused_calls;
use serde_json::{Value, json};
use tonic::{Request, Response, Status};

use crate::runs::{MemoryRuns, RUN};
use crate::stage::{REQUEST_ID, Scene, Stage};

/// Has one plan for all runs, in parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryPlans {
    /// Whether the scheduler is of a version without this service.
    pub(crate) unserved: bool,
    /// Whether no plan is kept.
    pub(crate) absent: bool,
    /// Whether values are not asked for.
    pub(crate) hides: bool,
    /// Whether values of inputs are not asked for, if that is tested.
    pub(crate) hides_inputs: Option<bool>,
}

#[expect(clippy::unnecessary_wraps, reason = "fields are optional")]
fn value(value: Shown) -> Option<PlannedValue> {
    Some(PlannedValue {
        value: Some(value),
        hash: Vec::new(),
    })
}

fn json_value(text: &str) -> Option<PlannedValue> {
    value(Shown::Json(text.to_owned()))
}

fn change(address: &str) -> PlannedChange {
    PlannedChange {
        address: address.to_owned(),
        action: PlannedAction::DeleteThenCreate.into(),
        ..PlannedChange::default()
    }
}

/// A plan with every member.
fn parts() -> [PlanData; 3] {
    let attribute = |path: &str, before, after| PlannedAttribute {
        path: path.to_owned(),
        changed: before != after,
        before,
        after,
        forces_replacement: true,
        ignored: true,
    };
    let full = PlannedChange {
        previous_address: "pool.was".into(),
        deposed: "5f3a".into(),
        provider: "registry.example/acme/acme".into(),
        actions: vec!["delete".into(), "create".into()],
        reason: "replace_by_request".into(),
        importing: "i-1".into(),
        attributes: vec![
            attribute("a", None, json_value("[1.10, 12345678901234567890123]")),
            attribute("b", json_value("null"), value(Shown::Unknown(true))),
            attribute("c", value(Shown::Hidden(true)), None),
        ],
        effect: "77".into(),
        ..change("pool.a")
    };
    let first = PlanData {
        format_version: "1.2".into(),
        engine_version: "1.9.8".into(),
        extent: PlanExtent::All.into(),
        effect: "0af1".into(),
        unclear: vec!["why".into()],
        counts: Some(PlanCounts {
            replaced: 2,
            ..PlanCounts::default()
        }),
        changes: vec![full],
        ..PlanData::default()
    };
    let second = PlanData {
        changes: vec![change("pool.b")],
        outputs: vec![PlannedOutput {
            name: "address".into(),
            action: PlannedAction::Update.into(),
            before: json_value("\"a\""),
            after: None,
        }],
        ..PlanData::default()
    };
    let third = PlanData {
        invocations: vec![PlannedInvocation {
            address: "action.x".into(),
            provider: "acme".into(),
            triggered_by: "pool.a".into(),
            event: "AfterCreate".into(),
            effect: "78".into(),
        }],
        deferred: vec![DeferredChange {
            address: "pool.later".into(),
            reason: "absent_prereq".into(),
        }],
        ..PlanData::default()
    };
    [first, second, third]
}

#[tonic::async_trait]
impl PlanService for MemoryPlans {
    type GetPlanStream = tokio_stream::Iter<std::vec::IntoIter<Result<GetPlanResponse, Status>>>;

    refused_calls! {
        record_plan: RecordPlanRequest => RecordPlanResponse;
    }

    async fn get_plan(
        &self,
        request: Request<GetPlanRequest>,
    ) -> Result<Response<Self::GetPlanStream>, Status> {
        let request = request.into_inner();
        assert_eq!(request.without_values, self.hides);
        if self.absent {
            return Err(Status::not_found("no plan"));
        }
        let parts = parts().map(|part| Ok(GetPlanResponse { part: Some(part) }));
        let parts = Vec::from(parts);
        Ok(Response::new(tokio_stream::iter(parts)))
    }

    async fn get_input(
        &self,
        request: Request<GetInputRequest>,
    ) -> Result<Response<GetInputResponse>, Status> {
        let request = request.into_inner();
        let hides = self.hides_inputs.unwrap_or(request.without_values);
        assert_eq!(request.without_values, hides);
        if self.absent {
            return Err(Status::not_found("run x has no input"));
        }
        let input = Some(input());
        Ok(Response::new(GetInputResponse { input }))
    }
}

/// An input with every member.
fn input() -> InputData {
    let item = |list: &str, name: &str| InputItem {
        list: list.to_owned(),
        name: name.to_owned(),
        ..InputItem::default()
    };
    InputData {
        task_name: "dns".into(),
        basis: InputBasis::Applied.into(),
        compared_with: RUN.into(),
        notes: vec!["the module was changed".into()],
        values_hidden: "why".into(),
        items: vec![
            InputItem {
                service: "web".into(),
                value: json_value("{\"port\":81}"),
                changed: true,
                before: json_value("{\"port\":80}"),
                ..item("services", "web-1.n.dc1")
            },
            InputItem {
                changed: true,
                before: value(Shown::Hidden(true)),
                ..item("consul_kv", "app/gone")
            },
            InputItem {
                value: json_value("12345678901234567890123"),
                ..item("variables", "size")
            },
        ],
    }
}

async fn stage(plans: MemoryPlans) -> Stage {
    Stage::set(Scene {
        plans,
        runs: MemoryRuns::default(),
        ..Scene::default()
    })
    .await
}

#[tokio::test]
async fn the_parts_of_a_plan_are_one_answer() {
    let stage = stage(MemoryPlans::default()).await;
    let answer = stage.ask("GET", &format!("/v1/runs/{RUN}/plan")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let digits = "\"after\":{\"value\":[1.10, 12345678901234567890123]}";
    assert!(answer.body.contains(digits), "{answer:?}");
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["request_id"], REQUEST_ID);
    let plan = &body["plan"];
    let changes = plan["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 2);
    assert_eq!(
        changes[1],
        json!({"address": "pool.b", "action": "delete_then_create"})
    );
    assert_eq!(
        changes[0]["attributes"][1],
        json!({"path": "b", "before": {"value": null}, "after": {"unknown": true}, "changed": true,
               "forces_replacement": true, "ignored": true})
    );
    assert_eq!(
        changes[0]["attributes"][2]["before"],
        json!({"hidden": true})
    );
    assert_eq!(
        (&plan["extent"], &plan["effect"]),
        (&json!("all"), &json!("0af1"))
    );
    for list in ["unclear", "outputs", "invocations", "deferred"] {
        assert_eq!(plan[list].as_array().unwrap().len(), 1, "{list}");
    }
}

#[tokio::test]
async fn a_missing_plan_has_its_reason() {
    let outcome = async |plans: MemoryPlans, run: &str| {
        let answer = stage(plans).await;
        let answer = answer.ask("GET", &format!("/v1/runs/{run}/plan")).await;
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(body["request_id"], REQUEST_ID);
        (answer.status, body["error"].clone())
    };
    let (status, error) = outcome(MemoryPlans::default(), "no-run").await;
    assert_eq!((status, &error["code"]), (404, &json!("run-unknown")));
    let absent = MemoryPlans {
        absent: true,
        ..MemoryPlans::default()
    };
    let (status, error) = outcome(absent, RUN).await;
    assert_eq!((status, &error["code"]), (404, &json!("plan-unknown")));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("has no plan as data"), "{message}");
    let unserved = MemoryPlans {
        unserved: true,
        ..MemoryPlans::default()
    };
    let (status, error) = outcome(unserved, RUN).await;
    assert_eq!(
        (status, &error["code"]),
        (501, &json!("scheduler-outdated"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("earlier version"), "{message}");
}

#[tokio::test]
async fn the_input_of_a_run_is_shown() {
    let stage = stage(MemoryPlans::default()).await;
    let answer = stage.ask("GET", &format!("/v1/runs/{RUN}/input")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(
        answer.body.contains("12345678901234567890123"),
        "{answer:?}"
    );
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["request_id"], REQUEST_ID);
    let input = &body;
    assert_eq!(input["basis"], "applied");
    assert_eq!(input["compared_with"], RUN);
    assert_eq!(
        input["items"][0],
        json!({"list": "services", "name": "web-1.n.dc1", "service": "web", "value": {"value": {"port": 81}},
               "changed": true, "before": {"value": {"port": 80}}})
    );
    assert_eq!(
        input["items"][1],
        json!({"list": "consul_kv", "name": "app/gone", "changed": true, "before": {"hidden": true}})
    );
}

#[tokio::test]
async fn a_missing_input_has_its_reason() {
    for (plans, run, expected) in [
        (MemoryPlans::default(), "no-run", (404, "run-unknown")),
        (
            MemoryPlans {
                absent: true,
                ..MemoryPlans::default()
            },
            RUN,
            (409, "run-conflict"),
        ),
        (
            MemoryPlans {
                unserved: true,
                ..MemoryPlans::default()
            },
            RUN,
            (501, "scheduler-outdated"),
        ),
    ] {
        let answer = stage(plans).await;
        let answer = answer.ask("GET", &format!("/v1/runs/{run}/input")).await;
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        let code = body["error"]["code"].as_str().unwrap();
        assert_eq!((answer.status, code), expected, "{body}");
    }
}
