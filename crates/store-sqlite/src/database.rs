//! The database: its file, and the calls that it implements itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::{Chain, Clock, LeaderEpoch};
use cts_store::{
    Claim, Completed, Completion, Continuity, Hint, HintStream, Leadership, Lease, LeaseError,
    Member, StoreError,
};
use cts_store_sql::leadership;
use cts_store_sql::{
    Connections, Database, Durability, Intent, Length, Session, SqlStore, attempt_ends, failed_to,
};

use crate::call::{Reading, Writing, shared};
use crate::connection;
use crate::pools::{Pools, failed};
use crate::row::micros;
use crate::writer::Write;
use crate::{continuity, lease, space};

/// A store in one SQLite file. Cheap to clone; clones share the file.
///
/// Only one process may [open] a file at a time; the caller must ensure that with a lock.
pub type SqliteStore = SqlStore<SqliteDatabase>;

/// One SQLite file.
#[derive(Debug, Clone)]
pub struct SqliteDatabase {
    pools: Pools,
    clock: Arc<dyn Clock>,
    /// Time of opening, in microseconds.
    opened_at: i64,
    /// Whether a different process may have opened the file.
    attached: bool,
}

/// Opens the file and brings its schema up to date. Refuses a schema that this program cannot work with.
///
/// Creates the file and its directory if they are missing (modes 0600 and 0750).
///
/// `boot` names the present boot of the machine; `None` if it is not known. If the file was left without
/// [`SqlStore::close`] on a different boot, no input counts as applied: the last commits may be missing.
pub async fn open(
    path: &Path,
    clock: Arc<dyn Clock>,
    boot: Option<&str>,
) -> Result<SqliteStore, StoreError> {
    let database = SqliteDatabase {
        pools: connection::open(path).await.map_err(failed(path))?,
        opened_at: micros(clock.now()),
        clock,
        attached: false,
    };
    let mut transaction = database.write(Durability::PowerCut).await?;
    let forgotten = continuity::begin(&mut transaction, boot, database.opened_at).await?;
    transaction.commit().await?;
    if forgotten > 0 {
        tracing::warn!(
            path = %path.display(),
            tasks = forgotten,
            "the machine has stopped, or this is a copy, while the database was in use: every task runs again"
        );
    }
    Ok(SqlStore::new(database))
}

/// Opens an existing file with the schema of this program for independent single calls, even if a different process
/// has the file open.
///
/// If the file is missing or has a different schema, [`FileError`](crate::FileError) is the source of the
/// [`StoreError::Open`].
pub async fn attach(path: &Path, clock: Arc<dyn Clock>) -> Result<SqliteStore, StoreError> {
    Ok(SqlStore::new(SqliteDatabase {
        pools: connection::attach(path).await.map_err(failed(path))?,
        opened_at: micros(clock.now()),
        clock,
        attached: true,
    }))
}

impl SqliteDatabase {
    fn now(&self) -> i64 {
        micros(self.clock.now())
    }

    async fn write(&self, durability: Durability) -> Result<Write, StoreError> {
        self.pools.writer.begin(durability).await
    }

    async fn end_use(&self) -> Result<(), StoreError> {
        // An attached store leaves the note about a clean end to the process that opened the file.
        if self.attached || self.pools.writer.pool().is_closed() {
            return Ok(());
        }
        let mut transaction = self.write(Durability::PowerCut).await?;
        continuity::end(&mut transaction).await?;
        transaction.commit().await
    }
}

/// A file has no timelines.
impl Continuity for SqliteDatabase {}

/// One transaction: the work in it, then the commit. With a leader's epoch, its fence is checked first.
macro_rules! transaction {
    ($database:ident, $durability:ident, $transaction:ident, $now:pat_param => $work:expr) => {{
        let mut $transaction = $database.write(Durability::$durability).await?;
        let $now = $database.now();
        let done = $work.await?;
        $transaction.commit().await?;
        Ok(done)
    }};
}

#[async_trait]
impl Database for SqliteDatabase {
    async fn begin(
        &self,
        intent: Intent,
        durability: Durability,
    ) -> Result<Box<dyn Session>, StoreError> {
        if intent == Intent::Read {
            let connection = self.pools.reader.acquire().await;
            let connection = connection.map_err(failed_to("give a connection"))?;
            return Ok(Box::new(Reading::new(connection, self.now())));
        }
        let transaction = self.write(durability).await?;
        Ok(Box::new(Writing::new(transaction, self.now())))
    }

    /// The file always answers, possibly slowly.
    fn limit(&self, _length: Length) -> Duration {
        Duration::MAX
    }

    fn system(&self) -> &'static str {
        "sqlite"
    }

    fn connections(&self) -> Connections {
        let pools = [self.pools.writer.pool(), &self.pools.reader];
        pools.iter().fold(Connections::default(), |sum, pool| {
            let idle = u64::try_from(pool.num_idle()).unwrap_or(u64::MAX);
            Connections {
                most: sum.most + u64::from(pool.options().get_max_connections()),
                open: sum.open + u64::from(pool.size()),
                idle: sum.idle + idle,
            }
        })
    }

    async fn close(&self) {
        if let Err(error) = self.end_use().await {
            tracing::warn!(
                error = %Chain(&error),
                "the database is not closed in order: if the machine starts anew, every task runs again"
            );
        }
        self.pools.observer.close().await;
        self.pools.reader.close().await;
        self.pools.writer.close().await;
    }

    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError> {
        transaction!(self, Process, t, now => leadership::lead(&mut shared(&mut t, now), member, epoch, time_to_live))
    }

    async fn resign(&self, member: &Member) -> Result<(), StoreError> {
        transaction!(self, Process, t, now => leadership::resign(&mut shared(&mut t, now), member))
    }

    async fn version(&self) -> Result<String, StoreError> {
        let version = self.pools.observer.version().await?;
        // The count starts again in a process that opens the file later, so the version includes the time of opening.
        Ok(format!("{}.{version}", self.opened_at))
    }

    async fn foreign_version(&self) -> Result<Option<String>, StoreError> {
        self.pools.writer.foreign_version().await
    }

    /// A power cut may undo a lease although Terraform has begun under it: no input counts as applied after a power
    /// cut, and waiting for the disk would delay every change.
    async fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError> {
        transaction!(self, Process, t, now => lease::acquire(&mut t, claim, now))
    }

    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError> {
        transaction!(self, PowerCut, t, now => attempt_ends::complete(&mut shared(&mut t, now), &completion))
    }

    async fn give_back_space(&self) -> Result<(), StoreError> {
        space::give_back(&self.pools).await
    }

    async fn publish(&self, _hints: &[Hint]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn listen(&self) -> Result<Option<HintStream>, StoreError> {
        Ok(None)
    }
}
