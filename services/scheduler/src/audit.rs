//! The records of calls, and where they go (docs/access.md#audit).

pub(crate) mod audit_file;
pub(crate) mod recorder;
pub(crate) mod refusals;
pub(crate) mod retention;
