//! The real gateway on a loopback socket, in front of a scheduler in memory.

#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod access_service;
mod answers;
mod authorization;
mod changes;
mod clients;
mod cluster;
mod cluster_status;
mod conformity;
mod current;
mod destructions;
mod errors;
mod failures;
mod follow;
mod health;
mod log;
mod logs;
mod overview;
mod plans;
mod run_answers;
mod runs;
mod shutdown;
mod stage;
mod task_changes;
mod tasks;
