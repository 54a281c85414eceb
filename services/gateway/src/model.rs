//! The bodies of the API. Members are declared in the order of the examples in docs/rest.md, which is
//! the order in which they are sent.

mod approval;
mod change;
mod cluster;
mod condition;
mod error;
mod own;
mod status;
mod task;

pub(crate) use approval::{
    ApprovalAnswer, ApprovalsAnswer, ApprovedSetAnswer, ChangedSetAnswer, ReopenedAnswer,
};
pub(crate) use change::{
    AcceptedAnswer, DestroyPlanAnswer, InspectedAnswer, ReplacedAnswer, TaskPlanObject,
    UpdateInspectedAnswer,
};
pub(crate) use cluster::ClusterAnswer;
pub(crate) use error::{CodedError, ErrorAnswer};
pub(crate) use own::{
    ExplanationAnswer, IdFirst, IdLast, PlanAnswer, ReleasedAnswer, ReleasedBrakeAnswer, RunAnswer,
};
pub(crate) use status::{OverallStatusAnswer, TaskStatusAnswer, TaskStatusesAnswer};
pub(crate) use task::{TaskAnswer, TaskObject, TasksAnswer};

/// An answer without content, for success.
#[derive(Debug, serde::Serialize)]
pub(crate) struct EmptyAnswer {}

#[cfg(test)]
mod tests;
