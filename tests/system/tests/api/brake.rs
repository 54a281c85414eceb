//! The brake of the fleet (docs/runs.md#the-brake-of-the-fleet).

use cts_testkit::{ConsulAgent, assert_contains, eventually};
use cts_tests::{Backend, DEADLINE, Instance, RECORDER, Site, executable, task};
use serde_json::{Value, json};

use crate::api::program::{CommandOutput, call};
use crate::api::scene::{MODULE, Scene};
use crate::api::stream::Stream;
use crate::api::wire::Request;

const BRAKE: &str =
    "fleet_max_shrink {\n  share = \"20%\"\n  within = \"10m\"\n  at_least = 2\n}\n";

const TASKS: usize = 10;

/// Longer than the removal of several services takes, so that no loss is applied before all are seen.
const BUFFER: &str = "buffer_period { min = \"2s\" }";

fn service(number: usize) -> String {
    format!("svc-{number}")
}

fn task_name(number: usize) -> String {
    format!("task-{number}")
}

/// A system whose ten tasks have one service with one instance each, all applied once.
async fn scene(tasks: &str) -> Scene {
    let consul = ConsulAgent::start().await;
    for number in 0..TASKS {
        let name = service(number);
        consul.register_service(&name, &name, 1, &[], &[]).await;
    }
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    site.configure(&consul.address(), Backend::Shared, tasks);
    let instance = Instance::start(&site).await;
    let scene = Scene {
        instance,
        site,
        consul,
    };
    for number in 0..TASKS {
        scene.wait_until_applied(number, true).await;
    }
    scene
}

fn tasks() -> String {
    let tasks =
        (0..TASKS).map(|number| task(&task_name(number), MODULE, &[&*service(number)], BUFFER));
    tasks.collect()
}

async fn cts(scene: &Scene, arguments: &[&str]) -> CommandOutput {
    call(scene, &executable("cts"), arguments).await
}

impl Scene {
    /// Waits until a task has applied its instance, or has taken it away.
    async fn wait_until_applied(&self, number: usize, is_there: bool) {
        let id = service(number);
        let ids: &[&str] = if is_there { &[&id] } else { &[] };
        self.site.wait_for_ids(&task_name(number), ids).await;
    }

    async fn shown_brake(&self) -> Value {
        self.instance.api.get("/v1/brake").await
    }

    /// Takes the services of these tasks away at once.
    async fn deregister_services(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            self.consul.deregister(&service(number)).await;
        }
    }

    async fn wait_until_set(&self, lost: u64) -> Value {
        eventually(DEADLINE, async || {
            let brake = self.shown_brake().await;
            let is_so = brake["set"] == true && brake["lost"] == lost && brake["held"] == lost;
            is_so.then(|| brake.clone()).ok_or(brake)
        })
        .await
    }
}

#[tokio::test]
async fn tasks_that_lose_instances_together_wait_until_the_brake_is_released() {
    let scene = scene(&format!("{BRAKE}{}", tasks())).await;
    let brake = scene.shown_brake().await;
    assert_eq!(
        (&brake["configured"], &brake["set"], &brake["of"]),
        (&json!(true), &json!(false), &json!(TASKS)),
        "{brake}"
    );
    cts(&scene, &["status"])
        .await
        .well(&["Brake:", "not set; lost instances: 0 of 10, at most 2"]);
    cts(&scene, &["task", "release", "-all"])
        .await
        .well(&["The brake of the fleet is not set"]);

    let mut events = Stream::open(scene.instance.api.address(), "/v1/events").await;
    scene.deregister_services(0..4).await;
    let told = events.event("brake").await;
    assert_eq!(told["set"], true, "{told}");
    let brake = scene.wait_until_set(4).await;
    assert_eq!(brake["of"], TASKS, "{brake}");
    assert_eq!(brake["losses"].as_array().unwrap().len(), 4, "{brake}");
    let status = cts(&scene, &["status"]).await;
    let first = status.text.lines().next().unwrap_or_default();
    assert_contains(
        first,
        [
            "Brake: set since ",
            ": 4 of 10 instances are lost, 4 tasks wait; `cts task release -all` lets them run",
        ],
    );
    status.well(&["svc-0", "PROBLEM", "the brake of the fleet is set"]);
    let overview = scene.instance.api.get("/v1/overview").await;
    assert_eq!(overview["brake"]["lost"], 4, "{overview}");

    // A task that lost nothing goes on.
    scene
        .consul
        .register_service("svc-9", "more", 1, &[], &[])
        .await;
    scene
        .site
        .wait_for_ids(&task_name(9), &["more", "svc-9"])
        .await;
    for number in 0..4 {
        scene.wait_until_applied(number, true).await;
        let path = format!("/v1/tasks/{}/explain", task_name(number));
        let explanation = scene.instance.api.get(&path).await;
        let explanation = &explanation["explanation"];
        assert_eq!(explanation["state"]["name"], "blocked", "{explanation}");
        let obstacles = explanation["obstacles"].as_array().unwrap();
        let kinds: Vec<&Value> = obstacles.iter().map(|it| &it["kind"]).collect();
        assert_eq!(kinds, ["brake"], "{explanation}");
        let text = obstacles[0]["text"].as_str().unwrap();
        assert_contains(text, ["`cts task release task-", "`cts task release -all`"]);
    }
    cts(&scene, &["task", "show", "task-0"])
        .await
        .well(&["by the brake of the fleet", "svc-0: 0 of 1 instances"]);

    let seen = json!({"seen": {"lost": 3, "of": TASKS}});
    let release = Request::new("POST", "/v1/brake").json(&seen);
    let message = scene.send(&release).await.refused(409);
    assert_contains(&message, ["4 of 1"]);
    assert_eq!(scene.shown_brake().await["set"], true);

    // A person's request passes for its task.
    cts(&scene, &["task", "release", "task-0"])
        .await
        .well(&["'task-0' is released"]);
    scene.wait_until_applied(0, false).await;
    scene.wait_until_applied(1, true).await;

    cts(&scene, &["task", "release", "-all"])
        .await
        .failed(11, &["4 of 1", "svc-1", "-auto-approve"]);
    cts(&scene, &["task", "release", "-all", "-auto-approve"])
        .await
        .well(&["The brake of the fleet is released: 3 tasks run"]);
    let told = events.event("brake").await;
    assert_eq!((&told["set"], &told["lost"]), (&json!(false), &json!(0)));
    drop(events);
    for number in 0..4 {
        scene.wait_until_applied(number, false).await;
    }
    let brake = scene.shown_brake().await;
    assert_eq!(brake["set"], false, "{brake}");
    let json = cts(&scene, &["task", "release", "-all", "-o", "json"]).await;
    json.well(&["\"released\": null"]);
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_fleet_without_a_brake_has_none_to_release() {
    let scene = Scene::empty().await;
    let brake = scene.shown_brake().await;
    assert_eq!(brake["configured"], false, "{brake}");
    let overview = scene.instance.api.get("/v1/overview").await;
    assert_eq!(overview["brake"], Value::Null, "{overview}");
    cts(&scene, &["task", "release", "-all"])
        .await
        .well(&["The brake of the fleet is not configured"]);
    let released = scene.send(&Request::new("POST", "/v1/brake")).await;
    assert_eq!(released.status, 200, "{released}");
    cts(&scene, &["task", "release", "-all", "web"])
        .await
        .failed(14, &["cannot be used with"]);
    scene.instance.stop().await;
}
