//! Changes at the task service in memory: the name of the task decides how they fail.

use cts_proto::run::v1 as run;
use cts_proto::run::v1::Planned;
use cts_proto::task::v1::decide_terraform_state_request::Decision;
use cts_proto::task::v1::{
    CreateTaskRequest, CreateTaskResponse, DecideTerraformStateRequest,
    DecideTerraformStateResponse, DeleteTaskRequest, DeleteTaskResponse, KnownTerraformState,
    PlanTaskDestructionRequest, PlanTaskDestructionResponse, ReleaseTaskRequest,
    ReleaseTaskResponse, ReplaceTaskRequest, ReplaceTaskResponse, RunMode, Task, UpdateTaskRequest,
    UpdateTaskResponse,
};
use tonic::{Code, Status};

use crate::runs::RUN;
use crate::tasks::{MemoryTasks, RequestedChange};

/// The revision of every task.
pub(crate) const REVISION: u64 = 3;

/// A status for clients.
fn declined(code: Code, reason: &'static str, message: &str) -> Status {
    let mut status = Status::new(code, message);
    let reason = reason.parse().unwrap();
    status.metadata_mut().insert("cts-reason", reason);
    status
}

/// Result of every change of a task of this name.
fn fate(name: &str) -> Result<(), Status> {
    let failed = Code::FailedPrecondition;
    Err(match name {
        "busy" => declined(failed, "busy", "inner text"),
        "leaving" => declined(failed, "deleting", "inner text"),
        "settled" => declined(failed, "no_conflict", "there is nothing to decide"),
        "taken" => declined(failed, "still_there", "that task is still there"),
        "failing" => declined(
            failed,
            "run_failed",
            "could not apply: exit status 1 -> \"x\"",
        ),
        "wordy" => declined(failed, "run_failed", &"é\n".repeat(40_000)),
        "fresh" => declined(
            failed,
            "not_initialized",
            "the data was not complete in time",
        ),
        "refused" => declined(Code::InvalidArgument, "invalid", "the name is no name"),
        "forbidden" => declined(Code::InvalidArgument, "not_allowed", "security says no"),
        "earlier" => declined(
            Code::InvalidArgument,
            "invalid",
            "unknown enumeration value 3",
        ),
        "broken" => Status::internal("database at 10.0.0.7 said no"),
        "newer" => declined(Code::Unknown, "made_up_later", "inner text"),
        "away" => Status::unavailable("the database is away"),
        _ => return Ok(()),
    })
}

fn plan(mode: RunMode, runs: bool) -> Option<Planned> {
    (mode == RunMode::Inspect && runs).then(|| Planned {
        text: "Plan: 1 to add, 0 to change\n".to_owned(),
        changes_present: true,
        ..Planned::default()
    })
}

/// The run that waits for consent, for the task `edge-lb` and for tasks that are described so.
fn waiting(text: &str) -> String {
    if ["edge-lb", "waits for consent"].contains(&text) {
        return RUN.to_owned();
    }
    String::new()
}

/// The run that is requested, if the answer does not wait for a run.
fn requested(mode: RunMode, runs: bool) -> String {
    if mode == RunMode::Request && runs {
        return RUN.to_owned();
    }
    String::new()
}

impl MemoryTasks {
    fn record(&self, asked: RequestedChange) {
        self.changes.lock().unwrap().push(asked);
    }

    fn find(&self, name: &str) -> Result<Task, Status> {
        let found = self.tasks.iter().find(|task| task.name == name);
        found
            .cloned()
            .ok_or_else(|| declined(Code::NotFound, "unknown", "inner text"))
    }

    pub(crate) fn created(
        &self,
        request: &CreateTaskRequest,
    ) -> Result<CreateTaskResponse, Status> {
        self.record(RequestedChange::Create(request.clone()));
        let task = request.task.clone().unwrap();
        fate(&task.name)?;
        if self.find(&task.name).is_ok() {
            return Err(declined(Code::AlreadyExists, "exists", "inner text"));
        }
        if task.module.is_empty() {
            return Err(declined(Code::InvalidArgument, "invalid", "no module"));
        }
        Ok(CreateTaskResponse {
            plan: plan(request.run_mode(), task.enabled),
            waiting_run_id: waiting(&task.description),
            task: Some(Task {
                revision: 1,
                ..task
            }),
        })
    }

