//! Knowledge about the Terraform states of tasks, and the decisions about them.

use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::run::v1::record_state_request::Report;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::ObstacleKind;
use cts_proto::task::v1::decide_terraform_state_request::Decision;
use tonic::{Code, Status};

use crate::calls::{applied, completion, failed};
use crate::setup::{Setup, WORKER, instance, task};

/// Longer than the test.
const LONG: Duration = Duration::from_mins(1);

pub(crate) fn terraform_state(serial: u64) -> run::TerraformState {
    run::TerraformState {
        lineage: "a-lineage".into(),
        serial,
        resources: None,
    }
}

pub(crate) async fn record(
    setup: &Setup,
    lease: &run::Lease,
    report: Report,
) -> Result<u32, Status> {
    let request = run::RecordStateRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        report: Some(report),
    };
    let recorded = setup.runs.clone().record_state(request).await?;
    Ok(recorded.into_inner().moves)
}

async fn known(setup: &Setup) -> proto::KnownTerraformState {
    let request = proto::GetTerraformStateRequest { name: "t".into() };
    let known = setup.tasks.clone().get_terraform_state(request).await;
    known.unwrap().into_inner().state.unwrap()
}

pub(crate) async fn decide(setup: &Setup, decision: Decision) -> Result<run::KnownState, Status> {
    let request = proto::DecideTerraformStateRequest {
        name: "t".into(),
        decision: Some(decision),
    };
    let decided = setup.tasks.clone().decide_terraform_state(request).await?;
    Ok(decided.into_inner().state.unwrap().known.unwrap())
}

async fn obstacles(setup: &Setup) -> Vec<ObstacleKind> {
    let explanation = setup.explained("t").await;
    let obstacles = explanation.obstacles.iter();
    obstacles.map(proto::Obstacle::kind).collect()
}

#[tokio::test]
async fn a_refused_run_is_explained_and_decided() {
    let setup = Setup::new(vec![task("t"), task("other")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = setup.acquired().await;
    let second = setup.acquired().await;
    let lease = if first.task_name == "t" {
        first
    } else {
        second
    };
    assert_eq!(lease.state, Some(run::KnownState::default()));

    let keep = || Decision::Keep(run::StateKeep::Old.into());
    let refused = decide(&setup, keep()).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(refused.metadata().get("cts-reason").unwrap(), "no_conflict");
    let other = decide(&setup, Decision::From("other".into())).await;
    let other = other.unwrap_err();
    assert_eq!(other.metadata().get("cts-reason").unwrap(), "still_there");
    for nothing in [
        Decision::Keep(0),
        Decision::Keep(77),
        Decision::From(String::new()),
    ] {
        let refused = decide(&setup, nothing).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }

    let conflict = run::StateConflict {
        reason: "both were changed".into(),
        old: None,
        new: Some(run::StateAt {
            backend: "consul".into(),
            workspace: "t".into(),
            state: Some(terraform_state(3)),
        }),
    };
    let recorded = record(&setup, &lease, Report::Conflict(conflict.clone())).await;
    assert_eq!(recorded.unwrap(), 1);
    setup.complete(&lease, failed("refused")).await.unwrap();
    let told = known(&setup).await;
    assert_eq!(told.conflict, Some(conflict));
    assert!(told.conflict_at.is_some() && told.recorded_at.is_none());
    assert!(
        obstacles(&setup)
            .await
            .contains(&ObstacleKind::StateConflict)
    );

    // Without another attempt, a decision requests a run.
    let decided = decide(&setup, keep()).await.unwrap();
    assert_eq!(decided.keep(), run::StateKeep::Old);
    assert!(
        !obstacles(&setup)
            .await
            .contains(&ObstacleKind::StateConflict)
    );
    let lease = setup.acquired().await;
    assert_eq!(lease.state.as_ref().unwrap().keep(), run::StateKeep::Old);
    let moved = Report::Moved(terraform_state(3));
    for _ in 0..2 {
        let recorded = record(&setup, &lease, moved.clone()).await;
        assert_eq!(recorded.unwrap(), 2);
    }
    let nameless = Report::Moved(run::TerraformState::default());
    let refused = record(&setup, &lease, nameless).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);

    let completed = run::CompleteRunRequest {
        state: Some(terraform_state(5)),
        ..completion(&lease, applied())
    };
    setup.runs.clone().complete_run(completed).await.unwrap();
    let late = record(&setup, &lease, moved).await.unwrap_err();
    assert_eq!(late.code(), Code::FailedPrecondition);
    let told = known(&setup).await;
    let expected = run::KnownState {
        lineage: "a-lineage".into(),
        serial: 5,
        moves: 2,
        moved_serial: Some(3),
        ..run::KnownState::default()
    };
    assert_eq!((told.known, told.conflict), (Some(expected), None));
    assert!(told.recorded_at.is_some());
}

/// The end of an attempt is stored whatever its worker reports about the state.
#[tokio::test]
async fn a_state_that_cannot_be_is_not_stored() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    let completed = run::CompleteRunRequest {
        state: Some(run::TerraformState {
            lineage: "x".repeat(100_000),
            ..run::TerraformState::default()
        }),
        ..completion(&lease, applied())
    };
    let ended = setup.runs.clone().complete_run(completed).await.unwrap();
    assert_eq!(ended.into_inner().status(), run::RunStatus::Succeeded);
    assert_eq!(known(&setup).await.known, Some(run::KnownState::default()));
}
