//! The scheduler, called through its gRPC clients, with a real SQLite store and a watcher that the test plays.
#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod audit;
mod calls;
mod configurations;
mod creations;
mod crowded_connection;
mod database_health;
mod destructions;
mod disabled;
mod drains;
mod explanations;
mod faulty_store;
mod followed_logs;
mod hiccups;
mod housekeeping;
mod lease_proofs;
mod leases;
mod membership;
mod modes;
mod modules;
mod overviews;
mod partial_data;
mod played_watcher;
mod registrations;
mod remote_runs;
mod removals;
mod replicas;
mod restored;
mod settings;
mod setup;
mod tasks;
mod terraform_states;
mod unreadable_keys;
mod unschedulable;
mod updates;
mod waits;