    pub(crate) fn updated(
        &self,
        request: &UpdateTaskRequest,
    ) -> Result<UpdateTaskResponse, Status> {
        self.record(RequestedChange::Update(request.clone()));
        fate(&request.name)?;
        let mut plan = plan(request.run_mode(), request.enabled == Some(true));
        if let Some(plan) = plan.as_mut().filter(|_| request.name == "edge-lb") {
            "rule always, 1 to create".clone_into(&mut plan.would_wait);
            "0af1".clone_into(&mut plan.effect);
        }
        Ok(UpdateTaskResponse {
            task: Some(self.find(&request.name)?),
            plan,
            waiting_run_id: if request.run_mode() == RunMode::Now {
                waiting(&request.name)
            } else {
                String::new()
            },
            requested_run_id: requested(request.run_mode(), request.enabled == Some(true)),
        })
    }

    pub(crate) fn replaced(
        &self,
        request: ReplaceTaskRequest,
    ) -> Result<ReplaceTaskResponse, Status> {
        self.record(RequestedChange::Replace(request.clone()));
        fate(&request.name)?;
        self.find(&request.name)?;
        if ![0, REVISION].contains(&request.revision) {
            let message = format!("the task is at revision {REVISION}");
            return Err(declined(Code::Aborted, "revision", &message));
        }
        let requested = requested(request.run_mode(), true);
        let task = request.task.unwrap();
        Ok(ReplaceTaskResponse {
            waiting_run_id: waiting(&task.description),
            task: Some(Task {
                revision: REVISION + 1,
                ..task
            }),
            held: String::new(),
            requested_run_id: requested,
        })
    }

    pub(crate) fn deleted(
        &self,
        request: &DeleteTaskRequest,
    ) -> Result<DeleteTaskResponse, Status> {
        self.record(RequestedChange::Delete(request.clone()));
        fate(&request.name)?;
        self.find(&request.name)?;
        Ok(DeleteTaskResponse {})
    }

    /// Nothing was ever applied of `fw-sync`.
    pub(crate) fn destruction(
        &self,
        request: &PlanTaskDestructionRequest,
    ) -> Result<PlanTaskDestructionResponse, Status> {
        self.record(RequestedChange::PlanDestruction(request.clone()));
        fate(&request.name)?;
        self.find(&request.name)?;
        let plan = (request.name != "fw-sync").then(|| Planned {
            text: "Plan: 0 to add, 0 to change, 2 to destroy.\n".to_owned(),
            changes_present: true,
            remote_url: "https://tfe.example/run-1".to_owned(),
            ..Planned::default()
        });
        Ok(PlanTaskDestructionResponse { plan })
    }

    /// All tasks have the same known state, and every decision is accepted.
    pub(crate) fn terraform_state(&self, name: &str) -> Result<KnownTerraformState, Status> {
        fate(name)?;
        self.find(name)?;
        let at = |lineage: &str| run::StateAt {
            backend: "consul".into(),
            workspace: name.into(),
            state: (!lineage.is_empty()).then(|| run::TerraformState {
                lineage: lineage.into(),
                serial: 7,
                resources: Some(2),
            }),
        };
        Ok(KnownTerraformState {
            known: Some(run::KnownState {
                lineage: "a-lineage".into(),
                serial: 7,
                moves: 1,
                moved_serial: Some(5),
                ..run::KnownState::default()
            }),
            recorded_at: Some(prost_types::Timestamp {
                seconds: 1_700_000_000,
                nanos: 0,
            }),
            conflict: (name == "edge-lb").then(|| run::StateConflict {
                reason: "the new backend has the state of something else".into(),
                old: Some(at("a-lineage")),
                new: Some(at("another")),
            }),
            conflict_at: (name == "edge-lb").then_some(prost_types::Timestamp {
                seconds: 1_700_000_060,
                nanos: 0,
            }),
        })
    }

    pub(crate) fn decided(
        &self,
        request: &DecideTerraformStateRequest,
    ) -> Result<DecideTerraformStateResponse, Status> {
        self.record(RequestedChange::DecideState(request.clone()));
        let mut state = self.terraform_state(&request.name)?;
        if let Some(known) = &mut state.known {
            match &request.decision {
                Some(Decision::Keep(keep)) => known.keep = *keep,
                Some(Decision::From(from)) => known.from.clone_from(from),
                None => return Err(Status::invalid_argument("nothing is decided")),
            }
        }
        Ok(DecideTerraformStateResponse { state: Some(state) })
    }

    /// The hold that is released is the one in the task's state.
    pub(crate) fn released(
        &self,
        request: &ReleaseTaskRequest,
    ) -> Result<ReleaseTaskResponse, Status> {
        self.record(RequestedChange::Release(request.clone()));
        fate(&request.name)?;
        self.find(&request.name)?;
        let state = self
            .states
            .iter()
            .find(|state| state.task_name == request.name);
        Ok(ReleaseTaskResponse {
            hold: state.and_then(|state| state.hold.clone()),
        })
    }
}
