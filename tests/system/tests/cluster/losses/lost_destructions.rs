//! A worker is lost after Terraform has destroyed everything, and another worker takes its destruction over.

use cts_tests::{Cluster, Plan, Service};
use serde_json::json;

use crate::any_shape::judged_destructions::resources;
use crate::system::destructions::{Stage, delete, destroyed_task, until_gone};
use crate::system::states::halting::{HALTING, HaltingTerraform};

#[tokio::test]
async fn another_worker_sees_in_the_state_that_everything_is_destroyed() {
    let stage = Stage::without_configuration().await;
    let terraform = HaltingTerraform::install(&stage.site);
    let driver = format!("{HALTING}\n  {}", stage.site.shared_backend());
    stage.configure(&driver, &destroyed_task());
    let mut cluster = Cluster::start(&stage.site, Plan::of(1, 1, 2, 1)).await;
    let api = cluster.api(0);
    api.wait_for_events("made", 1).await;
    terraform.halt_after("*-destroy*");
    delete(&api).await;
    terraform.halted().await;
    let processes = stage.site.terraform_processes();
    let lost = cluster.worker_of(*processes.first().unwrap());
    cluster.kill(Service::Worker, lost).await;
    stage.site.wait_until_quiet().await;
    assert_eq!((stage.file("made").exists(), stage.begun()), (false, 1));
    assert_eq!(resources(&stage), json!([]));
    terraform.go_on();

    until_gone(&api, "made").await;
    let runs = api.get("/v1/runs?task=made&limit=1").await;
    let run = &runs["runs"][0];
    let seen = (run["kind"].as_str(), run["status"].as_str());
    assert_eq!(seen, (Some("destroy"), Some("succeeded")), "{run}");
    assert_eq!((stage.file("made").exists(), stage.begun()), (false, 1));
    stage.site.wait_until_quiet().await;
}
