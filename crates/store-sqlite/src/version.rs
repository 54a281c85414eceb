//! A version that changes with every commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cts_store::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Row as _, SqliteConnection, SqlitePool};

use cts_store_sql::failed_to;

const READ: &str = "read the version of the data";

/// A number that changes with every commit of another connection.
pub(crate) async fn commits_of_others(
    connection: &mut SqliteConnection,
) -> Result<i64, StoreError> {
    let row = sqlx::query("PRAGMA data_version")
        .fetch_one(connection)
        .await
        .map_err(failed_to(READ))?;
    row.try_get(0).map_err(failed_to(READ))
}

/// A connection that only reads how often other connections have committed. Counts of two connections are not
/// comparable, so the connections are counted too, in case a connection is lost.
#[derive(Debug, Clone)]
pub(crate) struct Observer {
    pool: SqlitePool,
    connections: Arc<AtomicU64>,
}

impl Observer {
    /// Creates an observer that connects at its first use.
    pub(crate) fn new(options: SqliteConnectOptions) -> Self {
        let connections = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&connections);
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .after_connect(move |_connection, _metadata| {
                counted.fetch_add(1, Ordering::SeqCst);
                Box::pin(async { Ok(()) })
            })
            .connect_lazy_with(options.read_only(true));
        Self { pool, connections }
    }

    pub(crate) async fn version(&self) -> Result<String, StoreError> {
        let mut connection = self.pool.acquire().await.map_err(failed_to(READ))?;
        let commits = commits_of_others(&mut connection).await?;
        let connection = self.connections.load(Ordering::SeqCst);
        Ok(format!("{connection}.{commits}"))
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}
