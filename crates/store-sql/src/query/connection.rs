//! Connections to a database, and the rows that they return.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use cts_core::{Digest, FrozenInput};
use cts_store::EncodedContents;
use cts_store::enqueue::EnqueueError;
use cts_store::fields::{ColumnError, Columns, StoredId};

use super::dialect::Dialect;
use super::value::Value;

/// A row of a database.
pub struct Row(Box<dyn Columns + Send + Sync>);

impl Row {
    /// Wraps the row of a driver.
    pub fn new(row: impl Columns + Send + Sync + 'static) -> Self {
        Self(Box::new(row))
    }
}

impl fmt::Debug for Row {
    /// Hides the row, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Row")
    }
}

impl Columns for Row {
    fn text(&self, column: &str) -> Result<Option<&str>, ColumnError> {
        self.0.text(column)
    }

    fn id(&self, column: &str) -> Result<Option<StoredId<'_>>, ColumnError> {
        self.0.id(column)
    }

    fn integer(&self, column: &str) -> Result<Option<i64>, ColumnError> {
        self.0.integer(column)
    }

    fn flag(&self, column: &str) -> Result<Option<bool>, ColumnError> {
        self.0.flag(column)
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, ColumnError> {
        self.0.bytes(column)
    }
}

/// A connection that runs one statement after the other, inside or outside a transaction of its owner.
///
/// The error of a method is the driver's error. A dropped future leaves the connection to its owner, which rolls the
/// transaction back or closes the connection.
#[async_trait]
pub trait Connection: Send {
    /// The kind of database.
    fn dialect(&self) -> Dialect;

    /// The time in microseconds since 1970, if the time is an argument of statements; `None` if the database has its
    /// own clock.
    fn now(&self) -> Option<i64>;

    /// Runs a statement and returns the number of affected rows.
    async fn execute(
        &mut self,
        text: Cow<'static, str>,
        values: Vec<Value<'_>>,
    ) -> Result<u64, sqlx::Error>;

    /// Runs a statement and returns its rows, at most one with `only_first`.
    async fn fetch(
        &mut self,
        text: Cow<'static, str>,
        values: Vec<Value<'_>>,
        only_first: bool,
    ) -> Result<Vec<Row>, sqlx::Error>;

    /// Stores inputs and their missing contents. `encoded` has the contents that were unknown before this transaction; the
    /// caller keeps the known contents.
    ///
    /// Each database has its own way to store bytes in bulk.
    async fn store_inputs(
        &mut self,
        inputs: &BTreeMap<Digest, &FrozenInput>,
        encoded: &EncodedContents,
        now: i64,
    ) -> Result<(), EnqueueError>;
}
