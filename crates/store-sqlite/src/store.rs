//! The implementation of the trait: one transaction per method.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::{Clock, Digest, LeaseEpoch, RunId, TaskName, TaskSpec, TaskStatus, WorkerId};
use cts_store::{
    Completed, Completion, EnqueueRequest, Enqueued, Lease, LeaseError, LogLine, LogPage, Requeued,
    RunRecord, Store, StoreError, StoredTask, TaskState,
};
use sqlx::{Row as _, Sqlite, Transaction};

use crate::connection::{self, Pools};
use crate::row::{Cell, failed_to, micros};
use crate::{complete, enqueue, lease, logs, prune, states, tasks};

/// A store in one SQLite file. Cheap to clone; clones share the file.
///
/// Only one process may use a file at a time; the caller sees to that with a lock of its own.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pools: Pools,
    clock: Arc<dyn Clock>,
}

impl SqliteStore {
    /// Opens the file, makes it and its directory if they are missing (modes 0600 and 0750) and brings
    /// its schema up to date. Refuses a schema that is newer than this program.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Ok(Self {
            pools: connection::open(path).await?,
            clock,
        })
    }

    /// Closes the file, after the statements in progress.
    pub async fn close(&self) {
        self.pools.reader.close().await;
        self.pools.writer.close().await;
    }

    fn now(&self) -> i64 {
        micros(self.clock.now())
    }

    async fn begin(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        let begin = self.pools.writer.begin_with("BEGIN IMMEDIATE").await;
        begin.map_err(failed_to("begin a transaction"))
    }
}

async fn commit(transaction: Transaction<'static, Sqlite>) -> Result<(), StoreError> {
    transaction
        .commit()
        .await
        .map_err(failed_to("commit a transaction"))
}

#[async_trait]
impl Store for SqliteStore {
    async fn replace_config_tasks(&self, specs: &[TaskSpec]) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        tasks::replace_config_tasks(&mut transaction, specs, self.now()).await?;
        commit(transaction).await
    }

    async fn tasks(&self) -> Result<Vec<StoredTask>, StoreError> {
        tasks::all(&self.pools.reader).await
    }

    async fn task(&self, name: &TaskName) -> Result<Option<StoredTask>, StoreError> {
        tasks::one(&self.pools.reader, name).await
    }

    async fn task_states(&self, status: Option<TaskStatus>) -> Result<Vec<TaskState>, StoreError> {
        states::all(&self.pools.reader, status).await
    }

    async fn task_state(&self, name: &TaskName) -> Result<Option<TaskState>, StoreError> {
        states::one(&self.pools.reader, name).await
    }

    async fn enqueue(&self, requests: Vec<EnqueueRequest>) -> Result<Vec<Enqueued>, StoreError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        let mut enqueued = Vec::with_capacity(requests.len());
        for request in &requests {
            enqueued.push(enqueue::enqueue(&mut transaction, request, now).await?);
        }
        commit(transaction).await?;
        Ok(enqueued)
    }

    async fn acquire(
        &self,
        worker: &WorkerId,
        time_to_live: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        lease::acquire(&self.pools.writer, worker, time_to_live, self.now()).await
    }

    async fn renew(
        &self,
        run: RunId,
        epoch: LeaseEpoch,
        time_to_live: Duration,
    ) -> Result<(), LeaseError> {
        lease::renew(&self.pools.writer, run, epoch, time_to_live, self.now()).await
    }

    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError> {
        let mut transaction = self.begin().await?;
        let completed = complete::complete(&mut transaction, &completion, self.now()).await?;
        commit(transaction).await?;
        Ok(completed)
    }

    async fn reap(&self) -> Result<Vec<Requeued>, StoreError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        let requeued = lease::take_back(&mut transaction, now, now).await?;
        commit(transaction).await?;
        Ok(requeued)
    }

    async fn release_all(&self) -> Result<Vec<Requeued>, StoreError> {
        let mut transaction = self.begin().await?;
        let requeued = lease::take_back(&mut transaction, i64::MAX, self.now()).await?;
        commit(transaction).await?;
        Ok(requeued)
    }

    async fn next_due(&self) -> Result<Option<Duration>, StoreError> {
        lease::next_due(&self.pools.reader, self.now()).await
    }

    async fn input(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let read = failed_to("read an input");
        let hash = hash.to_string();
        let row = sqlx::query("-- input\nSELECT encoding, content FROM inputs WHERE hash = ?")
            .bind(&hash)
            .fetch_optional(&self.pools.reader)
            .await
            .map_err(&read)?;
        let Some(row) = row else { return Ok(None) };
        let cell = |column| Cell {
            table: "inputs",
            column,
            row: &hash,
        };
        let encoding: &str = row.try_get("encoding").map_err(&read)?;
        let encoding = cell("encoding").input_encoding(encoding)?;
        let content: Vec<u8> = row.try_get("content").map_err(&read)?;
        encoding
            .decode(content)
            .map(Some)
            .map_err(|error| cell("content").corrupt(error))
    }

    async fn run(&self, id: RunId) -> Result<Option<RunRecord>, StoreError> {
        let read = failed_to("read a run");
        let key = id.to_string();
        let row = sqlx::query(
            "-- run
            SELECT task_name, status, input_hash, attempts, created_at, due_at, started_at, finished_at
            FROM runs WHERE id = ?",
        )
        .bind(&key)
        .fetch_optional(&self.pools.reader)
        .await
        .map_err(&read)?;
        let Some(row) = row else { return Ok(None) };
        let cell = |column| Cell {
            table: "runs",
            column,
            row: &key,
        };
        let text = |column: &str| row.try_get::<String, _>(column).map_err(&read);
        let time = |column: &'static str| {
            let micros: Option<i64> = row.try_get(column).map_err(&read)?;
            micros.map(|micros| cell(column).time(micros)).transpose()
        };
        let created_at: i64 = row.try_get("created_at").map_err(&read)?;
        let due_at: i64 = row.try_get("due_at").map_err(&read)?;
        Ok(Some(RunRecord {
            id,
            task: cell("task_name").parse(&text("task_name")?)?,
            status: cell("status").run_status(&text("status")?)?,
            input: cell("input_hash").parse(&text("input_hash")?)?,
            attempts: cell("attempts").number(row.try_get("attempts").map_err(&read)?)?,
            created_at: cell("created_at").time(created_at)?,
            due_at: cell("due_at").time(due_at)?,
            started_at: time("started_at")?,
            finished_at: time("finished_at")?,
        }))
    }

    async fn prune(&self, keep: u32) -> Result<u64, StoreError> {
        let mut transaction = self.begin().await?;
        let runs = prune::prune(&mut transaction, keep).await?;
        commit(transaction).await?;
        Ok(runs)
    }

    async fn append_log(
        &self,
        run: RunId,
        epoch: LeaseEpoch,
        lines: Vec<LogLine>,
    ) -> Result<(), LeaseError> {
        let mut transaction = self.begin().await?;
        logs::append_leased(&mut transaction, run, epoch, &lines).await?;
        commit(transaction).await?;
        Ok(())
    }

    async fn read_log(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Option<LogPage>, StoreError> {
        let acquired = self.pools.reader.acquire().await;
        let mut connection = acquired.map_err(failed_to("read a log"))?;
        logs::read(&mut connection, run, after, limit).await
    }
}
