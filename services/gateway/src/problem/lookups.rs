//! Answers to clients whose call of the scheduler has failed.

use std::sync::Arc;

use cts_core::ErrorCode;
use http::StatusCode;

use super::Problem;
use crate::scheduler_client::CallError;

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        Self::from(&error)
    }
}

impl From<Arc<CallError>> for Problem {
    fn from(error: Arc<CallError>) -> Self {
        Self::from(&*error)
    }
}

impl From<&CallError> for Problem {
    fn from(error: &CallError) -> Self {
        let unknown = |code, message| Self::new(code, StatusCode::NOT_FOUND, message);
        match error {
            CallError::NoSuchTask(name) => Self::unknown_task(name),
            CallError::NoSuchRun(run) => unknown(
                ErrorCode::RunUnknown,
                format!("a run with id '{run}' does not exist"),
            ),
            CallError::NoPlan(run) => unknown(
                ErrorCode::PlanUnknown,
                format!(
                    "the run with id '{run}' has no plan as data: its plan changes nothing, is not made yet or is no longer kept, the run makes no plan of its own (an apply without `plan = \"saved\"`, a check, a destruction), the plan could not be reported, or its worker or its driver makes none"
                ),
            ),
            CallError::NoApproval(run) => unknown(
                ErrorCode::ApprovalUnknown,
                format!(
                    "the run with id '{run}' has no effect that needs consent, or the effect is no longer known"
                ),
            ),
            CallError::NothingRejected(task) => unknown(
                ErrorCode::ApprovalUnknown,
                format!("there is no task with name '{task}' with a rejected effect"),
            ),
            CallError::ApprovalChanged(why) => {
                Self::new(ErrorCode::ApprovalChanged, StatusCode::CONFLICT, why)
            }
            CallError::TooOld(part) => Self::new(
                ErrorCode::SchedulerOutdated,
                StatusCode::NOT_IMPLEMENTED,
                format!("the scheduler is of an earlier version, which does not have {part}"),
            ),
            CallError::NoSuchWorker(worker) => unknown(
                ErrorCode::WorkerUnknown,
                format!("a worker with id '{worker}' does not exist"),
            ),
            CallError::Refused(why) => Self::new(ErrorCode::RunConflict, StatusCode::CONFLICT, why),
            CallError::NoSuchPage => Self::new(
                ErrorCode::RequestInvalid,
                StatusCode::BAD_REQUEST,
                "parameter \"after\" in query has an error: value is none of a list's",
            ),
            CallError::Call(_) | CallError::TooLarge { .. } | CallError::Answer(_) => {
                Self::failed(error)
            }
        }
    }
}
