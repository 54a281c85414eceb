//! Authentication end to end: tokens of `cts token`, requests, the command line and the audit records (docs/access.md).

mod limited;
mod local_decisions;
mod mcp;
mod page;
mod plan_values;
mod sessions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use cts_testkit::eventually;
use cts_tests::{Backend, DEADLINE, Instance, Site, executable, task as block};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::api::scene::{MODULE, Scene, prepare};
use crate::api::wire::{Answer, Request};

const REQUIRED: &str = "security {\n  require_auth = true\n}\n";

/// One process that requires authentication, with the tasks `web` and `dns`.
async fn scene() -> Scene {
    let tasks = ["web", "dns"].map(|name| block(name, MODULE, &["web"], ""));
    scene_of(&tasks.concat()).await
}

/// One process that requires authentication, with these tasks.
async fn scene_of(tasks: &str) -> Scene {
    let (site, consul) = prepare(Site::new(), "").await;
    let blocks = format!("{REQUIRED}{tasks}");
    site.configure(&consul.address(), Backend::Shared, &blocks);
    let instance = Instance::start_embedded(&site).await;
    Scene {
        instance,
        site,
        consul,
    }
}

/// Calls `cts` with `CTS_TOKEN`; its exit code, output and messages.
async fn cts(scene: &Scene, token: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(executable("cts"));
    command
        .args(arguments)
        .current_dir(scene.site.path())
        .env_clear()
        .env("CTS_ADDRESS", scene.instance.api.url(""))
        .env("CTS_TOKEN", token)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(DEADLINE, command.output()).await.unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// A new token of this role.
async fn token(scene: &Scene, name: &str, role: &str, more: &[&str]) -> String {
    let mut words = vec![
        "token",
        "create",
        name,
        "-role",
        role,
        "-config-file=cts.hcl",
    ];
    words.extend(more);
    let (code, output, messages) = cts(scene, "", &words).await;
    assert_eq!(code, Some(0), "{output}{messages}");
    let token = output.trim().to_owned();
    assert!(token.starts_with("cts_"), "{output}");
    // The gateway hears of it.
    eventually(DEADLINE, async || {
        match ask(scene, "GET", "/v1/status", &token).await.status {
            200 => Ok(()),
            status => Err(format!("{status}")),
        }
    })
    .await;
    token
}

async fn ask(scene: &Scene, method: &str, path: &str, token: &str) -> Answer {
    let request = Request::new(method, path);
    let request = match token {
        "" => request,
        token => request.header("Authorization", &format!("Bearer {token}")),
    };
    let request = match method {
        "PATCH" => request.body("{\"enabled\": true}"),
        _ => request,
    };
    scene.send(&request).await
}

async fn records(scene: &Scene, token: &str) -> Vec<Value> {
    let answer = ask(scene, "GET", "/v1/audit?limit=1000", token).await;
    let mut answer: Value = serde_json::from_slice(&answer.body).unwrap();
    match answer["records"].take() {
        Value::Array(records) => records,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn requests_need_a_token_with_their_role_and_are_recorded() {
    let scene = scene().await;
    let reader = token(&scene, "dashboard", "read", &[]).await;
    let operator = token(&scene, "ci", "operate", &["-tasks", "web*"]).await;
    let admin = token(&scene, "root", "admin", &[]).await;
    // Both get a part of one list.
    for (token, names) in [(&operator, &["web"][..]), (&reader, &["dns", "web"])] {
        let states = ask(&scene, "GET", "/v1/overview/tasks", token)
            .await
            .expect(200);
        let states = states["tasks"].as_array().unwrap().iter();
        let seen: Vec<_> = states.filter_map(|task| task["name"].as_str()).collect();
        assert_eq!(seen, names);
    }
    for (method, path, statuses) in [
        ("GET", "/v1/health", [200, 200, 200, 200]),
        ("GET", "/v1/tasks/web", [401, 200, 200, 200]),
        ("GET", "/v1/tasks/dns", [401, 200, 403, 200]),
        ("GET", "/v1/queue", [401, 200, 403, 200]),
        ("GET", "/v1/overview", [401, 200, 200, 200]),
        ("GET", "/v1/overview/tasks?page=1", [401, 200, 200, 200]),
        ("GET", "/v1/overview/tasks?form=grid", [401, 200, 200, 200]),
        ("GET", "/v1/overview/tasks", [401, 200, 200, 200]),
        ("GET", "/v1/times", [401, 200, 403, 200]),
        ("POST", "/v1/workers/none/drain", [401, 403, 403, 404]),
        ("GET", "/v1/nothing", [401, 404, 404, 404]),
        ("PATCH", "/v1/tasks/web", [401, 403, 200, 200]),
        ("PATCH", "/v1/tasks/dns", [401, 403, 403, 200]),
        ("DELETE", "/v1/tasks/dns", [401, 403, 403, 202]),
    ] {
        for (token, status) in ["", &reader, &operator, &admin].into_iter().zip(statuses) {
            let answer = ask(&scene, method, path, token).await;
            assert_eq!(answer.status, status, "{method} {path}: {answer}");
        }
    }
    let find = |records: &[Value], action: &str, caller: &str| {
        let is_it = |record: &&Value| record["action"] == action && record["caller"] == caller;
        records.iter().find(is_it).cloned()
    };
    // Changes are recorded with the change, refused requests soon after.
    let records = eventually(DEADLINE, async || {
        let records = records(&scene, &admin).await;
        match find(&records, "request", "dashboard") {
            Some(_) => Ok(records),
            None => Err(format!("{records:?}")),
        }
    })
    .await;
    let update = find(&records, "task.update", "ci").unwrap();
    assert_eq!(update["target"], "web", "{update}");
    assert_eq!(update["caller_kind"], "token", "{update}");
    assert_eq!(update["address"], "127.0.0.1", "{update}");
    let deletion = find(&records, "task.delete", "root").unwrap();
    assert_eq!(deletion["outcome"], "done", "{deletion}");
    let refused = find(&records, "request", "dashboard").unwrap();
    assert_eq!(refused["outcome"], "refused", "{refused}");
    let all = Value::Array(records).to_string();
    for secret in [&reader, &operator, &admin] {
        assert!(!all.contains(secret.as_str()));
        assert!(!scene.instance.output().contains(secret.as_str()));
    }

    // A revoked token is refused soon.
    let words = ["token", "revoke", "dashboard", "-config-file=cts.hcl"];
    assert_eq!(cts(&scene, "", &words).await.0, Some(0));
    eventually(DEADLINE, async || {
        match ask(&scene, "GET", "/v1/tasks", &reader).await.status {
            401 => Ok(()),
            status => Err(format!("{status}")),
        }
    })
    .await;
}

#[tokio::test]
async fn the_command_line_sends_a_token_from_a_file_or_the_environment() {
    let scene = scene().await;
    let admin = token(&scene, "root", "admin", &[]).await;
    for program_words in [&["task", "list"][..], &["runs", "list"], &["audit"]] {
        let (code, output, messages) = cts(&scene, &admin, program_words).await;
        assert_eq!(code, Some(0), "{output}{messages}");
        let (code, output, messages) = cts(&scene, "", program_words).await;
        assert_eq!(code, Some(11), "{output}{messages}");
        assert!(messages.contains("401 Unauthorized"), "{messages}");
        assert!(messages.contains("-token-file or CTS_TOKEN"), "{messages}");
    }
    let path = scene.site.path().join("token");
    fs::write(&path, format!("{admin}\n")).unwrap();
    for (mode, expected) in [(0o600, 0), (0o644, 11)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let words = ["task", "list", "-token-file=token"];
        let (code, output, messages) = cts(&scene, "", &words).await;
        assert_eq!(code, Some(expected), "{output}{messages}");
        assert!(!messages.contains(&admin), "{messages}");
    }
    let (_, output, _) = cts(&scene, &admin, &["audit", "-limit=1", "-o", "json"]).await;
    let output: Value = serde_json::from_str(&output).unwrap();
    let newest = output["records"][0]["number"].as_u64().unwrap();
    let before = format!("-before={newest}");
    let (_, output, _) = cts(&scene, &admin, &["audit", &before, "-o", "json"]).await;
    let output: Value = serde_json::from_str(&output).unwrap();
    let older = output["records"].as_array().unwrap().iter();
    for record in older {
        assert!(record["number"].as_u64().unwrap() < newest, "{record}");
    }
}
