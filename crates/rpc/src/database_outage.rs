//! The message by which a scheduler reports an outage of its database.

/// Message of an `UNAVAILABLE` status of a scheduler that cannot reach its database.
pub const DATABASE_UNREACHABLE: &str =
    "the scheduler's database is unreachable; see the scheduler's log";
