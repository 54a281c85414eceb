//! The behaviour that every store has.

use crate::fixture::PostgresFixture;

cts_store::store_suite!(PostgresFixture);
