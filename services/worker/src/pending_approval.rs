//! Conditions outside of cts that a leased run waits for: a confirmation on a server, or a server that answers again.

use std::fmt;

use async_trait::async_trait;

/// A condition that a run waits for. Making the value sends the request for it.
#[async_trait]
pub(crate) trait PendingApproval: Send + Sync + fmt::Debug {
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
pub(crate) enum GivenUp {
    /// The run is not to apply any more.
    Unwanted,
    /// The run goes back to the queue: its worker ends, or its task is checked or planned first.
    HandedOver,
}

/// The condition never comes, for example because it was refused or took too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct Rejected {
    /// Why, for people.
    pub(crate) reason: String,
}
