//! The store of a process: a file in the working directory, or Postgres.

use std::path::Path;
use std::sync::Arc;

use cts_config::{Config, DatabaseConfig};
use cts_scheduler::Sharing;
use cts_store::{Store, StoreError};
use cts_store_postgres::{PostgresStore, Settings};
use cts_store_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::process_env::ProcessEnv;
use crate::services::lock::{DirectoryLock, Use};

/// Name of the database in the working directory; no task can have it, for it has a dot.
pub(crate) const FILE: &str = "cts.db";

#[derive(Debug)]
pub(crate) enum Database {
    /// A file that this process has for itself.
    File {
        store: SqliteStore,
        _lock: DirectoryLock,
    },
    /// A file that goes with the process.
    Temporary {
        store: SqliteStore,
        _directory: TempDir,
    },
    /// A server that others use too.
    Server(Box<PostgresStore>),
}

impl Database {
    /// Opens what the configuration names.
    pub(crate) async fn open(config: &Config, process_env: &ProcessEnv) -> Result<Self, Failure> {
        if let Some(database) = &config.database {
            let store = PostgresStore::connect(&settings(database)).await;
            return Ok(Self::Server(Box::new(store.map_err(Failure::Store)?)));
        }
        let lock = DirectoryLock::take(&config.working_dir, Use::Database)?;
        let path = config.working_dir.join(FILE);
        let store = open_file(&path, process_env).await;
        Ok(Self::File {
            store: store.map_err(Failure::Store)?,
            _lock: lock,
        })
    }

    /// A new one for this process alone, for work that must leave no trace in the state of others.
    pub(crate) async fn temporary(process_env: &ProcessEnv) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new()
            .prefix("cts-")
            .tempdir()
            .map_err(Failure::Temporary)?;
        let path = directory.path().join(FILE);
        let store = open_file(&path, process_env).await;
        Ok(Self::Temporary {
            store: store.map_err(Failure::Store)?,
            _directory: directory,
        })
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::File { store, .. } | Self::Temporary { store, .. } => Arc::new(store.clone()),
            Self::Server(store) => Arc::new((**store).clone()),
        }
    }

    pub(crate) const fn sharing(&self) -> Sharing {
        match self {
            Self::File { .. } | Self::Temporary { .. } => Sharing::Alone,
            Self::Server(_) => Sharing::Shared,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::File { store, .. } | Self::Temporary { store, .. } => store.close().await,
            Self::Server(store) => store.close().await,
        }
    }
}

async fn open_file(path: &Path, process_env: &ProcessEnv) -> Result<SqliteStore, StoreError> {
    let clock = Arc::clone(&process_env.clock);
    SqliteStore::open(path, clock, process_env.boot.as_deref()).await
}

/// How Postgres is reached.
pub(crate) fn settings(config: &DatabaseConfig) -> Settings {
    Settings {
        url: config.url.clone(),
        max_connections: config.max_connections,
        ca_cert: config.ca_cert.clone(),
    }
}
