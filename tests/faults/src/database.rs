//! The database of cts.

use std::path::PathBuf;
use std::sync::Arc;

use cts_testkit::{LimitedDisk, Postgres};
use tokio::sync::Mutex;

#[derive(Debug, Clone)]
pub(crate) enum Database {
    Postgres {
        /// As the suite reaches it, whatever becomes of other connections.
        url: String,
        server: Arc<Mutex<Postgres>>,
    },
    Sqlite {
        path: PathBuf,
        /// Of the working directory, where it can be had.
        disk: Option<Arc<LimitedDisk>>,
    },
}
