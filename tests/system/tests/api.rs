//! The REST API of the built executables: each row of docs/rest.md, tasks that change at run time, endpoints of
//! cts that the original does not have, and hostile clients. Real Consul, real Terraform; `CTS_TEST_SHAPE`
//! chooses the shape.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod commands;
mod config_apply;
mod config_diff;
mod contract;
mod create;
mod create_failures;
mod delete;
mod disconnect;
mod documentation;
mod events;
mod explain;
mod guard;
mod hidden;
mod kill;
mod log;
mod matrix;
mod overview;
pub(crate) mod program;
mod reconfigured;
mod replace;
mod restart;
pub(crate) mod row;
mod run_details;
mod runs;
pub(crate) mod scene;
mod security;
mod slow_readers;
mod stream;
mod update;
pub(crate) mod wire;
