//! The commands that do something and end, one file or folder each.

pub(crate) mod archive;
pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod migrate;
pub(crate) mod pass;
mod scheduler_call;
pub(crate) mod task;
pub(crate) mod workers;
