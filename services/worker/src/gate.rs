//! Conditions outside of cts that a run waits for between its plan and its apply: an approval by a person, or
//! a position in a remote queue.

use std::fmt;

use async_trait::async_trait;
use cts_core::RunId;
use cts_proto::run::v1::ResourceCounts;

/// Decides which applies wait, and on which condition.
pub trait ApprovalGate: Send + Sync + fmt::Debug {
    /// The condition that the apply of this plan waits for; `None` if the apply need not wait.
    fn awaited(&self, plan: &GatedPlan<'_>) -> Option<Box<dyn PendingApproval>>;
}

/// A plan that is to be applied, and changes something.
#[derive(Debug, Clone, Copy)]
pub struct GatedPlan<'a> {
    pub run: RunId,
    pub task: &'a str,
    /// The changes that an apply would make, without secrets, as Terraform shows them.
    pub text: &'a str,
    /// The resource counts of the plan, as far as Terraform has reported them.
    pub resources: Option<ResourceCounts>,
}

/// A condition that a run waits for. Making the value sends the request for it.
#[async_trait]
pub trait PendingApproval: Send + Sync + fmt::Debug {
    /// The name of the condition for people, as the end of "it waits for …".
    fn name(&self) -> String;

    /// Returns once the condition has come; fails once it is certain that the condition never comes.
    ///
    /// # Cancellation
    /// May be dropped and called again; a condition that came is not lost.
    async fn came(&self) -> Result<(), Rejected>;

    /// Gives up the condition, which must have no effect afterwards, unless the run waits for it on another worker.
    /// Called at most once, also after the condition has come, but not after it has lapsed.
    async fn give_up(&self, why: GivenUp);
}

/// Why a run waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    /// The run is not to apply any more.
    Unwanted,
    /// The run goes back to the queue: its worker ends, or its task is checked or planned first.
    HandedOver,
}

/// The condition never comes, for example because it was refused or took too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Rejected {
    /// Why, for people.
    pub reason: String,
}
