//! The bodies of the API. Members are declared in the order of the examples in docs/rest.md, which is
//! the order in which they are sent.

mod change;
mod cluster;
pub(crate) mod condition;
mod configuration;
mod error;
mod explanation;
mod hold;
mod queue;
mod run;
mod run_details;
mod status;
mod task;
mod terraform_state;

pub(crate) use change::{
    AcceptedAnswer, DestroyPlanAnswer, InspectedAnswer, ReplacedAnswer, TaskPlanObject,
    UpdateInspectedAnswer,
};
pub(crate) use cluster::ClusterAnswer;
pub(crate) use configuration::ConfigurationAnswer;
pub(crate) use error::{ErrorAnswer, ErrorMessage};
pub(crate) use explanation::ExplanationAnswer;
pub(crate) use hold::ReleasedAnswer;
pub(crate) use queue::QueueAnswer;
pub(crate) use run::{LogLines, RunAnswer, RunChange, RunObject, RunsAnswer};
pub(crate) use status::{OverallStatusAnswer, TaskStatusAnswer, TaskStatusesAnswer};
pub(crate) use task::{TaskAnswer, TaskObject, TasksAnswer};
pub(crate) use terraform_state::StateAnswer;

/// An answer without content, for success.
#[derive(Debug, serde::Serialize)]
pub(crate) struct EmptyAnswer {}

#[cfg(test)]
mod tests;
