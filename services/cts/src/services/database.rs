//! The store of a process: a file in the working directory, or Postgres.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use cts_config::{Config, DatabaseConfig, DatabaseUrlError};
use cts_runtime::ProcessEnv;
use cts_scheduler::Sharing;
use cts_store::{Store, StoreError};
use cts_store_postgres::{PostgresStore, Settings};
use cts_store_sqlite::SqliteStore;
use opentelemetry::metrics::Meter;
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;

use crate::failure::Failure;
use crate::services::lock::{DirectoryLock, Use};

/// Name of the database in the working directory; no task can have the name, because it has a dot.
pub(crate) const FILE: &str = "cts.db";

/// The password where the URL has none. Services remove the variable from their environment, in which the driver looks
/// for it.
const PASSWORD: &str = "PGPASSWORD";

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
    /// A server that other processes use, too.
    Server(Box<PostgresStore>),
}

impl Database {
    /// Opens what the configuration names.
    pub(crate) async fn open(config: &Config, process_env: &ProcessEnv) -> Result<Self, Failure> {
        if let Some(database) = &config.database {
            let mut settings = settings(database)?;
            if let Some(password) = process_env.environment.get(OsStr::new(PASSWORD)) {
                settings.url = with_password(&settings.url, password);
            }
            let store = cts_store_postgres::connect(&settings).await?;
            let store = store.logging_outages(Arc::clone(&process_env.clock));
            return Ok(Self::Server(Box::new(store)));
        }
        let lock = DirectoryLock::take(&config.working_dir, Use::Database)?;
        let path = config.working_dir.join(FILE);
        Ok(Self::File {
            store: open_file(&path, process_env).await?,
            _lock: lock,
        })
    }

    /// A new database for this process alone, for work that must leave no trace in the state of other processes.
    pub(crate) async fn temporary(process_env: &ProcessEnv) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new()
            .prefix("cts-")
            .tempdir()
            .map_err(Failure::Temporary)?;
        let path = directory.path().join(FILE);
        Ok(Self::Temporary {
            store: open_file(&path, process_env).await?,
            _directory: directory,
        })
    }

    /// Marks the database as restored from a backup.
    pub(crate) async fn mark_restored(&self) -> Result<(), StoreError> {
        let marked = self.store().mark_restored().await?;
        tracing::warn!(
            inputs = marked.inputs,
            open_runs = marked.runs,
            "the database is marked as restored: no input counts as applied, and every task runs once. Leave -restored out of the next start"
        );
        Ok(())
    }

    /// Measures the calls and connections from now on.
    pub(crate) fn measured(self, meter: &Meter) -> Self {
        match self {
            Self::File { store, _lock: lock } => Self::File {
                store: store.measured(meter),
                _lock: lock,
            },
            Self::Temporary {
                store,
                _directory: directory,
            } => Self::Temporary {
                store: store.measured(meter),
                _directory: directory,
            },
            Self::Server(store) => Self::Server(Box::new(store.measured(meter))),
        }
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
    cts_store_sqlite::open(path, clock, process_env.boot.as_deref()).await
}

/// The URL with this password, unless the URL has a password.
fn with_password(url: &SecretString, password: &OsStr) -> SecretString {
    let text = url.expose_secret();
    let (before, query) = text.split_once('?').unwrap_or((text, ""));
    let authority = before.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let has_password = user.split_once(':').is_some_and(|(_, it)| !it.is_empty())
        || query.split('&').any(|pair| pair.starts_with("password="));
    let password = password.to_str().filter(|it| !it.is_empty());
    let Some(password) = password.filter(|_| !has_password) else {
        return url.clone();
    };
    let separator = if query.is_empty() { "" } else { "&" };
    let mut complete = format!("{before}?{query}{separator}password=");
    complete.extend(password.bytes().map(|byte| format!("%{byte:02X}")));
    complete.into()
}

/// How Postgres is reached.
pub(crate) fn settings(config: &DatabaseConfig) -> Result<Settings, DatabaseUrlError> {
    Ok(Settings {
        url: config.url.read()?,
        max_connections: config.max_connections,
        ca_cert: config.ca_cert.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_the_environment_counts_where_the_url_has_none() {
        let encoded = "password=%70%40%26%C3%BC";
        for (url, complete) in [
            ("postgres://db/cts", format!("postgres://db/cts?{encoded}")),
            ("postgres://u@db", format!("postgres://u@db?{encoded}")),
            ("postgres://u:@db/", format!("postgres://u:@db/?{encoded}")),
            (
                "postgres://u@[::1]:5433/cts?sslmode=verify-full",
                format!("postgres://u@[::1]:5433/cts?sslmode=verify-full&{encoded}"),
            ),
            (
                "postgres:///cts?host=/run:5",
                format!("postgres:///cts?host=/run:5&{encoded}"),
            ),
        ] {
            let made = with_password(&url.to_owned().into(), "p@&ü".as_ref());
            assert_eq!(made.expose_secret(), complete);
        }
    }

    #[test]
    fn a_password_in_the_url_stays() {
        for url in [
            "postgres://u:own@db/cts",
            "postgres://u:o@wn@db/cts?sslmode=require",
            "postgres://db/cts?user=u&password=own",
        ] {
            let made = with_password(&url.to_owned().into(), "other".as_ref());
            assert_eq!(made.expose_secret(), url);
        }
        let made = with_password(&"postgres://u@db".to_owned().into(), "".as_ref());
        assert_eq!(made.expose_secret(), "postgres://u@db");
    }
}
