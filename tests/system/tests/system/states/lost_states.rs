//! A state that is lost, or older than the known one, is not applied to before an operator decides
//! (docs/terraform.md#whose-state-it-is).

use std::fs;
use std::path::Path;

use cts_testkit::{ConsulAgent, assert_contains, eventually, free_port};
use cts_tests::{Api, DEADLINE, Instance, Site, met, task};
use reqwest::Method;
use serde_json::{Value, json};

/// Notes each instance that it makes. Its state is as long as `@LONG@` says, also compressed.
const MAKES: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "long" {
  input = join("", [for part in range(@LONG@) : join("", [for number in range(8) : base64sha512("${part}-${number}")])])
}

resource "terraform_data" "made" {
  for_each = var.services
  input    = each.value.id

  provisioner "local-exec" {
    command = "echo ${each.value.id} >> '@SITE@/@TASK@.made'"
  }
}
"#;

/// The tasks: the state of the first one is lost, and the other one shows that the queue goes on.
const TASKS: [&str; 2] = ["pool", "rest"];

/// Two tasks with their states in Consul, the default backend.
pub(crate) struct Scene {
    pub(crate) consul: ConsulAgent,
    pub(crate) site: Site,
}

impl Scene {
    pub(crate) async fn new(long: usize) -> Self {
        let site = Site::new();
        let path = site.path().to_str().unwrap();
        let mut tasks = String::new();
        for name in TASKS {
            let module = MAKES.replace("@SITE@", path).replace("@TASK@", name);
            let module = module.replace("@LONG@", &long.to_string());
            site.write(&format!("modules/{name}/main.tf"), &module);
            tasks += &task(name, &format!("./modules/{name}"), &["web"], "");
        }
        let consul = ConsulAgent::start().await;
        site.configure_driver(&consul.address(), "", &tasks);
        Self { consul, site }
    }

    /// Registers an instance, and waits until these tasks have made everything, in this order.
    pub(crate) async fn applied(&self, id: &str, tasks: &[(&str, &[&str])]) {
        self.consul.register_service("web", id, 1, &[], &[]).await;
        for (task, expected) in tasks {
            self.made(task, expected).await;
        }
    }

    /// Waits until a task has made exactly this.
    pub(crate) async fn made(&self, task: &str, expected: &[&str]) {
        let file = self.site.path().join(format!("{task}.made"));
        eventually(DEADLINE, async || {
            let made = made_in(&file);
            met(
                made == expected,
                format!("{task}: {made:?} instead of {expected:?}"),
            )
        })
        .await;
    }

    pub(crate) fn made_now(&self, task: &str) -> Vec<String> {
        made_in(&self.site.path().join(format!("{task}.made")))
    }
}

