//! Calls that change tasks. These calls wait for Terraform, so they have no time limit; the loss of the scheduler shows
//! on its connection.

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};

use cts_core::state::StateDecision;
use cts_core::{RequestKey, TaskDraft};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_rpc::CallFailure;
use cts_rpc::convert::{draft_to_wire, state_decision_to_wire};
use tonic::transport::Channel;
use tonic::{ConnectError, Response, Status};

use super::call::{CALL_LIMIT, CallError, ask, is_lost, present};
use super::on_behalf::OnBehalf;
use super::tasks::KnownTask;
use crate::request::run_mode::RunMode;
use crate::request::update_body::Update;

/// A change was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// The scheduler gives the reason, for clients.
    #[error("the scheduler declined the change as {reason:?}: {message}")]
    Declined { reason: Reason, message: String },
    /// The answer was lost, so that it is unknown whether the change was made.
    #[error("the answer to a change was lost: {}", CallFailure(.0))]
    Lost(Box<Status>),
    /// The call failed as any other call can.
    #[error(transparent)]
    Ask(#[from] CallError),
}

/// Why a change was declined: the metadata `cts-reason` (see the proto file of the task service).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Invalid,
    NotAllowed,
    Exists,
    Unknown,
    Busy,
    Deleting,
    RunFailed,
    NotInitialized,
    Revision,
    LostMore,
    NoConflict,
    NotShown,
    StillThere,
}

impl Reason {
    const METADATA: &'static str = "cts-reason";

    /// The reason that came with `status`; none with what is not for clients.
    fn of(status: &Status) -> Option<Self> {
        Some(
            match status.metadata().get(Self::METADATA)?.to_str().ok()? {
                "invalid" => Self::Invalid,
                "not_allowed" => Self::NotAllowed,
                "exists" => Self::Exists,
                "unknown" => Self::Unknown,
                "busy" => Self::Busy,
                "deleting" => Self::Deleting,
                "run_failed" => Self::RunFailed,
                "not_initialized" => Self::NotInitialized,
                "revision" => Self::Revision,
                "lost_more" => Self::LostMore,
                "no_conflict" => Self::NoConflict,
                "not_shown" => Self::NotShown,
                "still_there" => Self::StillThere,
                _ => return None,
            },
        )
    }
}

impl From<Status> for ChangeError {
    fn from(status: Status) -> Self {
        match Reason::of(&status) {
            // The mode of wait=false, which only later versions know.
            Some(Reason::Invalid) if status.message().starts_with("unknown enumeration value") => {
                Self::Ask(CallError::TooOld("wait=false"))
            }
            Some(reason) => Self::Declined {
                reason,
                message: status.message().to_owned(),
            },
            None if is_lost(&status) && !was_never_sent(&status) => Self::Lost(Box::new(status)),
            None => Self::Ask(status.into()),
        }
    }
}

/// Changes tasks by the task service, for one client of the API.
#[derive(Debug, Clone)]
pub(crate) struct TaskChangeClient {
    client: TaskServiceClient<Channel>,
    by: OnBehalf,
}

/// A task after a change, or as it would be, with the requested plan.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) task: KnownTask,
    pub(crate) plan: Option<cts_proto::run::v1::Planned>,
    /// Why its run does not follow yet.
    pub(crate) held: Option<String>,
    /// Id of its run that waits for consent; empty if none does.
    pub(crate) waiting: String,
    /// Id of its run, if the answer does not wait for it; empty otherwise.
    pub(crate) requested: String,
}

/// The key of a request on the wire; empty without one.
fn key_on_wire(key: Option<RequestKey>) -> String {
    key.map(|key| key.to_string()).unwrap_or_default()
}

impl TaskChangeClient {
    pub(crate) fn new(client: TaskServiceClient<Channel>, by: OnBehalf) -> Self {
        Self { client, by }
    }

    pub(crate) async fn create(
        &self,
        task: TaskDraft,
        mode: RunMode,
    ) -> Result<Changed, ChangeError> {
        let request = proto::CreateTaskRequest {
            task: Some(draft_to_wire(task)),
            run_mode: run_mode(mode).into(),
        };
        let answer = change(call!(self.client.create_task(request) for by)).await?;
        let changed = changed(answer.task, answer.plan, "CreateTaskResponse.task")?;
        Ok(Changed {
            waiting: answer.waiting_run_id,
            ..changed
        })
    }

    /// Switches the task `name` on or off, and approves an effect, by a request with this key.
    pub(crate) async fn update(
        &self,
        name: &str,
        update: Update,
        (mode, key): (RunMode, Option<RequestKey>),
    ) -> Result<proto::UpdateTaskResponse, ChangeError> {
        let request = proto::UpdateTaskRequest {
            name: name.to_owned(),
            enabled: Some(update.enabled),
            run_mode: run_mode(mode).into(),
            approve: update.approve,
            idempotency_key: key_on_wire(key),
        };
        change(call!(self.client.update_task(request) for by)).await
    }

