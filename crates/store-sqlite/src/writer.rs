//! The one connection that writes, and its transactions.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cts_store::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::row::failed_to;

/// What a commit outlives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The death of the process. A power cut may take the last of these commits.
    Process,
    /// A power cut: the commit returns when it is on the disk, with every commit before it.
    PowerCut,
}

impl Durability {
    const fn begin(self) -> &'static str {
        match self {
            Self::Process => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
            Self::PowerCut => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
        }
    }
}

/// Makes transactions, one at a time. Cheap to clone; clones share the connection.
///
/// A connection whose commit or rollback failed is closed and opened anew: SQLite may have ended the transaction
/// by itself (a full disk, an I/O error), while the driver takes it for open and would refuse every later one.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pool: SqlitePool,
    /// The last commit has failed.
    suspect: Arc<AtomicBool>,
}

impl Writer {
    pub(crate) async fn connect(options: SqliteConnectOptions) -> Result<Self, sqlx::Error> {
        let suspect = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&suspect);
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            // A file needs no ping.
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .before_acquire(move |connection, _metadata| {
                // Rollbacks are over by now: the pool waits for them before it takes a connection back.
                let sound =
                    !failed.swap(false, Ordering::SeqCst) && !connection.is_in_transaction();
                Box::pin(async move {
                    if !sound {
                        tracing::warn!("a commit has failed, the database is opened anew");
                    }
                    Ok(sound)
                })
            })
            .connect_with(options)
            .await?;
        Ok(Self { pool, suspect })
    }

    /// For migrations.
    pub(crate) fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// Begins a transaction, when the one before is over.
    pub(crate) async fn begin(&self, durability: Durability) -> Result<Write, StoreError> {
        let begin = self.pool.begin_with(durability.begin()).await;
        Ok(Write {
            transaction: begin.map_err(failed_to("begin a transaction"))?,
            suspect: Arc::clone(&self.suspect),
        })
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// A transaction that writes. Unless it is committed it is rolled back.
pub(crate) struct Write {
    transaction: Transaction<'static, Sqlite>,
    suspect: Arc<AtomicBool>,
}

impl Write {
    /// Ends it. If that fails, nothing of it has happened, except when the future was dropped on the way.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        let committed = self.transaction.commit().await;
        if committed.is_err() {
            self.suspect.store(true, Ordering::SeqCst);
        }
        committed.map_err(failed_to("commit a transaction"))
    }
}

impl Deref for Write {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.transaction
    }
}

impl DerefMut for Write {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.transaction
    }
}