fn made_in(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The key of the state of a task.
pub(crate) fn key(task: &str) -> String {
    format!("consul-terraform-sync/terraform-env:{task}")
}

/// Waits for the end of the newest run of a task, which must have succeeded.
pub(crate) async fn settled(api: &Api, task: &str) {
    eventually(DEADLINE, async || {
        let runs = api.get(&format!("/v1/runs?task={task}&limit=1")).await;
        match runs["runs"][0]["status"].as_str() {
            Some("succeeded") => Ok(()),
            _ => Err(runs),
        }
    })
    .await;
}

/// Waits until the state of the task is refused for this reason and its run has failed; then nothing but a decision
/// runs it.
pub(crate) async fn refused(api: &Api, reason: &str) {
    let run = eventually(DEADLINE, async || {
        let runs = api.get("/v1/runs?task=pool&limit=1").await;
        let run = runs["runs"][0].clone();
        match run["status"].as_str() {
            Some("failed") => Ok(run),
            _ => Err(runs),
        }
    })
    .await;
    let error = run["error"].as_str().unwrap();
    assert_contains(error, [reason, "`cts task state pool -keep=new`"]);
    assert_eq!(run["attempts"], 1, "{run}");
    let state = api.get("/v1/tasks/pool/state").await;
    let told = state["conflict"]["reason"].as_str().unwrap();
    assert_contains(told, [reason]);
    assert_waits(api).await;
}

/// The task is blocked, visibly, and a requested run does not pass.
pub(crate) async fn assert_waits(api: &Api) {
    let explanation = api.get("/v1/tasks/pool/explain").await["explanation"].take();
    let obstacles = explanation["obstacles"].to_string();
    assert_contains(&obstacles, ["its Terraform state is in a conflict"]);
    assert_eq!(explanation["state"]["name"], "blocked", "{explanation}");
    let overview = api.get("/v1/overview").await;
    let problems = overview["problems"].to_string();
    assert_contains(&problems, ["its Terraform state is in a conflict"]);
    let now = "/v1/tasks/pool?run=now";
    let body = Some(json!({ "enabled": true }));
    let (status, text) = api.send(Method::PATCH, now, body).await;
    assert_eq!(status, 500, "{text}");
    assert_contains(text.to_string(), ["cts task state pool"]);
}

/// Decides to go on with whatever is in the backend.
pub(crate) async fn keep_new(api: &Api) {
    let keep = json!({ "keep": "new" });
    let path = "/v1/tasks/pool/state";
    let (status, text) = api.send(Method::POST, path, Some(keep)).await;
    assert_eq!(status, 200, "{text}");
}

const LOST: &str = "the task's state is not there any more";
const OLDER: &str = "the backend has an earlier version of the task's state";

#[tokio::test]
async fn a_state_that_was_deleted_is_begun_anew_only_by_a_decision() {
    let scene = Scene::new(1).await;
    let cts = Instance::start(&scene.site).await;
    let one: &[&str] = &["web-1"];
    scene
        .applied("web-1", &[("pool", one), ("rest", one)])
        .await;
    settled(&cts.api, "pool").await;
    scene.consul.kv_delete(&key("pool")).await;
    scene
        .applied("web-2", &[("rest", &["web-1", "web-2"])])
        .await;
    refused(&cts.api, LOST).await;
    assert_eq!(scene.made_now("pool"), one);

    // Neither a change nor a restart passes.
    scene
        .applied("web-3", &[("rest", &["web-1", "web-2", "web-3"])])
        .await;
    assert_waits(&cts.api).await;
    cts.stop().await;
    let cts = Instance::start(&scene.site).await;
    let rest: &[&str] = &["web-1", "web-2", "web-3", "web-4"];
    scene.applied("web-4", &[("rest", rest)]).await;
    assert_waits(&cts.api).await;
    assert_eq!(scene.made_now("pool"), one);

    keep_new(&cts.api).await;
    eventually(DEADLINE, async || match scene.made_now("pool").len() {
        5 => Ok(()),
        made => Err(format!("{made}")),
    })
    .await;
    settled(&cts.api, "pool").await;
    let state = cts.api.get("/v1/tasks/pool/state").await;
    assert_eq!(
        (&state["conflict"], &state["keep"]),
        (&Value::Null, &Value::Null)
    );

    // The decision was about one loss.
    scene.consul.kv_delete(&key("pool")).await;
    scene
        .consul
        .register_service("web", "web-5", 1, &[], &[])
        .await;
    refused(&cts.api, LOST).await;
    assert_eq!(scene.made_now("pool").len(), 5);
    cts.stop().await;
}

/// An operator puts an older value back, as the restore of a snapshot does, and then the right one.
async fn an_older_state_is_refused(long: usize, are_parts: bool) {
    let scene = Scene::new(long).await;
    let cts = Instance::start(&scene.site).await;
    let mut kept = Vec::new();
    for (id, all) in [("web-1", &["web-1"][..]), ("web-2", &["web-1", "web-2"])] {
        scene.applied(id, &[("pool", all), ("rest", all)]).await;
        settled(&cts.api, "pool").await;
        let lock = format!("{}/.lock", key("pool"));
        assert_eq!(scene.consul.kv_get(&lock).await, None);
        let value = scene.consul.kv_get(&key("pool")).await.unwrap();
        let mut whole = Vec::new();
        let parts = serde_json::from_slice::<Value>(&value).unwrap_or_default();
        assert_eq!(parts["chunks"].is_array(), are_parts);
        for part in parts["chunks"].as_array().into_iter().flatten() {
            let part = part.as_str().unwrap();
            whole.push((part.to_owned(), scene.consul.kv_get(part).await.unwrap()));
        }
        whole.push((key("pool"), value));
        kept.push(whole);
    }
    let put_back = async |version: usize| {
        for (key, value) in &kept[version] {
            scene.consul.kv_put(key, value.clone()).await;
        }
    };
    put_back(0).await;
    let all: &[&str] = &["web-1", "web-2", "web-3"];
    scene.applied("web-3", &[("rest", all)]).await;
    refused(&cts.api, OLDER).await;
    assert_eq!(scene.made_now("pool"), ["web-1", "web-2"]);

    put_back(1).await;
    keep_new(&cts.api).await;
    scene.made("pool", all).await;
    settled(&cts.api, "pool").await;
    let all: &[&str] = &["web-1", "web-2", "web-3", "web-4"];
    scene
        .applied("web-4", &[("pool", all), ("rest", all)])
        .await;
    cts.stop().await;
}

#[tokio::test]
async fn an_older_state_that_was_put_back_is_refused() {
    an_older_state_is_refused(1, false).await;
}

#[tokio::test]
async fn an_older_state_in_several_parts_is_refused() {
    an_older_state_is_refused(1000, true).await;
}

#[tokio::test]
async fn the_tasks_of_a_consul_that_has_lost_its_data_begin_anew_by_one_command() {
    let scene = Scene::new(1).await;
    let cts = Instance::start(&scene.site).await;
    let one: &[&str] = &["web-1"];
    let both = TASKS.map(|task| (task, one));
    scene.applied("web-1", &both).await;
    for task in TASKS {
        settled(&cts.api, task).await;
    }
    for task in TASKS {
        scene.consul.kv_delete(&key(task)).await;
    }
    let consul = &scene.consul;
    consul.register_service("web", "web-2", 1, &[], &[]).await;
    for task in TASKS {
        eventually(DEADLINE, async || {
            let state = cts.api.get(&format!("/v1/tasks/{task}/state")).await;
            match state["conflict"]["reason"].as_str() {
                Some(reason) if reason.contains(LOST) => Ok(()),
                _ => Err(state),
            }
        })
        .await;
    }
    let url = cts.api.url("");
    let decide = [
        "task",
        "state",
        "-keep=new",
        "-all",
        "-auto-approve",
        "-http-addr",
        &url,
    ];
    let decided = scene.site.run("cts", &decide, "decide.log").wait().await;
    assert_eq!(decided.code, Some(0), "{}", decided.output);
    assert_contains(&decided.output, TASKS);
    for task in TASKS {
        eventually(DEADLINE, async || match scene.made_now(task).len() {
            3 => Ok(()),
            made => Err(format!("{task}: {made}")),
        })
        .await;
        settled(&cts.api, task).await;
    }
    cts.stop().await;
}

#[tokio::test]
async fn a_pass_applies_the_other_tasks_and_fails() {
    let scene = Scene::new(1).await;
    let cts = Instance::start_embedded(&scene.site).await;
    let one: &[&str] = &["web-1"];
    let both = TASKS.map(|task| (task, one));
    scene.applied("web-1", &both).await;
    for task in TASKS {
        settled(&cts.api, task).await;
    }
    cts.stop().await;
    scene.consul.kv_delete(&key("pool")).await;
    let consul = &scene.consul;
    consul.register_service("web", "web-2", 1, &[], &[]).await;
    // The first pass finds the loss, the second one a task that is blocked.
    for _ in 0..2 {
        let pass = scene.site.run_cts(free_port(), &["-once"]).wait().await;
        assert_ne!(pass.code, Some(0), "{}", pass.output);
        assert_contains(&pass.output, [LOST, "cts task state pool"]);
        scene.made("rest", &["web-1", "web-2"]).await;
        assert_eq!(scene.made_now("pool"), one);
    }
}
