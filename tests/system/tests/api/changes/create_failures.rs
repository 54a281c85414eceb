//! Tasks that cannot be created: the status depends on the query, the answer names the cause, and no task is
//! left.

use cts_tests::{Backend, RECORDER, Site, recorded_services};
use serde_json::{Value, json};

use crate::api::scene::{MODULE, Scene, task};

const NO_SERVICES: &str = "resource \"terraform_data\" \"recorded\" { input = 1 }\n";
const NO_SYNTAX: &str = "variable \"services\" { type = any\n";
const NO_SUCH_RESOURCE: &str =
    "variable \"services\" { type = any }\noutput \"x\" { value = local.nowhere }\n";
const FAILS_TO_APPLY: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "recorded" {
  input = var.services
}

resource "terraform_data" "fails" {
  depends_on = [terraform_data.recorded]

  provisioner "local-exec" {
    command = "echo the load balancer says no >&2; exit 7"
  }
}
"#;

async fn scene() -> Scene {
    let site = Site::new();
    site.write("modules/no-services/main.tf", NO_SERVICES);
    site.write("modules/no-syntax/main.tf", NO_SYNTAX);
    site.write("modules/no-such-resource/main.tf", NO_SUCH_RESOURCE);
    site.write("modules/fails-to-apply/main.tf", FAILS_TO_APPLY);
    site.write("modules/empty/README.md", "nothing here\n");
    Scene::of_site(site, "").await
}

async fn refused_in_every_mode(scene: &Scene, task: &Value, parts: &[&str]) {
    for (query, status) in [("", 500), ("?run=now", 500), ("?run=inspect", 400)] {
        let answer = scene.create(task, query).await;
        let message = answer.refused(status);
        for part in parts {
            assert!(message.contains(part), "{query}: no {part:?} in {message}");
        }
    }
    let name = task["name"].as_str().unwrap();
    scene
        .ask("GET", &format!("/v1/tasks/{name}"))
        .await
        .refused(404);
}

#[tokio::test]
async fn a_module_that_terraform_refuses_leaves_no_task() {
    let scene = scene().await;
    let bad = |module: &str| task("bad", &format!("./modules/{module}"));
    refused_in_every_mode(&scene, &bad("no-services"), &["bad", "services"]).await;
    refused_in_every_mode(&scene, &bad("no-syntax"), &[]).await;
    refused_in_every_mode(&scene, &bad("no-such-resource"), &["local"]).await;
    refused_in_every_mode(&scene, &bad("missing"), &["missing"]).await;
    refused_in_every_mode(&scene, &bad("empty"), &[]).await;
    let mut undeclared = task("bad", MODULE);
    undeclared["variables"] = json!({"undeclared": "1"});
    refused_in_every_mode(&scene, &undeclared, &["undeclared"]).await;
    // A disabled task is refused too, because its module is checked all the same.
    let mut off = bad("no-services");
    off["enabled"] = json!(false);
    refused_in_every_mode(&scene, &off, &["services"]).await;
    assert_eq!(scene.names().await, [""; 0]);
    // The name is free.
    scene
        .create(&task("bad", MODULE), "?run=now")
        .await
        .expect(201);
    scene.instance.stop().await;
}

#[tokio::test]
async fn an_apply_that_fails_leaves_what_it_has_made_but_no_task() {
    let scene = scene().await;
    let bad = task("bad", "./modules/fails-to-apply");
    scene.create(&bad, "?run=inspect").await.expect(200);
    let message = scene.create(&bad, "?run=now").await.refused(500);
    assert!(message.contains("the load balancer says no"), "{message}");
    scene.ask("GET", "/v1/tasks/bad").await.refused(404);
    scene.ask("GET", "/v1/status/tasks/bad").await.refused(404);
    let state = std::fs::read(scene.site.state_path("bad")).unwrap();
    let kept = recorded_services(&state).unwrap();
    assert!(kept.to_string().contains("web-1"), "{kept}");
    assert!(scene.site.work().join("bad").exists());

    // Its check says nothing of that, so it is made without a run, and fails when it is triggered.
    let mut later = bad;
    later["buffer_period"] = json!({"enabled": false});
    scene.create(&later, "").await.expect(201);
    scene.register("web", "web-2").await;
    let events = scene.instance.api.wait_for_events("bad", 1).await;
    assert_eq!(events[0]["success"], false);
    assert_eq!(
        scene.instance.api.task_status("bad").await["status"],
        "errored"
    );
    scene.instance.stop().await;
}

