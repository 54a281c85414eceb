//! Tasks made over the API (docs/rest.md#creating-a-task).

use cts_testkit::{assert_contains, eventually};
use cts_tests::{DEADLINE, Site};
use serde_json::json;

use crate::api::row::request_id;
use crate::api::scene::{MODULE, Scene, task, task_on};

/// A scene without tasks whose site has a module of its own for each of these.
async fn with_modules(names: &[&str]) -> Scene {
    let site = Site::new();
    for name in names {
        site.write_steps(name);
    }
    Scene::of_site(site, "").await
}

fn module(name: &str) -> String {
    format!("./modules/{name}")
}

#[tokio::test]
async fn without_a_run_a_task_is_made_ready_and_applies_at_its_next_trigger() {
    let scene = with_modules(&["later"]).await;
    let created = scene
        .create(&task("later", &module("later")), "")
        .await
        .expect(201);
    request_id(&created).unwrap();
    let expected = json!({
        "condition": {"services": {
            "cts_user_defined_meta": {}, "datacenter": "", "filter": "", "names": ["web"],
            "namespace": "", "use_as_module_input": true,
        }},
        "description": "", "enabled": true, "module": "./modules/later", "module_input": {},
        "name": "later", "providers": [], "variables": {}, "version": "",
    });
    assert_eq!(created["task"], expected);
    assert_eq!(created.as_object().unwrap().len(), 2);
    let asked = scene.ask("GET", "/v1/tasks/later").await.expect(200);
    assert_eq!(asked["task"], expected);
    let written = scene.site.work().join("later/terraform.tfvars");
    let written = std::fs::read_to_string(written).unwrap();
    assert!(written.contains("web-1"), "its data is rendered: {written}");
    let status = scene.instance.api.task_status("later").await;
    assert_eq!(
        (&status["status"], &status["events_url"]),
        (&json!("unknown"), &json!(""))
    );

    // Another task is created completely while this one has no trigger.
    scene
        .create(&task_on("other", MODULE, "api"), "")
        .await
        .expect(201);
    scene.register("api", "api-1").await;
    scene.instance.api.wait_for_events("other", 1).await;
    assert_eq!(scene.steps("later"), 0);
    assert!(scene.instance.api.events("later").await.is_empty());

    scene.register("web", "web-2").await;
    scene
        .site
        .wait_for_step("later", "end", "web-1,web-2")
        .await;
    let events = scene.instance.api.wait_for_events("later", 1).await;
    assert_eq!(events[0]["success"], true);
    assert_eq!(scene.steps("later"), 1);
    scene.instance.stop().await;
}

#[tokio::test]
async fn with_run_now_a_task_is_applied_before_the_answer() {
    let scene = Scene::empty().await;
    let mut wanted = task("at-once", MODULE);
    wanted["description"] = json!("<b> & more");
    wanted["buffer_period"] = json!({"enabled": true, "min": "90s"});
    let created = scene.create(&wanted, "?run=now").await.expect(201);
    let period = json!({"enabled": true, "min": "1m30s", "max": "0s"});
    assert_eq!(created["task"]["buffer_period"], period);
    assert_eq!(created["task"]["description"], "<b> & more");
    scene.site.wait_for_ids("at-once", &["web-1"]).await;
    let events = scene.instance.api.events("at-once").await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["success"], true);
    assert_eq!(
        scene.instance.api.task_status("at-once").await["status"],
        "successful"
    );
    let exit = scene.instance.terminate().await;
    exit.assert_code(0);
    exit.says(["tasksmanager: task was created and run successfully: task_name=at-once"]);
}

#[tokio::test]
async fn an_inspection_shows_a_plan_and_leaves_no_task() {
    let scene = with_modules(&["seen"]).await;
    let mut wanted = task("seen", &module("seen"));
    wanted["buffer_period"] = json!({"min": "10s"});
    for _ in 0..2 {
        let seen = scene.create(&wanted, "?run=inspect").await.expect(200);
        request_id(&seen).unwrap();
        assert_eq!(seen["run"]["changes_present"], true);
        let plan = seen["run"]["plan"].as_str().unwrap();
        assert_contains(&plan, ["Plan: 1 to add, 0 to change, 0 to destroy."]);
        assert!(!plan.contains('\u{1b}'), "no colour");
        let echo = json!({
            "buffer_period": {"min": "10s", "max": "0s"},
            "condition": {"services": {
                "cts_user_defined_meta": {}, "datacenter": "", "filter": "", "names": ["web"],
                "namespace": "", "use_as_module_input": true,
            }},
            "enabled": true, "module": "./modules/seen", "name": "seen",
        });
        assert_eq!(seen["task"], echo, "what was not sent stays absent");
        scene.ask("GET", "/v1/tasks/seen").await.refused(404);
        scene.ask("GET", "/v1/status/tasks/seen").await.refused(404);
    }
    assert_eq!(scene.steps("seen"), 0);
    assert_eq!(scene.names().await, [""; 0]);
    let directory = scene.site.work().join("seen");
    assert!(directory.exists(), "the directory stays");
    scene.create(&wanted, "?run=now").await.expect(201);
    assert_eq!(scene.steps("seen"), 1);
    scene.instance.stop().await;
}

#[tokio::test]
async fn variables_of_a_task_reach_its_module() {
    let site = Site::new();
    let text = "variable \"services\" { type = any }\nvariable \"size\" { type = number }\n\
                variable \"tags\" { type = list(string) }\nresource \"terraform_data\" \"recorded\" {\n\
                input = { size = var.size, tags = var.tags }\n}\n";
    site.write("modules/sized/main.tf", text);
    let scene = Scene::of_site(site, "").await;
    let mut wanted = task("sized", "./modules/sized");
    wanted["variables"] = json!({"size": "3", "tags": "[\"a\", \"b\"]"});
    let created = scene.create(&wanted, "?run=now").await.expect(201);
    let shown = &created["task"]["variables"];
    assert_eq!(shown["size"], "3");
    let tags = shown["tags"].as_str().unwrap();
    // An equal value; its spaces do not matter.
    assert_eq!(tags.split_whitespace().collect::<String>(), "[\"a\",\"b\"]");
    eventually(DEADLINE, async || {
        let recorded = scene.site.recorded("sized")?;
        if recorded == json!({"size": 3, "tags": ["a", "b"]}) {
            Ok(())
        } else {
            Err(recorded.to_string())
        }
    })
    .await;
    scene.instance.stop().await;
}
