//! A database that is older than the work of Terraform, as a trait of every store.

use std::path::PathBuf;

use async_trait::async_trait;
use cts_core::state::KnownState;
use cts_core::{JournalEntry, RunId, TaskName};

use crate::error::StoreError;

/// Detection of a restored database and its consequences. Every method is one transaction, like those of
/// [`Store`](crate::Store).
///
/// A restored database counts inputs as applied that are not: everything between backup and restore is missing. Its
/// timeline may be unchanged, so that [`Continuity`](crate::Continuity) does not notice the restore.
#[async_trait]
pub trait RestoredStore {
    /// Names the present start of a leader; `None` without a leader. Each leader that begins has a new name, also
    /// after a restore.
    async fn leader_start(&self) -> Result<Option<String>, StoreError>;

    /// Compares attempts that a worker began with the runs of the database. Returns the tasks whose last applied
    /// input no longer counts.
    ///
    /// An attempt is forgotten if the database has neither its grant nor a newer apply of the task, but has an older
    /// run of the task: run ids increase with time, and the newest successful apply of a task is never pruned. Then
    /// the last applied input of this task alone is voided. If changes run the task, a run with the given id is
    /// requested, which accompanies a journal ([`Occasion::Journal`](cts_core::runs::Occasion::Journal)).
    ///
    /// Safe to repeat: without a last applied input nothing is voided, and afterwards the following run is newer than
    /// the attempt. Attempts of unknown tasks, and of tasks that are being created or deleted, are ignored.
    async fn compare_attempts(
        &self,
        attempts: &[(JournalEntry, RunId)],
    ) -> Result<Vec<TaskName>, StoreError>;

    /// The changes that [`RestoredStore::mark_restored`] would make now.
    async fn restoration(&self) -> Result<Restoration, StoreError>;

    /// Marks the database as restored.
    ///
    /// No input counts as applied, no replica leads, and the epochs of the leader and of all open runs jump by
    /// [`EPOCH_STEP`](cts_core::EPOCH_STEP), so that no lease from before the restore can be renewed or completed.
    /// Leases end when their time is over: a worker that goes on may still apply until then. Safe to repeat.
    async fn mark_restored(&self) -> Result<Restoration, StoreError>;
}

/// The stored state of a task after its last apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedState {
    /// The task.
    pub task: TaskName,
    /// Its working directory.
    pub working_dir: PathBuf,
    /// The state.
    pub known: KnownState,
}

/// The effect of marking a database as restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Restoration {
    /// Tasks with an input that counts as applied, or as tried.
    pub inputs: u64,
    /// Queued and running runs.
    pub runs: u64,
    /// Epoch of the leader.
    pub leader_epoch: u64,
}
