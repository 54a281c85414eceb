//! Clusters at work: several watchers, schedulers, workers and gateways as built executables, over a real
//! Postgres, with a real Consul and a real Terraform.
//!
//! `cargo test -p cts-tests` needs the executables of the same profile: run
//! `cargo build --workspace --bins` first, or use scripts/test.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod scene;
mod takeover;
