//! The identity of settings in inputs of earlier versions.

use std::collections::BTreeSet;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Digest, RunInput, TaskName};
use cts_store::{RunFilter, StoreError, StoredInput};

use super::SettingsKeeper;

/// Number of the newest runs of a task that are searched for an applied run.
const RUNS: u32 = 30;

impl SettingsKeeper {
    /// Identity of the settings in the last applied input among these tasks. Earlier versions made it from the file of
    /// the scheduler. The identity stays, so that an update of cts runs nothing.
    pub(super) async fn earlier_identity(
        &self,
        tasks: &BTreeSet<TaskName>,
    ) -> Result<Option<Digest>, StoreError> {
        for task in tasks {
            let filter = RunFilter {
                task: Some(task.clone()),
                limit: RUNS,
                ..RunFilter::default()
            };
            let runs = self.context.store.runs(&filter).await?;
            let applied = runs
                .iter()
                .find(|run| run.kind == RunKind::Apply && run.status == RunStatus::Succeeded);
            let Some(applied) = applied else {
                continue;
            };
            if let Some(identity) = self.identity_in(applied.input).await? {
                return Ok(Some(identity));
            }
        }
        Ok(None)
    }

    async fn identity_in(&self, input: Digest) -> Result<Option<Digest>, StoreError> {
        let thawed = match self.context.store.input(input).await? {
            None => return Ok(None),
            Some(StoredInput::OnePiece(bytes)) => RunInput::from_one_piece(&bytes),
            Some(StoredInput::Contents(hashes)) => {
                let head: Vec<Digest> = hashes.into_iter().take(1).collect();
                let contents = self.context.store.contents(&head).await?;
                RunInput::thaw(contents.iter().map(|content| &*content.bytes))
            }
        };
        // A run cannot have applied an unreadable input.
        Ok(thawed.ok().map(|input| input.settings_digest))
    }
}
