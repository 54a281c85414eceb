//! A running system with tasks, and the steps of tests with its API.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Instance, RECORDER, Site, task as task_block};
use serde_json::{Value, json};

use crate::api::wire::{Answer, Request};

/// A module for any number of tasks, which keeps its input.
pub(crate) const MODULE: &str = "./modules/recorder";

/// Consul with an instance `web-1` of `web`, a site whose state can be read, and a system in the shape of
/// the test run. Its parts end in the order of the members.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) instance: Instance,
    pub(crate) site: Site,
    pub(crate) consul: ConsulAgent,
}

impl Scene {
    /// Starts with these task blocks in the configuration.
    pub(crate) async fn with(tasks: &str) -> Self {
        Self::of_site(Site::new(), tasks).await
    }

    /// Starts with these task blocks in a site that already has files.
    pub(crate) async fn of_site(site: Site, tasks: &str) -> Self {
        let (site, consul) = prepare(site, tasks).await;
        let instance = Instance::start(&site).await;
        Self {
            instance,
            site,
            consul,
        }
    }

    /// Starts with this content of the driver block, and these blocks in the configuration.
    pub(crate) async fn of_driver(site: Site, driver: &str, blocks: &str) -> Self {
        let (site, consul) = prepare(site, "").await;
        site.configure_driver(&consul.address(), driver, blocks);
        let instance = Instance::start(&site).await;
        Self {
            instance,
            site,
            consul,
        }
    }

    /// With a task `pool` whose module is that of [`Site::write_steps`], applied once.
    pub(crate) async fn with_steps() -> Self {
        let site = Site::new();
        site.write_steps("pool");
        let scene = Self::of_site(site, &task_block("pool", "./modules/pool", &["web"], "")).await;
        scene.instance.api.wait_for_events("pool", 1).await;
        scene
    }

    /// Registers `web-2`, and returns when the apply for it is held at its first step.
    pub(crate) async fn hold_at_work(&self) {
        self.site.hold();
        self.register("web", "web-2").await;
        let step = self.site.wait_for_step("pool", "begin", "web-1,web-2");
        step.await;
    }

    /// Without any task.
    pub(crate) async fn empty() -> Self {
        Self::with("").await
    }

    /// Rewrites the configuration, for the next start.
    pub(crate) fn configure(&self, tasks: &str) {
        self.site
            .configure(&self.consul.address(), Backend::Shared, tasks);
    }

    /// Stops in order, and starts again.
    pub(crate) async fn restart(self) -> Self {
        let Self {
            instance,
            site,
            consul,
        } = self;
        instance.stop().await;
        let instance = Instance::start(&site).await;
        Self {
            instance,
            site,
            consul,
        }
    }

    pub(crate) async fn send(&self, request: &Request) -> Answer {
        request.send(self.instance.api.address()).await
    }

    pub(crate) async fn ask(&self, method: &str, target: &str) -> Answer {
        self.send(&Request::new(method, target)).await
    }

    /// `POST /v1/tasks` with this query (as in `?run=now`).
    pub(crate) async fn create(&self, task: &Value, query: &str) -> Answer {
        self.send(&creation(task, query)).await
    }

    /// `PATCH /v1/tasks/{name}` with this query.
    pub(crate) async fn switch(&self, name: &str, enabled: bool, query: &str) -> Answer {
        self.send(&switching(name, enabled, query)).await
    }

    pub(crate) async fn delete(&self, name: &str) -> Answer {
        self.ask("DELETE", &format!("/v1/tasks/{name}")).await
    }

    /// Waits until a deletion is complete.
    pub(crate) async fn wait_until_gone(&self, name: &str) {
        eventually(DEADLINE, async || {
            let answer = self.ask("GET", &format!("/v1/tasks/{name}")).await;
            match answer.status {
                404 => Ok(()),
                _ => Err(answer.to_string()),
            }
        })
        .await;
    }

    /// Waits until a task is there.
    pub(crate) async fn wait_until_there(&self, name: &str) {
        eventually(DEADLINE, async || {
            let answer = self.ask("GET", &format!("/v1/tasks/{name}")).await;
            match answer.status {
                200 => Ok(()),
                _ => Err(answer.to_string()),
            }
        })
        .await;
    }

    /// Names of all tasks, in their order.
    pub(crate) async fn names(&self) -> Vec<String> {
        let list = self.instance.api.get("/v1/tasks").await;
        let tasks = list["tasks"].as_array().unwrap().iter();
        tasks
            .map(|task| task["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Registers a further instance of a service, which makes the tasks run that watch it.
    pub(crate) async fn register(&self, service: &str, id: &str) {
        self.consul.register_service(service, id, 1, &[], &[]).await;
    }

    /// Number of steps that a task with the module of [`Site::write_steps`] has begun.
    pub(crate) fn steps(&self, task: &str) -> usize {
        let journal = self.site.journal(task);
        let begun = journal.iter().filter(|line| line.starts_with("begin "));
        begun.count()
    }
}

/// Prepares the site and Consul before an [`Instance`] can start.
pub(crate) async fn prepare(site: Site, tasks: &str) -> (Site, ConsulAgent) {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    site.write("modules/recorder/main.tf", RECORDER);
    site.configure(&consul.address(), Backend::Shared, tasks);
    (site, consul)
}

/// A task object on the service `web`.
pub(crate) fn task(name: &str, module: &str) -> Value {
    task_on(name, module, "web")
}

/// A task object on a service.
pub(crate) fn task_on(name: &str, module: &str, service: &str) -> Value {
    json!({
        "name": name,
        "module": module,
        "condition": {"services": {"names": [service]}},
    })
}

/// `POST /v1/tasks` with this query.
pub(crate) fn creation(task: &Value, query: &str) -> Request {
    Request::new("POST", &format!("/v1/tasks{query}")).json(&json!({"task": task}))
}

/// `PATCH /v1/tasks/{name}` with this query.
pub(crate) fn switching(name: &str, enabled: bool, query: &str) -> Request {
    Request::new("PATCH", &format!("/v1/tasks/{name}{query}")).json(&json!({"enabled": enabled}))
}
