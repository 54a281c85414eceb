//! Why a command has no store to work on.

use cts_config::DatabaseUrlError;

/// Names the database where nothing else does.
pub(super) const VARIABLE: &str = "CTS_DATABASE_URL";

/// Names the file that holds the URL of the database.
pub(super) const FILE_VARIABLE: &str = "CTS_DATABASE_URL_FILE";

/// The command names no store that can be used. Never quotes the input, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The place of the database is not configured.
    #[error(
        "no database is named: give --to postgres://…, set {VARIABLE}, or name a configuration with a `database` block by -config-file"
    )]
    NoDatabase,
    /// The place of the store to read is not configured.
    #[error(
        "no store is named: give --store sqlite:PATH or --store postgres://…, set {VARIABLE}, or name a configuration by -config-file"
    )]
    NoStore,
    /// The URL is given twice.
    #[error("{VARIABLE} and {FILE_VARIABLE} are both set; only one of them may be")]
    TwoVariables,
    /// The file that holds the URL cannot be used.
    #[error(transparent)]
    UrlFile(#[from] DatabaseUrlError),
    /// Something else than Postgres was named.
    #[error("{place} must begin with postgres:// or postgresql:// and name a server")]
    NotPostgres {
        /// The option or setting with the URL.
        place: &'static str,
    },
    /// The source cannot be read.
    #[error("--from must be sqlite:PATH, the file cts.db in the working directory of `cts start`")]
    NotSqlite,
}
