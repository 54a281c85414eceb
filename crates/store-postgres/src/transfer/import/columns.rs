//! Columns of rows, as Postgres stores them.

use cts_store::StoreError;
use serde::Serialize;

use super::OPERATION;
use crate::row::{InputEncoding, encoded};

/// Texts cannot hold this character here.
pub(super) fn without_null(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

pub(super) fn stored_incarnation(incarnation: u64) -> i64 {
    i64::try_from(incarnation).unwrap_or(i64::MAX)
}

pub(super) fn column<'a, T, C>(rows: &'a [T], cell: impl Fn(&'a T) -> C) -> Vec<C> {
    rows.iter().map(cell).collect()
}

/// A value as JSON, or `NULL`.
pub(super) fn json(value: Option<&impl Serialize>) -> Result<Option<String>, StoreError> {
    value.map(|value| encoded(OPERATION, value)).transpose()
}

pub(super) fn encode(bytes: Vec<u8>) -> Result<(InputEncoding, Vec<u8>), StoreError> {
    InputEncoding::encode(bytes).map_err(|error| StoreError::Database {
        operation: OPERATION,
        source: Box::new(error),
    })
}
