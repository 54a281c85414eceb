//! The outcome of an attempt: its report, and the errors with which it ends.

pub(crate) mod attempt_error;
pub(crate) mod attempt_report;
pub(crate) mod mismatch;
pub(crate) mod module_directory;
pub(crate) mod not_permitted;
pub(crate) mod state_error;
