//! The guard against the loss of instances (docs/runs.md#the-guard-against-lost-instances).

use cts_testkit::{assert_contains, eventually};
use cts_tests::{DEADLINE, executable, task};
use serde_json::{Value, json};

use crate::api::program::{CommandOutput, call};
use crate::api::scene::{MODULE, Scene};

const GUARDED: &str = "min_instances = 2\nmax_shrink = \"50%\"\nbuffer_period { min = \"1s\" }";

async fn cts(scene: &Scene, arguments: &[&str]) -> CommandOutput {
    call(scene, &executable("cts"), arguments).await
}

impl Scene {
    /// `web-1` to `web-4`, the last of which come and go.
    async fn grow(&self) {
        for number in 2..=4 {
            self.register("web", &format!("web-{number}")).await;
        }
    }

    async fn lose(&self, numbers: &[u8]) {
        for number in numbers {
            self.consul.deregister(&format!("web-{number}")).await;
        }
    }

    async fn wait_until_held(&self, applied: u32, now: u32) {
        eventually(DEADLINE, async || {
            let status = self.instance.api.task_status("pool").await;
            let expected = json!([{"service": "web", "applied": applied, "now": now}]);
            match &status["hold"]["losses"] {
                losses if *losses == expected => Ok(()),
                _ => Err(status.to_string()),
            }
        })
        .await;
    }

    /// Waits until the recorded run is reported as well.
    async fn wait_until_idle(&self) {
        eventually(DEADLINE, async || {
            let explanation = self.instance.api.get("/v1/tasks/pool/explain").await;
            let current = &explanation["explanation"]["current_run"];
            match current {
                Value::Null => Ok(()),
                _ => Err(explanation.to_string()),
            }
        })
        .await;
    }

    async fn hold(&self) -> Value {
        self.instance.api.task_status("pool").await["hold"].clone()
    }
}

