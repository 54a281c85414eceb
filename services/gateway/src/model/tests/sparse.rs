//! Messages whose parts are empty.

use cts_proto::access::v1::{AuditRecord, ListAuditRecordsResponse};
use cts_proto::cluster::v1::{
    ConfigurationInForce, GetConfigurationResponse, MemberConfiguration, TaskDifference,
    WorkerDifference,
};
use cts_proto::run::v1::{
    KnownState, Planned, RemoteRun, RemoteWorkspace, ResourceCounts, Run, RunDetails, RunOutput,
    StateAt, StateConflict, StateKeep,
};
use cts_proto::task::v1::{
    Decision, Explanation, KnownTerraformState, ObservedView, Obstacle, ViewProblem,
};

use super::filled::at;

pub(super) fn audit() -> ListAuditRecordsResponse {
    ListAuditRecordsResponse {
        records: vec![AuditRecord::default()],
    }
}

pub(super) fn members() -> GetConfigurationResponse {
    GetConfigurationResponse {
        in_force: Some(ConfigurationInForce::default()),
        members: vec![
            MemberConfiguration {
                differences: vec![TaskDifference::default()],
                ..MemberConfiguration::default()
            },
            MemberConfiguration {
                address: Some(String::new()),
                digest: Some(String::new()),
                ..MemberConfiguration::default()
            },
        ],
        workers: vec![WorkerDifference::default()],
    }
}

pub(super) fn details() -> Run {
    Run {
        kind: 77,
        status: 77,
        plan: Some(Planned::default()),
        queued_at: Some(at(0, -1)),
        remote_run: Some(RemoteRun {
            workspace: Some(RemoteWorkspace::default()),
            ..RemoteRun::default()
        }),
        details: Some(RunDetails {
            resources: Some(ResourceCounts::default()),
            phases: None,
            outputs: vec![RunOutput::default()],
            ..RunDetails::default()
        }),
        ..Run::default()
    }
}

pub(super) fn parts() -> Explanation {
    Explanation {
        views: vec![
            ObservedView::default(),
            ObservedView {
                problem: Some(ViewProblem::default()),
                ..ObservedView::default()
            },
        ],
        last_decision: Some(Decision::default()),
        current_run: Some(Run::default()),
        obstacles: vec![Obstacle::default()],
        ..Explanation::default()
    }
}

/// Known data before the first report, and a conflict between an empty place and one that was not read.
pub(super) fn state() -> KnownTerraformState {
    KnownTerraformState {
        known: Some(KnownState {
            keep: StateKeep::New.into(),
            ..KnownState::default()
        }),
        conflict: Some(StateConflict {
            old: Some(StateAt::default()),
            ..StateConflict::default()
        }),
        conflict_at: Some(at(1, 0)),
        ..KnownTerraformState::default()
    }
}
