//! Errors of the store.

use std::error::Error;

use cts_core::{LeaderEpoch, LeaseEpoch, RunId};

/// The store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened or its schema is not one that this program knows.
    #[error("cannot open the database {location}")]
    Open {
        /// Where it is, without credentials.
        location: String,
        /// Why not.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The database did not answer, or refused; trying again may help.
    #[error("the database failed to {operation}")]
    Database {
        /// What was tried.
        operation: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A row holds something that this program never writes.
    #[error("the column {column} of {table} {row} is corrupt")]
    CorruptRow {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row's key.
        row: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// A worker's word was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The lease has ended: completed, taken back, or never granted.
    #[error("epoch {epoch} of run {run} is not a live lease")]
    Lost {
        /// The run.
        run: RunId,
        /// The epoch that was named.
        epoch: LeaseEpoch,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A leader's word was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// Another replica has taken over, or the leadership was given up or has expired: nothing was
    /// written.
    #[error("leader epoch {epoch} is over")]
    Deposed {
        /// The epoch that was named.
        epoch: LeaderEpoch,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
