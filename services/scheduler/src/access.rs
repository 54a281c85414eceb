//! Tokens that change while the scheduler runs, and where records of calls go (docs/access.md).

pub(crate) mod audit_file;
pub(crate) mod recorder;
pub(crate) mod refusals;
pub(crate) mod retention;
pub(crate) mod tokens;
