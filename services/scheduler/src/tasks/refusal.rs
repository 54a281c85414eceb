//! Why a request about a task is refused, and the status that callers get.

use cts_core::{Chain, InvalidDraft, Loss, TaskName};
use cts_store::{Refused, RefusedCode, StoreError, TaskError};
use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use tonic::{Code, Status};

use crate::status::store_failure;

/// Key of the word for programs in the metadata of an answer.
const REASON: &str = "cts-reason";

/// Longest message of an answer, in bytes. Messages travel encoded in a header, and headers have little room;
/// Terraform's output can be long, and is stored with the run.
const MESSAGE: usize = 4096;

/// Bytes of the end of a message that are kept if it is too long.
const END: usize = 1536;

/// Losses that a message names.
const LOSSES: usize = 10;

/// Stands for the omitted part.
const OMITTED: &str = "\n[the middle is left out here; the run has all of it]\n";

/// Error texts are, where the original has them, the texts that its callers look for
/// (docs/rest.md#creating-a-task, #updating-a-task).
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskRefusal {
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    NotAllowed(String),
    #[error("task with name {0} already exists")]
    Exists(TaskName),
    #[error("there is no task '{0}'")]
    Unknown(TaskName),
    #[error("task '{0}' is active and cannot be updated at this time")]
    Busy(TaskName),
    #[error("task '{0}' is being deleted, so it is active and cannot be updated at this time")]
    Deleting(TaskName),
    #[error(
        "no inspection of task '{0}' since its last apply has shown the effect, or the effect is rejected: inspect the task again; if the effect is rejected, `cts approvals reopen {0}` lets the task ask again"
    )]
    NotShown(TaskName),
    #[error("the state of task '{0}' is in no conflict, so there is nothing to decide")]
    NoConflict(TaskName),
    #[error(
        "task '{earlier}' is still there, so its state is its own; delete it first, and let its infrastructure stay"
    )]
    StillThere { earlier: TaskName },
    #[error("task '{task}' has revision {current}, and not the one that was named")]
    Revision { task: TaskName, current: u64 },
    #[error("task '{task}' has lost more meanwhile: {}", listed(losses))]
    LostMore { task: TaskName, losses: Vec<Loss> },
    #[error("{0}")]
    NotInitialized(String),
    #[error("{0}")]
    RunFailed(String),
    /// Another call has requested the run in between: the call asks again.
    #[error("the run is requested already")]
    Requested,
    #[error("this scheduler is shutting down; what was asked for goes on without it")]
    ShuttingDown,
    #[error("the scheduler failed: {0}")]
    Broken(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TaskRefusal {
    /// Why the store has not done something with a task.
    pub(super) fn of(error: TaskError, task: &TaskName) -> Self {
        let task = task.clone();
        match error {
            TaskError::Unknown => Self::Unknown(task),
            TaskError::Exists => Self::Exists(task),
            TaskError::BeingCreated { .. } | TaskError::Busy => Self::Busy(task),
            TaskError::Requested => Self::Requested,
            TaskError::Revision { current } => Self::Revision { task, current },
            TaskError::Deleting => Self::Deleting(task),
            TaskError::LostMore { losses } => Self::LostMore { task, losses },
            TaskError::NoConflict => Self::NoConflict(task),
            TaskError::NotShown => Self::NotShown(task),
            TaskError::StateRefused { reason } => Self::RunFailed(format!(
                "its Terraform state waits for a decision: {reason}; `cts task state {task}` shows both sides, and -keep decides"
            )),
            TaskError::StillThere(earlier) => Self::StillThere { earlier },
            TaskError::Store(error) => Self::Store(error),
        }
    }

    /// Why a declaration is refused.
    pub(super) fn of_draft(invalid: &InvalidDraft) -> Self {
        let message = invalid.to_string();
        match invalid {
            InvalidDraft::Problems(_) => Self::Invalid(message),
            InvalidDraft::NotAllowed(_) => Self::NotAllowed(message),
        }
    }

    /// Why no run happened.
    pub(super) fn of_request(refused: Refused) -> Self {
        match refused.code {
            RefusedCode::Incomplete => Self::NotInitialized(refused.reason),
            RefusedCode::Unusable | RefusedCode::Withdrawn | RefusedCode::Held => {
                Self::RunFailed(refused.reason)
            }
        }
    }

    const fn kind(&self) -> Option<(Code, &'static str)> {
        Some(match self {
            Self::Invalid(_) => (Code::InvalidArgument, "invalid"),
            Self::Requested => (Code::Aborted, "busy"),
            Self::NotAllowed(_) => (Code::InvalidArgument, "not_allowed"),
            Self::Exists(_) => (Code::AlreadyExists, "exists"),
            Self::Unknown(_) => (Code::NotFound, "unknown"),
            Self::Busy(_) => (Code::FailedPrecondition, "busy"),
            Self::Deleting(_) => (Code::FailedPrecondition, "deleting"),
            Self::NoConflict(_) => (Code::FailedPrecondition, "no_conflict"),
            Self::NotShown(_) => (Code::FailedPrecondition, "not_shown"),
            Self::StillThere { .. } => (Code::FailedPrecondition, "still_there"),
            Self::Revision { .. } => (Code::Aborted, "revision"),
            Self::LostMore { .. } => (Code::Aborted, "lost_more"),
            Self::NotInitialized(_) => (Code::FailedPrecondition, "not_initialized"),
            Self::RunFailed(_) => (Code::FailedPrecondition, "run_failed"),
            Self::ShuttingDown | Self::Broken(_) | Self::Store(_) => return None,
        })
    }
}

/// The first losses, and the number of the remaining losses.
fn listed(losses: &[Loss]) -> String {
    let shown = losses.iter().take(LOSSES).map(ToString::to_string);
    let list = shown.collect::<Vec<_>>().join("; ");
    match losses.len().saturating_sub(LOSSES) {
        0 => list,
        more => format!("{list} (and {more} more)"),
    }
}

impl From<TaskRefusal> for Status {
    fn from(refusal: TaskRefusal) -> Self {
        if let Some((code, reason)) = refusal.kind() {
            return declined(code, reason, refusal.to_string());
        }
        match refusal {
            TaskRefusal::Store(error) => store_failure(&error),
            TaskRefusal::Broken(_) => {
                tracing::error!(error = %Chain(&refusal), "request failed");
                Self::internal(refusal.to_string())
            }
            other => Self::unavailable(other.to_string()),
        }
    }
}

/// No task has this name; the name need not be valid.
pub(crate) fn unknown_task(name: &str) -> Status {
    let message = format!("there is no task {name:?}");
    declined(Code::NotFound, "unknown", message)
}

pub(crate) fn declined(code: Code, reason: &'static str, message: String) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(REASON, AsciiMetadataValue::from_static(reason));
    Status::with_metadata(code, bounded(message), metadata)
}

fn bounded(message: String) -> String {
    if message.len() <= MESSAGE {
        return message;
    }
    let begin = message.floor_char_boundary(MESSAGE - END - OMITTED.len());
    let end = message.ceil_char_boundary(message.len() - END);
    format!("{}{OMITTED}{}", &message[..begin], &message[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_get_a_word_for_programs() {
        let task = || TaskName::new("t").unwrap();
        let refusals = [
            (TaskRefusal::Exists(task()), Code::AlreadyExists, "exists"),
            (TaskRefusal::Unknown(task()), Code::NotFound, "unknown"),
            (TaskRefusal::Busy(task()), Code::FailedPrecondition, "busy"),
            (
                TaskRefusal::of_request(Refused {
                    code: RefusedCode::Incomplete,
                    reason: "nothing is known of web".into(),
                }),
                Code::FailedPrecondition,
                "not_initialized",
            ),
            (
                TaskRefusal::RunFailed("error tf-apply".into()),
                Code::FailedPrecondition,
                "run_failed",
            ),
        ];
        for (refusal, code, reason) in refusals {
            let status = Status::from(refusal);
            assert_eq!(status.code(), code);
            assert_eq!(status.metadata().get(REASON).unwrap(), reason);
        }
        assert_eq!(
            Status::from(TaskRefusal::ShuttingDown).code(),
            Code::Unavailable
        );
    }

    #[test]
    fn long_messages_keep_their_beginning_and_their_end() {
        let message = format!("begin{}end", "\u{e9}".repeat(MESSAGE));
        let status = Status::from(TaskRefusal::RunFailed(message));
        let message = status.message();
        assert!(message.len() <= MESSAGE, "{}", message.len());
        assert!(message.starts_with("begin") && message.ends_with("end"));
        assert!(message.contains("left out"));
    }
}
