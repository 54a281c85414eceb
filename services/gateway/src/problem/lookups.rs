//! Answers to clients about runs and workers.

use cts_core::ErrorCode;
use http::StatusCode;

use super::Problem;
use crate::request_id::RequestId;
use crate::scheduler_client::CallError;

impl Problem {
    /// The error of a call of the scheduler about runs.
    pub(crate) fn unanswered_run(error: &CallError, run: &str, id: RequestId) -> Self {
        match error {
            CallError::NoSuchRun => Self::new(
                ErrorCode::RunUnknown,
                StatusCode::NOT_FOUND,
                format!("a run with id '{run}' does not exist"),
            ),
            CallError::Refused(why) => Self::new(ErrorCode::RunConflict, StatusCode::CONFLICT, why),
            CallError::NoSuchPage => Self::new(
                ErrorCode::RequestInvalid,
                StatusCode::BAD_REQUEST,
                "parameter \"after\" in query has an error: value is none of a list's",
            ),
            _ => Self::failed(error, id),
        }
    }

    /// A worker was not ordered to drain.
    pub(crate) fn undrained(error: &CallError, worker: &str, id: RequestId) -> Self {
        match error {
            CallError::NoSuchWorker => Self::new(
                ErrorCode::WorkerUnknown,
                StatusCode::NOT_FOUND,
                format!("a worker with id '{worker}' does not exist"),
            ),
            _ => Self::failed(error, id),
        }
    }
}
