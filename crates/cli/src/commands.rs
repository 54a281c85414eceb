//! The commands that end by themselves, one file or folder each.

pub(crate) mod certs;
pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod health;
pub(crate) mod mcp;
pub(crate) mod scheduler_call;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod terminal_text;
pub(crate) mod time_text;
pub(crate) mod times;
pub(crate) mod workers;
