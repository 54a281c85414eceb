//! The one connection that writes, and its transactions.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cts_store::StoreError;
use cts_store_sql::{Durability, failed_to};
use parking_lot::Mutex;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::version::commits_of_others;

/// The statements that begin a transaction. A transaction may read before it writes, so it locks at once.
const fn begin(durability: Durability) -> &'static str {
    match durability {
        Durability::Process => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
        Durability::PowerCut => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
    }
}

/// Makes transactions, one at a time. Cheap to clone; clones share the connection.
///
/// A connection whose commit or rollback failed is closed and opened again: SQLite may have ended the transaction by
/// itself (a full disk, an I/O error), while the driver assumes that it is open and would refuse every later
/// transaction.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pool: SqlitePool,
    /// The last commit failed.
    suspect: Arc<AtomicBool>,
    /// Number of connections that were opened.
    connections: Arc<AtomicU64>,
    /// The write-ahead log, which every commit of every process grows or rewrites.
    log: PathBuf,
    /// The last foreign version, and the log before it was read.
    foreign: Arc<Mutex<Option<(LogMark, String)>>>,
}

/// Inode, size, and time of the last write in seconds and nanoseconds.
type LogMark = (u64, u64, i64, i64);

impl Writer {
    pub(crate) async fn connect(options: SqliteConnectOptions) -> Result<Self, sqlx::Error> {
        let suspect = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&suspect);
        let connections = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&connections);
        let mut log = options.get_filename().as_os_str().to_owned();
        log.push("-wal");
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            // A file does not need a ping.
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .after_connect(move |_connection, _metadata| {
                counted.fetch_add(1, Ordering::SeqCst);
                Box::pin(async { Ok(()) })
            })
            .before_acquire(move |connection, _metadata| {
                // Rollbacks have ended here: the pool waits for them before it takes a connection back.
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
        Ok(Self {
            pool,
            suspect,
            connections,
            log: log.into(),
            foreign: Arc::default(),
        })
    }

    /// For migrations.
    pub(crate) fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// Begins a transaction when the previous one has ended.
    pub(crate) async fn begin(&self, durability: Durability) -> Result<Write, StoreError> {
        let begin = self.pool.begin_with(begin(durability)).await;
        Ok(Write {
            transaction: Some(begin.map_err(failed_to("begin a transaction"))?),
            suspect: Arc::clone(&self.suspect),
        })
    }

    /// A version that changes with every commit of another process: within this process only this connection commits.
    /// `None` while a transaction is open, or after a failed commit.
    ///
    /// Does not ask SQLite while the write-ahead log is as it was.
    pub(crate) async fn foreign_version(&self) -> Result<Option<String>, StoreError> {
        if self.suspect.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let log = fs::metadata(&self.log).ok();
        let log = log.map(|log| (log.ino(), log.size(), log.mtime(), log.mtime_nsec()));
        if let (Some(log), Some((seen, version))) = (&log, &*self.foreign.lock())
            && log == seen
        {
            return Ok(Some(version.clone()));
        }
        let Some(mut connection) = self.pool.try_acquire() else {
            return Ok(None);
        };
        let commits = commits_of_others(&mut connection).await?;
        let connection = self.connections.load(Ordering::SeqCst);
        let version = format!("{connection}.{commits}");
        *self.foreign.lock() = log.map(|log| (log, version.clone()));
        Ok(Some(version))
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// A transaction that writes. Rolled back unless it is committed.
pub(crate) struct Write {
    /// `None` after the end.
    transaction: Option<Transaction<'static, Sqlite>>,
    suspect: Arc<AtomicBool>,
}

/// Panic message for the use of a transaction after its end.
const ENDED: &str = "a transaction is not used after its commit";

impl Write {
    /// Commits the transaction. If that fails, the transaction has had no effect, unless the future was dropped
    /// before its end.
    pub(crate) async fn commit(&mut self) -> Result<(), StoreError> {
        let Some(transaction) = self.transaction.take() else {
            return Ok(());
        };
        let committed = transaction.commit().await;
        if committed.is_err() {
            self.suspect.store(true, Ordering::SeqCst);
        }
        committed.map_err(failed_to("commit a transaction"))
    }
}

impl Deref for Write {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        self.transaction.as_ref().expect(ENDED)
    }
}

impl DerefMut for Write {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.transaction.as_mut().expect(ENDED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn synchronous(write: &mut Write) -> i64 {
        let mode = sqlx::query_scalar("PRAGMA synchronous");
        mode.fetch_one(&mut **write).await.unwrap()
    }

    #[tokio::test]
    async fn each_transaction_has_the_durability_that_it_asks_for() {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteConnectOptions::new()
            .filename(directory.path().join("file"))
            .create_if_missing(true)
            .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
        let writer = Writer::connect(options).await.unwrap();
        let (full, normal) = (2, 1);
        for (durability, expected) in [
            (Durability::PowerCut, full),
            (Durability::PowerCut, full),
            (Durability::Process, normal),
            (Durability::PowerCut, full),
        ] {
            let mut write = writer.begin(durability).await.unwrap();
            assert_eq!(synchronous(&mut write).await, expected, "{durability:?}");
            if durability == Durability::Process {
                drop(write);
            } else {
                write.commit().await.unwrap();
            }
        }
    }

    /// Simulates SQLite with a full disk: the COMMIT fails, and the transaction has ended.
    #[tokio::test]
    async fn a_connection_that_cannot_commit_is_opened_anew() {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteConnectOptions::new()
            .filename(directory.path().join("file"))
            .create_if_missing(true);
        let writer = Writer::connect(options).await.unwrap();
        let mut write = writer.begin(Durability::Process).await.unwrap();
        let table = sqlx::query("CREATE TABLE t (x INTEGER)");
        table.execute(&mut *write).await.unwrap();
        write.commit().await.unwrap();

        let mut write = writer.begin(Durability::Process).await.unwrap();
        write.lock_handle().await.unwrap().set_commit_hook(|| false);
        let row = sqlx::query("INSERT INTO t VALUES (1)");
        row.execute(&mut *write).await.unwrap();
        write.commit().await.unwrap_err();

        for expected in [0_i64, 1] {
            let mut write = writer.begin(Durability::PowerCut).await.unwrap();
            let rows = sqlx::query_scalar("SELECT count(*) FROM t");
            let rows: i64 = rows.fetch_one(&mut *write).await.unwrap();
            assert_eq!(rows, expected, "the hook was one of the closed connection");
            let row = sqlx::query("INSERT INTO t VALUES (1)");
            row.execute(&mut *write).await.unwrap();
            write.commit().await.unwrap();
        }
    }
}
