//! The store: its file, and the transactions on it.

mod calls;
mod doubts;
mod held_leases;
mod housekeeping;
mod settings;
mod transaction;

use std::path::Path;
use std::sync::Arc;

use cts_core::{Chain, Clock};
use cts_store::StoreError;

use crate::connection::{self, Pools};
use crate::continuity;
use crate::row::micros;
use crate::writer::{Durability, Write};

/// A store in one SQLite file. Cheap to clone; clones share the file.
///
/// Only one process may [open](Self::open) a file at a time; the caller sees to that with a lock of its own.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pools: Pools,
    clock: Arc<dyn Clock>,
    /// In microseconds.
    opened_at: i64,
    /// Another process may have opened it.
    attached: bool,
}

impl SqliteStore {
    /// Opens the file, makes it and its directory if they are missing (modes 0600 and 0750) and brings its
    /// schema up to date. Refuses a schema that this program cannot work with.
    ///
    /// `boot` names the present boot of the machine; `None` if it is not known. If the file was left without
    /// [`SqliteStore::close`] on another boot, no input counts as applied: the last commits may be missing.
    pub async fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        boot: Option<&str>,
    ) -> Result<Self, StoreError> {
        let store = Self {
            pools: connection::open(path).await?,
            opened_at: micros(clock.now()),
            clock,
            attached: false,
        };
        let mut transaction = store.begin_durable().await?;
        let forgotten = continuity::begin(&mut transaction, boot, store.opened_at).await?;
        transaction.commit().await?;
        if forgotten > 0 {
            tracing::warn!(
                path = %path.display(),
                tasks = forgotten,
                "the machine has stopped, or this is a copy, while the database was in use: every task runs again"
            );
        }
        Ok(store)
    }

    /// Opens an existing file with the schema of this program, whether another process has it open or not,
    /// for independent single calls. Otherwise [`FileError`](crate::FileError) is the source of the
    /// [`StoreError::Open`].
    pub async fn attach(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Ok(Self {
            pools: connection::attach(path).await?,
            opened_at: micros(clock.now()),
            clock,
            attached: true,
        })
    }

    /// Closes the file, after the statements in progress.
    pub async fn close(&self) {
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

    async fn end_use(&self) -> Result<(), StoreError> {
        // An attached store leaves the note about a clean end to the process that has opened the file.
        if self.attached || self.pools.writer.pool().is_closed() {
            return Ok(());
        }
        let mut transaction = self.begin_durable().await?;
        continuity::end(&mut transaction).await?;
        transaction.commit().await
    }

    fn now(&self) -> i64 {
        micros(self.clock.now())
    }

    /// A transaction that a killed process does not lose.
    async fn begin(&self) -> Result<Write, StoreError> {
        self.pools.writer.begin(Durability::Process).await
    }

    /// A transaction that a power cut does not undo: for answers to a client of the API, and for changes by
    /// Terraform.
    async fn begin_durable(&self) -> Result<Write, StoreError> {
        self.pools.writer.begin(Durability::PowerCut).await
    }
}