#[tokio::test]
async fn a_service_that_loses_most_of_its_instances_changes_nothing_until_it_is_released() {
    let tasks = [
        task("pool", MODULE, &["web"], GUARDED),
        task("free", MODULE, &["web"], ""),
    ];
    let scene = Scene::with(&tasks.concat()).await;
    let all = ["web-1", "web-2", "web-3", "web-4"];
    scene.grow().await;
    scene.site.wait_for_ids("pool", &all).await;

    scene.lose(&[2, 3, 4]).await;
    scene.wait_until_held(4, 1).await;
    scene.site.wait_for_ids("free", &["web-1"]).await;
    scene.site.wait_for_ids("pool", &all).await;
    let since = scene.hold().await["since"].clone();
    let explanation = scene.instance.api.get("/v1/tasks/pool/explain").await;
    let obstacle = &explanation["explanation"]["obstacles"][0];
    assert_eq!(obstacle["kind"], "held", "{explanation}");
    let text = obstacle["text"].as_str().unwrap();
    assert_contains(
        &text,
        ["web has 1 of the 4 instances", "`cts task release pool`"],
    );
    cts(&scene, &["task", "show", "pool"])
        .await
        .well(&["Blocked", "web: 1 of 4 instances"]);

    // A restart is no way round it.
    let scene = scene.restart().await;
    scene.instance.api.wait_for_events("free", 1).await;
    scene.wait_until_held(4, 1).await;
    assert_eq!(scene.hold().await["since"], since);
    scene.site.wait_for_ids("pool", &all).await;

    let seen = json!({"seen": [{"service": "web", "now": 2}]});
    let release = crate::api::wire::Request::new("POST", "/v1/tasks/pool/release").json(&seen);
    let message = scene.send(&release).await.refused(409);
    assert_contains(&message, ["web has 1 of the 4 instances"]);
    cts(&scene, &["task", "release", "pool"]).await.well(&[
        "'pool' is released",
        "INSTANCES",
        "web",
    ]);
    scene.site.wait_for_ids("pool", &["web-1"]).await;
    assert_eq!(scene.hold().await, Value::Null);
    cts(&scene, &["task", "release", "pool"])
        .await
        .well(&["'pool' is not blocked"]);
    let json = cts(&scene, &["task", "release", "pool", "-o", "json"]).await;
    json.well(&["\"released\": false"]);
    cts(&scene, &["task", "release", "none"])
        .await
        .failed(11, &["there is no task 'none'"]);
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_guard_lets_go_when_the_instances_are_back_and_when_a_run_is_asked_for() {
    let scene = Scene::with(&task("pool", MODULE, &["web"], GUARDED)).await;
    let all = ["web-1", "web-2", "web-3", "web-4"];
    scene.grow().await;
    scene.site.wait_for_ids("pool", &all).await;
    scene.lose(&[2, 3, 4]).await;
    scene.wait_until_held(4, 1).await;

    // A changed definition is no way round the guard either.
    let mut replacement = scene.instance.api.get("/v1/tasks/pool").await["task"].clone();
    replacement["description"] = json!("another");
    let put = crate::api::wire::Request::new("PUT", "/v1/tasks/pool");
    let put = put.json(&json!({"task": replacement, "revision": 1}));
    scene.send(&put).await.expect(200);

    let events = scene.instance.api.events("pool").await.len();
    for number in 2..=3 {
        scene.register("web", &format!("web-{number}")).await;
    }
    let back = ["web-1", "web-2", "web-3"];
    scene.site.wait_for_ids("pool", &back).await;
    assert_eq!(scene.hold().await, Value::Null);
    scene
        .instance
        .api
        .wait_for_events("pool", (events + 1).min(5))
        .await;

    scene.lose(&[2, 3]).await;
    scene.wait_until_held(3, 1).await;
    scene.switch("pool", true, "?run=now").await.expect(200);
    scene.site.wait_for_ids("pool", &["web-1"]).await;
    assert_eq!(scene.hold().await, Value::Null);
    let output = scene.instance.output();
    assert_contains(&output, ["takes more away than the task may lose"]);
    scene.instance.stop().await;
}

/// The option that names a file with `pool` under another description.
fn described(scene: &Scene, description: &str) -> String {
    let text = format!(
        "task {{\n name = \"pool\"\n description = \"{description}\"\n module = \"{MODULE}\"\n \
         condition \"services\" {{\n names = [\"web\"]\n use_as_module_input = true\n }}\n \
         buffer_period {{ min = \"1s\" }}\n}}\n"
    );
    scene.site.write("replacements/pool.hcl", &text);
    "-task-file=replacements/pool.hcl".to_owned()
}

#[tokio::test]
async fn a_replacement_of_a_blocked_task_waits_until_it_is_released() {
    let scene = Scene::with(&task("pool", MODULE, &["web"], GUARDED)).await;
    let all = ["web-1", "web-2", "web-3", "web-4"];
    scene.grow().await;
    scene.site.wait_for_ids("pool", &all).await;
    scene.lose(&[1, 2, 3, 4]).await;
    scene.wait_until_held(4, 0).await;
    scene.wait_until_idle().await;

    let file = described(&scene, "another");
    let replaced = cts(&scene, &["task", "replace", "-auto-approve", &file]).await;
    replaced.well(&[
        "Task 'pool' replaced",
        "Its run is blocked",
        "`cts task release pool`",
    ]);
    scene.site.wait_for_ids("pool", &all).await;
    let shown = scene.instance.api.get("/v1/tasks/pool").await;
    assert_eq!(shown["task"]["description"], "another");
    let explanation = scene.instance.api.get("/v1/tasks/pool/explain").await;
    let text = explanation.to_string();
    assert_contains(
        &text,
        [
            "its declaration was replaced",
            "web has 0 of the 4 instances",
        ],
    );

    // The command shows the block before it asks.
    let file = described(&scene, "third");
    let asked = cts(&scene, &["task", "replace", &file]).await;
    assert_contains(&asked.text, ["'pool' is blocked", "web: 0 of 4 instances"]);
    scene.site.wait_for_ids("pool", &all).await;
    let json = ["task", "replace", "-auto-approve", "-o", "json", &file];
    cts(&scene, &json)
        .await
        .well(&["\"held\": \"web has 0 of the 4 instances"]);

    // Neither a restart nor another leader forgets it.
    let scene = scene.restart().await;
    scene.wait_until_held(4, 0).await;
    scene.site.wait_for_ids("pool", &all).await;
    for number in 1..=4 {
        scene.register("web", &format!("web-{number}")).await;
    }
    eventually(DEADLINE, async || {
        let events = scene.instance.api.events("pool").await;
        let explanation = scene.instance.api.get("/v1/tasks/pool/explain").await;
        let owes = explanation.to_string().contains("declaration was replaced");
        (!owes)
            .then_some(())
            .ok_or_else(|| format!("{events:?} {explanation}"))
    })
    .await;
    scene.site.wait_for_ids("pool", &all).await;

    scene.wait_until_idle().await;
    scene.lose(&[1, 2, 3, 4]).await;
    scene.wait_until_held(4, 0).await;
    let file = described(&scene, "last");
    let released = ["task", "replace", "-auto-approve", "-release", &file];
    cts(&scene, &released).await.well(&["Task 'pool' replaced"]);
    scene.site.wait_for_ids("pool", &[]).await;
    scene.instance.stop().await;
}
