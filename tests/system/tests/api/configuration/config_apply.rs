//! `cts config apply` while the system runs.

use std::process::Stdio;

use cts_testkit::{assert_contains, eventually};
use cts_tests::{DEADLINE, Shape, executable, met, task};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::api::program::{CommandOutput, call};
use crate::api::scene::{self, MODULE, Scene};

fn words<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["config", command, "-config-file=cts.hcl"];
    if Shape::of_this_run() == Shape::Cluster {
        words.push("-config-file=database.hcl");
    }
    words.extend(more);
    words
}

async fn apply(scene: &Scene, more: &[&str]) -> CommandOutput {
    call(scene, &executable("cts"), &words("apply", more)).await
}

async fn equal(scene: &Scene) {
    let said = call(scene, &executable("cts"), &words("diff", &[])).await;
    said.well(&["The stored tasks are as configured."]);
}

/// Waits until these are the tasks.
async fn wait_for_names(scene: &Scene, names: &[&str]) {
    eventually(DEADLINE, async || {
        let found = scene.names().await;
        met(found == names, found.join(" "))
    })
    .await;
}

async fn configuration(scene: &Scene) -> Value {
    scene.instance.api.get("/v1/cluster/configuration").await
}

fn block(name: &str, more: &str) -> String {
    task(name, MODULE, &["web"], more)
}

