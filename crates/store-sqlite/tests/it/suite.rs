//! The behaviour that every store has.

use crate::fixture::SqliteFixture;

cts_store::store_suite!(SqliteFixture);
