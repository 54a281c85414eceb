//! A deletion destroys the resources of its task, if the task says so (docs/runs.md#deleting-a-task).

use std::path::PathBuf;

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Api, Backend, DEADLINE, Driver, Instance, MADE_FILE, Site, met, task};
use reqwest::Method;
use rstest::rstest;
use serde_json::json;

/// A site with the module.
pub(crate) struct Stage {
    consul: ConsulAgent,
    pub(crate) site: Site,
}

impl Stage {
    async fn new(driver: Driver, tasks: &str) -> Self {
        let stage = Self::at(Site::with_driver(driver).await).await;
        stage.configure_tasks(tasks);
        stage
    }

    /// A stage that is not configured yet.
    pub(crate) async fn without_configuration() -> Self {
        Self::at(Site::new()).await
    }

    async fn at(site: Site) -> Self {
        let consul = ConsulAgent::start().await;
        let path = site.path().to_str().unwrap();
        site.write("modules/file/main.tf", &MADE_FILE.replace("@SITE@", path));
        Self { consul, site }
    }

    /// Writes the configuration with this in its driver block.
    pub(crate) fn configure(&self, driver: &str, tasks: &str) {
        self.site
            .configure_driver(&self.consul.address(), driver, tasks);
    }

    /// Writes the configuration with these tasks.
    fn configure_tasks(&self, tasks: &str) {
        self.site
            .configure(&self.consul.address(), Backend::Local, tasks);
    }

    /// Number of destructions of the file that have begun.
    pub(crate) fn begun(&self) -> usize {
        let text = std::fs::read_to_string(self.file("begun"));
        text.map_or(0, |text| text.lines().count())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.site.path().join(name)
    }

    async fn until(&self, name: &str, there: bool) {
        eventually(DEADLINE, async || {
            met(
                self.file(name).exists() == there,
                format!("{name}: not {there}"),
            )
        })
        .await;
    }
}

/// A task that makes the file, and that is destroyed with it.
pub(crate) fn destroyed_task() -> String {
    let more = "on_delete = \"destroy\"";
    task("made", "./modules/file", &["web"], more)
}

/// Deletes the task, which is destroyed first.
pub(crate) async fn delete(api: &Api) {
    let (status, answer) = api.send(Method::DELETE, "/v1/tasks/made", None).await;
    assert_eq!(status, 202, "{answer}");
}

pub(crate) async fn until_gone(api: &Api, name: &str) {
    let path = format!("/v1/tasks/{name}");
    eventually(DEADLINE, async || match api.ask(&path).await {
        Ok((404, _)) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

#[rstest]
#[tokio::test]
async fn infrastructure_of_an_api_task_is_destroyed_with_it(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let stage = Stage::new(driver, "").await;
    let cts = Instance::start(&stage.site).await;
    let module = stage.file("modules/file");
    let task = json!({"task": {
        "name": "made", "module": module, "on_delete": "destroy",
        "condition": {"services": {"names": ["web"]}},
    }});
    let (status, answer) = cts
        .api
        .send(Method::POST, "/v1/tasks?run=now", Some(task))
        .await;
    assert_eq!(status, 201, "{answer}");
    assert_eq!(answer["task"]["on_delete"], "destroy");
    assert!(stage.file("made").exists());

    let plan = "/v1/tasks/made/destroy-plan";
    let (status, answer) = cts.api.send(Method::POST, plan, None).await;
    assert_eq!(status, 200, "{answer}");
    let text = answer["run"]["plan"].as_str().unwrap();
    assert!(text.contains("1 to destroy"), "{text}");
    assert!(stage.file("made").exists() && !stage.file("begun").exists());

    delete(&cts.api).await;
    until_gone(&cts.api, "made").await;
    assert!(!stage.file("made").exists());
    let runs = cts.api.get("/v1/runs?task=made&limit=1").await;
    let run = &runs["runs"][0];
    let seen = (run["kind"].as_str(), run["status"].as_str());
    assert_eq!(seen, (Some("destroy"), Some("succeeded")), "{run}");
    cts.stop().await;
}

#[tokio::test]
async fn a_destruction_that_is_killed_is_finished_after_the_restart() {
    let stage = Stage::new(Driver::Terraform, &destroyed_task()).await;
    let cts = Instance::start(&stage.site).await;
    cts.api.wait_for_events("made", 1).await;
    stage.site.write("hold", "");
    delete(&cts.api).await;
    stage.until("begun", true).await;
    cts.kill().await;
    assert!(stage.file("made").exists());
    std::fs::remove_file(stage.file("begun")).unwrap();

    let cts = Instance::start(&stage.site).await;
    // Stopped gently before, the first one may have released its resource or not; the file is the truth.
    std::fs::remove_file(stage.file("hold")).unwrap();
    until_gone(&cts.api, "made").await;
    stage.until("made", false).await;
    // The file of the configuration does not bring it back.
    assert_eq!(cts.api.get("/v1/tasks").await["tasks"], json!([]));
    cts.stop().await;
    stage.site.wait_until_quiet().await;
}

#[rstest]
#[tokio::test]
async fn infrastructure_of_a_task_that_leaves_its_file_is_retained(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let stage = Stage::new(driver, &destroyed_task()).await;
    let cts = Instance::start(&stage.site).await;
    cts.api.wait_for_events("made", 1).await;
    cts.stop().await;
    stage.configure_tasks("");
    let cts = Instance::start(&stage.site).await;
    until_gone(&cts.api, "made").await;
    cts.stop().await;
    assert!(stage.file("made").exists() && !stage.file("begun").exists());
}
