//! The real gateway on a loopback socket, in front of a scheduler in memory.

#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod answers;
mod cluster;
mod cluster_status;
mod contract;
mod failures;
mod health;
mod log;
mod odd_requests;
mod queue;
mod runs;
mod shutdown;
mod stage;
mod strict_follower;
mod tasks;
mod tls;
