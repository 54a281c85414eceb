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
