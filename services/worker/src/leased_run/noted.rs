//! Notes about an attempt in the journal.

use std::io;
use std::sync::Arc;

use cts_core::{Chain, JournalEntry};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::Instant;

use super::LeasedRun;

/// The begin of an attempt cannot be noted, so the attempt is not begun.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoteError {
    #[error("the journal of this worker can neither be written nor removed")]
    Write(#[from] io::Error),
    #[error("the journal of this worker cannot be written")]
    Task(#[from] JoinError),
}

impl LeasedRun {
    /// Notes that the attempt begins, if it may change something.
    pub(crate) async fn note_begin(&self) -> Result<(), NoteError> {
        let (Some(journal), Some(entry)) = (&self.shared.journal, self.journal_entry()) else {
            return Ok(());
        };
        let journal = Arc::clone(journal);
        let now = Instant::now();
        Ok(spawn_blocking(move || journal.begin(entry, now)).await??)
    }

    /// Notes how the attempt has ended, after a scheduler has confirmed that.
    pub(crate) async fn note_end(&self, outcome: &'static str) {
        let (Some(journal), Some(entry)) = (&self.shared.journal, self.journal_entry()) else {
            return;
        };
        let journal = Arc::clone(journal);
        let noted = spawn_blocking(move || {
            journal.end(&entry.task, entry.run, entry.epoch, outcome);
        });
        if let Err(error) = noted.await {
            tracing::warn!(error = %Chain(&error), "the end of a run is not in the journal");
        }
    }

    /// `None` if the run changes nothing, or cannot be done anyway.
    fn journal_entry(&self) -> Option<JournalEntry> {
        let lease = &self.lease;
        let changes = lease
            .kind
            .as_ref()
            .is_ok_and(|kind| kind.changes_resources());
        if !changes {
            return None;
        }
        Some(JournalEntry {
            task: lease.task_name.parse().ok()?,
            run: lease.run,
            epoch: lease.epoch,
            input: lease.input.hash.parse().ok()?,
            began_at: None,
            outcome: None,
        })
    }
}
