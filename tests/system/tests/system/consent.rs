//! Effects that wait for the consent of a person (docs/runs.md#consent).

use cts_testkit::{assert_contains, eventually};
use cts_tests::{DEADLINE, Shape, executable, met, task};
use serde_json::{Value, json};

use crate::api::program::{CommandOutput, call};
use crate::api::scene::{MODULE, Scene};
use crate::api::wire::{Answer, Request};

const ALWAYS: &str = "approval = \"always\"";

async fn cts(scene: &Scene, arguments: &[&str]) -> CommandOutput {
    call(scene, &executable("cts"), arguments).await
}

/// Calls `cts approvals` on the database of the system.
async fn locally(scene: &Scene, words: &[&str]) -> CommandOutput {
    let mut all = [&["approvals"], words, &["-config-file=cts.hcl"]].concat();
    if Shape::of_this_run() == Shape::Cluster {
        all.push("-config-file=database.hcl");
    }
    cts(scene, &all).await
}

/// The only effect of the task in this state, once there is one.
pub(crate) async fn effect(scene: &Scene, name: &str, state: &str) -> Value {
    let path = format!("/v1/approvals?task={name}");
    eventually(DEADLINE, async || {
        let list = scene.instance.api.get(&path).await;
        let found = list["approvals"].as_array().unwrap().iter();
        let found: Vec<&Value> = found.filter(|it| it["state"] == state).collect();
        match *found {
            [one] => Ok(one.clone()),
            _ => Err(format!("not one {state}: {list}")),
        }
    })
    .await
}

async fn decide(scene: &Scene, approval: &Value, word: &str, comment: &str) -> Answer {
    let run = approval["run_id"].as_str().unwrap();
    let body = json!({"effect": approval["effect"], "comment": comment});
    let path = format!("/v1/approvals/{run}/{word}");
    scene.send(&Request::new("POST", &path).json(&body)).await
}

pub(crate) async fn approve(scene: &Scene, approval: &Value) {
    decide(scene, approval, "approve", "").await.expect(200);
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap()
}

