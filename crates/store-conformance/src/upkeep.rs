//! Data beside tasks and runs, and what keeps the database small and true.

pub mod access_store;
pub mod archives;
pub mod bundles;
pub mod change_times;
pub mod facts;
pub mod hints;
pub mod housekeeping;
pub mod prune;
pub mod restored;
pub mod revoked_sessions;
pub mod sessions;
pub mod ticks;
pub mod traces;
pub mod transfer;
