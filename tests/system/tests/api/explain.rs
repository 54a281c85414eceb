//! `GET /v1/tasks/{name}/explain`: why a task ran, or why it does not. Not in the original.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Site, task};
use serde_json::{Value, json};

use crate::api::row::{check, new_error, within};
use crate::api::scene::{MODULE, Scene};
use crate::api::wire::Request;

impl Scene {
    /// Waits for an explanation that has all of `expected`: the leader writes it at most once per second.
    async fn wait_for_explanation(&self, name: &str, expected: &Value) -> Value {
        let path = format!("/v1/tasks/{name}/explain");
        eventually(DEADLINE, async || {
            let answer = self.ask("GET", &path).await.expect(200);
            let explanation = answer["explanation"].clone();
            within(&explanation, expected, "")
                .map(|()| explanation.clone())
                .map_err(|error| format!("{error} in {explanation}"))
        })
        .await
    }
}

#[tokio::test]
async fn an_explanation_says_what_was_seen_and_done_and_what_is_waited_for() {
    let site = Site::new();
    site.write_steps("pool");
    let buffered = "buffer_period {\n    enabled = true\n    min = \"1h\"\n    max = \"2h\"\n  }";
    let tasks = task("pool", "./modules/pool", &["web"], "")
        + &task("idle", MODULE, &["web"], "enabled = false")
        + &task("slow", MODULE, &["web"], buffered);
    let scene = Scene::of_site(site, &tasks).await;
    for name in ["pool", "slow"] {
        scene.instance.api.wait_for_events(name, 1).await;
    }
    let done = json!({
        "task_name": "pool", "revision": 1, "enabled": true, "phase": "ready", "obstacles": [],
        "views": [{"complete": true, "triggers": true}],
        "last_decision": {"kind": "queued"},
        "last_run": {"kind": "apply", "status": "succeeded", "task_name": "pool"},
    });
    let explanation = scene.wait_for_explanation("pool", &done).await;
    let view = explanation["views"][0]["name"].as_str().unwrap();
    assert!(view.contains("web"), "{view}");
    assert!(explanation["as_of"].is_string(), "{explanation}");
    let text = explanation["last_decision"]["text"].as_str().unwrap();
    assert!(!text.is_empty(), "{explanation}");
    assert_eq!(
        explanation["last_decision"]["run_id"],
        explanation["last_run"]["id"]
    );

    let off = json!({"enabled": false, "obstacles": [{"kind": "disabled"}]});
    scene.wait_for_explanation("idle", &off).await;

    scene.hold_at_work().await;
    let running = json!({"current_run": {"status": "running", "kind": "apply"}});
    scene.wait_for_explanation("pool", &running).await;
    let waiting = json!({"obstacles": [{"kind": "buffering"}]});
    let explanation = scene.wait_for_explanation("slow", &waiting).await;
    assert!(explanation["buffered_until"].is_string(), "{explanation}");

    // A newer change waits for the run that goes on.
    scene.register("web", "web-3").await;
    let queued = json!({"obstacles": [{"kind": "running"}]});
    scene.wait_for_explanation("pool", &queued).await;
    scene.site.release();
    scene
        .site
        .wait_for_step("pool", "end", "web-1,web-2,web-3")
        .await;
    let done = json!({"obstacles": [], "last_run": {"status": "succeeded"}});
    scene.wait_for_explanation("pool", &done).await;

    // Without a change nothing runs at the next start, and the explanation reports that.
    let scene = scene.restart().await;
    let skipped = json!({"last_decision": {"kind": "skipped_unchanged"}});
    scene.wait_for_explanation("pool", &skipped).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn data_that_is_missing_is_named() {
    // The first is for Consul to judge. The second would keep it busy and is never sent.
    let deaf = filtered("deaf", "Nonsense == 1");
    let busy = filtered("busy", "(((((((((((");
    let open = filtered("open", "");
    let scene = Scene::with(&format!("{deaf}{busy}{open}")).await;
    for (name, reason) in [
        ("deaf", "Unexpected response code"),
        (
            "busy",
            "the filter is not sent to consul: more than 8 parentheses are open at character 9",
        ),
    ] {
        let missing = json!({
            "views": [{"complete": false}], "obstacles": [{"kind": "input_incomplete"}],
        });
        let explanation = scene.wait_for_explanation(name, &missing).await;
        let view = &explanation["views"][0];
        assert!(view["name"].as_str().unwrap().contains("web"), "{view}");
        let problem = view["problem"].to_string();
        assert!(problem.contains(reason), "{view}");
    }
    // The other tasks go on, and the file is named with the place.
    scene.instance.api.wait_for_events("open", 1).await;
    let log = scene.instance.output();
    let warning =
        "this `filter` is not sent to Consul, and its task does not run until it is mended";
    let mut lines = log.lines();
    let warned = lines.find(|line| line.contains(warning));
    assert!(
        warned.is_some_and(|line| line.contains(".hcl line=")),
        "{log}"
    );
    scene.instance.stop().await;
}

/// A task block with this filter.
fn filtered(name: &str, filter: &str) -> String {
    format!(
        "task {{\n  name = \"{name}\"\n  module = \"{MODULE}\"\n  condition \"services\" {{\n    names = [\"web\"]\n    \
         filter = \"{filter}\"\n  }}\n}}\n"
    )
}

#[tokio::test]
async fn every_request_gets_the_documented_answer() {
    let scene = Scene::empty().await;
    let unknown = "a task with name 'nobody' does not exist or has not been initialized yet";
    let rows = [
        Request::new("GET", "/v1/tasks/nobody/explain").gives(404, new_error(unknown)),
        Request::new("GET", "/v1/tasks/no%2Fbody/explain").gives(404, new_error("'no/body'")),
    ];
    check(&scene, &rows).await;
    scene.instance.stop().await;
}
