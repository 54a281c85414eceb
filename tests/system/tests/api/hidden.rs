//! Tokens and passwords in a task itself: every reader of tasks sees a mask in their place.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use cts_testkit::assert_contains;
use cts_tests::{Shape, Site, executable, task as block};
use serde_json::{Value, json};

use crate::api::program::call;
use crate::api::scene::{MODULE, Scene, task};
use crate::api::wire::Request;
use crate::system::secrets::files_below;

const TOKEN: &str = "a-token-of-git-4711";
const KEY: &str = "bm90LWEta2V5LWF0LWFsbA";
const PASSWORD: &str = "correct-horse-battery";
const SECRETS: [&str; 3] = [TOKEN, KEY, PASSWORD];

/// A module source at an address without a listener.
fn source() -> String {
    format!("git::http://{TOKEN}@127.0.0.1:9/web.git?sshkey={KEY}")
}

fn assert_none(text: &str, place: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is in {place}: {text}");
    }
}

fn variables(password: &str) -> String {
    format!("variables = {{\n    password = \"\\\"{password}\\\"\"\n    size = \"3\"\n  }}")
}

async fn scene() -> Scene {
    let site = Site::new();
    let declares =
        "variable \"services\" { type = any }\nvariable \"password\" {}\nvariable \"size\" {}\n";
    site.write("modules/sized/main.tf", declares);
    let tasks = [
        block("fetched", &source(), &["web"], ""),
        block("sized", "./modules/sized", &["web"], &variables(PASSWORD)),
    ];
    Scene::of_site(site, &tasks.concat()).await
}

#[tokio::test]
async fn secrets_in_a_task_are_shown_to_nobody() {
    let scene = scene().await;
    let api = &scene.instance.api;
    api.wait_for_events("sized", 1).await;
    let events = api.wait_for_events("fetched", 1).await;
    assert_eq!(events[0]["success"], false, "{events:?}");
    let runs = api.get("/v1/runs").await;
    assert_none(&runs.to_string(), "the list of runs");
    let mut paths: Vec<String> = [
        "/v1/status/tasks?include=events",
        "/v1/tasks",
        "/v1/tasks/fetched",
        "/v1/tasks/fetched/explain",
        "/v1/tasks/sized",
    ]
    .map(str::to_owned)
    .into();
    for run in runs["runs"].as_array().unwrap() {
        let id = run["id"].as_str().unwrap();
        paths.extend([format!("/v1/runs/{id}"), format!("/v1/runs/{id}/log")]);
    }
    for path in paths {
        let answer = scene.ask("GET", &path).await;
        assert_eq!(answer.status, 200, "{path}: {answer}");
        assert_none(&answer.to_string(), &path);
    }
    let shown = scene.ask("GET", "/v1/tasks/fetched").await.expect(200);
    let module = "git::http://(hidden)@127.0.0.1:9/web.git?sshkey=(hidden)";
    assert_eq!(shown["task"]["module"], module);
    let variables = scene.ask("GET", "/v1/tasks/sized").await.expect(200);
    let expected = json!({"password": "(hidden)", "size": "3"});
    assert_eq!(variables["task"]["variables"], expected);

    for query in ["", "?run=now", "?run=inspect"] {
        let failed = scene.create(&task("made", &source()), query).await;
        assert!(failed.status >= 400, "{failed}");
        assert_none(&failed.to_string(), "a refusal");
    }
    assert_none(&scene.instance.output(), "the log");
    let directory = scene.site.path().join("work/fetched");
    if Shape::of_this_run() == Shape::Embedded {
        let mode =
            |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&directory.join("main.tf")), 0o600);
        for file in files_below(&directory) {
            let text = fs::read(&file).unwrap();
            let text = String::from_utf8_lossy(&text);
            let holds = SECRETS.iter().any(|secret| text.contains(secret));
            assert!(!holds || file.ends_with("main.tf"), "{file:?}");
        }
    }
}

#[tokio::test]
async fn a_mask_is_no_value() {
    let scene = scene().await;
    scene.instance.api.wait_for_events("sized", 1).await;
    for name in ["fetched", "sized"] {
        let shown = scene.ask("GET", &format!("/v1/tasks/{name}")).await;
        let revision = shown.header("ETag").unwrap().to_owned();
        let sent = shown.expect(200)["task"].clone();
        let target = format!("/v1/tasks/{name}");
        let put = Request::new("PUT", &target)
            .header("If-Match", &revision)
            .json(&json!({"task": sent}));
        let put = scene.send(&put).await;
        assert!((400..=500).contains(&put.status), "{put}");
        let said = put.message();
        assert_contains(&said, ["has (hidden) in it, which stands for a secret"]);
        let mut created = sent;
        created["name"] = json!("copied");
        let refused = scene.create(&created, "").await;
        assert_contains(refused.message(), ["has (hidden) in it"]);
    }
    let names = scene.names().await;
    assert!(!names.contains(&"copied".to_owned()), "{names:?}");
}

#[tokio::test]
async fn a_changed_secret_is_a_difference_that_is_not_told() {
    let scene = scene().await;
    scene.instance.api.wait_for_events("sized", 1).await;
    let tasks = [
        block(
            "fetched",
            &source().replace(TOKEN, "another-token"),
            &["web"],
            "",
        ),
        block(
            "sized",
            "./modules/sized",
            &["web"],
            &variables("another-password"),
        ),
        block("more", MODULE, &["web"], "enabled = false"),
    ];
    scene.configure(&tasks.concat());
    let mut words = vec!["config", "diff", "-config-file=cts.hcl"];
    if Shape::of_this_run() == Shape::Cluster {
        words.push("-config-file=database.hcl");
    }
    let said = call(&scene, &executable("cts"), &words).await;
    said.failed(
        2,
        &[
            "    module: changed (hidden)\n",
            "    variables.password: changed (hidden)\n",
        ],
    );
    assert_none(&said.text, "the difference");
    assert!(!said.text.contains("another-"), "{said}");
    words.extend(["-o", "json"]);
    let said = call(&scene, &executable("cts"), &words).await;
    assert_none(&said.text, "the difference");
    let document: Value = serde_json::from_str(&said.text).unwrap();
    let member = &document["tasks"][0]["members"][0];
    let hidden = "git::http://(hidden)@127.0.0.1:9/web.git?sshkey=(hidden)";
    assert_eq!(
        *member,
        json!({"member": "module", "stored": hidden, "configured": hidden})
    );
}
