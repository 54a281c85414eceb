//! The REST API of the built executables: each row of docs/rest.md, tasks that change at run time, endpoints of
//! cts that the original does not have, and hostile clients. Real Consul, real Terraform; `CTS_TEST_SHAPE`
//! chooses the shape.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod brake;
mod causes;
mod changes;
mod commands;
mod configuration;
mod contract;
mod documentation;
mod events;
mod explain;
mod follow;
mod guard;
mod hidden;
mod inputs;
mod log;
mod overview;
mod plan_data;
pub(crate) mod program;
pub(crate) mod row;
mod run_details;
mod runs;
pub(crate) mod scene;
mod security;
mod slow_readers;
mod stream;
pub(crate) mod wire;
