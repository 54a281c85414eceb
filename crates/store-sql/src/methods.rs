//! The methods of the store. Runs, leases and tasks change together.

pub(crate) mod lease;
pub(crate) mod run;
pub(crate) mod task;
pub(crate) mod upkeep;
