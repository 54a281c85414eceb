//! The store that a command reads.

use clap::Args;

use super::options::Configuration;

/// Which store is read.
#[derive(Debug, Args)]
pub struct StorePlace {
    /// Names the store.
    #[command(flatten)]
    pub configuration: Configuration,
    /// Store to read: sqlite:PATH of a cts.db, or postgres://… Default: that of the configuration, or
    /// `CTS_DATABASE_URL`, or the URL in the file that `CTS_DATABASE_URL_FILE` names.
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
}
