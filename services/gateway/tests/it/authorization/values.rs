//! Values of plans, which readers need not see (docs/access.md#values-of-plans).

use cts_core::callers::PlanValues;
use serde_json::{Value, json};

use super::{ADMIN, APPROVE, OPERATE, OPERATE_AND_APPROVE, READ, ask, ask_with, scene, stage};
use crate::plans::MemoryPlans;
use crate::runs::RUN;
use crate::stage::Scene;
use crate::tasks::{RequestedChange, three_tasks};

#[tokio::test]
async fn values_of_plans_are_for_people_who_operate_or_approve() {
    for (hides, tokens) in [(true, &[READ][..]), (false, &[APPROVE, OPERATE, ADMIN])] {
        let stage = stage(Scene {
            plan_values: PlanValues::Operate,
            plans: MemoryPlans {
                hides,
                ..MemoryPlans::default()
            },
            ..scene()
        })
        .await;
        for token in tokens {
            let plan = format!("/v1/runs/{RUN}/plan");
            assert_eq!(ask(&stage, "GET", &plan, Some(token)).await.status, 200);
            let run = ask(&stage, "GET", &format!("/v1/runs/{RUN}"), Some(token)).await;
            assert_eq!(run.body.contains("1 to add"), !hides, "{run:?}");
            assert_eq!(run.body.contains("security.plan_values"), hides, "{run:?}");
            let parts = ["", "?tail=1", "?line=1", "?search=x"];
            let followed = hides.then_some("?follow=true");
            for query in parts.into_iter().chain(followed) {
                let path = format!("/v1/runs/{RUN}/log{query}");
                let log = ask(&stage, "GET", &path, Some(token)).await;
                assert_eq!(log.status, if hides { 403 } else { 200 }, "{token} {log:?}");
                assert_eq!(log.body.contains("security.plan_values"), hides, "{log:?}");
            }
        }
    }
}

#[tokio::test]
async fn values_of_inputs_are_for_people_who_operate_or_approve_whatever_the_setting() {
    for (hides_inputs, tokens) in [(true, &[READ][..]), (false, &[APPROVE, OPERATE, ADMIN])] {
        let stage = stage(Scene {
            plans: MemoryPlans {
                hides_inputs: Some(hides_inputs),
                ..MemoryPlans::default()
            },
            ..scene()
        })
        .await;
        for token in tokens {
            let path = format!("/v1/runs/{RUN}/input");
            assert_eq!(ask(&stage, "GET", &path, Some(token)).await.status, 200);
        }
    }
}

#[tokio::test]
async fn an_effect_is_approved_with_its_task_by_those_who_may_approve() {
    let tasks = three_tasks();
    let stage = stage(Scene {
        tasks: tasks.clone(),
        ..scene()
    })
    .await;
    let path = "/v1/tasks/edge-lb?run=";
    let update = r#"{"enabled": true, "approve": "0af1"}"#;
    for (token, may_approve) in [(OPERATE, false), (OPERATE_AND_APPROVE, true), (ADMIN, true)] {
        let patch = async |run: &str, body: &str| {
            let path = format!("{path}{run}");
            ask_with(&stage, "PATCH", &path, Some(token), body).await
        };
        let shown = patch("inspect", r#"{"enabled": true}"#).await;
        let shown: Value = serde_json::from_str(&shown.body).unwrap();
        let consent = json!({
            "reason": "rule always, 1 to create", "effect": "0af1", "may_approve": may_approve,
        });
        assert_eq!(shown["inspect"]["consent"], consent);
        let answer = patch("now", update).await;
        assert_eq!(
            answer.status,
            if may_approve { 200 } else { 403 },
            "{answer:?}"
        );
    }
    let changes = std::mem::take(&mut *tasks.changes.lock().unwrap());
    let approved = changes.iter().filter(
        |change| matches!(change, RequestedChange::Update(update) if update.approve == "0af1"),
    );
    assert_eq!(approved.count(), 2);
}
