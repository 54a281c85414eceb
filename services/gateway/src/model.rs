//! The bodies of the API. Members are declared in the order of the examples in spec/api.md, which is
//! the order in which they are sent.

mod cluster;
mod condition;
mod error;
mod queue;
mod status;
mod task;

pub(crate) use cluster::ClusterAnswer;
pub(crate) use error::{ErrorAnswer, ErrorMessage};
pub(crate) use queue::QueueAnswer;
pub(crate) use status::{OverallStatusAnswer, TaskStatusAnswer, TaskStatusesAnswer};
pub(crate) use task::{TaskAnswer, TaskObject, TasksAnswer};

/// An answer that says only that all is well.
#[derive(Debug, serde::Serialize)]
pub(crate) struct EmptyAnswer {}
