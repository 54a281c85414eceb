//! The real gateway on a loopback socket, in front of a task service in memory.

#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod answers;
mod contract;
mod failures;
mod log;
mod odd_requests;
mod shutdown;
mod stage;
mod tasks;
