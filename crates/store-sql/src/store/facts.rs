//! Facts about tasks for callers that cache them.

use async_trait::async_trait;
use cts_core::TaskName;
use cts_store::{ChangedTasks, FactStore, ShownRun, StoreError, TaskFacts};

use super::{SqlStore, read};
use crate::database::Database;
use crate::facts;

#[async_trait]
impl<D: Database> FactStore for SqlStore<D> {
    async fn changed_tasks(&self, after: Option<&str>) -> Result<ChangedTasks, StoreError> {
        read!(self, c => facts::changed(c, after))
    }

    async fn task_facts(&self, names: &[TaskName]) -> Result<Vec<TaskFacts>, StoreError> {
        read!(self, c => facts::of(c, names))
    }

    async fn shown_runs(&self) -> Result<Vec<ShownRun>, StoreError> {
        read!(self, c => facts::runs(c))
    }
}
