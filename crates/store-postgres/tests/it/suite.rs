//! The behaviour that every store has.

use crate::fixture::PostgresFixture;

cts_store_conformance::store_suite!(PostgresFixture);
