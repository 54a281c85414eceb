//! Module directories, and the store of a scheduler that is started more than once.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cts_scheduler::Options;
use cts_store_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::setup::{Setup, store_in};

pub(crate) struct Site {
    directory: TempDir,
    pub(crate) store: Arc<SqliteStore>,
}

impl Site {
    pub(crate) async fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let store = store_in(directory.path()).await;
        Self { directory, store }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) async fn start(&self, options: Options) -> Setup {
        Setup::over(Arc::clone(&self.store), options).await
    }
}
