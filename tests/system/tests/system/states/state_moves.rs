//! A changed backend moves the state of each task, and of no other (docs/terraform.md#moving-a-state).

use std::fs;
use std::path::{Path, PathBuf};

use cts_testkit::{ConsulAgent, Postgres, assert_contains, eventually};
use cts_tests::{DEADLINE, Instance, Shape, Site, task};
use serde_json::Value;

/// Notes each instance that it makes.
const MAKES: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "made" {
  for_each = var.services
  input    = each.value.id

  provisioner "local-exec" {
    command = "echo ${each.value.id} >> '@SITE@/@TASK@.made'; while [ -e '@SITE@/hold' ]; do sleep 0.1; done"
  }
}
"#;

/// A site whose tasks make the instances that Consul has, and note that.
pub(crate) struct Stage {
    pub(crate) consul: ConsulAgent,
    pub(crate) site: Site,
    tasks: Vec<&'static str>,
}

impl Stage {
    pub(crate) async fn new(tasks: &[&'static str]) -> Self {
        let site = Site::new();
        let path = site.path().to_str().unwrap();
        for task in tasks {
            let module = MAKES.replace("@SITE@", path).replace("@TASK@", task);
            site.write(&format!("modules/{task}/main.tf"), &module);
        }
        let consul = ConsulAgent::start().await;
        Self {
            consul,
            site,
            tasks: tasks.to_vec(),
        }
    }

    /// Writes the configuration with this in its driver block.
    pub(crate) fn configure(&self, driver: &str) {
        self.site
            .configure_driver(&self.consul.address(), driver, &self.tasks());
    }

    /// Writes the configuration with this driver block.
    pub(crate) fn configure_block(&self, driver: &str) {
        self.site
            .write_configuration(&self.consul.address(), driver, &self.tasks());
    }

    fn tasks(&self) -> String {
        let of_task = |name: &&str| task(name, &format!("./modules/{name}"), &["web"], "");
        let tasks: String = self.tasks.iter().map(of_task).collect();
        format!("worker {{ slots = 1 }}\n{tasks}")
    }

    pub(crate) async fn register(&self, id: &str) {
        self.consul.register_service("web", id, 1, &[], &[]).await;
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.site.path().join(name)
    }

    /// The things that each task has made so far.
    pub(crate) fn made(&self, task: &str) -> Vec<String> {
        let text = fs::read_to_string(self.file(&format!("{task}.made"))).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until every task has made exactly these, each of them once.
    pub(crate) async fn wait_for(&self, ids: &[&str]) {
        eventually(DEADLINE, async || {
            let mut all = self.tasks.iter().map(|task| (task, self.made(task)));
            match all.find(|(_task, made)| made.len() < ids.len()) {
                Some(one) => Err(format!("{one:?}")),
                None => Ok(()),
            }
        })
        .await;
        for task in &self.tasks {
            let mut made = self.made(task);
            made.sort_unstable();
            assert_eq!(made, ids, "{task}");
        }
    }

    /// Waits for the end of the last run of every task, which must have succeeded.
    pub(crate) async fn wait_until_applied(&self, cts: &Instance) {
        for task in &self.tasks {
            eventually(DEADLINE, async || {
                let runs = cts.api.get(&format!("/v1/runs?task={task}&limit=1")).await;
                let run = &runs["runs"][0];
                match run["status"].as_str() {
                    Some("succeeded") => Ok(()),
                    _ => Err(run.clone()),
                }
            })
            .await;
        }
    }

    /// A life of cts in which an instance is new.
    pub(crate) async fn one_more(&self, driver: &str, id: &str, all: &[&str]) {
        self.configure(driver);
        self.apply(id, all).await;
    }

    /// A life of cts with the configuration that is there, in which an instance is new.
    pub(crate) async fn apply(&self, id: &str, all: &[&str]) {
        self.register(id).await;
        let cts = Instance::start(&self.site).await;
        self.wait_for(all).await;
        self.wait_until_applied(&cts).await;
        cts.stop().await;
    }
}

/// A directory as the backend.
pub(crate) fn local(directory: &Path) -> String {
    format!(
        "shared_local_backend = true\n  backend \"local\" {{ workspace_dir = \"{}\" }}",
        directory.display()
    )
}

/// A path in Consul's key/value store as the backend.
pub(crate) fn consul(path: &str) -> String {
    format!("backend \"consul\" {{ path = \"{path}/terraform\" }}")
}

/// A new database as the backend.
pub(crate) async fn pg() -> String {
    let connection = Postgres::shared().await.create_database().await;
    format!("backend \"pg\" {{ conn_str = \"{connection}?sslmode=disable\" }}")
}

pub(crate) const BUCKET: &str = "states";

/// A key of the bucket as the backend, with a lock file next to the state.
pub(crate) fn s3(address: &str, key: &str) -> String {
    format!(
        "backend \"s3\" {{\n bucket = \"{BUCKET}\"\n key = \"{key}\"\n region = \"eu-central-1\"\n access_key = \"key-of-edge\"\n \
         secret_key = \"secret-of-edge\"\n endpoints = {{ s3 = \"{address}\" }}\n use_path_style = true\n use_lockfile = true\n \
         skip_credentials_validation = true\n skip_metadata_api_check = true\n skip_region_validation = true\n \
         skip_requesting_account_id = true\n}}"
    )
}

fn states(directory: &Path, tasks: &[&str]) -> Vec<Value> {
    let state = |task: &&str| {
        let text = fs::read(directory.join(task).join("terraform.tfstate")).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    tasks.iter().map(state).collect()
}

/// The first task applied its change in the new backend, and the second one's `init` put the old state back over it.
#[tokio::test]
async fn one_task_does_not_put_back_the_state_of_another() {
    let stage = Stage::new(&["one", "two"]).await;
    let (old, new) = (stage.file("old"), stage.file("new"));
    stage.one_more(&local(&old), "web-1", &["web-1"]).await;
    let before = states(&old, &stage.tasks);
    stage
        .one_more(&local(&new), "web-2", &["web-1", "web-2"])
        .await;
    assert_eq!(states(&old, &stage.tasks), before, "the old ones stay");
    stage
        .one_more(&local(&new), "web-3", &["web-1", "web-2", "web-3"])
        .await;
    for (old, new) in before.iter().zip(states(&new, &stage.tasks)) {
        assert_eq!(old["lineage"], new["lineage"]);
    }
    // A cluster takes settings that were in force before for a rollback, and waits for minutes.
    if Shape::of_this_run() == Shape::Cluster {
        return;
    }
    // The state that was moved away is replaced on the way back.
    let all = ["web-1", "web-2", "web-3", "web-4"];
    stage.one_more(&local(&old), "web-4", &all).await;
}

/// A state at a path of Consul.
async fn state_at(stage: &Stage, path: &str) -> Value {
    let key = format!("{path}/terraform-env:pool");
    let state = stage.consul.kv_get(&key).await.unwrap();
    serde_json::from_slice(&state).unwrap()
}

/// A life of one process with this driver, in which an instance is new. Returns the output of all lives.
async fn life(stage: &Stage, driver: &str, id: &str, all: &[&str]) -> String {
    stage.configure(driver);
    stage.register(id).await;
    let cts = Instance::start_embedded(&stage.site).await;
    stage.wait_for(all).await;
    stage.wait_until_applied(&cts).await;
    let exit = cts.terminate().await;
    exit.assert_code(0);
    exit.output
}

/// About one process: a cluster takes settings that were in force before for a rollback, and waits for minutes.
#[tokio::test]
async fn the_state_of_another_environment_is_never_overwritten() {
    const MOVED: &str = "the state was moved";
    let stage = Stage::new(&["pool"]).await;
    let plain = |path: &str| {
        format!("backend \"consul\" {{\n path = \"{path}/terraform\"\n gzip = false\n}}")
    };
    life(&stage, &plain("qa"), "web-1", &["web-1"]).await;
    let qa = state_at(&stage, "qa").await;
    let mut prod = qa.clone();
    prod["lineage"] = "5f7c3c2e-0000-4000-8000-000000000000".into();
    let key = "prod/terraform-env:pool";
    stage.consul.kv_put(key, prod.to_string()).await;

    stage.configure(&plain("prod"));
    stage.register("web-2").await;
    let cts = Instance::start_embedded(&stage.site).await;
    let error = eventually(DEADLINE, async || {
        let runs = cts.api.get("/v1/runs?task=pool&limit=1").await;
        let error = runs["runs"][0]["error"].as_str().map(str::to_owned);
        error.ok_or(runs)
    })
    .await;
    let identity = |state: &Value| {
        let lineage = state["lineage"].as_str().unwrap();
        format!("lineage {lineage}, serial {}", state["serial"])
    };
    let reason = "the new backend has the state of something else";
    let decisions = "decide with `-keep=old` or `-keep=new`";
    let parts = [reason, decisions, &identity(&qa), &identity(&prod)];
    assert_contains(&error, parts);
    cts.stop().await;
    assert_eq!(state_at(&stage, "qa").await, qa);
    assert_eq!(state_at(&stage, "prod").await, prod);
    assert_eq!(stage.made("pool"), ["web-1"]);

    // A different access to the same state moves nothing.
    let address = stage.consul.address().replace("127.0.0.1", "localhost");
    let access =
        format!("backend \"consul\" {{\n path = \"qa/terraform\"\n address = \"{address}\"\n}}");
    let all = ["web-1", "web-2", "web-3", "web-4", "web-5"];
    life(&stage, &access, all[2], &all[..3]).await;
    let output = life(&stage, &plain("qa"), all[3], &all[..4]).await;
    assert!(!output.contains(MOVED), "{output}");
    assert_eq!(state_at(&stage, "qa").await["lineage"], qa["lineage"]);

    // A place without a state gets that of the task.
    let output = life(&stage, &plain("stage"), all[4], &all).await;
    assert_eq!(output.matches(MOVED).count(), 1, "{output}");
    assert_eq!(state_at(&stage, "stage").await["lineage"], qa["lineage"]);
}
