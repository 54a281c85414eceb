//! A database that is older than the work of Terraform.

use async_trait::async_trait;
use cts_core::{JournalEntry, RunId, TaskName};
use cts_store::{Restoration, RestoredStore, StoreError};

use super::{SqlStore, read, transaction};
use crate::database::Database;
use crate::restored;

#[async_trait]
impl<D: Database> RestoredStore for SqlStore<D> {
    async fn leader_start(&self) -> Result<Option<String>, StoreError> {
        read!(self, c => restored::leader_start(c))
    }

    async fn compare_attempts(
        &self,
        attempts: &[(JournalEntry, RunId)],
    ) -> Result<Vec<TaskName>, StoreError> {
        // In most calls nothing is forgotten, and nothing is written.
        let has_forgotten: Result<bool, StoreError> =
            read!(self, c => restored::has_forgotten(c, attempts));
        if !has_forgotten? {
            return Ok(Vec::new());
        }
        transaction!(self, PowerCut, c => restored::compare_attempts(c, attempts))
    }

    async fn restoration(&self) -> Result<Restoration, StoreError> {
        read!(self, c => restored::restoration(c))
    }

    async fn mark_restored(&self) -> Result<Restoration, StoreError> {
        transaction!(self, PowerCut, Long, c => restored::mark(c))
    }
}
