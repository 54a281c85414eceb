//! `security.plan_values = "operate"` over the whole API of a cts (docs/access.md#values-of-plans).

use cts_testkit::{assert_contains, eventually};
use cts_tests::{Backend, DEADLINE, Instance, Site, met, task as block};
use serde_json::{Value, json};

use super::{ask, cts, token};
use crate::api::scene::{Scene, prepare};
use crate::api::wire::{Answer, Request};

const SECURITY: &str = "security {\n  require_auth = true\n  plan_values = \"operate\"\n}\n";

/// The key of a map and the beginning of its value, which only plans and logs have.
const PLANTED: [&str; 2] = ["plantedname", "plantedvalue"];

const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "planted" {
  input = {
    plantedname = "plantedvalue-${join(",", [for service in values(var.services) : service.id])}"
  }
}
"#;

/// One process with the task `edge`, whose first effect waits for consent.
async fn scene() -> Scene {
    let (site, consul) = prepare(Site::new(), "").await;
    site.write("modules/edge/main.tf", MODULE);
    let edge = block("edge", "./modules/edge", &["web"], "approval = \"always\"");
    let blocks = format!("{SECURITY}{edge}");
    site.configure(&consul.address(), Backend::Shared, &blocks);
    let instance = Instance::start_embedded(&site).await;
    Scene {
        instance,
        site,
        consul,
    }
}

/// The first effect of the list that has this member.
async fn listed(scene: &Scene, token: &str, member: &str) -> Result<Value, String> {
    let list = ask(scene, "GET", "/v1/approvals", token).await.expect(200);
    let mut effects = list["approvals"].as_array().unwrap().iter();
    let found = effects.find(|effect| !effect[member].is_null());
    found.cloned().ok_or_else(|| list.to_string())
}

async fn approve(scene: &Scene, asked: &Value, token: &str) -> Answer {
    let path = format!(
        "/v1/approvals/{}/approve",
        asked["run_id"].as_str().unwrap()
    );
    let request = Request::new("POST", &path).json(&json!({"effect": asked["effect"]}));
    let request = request.header("Authorization", &format!("Bearer {token}"));
    scene.send(&request).await
}

#[track_caller]
fn assert_hides(what: &str, text: &str) {
    let shown = PLANTED.iter().find(|planted| text.contains(**planted));
    assert_eq!(shown, None, "{what}: {text}");
}

#[tokio::test]
async fn plans_and_logs_have_values_for_those_who_operate_or_approve() {
    let scene = scene().await;
    let reader = token(&scene, "dashboard", "read", &[]).await;
    let operator = token(&scene, "ci", "operate", &[]).await;
    let approver = token(&scene, "oncall", "approve", &[]).await;
    eventually(DEADLINE, async || listed(&scene, &reader, "effect").await).await;

    // A requested run with a further instance has a different effect.
    scene.register("web", "web-2").await;
    let asked = eventually(DEADLINE, async || {
        ask(&scene, "PATCH", "/v1/tasks/edge?run=now", &operator).await;
        listed(&scene, &reader, "differs").await
    })
    .await;
    let differs = asked["differs"].to_string();
    assert_contains(&differs, ["terraform_data.planted: ", "(hidden)"]);
    let run = asked["run_id"].as_str().unwrap();

    let path = "/v1/tasks/edge?run=inspect";
    let inspected = eventually(DEADLINE, async || {
        let answer = ask(&scene, "PATCH", path, &operator).await;
        match answer.status {
            200 => Ok(answer.text()),
            _ => Err(answer.to_string()),
        }
    })
    .await;
    assert_contains(&inspected, PLANTED);
    let runs = ask(&scene, "GET", "/v1/runs?task=edge", &reader).await;
    let runs = runs.expect(200)["runs"].as_array().unwrap().clone();
    let inspection = runs.iter().find(|run| run["kind"] == "plan").unwrap();
    let inspection = inspection["id"].as_str().unwrap();

    let plans = [run, inspection].map(|run| format!("/v1/runs/{run}/plan"));
    let text = format!("/v1/runs/{inspection}?include=cause,attempts");
    let logs = [run, inspection].map(|run| format!("/v1/runs/{run}/log"));
    for token in [&operator, &approver] {
        for path in plans.iter().chain([&text]).chain(&logs) {
            let answer = ask(&scene, "GET", path, token).await;
            assert_eq!(answer.status, 200, "{path}: {answer}");
            assert_contains(&answer.text(), PLANTED);
        }
    }
    for path in &plans {
        let plan = ask(&scene, "GET", path, &reader).await.expect(200)["plan"].clone();
        assert_eq!(plan["counts"]["created"], 1, "{plan}");
        assert_contains(
            &plan.to_string(),
            ["terraform_data.planted", "\"hidden\":true"],
        );
    }
    let shown = ask(&scene, "GET", &text, &reader).await.expect(200);
    assert_contains(&shown["run"]["plan"].to_string(), ["security.plan_values"]);
    for path in logs
        .iter()
        .flat_map(|log| [log.clone(), format!("{log}?follow=true")])
    {
        let refused = ask(&scene, "GET", &path, &reader).await.refused(403);
        assert_contains(&refused, ["security.plan_values"]);
    }
    // Whatever else readers and the command line see has no values, either.
    let approval = format!("/v1/approvals/{run}");
    let waiting = format!("/v1/runs/{run}?include=cause,attempts");
    let others = [
        &*approval,
        &*waiting,
        "/v1/approvals",
        "/v1/runs?task=edge",
        "/v1/tasks",
        "/v1/tasks/edge/explain",
        "/v1/status",
        "/v1/status/tasks?include=events",
        "/v1/overview",
        "/v1/overview/tasks",
    ];
    let paths = plans.iter().chain([&text]).map(String::as_str);
    for path in paths.chain(others) {
        let answer = ask(&scene, "GET", path, &reader).await;
        assert_eq!(answer.status, 200, "{path}: {answer}");
        assert_hides(path, &answer.text());
    }
    for (words, code) in [
        (["runs", "plan", run], 0),
        (["runs", "show", inspection], 0),
        (["approvals", "show", run], 0),
        (["task", "explain", "edge"], 0),
        (["runs", "logs", run], 11),
    ] {
        let (found, output, messages) = cts(&scene, &reader, &words).await;
        assert_eq!(found, Some(code), "{words:?}: {output}{messages}");
        assert_hides(words[1], &[output, messages].concat());
    }
    let (_, output, messages) = cts(&scene, &approver, &["approvals", "show", run]).await;
    assert_contains(&[output, messages].concat(), PLANTED);

    for (token, status) in [(&reader, 403), (&operator, 403), (&approver, 200)] {
        let answer = approve(&scene, &asked, token).await;
        assert_eq!(answer.status, status, "{answer}");
    }
    eventually(DEADLINE, async || {
        let list = ask(&scene, "GET", "/v1/approvals", &reader)
            .await
            .expect(200);
        // The first effect is gone, and is listed for two minutes.
        let mut effects = list["approvals"].as_array().unwrap().iter();
        let is_listed = effects.any(|effect| effect["effect"] == asked["effect"]);
        met(!is_listed, list)
    })
    .await;
    ask(&scene, "GET", &logs[0], &reader).await.refused(403);
    scene.instance.stop().await;
}
