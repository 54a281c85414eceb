//! The commands that use a store or a service of this process, one file or folder each.

pub(crate) mod approvals;
pub(crate) mod archive;
pub(crate) mod configuration;
pub(crate) mod doctor;
pub(crate) mod local_caller;
pub(crate) mod migrate;
pub(crate) mod pass;
pub(crate) mod scheduler;
pub(crate) mod token;
