//! The scheduler behind its gRPC clients, with a real SQLite store and a watcher that the test plays.
#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod leases;
mod modes;
mod modules;
mod played_watcher;
mod setup;
mod tasks;