    /// Replaces the task with the name of `task`, if the stored task has this revision; 0 matches any revision. With
    /// `release` the run ignores the guards of the task.
    pub(crate) async fn replace(
        &self,
        task: TaskDraft,
        revision: u64,
        (mode, release): (RunMode, bool),
    ) -> Result<Changed, ChangeError> {
        let request = proto::ReplaceTaskRequest {
            name: task.name.clone(),
            task: Some(draft_to_wire(task)),
            revision,
            run_mode: run_mode(mode).into(),
            release,
        };
        let answer = change(call!(self.client.replace_task(request) for by)).await?;
        let held = Some(answer.held).filter(|held| !held.is_empty());
        let changed = changed(answer.task, None, "ReplaceTaskResponse.task")?;
        Ok(Changed {
            held,
            waiting: answer.waiting_run_id,
            requested: answer.requested_run_id,
            ..changed
        })
    }

    /// Releases the task `name`, which its shrink limit blocks, if the losses do not exceed those that were `seen`, and
    /// returns the cause. Does not wait for a run, so it is retried like a query.
    pub(crate) async fn release(
        &self,
        name: &str,
        seen: Option<proto::SeenLosses>,
    ) -> Result<Option<proto::Hold>, ChangeError> {
        let request = proto::ReleaseTaskRequest {
            name: name.to_owned(),
            seen: seen.clone(),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.release_task(request) for by)).await;
        Ok(with_reason(answer)?.into_inner().hold)
    }

    /// Decides which Terraform state the task `name` goes on with. Waits for no run, and is the same if it is repeated.
    pub(crate) async fn decide_state(
        &self,
        name: &str,
        decision: StateDecision,
    ) -> Result<proto::KnownTerraformState, ChangeError> {
        let request = proto::DecideTerraformStateRequest {
            name: name.to_owned(),
            decision: Some(state_decision_to_wire(decision)),
        };
        let answer = ask(
            CALL_LIMIT,
            call!(self.client.decide_terraform_state(request) for by),
        )
        .await;
        let state = with_reason(answer)?.into_inner().state;
        Ok(present(state, "DecideTerraformStateResponse.state")?)
    }

    /// Plans what a deletion of the task `name` would destroy; `None` if nothing was ever applied.
    pub(crate) async fn plan_destruction(
        &self,
        name: &str,
        key: Option<RequestKey>,
    ) -> Result<Option<cts_proto::run::v1::Planned>, ChangeError> {
        let request = proto::PlanTaskDestructionRequest {
            name: name.to_owned(),
            idempotency_key: key_on_wire(key),
        };
        let answer = change(call!(self.client.plan_task_destruction(request) for by)).await?;
        Ok(answer.plan)
    }

    /// Deletes the task `name`. A deletion does not wait for a run and may be repeated, so it is retried like a query.
    /// If the repeated call finds no such task, the first call has deleted it, and its answer was lost.
    ///
    /// The infrastructure is destroyed first if the task declares that, unless this deletion `retains` it.
    pub(crate) async fn delete(&self, name: &str, retains: bool) -> Result<(), ChangeError> {
        let mode = if retains {
            proto::DeletionMode::Retain
        } else {
            proto::DeletionMode::AsDeclared
        };
        let lost = AtomicBool::new(false);
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.client.clone();
            let request = self.by.request(proto::DeleteTaskRequest {
                name: name.to_owned(),
                mode: mode.into(),
            });
            let lost = &lost;
            async move {
                let answer = client.delete_task(request).await;
                if let Err(status) = &answer
                    && is_lost(status)
                    && !was_never_sent(status)
                {
                    lost.store(true, Ordering::Relaxed);
                }
                answer
            }
        })
        .await;
        match with_reason(answer) {
            Err(ChangeError::Declined {
                reason: Reason::Unknown,
                ..
            }) if lost.into_inner() => Ok(()),
            answer => answer.map(drop),
        }
    }
}

/// The answer to a change that was sent like a query, or the reason why the scheduler declined the change.
pub(super) fn with_reason<T>(answer: Result<T, CallError>) -> Result<T, ChangeError> {
    match answer {
        Err(CallError::Call(status)) if Reason::of(&status).is_some() => Err((*status).into()),
        answer => Ok(answer?),
    }
}

fn changed(
    task: Option<proto::Task>,
    plan: Option<cts_proto::run::v1::Planned>,
    field: &'static str,
) -> Result<Changed, ChangeError> {
    let task = KnownTask::of(task, field)?;
    Ok(Changed {
        task,
        plan,
        held: None,
        waiting: String::new(),
        requested: String::new(),
    })
}

const fn run_mode(mode: RunMode) -> proto::RunMode {
    match mode {
        RunMode::Later => proto::RunMode::Unspecified,
        RunMode::Now => proto::RunMode::Now,
        RunMode::Request => proto::RunMode::Request,
        RunMode::Inspect => proto::RunMode::Inspect,
    }
}

/// Makes a call that must not be made twice; again only if the first has not left this process.
pub(super) async fn change<T, Calling>(mut call: impl FnMut() -> Calling) -> Result<T, ChangeError>
where
    Calling: Future<Output = Result<Response<T>, Status>>,
{
    let answer = match call().await {
        Err(status) if was_never_sent(&status) => call().await,
        answer => answer,
    };
    Ok(answer?.into_inner())
}

/// Whether the call failed because it had no connection.
fn was_never_sent(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}