#[tokio::test]
async fn config_apply_restores_the_configured_tasks() {
    let first = [
        block("kept", ""),
        block("switched", ""),
        block("deleted", "enabled = false"),
    ];
    let scene = Scene::with(&first.concat()).await;
    for name in ["kept", "switched"] {
        scene.instance.api.wait_for_events(name, 1).await;
    }
    let nothing = apply(&scene, &[]).await;
    nothing.well(&["There is nothing to apply."]);
    scene.switch("switched", false, "").await.expect(200);
    scene.delete("deleted").await.expect(202);
    scene.wait_until_gone("deleted").await;
    scene
        .create(&scene::task("made", MODULE), "")
        .await
        .expect(201);

    // The question gets no answer.
    apply(&scene, &[]).await.failed(
        11,
        &[
            "Do you want the tasks to become",
            "Error asking for approval: EOF",
        ],
    );
    assert_eq!(scene.names().await, ["kept", "switched", "made"]);
    let applied = apply(&scene, &["-auto-approve"]).await;
    applied.well(&[
        "~ switched: changed over the API",
        "Configuration 2 is in force.",
    ]);
    wait_for_names(&scene, &["kept", "switched", "deleted", "made"]).await;
    equal(&scene).await;
    let status = scene.instance.api.task_status("switched").await;
    assert_eq!(status["enabled"], true);
    // An unchanged task does not run.
    assert_eq!(scene.instance.api.events("kept").await.len(), 1);
    let found = configuration(&scene).await;
    assert_eq!(found["in_force"]["number"], 2);
    let by = found["in_force"]["decided_by"].as_str().unwrap();
    assert!(by.starts_with("cts config apply on "), "{by}");
    assert_eq!(found["members"][0]["in_force"], true);

    // A start with the same file changes nothing.
    let scene = scene.restart().await;
    equal(&scene).await;
    assert_eq!(configuration(&scene).await["in_force"]["number"], 2);
    assert_eq!(scene.names().await, ["kept", "switched", "deleted", "made"]);
    let pruned = apply(&scene, &["-auto-approve", "--prune"]).await;
    pruned.well(&["- made: only stored, made over the API\n"]);
    wait_for_names(&scene, &["kept", "switched", "deleted"]).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn another_file_takes_effect_without_a_start() {
    let scene = Scene::with(&[block("kept", ""), block("gone", "enabled = false")].concat()).await;
    scene.instance.api.wait_for_events("kept", 1).await;
    scene.site.write("modules/recorder/more.tf", "# more\n");
    scene.configure(&[block("kept", ""), block("fresh", "")].concat());
    let applied = apply(&scene, &["-auto-approve"]).await;
    applied.well(&[
        "+ fresh: only in",
        "- gone: only stored",
        "    module content: ",
    ]);
    wait_for_names(&scene, &["kept", "fresh"]).await;
    scene.instance.api.wait_for_events("fresh", 1).await;
    // The content of its module has changed.
    scene.instance.api.wait_for_events("kept", 2).await;
    equal(&scene).await;
    let found = configuration(&scene).await;
    let difference = |name: &str, how: &str| json!({"task_name": name, "difference": how});
    let expected = [
        difference("fresh", "removed"),
        difference("gone", "added"),
        difference("kept", "changed"),
    ];
    assert_eq!(found["members"][0]["differences"], json!(expected));
    let said = "the task blocks of a member are not in force";
    eventually(DEADLINE, async || {
        let output = scene.instance.output();
        met(output.contains(said), said)
    })
    .await;

    // Its own start with that file changes nothing more.
    let scene = scene.restart().await;
    equal(&scene).await;
    assert_eq!(configuration(&scene).await["in_force"]["number"], 2);
    scene.instance.stop().await;
}

#[tokio::test]
async fn settings_that_take_effect_with_tasks_are_compared_and_applied() {
    let tasks = block("kept", "enabled = false");
    let scene = Scene::with(&tasks).await;
    equal(&scene).await;
    let approval = "approval = \"destroy\"\napproval_expires = \"2h\"\n";
    let rule = "destroy, consents expire after 7200 s";
    let usual = "never, consents expire after 86400 s";
    let rules_line = format!("~ approval: {usual} -> {rule}\n");
    scene.configure(&(tasks.clone() + approval));
    let verdict = "The stored tasks are as configured, the default rule of approval is not.\n";
    let shown = call(&scene, &executable("cts"), &words("diff", &[])).await;
    shown.failed(2, &[&rules_line, verdict]);
    scene.configure(&(tasks + approval + "fleet_max_shrink {\n  share = \"30%\"\n}\n"));
    let brake = "30% within 600 s, at least 20";
    let line = format!("~ fleet_max_shrink: off -> {brake}\n");
    let verdict = "The stored tasks are as configured, the brake of the fleet and the default rule of approval are not.\n";
    let shown = call(&scene, &executable("cts"), &words("diff", &[])).await;
    shown.failed(2, &[&line, &rules_line, verdict]);
    let json = words("diff", &["-o", "json"]);
    let shown = call(&scene, &executable("cts"), &json).await;
    let found: Value = serde_json::from_str(&shown.text).unwrap();
    assert_eq!(
        (&found["equal"], &found["tasks"]),
        (&json!(false), &json!([]))
    );
    let difference = json!({"in_force": null, "configured": brake});
    assert_eq!(found["fleet_max_shrink"], difference);
    let difference = json!({"in_force": usual, "configured": rule});
    assert_eq!(found["approval"], difference);

    apply(&scene, &["-auto-approve"])
        .await
        .well(&[&line, &rules_line]);
    equal(&scene).await;
    apply(&scene, &[])
        .await
        .well(&["There is nothing to apply."]);
    let member = |found: &Value| found["members"][0].clone();
    let found = configuration(&scene).await;
    assert_eq!(found["in_force"]["number"], 2);
    assert_eq!(member(&found)["in_force"], false, "{found}");
    for said in [
        "the brake of the fleet of a member is not in force",
        "the default rule of approval of a member is not in force",
    ] {
        eventually(DEADLINE, async || {
            let output = scene.instance.output();
            met(output.contains(said), said)
        })
        .await;
    }

    // A start with the same block changes nothing.
    let scene = scene.restart().await;
    let found = configuration(&scene).await;
    assert_eq!(found["in_force"]["number"], 2);
    assert_eq!(member(&found)["in_force"], true, "{found}");
    assert_eq!(found["in_force"]["approvals"], rule);
    assert_eq!(member(&found)["settings"]["fleet_max_shrink"], brake);
    assert_eq!(member(&found)["settings"]["approval"], rule);
    scene.instance.stop().await;
}

#[tokio::test]
async fn nothing_is_applied_over_what_has_come_in_between() {
    let scene = Scene::with(&block("first", "enabled = false")).await;
    scene.configure(&block("second", "enabled = false"));
    let mut asking = Command::new(executable("cts"));
    let mut asking = asking
        .args(words("apply", &[]))
        .current_dir(scene.site.path())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut stdout = asking.stdout.take().unwrap();
    while !String::from_utf8_lossy(&said).contains("Enter a value:") {
        let read = timeout(DEADLINE, stdout.read_buf(&mut said)).await;
        assert_ne!(
            read.unwrap().unwrap(),
            0,
            "{}",
            String::from_utf8_lossy(&said)
        );
    }
    scene.configure(&block("third", "enabled = false"));
    apply(&scene, &["-auto-approve"]).await.well(&[]);
    wait_for_names(&scene, &["third"]).await;
    let mut stdin = asking.stdin.take().unwrap();
    stdin.write_all(b"yes\n").await.unwrap();
    let ended = timeout(DEADLINE, asking.wait_with_output()).await;
    let ended = ended.unwrap().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(11), "{said}");
    assert_contains(&said, ["another configuration has taken effect"]);
    assert_eq!(scene.names().await, ["third"]);
    scene.instance.stop().await;
}
