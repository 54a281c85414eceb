//! `cts config diff` against the stored tasks of a running system.

use cts_tests::{Shape, executable, task as block};
use serde_json::{Value, json};

use crate::api::program::{CommandOutput, call};
use crate::api::scene::{MODULE, Scene, task};

async fn diff(scene: &Scene, more: &[&str]) -> CommandOutput {
    let mut words = vec!["config", "diff", "-config-file=cts.hcl"];
    if Shape::of_this_run() == Shape::Cluster {
        words.push("-config-file=database.hcl");
    }
    words.extend(more);
    call(scene, &executable("cts"), &words).await
}

async fn document(scene: &Scene, code: i32) -> Value {
    let said = diff(scene, &["-o", "json"]).await;
    said.failed(code, &[]);
    serde_json::from_str(&said.text).unwrap()
}

#[tokio::test]
async fn a_configuration_is_compared_with_what_is_stored() {
    let block = |name: &str, more: &str| block(name, MODULE, &["web"], more);
    let first = [
        block("kept", ""),
        block("switched", ""),
        block("other", "description = \"one\""),
        block("gone", "enabled = false"),
        block("deleted", "enabled = false"),
    ];
    let scene = Scene::with(&first.concat()).await;
    for name in ["kept", "switched", "other"] {
        scene.instance.api.wait_for_events(name, 1).await;
    }
    diff(&scene, &[]).await.well(&[
        "The stored tasks are as configured.",
        "Configuration 1 is in force since",
    ]);

    // A change over the API is a difference, except for a task that no file names.
    scene.create(&task("made", MODULE), "").await.expect(201);
    diff(&scene, &[])
        .await
        .well(&["  made: only stored, made over the API"]);
    scene.switch("switched", false, "").await.expect(200);
    scene.delete("deleted").await.expect(202);
    scene.wait_until_gone("deleted").await;
    let said = diff(&scene, &[]).await;
    said.failed(
        2,
        &[
            "~ switched: changed over the API",
            "    enabled: false -> true\n",
            "+ deleted: only in the configuration; deleted over the API",
            "The stored tasks are not as configured.",
        ],
    );

    // A changed file is a difference too, before any process has started with it.
    let second = [
        block("kept", ""),
        block("switched", ""),
        block("other", "description = \"two\"\n  apply_timeout = \"90s\""),
        block("fresh", ""),
        block("deleted", "enabled = false"),
        block("made", "description = \"\\u001b[2J\""),
    ];
    scene.configure(&second.concat());
    let found = document(&scene, 2).await;
    assert_eq!(
        (&found["equal"], &found["in_force"]["number"]),
        (&json!(false), &json!(1))
    );
    let entry = |name: &str, difference: &str, origin: Value, over_api: bool, members: Value| json!({"name": name, "difference": difference, "origin": origin, "over_api": over_api, "members": members});
    let member = |name: &str, stored: Value, configured: Value| json!({"member": name, "stored": stored, "configured": configured});
    let other = json!([
        member("apply_timeout", Value::Null, json!("90s")),
        member("description", json!("one"), json!("two")),
    ]);
    let switched = json!([member("enabled", json!(false), json!(true))]);
    let made = json!([member("description", json!(""), json!("\u{1b}[2J"))]);
    let expected = json!([
        entry("switched", "changed", json!("config"), true, switched),
        entry("other", "changed", json!("config"), false, other),
        entry("fresh", "added", Value::Null, false, json!([])),
        entry("deleted", "added", Value::Null, true, json!([])),
        entry("made", "changed", json!("api"), false, made),
        entry("gone", "stored", json!("config"), false, json!([])),
    ]);
    assert_eq!(found["tasks"], expected);
    let said = diff(&scene, &[]).await;
    assert!(!said.text.contains('\u{1b}'), "{said}");

    // With the file from before, only the files of its module have changed.
    scene.configure(&first.concat());
    scene.site.write("modules/recorder/more.tf", "# more\n");
    let said = diff(&scene, &[]).await;
    said.failed(
        2,
        &[
            "~ kept: changed in the configuration",
            "    module content: ",
        ],
    );
    // An invalid store is refused.
    diff(&scene, &["--store=sqlite:missing/cts.db"])
        .await
        .failed(11, &["missing"]);
    let nothing = call(&scene, &executable("cts"), &["config", "diff"]).await;
    nothing.failed(13, &["no config file provided"]);
    scene.instance.stop().await;
}
