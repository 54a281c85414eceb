//! The scheduler, called through its gRPC clients, with a real SQLite store and a watcher that the test plays.
#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod audit;
mod broken_modules;
mod calls;
mod cluster;
mod creations;
mod destructions;
mod disabled;
mod explanations;
mod faulty_store;
mod followed_logs;
mod housekeeping;
mod idle;
mod modules;
mod overviews;
mod partial_data;
mod played_watcher;
mod removals;
mod setup;
mod site;
mod tasks;
mod terraform_states;
mod unreadable_keys;
mod updates;
mod workers;
