//! Tokens that are limited to some tasks (docs/access.md#roles).

use cts_testkit::{ConsulAgent, NewerConsul, access_control, eventually};
use cts_tests::{Backend, DEADLINE, Instance, Site, ids_of, met, recorded_services, task as block};
use serde_json::{Value, json};

use super::{REQUIRED, ask, cts, token};
use crate::any_shape::aliases_and_ports;
use crate::any_shape::providers::provider_environment;
use crate::api::scene::{Scene, prepare};
use crate::api::wire::Request;

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
        "/v1/overview",
        "/v1/overview/tasks",
        "/v1/overview/tasks?search=",
        "/v1/runs",
    ] {
        texts.push(text(path, &own).await);
    }
    for words in [
        &["task", "explain", waiting][..],
        &["runs", "show", run],
        &["task", "list"],
        &["task", "list", "-page=1"],
        &["status"],
        &["workers", "list"],
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
        "/v1/overview",
        "/v1/overview/tasks",
        "/v1/overview/tasks?search=",
        "/v1/runs",
        &format!("/v1/tasks/{sound}/explain"),
    ] {
        texts.push(text(path, &of_sound).await);
    }
    for words in [&["task", "list"][..], &["status"], &["runs", "list"]] {
        let (_code, output, messages) = cts(&scene, &of_sound, words).await;
        texts.extend([output, messages]);
    }
    for said in texts {
        assert!(!said.contains(broken), "{said}");
    }
    scene.instance.stop().await;
}

/// A token of Consul that shows one of two services.
const CONSUL_TOKEN: &str = "0d2a9c54-6d0b-4a5f-8f0e-3c1f7b9e2a61";

#[tokio::test]
async fn a_limited_token_makes_a_task_with_aliases_and_ports_of_the_services_that_consul_shows() {
    let agent = ConsulAgent::start_with(access_control()).await;
    let consul = NewerConsul::start(agent.address(), "1.22.0").await;
    aliases_and_ports::register(&agent, "web-1").await;
    agent.register_service("api", "api-1", 2, &[], &[]).await;
    let rules = "service \"api\" { policy = \"deny\" }";
    agent.make_token(CONSUL_TOKEN, rules).await;
    let mut site = Site::new();
    site.set_environment("CONSUL_HTTP_TOKEN", CONSUL_TOKEN);
    site.write("modules/edge/main.tf", &aliases_and_ports::module());
    let driver = site.shared_backend() + provider_environment::REQUIRED;
    let tasks = format!("{REQUIRED}{}", aliases_and_ports::TASK);
    site.configure_driver(&consul.address(), &driver, &tasks);
    let scene = Scene {
        instance: Instance::start_embedded(&site).await,
        site,
        consul: agent,
    };
    let team = token(&scene, "team", "admin", &["-tasks=team-*"]).await;
    let create = async |name: &str| {
        let task = json!({"task": {
            "name": name, "module": "./modules/edge",
            "providers": ["terraform.north", "terraform.south"],
            "condition": {"services": {"names": ["api", "web"]}},
        }});
        let request = Request::new("POST", "/v1/tasks?run=now").json(&task);
        let request = request.header("Authorization", &format!("Bearer {team}"));
        scene.send(&request).await
    };
    let made = create("team-edge").await;
    assert_eq!(made.status, 201, "{made}");
    let state = scene.site.state("team-edge").await.unwrap();
    aliases_and_ports::assert_ports(&state, "web-1");
    assert_eq!(ids_of(&recorded_services(&state).unwrap()), ["web-1"]);
    let refused = create("edge-2").await;
    assert_eq!(refused.status, 403, "{refused}");
    let other = ask(&scene, "GET", "/v1/tasks/edge", &team).await;
    assert_eq!(other.status, 403, "{other}");
    let inspected = ask(&scene, "PATCH", "/v1/tasks/team-edge?run=inspect", &team).await;
    assert_eq!(inspected.status, 200, "{inspected}");
    scene.instance.stop().await;
}
