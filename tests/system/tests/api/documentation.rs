//! docs/api.md: its calls are made as they stand, and it speaks of every operation of the `OpenAPI` document.

use std::process::Stdio;

use cts_tests::{DEADLINE, task};
use tokio::process::Command;
use tokio::time::timeout;

use crate::api::scene::{MODULE, Scene};

const DOCUMENT: &str = include_str!("../../../../docs/api.md");

/// The documented address of the API.
const ADDRESS: &str = "localhost:8558";

/// The commands of the document's code blocks; a command over several lines becomes one.
fn commands() -> Vec<String> {
    let mut code = false;
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in DOCUMENT.lines() {
        if let Some(language) = line.strip_prefix("```") {
            code = language == "sh";
        } else if code && goes_on {
            let command = commands.last_mut().unwrap();
            command.push('\n');
            command.push_str(line);
            goes_on = line.ends_with('\\');
        } else if code && !line.trim().is_empty() {
            commands.push(line.to_owned());
            goes_on = line.ends_with('\\');
        }
    }
    commands
}

/// Runs a command in a shell; returns its output. Statuses of 400 and more are failures.
async fn run(scene: &Scene, command: &str, run: &str) -> String {
    let endless = command.contains("--max-time");
    let address = scene.instance.api.address().to_string();
    let script = command.replace(ADDRESS, &address).replace("RUN", run);
    let script = format!("curl() {{ command curl -sS --fail --noproxy '*' \"$@\"; }}\n{script}");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script])
        .current_dir(scene.site.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(DEADLINE, shell.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    // curl's code for the end of its time.
    let fine = code == Some(0) || (endless && code == Some(28));
    assert!(fine, "{command}\n{code:?} {errors}{text}");
    text
}

#[tokio::test]
async fn every_documented_call_works() {
    let hello = task("hello", MODULE, &["web"], "");
    let scene = Scene::with(&hello).await;
    scene.site.write("modules/lb/main.tf", cts_tests::RECORDER);
    scene.instance.api.wait_for_events("hello", 1).await;
    let page = scene.ask("GET", "/v1/runs?task=hello").await.expect(200);
    let id = page["runs"][0]["id"].as_str().unwrap().to_owned();
    let commands = commands();
    assert!(
        commands.len() >= 19,
        "the document shows calls: {commands:?}"
    );
    for command in &commands {
        assert!(command.starts_with("curl "), "{command}");
        let printed = run(&scene, command, &id).await;
        if command.contains("-X DELETE") {
            scene.wait_until_gone("pool").await;
        } else if !command.contains("--max-time") {
            assert!(!printed.trim().is_empty(), "{command} printed nothing");
        }
    }
    scene.instance.stop().await;
}

#[tokio::test]
async fn every_operation_is_documented() {
    let scene = Scene::empty().await;
    let document = scene.ask("GET", "/v1/openapi.json").await.expect(200);
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
                continue;
            }
            let operation = format!("`{method} {path}`");
            assert!(
                DOCUMENT.contains(&operation),
                "docs/api.md lacks {operation}"
            );
        }
    }
    scene.instance.stop().await;
}
