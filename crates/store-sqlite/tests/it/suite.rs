//! The behaviour that every store has.

use crate::fixture::SqliteFixture;

cts_store_conformance::store_suite!(SqliteFixture);
