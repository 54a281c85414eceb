//! What a run waits for outside of cts, between its plan and its apply: a person who approves it, or a place in a remote
//! queue.

use std::fmt;

use async_trait::async_trait;
use cts_core::RunId;
use cts_core::runs::ResourceCounts;

/// Decides which applies wait, and for what.
pub trait Gate: Send + Sync + fmt::Debug {
    /// What the apply of this plan waits for; `None` if it need not.
    fn awaited(&self, plan: &GatedPlan<'_>) -> Option<Box<dyn Awaited>>;
}

/// A plan that is to be applied, and changes something.
#[derive(Debug, Clone, Copy)]
pub struct GatedPlan<'a> {
    /// The run.
    pub run: RunId,
    /// Its task.
    pub task: &'a str,
    /// What an apply would do, without secrets, as Terraform shows it.
    pub text: &'a str,
    /// The numbers of it, as far as Terraform has said them.
    pub resources: Option<ResourceCounts>,
}

/// Something that a run waits for. It is asked for when the value is made.
#[async_trait]
pub trait Awaited: Send + Sync + fmt::Debug {
    /// What it is, for people, as the end of "it waits for …".
    fn name(&self) -> String;

    /// Returns when it has come, or when it is certain that it never will.
    ///
    /// # Cancellation
    /// May be dropped and called again; nothing that came is lost.
    async fn came(&self) -> Result<(), Lapsed>;

    /// Gives it up, because the run is not to apply: nothing may come of it afterwards. Called at most once, also after
    /// it has come, but not after it has lapsed.
    async fn give_up(&self);
}

/// What was waited for will not come: it was refused, say, or it took too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Lapsed {
    /// Why, for people.
    pub reason: String,
}
