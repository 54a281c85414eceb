//! The command line of the built executable, under both of its names: `cts`, and `consul-terraform-sync`
//! through a link (docs/cli.md).
//!
//! Snapshots are in `snapshots`; `INSTA_UPDATE=always cargo test -p cts-tests --test system cli::` rewrites
//! them.
#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod calls;
mod certs;
mod compatibility;
mod completion;
mod config;
mod deployment;
mod directions;
mod doctor;
mod documents;
mod health;
mod help;
mod manual;
mod refusals;
mod scripts;
mod table;
pub(crate) mod task;
mod telemetry_files;
