//! Tokens that are limited to some tasks (docs/access.md#roles).

use cts_testkit::eventually;
use cts_tests::{Backend, DEADLINE, Instance, Site, met, task as block};
use serde_json::Value;

use super::{REQUIRED, ask, cts, token};
use crate::api::scene::{Scene, prepare};

/// Names that no text contains by chance.
const NAMES: [&str; 2] = ["falcon", "osprey"];

const HIDDEN: &str = "another task has its concurrency group \\\"fw\\\"";

/// Starts `cts` with the tasks [`NAMES`], of which those in `sound` have a module. Their runs wait for a release.
async fn scene(sound: &[&str], keys: &str) -> Scene {
    let (site, consul) = prepare(Site::new(), "").await;
    for name in sound {
        site.write_steps(name);
    }
    site.hold();
    let tasks = NAMES.map(|name| block(name, &format!("./modules/{name}"), &["web"], keys));
    let tasks = format!("{REQUIRED}{}", tasks.concat());
    site.configure(&consul.address(), Backend::Shared, &tasks);
    let instance = Instance::start_embedded(&site).await;
    Scene {
        instance,
        site,
        consul,
    }
}

/// The body of an answer with 200.
async fn text(scene: &Scene, path: &str, token: &str) -> String {
    let answer = ask(scene, "GET", path, token).await;
    assert_eq!(answer.status, 200, "{path}");
    String::from_utf8(answer.body).unwrap()
}

#[tokio::test]
async fn a_limited_token_does_not_learn_which_task_its_own_waits_for() {
    let scene = scene(&NAMES, "concurrency_group = \"fw\"").await;
    let reader = token(&scene, "all", "read", &[]).await;
    let text = async |path: &str, token: &str| text(&scene, path, token).await;
    let explain = |name: &str| format!("/v1/tasks/{name}/explain");
    let (waiting, holder) = eventually(DEADLINE, async || {
        for [waiting, holder] in [NAMES, [NAMES[1], NAMES[0]]] {
            let said = text(&explain(waiting), &reader).await;
            if said.contains(&format!("task {holder} of its concurrency group")) {
                return Ok((waiting, holder));
            }
        }
        Err("no task waits for the other one")
    })
    .await;
    let own = token(&scene, "team", "operate", &["-tasks", waiting]).await;
    let runs: Value = serde_json::from_str(&text("/v1/runs", &own).await).unwrap();
    let runs = runs["runs"].as_array().unwrap();
    assert!(!runs.is_empty() && runs.iter().all(|run| run["task_name"] == waiting));
    let run = runs[0]["id"].as_str().unwrap();
    let mut texts = Vec::new();
    for path in [explain(waiting), format!("/v1/runs/{run}")] {
        let said = text(&path, &own).await;
        assert!(said.contains(HIDDEN), "{path}: {said}");
        texts.push(said);
        let said = text(&path, &reader).await;
        assert!(said.contains(holder), "{path}: {said}");
    }
    for path in [
        "/v1/tasks",
        "/v1/status/tasks?include=events",
        "/v1/overview/tasks",
        "/v1/runs",
    ] {
        texts.push(text(path, &own).await);
    }
    for words in [
        &["task", "explain", waiting][..],
        &["runs", "show", run],
        &["task", "list"],
        &["runs", "list"],
    ] {
        let (_code, output, messages) = cts(&scene, &own, words).await;
        texts.extend([output, messages]);
    }
    for said in texts {
        assert!(!said.contains(holder), "{said}");
    }
    scene.site.release();
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_limited_token_learns_the_problem_of_its_own_module_alone() {
    let [sound, broken] = NAMES;
    let scene = scene(&[sound], "").await;
    scene.site.release();
    let reader = token(&scene, "all", "read", &[]).await;
    let of_sound = token(&scene, "sound", "operate", &["-tasks", sound]).await;
    let of_broken = token(&scene, "broken", "operate", &["-tasks", broken]).await;
    let text = async |path: &str, token: &str| text(&scene, path, token).await;
    let problem = format!("modules/{broken}");
    let state = format!("/v1/status/tasks/{broken}?include=events");
    for token in [&reader, &of_broken] {
        eventually(DEADLINE, async || {
            let said = text(&state, token).await;
            met(said.contains(&problem), said)
        })
        .await;
    }
    let update = format!("/v1/tasks/{broken}?run=now");
    let refused = ask(&scene, "PATCH", &update, &of_broken).await;
    let status = refused.status;
    let said = String::from_utf8(refused.body).unwrap();
    assert!(status >= 400 && said.contains(broken), "{status}: {said}");

    for method in ["GET", "PATCH", "DELETE"] {
        let answer = ask(&scene, method, &format!("/v1/tasks/{broken}"), &of_sound).await;
        assert_eq!(answer.status, 403, "{method}");
    }
    let mut texts = Vec::new();
    for path in [
        "/v1/health",
        "/v1/status",
        "/v1/tasks",
        "/v1/status/tasks?include=events",
        "/v1/overview/tasks",
        "/v1/runs",
        &format!("/v1/tasks/{sound}/explain"),
    ] {
        texts.push(text(path, &of_sound).await);
    }
    for words in [&["task", "list"][..], &["runs", "list"]] {
        let (_code, output, messages) = cts(&scene, &of_sound, words).await;
        texts.extend([output, messages]);
    }
    for said in texts {
        assert!(!said.contains(broken), "{said}");
    }
    scene.instance.stop().await;
}
