//! The commands that use a store without a running cts.

use clap::{Args, Subcommand};

use super::options::{Configuration, OutputOption};
use super::store_place::StorePlace;
use super::table_width::WideOption;
use super::token::TokenCommand;

/// A command that uses a store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Bring the schema of the Postgres database up to date, or move everything from one store to another.
    Migrate(Migrate),
    /// Read what `-reset-storage` has removed.
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Make, list and revoke tokens for the API, in the database itself.
    #[command(subcommand)]
    Token(TokenCommand),
}

/// `cts migrate`.
#[derive(Debug, Args)]
pub struct Migrate {
    /// Names the database.
    #[command(flatten)]
    pub configuration: Configuration,
    /// Store to read: sqlite:PATH of a cts.db. Without it only the schema is brought up to date.
    #[arg(long, value_name = "STORE")]
    pub from: Option<String>,
    /// Store to write: postgres://… Default: the database of the configuration, or `CTS_DATABASE_URL`, or the URL in the
    /// file that `CTS_DATABASE_URL_FILE` names.
    #[arg(long, value_name = "STORE")]
    pub to: Option<String>,
    /// Mark the database, or the file cts.db of the configuration, as restored from a backup: no input counts as applied, so
    /// every task runs once, and leases from before the restore end. Stop all processes of cts before.
    #[arg(long, conflicts_with = "from")]
    pub restored: bool,
    /// Say what would be done, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// How the result is printed.
    #[command(flatten)]
    pub output: OutputOption,
}

/// `cts archive`.
#[derive(Debug, Subcommand)]
pub enum ArchiveCommand {
    /// List the archives, the newest first.
    List {
        /// The store.
        #[command(flatten)]
        place: StorePlace,
        /// How the result is printed.
        #[command(flatten)]
        output: OutputOption,
        /// How wide a table is.
        #[command(flatten)]
        wide: WideOption,
    },
    /// Print the rows of an archive, one a line, as they were stored.
    Show {
        /// The store.
        #[command(flatten)]
        place: StorePlace,
        /// Id of the archive; the beginning is enough if only one archive has it.
        #[arg(value_name = "ID")]
        id: String,
        /// How the result is printed.
        #[command(flatten)]
        output: OutputOption,
    },
}