/// Consul is not asked: its parser would take a second filter like this for minutes.
#[tokio::test]
async fn a_filter_that_would_keep_consul_busy_is_refused_with_its_position() {
    let scene = scene().await;
    let mut busy = task("busy", MODULE);
    for (filter, reason) in [
        (
            "((((((((((",
            "more than 5 parentheses are open at character 6",
        ),
        (
            "no expression at all ((",
            "`(` at character 23 is not closed",
        ),
    ] {
        busy["condition"]["services"]["filter"] = json!(filter);
        for query in ["", "?run=now", "?run=inspect"] {
            let message = scene.create(&busy, query).await.refused(400);
            assert!(message.contains(reason), "{query}: {message}");
        }
    }
    scene.ask("GET", "/v1/tasks/busy").await.refused(404);
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_state_that_cannot_be_kept_is_an_error_too() {
    let scene = scene().await;
    let consul = scene.consul.address();
    scene.instance.stop().await;
    // Nothing listens there.
    let backend = "backend \"consul\" { address = \"127.0.0.1:1\" }";
    scene.site.configure_driver(&consul, backend, "");
    let instance = cts_tests::Instance::start(&scene.site).await;
    let again = Scene { instance, ..scene };
    let message = again
        .create(&task("lost", MODULE), "?run=now")
        .await
        .refused(500);
    assert!(!message.is_empty());
    again.ask("GET", "/v1/tasks/lost").await.refused(404);
    again.instance.stop().await;
    again.site.configure(&consul, Backend::Shared, "");
}

/// Long before the time for data that only is not there yet.
#[tokio::test]
async fn refusals_of_consul_are_reported_at_once() {
    let scene = Scene::of_site(Site::new(), "").await;
    let mut far = task("far", MODULE);
    far["condition"]["services"]["datacenter"] = json!("nowhere");
    refused_in_every_mode(&scene, &far, &["far", "No path to datacenter"]).await;
    let mut odd = task("odd", MODULE);
    odd["condition"]["services"]["filter"] = json!("Nonsense == 1");
    refused_in_every_mode(&scene, &odd, &["odd", "Nonsense"]).await;
}

#[tokio::test]
async fn a_module_reads_nothing_outside_of_its_roots() {
    let (site, outside) = (Site::new(), Site::new());
    site.write("modules/curious/main.tf", RECORDER);
    let module = site.path().join("modules/curious");
    std::os::unix::fs::symlink("/proc/self/environ", module.join("environment.txt")).unwrap();
    outside.write("modules/theirs/main.tf", RECORDER);
    let scene = Scene::of_site(site, "").await;
    let theirs = outside.path().join("modules/theirs");
    let none = outside.path().join("modules/none");
    for module in [
        "./modules/curious",
        theirs.to_str().unwrap(),
        none.to_str().unwrap(),
    ] {
        let said = cts_core::unusable_module(module);
        refused_in_every_mode(&scene, &task("curious", module), &[&said]).await;
    }
    let log = scene.instance.output();
    for said in [
        "is in no module root: add module_roots = [",
        "which the kernel makes up and no module root holds",
    ] {
        assert!(log.contains(said), "no {said:?} in {log}");
    }
    assert!(!log.contains("TEST_SITE="), "{log}");
}

/// The directory of a task has its variables and its state.
#[tokio::test]
async fn the_working_directory_of_a_task_is_no_module() {
    for more in ["", "security { module_sources = [\"./\"] }\n"] {
        let scene = Scene::of_site(Site::new(), more).await;
        let created = scene.create(&task("secret", MODULE), "?run=now").await;
        created.expect(201);
        let root = scene.site.path();
        let entries = std::fs::read_dir(root).unwrap();
        let mut entries = entries.map(|entry| entry.unwrap().path().join("secret"));
        let directory = entries.find(|path| path.join("main.tf").exists());
        let directory = directory.expect("the task has run in its directory");
        let inside = directory.strip_prefix(root).unwrap();
        let relative = format!("./{}", inside.display());
        let link = root.join("modules/linked");
        std::os::unix::fs::symlink(&directory, link).unwrap();
        for module in [
            relative.as_str(),
            directory.to_str().unwrap(),
            "./modules/linked",
        ] {
            let said = cts_core::unusable_module(module);
            refused_in_every_mode(&scene, &task("curious", module), &[&said]).await;
        }
        let log = scene.instance.output();
        let said = "is in the working directory of a task, which has its secrets";
        assert!(log.contains(said), "no {said:?} in {log}");
        scene.instance.stop().await;
    }
}
