//! The connections of an open file, or the reason why it cannot be opened.

use std::error::Error;
use std::path::Path;

use cts_store::StoreError;
use sqlx::SqlitePool;

use crate::version::Observer;
use crate::writer::Writer;

/// A writing connection, several reading connections, and an observer of commits.
#[derive(Debug, Clone)]
pub(crate) struct Pools {
    pub(crate) writer: Writer,
    pub(crate) reader: SqlitePool,
    pub(crate) observer: Observer,
}

/// Why a file cannot be opened.
pub(crate) type OpenError = Box<dyn Error + Send + Sync>;

/// Converts the error into an error of the store.
pub(crate) fn failed(path: &Path) -> impl FnOnce(OpenError) -> StoreError {
    let location = path.display().to_string();
    move |source| StoreError::Open { location, source }
}
