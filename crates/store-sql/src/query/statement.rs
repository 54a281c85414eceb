//! Statements: a text with the values of its arguments.
//!
//! The conformance suite executes every statement and thereby checks it. The macros of sqlx would compile SQLite
//! twice and need a database at build time, for little additional safety.

use std::borrow::Cow;

use cts_store::StoreError;
use cts_store::fields::{Columns, Fields};

use super::connection::{Connection, Row};
use super::dialect::Dialect;
use super::value::Value;

/// A decoder of rows.
pub type Decode<T> = fn(&dyn Columns) -> Result<T, StoreError>;

/// Converts an error of the driver into an error of the store.
pub fn failed_to(operation: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| {
        let is_unreachable = is_unreachable(&source);
        let source = Box::new(source);
        if is_unreachable {
            StoreError::Unreachable { operation, source }
        } else {
            StoreError::Database { operation, source }
        }
    }
}

/// Whether the connection failed or has ended, or the server is stopping or starting.
fn is_unreachable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => error.code().as_deref().is_some_and(is_stopping),
        _ => false,
    }
}

/// Whether this error code of Postgres means that the server is stopping or starting, or has ended the connection.
pub fn is_stopping(code: &str) -> bool {
    matches!(code, "57P01" | "57P02" | "57P03" | "57P05")
}

/// A statement to run. Arguments are `$1`, `$2` and so on.
#[derive(Debug)]
pub struct Statement<'a> {
    operation: &'static str,
    text: Cow<'static, str>,
    values: Vec<Value<'a>>,
}

/// A statement; `operation` completes "cannot …" in its error. Each text begins with a comment that names the
/// method of the store.
pub fn sql<'a>(operation: &'static str, text: impl Into<Cow<'static, str>>) -> Statement<'a> {
    Statement {
        operation,
        text: text.into(),
        values: Vec::new(),
    }
}

impl<'a> Statement<'a> {
    /// Adds the value of the next argument.
    #[must_use]
    pub fn bind(mut self, value: impl Into<Value<'a>>) -> Self {
        self.values.push(value.into());
        self
    }

    fn prepare(self, connection: &dyn Connection) -> (Cow<'static, str>, Vec<Value<'a>>) {
        let Self {
            text, mut values, ..
        } = self;
        let arguments = values.len();
        if text.contains("{now}")
            && let Some(now) = connection.now()
        {
            values.push(now.into());
        }
        (connection.dialect().text(text, arguments), values)
    }

    async fn fetch(
        self,
        connection: &mut dyn Connection,
        only_first: bool,
    ) -> Result<Vec<Row>, StoreError> {
        let operation = self.operation;
        let (text, values) = self.prepare(connection);
        let rows = connection.fetch(text, values, only_first).await;
        rows.map_err(failed_to(operation))
    }

    /// Runs the statement and returns the number of affected rows.
    pub async fn execute(self, connection: &mut dyn Connection) -> Result<u64, StoreError> {
        let operation = self.operation;
        let (text, values) = self.prepare(connection);
        let affected = connection.execute(text, values).await;
        affected.map_err(failed_to(operation))
    }

    /// Runs the statement on Postgres only, for example a lock or a setting. A later statement sees changes made
    /// during the wait for the lock.
    pub async fn on_postgres(self, connection: &mut dyn Connection) -> Result<(), StoreError> {
        if connection.dialect() == Dialect::Postgres {
            self.execute(connection).await?;
        }
        Ok(())
    }

    /// All rows.
    pub async fn all<T>(
        self,
        connection: &mut dyn Connection,
        decode: Decode<T>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.fetch(connection, false).await?;
        rows.iter().map(|row| decode(row)).collect()
    }

    /// The first row, if any.
    pub async fn optional<T>(
        self,
        connection: &mut dyn Connection,
        decode: Decode<T>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.fetch(connection, true).await?;
        rows.first().map(|row| decode(row)).transpose()
    }

    /// The first row; fails without a row.
    pub async fn one<T>(
        self,
        connection: &mut dyn Connection,
        decode: Decode<T>,
    ) -> Result<T, StoreError> {
        let operation = self.operation;
        let row = self.optional(connection, decode).await?;
        row.ok_or_else(|| failed_to(operation)(sqlx::Error::RowNotFound))
    }
}

/// Decodes the single column `value` of a row.
macro_rules! value_of {
    ($($name:ident: $type:ty, $fields:ident => $read:expr, $doc:literal;)+) => {$(
        #[doc = $doc]
        pub fn $name(row: &dyn Columns) -> Result<$type, StoreError> {
            let $fields = Fields::new(row, "read a value", "");
            $read
        }
    )+};
}

value_of! {
    text: String, row => row.text("value").map(str::to_owned), "The column `value` as a text.";
    text_if_any: Option<String>, row => Ok(row.text_if_any("value")?.map(str::to_owned)),
        "The column `value` as a text, or `NULL`.";
    integer: i64, row => row.integer("value"), "The column `value` as a whole number.";
    flag: bool, row => row.flag("value"), "The column `value` as a truth value.";
    bytes: Vec<u8>, row => row.bytes("value"), "The column `value` as bytes.";
}
