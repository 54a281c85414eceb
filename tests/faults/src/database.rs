//! The database of cts.

use std::path::PathBuf;
use std::sync::Arc;

use cts_testkit::{LimitedDisk, Postgres};
use tokio::sync::Mutex;

#[derive(Debug, Clone)]
pub(crate) enum Database {
    Postgres {
        /// URL by which the suite reaches it, independent of faults on other connections.
        url: String,
        server: Arc<Mutex<Postgres>>,
    },
    Sqlite {
        path: PathBuf,
        /// Disk of the working directory, if limited disks are available.
        disk: Option<Arc<LimitedDisk>>,
    },
}
