//! One call of the scheduler: its limits, its repetition and its error.

use std::error::Error;
use std::time::Duration;

use cts_core::callers::TaskPatterns;
use cts_rpc::{CallFailure, ConversionError, DATABASE_UNREACHABLE};
use tokio::time::timeout;
use tonic::{Code, Status};

/// The problem while no scheduler answers.
pub(crate) const NO_SCHEDULER: &str = "no scheduler is available";

/// Longest wait for a complete answer. Reads are answered from the store in milliseconds; what takes
/// longer than this will not come.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(10);

/// Longest wait for the answer of another scheduler, after a scheduler that cannot reach its database.
const OTHER_LIMIT: Duration = Duration::from_secs(1);

/// The scheduler gave no answer that can be passed on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The scheduler has no task of that name.
    #[error("there is no task of that name")]
    NoSuchTask(String),
    /// The scheduler has no run of that id.
    #[error("there is no run of that id")]
    NoSuchRun(String),
    /// The scheduler has no plan of that run.
    #[error("there is no plan of that run")]
    NoPlan(String),
    /// The scheduler has no effect of that run that needs consent.
    #[error("there is no effect of that run that needs consent")]
    NoApproval(String),
    /// The scheduler has no rejected effect of that task.
    #[error("there is no rejected effect of that task")]
    NothingRejected(String),
    /// The effects are not the named ones, or are decided already; the text is an answer to clients.
    #[error("the scheduler refuses a decision: {0}")]
    ApprovalChanged(String),
    /// The scheduler is of a version without this part of the API.
    #[error("the scheduler does not have {0}")]
    TooOld(&'static str),
    /// The scheduler has no worker of that id.
    #[error("there is no worker of that id")]
    NoSuchWorker(String),
    /// The list has no such page.
    #[error("there is no such page")]
    NoSuchPage,
    /// The scheduler refuses the request; the text is an answer to clients.
    #[error("the scheduler refuses: {0}")]
    Refused(String),
    /// The scheduler did not answer, or answered with an error.
    #[error("the call of the scheduler failed: {}", CallFailure(.0))]
    Call(Box<Status>),
    /// The scheduler's answer is larger than an answer to a client may be; the text of the error is an answer to
    /// clients.
    #[error("the answer would have more than {limit} bytes: ask for single tasks")]
    TooLarge {
        /// Most bytes.
        limit: usize,
    },
    /// Its answer breaks the contract.
    #[error("the scheduler's answer cannot be understood")]
    Answer(#[from] ConversionError),
}

/// The patterns of visible tasks for a request (docs/access.md#roles); none if the caller may see all tasks.
pub(super) fn patterns(visible: Option<&TaskPatterns>) -> Vec<String> {
    visible.map_or_else(Vec::new, |visible| visible.texts().to_vec())
}

impl From<Status> for CallError {
    fn from(status: Status) -> Self {
        Self::Call(Box::new(status))
    }
}

impl CallError {
    /// Whether the scheduler that answered cannot reach its database.
    pub(crate) fn is_without_database(&self) -> bool {
        matches!(self, Self::Call(status) if status.message() == DATABASE_UNREACHABLE)
    }

    /// The error of a call that schedulers of earlier versions do not have: of this part of the API.
    pub(super) fn or_too_old(self, part: &'static str) -> Self {
        match self {
            Self::Call(status) if status.code() == Code::Unimplemented => Self::TooOld(part),
            error => error,
        }
    }

    /// Whether no scheduler could answer; false if a scheduler answered with an error.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            Self::Call(status) => is_lost(status) || status.code() == Code::DeadlineExceeded,
            Self::NoSuchTask(_)
            | Self::NoSuchRun(_)
            | Self::NoPlan(_)
            | Self::NoApproval(_)
            | Self::NothingRejected(_)
            | Self::ApprovalChanged(_)
            | Self::TooOld(_)
            | Self::NoSuchWorker(_)
            | Self::NoSuchPage
            | Self::Refused(_)
            | Self::TooLarge { .. }
            | Self::Answer(_) => false,
        }
    }
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Whether another replica may answer a call that got this status.
///
/// A status with a source was made on this side, from a failure of the transport. The code of such a status depends on
/// the state of the connection when it broke, and need not be `UNAVAILABLE`.
pub(super) fn is_lost(status: &Status) -> bool {
    status.code() == Code::Unavailable || status.source().is_some()
}

/// Makes a call, and once more if it is lost, all within `limit`.
pub(super) async fn ask<T, Calling>(
    limit: Duration,
    mut call: impl FnMut() -> Calling,
) -> Result<T, CallError>
where
    Calling: Future<Output = Result<T, Status>>,
{
    let attempts = async {
        match call().await {
            Err(status) if is_lost(&status) => {
                tracing::debug!(
                    error = status.to_string(),
                    "a call of the scheduler was lost, making it again"
                );
                if status.message() != DATABASE_UNREACHABLE {
                    return call().await;
                }
                // Schedulers share the database: if no other scheduler answers, the first answer counts.
                timeout(OTHER_LIMIT, call()).await.unwrap_or(Err(status))
            }
            answer => answer,
        }
    };
    match timeout(limit, attempts).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Status::deadline_exceeded("no complete answer in time").into()),
    }
}

/// The value of `field` in an answer.
pub(super) fn present<T>(value: Option<T>, field: &'static str) -> Result<T, CallError> {
    value.ok_or(CallError::Answer(ConversionError::Missing { field }))
}