#[tokio::test]
async fn nothing_is_applied_before_a_person_has_approved_its_effect() {
    let scene = Scene::with(&task("asks", MODULE, &["web"], ALWAYS)).await;
    let asked = effect(&scene, "asks", "waiting").await;
    assert_eq!(asked["counts"]["created"], 1, "{asked}");
    let (run, fingerprint) = (text(&asked, "run_id"), text(&asked, "effect"));
    // The worker gives its lease back after the answer.
    let explanation = eventually(DEADLINE, async || {
        let answer = scene.instance.api.get("/v1/tasks/asks/explain").await;
        let explanation = answer["explanation"].clone();
        let waits = explanation["state"]["name"] == "waiting";
        waits.then(|| explanation.clone()).ok_or(explanation)
    })
    .await;
    let kinds = explanation["obstacles"].as_array().unwrap().iter();
    let kinds: Vec<&Value> = kinds.map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["approval"], "{explanation}");
    let status = cts(&scene, &["status"]).await;
    // The problem comes first, below the header.
    assert_contains(status.text.lines().nth(1).unwrap_or_default(), ["approval"]);
    let shown = cts(&scene, &["approvals", "show", run]).await;
    shown.well(&[fingerprint, "1 to create", "+ "]);
    let wrong = ["approvals", "approve", run, "-effect", "0000"];
    cts(&scene, &wrong).await.failed(11, &[fingerprint]);

    // The run and its question outlast a restart.
    let scene = scene.restart().await;
    assert_eq!(effect(&scene, "asks", "waiting").await["run_id"], run);
    let events = scene.instance.api.events("asks").await;
    assert!(events.is_empty(), "{events:?}");
    cts(
        &scene,
        &["approvals", "approve", run, "-effect", fingerprint],
    )
    .await
    .well(&["approved"]);
    scene.site.wait_for_ids("asks", &["web-1"]).await;
    let list = scene.instance.api.get("/v1/approvals").await;
    assert_eq!(list["approvals"], json!([]), "{list}");
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_rejected_effect_is_not_asked_for_again_until_it_is_reopened() {
    let scene = Scene::with(&task("asks", MODULE, &["web"], ALWAYS)).await;
    approve(&scene, &effect(&scene, "asks", "waiting").await).await;
    scene.site.wait_for_ids("asks", &["web-1"]).await;
    scene.register("web", "web-2").await;
    let asked = effect(&scene, "asks", "waiting").await;
    decide(&scene, &asked, "reject", "not at night")
        .await
        .expect(200);
    let events = scene.instance.api.wait_for_events("asks", 2).await;
    let error = text(&events[0]["error"], "message");
    assert_contains(error, ["rejected by", "not at night"]);
    cts(&scene, &["task", "run", "asks"])
        .await
        .failed(11, &["rejected by", "not at night"]);
    let again = decide(&scene, &asked, "approve", "").await;
    assert_eq!(again.status, 409, "{again}");
    scene.site.wait_for_ids("asks", &["web-1"]).await;

    cts(&scene, &["approvals", "reopen", "asks"])
        .await
        .well(&["asks"]);
    let asked = effect(&scene, "asks", "waiting").await;
    approve(&scene, &asked).await;
    scene.site.wait_for_ids("asks", &["web-1", "web-2"]).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn decisions_in_the_database_itself_reach_the_running_system() {
    let scene = Scene::with(&task("asks", MODULE, &["web"], ALWAYS)).await;
    let asked = effect(&scene, "asks", "waiting").await;
    let (run, fingerprint) = (text(&asked, "run_id"), text(&asked, "effect"));
    let reject = ["reject", run, "-effect", fingerprint, "-comment=not now"];
    locally(&scene, &reject).await.well(&["is rejected"]);
    let events = scene.instance.api.wait_for_events("asks", 1).await;
    let error = text(&events[0]["error"], "message");
    assert_contains(error, ["rejected by", "not now"]);
    locally(&scene, &["reopen", "asks"])
        .await
        .well(&["runs and asks again"]);
    let asked = effect(&scene, "asks", "waiting").await;
    let (run, fingerprint) = (text(&asked, "run_id"), text(&asked, "effect"));
    let approve = ["approve", run, "-effect", fingerprint];
    locally(&scene, &approve).await.well(&["is approved until"]);
    scene.site.wait_for_ids("asks", &["web-1"]).await;

    // A set, for a task that has applied.
    scene.register("web", "web-2").await;
    effect(&scene, "asks", "waiting").await;
    let set = scene.instance.api.get("/v1/approvals").await;
    let approve = ["approve", "a*", "-set", text(&set, "set")];
    locally(&scene, &approve)
        .await
        .well(&["Approved: 1 (asks)"]);
    scene.site.wait_for_ids("asks", &["web-1", "web-2"]).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn only_what_destroys_waits_and_an_effect_that_is_gone_comes_back() {
    // The module replaces an object with each change, and makes one at first.
    let site = cts_tests::Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "approval = \"destroy\"");
    let scene = Scene::of_site(site, &pool).await;
    scene.instance.api.wait_for_events("pool", 1).await;
    scene.register("web", "web-2").await;
    let asked = effect(&scene, "pool", "waiting").await;
    assert_eq!(asked["counts"]["replaced"], 1, "{asked}");
    // A change before the worker has given the run back would be a run of its own.
    let path = format!("/v1/runs/{}", text(&asked, "run_id"));
    eventually(DEADLINE, async || {
        let run = scene.instance.api.get(&path).await;
        met(run["run"]["status"] == "queued", run.to_string())
    })
    .await;

    scene.consul.deregister("web-2").await;
    eventually(DEADLINE, async || {
        let now = effect(&scene, "pool", "waiting").await;
        now.get("gone_at").map(drop).ok_or(now)
    })
    .await;
    approve(&scene, &asked).await;
    let events = scene.instance.api.events("pool").await;
    assert_eq!(events.len(), 1, "{events:?}");
    scene.register("web", "web-2").await;
    scene.site.wait_for_step("pool", "end", "web-1,web-2").await;
    let run = scene.instance.api.get("/v1/runs?task=pool&limit=1").await;
    assert_eq!(run["runs"][0]["id"], asked["run_id"], "{run}");
    scene.instance.stop().await;
}
