//! docs/rest.md as data: each row is a request and its expected answer.

mod creation;
mod patch;
mod routing;
mod status;
mod tasks;
mod texts;
mod validation;

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Instance, Site, met, task};

use crate::api::scene::{MODULE, Scene, prepare};

/// A scene with three tasks that have come to rest: `pool` was applied, `sick` has failed, `idle` is disabled.
async fn three_tasks() -> Scene {
    let site = Site::new();
    site.write_steps("sick");
    let tasks = [
        task(
            "pool",
            MODULE,
            &["web"],
            "description = \"keeps <all> & more\"",
        ),
        task("sick", "./modules/sick", &["sick"], "retry_failed = false"),
        task("idle", MODULE, &["web"], "enabled = false"),
    ];
    let (site, consul) = prepare(site, &tasks.concat()).await;
    consul
        .register_service("sick", "sick-1", 1, &[], &["broken"])
        .await;
    let instance = Instance::start(&site).await;
    eventually(DEADLINE, async || {
        let status = instance.api.get("/v1/status").await;
        let counts = &status["task_summary"]["status"];
        met(
            counts["successful"] == 1 && counts["errored"] == 1,
            status.to_string(),
        )
    })
    .await;
    Scene {
        instance,
        site,
        consul,
    }
}
