//! Answers to clients for changes that were not made (docs/rest.md#creating-a-task and what follows).

use cts_core::ErrorCode;
use http::StatusCode;

use super::{Cause, Problem};
use crate::request::run_mode::RunMode;
use crate::scheduler_client::{ChangeError, Reason, chain};

/// The requested change, which decides what its failure means for the client.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Create(RunMode),
    Update,
    /// Ours.
    Replace,
    Delete,
    /// Ours.
    Release,
    /// Ours.
    PlanDestruction,
    /// Ours.
    DecideState,
    /// Ours.
    Decide,
}

impl Problem {
    /// The `change` of the task `name` was not made.
    pub(crate) fn unchanged(error: ChangeError, change: Change, name: &str) -> Self {
        match error {
            ChangeError::Declined { reason, message } => declined(change, reason, name, &message),
            ChangeError::Lost(_) => Self {
                cause: Some(Cause {
                    error: chain(&error),
                    is_outage: false,
                }),
                ..Self::new(
                    ErrorCode::ChangeUncertain,
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the scheduler was lost while it was at work; the change may be made all the same",
                )
            },
            ChangeError::Ask(error) => error.into(),
        }
    }
}

fn declined(change: Change, reason: Reason, name: &str, message: &str) -> Problem {
    let answer = |status| Problem::new(code_of(reason), status, message);
    match (change, reason) {
        (Change::Create(mode), _) => match (reason, mode) {
            (Reason::Exists | Reason::Deleting | Reason::Busy, _) => Problem::task_exists(name),
            // Any failure of an inspection counts as the client's (docs/compatibility.md#api).
            (Reason::NotAllowed, _) | (_, RunMode::Inspect) => answer(StatusCode::BAD_REQUEST),
            _ => answer(StatusCode::INTERNAL_SERVER_ERROR),
        },
        (_, Reason::Unknown) => Problem::unknown_task(name),
        (Change::Update, _) => {
            // The reference does not have conflicts (docs/compatibility.md#api).
            let problem = match reason {
                Reason::Busy | Reason::Deleting => busy(name),
                Reason::NotInitialized => Problem::unknown_task(name),
                Reason::RunFailed => failed_update(name, message),
                Reason::NotShown => return answer(StatusCode::CONFLICT),
                Reason::Invalid => return answer(StatusCode::BAD_REQUEST),
                _ => return answer(StatusCode::INTERNAL_SERVER_ERROR),
            };
            Problem {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                ..problem
            }
        }
        (Change::Replace, _) => match reason {
            Reason::Busy | Reason::Deleting => busy(name),
            Reason::Revision | Reason::Exists | Reason::Unknown => answer(StatusCode::CONFLICT),
            Reason::Invalid | Reason::NotAllowed => answer(StatusCode::BAD_REQUEST),
            Reason::RunFailed | Reason::NotInitialized => answer(StatusCode::UNPROCESSABLE_ENTITY),
            Reason::LostMore | Reason::NoConflict | Reason::NotShown | Reason::StillThere => {
                answer(StatusCode::INTERNAL_SERVER_ERROR)
            }
        },
        (Change::DecideState | Change::PlanDestruction, Reason::Invalid) => {
            answer(StatusCode::BAD_REQUEST)
        }
        (Change::DecideState, Reason::NoConflict | Reason::StillThere | Reason::Deleting)
        | (Change::PlanDestruction, Reason::Deleting | Reason::Busy)
        | (Change::Release, Reason::LostMore) => answer(StatusCode::CONFLICT),
        (Change::PlanDestruction, Reason::RunFailed) => answer(StatusCode::UNPROCESSABLE_ENTITY),
        (
            Change::Delete
            | Change::Release
            | Change::PlanDestruction
            | Change::DecideState
            | Change::Decide,
            _,
        ) => answer(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Codes of the reasons for which a scheduler declines a change.
const fn code_of(reason: Reason) -> ErrorCode {
    match reason {
        Reason::Exists => ErrorCode::TaskExists,
        Reason::Busy | Reason::Deleting | Reason::Revision => ErrorCode::TaskBusy,
        Reason::Unknown | Reason::NotInitialized => ErrorCode::TaskUnknown,
        Reason::RunFailed => ErrorCode::RunFailed,
        Reason::Invalid => ErrorCode::RequestInvalid,
        Reason::NotAllowed => ErrorCode::Forbidden,
        Reason::LostMore | Reason::NoConflict | Reason::NotShown | Reason::StillThere => {
            ErrorCode::ChangeRefused
        }
    }
}

/// Clients look for the sentence that names the step.
fn failed_update(name: &str, message: &str) -> Problem {
    let steps = [
        ("error tf-init for", "Unable to init task: "),
        ("error tf-validate for", "Unable to init task: "),
        ("error tf-plan for", "Unable to inspect task: "),
        ("error tf-apply for", "could not apply changes: "),
    ];
    let step = steps.iter().find(|(error, _)| message.contains(error));
    let step = step.map_or("", |(_, sentence)| sentence);
    Problem::new(
        ErrorCode::RunFailed,
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("Error updating task '{name}'. {step}{message}"),
    )
}

fn busy(name: &str) -> Problem {
    Problem::new(
        ErrorCode::TaskBusy,
        StatusCode::CONFLICT,
        format!("task '{name}' is active and cannot be updated at this time"),
    )
}
