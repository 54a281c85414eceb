//! A state that moves from a backend into a workspace, and back.

use cts_testkit::eventually;
use cts_testkit::hcp::Fault;
use cts_tests::{Backend, DEADLINE, Instance, task};
use serde_json::{Value, json};

use super::stage::{Stage, WORKSPACE};

/// The task `edge`.
fn edge() -> String {
    task("edge", "./modules/edge", &["web"], "")
}

/// Applies the task once with its state in a directory.
async fn apply_locally(stage: &Stage) {
    stage.register("web-1").await;
    let consul = stage.consul.address();
    stage.site.configure(&consul, Backend::Shared, &edge());
    let cts = Instance::start_embedded(&stage.site).await;
    stage.site.wait_for_ids("edge", &["web-1"]).await;
    cts.api.wait_for_events("edge", 1).await;
    cts.stop().await;
}

/// The state in the directory, which Terraform may be about to write.
async fn local_state(stage: &Stage) -> Value {
    eventually(DEADLINE, async || {
        let text = std::fs::read(stage.site.state_path("edge")).unwrap();
        serde_json::from_slice(&text).map_err(|error| error.to_string())
    })
    .await
}

/// Configures the server, and the directory as the previous place of states.
fn configure_move(stage: &Stage) {
    let previous = stage.site.shared_backend();
    let (_allowed, previous) = previous.split_once('\n').unwrap();
    stage.configure(&previous.trim().replace("backend ", "previous_backend "));
}

/// In one process: workers of a cluster give a driver that was in force before two minutes.
#[tokio::test]
async fn a_state_moves_into_a_workspace_and_back_and_is_refused_without_a_known_place() {
    let stage = Stage::new().await;
    apply_locally(&stage).await;

    stage.configure("");
    let cts = Instance::start_embedded(&stage.site).await;
    let message = eventually(DEADLINE, async || {
        let events = cts.api.events("edge").await;
        let newest = events.first().cloned().unwrap_or_default();
        let message = newest["error"]["message"].as_str().map(str::to_owned);
        message.ok_or_else(|| format!("{events:?}"))
    })
    .await;
    assert!(
        message.contains("it is not known where it was before"),
        "{message}"
    );
    assert!(
        message.contains("driver \"terraform-cloud\" {\n  previous_backend"),
        "{message}"
    );
    assert!(stage.server.state(WORKSPACE).is_none());
    cts.stop().await;

    configure_move(&stage);
    let cts = Instance::start_embedded(&stage.site).await;
    stage.register("web-2").await;
    stage.recorded(&["web-1", "web-2"]).await;
    let state = stage.server.state(WORKSPACE).unwrap();
    let old = local_state(&stage).await;
    assert_eq!(state["lineage"], old["lineage"]);
    cts.stop().await;

    let back = stage.driver("").replace("driver \"", "previous_backend \"");
    let driver = format!("{}\n{back}", stage.site.shared_backend());
    stage
        .site
        .configure_driver(&stage.consul.address(), &driver, &edge());
    let cts = Instance::start_embedded(&stage.site).await;
    stage.register("web-3").await;
    stage
        .site
        .wait_for_ids("edge", &["web-1", "web-2", "web-3"])
        .await;
    let moved = local_state(&stage).await;
    assert_eq!(moved["lineage"], old["lineage"]);
    cts.stop().await;
}

/// The requests of a move, in their order.
const STEPS: [&str; 3] = [
    "/workspaces/*/actions/lock",
    "/workspaces/*/state-versions",
    "/workspaces/*/actions/unlock",
];

#[tokio::test]
async fn a_move_survives_a_kill_in_each_step() {
    for step in STEPS {
        for fault in [
            Fault::delay("POST", step, DEADLINE),
            Fault::lose_answer("POST", step),
        ] {
            let stage = Stage::new().await;
            apply_locally(&stage).await;
            let old = local_state(&stage).await;
            configure_move(&stage);
            stage.server.fault(fault);
            let cts = Instance::start_embedded(&stage.site).await;
            eventually(DEADLINE, async || match stage.server.count("POST", step) {
                0 => Err(format!("no request for {step}")),
                _ => Ok(()),
            })
            .await;
            cts.kill().await;
            stage.server.clear_faults();

            let cts = Instance::start_embedded(&stage.site).await;
            stage.register("web-2").await;
            stage.recorded(&["web-1", "web-2"]).await;
            let state = stage.server.state(WORKSPACE).unwrap();
            assert_eq!(state["lineage"], old["lineage"], "{step}");
            let locked = &stage.server.workspace(WORKSPACE)["attributes"]["locked"];
            assert_ne!(locked, &json!(true), "{step}");
            cts.stop().await;
        }
    }
}
